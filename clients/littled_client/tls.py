"""TLS towards a daemon: whom to trust, and what to show."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from pathlib import Path

from littled_client.addresses import NO_HOST, Address, TcpAddress, is_host
from littled_client.errors import AddressError, ConnectionLostError, TlsError

# Why OpenSSL ends a handshake with somebody who speaks no TLS at all, by its versions.
_NO_TLS = frozenset({"wrong version number", "record layer failure", "http request",
                     "unknown protocol", "packet length too long"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM, and the name in the daemon's certificate.

    ca: authorities to trust, None for those of the system. certificate, key: what this program
    shows, where the daemon asks for it; the key may be in the same file. server_name: the name or
    number that the daemon's certificate has to be for, that of the address if None.
    """

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        """Refuse, with TlsError, a name that no certificate can be for."""
        if self.server_name is not None and not is_host(self.server_name):
            raise TlsError(f"the server name {self.server_name!r} {NO_HOST}")

    def context(self) -> ssl.SSLContext:
        """Read the files, which may change between connections; raises TlsError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            if self.ca is None:
                context.load_default_certs()
            else:
                context.load_verify_locations(cafile=self.ca)
        except (OSError, ValueError):
            raise TlsError(f"the file {self.ca} cannot be read as certificates in PEM") from None
        if self.certificate is None:
            if self.key is not None:
                raise TlsError("a key is shown together with its certificate; name both")
            return context
        try:
            # A key with a password is refused: nobody may be there to be asked for it.
            context.load_cert_chain(self.certificate, self.key, password=lambda: b"")
        except (OSError, ValueError):
            raise TlsError(
                f"the certificate {self.certificate} and its key cannot be read as a pair in PEM"
            ) from None
        return context


def secured(address: Address, tls: Tls | None) -> tuple[Address, Tls | None]:
    """Return where to connect and how; `tls://` alone trusts the system's authorities.

    Raises AddressError for TLS over a Unix socket.
    """
    if not isinstance(address, TcpAddress):
        if tls is not None:
            raise AddressError(f"TLS is for TCP; {address} is a Unix socket")
        return address, None
    if tls is None:
        return address, Tls() if address.tls else None
    return replace(address, tls=True), tls


def tls_failure(error: ssl.SSLError) -> Exception:
    """Return what to raise for an error of TLS: trying again helps against a lost connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsError(f"the daemon's certificate is not trusted: {error.verify_message}")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return ConnectionLostError("the daemon closed the connection")
    reason = (error.reason or "").lower().replace("_", " ")
    if "alert" in reason:
        return TlsError(f"the daemon refuses this program's certificate or its TLS ({reason})")
    if reason in _NO_TLS:
        return TlsError("what answers speaks no TLS; write its address without tls://")
    return TlsError(f"what answers does not speak TLS as it should ({reason or 'no reason given'})")
