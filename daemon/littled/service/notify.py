"""The service manager's two protocols: readiness and watchdog messages, and inherited sockets.

Both are the plain protocols that systemd documents: datagrams to the socket named by $NOTIFY_SOCKET
(sd_notify), and sockets handed over as file descriptors from number 3 on (sd_listen_fds). Without a
service manager every message is silently dropped, and no socket is inherited.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

_FIRST_INHERITED_DESCRIPTOR = 3
_MICROSECONDS = 1_000_000


class Notifier:
    """Sends state changes of the daemon to its service manager.

    A message that cannot be sent is dropped: the manager's own time limits then decide, which is
    what they are for. Nothing is ever waited for.
    """

    __slots__ = ("_socket", "watchdog_seconds")

    def __init__(self, address: str | None, watchdog_seconds: float | None = None) -> None:
        """Connect to the manager's datagram socket.

        `address` is a path, or a name of the abstract namespace written with a leading "@"; None
        means that nobody listens. `watchdog_seconds` is the longest time that may pass between two
        watchdog messages, None when the manager watches nothing.
        """
        self.watchdog_seconds = watchdog_seconds
        self._socket: socket.socket | None = None
        if address is None or address[:1] not in ("/", "@"):
            return
        target = "\0" + address[1:] if address.startswith("@") else address
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        channel.setblocking(False)
        try:
            channel.connect(target)
        except OSError:
            channel.close()
            return
        self._socket = channel

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], process: int) -> Notifier:
        """Return the notifier that `environment` describes for the process numbered `process`."""
        watchdog = _positive_integer(environment.get("WATCHDOG_USEC"))
        meant_for = _positive_integer(environment.get("WATCHDOG_PID"))
        if watchdog is None or meant_for not in (None, process):
            return cls(environment.get("NOTIFY_SOCKET"))
        return cls(environment.get("NOTIFY_SOCKET"), watchdog / _MICROSECONDS)

    def ready(self, status: str) -> None:
        """Say that the daemon accepts examples; `status` is one public line for people."""
        self._send(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        """Say that the daemon has begun to stop."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def watchdog(self) -> None:
        """Say that the daemon is alive."""
        self._send("WATCHDOG=1")

    def extend_start(self, seconds: float, status: str) -> None:
        """Ask for `seconds` more before the start counts as failed, while a journal is replayed."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * _MICROSECONDS)}\nSTATUS={status}")

    def close(self) -> None:
        """Close the socket; later messages are dropped."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(message.encode())
        except OSError:
            return


@dataclass(frozen=True, slots=True)
class InheritedSocket:
    """A listening socket that the service manager opened, with the name its unit gave to it."""

    name: str
    socket: socket.socket


def inherited_sockets(
    environment: MutableMapping[str, str], process: int
) -> tuple[InheritedSocket, ...]:
    """Take the listening sockets that the service manager handed to the process `process`.

    The variables are removed from `environment`, so that no child process takes them for its own,
    and the descriptors are closed on exec. Raises OSError when a descriptor is no socket, and
    ValueError when one is not a listening stream socket.
    """
    count = _positive_integer(environment.pop("LISTEN_FDS", None))
    meant_for = _positive_integer(environment.pop("LISTEN_PID", None))
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    if count is None or meant_for != process:
        return ()
    found = []
    for index in range(count):
        descriptor = _FIRST_INHERITED_DESCRIPTOR + index
        os.set_inheritable(descriptor, False)
        inherited = socket.socket(fileno=descriptor)
        listening = inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if inherited.type != socket.SOCK_STREAM or not listening:
            raise ValueError(
                f"the inherited descriptor {descriptor} is no listening stream socket; "
                "the socket unit must use ListenStream= with Accept=no"
            )
        inherited.setblocking(False)
        name = names[index] if index < len(names) else ""
        found.append(InheritedSocket(name or "unknown", inherited))
    return tuple(found)


def _positive_integer(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()):
        return None
    return int(text) or None
