"""Engines at work: each stream's engine takes turns with the others, fed in the journal's order.

All of them share a few threads (`littled.service.courses`). In one turn an engine learns a limited
number of the records that wait, and while it waits for a training it holds no thread.

A host replays what the last snapshot does not hold, at least as far as anything was charged or
released, then learns record after record: those that were durable before the start, and others as
they become durable. What its engine charges and publishes is written through the daemon's writer; a
release is shown only after it is durable. A host that fails brings the daemon down: an engine that
lost a record would no longer be the function of its journal that privacy and replay rest on.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Protocol

from littled.budget.ledger import LedgerEntry
from littled.engine import Outlet, in_turns, newest_usable, wait_for
from littled.limits import (
    ENGINE_LONG_REST_SECONDS,
    ENGINE_MANY_EXAMPLES,
    ENGINE_REST_SECONDS,
    RECORD_OVERHEAD_BYTES,
    REPLAY_BYTE_SECONDS,
    REPLAY_EXAMPLE_SECONDS,
    REPLAY_RECORD_SECONDS,
    REPLAY_REPORT_SECONDS,
    REPLAY_SECONDS,
    REPLAY_STREAM_SECONDS_MIN,
    SNAPSHOT_BYTE_SECONDS,
    SNAPSHOT_RELEASE_SECONDS,
)
from littled.mechanisms.noise import NoiseSource
from littled.planner import StreamPlan
from littled.service.courses import Course, Courses, Next, Rest
from littled.service.logs import Log
from littled.service.writer import Writer, WriterStopped
from littled.store.records import Record, StoredRelease
from littled_protocol.columns import point_type
from littled_protocol.limits import user_bytes

Status = Mapping[str, Any]


class HostedEngine(Protocol):
    """What a host needs of an engine."""

    @property
    def record_number(self) -> int:
        """Number of the last record applied, -1 before the first."""

    def start(self) -> None:
        """Publish what is known before any data."""

    def learning(self, records: Sequence[Record]) -> Iterator[Future[Any] | None]:
        """Learn records; yields trainings to be waited for, and None where it may be left.

        It charges and publishes on the way.
        """

    def snapshot(self) -> bytes:
        """Return the state after the last record."""

    def status(self) -> Status:
        """Return public facts."""


BuildEngine = Callable[[StreamPlan, NoiseSource, Outlet, Executor, bytes | None], HostedEngine]


class EngineStore(Protocol):
    """What a host needs of the store: reads on the host's thread, writes on the writer's."""

    def charge(self, entry: LedgerEntry) -> None:
        """Make a charge durable."""

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Make releases and charges durable in one transaction."""

    def records(self, stream: str, after: int = -1) -> Iterator[Record]:
        """Return the stream's records after number `after`, in order."""

    def behind(self, stream: str, number: int) -> tuple[int, int]:
        """Return how many records come after record `number`, and how many examples they hold."""

    def save_snapshot(self, stream: str, record_number: int, state: bytes) -> None:
        """Store an engine's state after record `record_number`."""

    def snapshots(self, stream: str) -> Iterator[tuple[int, bytes]]:
        """Return the sound snapshots, newest first, each behind the number of its last record."""


class HostObserver(Protocol):
    """How a host shows public facts to the rest of the daemon; called on the host's thread."""

    def releases(self, releases: Sequence[StoredRelease]) -> None:
        """Show releases, which are durable, to subscribers."""

    def status(self, stream: str, status: Status) -> None:
        """Replace what the daemon says about `stream`."""

    def learned(self, stream: str, records: Sequence[Record]) -> None:
        """Say that records were learned and take no memory any more."""

    def progress(self, stream: str) -> None:
        """Say that the replay at the start goes on."""

    def failed(self, error: BaseException) -> None:
        """Bring the daemon down."""


class SeasonAwaited(Exception):
    """A season is not open yet; `news` is done when it may be worth asking again."""

    def __init__(self, news: Future[None]) -> None:
        """Tell what to wait for."""
        super().__init__("the season is not open yet")
        self.news = news


class Seasons:
    """Up to which season all charges that open one are durable; told and asked on any thread.

    Nobody waits in here: a stream that is far behind would keep a thread that others need.
    """

    def __init__(self) -> None:
        """Know of none."""
        self._lock = threading.Lock()
        self._season = -1
        self._closed = False
        self._news: Future[None] = Future()

    def reach(self, season: int) -> None:
        """Say that this season is open."""
        with self._lock:
            if season <= self._season:
                return
            self._season = season
            news, self._news = self._news, Future()
        news.set_result(None)

    def ensure(self, season: int) -> None:
        """Return if this season is open.

        Raises SeasonAwaited when it is not open yet, and WriterStopped when it will not be.
        """
        with self._lock:
            if self._season >= season:
                return
            if self._closed:
                raise WriterStopped("the season will not be opened any more")
            raise SeasonAwaited(self._news)

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._lock:
            self._closed = True
            news, self._news = self._news, Future()
        news.set_result(None)


@dataclass(frozen=True, slots=True)
class Catching:
    """How far a start takes an engine before the daemon listens.

    shown: position of the last release, charge or restore, which peers may know of, -1 without one:
    the engine comes to it in any case. bytes_max: what may be left to learn later, in memory.
    until: on the monotonic clock, when learning more than that ends.
    """

    shown: int = -1
    bytes_max: int = 0
    until: float = math.inf

    def is_enough(self, position: int, bytes_left: int) -> bool:
        """Whether an engine before the example at `position` may leave the rest for later."""
        return (
            position > self.shown
            and bytes_left <= self.bytes_max
            and time.monotonic() >= self.until
        )


# Up to the journal's end, however long that takes.
ALL = Catching()


@dataclass(slots=True)
class First:
    """What an engine publishes and charges before any data, not yet durable."""

    releases: list[StoredRelease] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)


class StoreOutlet:
    """Writes an engine's charges and releases through the writer, then shows the releases.

    `published` counts how often anything became public; what the daemon shows of a stream changes
    at those moments only, so that it tells nothing of how long a joint training took or whether one
    is running.
    """

    def __init__(
        self,
        store: EngineStore,
        writer: Writer,
        observer: HostObserver,
        seasons: Seasons | None = None,
    ) -> None:
        """Write to `store` on the thread of `writer`; say to `seasons` which of them are open."""
        self._store = store
        self._writer = writer
        self._observer = observer
        self._seasons = seasons or Seasons()
        self._first: First | None = None
        self.published = 0

    def hold(self) -> First:
        """Only collect, from here on until `let_go`, what is published."""
        self._first = First()
        return self._first

    def let_go(self) -> None:
        """Show what was collected, which is durable by now, and go on as usual."""
        first, self._first = self._first, None
        if first is not None:
            self._show(first.releases, first.entries)

    def charge(self, entry: LedgerEntry) -> None:
        """Make a charge durable before returning."""
        self._writer.call(lambda: self._store.charge(entry))

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Make releases and charges durable in one transaction, then show the releases."""
        if self._first is not None:
            self._first.releases += releases
            self._first.entries += entries
            return
        self._writer.call(lambda: self._store.publish(releases, entries))
        self._show(releases, entries)

    def _show(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        self.published += 1
        self._observer.releases(releases)
        if entries:
            # charges that come together open a season
            self._seasons.reach(entries[-1].season)


class Host:
    """One stream's engine, and the records that wait for it."""

    def __init__(
        self,
        plan: StreamPlan,
        store: EngineStore,
        writer: Writer,
        observer: HostObserver,
        log: Log,
        courses: Courses,
        streams: int = 1,
    ) -> None:
        """Make a host that does nothing before `begin`; it learns on `courses` after `start`.

        streams: how many a start has to replay.
        """
        self.stream = plan.stream
        self._plan = plan
        self._store = store
        self._writer = writer
        self._observer = observer
        self._log = log
        self.seasons = Seasons()
        self._outlet = StoreOutlet(store, writer, observer, self.seasons)
        self._courses = courses
        self._course: Course | None = None
        # Appended to on the loop, taken from in turns; and how many examples ever were either.
        self._waiting: deque[Record] = deque()
        self._put = self._taken = 0
        # Whether a rest, if one is taken now, is a long one, in which few examples may gather.
        self._gathers = False
        self._interrupted = threading.Event()
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._engine: HostedEngine | None = None
        # Records and examples that the engine does not know, as long as it replays, and when it was
        # last said that it goes on.
        self._behind = 0, 0
        self._reported_at = -math.inf
        self._first = First()
        self._saved_number = -1
        # Whether the store has states of later records, which this version has no use for.
        self._has_unusable = False
        self._saved_at = time.monotonic()
        self._saved_bytes = 0
        # How often something had become public when it was last saved, and when that was last told.
        self._saved_published = self._told = 0
        # How long replaying takes what was learned since the last snapshot, and how long it may.
        self._replay_seconds = 0.0
        self._replay_seconds_max = max(REPLAY_SECONDS / streams, REPLAY_STREAM_SECONDS_MIN)
        users = user_bytes if plan.unit.is_user else 0
        self._example_bytes = point_type(plan.x_type).itemsize_bytes + 1 + users

    def begin(self, build: BuildEngine, noise: NoiseSource, executor: Executor) -> None:
        """Build the engine from the last snapshot; `publish_first` and `replay` come next.

        Blocks; called once, on any thread but the loop's and the writer's.
        """
        engine = self._engine = self._restored(build, noise, executor)
        self._behind = self._store.behind(self.stream, engine.record_number)
        self._first = self._outlet.hold()
        engine.start()

    @property
    def first(self) -> First:
        """What has to be durable before `replay`."""
        return self._first

    @property
    def behind_bytes(self) -> int:
        """What the records cost in memory that the engine has still to replay."""
        records, examples = self._behind
        return records * RECORD_OVERHEAD_BYTES + examples * self._example_bytes

    def replay(self, catching: Catching = ALL) -> list[Record]:
        """Show what was published first, and replay the journal after the last snapshot.

        Returns the records that are left for later, as if they had been put. Blocks, possibly for
        long; called once, on any thread but the loop's and the writer's.
        """
        engine = self._hosted()
        self._outlet.let_go()
        self._first = First()
        turns = in_turns(self._store.records(self.stream, engine.record_number))
        for together in turns:
            # Not before the first of them are at hand: the version that has a use for the states
            # may be all that can serve a store whose first records were archived.
            self._forget_unusable()
            left = self._replay_turn(together, catching)
            if self._interrupted.is_set():
                self._save()
                return []
            if left:
                for record in chain(left, *turns):
                    self.put(record)
                break
        self._told = self._outlet.published
        status = engine.status()
        # a snapshot may have been taken after the season was opened
        self.seasons.reach(status["season"])
        self._observer.status(self.stream, status)
        return list(self._waiting)

    def _replay_turn(self, records: Sequence[Record], catching: Catching) -> Sequence[Record]:
        """Learn records until a start has learned enough, or is interrupted; returns the others.

        A turn may have a training for each of its records, so both are asked in between.
        """
        engine, known = self._hosted(), 0
        trainings = engine.learning(records)
        while known < len(records) and not self._replays_enough(records[known], catching):
            self._report()
            _wait_until_settled(trainings)
            settled = engine.record_number + 1 - records[0].number
            self._replayed(records[known:settled])
            known = settled
        return records[known:]

    def _replays_enough(self, following: Record, catching: Catching) -> bool:
        if self._interrupted.is_set():
            return True
        return catching.is_enough(following.first_position, self.behind_bytes)

    def _report(self) -> None:
        """Say that the replay goes on, unless that was said just now."""
        now = time.monotonic()
        if now - self._reported_at >= REPLAY_REPORT_SECONDS:
            self._reported_at = now
            self._observer.progress(self.stream)

    def _replayed(self, known: Sequence[Record]) -> None:
        """Take note of records that the engine has come to know."""
        records, examples = self._behind
        self._behind = records - len(known), examples - _examples(known)
        self._save_if_worth_it(known)

    def start(self) -> None:
        """Begin to learn what is put."""
        self._course = self._courses.start(self._steps())

    def put(self, record: Record) -> None:
        """Hand over the next record without waiting."""
        before = self._put - self._taken
        self._put += record.count
        self._waiting.append(record)
        if self._course is None:
            return
        # Asked after it was appended, and said before the engine looks for the last time: one of
        # the two notices.
        if self._gathers and before < ENGINE_MANY_EXAMPLES <= before + record.count:
            self._course.hurry()
        # Where others wait before it, they have woken the engine, which takes it along with them.
        elif len(self._waiting) == 1:
            self._course.wake()

    def stop(self) -> None:
        """Ask it to end after the record in hand; it saves a snapshot first."""
        self._interrupted.set()
        self._stopping.set()
        if self._course is not None:
            self._course.hurry()

    def abandon(self) -> None:
        """Say that no training will begin or end any more: the record in hand is for the replay."""
        self._abandoned.set()

    def interrupt_replay(self) -> None:
        """Ask `replay` to end after the record in hand, when nobody will need the rest."""
        self._interrupted.set()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most so long. Blocks."""
        if self._course is not None:
            self._course.over.wait(seconds)

    def _restored(self, build: BuildEngine, noise: NoiseSource, executor: Executor) -> HostedEngine:
        make = partial(build, self._plan, noise, self._outlet, executor)
        states = self._store.snapshots(self.stream)
        engine, self._saved_number, self._has_unusable = newest_usable(states, make)
        if self._has_unusable and self._saved_number < 0:
            self._log.warning("snapshot not usable, replaying from the start", stream=self.stream)
        return engine

    def _forget_unusable(self) -> None:
        """Save the state, so that the store has no later one, whatever comes.

        Where such a one stays, records are archived that the next start needs.
        """
        if self._has_unusable:
            self._put_snapshot(self._hosted().record_number)
            self._has_unusable = False

    def _steps(self) -> Iterator[Next]:
        """Take turns until the stop; WriterStopped ends it, as the daemon knows already."""
        with suppress(WriterStopped), self._until_abandoned():
            # What was replayed at the start need not be replayed once more, whatever comes.
            self._save()
            rested = 0
            while not self._stopping.is_set():
                turn = self._turn()
                if turn:
                    yield from self._learn(turn)
                # Learning in gusts leaves the interpreter to acknowledgements in between, whose
                # round trips would otherwise cross the engine's at every single example.
                learned = self._taken - rested
                self._gathers = 0 < learned < ENGINE_MANY_EXAMPLES
                if self._waiting or self._stopping.is_set():
                    yield None
                else:
                    rested = self._taken
                    yield _rest_after(learned)
            self._save()

    @contextmanager
    def _until_abandoned(self) -> Iterator[None]:
        """End quietly where a training was refused or cancelled because the daemon is over."""
        try:
            yield
        except (RuntimeError, CancelledError):
            if not self._abandoned.is_set():
                raise

    def _turn(self) -> list[Record]:
        """Take so many waiting records as are worth one turn."""
        turn = next(in_turns(self._take()), [])
        self._taken += _examples(turn)
        return turn

    def _take(self) -> Iterator[Record]:
        while self._waiting:
            yield self._waiting.popleft()

    def _learn(self, records: Sequence[Record]) -> Iterator[Next]:
        for training in self._hosted().learning(records):
            if training is None:
                self._tell_status()
                if self._stopping.is_set():
                    return
            yield training
        self._observer.learned(self.stream, records)
        self._save_if_worth_it(records)

    def _tell_status(self) -> None:
        """Tell the facts after a record in which something became public, and only then."""
        if self._outlet.published > self._told:
            self._told = self._outlet.published
            self._observer.status(self.stream, self._hosted().status())

    def _save_if_worth_it(self, records: Sequence[Record]) -> None:
        """Save a snapshot after records, where replaying them all would take too long."""
        self._replay_seconds += _replay_seconds(records)
        worth = SNAPSHOT_BYTE_SECONDS * self._saved_bytes
        since = time.monotonic() - self._saved_at
        trained = self._outlet.published > self._saved_published
        trained = trained and since >= max(SNAPSHOT_RELEASE_SECONDS, worth)
        if trained or self._replay_seconds >= max(self._replay_seconds_max, worth):
            self._save()

    def _save(self) -> None:
        number = self._hosted().record_number
        if number > self._saved_number:
            self._put_snapshot(number)

    def _put_snapshot(self, number: int) -> None:
        state = self._hosted().snapshot()
        self._writer.call(lambda: self._store.save_snapshot(self.stream, number, state))
        self._saved_number, self._saved_bytes = number, len(state)
        self._saved_at = time.monotonic()
        self._saved_published = self._outlet.published
        self._replay_seconds = 0.0

    def _hosted(self) -> HostedEngine:
        assert self._engine is not None, "the host was started before it was ready"
        return self._engine


def publish_first(hosts: Iterable[Host], store: EngineStore) -> None:
    """Make durable what engines publish before any data, all in one transaction; on the writer.

    The high-water mark is written whole for every transaction: with a thousand streams it would be
    written a thousand times.
    """
    firsts = [host.first for host in hosts]
    releases = [release for first in firsts for release in first.releases]
    store.publish(releases, [entry for first in firsts for entry in first.entries])


def _rest_after(learned: int) -> Rest:
    """What follows a gust of so many examples: a long rest where there were few, none after none.

    Few at a time is how they come from somebody who waits for each acknowledgement.
    """
    if not learned:
        return Rest()
    many = learned >= ENGINE_MANY_EXAMPLES
    return Rest(ENGINE_REST_SECONDS if many else ENGINE_LONG_REST_SECONDS)


def _wait_until_settled(trainings: Iterator[Future[Any] | None]) -> None:
    """Wait for trainings up to where the engine may be left."""
    for training in trainings:
        if training is None:
            return
        wait_for(training)


def _examples(records: Iterable[Record]) -> int:
    return sum([record.count for record in records])


def _replay_seconds(records: Sequence[Record]) -> float:
    """About how long a replay takes for records, by their sizes alone."""
    size = sum([len(record.x) + len(record.y) + len(record.users) for record in records])
    return (
        REPLAY_RECORD_SECONDS * len(records)
        + REPLAY_EXAMPLE_SECONDS * _examples(records)
        + REPLAY_BYTE_SECONDS * size
    )
