"""Frames made before, pushed through sockets as fast as a server acknowledges them."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice

BLOB_BYTES = 256 * 1024
_RECEIVE_BYTES = 1024 * 1024
_SILENCE_SECONDS = 30.0


class Silent(Exception):
    """A server acknowledges nothing any more, or says that something is wrong."""


class Flow:
    """One connection: frames to send, and how many of them the server has acknowledged.

    acknowledged(data) takes what arrived and says how many frames are acknowledged by now; it
    raises Silent for an error. window: frames that may be unacknowledged. timed_from: number of
    the frame whose acknowledgement starts the clock.
    """

    def __init__(
        self,
        peer: socket.socket,
        frames: Iterable[bytes],
        count: int,
        window: int,
        acknowledged: Callable[[bytes], int],
        timed_from: int = 0,
    ) -> None:
        """Join the frames to blobs of a quarter of the window or of BLOB_BYTES."""
        self.peer = peer
        self.count = count
        self.timed_from = timed_from
        self.done = 0
        self._window = window
        self._acknowledged = acknowledged
        self._blobs = blobs(islice(cycle(frames), count), max(1, window // 4))
        self._next = 0
        self._sent = 0
        self._left = memoryview(b"")
        peer.setblocking(False)

    @property
    def wants_to_send(self) -> bool:
        """Whether there is something to send, and room for it."""
        if self._left:
            return True
        if self._next == len(self._blobs):
            return False
        return self._sent - self.done + self._blobs[self._next][1] <= self._window

    def send(self) -> None:
        """Send as much as the socket takes."""
        while self.wants_to_send:
            if not self._left:
                blob, frames = self._blobs[self._next]
                self._left, self._sent = memoryview(blob), self._sent + frames
                self._next += 1
            try:
                sent = self.peer.send(self._left)
            except BlockingIOError:
                return
            self._left = self._left[sent:]

    def receive(self) -> None:
        """Take what arrived."""
        data = self.peer.recv(_RECEIVE_BYTES)
        if not data:
            raise Silent("the server closed the connection")
        self.done = self._acknowledged(data)


def blobs(frames: Iterable[bytes], most: int) -> list[tuple[bytes, int]]:
    """Frames in joined pieces, each with its number of frames, at most `most`."""
    found, some, size = [], list[bytes](), 0
    for frame in frames:
        some.append(frame)
        size += len(frame)
        if size >= BLOB_BYTES or len(some) == most:
            found.append((b"".join(some), len(some)))
            some, size = [], 0
    if some:
        found.append((b"".join(some), len(some)))
    return found


def pump(flows: Sequence[Flow]) -> float:
    """Send everything and wait for every acknowledgement; returns the timed seconds.

    The clock starts when every flow has its first `timed_from` frames acknowledged.
    """
    poll, by_number = select.poll(), {flow.peer.fileno(): flow for flow in flows}
    ahead = sum(flow.timed_from for flow in flows)
    begun = time.perf_counter()
    while any(flow.done < flow.count for flow in flows):
        for flow in flows:
            poll.register(flow.peer, select.POLLIN | select.POLLOUT * flow.wants_to_send)
        ready = poll.poll(_SILENCE_SECONDS * 1000)
        if not ready:
            raise Silent("the server acknowledges nothing any more")
        for number, events in ready:
            flow = by_number[number]
            if events & ~select.POLLOUT:
                flow.receive()
            if flow.wants_to_send:
                flow.send()
        if ahead and sum(flow.done for flow in flows) >= ahead:
            ahead, begun = 0, time.perf_counter()
    return time.perf_counter() - begun


def round_trips(
    peer: socket.socket,
    frames: Sequence[bytes],
    acknowledged: Callable[[bytes], int],
    count: int,
) -> list[float]:
    """Microseconds from sending one frame to its acknowledgement, again and again."""
    peer.setblocking(True)
    peer.settimeout(_SILENCE_SECONDS)
    seen = []
    for index in range(count):
        begun = time.perf_counter_ns()
        peer.sendall(frames[index % len(frames)])
        while acknowledged(peer.recv(_RECEIVE_BYTES)) <= index:
            pass
        seen.append((time.perf_counter_ns() - begun) / 1e3)
    return seen


def counting(mark: bytes, each: int = 1, wrong: bytes = b"") -> Callable[[bytes], int]:
    """Count acknowledgements by a text that comes `each` times in one; `wrong` marks an error."""
    seen = 0

    def acknowledged(data: bytes) -> int:
        nonlocal seen
        if wrong and wrong in data:
            raise Silent("the server refused something")
        seen += data.count(mark)
        return seen // each

    return acknowledged


def of_length(length: int) -> Callable[[bytes], int]:
    """Count acknowledgements that all have one length."""
    seen = 0

    def acknowledged(data: bytes) -> int:
        nonlocal seen
        seen += len(data)
        return seen // length

    return acknowledged
