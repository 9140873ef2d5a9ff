"""A daemon in this process, over real sockets, and every byte that it shows to anybody.

A *day* is a script of all that peers do: feed, repeat themselves, send wrong frames, ask, watch and
look at pages, until the daemon stops; then it is started again, looked at, and stopped. Each step
waits until the daemon has nothing left to do, so that two days with the same script differ only
where the daemon does: what threads and the kernel would leave to chance is *when* something is
said, and what comes first on two different connections, of which PRIVACY.md promises nothing.

The surfaces of two days are compared byte by byte. Only these are made equal first (`NORMALISED`):

- `timestamp` in a line of the log, and the header `Date` of HTTP: the clock on the wall;
- the port of the HTTP listener in the log, which the kernel chooses;
- the order of the lines before the daemon listens: the engines start side by side, each on a thread
  of its own, before anybody can feed anything (`in_order`).

Nothing else has to be: both days begin with copies of one new store, so that its public name is the
same, and the daemon gives connections neither numbers nor names.

Where a stream protects users, peers send the digests of who they are. The two users whose places
are taken exchange their secret words, under the names that the store gives them (`stored_users`).
"""

import asyncio
import contextlib
import gc
import io
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from littled.cli import streams as streams_module
from littled.cli.entry import run
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.service import daemon as daemon_module
from littled.service import host as host_module
from littled.service import http_rules
from littled.service import logs as logs_module
from littled.service import turns as turns_module
from littled.service.daemon import serve
from littled.service.host import Host
from littled.service.logs import make_log
from littled.service.sessions import Session
from littled.service.users import UserHash
from littled.store.records import Record
from littled.store.store import Store
from littled_client.addresses import TcpAddress
from littled_protocol.columns import decode_users, encode_users, point_type
from littled_protocol.messages import Examples as Batch
from littled_protocol.messages import (
    Moved,
    Open,
    Ping,
    Pong,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
)
from support.posting import WRONG_NAMES, WRONG_ROWS, Row, body_of, rows_of
from support.serving import WAIT_SECONDS, Peer, framed, raw
from support.twins import Examples, Headless, Script

LOCAL = TcpAddress("127.0.0.1", 0)
NORMALISED: Mapping[str, tuple[re.Pattern[bytes], bytes]] = {
    "the clock in the log": (re.compile(rb'"timestamp": "[^"]*"'), b'"timestamp": ""'),
    "the clock in HTTP": (re.compile(rb"\r\nDate: [^\r]*\r\n"), b"\r\nDate:\r\n"),
    "the port of HTTP": (re.compile(rb'"address": "127\.0\.0\.1:\d+"'), b'"address": ""'),
}

Shown = dict[str, bytes]


def normalised(surface: bytes) -> bytes:
    """The bytes without what may differ between two days."""
    for pattern, plain in NORMALISED.values():
        surface = pattern.sub(plain, surface)
    return surface


def in_order(log: str) -> bytes:
    """The log, with the lines of what starts side by side in the order of their text."""
    lines = [normalised(line) for line in log.encode().splitlines()]
    start = next(i for i, line in enumerate(lines) if b'"listening"' in line)
    return b"\n".join([*sorted(lines[:start]), *lines[start:]])


class Others:
    """Another daemon, and its one stream."""

    stream = "far"
    addresses = ("unix:/run/far.sock", "tls://far.example:4815")

    def where(self, stream: str) -> tuple[str, ...] | None:
        """Say where the one stream is."""
        return self.addresses if stream == self.stream else None


@dataclass(frozen=True)
class Course:
    """What is fed to one stream, and how; the stream's plan is that of the store."""

    plan: StreamPlan
    examples: Examples
    script: Script

    def batch(self, number: int) -> tuple[int, bytes, bytes, bytes] | None:
        """First sequence number and columns of a batch, the one of users empty where there are
        none; None when there are no more."""
        spans = list(pairwise((0, *self.script.cuts)))
        if number >= len(spans):
            return None
        part = slice(*spans[number])
        return part.start, *self.examples.columns(part, self.plan.x_type)

    def asked(self, number: int) -> list[Predict]:
        """What is asked after a batch."""
        return [asked for after, asked in self.script.questions if after == number]


# --- Wrong frames ---------------------------------------------------------------------------------


def batch(sequence: int, count: int, channel: int = 0, **columns: Any) -> bytes:
    """A frame of examples; without a column of users where that is empty."""
    given = {name: column for name, column in columns.items() if name != "users" or column}
    return raw(type="examples", channel=channel, sequence=sequence, count=count, **given)


def _label_2(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), x=x, y=y[:-1] + b"\x02", users=users)


def _point_outside(x: bytes, y: bytes, users: bytes) -> bytes:
    outside = x[: -len(x) // len(y)] + b"\xff" * (len(x) // len(y))
    return batch(0, len(y), x=outside, y=y, users=users)


def _gap(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(5, len(y), x=x, y=y, users=users)


def _short_column(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), x=x + b"\0", y=y, users=users)


def _lists_of_text(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), x=[str(byte) for byte in x], y=list(y), users=users)


def _other_channel(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), channel=3, x=x, y=y, users=users)


def _no_labels(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), x=x + y, users=users)


def _no_message(x: bytes, y: bytes, users: bytes) -> bytes:
    return framed(b"\xc1" + x + y + users)


def _no_users(x: bytes, y: bytes, _: bytes) -> bytes:
    return batch(0, len(y), x=x, y=y)


def _half_a_user(x: bytes, y: bytes, users: bytes) -> bytes:
    return batch(0, len(y), x=x, y=y, users=users[:-8])


# A wrong frame made of good columns, which hold the example that differs on two twins.
WRONG_FRAMES: tuple[Callable[[bytes, bytes, bytes], bytes], ...] = (
    _label_2, _point_outside, _gap, _short_column, _lists_of_text, _other_channel, _no_labels,
    _no_message,
)  # fmt: skip
WRONG_USERS = (_no_users, _half_a_user)


def wrong_frames(plan: StreamPlan) -> Sequence[Callable[[bytes, bytes, bytes], bytes]]:
    """Those that are wrong for a stream: where any byte string is a point, none is outside."""
    kind = point_type(plan.x_type)
    outside = kind.decode(b"\xff" * kind.itemsize_bytes, 1)
    any_point = kind.is_string and all(e.hypotheses.contains(outside) for e in plan.plans)
    frames = [each for each in WRONG_FRAMES if not (any_point and each is _point_outside)]
    return (*frames, *(WRONG_USERS if plan.unit.is_user else ()))


def stored_users(examples: Examples, key: bytes, stream: str) -> Examples:
    """The examples with users under the names that a store with this key gives them."""
    assert examples.users is not None
    column = UserHash(key, stream).column(encode_users(examples.users))
    return replace(examples, users=decode_users(bytes(column), len(examples.y)))


# --- Waiting for the daemon -----------------------------------------------------------------------


class _Lines(io.StringIO):
    """A log that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.news = threading.Condition()

    def write(self, text: str) -> int:
        with self.news:
            count = super().write(text)
            self.news.notify_all()
        return count

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def is_ready(self) -> bool:
        """Wait until the daemon is ready; False if it does not come to this."""
        with self.news:
            return self.news.wait_for(lambda: '"ready"' in self.getvalue(), WAIT_SECONDS)


class _Done:
    """Counts what the daemon has done with what it was given."""

    def __init__(self) -> None:
        self.news = threading.Condition()
        self.counts = {"learned": 0, "lost": 0}

    def count(self, what: str) -> None:
        with self.news:
            self.counts[what] += 1
            self.news.notify_all()

    def reach(self, what: str, count: int) -> None:
        """Wait until so many records are learned or connections lost."""
        with self.news:
            done = self.news.wait_for(lambda: self.counts[what] >= count, WAIT_SECONDS)
        assert done, f"the daemon has not {what} {count}"

    def attach(self, patch: pytest.MonkeyPatch) -> None:
        """Count on the loop, behind everything that an engine shows: calls keep their order."""
        learn, lose = Host._learn, Session.connection_lost

        def learned(host: Host, records: Sequence[Record]) -> Iterator[Any]:
            yield from learn(host, records)
            for _ in records:
                host._observer._post(self.count, "learned")  # type: ignore[attr-defined]

        def lost(session: Session, error: Exception | None) -> None:
            lose(session, error)
            self.count("lost")

        patch.setattr(Host, "_learn", learned)
        patch.setattr(Session, "connection_lost", lost)


# --- A day ----------------------------------------------------------------------------------------


@dataclass
class Day:
    """One daemon from its first start to its second stop, on the store `store`.

    key: what all noise is made from, whatever the history. exchanged: whose secret words are.
    over_http: whether it is fed as rows over HTTP, and not by the protocol; and `spelling`, which
    of the cells that come to the same points the rows have. closing: whether all streams are closed
    in the end, and the daemon started for a third time.
    """

    store: Path
    courses: Sequence[Course]
    key: bytes
    exchanged: Mapping[bytes, bytes] = field(default_factory=dict)
    shown: Shown = field(default_factory=dict)
    over_http: bool = False
    spelling: int = 0
    closing: bool = False

    def __post_init__(self) -> None:
        """Nobody has come yet."""
        self._unix = self.store.parent / f"{self.store.name}.sock"
        self._http = (LOCAL.host, 0)
        self._lines, self._done = _Lines(), _Done()
        self._learned = self._lost = self._steps = 0
        self._peers: dict[str, Peer] = {}
        self._events: dict[str, socket.socket] = {}
        # by place what was read of events, and by learner the last version that its watcher has
        self._read: dict[str, bytes] = {}
        self._seen: dict[str, int] = {}
        # examples of each stream that came over HTTP
        self._posted: dict[str, int] = {course.plan.stream: 0 for course in self.courses}

    def run(self) -> Shown:
        """Live through the day; every surface by its place, normalised."""
        with pytest.MonkeyPatch.context() as patch:
            noise = Headless(KeyedNoise(self.key), self.exchanged)
            patch.setattr(daemon_module, "KeyedNoise", lambda _: noise)
            patch.setattr(host_module, "ENGINE_REST_SECONDS", 0.0)
            patch.setattr(host_module, "ENGINE_LONG_REST_SECONDS", 0.0)
            # matters of the clock: signs of life, the pace at which one peer may ask, and lines of
            # the log that are left out where many of a kind come within seconds
            patch.setattr(logs_module, "LOG_INTERVAL_SECONDS", 3600.0)
            patch.setattr(http_rules, "HTTP_HEARTBEAT_SECONDS", 3600.0)
            patch.setattr(turns_module, "ALLOWANCE_UNITS_PER_SECOND", 1e6)
            self._done.attach(patch)
            self._live("first", self._work)
            self._live("second", self._look)
            if self.closing:
                patch.setattr(streams_module, "KeyedNoise", lambda _: noise)
                for course in self.courses:
                    self._close(course.plan.stream)
                self._live("third", self._look_at_closed)
        with Store.open(self.store, read_only=True) as store:
            for course in self.courses:
                self._history(store, course.plan)
        return {place: normalised(surface) for place, surface in self.shown.items()}

    def _close(self, name: str) -> None:
        """Close a stream by the command, and keep what it prints."""
        printed, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            status = run(["stream", "close", str(self.store), name, "--yes"])
        assert (status, errors.getvalue()) == (0, "")
        self.shown[f"closing of {name}"] = printed.getvalue().encode()

    def _history(self, store: Store, plan: StreamPlan) -> None:
        """The ledger and the releases, which are public as well."""
        entries = [entry.to_bytes() for entry in store.ledger(plan.stream)]
        self.shown[f"ledger of {plan.stream}"] = b"\n".join(entries)
        for each in plan.publishing:
            name = f"{plan.stream}/{each.name}"
            self.shown[f"releases of {name}"] = repr(store.releases(name)).encode()

    # -- the daemon --------------------------------------------------------------------------

    def _live(self, life: str, work: Callable[[], None]) -> None:
        self._lines, self._learned, self._lost = _Lines(), 0, 0
        self._done.counts = {"learned": 0, "lost": 0}
        interval = sys.getswitchinterval()
        try:
            asyncio.run(self._serve(life, work))
        finally:
            sys.setswitchinterval(interval)
            gc.unfreeze()
        self.shown[f"log of the {life} life"] = in_order(self._lines.getvalue())

    async def _serve(self, life: str, work: Callable[[], None]) -> None:
        log = make_log("json", self._lines)
        async with asyncio.TaskGroup() as tasks:
            self._serving = tasks.create_task(
                serve(self.store, self._unix, None, LOCAL, log=log, elsewhere=Others())
            )
            tasks.create_task(asyncio.to_thread(self._visit, life, work))

    def _visit(self, life: str, work: Callable[[], None]) -> None:
        """What all peers do, on a thread of their own, up to the end of the daemon's life."""
        assert self._lines.is_ready()
        http = next(each for each in self._lines.lines if each.get("transport") == "http")
        self._http = (LOCAL.host, int(http["address"].rpartition(":")[2]))
        try:
            work()
        finally:
            if not self._serving.done():  # or else the signal would end the tests
                os.kill(os.getpid(), signal.SIGTERM)
            for name in [*self._peers]:
                self._see_off(f"{life} {name}", self._peers.pop(name))
            for name in [*self._events]:
                with self._events.pop(name) as events:
                    self.shown[f"{life} {name}"] = self._read[name] + _rest(events)

    # -- peers -------------------------------------------------------------------------------

    def _see_off(self, name: str, peer: Peer) -> None:
        """Read what still comes, close, and keep every byte that came."""
        with peer:
            peer.received += _rest(peer.socket)
        self.shown[name] = bytes(peer.received)

    def _step(self, what: str) -> str:
        self._steps += 1
        return f"{self._steps:04d} {what}"

    def _page(self, path: str, body: str | None = None) -> bytes:
        """Get a page, or ask a question; all that comes, headers included."""
        head = "GET" if body is None else "POST"
        sent = f"{head} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if body is not None:
            sent += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        with socket.create_connection(self._http, WAIT_SECONDS) as connection:
            connection.sendall(f"{sent}\r\n{body or ''}".encode())
            answer = _rest(connection)
        self.shown[self._step(path)] = answer
        return answer

    # -- what they do ------------------------------------------------------------------------

    def _work(self) -> None:
        """The first life: everything that a peer can do."""
        for course in self.courses:
            name = course.plan.stream
            producer = self._peers[f"producer of {name}"] = Peer.greet(self._unix)
            producer.open(name, "p")
        self._watch()
        number = 0
        while self._rounds(number):
            number += 1
        for course in self.courses:
            if not self._posted[course.plan.stream]:
                self._repeat(course)
        self._look()

    def _watch(self) -> None:
        """Subscribe to every learner on connections of their own, and to events over HTTP."""
        self._peers["control"] = Peer.greet(self._unix)
        for name in self._online():
            watcher = self._peers[f"watcher of {name}"] = Peer.greet(self._unix)
            watcher.subscribe(name)
            events = socket.create_connection(self._http, WAIT_SECONDS)
            events.sendall(f"GET /rules/{name}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self._events[f"events of {name}"] = events
            self._read[f"events of {name}"] = b""
            self._seen[name] = 0

    def _online(self) -> list[str]:
        return [f"{c.plan.stream}/{each.name}" for c in self.courses for each in c.plan.publishing]

    def _rounds(self, number: int) -> int:
        """Feed every stream that has such a batch; how many these were."""
        batches = [(course, course.batch(number)) for course in self.courses]
        left = [(course, batch) for course, batch in batches if batch is not None]
        for course, batch in left:
            self._round(course, number, *batch)
        return len(left)

    def _round(
        self, course: Course, number: int, sequence: int, x: bytes, y: bytes, users: bytes
    ) -> None:
        """Feed one batch of a stream, wait until it is learned, and look at everything."""
        name, count, columns = course.plan.stream, len(y), (x, y, users)
        frames = wrong_frames(course.plan)
        self._wrong(frames[(number + len(name)) % len(frames)], name, *columns)
        if self.over_http:
            names, rows = rows_of(course.plan, *columns, self.spelling)
            self._post_wrong(course.plan, number, rows)
            self._post(name, body_of(names, rows, number + self.spelling), count)
        else:
            self._feed(name, sequence, count, *columns)
        self._learned += 1
        self._done.reach("learned", self._learned)
        for asked in course.asked(number):
            self._ask(asked)
        self._see_releases()
        self._ask_elsewhere()
        assert self._page("/metrics").startswith(b"HTTP/1.1 200 ")

    def _feed(self, name: str, sequence: int, count: int, *columns: bytes) -> None:
        """Feed a batch by the protocol."""
        producer = self._peers[f"producer of {name}"]
        producer.send(_good(sequence, *columns))
        producer.acknowledged(sequence + count)
        credit = producer.connection.credit_left_bytes
        self.shown[self._step(f"credit of the producer of {name}")] = str(credit).encode()

    def _post(self, name: str, body: str, count: int) -> None:
        """Feed the same over HTTP, and then once more, which nothing is learned of."""
        path = f"/feed/{name}?producer=h&sequence={self._posted[name]}"
        for _ in range(2):
            answer = self._page(path, body)
            assert answer.startswith(b"HTTP/1.1 200 "), answer
        self._posted[name] += count
        assert self._page(path.partition("&")[0]).startswith(b"HTTP/1.1 200 ")

    def _post_wrong(self, plan: StreamPlan, number: int, rows: list[Row]) -> None:
        """Rows that are refused, made of good ones that hold the example that differs."""
        kinds = (*WRONG_NAMES, *WRONG_ROWS) if plan.unit.is_user else WRONG_ROWS
        label = len(rows[0]) - (2 if plan.unit.is_user else 1)
        path = f"/feed/{plan.stream}?producer=h&sequence={self._posted[plan.stream]}"
        for each in (2 * number, 2 * number + 1):
            answer = self._page(path, kinds[each % len(kinds)](rows, label))
            assert answer.startswith(b"HTTP/1.1 400 "), answer

    def _wrong(
        self, frame: Callable[[bytes, bytes, bytes], bytes], name: str, *columns: bytes
    ) -> None:
        """A producer of its own that feeds a wrong frame and is shown out."""
        peer = Peer.greet(self._unix)
        peer.send(Open(0, name, "w"))
        peer.receive()
        peer.write(frame(*columns))
        self._see_off(self._step(f"{frame.__name__} to {name}"), peer)
        self._lost += 1
        self._done.reach("lost", self._lost)

    def _repeat(self, course: Course) -> None:
        """Feed what is known already: the first batch, and one that overlaps with the last."""
        producer = self._peers[f"producer of {course.plan.stream}"]
        first = course.batch(0)
        assert first is not None
        producer.send(_good(*first))
        producer.acknowledged(1)

    def _ask(self, asked: Predict) -> None:
        """Ask on the wire, and the same over HTTP, which gets the stored answer."""
        control = self._peers["control"]
        control.send(asked)
        answer = control.receive()
        assert isinstance(answer, Prediction | PredictionRefused), answer
        points = list(asked.x)
        body = {"learner": asked.learner, "x": points, "request": asked.request.hex()}
        self._page("/predict", json.dumps(body))

    def _ask_elsewhere(self) -> None:
        """A peer of version 2 that asks about a stream of another daemon in every way."""
        peer = Peer.greet(self._unix, version=2)
        learner = f"{Others.stream}/late"
        for asked in (
            Open(0, Others.stream, "p"),
            Subscribe(learner, 0),
            Predict(bytes(16), learner, 1, b"\0"),
            StatusRequest(Others.stream),
        ):
            peer.send(asked)
            assert peer.expect(Moved).addresses == list(Others.addresses)
        peer.socket.shutdown(socket.SHUT_WR)
        self._see_off(self._step(f"what is said of {Others.stream}"), peer)
        self._lost += 1
        self._done.reach("lost", self._lost)
        page = self._page(f"/status?stream={Others.stream}")
        assert page.startswith(b"HTTP/1.1 421 ")

    def _see_releases(self) -> None:
        """Wait until every watcher has every version that the status names."""
        control = self._peers["control"]
        control.send(StatusRequest())
        streams = control.expect(Status).body["streams"]
        for name in self._online():
            stream, _, learner = name.partition("/")
            version = streams[stream]["learners"][learner]["version"]
            while self._seen[name] < version:
                release = self._peers[f"watcher of {name}"].expect(Release)
                self._seen[name] = release.version
            events = f"events of {name}"
            while b"id: %d\n" % version not in self._read[events]:
                self._read[events] += self._events[events].recv(1 << 16)

    def _look(self) -> None:
        """Every page, and all releases from the first on."""
        if not self._peers:
            self._watch()
        self._see_releases()
        control = self._peers["control"]
        control.send(Ping(7))
        control.expect(Pong)
        for path in ("/", "/healthz", "/status", "/metrics"):
            assert self._page(path).startswith(b"HTTP/1.1 200 ")
        assert self._page("/nowhere").startswith(b"HTTP/1.1 404 ")
        for name in self._online():
            for form in ("json", "text", "sql"):
                self._page(f"/rules/{name}?format={form}")
            assert self._page(f"/rules/{name}/history").startswith(b"HTTP/1.1 200 ")
        self._look_at_news()
        for course in self.courses:
            for asked in course.asked(len(course.script.cuts) - 1):
                self._ask(asked)

    def _look_at_closed(self) -> None:
        """Every page as before, and whatever somebody is refused who does not know."""
        self._look()
        for course in self.courses:
            name = course.plan.stream
            producer = Peer.greet(self._unix)
            producer.send(Open(0, name, "p"))
            self._see_off(self._step(f"late producer of {name}"), producer)
            batch = course.batch(0)
            assert batch is not None
            sequence, x, y, users = batch
            path = f"/feed/{name}?producer=h&sequence={sequence}"
            names, rows = rows_of(course.plan, x, y, users, self.spelling)
            label = len(rows[0]) - (2 if course.plan.unit.is_user else 1)
            for body in (body_of(names, rows, 0), *(wrong(rows, label) for wrong in WRONG_ROWS)):
                assert self._page(path, body).startswith(b"HTTP/1.1 409 ")
            for asked in course.asked(len(course.script.cuts) - 1):
                # another request, and so another question
                new = replace(asked, request=bytes(reversed(asked.request)))
                self._ask(new)
        for path in ("/status", "/metrics"):
            assert self._page(path).startswith(b"HTTP/1.1 200 ")

    def _look_at_news(self) -> None:
        """The events of all learners, up to the positions of streams."""
        read = b""
        with socket.create_connection(self._http, WAIT_SECONDS) as connection:
            connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while not (b"event: tick\n" in read and read.endswith(b"\n\n\r\n")):
                read += connection.recv(1 << 16)
        self.shown[self._step("/events")] = read


def _good(sequence: int, x: bytes, y: bytes, users: bytes) -> Batch:
    return Batch(0, sequence, len(y), x, y, users or None)


def _rest(connection: socket.socket) -> bytes:
    """All bytes up to the end."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            found += data
    return found


def live(
    new_store: Path,
    courses: Sequence[Course],
    key: bytes,
    exchanged: Mapping[bytes, bytes] | None = None,
    *,
    over_http: bool = False,
    spelling: int = 0,
    closing: bool = False,
) -> Shown:
    """A day with these streams, on a copy of the new store at one and the same place."""
    store = new_store.parent / "store"
    shutil.copytree(new_store, store)
    try:
        how: Any = {"over_http": over_http, "spelling": spelling, "closing": closing}
        return Day(store, courses, key, exchanged or {}, **how).run()
    finally:
        shutil.rmtree(store)


def assert_same(one: Shown, other: Shown) -> None:
    assert list(one) == list(other)
    for place, surface in one.items():
        assert surface == other[place], f"{place} differs"
