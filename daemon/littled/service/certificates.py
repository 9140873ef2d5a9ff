"""Certificates and keys in PEM, read before TLS begins so that a sentence says what is wrong."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from littled.service.access import AccessError
from littled.service.grants import read_private


def check_pair(certificate: Path, key: Path) -> None:
    """Raise AccessError unless `key` holds the private key of the first certificate in its file."""
    first = read_certificates(certificate, "the certificate")[0]
    text = read_private(key, "the key")
    try:
        private = load_pem_private_key(text.encode(), None)
    except TypeError:
        raise AccessError(f"the key {key} is encrypted; give one without a password") from None
    except ValueError:
        raise AccessError(f"the key {key} holds no private key in PEM") from None
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if private.public_key().public_bytes(*form) != first.public_key().public_bytes(*form):
        raise AccessError(f"the key {key} is not the one of the certificate {certificate}")


def read_certificates(path: Path, what: str) -> list[x509.Certificate]:
    """Return the certificates in a file, at least one; AccessError calls it `what`."""
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise AccessError(f"cannot read {what} {path}: {error.strerror}") from None
    except ValueError:
        raise AccessError(f"{what} {path} holds no certificate in PEM") from None
