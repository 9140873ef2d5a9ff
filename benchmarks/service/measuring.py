"""Who takes turns at what, and what was seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.service.contenders import Bare, Contender, Daemon, Rate
from benchmarks.service.peers import peers
from benchmarks.service.pumping import Silent
from benchmarks.service.work import THRESHOLD, Work, columns, digests, ids, part
from littled.limits import ENGINE_QUEUE_BYTES_MAX, STREAM_PENDING_BYTES_MAX
from littled_client import AsyncClient, Client

BATCHES = (1, 100, 1_000, 10_000)
CONNECTIONS = (1, 2, 8, 32)
SUBSCRIBERS = (0, 10, 100)
STREAMS = (1, 4, 16)
SAME_POINTS = "bare server, same points"
ON_ITS_LOOP = "bare server, syncs on its loop"
_QUEUES_BYTES = ENGINE_QUEUE_BYTES_MAX + STREAM_PENDING_BYTES_MAX
_EXAMPLES = {1: 200_000, 100: 2_000_000, 1_000: 10_000_000, 10_000: 15_000_000}


Entrant = tuple[str, Callable[[], Rate]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one contender. part: which curve it is a point of.

    place: "disk" or "memory". per_second: examples. cpu_us: the server's, a frame. p50_us, p99_us:
    of round trips; resident_mib: memory of the daemon; 0.0 where they were not measured.
    """

    part: str
    contender: str
    turn: int
    place: str = "disk"
    batch: int = 1
    points: str = "u8"
    users: str = ""
    connections: int = 1
    subscribers: int = 0
    streams: int = 1
    per_second: float = 0.0
    cpu_us: float = 0.0
    p50_us: float = 0.0
    p99_us: float = 0.0
    resident_mib: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure. scale: examples are divided by it; trips: round trips of a turn.

    long: how many million examples to watch the daemon's memory over.
    """

    rounds: int = 3
    scale: int = 1
    trips: int = 500
    long: int = 0
    batches: tuple[int, ...] = BATCHES
    with_peers: bool = True
    parts: tuple[str, ...] = (
        "batches",
        "clients",
        "connections",
        "subscribers",
        "streams",
        "one",
        "growth",
    )

    def work(self, batch: int, points: str = "u8", users: str = "") -> Work:
        """A work of this size; large batches follow others that fill the daemon's queues."""
        work = Work(batch, points, users, max(batch, _EXAMPLES[batch] // self.scale))
        if batch < 1_000 or self.scale > 1:
            return work
        example_bytes = work.point_bytes + 1 + 16 * bool(users)
        return replace(work, ahead=_QUEUES_BYTES // example_bytes // batch * batch)


@dataclass(frozen=True, slots=True)
class Field:
    """All that run, by their names, and what is missing."""

    daemon: Daemon
    others: dict[str, Contender]
    missing: tuple[str, ...]


@contextmanager
def running(plan: Plan, folder: Path) -> Iterator[Field]:
    """Start everything, each in a folder of its own."""
    daemon = Daemon(max(STREAMS) if "streams" in plan.parts else 1)
    others: dict[str, Contender] = {Bare.name: Bare(), SAME_POINTS: Bare(points="")}
    others[ON_ITS_LOOP] = Bare("loop")
    others |= {peer.name: peer for peer in peers()} if plan.with_peers else {}
    missing = tuple(text for peer in others.values() if (text := peer.missing()))
    others = {name: peer for name, peer in others.items() if not peer.missing()}
    with ExitStack() as stack:
        for number, contender in enumerate((daemon, *others.values())):
            place = folder / str(number)  # short, as the name of a Unix socket has to be
            place.mkdir()
            stack.enter_context(contender.running(place))
        yield Field(daemon, others, missing)


def in_turns(rounds: int, entrants: Sequence[Entrant]) -> Iterator[tuple[str, int, Rate]]:
    """Run all of them once a round, each round beginning with another one."""
    for turn in range(rounds):
        first = turn % len(entrants)
        for name, run in (*entrants[first:], *entrants[:first]):
            try:
                yield name, turn, run()
            except (Silent, OSError) as problem:
                print(f"{name} gave up: {problem}", flush=True)


def batches(plan: Plan, field: Field) -> Iterator[Sample]:
    """Every size of a batch, for both types of points."""
    for points in ("u8", "u64"):
        for batch in plan.batches:
            work = plan.work(batch, points)
            runs: list[Entrant] = [("daemon", partial(field.daemon.rate, work))]
            for name, other in field.others.items():
                bare = isinstance(other, Bare)
                if name == ON_ITS_LOOP or (bare and points == "u64" and name == SAME_POINTS):
                    continue
                if (bare or points == "u8") and other.takes(work):
                    less = replace(work, ahead=0)
                    runs.append((name, partial(other.rate, less)))
            for name, turn, rate in in_turns(plan.rounds, runs):
                yield Sample(
                    "batches", name, turn, batch=batch, points=points, **_facts(rate)
                )  # fmt: skip


def connections(plan: Plan, field: Field) -> Iterator[Sample]:
    """Single examples and batches of 1,000, shared by several connections."""
    some = [(name, field.others[name]) for name in ("Redis", "NATS") if name in field.others]
    for batch in (1, 1_000):
        work = replace(plan.work(batch), ahead=0)
        for number in CONNECTIONS:
            entrants: list[tuple[str, Contender]] = [("daemon", field.daemon)]
            entrants += [(Bare.name, field.others[Bare.name]), *some]
            runs = [(name, partial(one.rate, work, number)) for name, one in entrants]
            for name, turn, rate in in_turns(plan.rounds, runs):
                yield Sample(
                    "connections", name, turn, batch=batch, connections=number, **_facts(rate)
                )


def subscribers(plan: Plan, field: Field) -> Iterator[Sample]:
    """Batches of 1,000 while others are subscribed to the stream's learner."""
    work = replace(plan.work(1_000), ahead=0)

    def run(number: int) -> Rate:
        field.daemon.subscribe(number)
        return field.daemon.rate(work)

    runs = [(str(number), partial(run, number)) for number in SUBSCRIBERS]
    for name, turn, rate in in_turns(plan.rounds, runs):
        facts = _facts(rate)
        yield Sample("subscribers", "daemon", turn, batch=1_000, subscribers=int(name), **facts)
    field.daemon.subscribe(0)


def streams(plan: Plan, field: Field) -> Iterator[Sample]:
    """Batches of 1,000 over 16 connections to one stream, and to several."""
    work = replace(plan.work(1_000), ahead=0)

    def run(number: int) -> Rate:
        field.daemon.feeds = number
        return field.daemon.rate(work, max(STREAMS))

    runs = [(str(number), partial(run, number)) for number in STREAMS]
    for name, turn, rate in in_turns(plan.rounds, runs):
        facts = _facts(rate)
        yield Sample("streams", "daemon", turn, batch=1_000, streams=int(name), **facts)
    field.daemon.feeds = 1


def clients(plan: Plan, field: Field) -> Iterator[Sample]:
    """What programs see: loops of single examples, and batches of 10,000 with and without users.

    The CPU time is the client's, a call.
    """
    singles = max(1_000, 400_000 // plan.scale)
    large = plan.work(10_000)
    large = replace(large, examples=large.examples // 3, ahead=large.ahead // 4)
    runs: list[Entrant] = [
        ("blocking client", lambda: _sent_one_by_one(field.daemon.address, singles)),
        ("asyncio client", lambda: asyncio.run(_awaited(field.daemon.address, singles))),
        *(
            (users or "none", partial(_sent, field.daemon.address, large, users))
            for users in ("", "digests", "ids")
        ),
    ]
    for name, turn, rate in in_turns(plan.rounds, runs):
        facts = _facts(rate)
        if name.endswith("client"):
            yield Sample("clients", name, turn, **facts)
        else:
            users = "" if name == "none" else name
            yield Sample("users", "blocking client", turn, batch=10_000, users=users, **facts)


def _sent_one_by_one(address: str, examples: int) -> Rate:
    x, y = (column[:examples].tolist() for column in columns("u8"))
    with Client(address) as client, client.feed("u8-0") as feeder:
        begun, cpu = time.perf_counter(), time.process_time()
        for point, label in zip(x, y, strict=True):
            feeder.send_one(point, label)
        cpu = time.process_time() - cpu
        feeder.flush()
        return Rate(examples / (time.perf_counter() - begun), cpu / examples * 1e6)


async def _awaited(address: str, examples: int) -> Rate:
    x, y = (column[:examples].tolist() for column in columns("u8"))
    async with AsyncClient(address) as client, client.feed("u8-0") as feeder:
        begun, cpu = time.perf_counter(), time.process_time()
        for point, label in zip(x, y, strict=True):
            await feeder.send_one(point, label)
        cpu = time.process_time() - cpu
        await feeder.flush()
        return Rate(examples / (time.perf_counter() - begun), cpu / examples * 1e6)


def _sent(address: str, work: Work, users: str) -> Rate:
    (x, y), named = columns("u8"), {"": None, "digests": digests(), "ids": ids()}[users]
    with Client(address) as client, client.feed("u8-users" if users else "u8-0") as feeder:
        begun, cpu = 0.0, 0.0
        for index in range(work.frames):
            if index == work.ahead // work.batch:
                begun, cpu = time.perf_counter(), time.process_time()
            where = part(index, work.batch)
            feeder.send(x[where], y[where], None if named is None else named[where])
        feeder.flush()
        cpu = (time.process_time() - cpu) / (work.examples // work.batch)
        return Rate(work.examples / (time.perf_counter() - begun), cpu * 1e6)


def growth(plan: Plan, field: Field) -> Iterator[Sample]:
    """The daemon's memory after every twentieth of a long stream in batches of 10,000."""
    work = Work(10_000, examples=plan.long * 50_000)
    for turn in range(20 if plan.long else 0):
        rate = field.daemon.rate(work)
        mib = field.daemon.server.resident_mib()
        yield Sample("growth", "daemon", turn, batch=10_000, resident_mib=mib, **_facts(rate))


def one(plan: Plan, folder: Path, place: str) -> Iterator[Sample]:
    """One example at a time, each acknowledged before the next, on servers of their own."""
    with running(replace(plan, parts=("one",)), folder) as field:
        entrants: list[tuple[str, Callable[[int], list[float]]]] = [
            ("daemon", field.daemon.trips),
            ("blocking client", partial(_sent_and_awaited, field.daemon.address)),
        ]
        others = ((name, other) for name, other in field.others.items() if name != SAME_POINTS)
        entrants += [(name, other.trips) for name, other in others]
        for turn in range(plan.rounds):
            first = turn % len(entrants)
            for name, trips in (*entrants[first:], *entrants[:first]):
                seen = sorted(trips(plan.trips))
                if seen:
                    half, most = seen[len(seen) // 2], seen[len(seen) * 99 // 100]
                    yield Sample("one", name, turn, place, p50_us=half, p99_us=most)


def _sent_and_awaited(address: str, number: int) -> list[float]:
    """Microseconds of calls of `send_one` that are each waited for, as `Contender.trips`."""
    seen = []
    with Client(address) as client, client.feed("u8-0") as feeder:
        for _ in range(number + number // 10):
            begun = time.perf_counter_ns()
            feeder.send_one(THRESHOLD, 1)
            feeder.flush()
            seen.append((time.perf_counter_ns() - begun) / 1e3)
    return seen[number // 10 :]


def _facts(rate: Rate) -> dict[str, Any]:
    return {"per_second": rate.per_second, "cpu_us": rate.cpu_us}
