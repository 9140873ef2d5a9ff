"""Listening sockets: bound here or inherited from the service manager.

A socket is bound before the store is opened, so that an address in use is found out at once, but it
listens only when the daemon is ready.
"""

from __future__ import annotations

import ipaddress
import os
import resource
import socket
import ssl
import stat
import struct
from asyncio.trsock import TransportSocket
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from littled.limits import (
    KEEPALIVE_IDLE_SECONDS,
    KEEPALIVE_INTERVAL_SECONDS,
    KEEPALIVE_PROBES,
    ORIGIN_IPV6_BITS,
    ORIGIN_LOOPBACK_BITS,
)
from littled.service.access import is_loopback
from littled_client.addresses import Address, TcpAddress, UnixAddress, parse_address
from littled_client.errors import AddressError

# Only the daemon's own user: others come in through a socket unit, which has modes and groups.
_SOCKET_MODE = 0o600
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Unix sockets of this machine, a line each, with the path in the last of eight columns.
_KERNEL_SOCKETS = Path("/proc/net/unix")
# What the kernel says of the process at the other end of a Unix socket: pid, uid, gid.
_CREDENTIALS = struct.Struct("iII")


class ListenError(Exception):
    """An address cannot be listened on; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket.

    `path` is the file of a Unix socket that this process made, to be removed at the end, with its
    inode number. `tls` is what peers must speak, None for plain bytes.
    """

    socket: socket.socket
    path: Path | None = None
    inode: int = 0
    tls: ssl.SSLContext | None = None

    @property
    def is_unix(self) -> bool:
        """Whether peers come from this machine through the file system."""
        return self.socket.family == socket.AF_UNIX

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the socket."""
        return self.is_unix or is_loopback(self.socket.getsockname()[0])

    @property
    def host_names(self) -> frozenset[str]:
        """What HTTP requests to a socket on the loopback interface may name as their host."""
        if self.is_unix:
            return _LOCAL_HOSTS
        host = self.socket.getsockname()[0]
        return _LOCAL_HOSTS | {f"[{host}]" if ":" in host else host}

    @property
    def address(self) -> str:
        """The address as clients write it."""
        name = self.socket.getsockname()
        if self.is_unix:
            return str(UnixAddress(name if isinstance(name, str) else os.fsdecode(name)))
        return str(TcpAddress(name[0], name[1]))

    def close(self) -> None:
        """Close the socket and remove its file, unless the file is another's by now."""
        self.socket.close()
        if self.path is not None:
            with suppress(OSError):
                if self.path.stat().st_ino == self.inode:
                    self.path.unlink()


def bind_unix(path: Path) -> Listener:
    """Bind a Unix socket with mode 0600; a dead socket in its place is removed.

    Raises ListenError when something is there that listens, is about to or is no socket, and when
    the path is too long or cannot be made.
    """
    try:
        parse_address(f"unix:{path}")
        _remove_dead(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        listener.setblocking(False)
        try:
            # The mode is set before the socket listens, so nobody gets in between.
            listener.bind(str(path))
            path.chmod(_SOCKET_MODE)
        except OSError:
            listener.close()
            raise
        return Listener(listener, path, path.stat().st_ino)
    except AddressError as error:
        raise ListenError(str(error)) from None
    except OSError as error:
        raise ListenError(f"cannot listen on unix:{path}: {error.strerror}") from None


def bind_tcp(address: Address | str, tls: ssl.SSLContext | None = None) -> Listener:
    """Bind a TCP socket to HOST:PORT; port 0, in a parsed address, means any free one.

    tls: what peers must speak, None for plain bytes. Raises ListenError when the address is in use
    or is no address of this machine.
    """
    try:
        parsed = parse_address(address)
    except AddressError as error:
        raise ListenError(str(error)) from None
    if not isinstance(parsed, TcpAddress) or parsed.tls:
        raise ListenError(f"{parsed} is no HOST:PORT")
    try:
        family, kind, number, _, target = socket.getaddrinfo(
            parsed.host, parsed.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind | socket.SOCK_CLOEXEC, number)
    except OSError as error:
        raise ListenError(f"cannot listen on {parsed}: {error.strerror}") from None
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(target)
    except OSError as error:
        listener.close()
        raise ListenError(f"cannot listen on {parsed}: {error.strerror}") from None
    return Listener(listener, tls=tls)


def origin_of(peer: socket.socket | TransportSocket) -> str:
    """Return who is at the other end, in public terms: "uid N", or the address it comes from.

    All addresses of an IPv6 network of 64 bits are one origin, and so are the 16 million of the
    loopback interface, since whoever has one has them all. Raises OSError when the peer is gone.
    """
    if peer.family == socket.AF_UNIX:
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return f"uid {_CREDENTIALS.unpack(credentials)[1]}"
    return _origin_of_address(peer.getpeername()[0].partition("%")[0])


@lru_cache(maxsize=1024)  # of a crowd they are mostly the same
def _origin_of_address(text: str) -> str:
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, ORIGIN_IPV6_BITS), strict=False))
        address = address.ipv4_mapped
    if address.is_loopback:
        return str(ipaddress.ip_network((address, ORIGIN_LOOPBACK_BITS), strict=False))
    return str(address)


def ensure_descriptors(needed: int) -> None:
    """Let this process open at least `needed` files at a time.

    Raises ListenError when it may not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ListenError(
            f"this process may open {hard} files and needs {needed} for its connections; "
            "raise the hard limit (LimitNOFILE= of a unit, ulimit -Hn of a shell)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError):
        raise ListenError(
            f"this process may open {soft} files, needs {needed} for its connections and may not "
            "raise the limit; raise it from outside (LimitNOFILE= of a unit, ulimit -n of a shell)"
        ) from None


def keep_alive(peer: TransportSocket) -> None:
    """Let the kernel find out when a silent TCP peer is gone; does nothing for a Unix socket."""
    if peer.family == socket.AF_UNIX:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)


def _remove_dead(path: Path) -> None:
    """Remove a socket file that nobody listens on; raises ListenError when it is anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ListenError(f"{path} is there already and is no socket; choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        # A live listener with a full queue would block: that is an answer as well.
        with suppress(BlockingIOError):
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                if _is_bound(path):
                    raise ListenError(
                        f"another program has taken unix:{path} and will listen there; stop it, or "
                        "choose another path"
                    ) from None
                path.unlink()
                return
    raise ListenError(f"another program listens on unix:{path}; stop it, or choose another path")


def _is_bound(path: Path) -> bool:
    """Whether some process has this path, as the kernel tells: one that has not listened so far."""
    try:
        sockets = _KERNEL_SOCKETS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    return any(each.split(maxsplit=7)[7:] == [str(path)] for each in sockets)
