"""Who may come in: tokens, and which addresses may be opened without one.

A Unix socket is guarded by the permissions of its file. A TCP port on the loopback interface is
open to every program of the machine, and may be, unless there is a token; a TCP port anywhere else
needs one. HTTP follows the same rule. What a token opens is the whole daemon: there are no roles.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass

from littled.limits import TOKEN_BYTES_MIN


class AccessError(ValueError):
    """An unsafe way in, or a token that protects nothing; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Access:
    """The token that peers must show, if there is one."""

    token: str | None = None

    def __post_init__(self) -> None:
        """Refuse a token that could be guessed; raises AccessError."""
        if self.token is not None and len(self.token.encode()) < TOKEN_BYTES_MIN:
            raise AccessError(
                f"the token is shorter than {TOKEN_BYTES_MIN} bytes; "
                "make one with `openssl rand -hex 32`"
            )

    def __repr__(self) -> str:
        """Return a text that does not hold the token."""
        return f"Access(token={'None' if self.token is None else 'set'})"

    def admits(self, shown: str | None) -> bool:
        """Return whether a peer that shows `shown` may come in; every guess takes the same time."""
        if self.token is None:
            return True
        # A header may hold bytes that are no text; they are a wrong guess like any other.
        guess = (shown or "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(guess, self.token.encode())

    def check_listener(self, listener: socket.socket, purpose: str) -> None:
        """Refuse a listening TCP socket off the loopback interface when there is no token.

        `purpose` names the socket in the sentence. Raises AccessError.
        """
        if listener.family == socket.AF_UNIX or self.token is not None:
            return
        host, port = listener.getsockname()[:2]
        if not is_loopback(host):
            raise AccessError(
                f"the {purpose} address {host}:{port} can be reached from other machines; "
                "set a token, or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Return whether the numeric address `host` reaches this machine only."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
