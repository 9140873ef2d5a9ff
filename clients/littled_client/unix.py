"""Connecting to a Unix socket in front of which others wait.

The kernel keeps a limited number of connections waiting for a daemon. Where they are as many, a TCP
connection is tried again by the kernel; one to a Unix socket that must not block is refused with
EAGAIN at once, and it is for the program to try again. (The event loop of asyncio takes that error
for a connection on its way, and goes on with a socket that is connected to nobody.)
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

# Between two tries; the queue of a daemon that lives is through in milliseconds.
_PAUSE_LEAST_SECONDS = 0.001
_PAUSE_MOST_SECONDS = 0.05


def has_connected(connection: socket.socket, path: str) -> bool:
    """Connect a socket that does not block; return False where the daemon's queue is full.

    Raises OSError for anything else.
    """
    try:
        connection.connect(path)
    except BlockingIOError:
        return False
    return True


def pauses() -> Iterator[float]:
    """Return how many seconds to wait before each next try, without an end."""
    pause = _PAUSE_LEAST_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, _PAUSE_MOST_SECONDS)
