"""What was accepted and is not durable yet: a queue for each producer, and each one's share.

A producer of a stream has a queue of its own, so that who sends one example does not stand behind
another's sixteen megabytes. A commit takes the queues with little in them whole, which is one small
message of a producer that waits for each acknowledgement. What room there is for the others is
shared out evenly (fair queueing); a run that is longer than its share is cut.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import Protocol

from littled.limits import (
    COMMIT_BYTES_MAX,
    ENGINE_QUEUE_BYTES_MAX,
    ENGINE_QUEUE_RESERVE_BYTES,
    ENGINE_QUEUES_BYTES_MAX,
    ENGINE_QUEUES_RESERVE_BYTES,
    PENDING_BYTES_MAX,
    PRODUCER_QUEUE_LITTLE_BYTES,
    RECORD_OVERHEAD_BYTES,
)
from littled.store.records import NewRecord, Record, SourcePlace

_TURNS = count()


class Owner(Protocol):
    """A session's end of a channel on which a producer feeds; used on the event loop."""

    def acknowledge(self, next_sequence: int, position: int) -> None:
        """Everything below `next_sequence` is durable, in a stream of `position` examples."""

    def superseded(self) -> None:
        """Another connection feeds as this producer now."""

    def pause(self) -> None:
        """Stop reading from the peer for a while."""

    def resume(self) -> None:
        """Read from the peer again."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive examples of one producer, checked.

    x, y: wire columns of `count`. users: keyed hashes of so many users, or empty; place: of the
    producer's source, or None (`NewRecord`).
    """

    sequence: int
    count: int
    x: bytes
    y: bytes
    users: bytes | memoryview = b""
    place: SourcePlace | None = None

    def cut(self, count: int) -> tuple[Run, Run]:
        """Return the first `count` examples and the others; there are more than that."""
        x_end = count * (len(self.x) // self.count)
        users_end = count * (len(self.users) // self.count)
        middle, place = self.sequence + count, self.place
        is_first = place is not None and place.sequence <= middle
        return (
            Run(
                *(self.sequence, count, self.x[:x_end], self.y[:count]),
                users=self.users[:users_end],
                place=place if is_first else None,
            ),
            Run(
                *(middle, self.count - count, self.x[x_end:], self.y[count:]),
                users=self.users[users_end:],
                place=None if is_first else place,
            ),
        )

    @property
    def size_bytes(self) -> int:
        """Bytes of all columns."""
        return len(self.x) + len(self.y) + len(self.users)

    @property
    def cost_bytes(self) -> int:
        """What holding this run costs in memory."""
        return self.size_bytes + RECORD_OVERHEAD_BYTES


class ProducerQueue:
    """One producer of one stream, for as long as somebody feeds as this producer.

    `next_sequence` is the first sequence number that was not accepted yet, `durable_sequence` the
    first that is not durable yet; both mean nothing before `known`. `underway` counts the runs that
    were accepted and are not durable yet, and `quiet` is set while there are none. `owner` is who
    claimed the producer last, and `feeder` the same once everything of the one before is durable.
    `pending` are the runs that no commit has taken yet. `turn` is greater the later a commit took
    of this queue: of two that wait, the lesser is the next. `waits` counts the little runs in a row
    that came by themselves, each after all before it was acknowledged.
    """

    __slots__ = (
        "durable_sequence",
        "feeder",
        "known",
        "next_sequence",
        "owner",
        "pending",
        "pending_bytes",
        "producer",
        "quiet",
        "stream",
        "turn",
        "underway",
        "waits",
    )

    def __init__(self, stream: StreamIntake, producer: str) -> None:
        """Make a queue whose numbers are not known yet."""
        self.stream = stream
        self.producer = producer
        self.owner: Owner | None = None
        self.feeder: Owner | None = None
        self.known = False
        self.next_sequence = 0
        self.durable_sequence = 0
        self.underway = 0
        self.waits = 0
        self.quiet = asyncio.Event()
        self.quiet.set()
        self.pending: deque[Run] = deque()
        self.pending_bytes = 0
        self.turn = next(_TURNS)

    @property
    def has_little(self) -> bool:
        """Whether all that waits here is taken by any commit, however much waits elsewhere.

        One run at most: who sends on before the acknowledgement does not wait for it, however
        small the messages are.
        """
        return len(self.pending) == 1 and self.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES

    def put(self, run: Run) -> None:
        """Let a run wait for a commit."""
        self.pending.append(run)
        self.pending_bytes += run.cost_bytes
        self.stream.hold(run.cost_bytes)
        self.stream.waiting[self] = None

    def take(self, room: int) -> Taken:
        """Take runs that cost about so many bytes, and one example at least, out of the queue."""
        taken = Taken()
        before = self.pending_bytes
        while self.pending and (room > 0 or not taken.runs):
            run = self.pending.popleft()
            self.pending_bytes -= run.cost_bytes
            count = max(1, room * run.count // run.size_bytes)
            if run.cost_bytes > room and count < run.count:
                run, rest = run.cut(count)
                self.pending.appendleft(rest)
                self.pending_bytes += rest.cost_bytes
            else:
                taken.whole += 1
            room -= run.cost_bytes
            taken.runs.append(run)
        self.stream.hold(self.pending_bytes - before)
        if not self.pending:
            del self.stream.waiting[self]
        self.turn = next(_TURNS)
        return taken


@dataclass(slots=True)
class Taken:
    """What a commit takes of a queue. whole: how many of the queue's runs end with it."""

    runs: list[Run] = field(default_factory=list)
    whole: int = 0

    @property
    def cost_bytes(self) -> int:
        """What the runs cost in memory."""
        return sum(run.cost_bytes for run in self.runs)


@dataclass(slots=True)
class Held:
    """What memory holds of all streams together.

    streams: how many there are. pending_bytes: what is accepted and not committed. unlearned_bytes:
    what is committed and not learned.
    """

    streams: int = 0
    pending_bytes: int = 0
    unlearned_bytes: int = 0

    def pending_bytes_max(self, bytes_max: int) -> int:
        """What may wait of one stream, where that is `bytes_max` while all have little."""
        if self.pending_bytes <= PENDING_BYTES_MAX:
            return bytes_max
        return min(bytes_max, PENDING_BYTES_MAX // self.streams)

    @property
    def unlearned_bytes_max(self) -> int:
        """What the engine of one stream may be behind."""
        if self.unlearned_bytes < ENGINE_QUEUES_BYTES_MAX:
            return ENGINE_QUEUE_BYTES_MAX
        return min(ENGINE_QUEUE_BYTES_MAX, ENGINE_QUEUES_BYTES_MAX // self.streams)

    @property
    def has_no_reserve(self) -> bool:
        """Whether nobody is let in front of engines that are behind."""
        return self.unlearned_bytes >= 2 * ENGINE_QUEUES_BYTES_MAX + ENGINE_QUEUES_RESERVE_BYTES


class StreamIntake:
    """What of one stream is accepted, and what is committed but not yet learned.

    waiting: queues with runs that no commit has taken.
    """

    __slots__ = (
        "_held",
        "_unlearned_of",
        "deliver",
        "name",
        "paused",
        "pending_bytes",
        "position",
        "queues",
        "unlearned_bytes",
        "waiting",
    )

    def __init__(
        self, name: str, position: int, deliver: Callable[[Record], None], held: Held
    ) -> None:
        """Start at `position`; `deliver` passes a durable record to the engine without waiting.

        held: what there is of all streams, of which this is one more.
        """
        self._held = held
        held.streams += 1
        self.name = name
        self.position = position
        self.deliver = deliver
        self.queues: dict[str, ProducerQueue] = {}
        self.waiting: dict[ProducerQueue, None] = {}
        self.pending_bytes = 0
        self.unlearned_bytes = 0
        self._unlearned_of: Counter[str] = Counter()
        # Who is not read from, and on which queue.
        self.paused: dict[Owner, ProducerQueue] = {}

    @property
    def takes_more(self) -> bool:
        """Whether the engine is not behind."""
        return self.unlearned_bytes < self._held.unlearned_bytes_max

    def has_work(self, *, little: bool = False) -> bool:
        """Whether anything may be committed now; little: of a queue with little in it."""
        if little:
            return any(queue.has_little for queue in self.ready())
        if self.takes_more:
            return bool(self.waiting)
        return bool(self.ready())

    def ready(self) -> list[ProducerQueue]:
        """Return the queues of which something may be committed now.

        While the engine is behind that is none, except for some that have next to nothing in front
        of it: what others feed does not keep them from being stored.
        """
        over = self.unlearned_bytes - self._held.unlearned_bytes_max
        if over < 0:
            return list(self.waiting)
        if over >= ENGINE_QUEUE_RESERVE_BYTES or self._held.has_no_reserve:
            return []
        return [
            queue
            for queue in self.waiting
            if queue.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES
            and self._unlearned_of[queue.producer] <= PRODUCER_QUEUE_LITTLE_BYTES
        ]

    def has_too_much(self, queue: ProducerQueue, bytes_max: int) -> bool:
        """Whether more than `bytes_max` wait, and this queue has its share of them already."""
        bytes_max = self._held.pending_bytes_max(bytes_max)
        share = queue.pending_bytes * len(self.waiting)
        return self.pending_bytes > bytes_max and share >= bytes_max

    def has_room(self, queue: ProducerQueue, bytes_max: int) -> bool:
        """Whether this queue may add more after it was told not to."""
        half = self._held.pending_bytes_max(bytes_max) // 2
        return self.pending_bytes <= half or queue.pending_bytes * len(self.waiting) <= half

    def hold(self, cost: int) -> None:
        """Count what is accepted, or with a minus what a commit has taken."""
        self.pending_bytes += cost
        self._held.pending_bytes += cost

    def put_before_engine(self, producer: str, cost: int) -> None:
        """Count a record that the engine has to learn."""
        self.unlearned_bytes += cost
        self._held.unlearned_bytes += cost
        self._unlearned_of[producer] += cost

    def learned(self, producer: str, cost: int) -> None:
        """Count a record that the engine has learned."""
        self.unlearned_bytes -= cost
        self._held.unlearned_bytes -= cost
        self._unlearned_of[producer] -= cost
        if not self._unlearned_of[producer]:
            del self._unlearned_of[producer]


def take_shares(streams: Iterable[StreamIntake], room: int) -> dict[ProducerQueue, Taken]:
    """Take what one commit writes out of the queues.

    Queues with little go first and whole, up to COMMIT_BYTES_MAX in all. `room` bytes are for the
    others, in turns: each has the same share, and what one does not need of it is for those behind.
    Of which stream a queue is makes no difference.
    """
    ready = [queue for stream in streams for queue in stream.ready()]
    ready.sort(key=attrgetter("turn"))
    taken: dict[ProducerQueue, Taken] = {}
    left = COMMIT_BYTES_MAX
    others = [queue for queue in ready if not queue.has_little]
    for queue in ready:
        if queue.has_little and left > 0:
            left -= queue.pending_bytes
            taken[queue] = queue.take(queue.pending_bytes)
    for index, queue in enumerate(others):
        if room <= 0:
            break
        taken[queue] = queue.take(max(room // (len(others) - index), PRODUCER_QUEUE_LITTLE_BYTES))
        room -= taken[queue].cost_bytes
    return taken


def cost_bytes(record: NewRecord | Record) -> int:
    """Return what holding `record` costs in memory."""
    return len(record.x) + len(record.y) + len(record.users) + RECORD_OVERHEAD_BYTES
