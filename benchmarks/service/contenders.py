"""The daemon and the bare server, as things that a work can be given to."""

from __future__ import annotations

import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import ClassVar

from benchmarks.service import bare
from benchmarks.service.processes import Server, unix
from benchmarks.service.pumping import Flow, Silent, of_length, pump, round_trips
from benchmarks.service.work import Work, daemon_frames, payloads
from littled_protocol import limits
from littled_protocol.codec import decode, encode_frame
from littled_protocol.connection import Connection, Role
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    Ack,
    Examples,
    Hello,
    Message,
    Open,
    Opened,
    Subscribe,
    Welcome,
)

_WINDOW_FRAMES = 4096
_WINDOW_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rate:
    """One run. cpu_us: microseconds of the server's CPU time a frame, until it rests."""

    per_second: float
    cpu_us: float


class Contender(ABC):
    """Something that takes examples; a context manager that starts and ends it in a folder."""

    name: ClassVar[str]

    def missing(self) -> str:
        """What has to be installed for it, "" if nothing has."""
        return ""

    def takes(self, work: Work) -> bool:
        """Whether it can be given this work."""
        return not work.users

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Run it; its files are in `folder`."""
        yield

    @abstractmethod
    def rate(self, work: Work, connections: int = 1) -> Rate:
        """Give it a work and measure."""

    def trips(self, number: int) -> list[float]:
        """Microseconds of round trips of one example each; none where there is nothing to ask."""
        return []


class Served(Contender):
    """A server in a process of its own; `flows` says how it is spoken to."""

    server: Server

    @abstractmethod
    def flows(self, work: Work, connections: int) -> list[Flow]:
        """New connections with what each is to send, about equal shares of the work."""

    @abstractmethod
    def one(self) -> tuple[socket.socket, Sequence[bytes], Callable[[bytes], int]]:
        """A connection, frames of one example, and what counts their acknowledgements."""

    def rate(self, work: Work, connections: int = 1) -> Rate:
        """Push all frames, of all connections at a time."""
        flows = self.flows(work, connections)
        before = self.server.rested_cpu_seconds()
        try:
            seconds = pump(flows)
        finally:
            for flow in flows:
                flow.peer.close()
        cpu = self.server.rested_cpu_seconds() - before
        frames = sum(flow.count for flow in flows)
        timed = sum((flow.count - flow.timed_from) * work.batch for flow in flows)
        return Rate(timed / seconds, cpu / frames * 1e6)

    def trips(self, number: int) -> list[float]:
        """Round trips over one connection; a tenth more before them is not counted."""
        peer, frames, acknowledged = self.one()
        with peer:
            return round_trips(peer, frames, acknowledged, number + number // 10)[number // 10 :]


class Bare(Served):
    """The bare server; see `bare`. syncs: "thread" or "loop". points: "" for those of the work."""

    name = "bare server"

    def __init__(self, syncs: str = "thread", points: str = "u64") -> None:
        """Prepare."""
        self._syncs = syncs
        self._points = points

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Run it as a module of this package."""
        self.path = folder / "bare"
        command = [sys.executable, "-m", "benchmarks.service.bare", self.path, self._syncs]
        self.server = Server(command, folder, Path(__file__).parents[2])
        try:
            self.server.connected(lambda: unix(self.path)).close()
            yield
        finally:
            self.server.end()

    def flows(self, work: Work, connections: int) -> list[Flow]:
        """The same frames again and again."""
        frames = bare.frames(payloads(work.batch, self._points or work.points))
        window = max(4, min(_WINDOW_FRAMES, _WINDOW_BYTES // len(frames[0])))
        share, timed_from = _share(work, connections)
        return [
            Flow(unix(self.path), frames, share, window, of_length(bare.ACK_BYTES), timed_from)
            for _ in range(connections)
        ]

    def one(self) -> tuple[socket.socket, Sequence[bytes], Callable[[bytes], int]]:
        """Single examples."""
        return (
            unix(self.path),
            bare.frames(payloads(1, self._points or "u64")),
            of_length(bare.ACK_BYTES),
        )


class Daemon(Served):
    """`littled serve` on a new store; learners of thresholds of u8 and sets of u64 points."""

    name = "daemon"

    def __init__(self, streams: int = 1) -> None:
        """Prepare; streams: how many of u8 points there are, for `Work` that feeds several."""
        self._streams = streams
        self._producers = count()
        self._subscribers: list[socket.socket] = []
        self.feeds = 1

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Make a store and serve it."""
        self._path = folder / "socket"
        (folder / "littled.toml").write_text(_configuration(self._streams))
        littled = [sys.executable, "-m", "littled.cli"]
        making = [*littled, "init", "store", "--config", "littled.toml"]
        subprocess.run(making, cwd=folder, check=True, capture_output=True)
        self.server = Server([*littled, "serve", "store", "--unix", self._path], folder)
        try:
            self.server.connected(lambda: unix(self._path)).close()
            yield
        finally:
            self.subscribe(0)
            self.server.end()

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"unix:{self._path}"

    def takes(self, work: Work) -> bool:
        """Ids are no frames: the client makes digests of them."""
        return work.users != "ids"

    def subscribe(self, subscribers: int) -> None:
        """Have so many connections subscribed to the first stream's learner."""
        while len(self._subscribers) > subscribers:
            self._subscribers.pop().close()
        while len(self._subscribers) < subscribers:
            peer, connection, _ = self._greeted()
            peer.sendall(connection.send(Subscribe("u8-0/rule", 0)))
            self._subscribers.append(peer)

    def flows(self, work: Work, connections: int) -> list[Flow]:
        """A new producer each; the connections take turns at `feeds` streams."""
        share, timed_from = _share(work, connections)
        frames = daemon_frames(work)
        found = []
        for number in range(connections):
            stream = f"{work.points}-{'users' if work.users else number % self.feeds}"
            peer, credit_bytes = self._opened(stream)
            window = max(1, credit_bytes // limits.credit_of_frame(len(frames[-1])))
            acknowledged = Acks(work.batch)
            found.append(Flow(peer, frames, share, window, acknowledged, timed_from))
        return found

    def one(self) -> tuple[socket.socket, Sequence[bytes], Callable[[bytes], int]]:
        """Single examples of one producer."""
        frames = daemon_frames(Work(1, examples=20_000))
        return self._opened("u8-0")[0], frames, Acks(1)

    def _opened(self, stream: str) -> tuple[socket.socket, int]:
        """A connection of a new producer, and its credit in bytes."""
        peer, connection, welcome = self._greeted()
        producer = f"producer-{next(self._producers)}"
        _asked(peer, connection, Open(0, stream, producer), Opened)
        return peer, welcome.credit_bytes

    def _greeted(self) -> tuple[socket.socket, Connection, Welcome]:
        peer, connection = unix(self._path), Connection(Role.CLIENT)
        welcome = _asked(peer, connection, Hello(PROTOCOL_VERSION, "benchmarks"), Welcome)
        assert isinstance(welcome, Welcome)
        return peer, connection, welcome


class Acks:
    """Counts frames by the daemon's last acknowledgement, which all have one length."""

    _length = len(encode_frame(Ack(0, 0, 0)))

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._rest = b""
        self._done = 0

    def __call__(self, data: bytes) -> int:
        data = self._rest + data
        whole = len(data) // self._length * self._length
        self._rest = data[whole:]
        if whole:
            message = decode(data[whole - self._length + 4 : whole])
            if not isinstance(message, Ack):
                raise Silent(f"the daemon said {message.type_name}")
            self._done = message.next_sequence // self._batch
        return self._done


def _asked(
    peer: socket.socket, connection: Connection, message: Message, kind: type[Message]
) -> Message:
    """Send a message and return the answer."""
    peer.sendall(connection.send(message))
    while True:
        connection.receive_data(peer.recv(65536))
        event = connection.next_event()
        if isinstance(event, kind):
            return event
        if isinstance(event, Message) and not isinstance(event, Examples):
            raise Silent(f"the daemon said {event}")


def _share(work: Work, connections: int) -> tuple[int, int]:
    """Frames of each connection, and how many of them are sent ahead."""
    ahead = work.ahead // work.batch // connections
    return ahead + max(1, work.examples // work.batch // connections), ahead


def _configuration(streams: int) -> str:
    names = {f"u8-{number}": ("thresholds:256", "example") for number in range(streams)}
    names |= {"u64-0": ("points:64", "example"), "u8-users": ("thresholds:256", "user")}
    return "".join(
        f'[streams.{name}]\nepsilon = 1.0\ndelta = 1e-6\nhorizon = 1_000_000_000\n'
        f'unit = "{unit}"\nlearners.rule.class = "{kind}"\n'
        for name, (kind, unit) in names.items()
    )  # fmt: skip
