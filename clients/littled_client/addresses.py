"""Addresses of a daemon: `unix:PATH`, `HOST:PORT`, `tls://HOST:PORT`, and the usual place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from littled_client.errors import AddressError

ADDRESS_VARIABLE = "LITTLED_ADDRESS"
SYSTEM_SOCKET = "/run/littled/littled.sock"
SESSION_SOCKET_NAME = "littled.sock"
NO_HOST = "is no name of a machine; between its dots there have to be 1 to 63 characters"

# A socket's path must fit into sun_path, 108 bytes with its closing zero on Linux.
_PATH_BYTES_MAX = 107
_UNIX_PREFIX = "unix:"
_TLS_PREFIX = "tls://"
# Between two addresses: what follows is one of TLS or of a socket, or a host and a port.
_COMMA = re.compile(r",(?=\s*(?:unix:|tls://|[^,/]+:\d+\s*(?:,|$)))")


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix domain socket in the file system."""

    path: str

    def __str__(self) -> str:
        """Return the address as it is written: `unix:PATH`."""
        return f"{_UNIX_PREFIX}{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port of a host, given by name or number, where TLS is spoken or not."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        """Return the address as it is written: `HOST:PORT`, an IPv6 host in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_TLS_PREFIX if self.tls else ''}{host}:{self.port}"


Address = UnixAddress | TcpAddress


def parse_address(text: str | Address) -> Address:
    """Return the address that `text` writes; an address already parsed is returned as it is.

    Raises AddressError when the text is none of `unix:PATH`, `HOST:PORT` and `tls://HOST:PORT`.
    """
    if isinstance(text, UnixAddress | TcpAddress):
        return text
    if text.startswith(_UNIX_PREFIX):
        return _unix_address(text)
    if text.startswith(_TLS_PREFIX):
        return replace(_tcp_address(text.removeprefix(_TLS_PREFIX)), tls=True)
    return _tcp_address(text)


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses that `text` writes, one or several with commas between them.

    A comma in the path of a socket ends it only where another address follows. Raises AddressError
    as `parse_address` does.
    """
    return tuple(parse_address(part.strip()) for part in _COMMA.split(text))


def default_addresses(environment: Mapping[str, str] | None = None) -> tuple[Address, ...]:
    """Return where to look for daemons when nobody said; LITTLED_ADDRESS may name several."""
    named = (os.environ if environment is None else environment).get(ADDRESS_VARIABLE)
    return parse_addresses(named) if named else (default_address(environment),)


def default_address(environment: Mapping[str, str] | None = None) -> Address:
    """Return where to look for the daemon when nobody said.

    The variable LITTLED_ADDRESS decides. Without it, the socket of the user's session
    ($XDG_RUNTIME_DIR/littled.sock) is meant when there is a session, except that a system daemon
    which is there is preferred to a session daemon which is not.
    `environment` stands for `os.environ` when it is None.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(ADDRESS_VARIABLE)
    if named:
        return parse_address(named)
    session = variables.get("XDG_RUNTIME_DIR")
    if not session:
        return UnixAddress(SYSTEM_SOCKET)
    path = Path(session) / SESSION_SOCKET_NAME
    if not path.exists() and Path(SYSTEM_SOCKET).exists():
        return UnixAddress(SYSTEM_SOCKET)
    return UnixAddress(str(path))


def _unix_address(text: str) -> UnixAddress:
    path = text.removeprefix(_UNIX_PREFIX)
    if not path or "\0" in path:
        raise AddressError(f"the address {text!r} names no socket; write unix:PATH")
    if len(os.fsencode(path)) > _PATH_BYTES_MAX:
        raise AddressError(
            f"the socket path {path!r} is longer than {_PATH_BYTES_MAX} bytes; "
            "use a shorter or a relative path"
        )
    return UnixAddress(path)


def _tcp_address(text: str) -> TcpAddress:
    if text.startswith(("http://", "https://")):
        raise AddressError(
            f"the address {text!r} is one of HTTP, which clients do not speak; write HOST:PORT or "
            "tls://HOST:PORT of the daemon's --tcp, or unix:PATH"
        )
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"the address {text!r} is ambiguous; write an IPv6 host as [HOST]:PORT")
    if not colon or not host or "/" in text or any(character.isspace() for character in text):
        raise AddressError(f"the address {text!r} is neither unix:PATH nor HOST:PORT")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535):
        raise AddressError(f"the address {text!r} has no port from 1 to 65535 after its last colon")
    if not is_host(host):
        raise AddressError(f"{host!r} in the address {text!r} {NO_HOST}")
    return TcpAddress(host, int(port))


def is_host(name: str) -> bool:
    """Whether a resolver and a certificate can be asked about this name of a machine."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return bool(name)
