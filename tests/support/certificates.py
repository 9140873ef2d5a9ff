"""Real certificates: authorities, and what they sign or never signed."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
# What an authority's key is for, which Python asks from 3.13 on, as it asks whose key signed.
_SIGNING = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "littled tests"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def write_key(path: Path, key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> Path:
    """Write a key for its owner alone."""
    how = NoEncryption() if password is None else BestAvailableEncryption(password)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
    path.chmod(0o600)
    return path


class Authority:
    """Signs certificates; its own one is in the file `path`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Make an authority whose files are in a folder."""
        self._folder, self._name = folder, _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + 10 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_SIGNING, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        self.path = folder / f"{name}.ca.pem"
        self.path.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        common_name: str,
        *,
        server: bool = False,
        peer: bool = False,
        expired: bool = False,
        early: bool = False,
        self_signed: bool = False,
        address: str = "127.0.0.1",
    ) -> Issued:
        """A certificate for a client, for a server on an address, or for a peer, which is both.

        expired, early: whether it is not valid any more, or not yet.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        serving, asking = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
        uses = [serving, asking] if peer else [serving if server else asking]
        signer = key if self_signed else self._key
        by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(common_name))
            .issuer_name(_name(common_name) if self_signed else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + DAY / 2 if early else now - 2 * DAY)
            .not_valid_after(now - DAY if expired else now + DAY)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(by, critical=False)
        )
        if server or peer:
            names = [x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName(common_name)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = builder.sign(signer, hashes.SHA256())
        stem = f"{common_name}.{x509.random_serial_number() % 10**9}"
        path = self._folder / f"{stem}.pem"
        path.write_bytes(signed.public_bytes(Encoding.PEM))
        return Issued(path, write_key(self._folder / f"{stem}.key", key))
