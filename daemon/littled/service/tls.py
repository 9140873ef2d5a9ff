"""TLS for TCP and HTTP: the daemon's certificate, and whom it takes certificates from.

TLS 1.2 is the least. There are no session tickets: every connection shows its certificate anew, so
that one that has expired or whose authority is gone opens nothing. TLS 1.2 has another way to go on
with a session, which cannot be switched off here: whoever takes it is asked how old its certificate
is by now (`is_in_time`).
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from littled.service.access import AccessError


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM: the daemon's certificate with its chain, its key, and who vouches for clients.

    client_ca: certificates of the authorities whose clients may come in; None asks for none.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Read the files; raises AccessError, which says what is wrong with which."""
        # What reads certificates takes its time to import, and most daemons have none.
        from littled.service.certificates import check_pair, read_certificates  # noqa: PLC0415

        check_pair(self.certificate, self.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError):
            raise AccessError(
                f"the certificate {self.certificate} and its key {self.key} cannot be used for TLS"
            ) from None
        if self.client_ca is not None:
            read_certificates(self.client_ca, "the client authority")
            context.load_verify_locations(cafile=self.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def renew(self, context: ssl.SSLContext) -> None:
        """Show the certificate as it is in its file now, on connections that are still to come.

        Authorities of clients stay as they were read first. Raises AccessError and changes nothing
        when the pair cannot be used.
        """
        self.context()
        context.load_cert_chain(self.certificate, self.key)


def is_in_time(certificate: Mapping[str, Any] | None, now: datetime) -> bool:
    """Whether a certificate as `ssl` shows it is valid at a time; whoever shows none has no end."""
    if not certificate:
        return True
    begins, ends = (ssl.cert_time_to_seconds(certificate[key]) for key in ("notBefore", "notAfter"))
    return begins <= now.timestamp() <= ends
