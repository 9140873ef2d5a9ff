"""Peers: what a user might take in place of the daemon, each as its own documents say.

None of them protects anybody. Redis, NATS and SQLite only store; Vowpal Wabbit and River learn a
linear model and store nothing. Examples travel in the form that each takes most quickly.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from benchmarks.service.contenders import Contender, Rate, Served
from benchmarks.service.processes import Server, free_port, loopback, unix
from benchmarks.service.pumping import Flow, Silent, counting
from benchmarks.service.work import Work, columns, part, payloads

_WINDOW_FRAMES = 4096
_WINDOW_BYTES = 4 * 1024 * 1024
# Runs in this process end after so long, if they have taken so few examples by then.
_SECONDS_MAX = 1.0


def found_program(name: str) -> str | None:
    """Where a server's program is, also where only administrators look."""
    return shutil.which(
        name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/usr/local/sbin"
    )


class Peer(Served):
    """A server of another project: a program, how it listens and what one batch looks like."""

    program = ""

    def missing(self) -> str:
        """Its program, if there is none."""
        return "" if found_program(self.program) else f"{self.program} is not installed"

    def flows(self, work: Work, connections: int) -> list[Flow]:
        """The same batches again and again."""
        frames = self.frames(work)
        window = max(4, min(_WINDOW_FRAMES, _WINDOW_BYTES // len(frames[0])))
        share = max(1, work.examples // work.batch // connections)
        return [
            Flow(self.connect(), frames, share, window, self.acknowledged())
            for _ in range(connections)
        ]

    def one(self) -> tuple[socket.socket, Sequence[bytes], Callable[[bytes], int]]:
        """Single examples."""
        return self.connect(), self.frames(Work(1)), self.acknowledged()

    def connect(self) -> socket.socket:
        """A new connection, ready for batches."""
        raise NotImplementedError

    def frames(self, work: Work) -> list[bytes]:
        """Some batches."""
        raise NotImplementedError

    def acknowledged(self) -> Callable[[bytes], int]:
        """What counts acknowledgements."""
        raise NotImplementedError


class Redis(Peer):
    """An entry of a stream for each batch, synced before it is acknowledged."""

    name = "Redis"
    program = "redis-server"

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Run it without any file of configuration."""
        self._path = folder / "redis"
        options = ["--port", 0, "--unixsocket", self._path, "--dir", folder, "--save", ""]
        logging = ["--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"]
        program = found_program(self.program)
        self.server = Server([program, *options, *logging], folder)
        try:
            self.server.connected(self.connect).close()
            yield
        finally:
            self.server.end()

    def connect(self) -> socket.socket:
        """Its Unix socket."""
        return unix(self._path)

    def frames(self, work: Work) -> list[bytes]:
        """XADD with the two columns."""
        words = (b"XADD", b"examples", b"MAXLEN", b"~", b"1000000", b"*", b"x")
        return [_words(*words, x, b"y", y) for x, y in payloads(work.batch, work.points)]

    def acknowledged(self) -> Callable[[bytes], int]:
        """An entry's name is two lines."""
        return counting(b"\n", 2, wrong=b"-ERR")


def _words(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Nats(Peer):
    """A message of a JetStream for each batch, acknowledged when it is written, without a sync."""

    name = "NATS"
    program = "nats-server"

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Run it, and make a stream in a file."""
        self._port = free_port()
        options = ["-a", "127.0.0.1", "-p", self._port, "-js", "-sd", folder]
        self.server = Server([found_program(self.program), *options], folder)
        try:
            self.server.connected(lambda: loopback(self._port)).close()
            self._make_stream()
            yield
        finally:
            self.server.end()

    def _make_stream(self) -> None:
        body = b'{"name":"S","subjects":["q"],"storage":"file","max_msgs":2000000}'
        request = b"PUB $JS.API.STREAM.CREATE.S _INBOX.r.1 %d\r\n%s\r\n" % (len(body), body)
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline:  # it listens before it knows of streams
            with self.connect() as peer:
                peer.settimeout(1.0)
                peer.sendall(request)
                with contextlib.suppress(TimeoutError):
                    answer = peer.recv(65536)
                    if b'"config"' in answer:
                        return
                    if b'"error"' in answer:
                        raise Silent("NATS makes no stream")
        raise Silent("NATS makes no stream")

    def connect(self) -> socket.socket:
        """Its port, with a box for acknowledgements."""
        peer = loopback(self._port)
        peer.recv(65536)
        peer.sendall(b'CONNECT {"verbose":false}\r\nSUB _INBOX.r.1 1\r\n')
        return peer

    def frames(self, work: Work) -> list[bytes]:
        """Publish the two columns, one after the other."""
        bodies = [x + y for x, y in payloads(work.batch, work.points)]
        return [b"PUB q _INBOX.r.1 %d\r\n%s\r\n" % (len(body), body) for body in bodies]

    def acknowledged(self) -> Callable[[bytes], int]:
        """One JSON object each."""
        return counting(b"}", wrong=b'"error"')


class VowpalWabbit(Peer):
    """Its daemon, which predicts and learns one line of text at a time."""

    name = "Vowpal Wabbit"
    options = "--loss_function logistic --link logistic -b 18 --quiet --num_children 1"

    def missing(self) -> str:
        """Its Python package, which has the daemon in it."""
        return "" if find_spec("vowpalwabbit") else "the package vowpalwabbit is not installed"

    def takes(self, work: Work) -> bool:
        """It knows no batches."""
        return work.batch == 1 and not work.users

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Run the daemon inside of the package."""
        self._port = free_port()
        options = f"{self.options} --daemon --foreground --port {self._port}"
        program = f"import vowpalwabbit; vowpalwabbit.Workspace({options!r}).run_parser()"
        self.server = Server([sys.executable, "-c", program], folder)
        try:
            self.server.connected(self.connect).close()
            yield
        finally:
            self.server.end()

    def connect(self) -> socket.socket:
        """Its port of this machine."""
        return loopback(self._port)

    def frames(self, work: Work) -> list[bytes]:
        """Lines of text."""
        return [
            b"%d |x %d\n" % (2 * y[0] - 1, int.from_bytes(x, "little"))
            for x, y in payloads(1, work.points)
        ]

    def acknowledged(self) -> Callable[[bytes], int]:
        """A line for each prediction."""
        return counting(b"\n")


class InProcess(Contender):
    """A library that is called in this process, which therefore spares itself the socket."""

    def rate(self, work: Work, connections: int = 1) -> Rate:
        """Call it with batches for the time of a work, at most a second."""
        calls, cpu, begun = 0, time.process_time(), time.perf_counter()
        for call in self.calls(work):
            call()
            calls += 1
            if time.perf_counter() - begun > _SECONDS_MAX:
                break
        seconds = time.perf_counter() - begun
        return Rate(calls * work.batch / seconds, (time.process_time() - cpu) / calls * 1e6)

    def trips(self, number: int) -> list[float]:
        """Single examples, each durable when the call returns, if the library stores anything."""
        seen = []
        for call in self.calls(Work(1, examples=number)):
            begun = time.perf_counter_ns()
            call()
            seen.append((time.perf_counter_ns() - begun) / 1e3)
        return seen

    def calls(self, work: Work) -> Iterator[Callable[[], object]]:
        """One call a batch."""
        raise NotImplementedError


class Sqlite(InProcess):
    """A row for each example and a commit for each batch, synced (WAL, synchronous FULL)."""

    name = "SQLite"

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Open a new database."""
        with contextlib.closing(sqlite3.connect(folder / "sqlite", isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("CREATE TABLE examples (x INTEGER, y INTEGER)")
            self._database = base
            yield

    def calls(self, work: Work) -> Iterator[Callable[[], object]]:
        """Insert the rows of a batch."""
        x, y = columns(work.points)
        for index in range(max(1, work.examples // work.batch)):
            where = part(index, work.batch)
            rows = list(zip(x[where].tolist(), y[where].tolist(), strict=True))
            yield lambda rows=rows: self._insert(rows)  # type: ignore[misc]

    def _insert(self, rows: Sequence[tuple[int, int]]) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO examples VALUES (?, ?)", rows)
        self._database.execute("COMMIT")


class River(InProcess):
    """Logistic regression that predicts, then learns, each example; nothing is stored."""

    name = "River"

    def missing(self) -> str:
        """Its package."""
        return "" if find_spec("river") else "the package river is not installed"

    def takes(self, work: Work) -> bool:
        """Its batches are of another kind: tables with many columns."""
        return work.batch == 1 and not work.users

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Make a new model."""
        from river.linear_model import LogisticRegression  # noqa: PLC0415 - it may be missing

        self._model = LogisticRegression()
        yield

    def trips(self, number: int) -> list[float]:
        """Nothing is asked and nothing stored."""
        return []

    def calls(self, work: Work) -> Iterator[Callable[[], object]]:
        """Predict and learn."""
        x, y = columns(work.points)
        for point, label in zip(x.tolist(), y.tolist(), strict=True):
            yield lambda point=point, label=label: self._take({point: 1}, label)  # type: ignore[misc]

    def _take(self, features: dict[Hashable, int], label: int) -> None:
        self._model.predict_one(features)
        self._model.learn_one(features, bool(label))


def peers() -> list[Contender]:
    """All of them."""
    return [Redis(), Nats(), VowpalWabbit(), Sqlite(), River()]
