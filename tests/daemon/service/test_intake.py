"""The intake over a real store: group commit, acknowledgements after durability, back-pressure."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import (
    COMMIT_BYTES_MAX,
    HURRIED_BYTES_MAX,
    LIGHT_COMMIT_EXAMPLES_MAX,
    PAUSED_LOOK_SECONDS,
    PRODUCER_QUEUE_LITTLE_BYTES,
    QUICK_COMMIT_SECONDS,
    RECORD_BYTES_MAX,
    RECORD_OVERHEAD_BYTES,
    WAITS_MIN,
)
from littled.service import intake as intake_module
from littled.service import pace, queues
from littled.service.intake import Intake, join
from littled.service.queues import ProducerQueue, Run, cost_bytes
from littled.service.writer import Writer, WriterStopped
from littled.store.records import NewRecord, Record, SourcePlace
from littled.store.store import Store
from littled_protocol.errors import ErrorCode, ProtocolError
from support.feeding import until


class Feeder:
    """Remembers what an owner is told."""

    def __init__(self, said: list[str] | None = None, name: str = "") -> None:
        self.acks: list[tuple[int, int]] = []
        self.lost = False
        self.paused = False
        self._said, self._name = said, name

    def acknowledge(self, next_sequence: int, position: int) -> None:
        self.acks.append((next_sequence, position))
        if self._said is not None:
            self._said.append(f"ack {self._name}{next_sequence}")

    def is_acknowledged(self) -> bool:
        return bool(self.acks)

    def superseded(self) -> None:
        self.lost = True

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False


class Bench:
    """An intake over a store, with a gate before every commit."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits: list[list[NewRecord]] = []
        self.threads: list[int] = []
        self.failures: list[BaseException] = []
        self.delivered: dict[str, list[Record]] = {"flights": [], "ids": []}
        self.slowness_seconds = 0.0
        self.open, self.begun = threading.Event(), threading.Event()
        self.open.set()
        self.writer = Writer(self.failures.append)
        self.rounds = 0
        self.intake = Intake(self, self.writer, asyncio.get_running_loop(), self.committed)
        for stream, records in self.delivered.items():
            self.intake.add_stream(stream, store.position(stream), records.append)

    def append(self, records: Sequence[NewRecord]) -> list[Record]:
        self.begun.set()
        assert self.open.wait(10)
        self.commits.append(list(records))
        self.threads.append(threading.get_ident())
        time.sleep(self.slowness_seconds)
        return self.store.append(records)

    def producer_next(self, stream: str, producer: str) -> int:
        return self.store.producer_next(stream, producer)

    def place(self, stream: str, producer: str) -> SourcePlace | None:
        return self.store.place(stream, producer)

    def committed(self) -> None:
        self.rounds += 1

    def feed(self, queue: ProducerQueue, points: bytes) -> None:
        self.intake.add(queue, Run(queue.next_sequence, len(points), points, bytes(len(points))))

    async def hold_up(self, queue: ProducerQueue, points: bytes) -> None:
        """Feed what begins a commit, which lasts until the gate is open."""
        self.open.clear()
        self.begun.clear()
        self.feed(queue, points)
        assert await asyncio.to_thread(self.begun.wait, 10)

    def feed_waiting(self, queue: ProducerQueue, points: bytes) -> None:
        """Feed as somebody who has waited for the acknowledgements of some messages before."""
        queue.waits = WAITS_MIN
        run = Run(queue.next_sequence, len(points), points, bytes(len(points)))
        self.intake.add(queue, run, lone=True)


def wait_for(gate: threading.Event) -> None:
    assert gate.wait(10)


@pytest.fixture
def opened(store: Path) -> Iterator[Store]:
    with Store.open(store) as found:
        yield found


@pytest.fixture
async def bench(opened: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """A bench whose commits are all made by the writer thread, where they can be held up."""
    monkeypatch.setattr(intake_module, "LIGHT_COMMIT_EXAMPLES_MAX", 0)
    made = Bench(opened)
    yield made
    made.open.set()
    await asyncio.to_thread(made.writer.close)


@pytest.mark.long
async def test_examples_are_acknowledged_when_they_are_durable(bench: Bench) -> None:
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "p", feeder)
    await bench.hold_up(queue, b"abc")
    assert feeder.acks == []
    assert bench.store.position("flights") == 0
    bench.open.set()
    await bench.intake.drain()
    assert feeder.acks == [(3, 3)]
    assert bench.store.position("flights") == bench.intake.position("flights") == 3
    assert [record.x for record in bench.delivered["flights"]] == [b"abc"]
    assert bench.rounds == 1


async def test_what_arrives_during_a_commit_shares_the_next(bench: Bench) -> None:
    one, two = Feeder(), Feeder()
    first = await bench.intake.attach("flights", "one", one)
    second = await bench.intake.attach("flights", "two", two)
    third = await bench.intake.attach("ids", "one", one)
    await bench.hold_up(first, b"0")
    for number in range(50):  # producers take turns, and still each has one record
        bench.feed(first, bytes([number]))
        bench.feed(second, bytes([100 + number]))
    bench.feed(third, b"x")
    bench.open.set()
    await bench.intake.drain()
    assert [len(commit) for commit in bench.commits] == [1, 3]
    assert sorted(one.acks) == [(1, 1), (1, 1), (51, 101)]
    assert two.acks == [(50, 101)]
    flights = [record for record in bench.commits[1] if record.stream == "flights"]
    joined = {record.producer: record.x for record in flights}
    assert joined == {"one": bytes(range(50)), "two": bytes(range(100, 150))}


async def test_acknowledgements_come_before_anything_is_learned(bench: Bench) -> None:
    said: list[str] = []
    bench.intake.add_stream("flights", 0, lambda record: said.append(f"learn {record.number}"))
    one = await bench.intake.attach("flights", "a", Feeder(said, "a"))
    two = await bench.intake.attach("flights", "b", Feeder(said, "b"))
    await bench.hold_up(one, b"x")
    bench.feed(one, b"y")
    bench.feed(two, b"z")
    bench.open.set()
    await bench.intake.drain()
    assert said == ["ack a1", "learn 0", "ack b1", "ack a2", "learn 1", "learn 2"]


async def test_numbers_go_on_where_the_store_stands(bench: Bench, opened: Store) -> None:
    queue = await bench.intake.attach("flights", "p", Feeder())
    bench.feed(queue, b"abcd")
    await bench.intake.drain()
    bench.intake.detach(queue, Feeder())  # of somebody else: nothing happens
    assert queue.owner is not None
    bench.intake.detach(queue, queue.owner)
    again = await bench.intake.attach("flights", "p", Feeder())
    assert again is not queue
    assert again.next_sequence == again.durable_sequence == 4


async def test_a_newer_owner_waits_for_what_the_older_one_handed_over(bench: Bench) -> None:
    older, newer = Feeder(), Feeder()
    queue = await bench.intake.attach("flights", "p", older)
    bench.open.clear()
    bench.feed(queue, b"ab")
    attaching = asyncio.ensure_future(bench.intake.attach("flights", "p", newer))
    await asyncio.sleep(0.05)
    assert older.lost
    assert not attaching.done()
    bench.open.set()
    taken = await attaching
    assert taken.next_sequence == 2
    assert older.acks == newer.acks == []
    bench.feed(taken, b"c")
    await bench.intake.drain()
    assert newer.acks == [(3, 3)]


async def test_the_newest_of_many_wins(bench: Bench) -> None:
    feeders = [Feeder() for _ in range(5)]
    outcomes = await asyncio.gather(
        *(bench.intake.attach("flights", "p", each) for each in feeders), return_exceptions=True
    )
    assert [each.lost for each in feeders] == [True] * 4 + [False]
    for outcome in outcomes[:-1]:
        assert isinstance(outcome, ProtocolError)
        assert outcome.code is ErrorCode.PRODUCER_BUSY
    assert isinstance(outcomes[-1], ProducerQueue)


async def test_an_attachment_given_up_leaves_nothing_behind(bench: Bench) -> None:
    bench.open.clear()
    bench.writer.submit(lambda: wait_for(bench.open))
    attaching = asyncio.ensure_future(bench.intake.attach("flights", "p", Feeder()))
    await asyncio.sleep(0.01)
    attaching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attaching
    bench.open.set()
    queue = await bench.intake.attach("flights", "p", Feeder())
    assert queue.next_sequence == 0


async def test_an_unknown_stream(bench: Bench) -> None:
    with pytest.raises(ProtocolError, match="unknown_stream"):
        await bench.intake.attach("nowhere", "p", Feeder())


async def test_what_an_owner_left_behind_is_committed(bench: Bench) -> None:
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "p", feeder)
    bench.feed(queue, b"abc")
    bench.intake.detach(queue, feeder)
    await bench.intake.drain()
    assert feeder.acks == []
    assert bench.store.position("flights") == 3


async def test_commits_wait_for_an_engine_that_is_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", 2 * RECORD_OVERHEAD_BYTES)
    monkeypatch.setattr(queues, "ENGINE_QUEUE_RESERVE_BYTES", 0)
    feeder, free = Feeder(), Feeder()
    queue = await bench.intake.attach("flights", "p", feeder)
    other = await bench.intake.attach("ids", "p", free)
    for _ in range(10):
        bench.feed(queue, b"ab")
        await asyncio.sleep(0.01)
        await bench.writer.ask(lambda: None)
    await until(lambda: len(bench.delivered["flights"]) >= 2)
    bench.feed(other, b"x")
    await until(lambda: bool(free.acks))
    assert len(bench.delivered["flights"]) == 2
    assert free.acks == [(1, 1)]  # another stream's engine is not behind
    while len(feeder.acks) == 0 or feeder.acks[-1][0] < 20:
        for record in bench.delivered["flights"]:
            await asyncio.to_thread(bench.intake.learned, "flights", [record])
        bench.delivered["flights"].clear()
        await asyncio.sleep(0.005)
    await asyncio.wait_for(bench.intake.drain(), 5)


async def test_feeders_wait_for_commits_that_are_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "STREAM_PENDING_BYTES_MAX", 10 * RECORD_OVERHEAD_BYTES)
    busy, idle = Feeder(), Feeder()
    queue = await bench.intake.attach("flights", "p", busy)
    await bench.intake.attach("flights", "q", idle)
    await bench.hold_up(queue, b"0")
    for _ in range(9):
        bench.feed(queue, b"a")
    assert not busy.paused
    for _ in range(5):
        bench.feed(queue, b"a")
    assert busy.paused
    assert not idle.paused
    bench.open.set()
    await bench.intake.drain()
    assert not busy.paused
    assert busy.acks[-1] == (15, 15)


async def test_feeders_go_on_when_their_limit_rises_by_itself(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has waited for acknowledgements for a while, and no commit comes."""
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "p", feeder)
    await bench.hold_up(queue, b"0")
    bench.intake._pace.hurry()
    while not feeder.paused:
        bench.feed(queue, bytes(100_000))
    await asyncio.sleep(2 * PAUSED_LOOK_SECONDS)
    assert feeder.paused
    monkeypatch.setattr(bench.intake._pace, "_hurried_until", 0.0)
    await until(lambda: not feeder.paused)
    assert len(bench.commits) == 0
    bench.open.set()
    await bench.intake.drain()


# --- Shares ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["flights", "ids"])
async def test_a_small_run_does_not_stand_behind_anothers_backlog(
    bench: Bench, stream: str
) -> None:
    loud, quiet = Feeder(), Feeder()
    busy = await bench.intake.attach("flights", "loud", loud)
    lone = await bench.intake.attach(stream, "quiet", quiet)
    await bench.hold_up(busy, b"0")
    for _ in range(40):
        bench.feed(busy, bytes(100_000))
    bench.feed_waiting(lone, b"x")
    # The first commit began a rest, in which the next one would take of the quiet alone.
    await until(lambda: not bench.intake._pace.rests)
    bench.open.set()
    await bench.intake.drain()
    assert loud.acks[-1][0] == 4_000_001
    assert quiet.acks[0][0] == 1
    second = bench.commits[1]
    assert {record.producer for record in second} == {"loud", "quiet"}
    # While somebody waits for single acknowledgements commits are short.
    assert sum(2 * record.count for record in second) <= 1.1 * HURRIED_BYTES_MAX
    assert len(bench.commits) > 4


def busy_commits(bench: Bench) -> list[int]:
    """Bytes of those who feed at full speed in each commit that took any."""
    taken = [
        sum(len(each.x) + len(each.y) for each in commit if each.producer != "quiet")
        for commit in bench.commits
    ]
    return [length for length in taken if length]


async def backlogs_beside(bench: Bench, streams: Sequence[str], runs: int) -> ProducerQueue:
    """Somebody who waits for each acknowledgement, and a backlog in each of these streams."""
    busy = [
        await bench.intake.attach(stream, f"loud-{number}", Feeder())
        for number, stream in enumerate(streams)
    ]
    lone = await bench.intake.attach("ids", "quiet", Feeder())
    for number in range(runs):
        for queue in busy:
            bench.feed(queue, bytes(25_000))
        if number == 0:
            bench.feed_waiting(lone, b"x")
    return lone


async def test_who_feeds_at_full_speed_rests_between_short_commits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 0.2)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MAX", 0.2)
    bench.open.clear()
    lone = await backlogs_beside(bench, ["flights"], 12)
    bench.open.set()
    await lone.quiet.wait()
    begun = time.monotonic()
    for _ in range(30):  # however many acknowledgements somebody gets meanwhile
        bench.feed(lone, b"x")
        await lone.quiet.wait()
    rests = (time.monotonic() - begun) / 0.2
    before, *_ = bench.commits
    assert len(busy_commits(bench)) <= rests + 3
    await asyncio.wait_for(bench.intake.drain(), 20)
    # The first commit began before anybody waited.
    assert all(length <= 1.2 * HURRIED_BYTES_MAX for length in busy_commits(bench)[len(before) :])
    assert sum(busy_commits(bench)) == 12 * 50_000


async def test_what_has_grown_before_its_commit_is_committed_after_the_rest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is begun for a little, which is too much by the time it takes what waits."""
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 0.2)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MAX", 0.2)
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "grows", feeder)
    bench.intake._pace.hurry()
    bench.feed(queue, b"x")
    await bench.intake.drain()
    assert bench.intake._pace.rests
    bench.feed(queue, b"x")
    bench.feed(queue, bytes(PRODUCER_QUEUE_LITTLE_BYTES))
    await asyncio.wait_for(bench.intake.drain(), 10)
    assert feeder.acks[-1][0] == 2 + PRODUCER_QUEUE_LITTLE_BYTES
    # Nothing is taken while the others rest.
    assert len(bench.commits) == 2


async def test_a_loop_of_single_examples_rests_beside_who_waits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are as small, but it sends on before each is acknowledged."""
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 0.5)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MAX", 0.5)
    loop = await bench.intake.attach("flights", "loop", Feeder())
    lone = await bench.intake.attach("ids", "quiet", Feeder())
    bench.intake._pace.hurry()
    bench.intake._pace.begin_rest()
    began = len(bench.commits)
    bench.feed(loop, b"a")
    bench.feed(loop, b"b")
    for _ in range(5):
        bench.feed(lone, b"x")
        await asyncio.wait_for(lone.quiet.wait(), 10)
    assert bench.intake._pace.rests
    assert {record.producer for commit in bench.commits[began:] for record in commit} == {"quiet"}
    await asyncio.wait_for(bench.intake.drain(), 10)
    assert [record.x for record in bench.commits[-1]] == [b"ab"]


async def test_short_commits_are_shared_by_all_streams(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 0.001)
    streams = ["flights"] * 12 + ["ids"]
    bench.open.clear()
    await backlogs_beside(bench, streams, 8)
    bench.open.set()
    await asyncio.wait_for(bench.intake.drain(), 20)
    first_half = bench.commits[: len(bench.commits) // 2]
    counts = dict.fromkeys({f"loud-{number}" for number in range(13)}, 0)
    for each in (record for commit in first_half for record in commit):
        if each.producer != "quiet":
            counts[each.producer] += each.count
    # The one of the other stream comes no later than those of a crowd.
    assert counts["loud-12"] >= 0.5 * max(counts.values())


async def test_who_waits_is_seen_by_messages_that_come_by_themselves(bench: Bench) -> None:
    """Not by the ends of bursts, of which several in a row look alike."""
    busy = await bench.intake.attach("flights", "loud", Feeder())
    small = await bench.intake.attach("ids", "quiet", Feeder())
    paces = []
    for lone in [True] * (WAITS_MIN - 1) + [False] + [True] * WAITS_MIN:
        bench.open.clear()
        bench.feed(busy, b"0")
        bench.intake.add(small, Run(small.next_sequence, 1, b"x", b"\0"), lone=lone)
        paces.append(bench.intake._pace.room_bytes)
        bench.open.set()
        await bench.intake.drain()
    assert paces == [COMMIT_BYTES_MAX] * (2 * WAITS_MIN - 1) + [paces[-1]]
    assert paces[-1] <= HURRIED_BYTES_MAX


async def test_commits_are_long_while_nobody_waits_beside_them(bench: Bench) -> None:
    busy = await bench.intake.attach("flights", "loud", Feeder())
    await bench.hold_up(busy, b"0")
    for _ in range(30):
        bench.feed(busy, bytes(100_000))
    bench.open.set()
    await bench.intake.drain()
    assert len(bench.commits) == 2


async def test_a_small_run_is_stored_while_the_engine_is_behind_with_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", 400_000)
    loud, quiet = Feeder(), Feeder()
    busy = await bench.intake.attach("flights", "loud", loud)
    lone = await bench.intake.attach("flights", "quiet", quiet)
    for _ in range(40):
        bench.feed(busy, bytes(20_000))
        await asyncio.sleep(0.001)
    await bench.writer.ask(lambda: None)
    for number in range(1, 4):
        bench.feed(lone, b"x")
        await until(quiet.is_acknowledged)
        assert quiet.acks.pop()[0] == number
    assert loud.acks[-1][0] < 800_000  # the others wait
    while loud.acks[-1][0] < 800_000:
        for record in bench.delivered["flights"]:
            await asyncio.to_thread(bench.intake.learned, "flights", [record])
        bench.delivered["flights"].clear()
        await asyncio.sleep(0.005)
    await asyncio.wait_for(bench.intake.drain(), 5)


async def test_one_feeders_backlog_does_not_stop_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "STREAM_PENDING_BYTES_MAX", 200_000)
    monkeypatch.setattr(pace, "HURRIED_PENDING_BYTES_MAX", 200_000)
    loud, quiet = Feeder(), Feeder()
    busy = await bench.intake.attach("flights", "loud", loud)
    lone = await bench.intake.attach("flights", "quiet", quiet)
    bench.open.clear()
    while not loud.paused:
        bench.feed(busy, bytes(10_000))
    bench.feed(lone, b"x")
    assert not quiet.paused
    while not quiet.paused:
        bench.feed(lone, bytes(10_000))
    assert 90_000 < lone.pending_bytes < 130_000  # the half of what the stream may have
    bench.open.set()
    await bench.intake.drain()
    assert not loud.paused
    assert not quiet.paused


async def test_all_streams_together_hold_no_more_than_memory_may(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is fed while the engines learn nothing; what waits is stored when they do."""
    monkeypatch.setattr(queues, "ENGINE_QUEUES_BYTES_MAX", 400_000)
    monkeypatch.setattr(queues, "PENDING_BYTES_MAX", 200_000)
    feeders = {stream: Feeder() for stream in bench.delivered}
    fed = {stream: await bench.intake.attach(stream, "p", feeders[stream]) for stream in feeders}
    sent = dict.fromkeys(feeders, 0)
    for _ in range(1_000):
        for stream, feeder in feeders.items():
            if not feeder.paused:
                bench.feed(fed[stream], bytes(5_000))
                sent[stream] += 5_000
        await asyncio.sleep(0.001)
        if all(feeder.paused for feeder in feeders.values()):
            break
    await asyncio.sleep(0.1)
    assert all(feeder.paused for feeder in feeders.values())
    unlearned = [record for records in bench.delivered.values() for record in records]
    pending = sum(queue.pending_bytes for queue in fed.values())
    assert 400_000 <= sum(map(cost_bytes, unlearned)) <= 2 * 400_000
    assert 200_000 <= pending <= 2 * 200_000
    while any(feeders[stream].acks[-1][0] < sent[stream] for stream in sent):
        for stream, records in bench.delivered.items():
            await asyncio.to_thread(bench.intake.learned, stream, list(records))
            records.clear()
        await asyncio.sleep(0.005)
    assert not any(feeder.paused for feeder in feeders.values())


async def test_what_an_engine_left_for_later_counts_as_what_it_has_to_learn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [Record("flights", 0, 0, "old", 0, 90_000, bytes(90_000), bytes(90_000), bytes(32))]
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", 100_000)
    records = bench.delivered["flights"]
    bench.intake.add_stream("flights", 0, records.append, unlearned=left)
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "loud", feeder)
    bench.feed(queue, bytes(50_000))
    await asyncio.sleep(0.1)
    assert not feeder.acks
    await asyncio.to_thread(bench.intake.learned, "flights", left)
    await until(feeder.is_acknowledged)


async def test_a_commit_that_fails_is_not_acknowledged(bench: Bench) -> None:
    feeder = Feeder()
    queue = await bench.intake.attach("flights", "p", feeder)
    bench.intake.add(queue, Run(5, 1, b"a", b"\0"))  # not the next number: the store refuses
    await until(lambda: bool(bench.failures))
    bench.feed(queue, b"b")
    await asyncio.sleep(0.05)
    assert feeder.acks == []
    assert [type(each) for each in bench.failures] == [ValueError]
    assert bench.store.position("flights") == 0


# --- Commits on the event loop --------------------------------------------------------------------


@pytest.fixture
async def quick(opened: Store) -> AsyncIterator[Bench]:
    """A bench as in production."""
    made = Bench(opened)
    yield made
    await asyncio.to_thread(made.writer.close)


async def one_by_one(bench: Bench, queue: ProducerQueue, count: int, size: int = 1) -> list[bool]:
    """Feed and wait, over and over; return for each commit whether the loop made it."""
    for _ in range(count):
        bench.feed(queue, bytes(size))
        await bench.intake.drain()
    return [thread == threading.get_ident() for thread in bench.threads]


async def test_a_lone_small_run_is_committed_on_the_loop(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)  # however busy this machine is
    said: list[str] = []
    quick.intake.add_stream("flights", 0, lambda record: said.append(f"learn {record.number}"))
    queue = await quick.intake.attach("flights", "p", Feeder(said))
    assert sum(await one_by_one(quick, queue, 20)) >= 10  # one may find the writer not yet at rest
    assert said == [f"{what} {n + (what == 'ack')}" for n in range(20) for what in ("ack", "learn")]
    assert quick.store.position("flights") == 20


@pytest.mark.long
async def test_a_small_run_is_committed_on_the_loop_while_others_rest(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 60)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MAX", 60)
    lone = await backlogs_beside(quick, ["flights"], 40)
    await lone.quiet.wait()
    await quick.writer.ask(lambda: None)
    quick.threads.clear()
    for _ in range(20):
        with quick.writer._turn:  # an acknowledgement may come before the writer is at rest
            pass
        quick.feed(lone, b"x")
        await lone.quiet.wait()
    assert quick.threads.count(threading.get_ident()) >= 10
    assert lone.stream.queues.keys() == {"quiet"}
    monkeypatch.setattr(quick.intake._pace, "_rest_until", 0.0)
    quick.feed(lone, b"x")
    await asyncio.wait_for(quick.intake.drain(), 20)


async def test_who_goes_alone_is_acknowledged_before_the_next_turn_of_the_loop(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    alone, other = Feeder(), Feeder()
    queue = await quick.intake.attach("flights", "p", alone)
    crowd = await quick.intake.attach("flights", "q", other)

    def feed(queue: ProducerQueue, *, lone: bool = True) -> None:
        quick.intake.add(queue, Run(queue.next_sequence, 1, b"a", b"\0"), lone=lone)

    while quick.intake._alone is not queue:  # the writer may not be at rest yet
        feed(queue)
        assert not alone.acks or alone.acks[-1][0] < queue.next_sequence
        await quick.intake.drain()
    for _ in range(5):
        feed(queue)
        assert alone.acks[-1] == (queue.next_sequence,) * 2
        assert quick.store.position("flights") == queue.next_sequence
    # more is to follow: it waits, and what follows joins it
    before = len(quick.commits)
    feed(queue, lone=False)
    feed(crowd)
    assert len(quick.commits) == before
    await quick.intake.drain()
    assert len(quick.commits) == before + 1
    feed(crowd)  # who was not alone waits as well
    assert other.acks == [(1, quick.store.position("flights"))]
    await quick.intake.drain()


async def test_who_goes_alone_waits_for_an_engine_that_is_behind(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    feeder = Feeder()
    queue = await quick.intake.attach("flights", "p", feeder)
    while quick.intake._alone is not queue:
        quick.feed(queue, b"a")
        await quick.intake.drain()
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", RECORD_OVERHEAD_BYTES)
    monkeypatch.setattr(queues, "ENGINE_QUEUE_RESERVE_BYTES", 0)
    acknowledged = len(feeder.acks)
    quick.intake.add(queue, Run(queue.next_sequence, 1, b"a", b"\0"), lone=True)
    await asyncio.sleep(0.02)
    assert len(feeder.acks) == acknowledged
    await asyncio.to_thread(quick.intake.learned, "flights", quick.delivered["flights"])
    await asyncio.wait_for(quick.intake.drain(), 5)


async def test_larger_runs_and_crowds_are_committed_by_the_writer(quick: Bench) -> None:
    queue = await quick.intake.attach("flights", "p", Feeder())
    other = await quick.intake.attach("ids", "q", Feeder())
    assert not any(await one_by_one(quick, queue, 3, size=LIGHT_COMMIT_EXAMPLES_MAX + 1))
    quick.threads.clear()
    quick.feed(queue, b"a")
    quick.feed(other, b"b")
    await quick.intake.drain()
    assert threading.get_ident() not in quick.threads
    assert len(quick.commits[-1]) == 2


async def test_a_busy_writer_keeps_commits_off_the_loop(quick: Bench) -> None:
    queue = await quick.intake.attach("flights", "p", Feeder())
    begun, gate = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        wait_for(gate)

    quick.writer.submit(busy)
    assert await asyncio.to_thread(begun.wait, 10)
    quick.feed(queue, b"a")
    await asyncio.sleep(0.02)
    assert quick.threads == []
    gate.set()
    await quick.intake.drain()
    assert threading.get_ident() not in quick.threads


async def test_a_slow_disk_keeps_commits_off_the_loop(quick: Bench) -> None:
    queue = await quick.intake.attach("flights", "p", Feeder())
    quick.slowness_seconds = 2 * QUICK_COMMIT_SECONDS
    await one_by_one(quick, queue, 1)
    quick.threads.clear()
    assert not any(await one_by_one(quick, queue, 5))


@pytest.mark.parametrize("alone", [False, True])
async def test_a_failure_on_the_loop_is_the_writers_last_as_well(
    quick: Bench, monkeypatch: pytest.MonkeyPatch, *, alone: bool
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    feeder = Feeder()
    queue = await quick.intake.attach("flights", "p", feeder)
    while quick.intake._alone is not queue:
        quick.feed(queue, b"a")
        await quick.intake.drain()
    feeder.acks.clear()
    wrong = queue.next_sequence + 5  # not the next number: the store refuses
    quick.intake.add(queue, Run(wrong, 1, b"a", b"\0"), lone=alone)
    await until(lambda: bool(quick.failures))
    assert [type(each) for each in quick.failures] == [ValueError]
    assert feeder.acks == []
    with pytest.raises(WriterStopped):
        await quick.writer.ask(lambda: None)


# --- Joining --------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, RECORD_BYTES_MAX), min_size=1, max_size=30), st.integers(0, 2**40))
def test_joined_records_hold_the_same_examples(sizes: list[int], sequence: int) -> None:
    runs, following = [], sequence
    for number, size in enumerate(sizes):
        count = max(1, size // 2)
        runs.append(Run(following, count, bytes([number]) * count, bytes([number % 2]) * count))
        following += count
    records = join("s", "p", runs)
    assert b"".join(each.x for each in records) == b"".join(each.x for each in runs)
    assert b"".join(each.y for each in records) == b"".join(each.y for each in runs)
    assert [each.sequence for each in records] == [
        sequence + sum(one.count for one in records[:index]) for index in range(len(records))
    ]
    assert all(len(each.x) == each.count for each in records)
    assert all(len(each.x) + len(each.y) <= RECORD_BYTES_MAX for each in records)
    for one, two in pairwise(records):
        longest = max(2 * each.count for each in runs)
        assert 2 * (one.count + two.count) > RECORD_BYTES_MAX - longest


def test_a_run_longer_than_a_record_stays_whole() -> None:
    long = Run(1, RECORD_BYTES_MAX, bytes(RECORD_BYTES_MAX), bytes(RECORD_BYTES_MAX))
    records = join(
        "s", "p", [Run(0, 1, b"a", b"\0"), long, Run(RECORD_BYTES_MAX + 1, 1, b"b", b"\0")]
    )
    assert [each.count for each in records] == [1, RECORD_BYTES_MAX, 1]


def test_the_cost_of_a_record_counts_more_than_its_columns() -> None:
    record = Record("s", 0, 0, "p", 0, 1, b"a", b"\0", bytes(32))
    assert cost_bytes(record) == RECORD_OVERHEAD_BYTES + 2
    assert Run(0, 1, b"a", b"\0").cost_bytes == RECORD_OVERHEAD_BYTES + 2
    named = Record("s", 0, 0, "p", 0, 1, b"a", b"\0", bytes(32), bytes(16))
    assert cost_bytes(named) == RECORD_OVERHEAD_BYTES + 18
    assert Run(0, 1, b"a", b"\0", bytes(16)).cost_bytes == RECORD_OVERHEAD_BYTES + 18


def test_users_count_in_the_length_of_records_and_are_joined() -> None:
    runs = [
        Run(first, 10_000, bytes(10_000), bytes(10_000), bytes([number]) * 160_000)
        for number, first in enumerate(range(0, 60_000, 10_000))
    ]
    records = join("s", "p", runs)
    together = RECORD_BYTES_MAX // 180_000 * 10_000
    assert [each.count for each in records] == [together, 60_000 - together]
    assert b"".join(each.users for each in records) == b"".join(run.users for run in runs)


def test_joined_records_have_the_last_place_among_their_runs() -> None:
    def run(first: int, resume: bytes | None, size: int = 1) -> Run:
        place = None if resume is None else SourcePlace(first + size, resume)
        return Run(first, size, bytes(size), bytes(size), place=place)

    some = [run(0, b"one"), run(1, b"two"), run(2, None)]
    assert [each.place for each in join("s", "p", some)] == [SourcePlace(2, b"two")]
    long = run(3, None, RECORD_BYTES_MAX)
    assert [each.place for each in join("s", "p", [*some, long])] == [SourcePlace(2, b"two"), None]
    assert [each.place for each in join("s", "p", some[2:])] == [None]


def slow_appends(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let commits take a while from now on; the event is set when the first one has begun."""
    append, started = bench.store.append, threading.Event()

    def slow(records: Sequence[NewRecord]) -> list[Record]:
        started.set()
        time.sleep(0.2)
        return append(records)

    monkeypatch.setattr(bench.store, "append", slow)
    return started


async def test_a_commit_on_the_loop_never_overtakes_one_of_the_writer(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer's commit is durable, but the loop has not heard of it when the next run comes."""
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    learned: list[int] = []
    quick.intake.add_stream("flights", 0, lambda record: learned.append(record.number))
    queue = await quick.intake.attach("flights", "p", Feeder())
    started = slow_appends(quick, monkeypatch)
    quick.feed(queue, bytes(LIGHT_COMMIT_EXAMPLES_MAX + 1))
    await asyncio.to_thread(started.wait)
    quick.feed(queue, b"b")
    time.sleep(0.4)  # noqa: ASYNC251 - the loop must not hear of the first commit before it is done
    await quick.intake.drain()
    assert learned == [0, 1]


async def test_it_overtakes_none_either_while_others_rest(
    quick: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MIN", 60)
    monkeypatch.setattr(pace, "HURRIED_REST_SECONDS_MAX", 60)
    learned: list[int] = []
    quick.intake.add_stream("flights", 0, lambda record: learned.append(record.number))
    busy = await quick.intake.attach("flights", "loud", Feeder())
    lone = await quick.intake.attach("flights", "quiet", Feeder())
    quick.feed(busy, bytes(25_000))
    quick.feed_waiting(lone, b"a")
    await quick.intake.drain()
    started = slow_appends(quick, monkeypatch)
    monkeypatch.setattr(quick.intake._pace, "_rest_until", 0.0)
    quick.feed(busy, bytes(25_000))
    await asyncio.to_thread(started.wait)
    quick.feed(lone, b"b")
    time.sleep(0.4)  # noqa: ASYNC251 - the loop must not hear of the first commit before it is done
    await quick.intake.drain()
    assert learned == [0, 1, 2, 3]
