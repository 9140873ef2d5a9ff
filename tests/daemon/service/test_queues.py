"""Queues of producers and their shares of a commit."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import (
    COMMIT_BYTES_MAX,
    ENGINE_QUEUES_BYTES_MAX,
    PRODUCER_QUEUE_LITTLE_BYTES,
    RECORD_OVERHEAD_BYTES,
)
from littled.service import queues
from littled.service.queues import Held, ProducerQueue, Run, StreamIntake, Taken, take_shares
from littled.store.records import SourcePlace


def queue_of(
    stream: StreamIntake, producer: str, counts: Sequence[int], item: int = 1
) -> ProducerQueue:
    """A queue in which runs of so many examples wait."""
    queue = ProducerQueue(stream, producer)
    for count in counts:
        noise = random.Random(queue.next_sequence)
        columns = noise.randbytes(item * count), bytes(count), noise.randbytes(16 * count)
        queue.put(Run(queue.next_sequence, count, *columns))
        queue.next_sequence += count
    return queue


def stream_of(name: str = "s") -> StreamIntake:
    """A stream of which nothing is stored."""
    return StreamIntake(name, 0, lambda _: None, Held())


def columns(runs: Sequence[Run]) -> tuple[bytes, bytes, bytes]:
    """All columns, joined."""
    x, y, users = (b"".join(getattr(run, name) for run in runs) for name in ("x", "y", "users"))
    return x, y, users


@given(
    st.lists(st.lists(st.integers(1, 5_000), max_size=6), min_size=1, max_size=6),
    st.integers(1, 200_000),
    st.sampled_from([1, 8]),
)
def test_everything_is_taken_in_order_and_once(
    backlogs: list[list[int]], room: int, item: int
) -> None:
    streams = [stream_of("even"), stream_of("odd")]
    made = [
        queue_of(streams[index % 2], str(index), counts, item)
        for index, counts in enumerate(backlogs)
    ]
    before = {queue: columns(queue.pending) for queue in made}
    found: dict[ProducerQueue, list[Run]] = {queue: [] for queue in made}
    whole = dict.fromkeys(made, 0)
    while any(stream.waiting for stream in streams):
        taken = take_shares(streams, room)
        assert taken
        for queue, share in taken.items():
            found[queue].extend(share.runs)
            whole[queue] += share.whole
        for stream in streams:
            assert stream.pending_bytes == sum(queue.pending_bytes for queue in stream.waiting)
    for queue, counts in zip(made, backlogs, strict=True):
        assert columns(found[queue]) == before[queue]
        assert whole[queue] == len(counts)
        following = 0
        for run in found[queue]:
            assert run.sequence == following
            following += run.count
        assert queue.pending_bytes == 0


def test_a_queue_with_little_is_taken_whole_beside_backlogs() -> None:
    stream = stream_of()
    backlogs = [queue_of(stream, f"loud-{index}", [50_000] * 4) for index in range(3)]
    little = queue_of(stream, "quiet", [3])
    taken = take_shares([stream], 300_000)
    assert list(taken) == [little, *backlogs]
    assert sum(run.count for run in taken[little].runs) == 3
    for queue in backlogs:  # a third of the room each
        assert 90_000 < taken[queue].cost_bytes < 110_000


def test_who_sends_on_before_the_acknowledgement_has_not_little() -> None:
    """As a loop of single examples at full speed does: it is taken when there is room for it."""
    stream = stream_of()
    hasty = queue_of(stream, "hasty", [1, 1])
    small, large = (
        queue_of(stream, str(size), [(size - RECORD_OVERHEAD_BYTES) // 18])
        for size in (PRODUCER_QUEUE_LITTLE_BYTES, PRODUCER_QUEUE_LITTLE_BYTES + 18)
    )
    assert small.pending_bytes <= PRODUCER_QUEUE_LITTLE_BYTES < large.pending_bytes
    assert list(take_shares([stream], 0)) == [small]
    assert list(take_shares([stream], COMMIT_BYTES_MAX)) == [hasty, large]


def test_those_for_whom_there_was_no_room_are_the_next() -> None:
    stream = stream_of()
    backlogs = [queue_of(stream, str(index), [20_000]) for index in range(10)]
    seen: list[ProducerQueue] = []
    for _ in range(10):
        seen.extend(take_shares([stream], 2 * PRODUCER_QUEUE_LITTLE_BYTES))
    assert len(seen) == 20
    assert set(seen[:10]) == set(seen[10:]) == set(backlogs)


def test_queues_with_little_are_more_than_one_commit() -> None:
    stream = stream_of()
    crowd = COMMIT_BYTES_MAX // RECORD_OVERHEAD_BYTES + 100
    made = [queue_of(stream, str(index), [1]) for index in range(crowd)]
    first = take_shares([stream], COMMIT_BYTES_MAX)
    assert crowd - 300 < len(first) < crowd
    second = take_shares([stream], COMMIT_BYTES_MAX)
    assert [*first, *second] == made


def test_a_run_is_cut_between_examples() -> None:
    run = Run(10, 4, b"aabbccdd", bytes(4), bytes(range(64)))
    first, rest = run.cut(1)
    assert first == Run(10, 1, b"aa", b"\0", bytes(range(16)))
    assert rest == Run(11, 3, b"bbccdd", bytes(3), bytes(range(16, 64)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_place_goes_with_the_part_whose_examples_are_before_it(count: int) -> None:
    place = SourcePlace(12, b"there")
    first, rest = Run(10, 4, b"abcd", bytes(4), place=place).cut(count)
    assert (first.place, rest.place) == ((None, place) if count == 1 else (place, None))


def test_the_engines_reserve_is_for_those_with_nothing_in_front_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", 100_000)
    monkeypatch.setattr(queues, "ENGINE_QUEUE_RESERVE_BYTES", 40_000)
    stream = stream_of()
    loud, quiet = queue_of(stream, "loud", [1]), queue_of(stream, "quiet", [1, 1, 1])
    assert stream.ready() == [loud, quiet]
    stream.put_before_engine("loud", 100_000)
    assert stream.has_work()
    assert stream.ready() == [quiet]
    stream.put_before_engine("quiet", PRODUCER_QUEUE_LITTLE_BYTES + 1)
    assert stream.ready() == []
    assert not stream.has_work()
    stream.learned("quiet", PRODUCER_QUEUE_LITTLE_BYTES + 1)
    stream.put_before_engine("others", 40_000)
    assert stream.ready() == []
    stream.learned("others", 40_000)
    stream.learned("loud", 100_000)
    assert stream.ready() == [loud, quiet]


def held_streams(number: int) -> tuple[Held, list[StreamIntake]]:
    """Streams that share what memory there is."""
    held = Held()
    return held, [StreamIntake(str(each), 0, lambda _: None, held) for each in range(number)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.booleans()), max_size=30))
def test_what_is_held_of_all_streams_is_what_is_held_of_each(
    steps: list[tuple[int, int, bool]],
) -> None:
    held, streams = held_streams(3)
    made = [queue_of(stream, "p", []) for stream in streams]
    for index, count, forward in steps:
        stream, queue = streams[index], made[index]
        if forward:
            queue.put(Run(0, count, bytes(count), bytes(count)))
            stream.put_before_engine("p", count)
        else:
            if queue.pending:
                queue.take(count)
            stream.learned("p", stream.unlearned_bytes)
        pending = sum(each.pending_bytes for each in streams)
        unlearned = sum(each.unlearned_bytes for each in streams)
        assert held == Held(3, pending, unlearned)


def test_engines_of_all_streams_that_are_behind_share_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stream has its own limit while there is room, and an equal part of all of it after that."""
    monkeypatch.setattr(queues, "ENGINE_QUEUE_BYTES_MAX", 100)
    monkeypatch.setattr(queues, "ENGINE_QUEUES_BYTES_MAX", 300)
    _, streams = held_streams(6)
    for stream in streams[:3]:
        assert stream.takes_more
        stream.put_before_engine("p", 99)
    assert all(stream.takes_more for stream in streams)
    streams[3].put_before_engine("p", 40)  # of 300 each of six may have 50 now
    assert [stream.takes_more for stream in streams] == [False] * 3 + [True] * 3
    streams[3].put_before_engine("p", 20)
    assert [stream.takes_more for stream in streams] == [False] * 4 + [True] * 2
    streams[0].learned("p", 99)
    assert all(stream.takes_more for stream in streams)


def test_whatever_streams_are_fed_what_their_engines_have_to_learn_is_limited() -> None:
    """Each as much as it may, one after the other."""
    held, streams = held_streams(200)
    for _ in range(3):
        for stream in streams:
            while stream.takes_more:
                stream.put_before_engine("p", 65_536)
    most = 2 * ENGINE_QUEUES_BYTES_MAX + len(streams) * 65_536
    assert ENGINE_QUEUES_BYTES_MAX <= held.unlearned_bytes <= most


def test_the_reserves_of_all_streams_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "ENGINE_QUEUES_BYTES_MAX", 1000)
    monkeypatch.setattr(queues, "ENGINE_QUEUES_RESERVE_BYTES", 500)
    _, (full, other) = held_streams(2)
    quiet = queue_of(full, "quiet", [1])
    full.put_before_engine("loud", 1000)
    other.put_before_engine("loud", 1499)
    assert full.ready() == [quiet]
    other.put_before_engine("loud", 1)
    assert full.ready() == []


def test_feeders_of_many_streams_are_held_up_by_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "PENDING_BYTES_MAX", 40_000)
    _, streams = held_streams(5)
    large = [queue_of(stream, "p", [10_000] * 2) for stream in streams[:2]]  # 17 bytes an example
    bytes_max = 1_000_000
    assert all(queue.stream.has_too_much(queue, bytes_max) for queue in large)
    small = queue_of(streams[2], "p", [100])
    assert not streams[2].has_too_much(small, bytes_max)
    for queue in large:
        queue.take(350_000)
    assert large[0].stream.has_room(large[0], bytes_max)
    assert small.stream.has_room(small, bytes_max)


def test_what_is_taken_has_a_cost() -> None:
    assert Taken().cost_bytes == 0
    assert Taken([Run(0, 1, b"a", b"\0")]).cost_bytes == RECORD_OVERHEAD_BYTES + 2
