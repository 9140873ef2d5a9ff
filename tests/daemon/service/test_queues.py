"""Queues of producers and their shares of a commit."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import COMMIT_BYTES_MAX, PRODUCER_QUEUE_LITTLE_BYTES, RECORD_OVERHEAD_BYTES
from littled.service import queues
from littled.service.queues import ProducerQueue, Run, StreamIntake, Taken, take_shares
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
    return StreamIntake(name, 0, lambda _: None)


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
    little = queue_of(stream, "quiet", [1, 1, 1])
    taken = take_shares([stream], 300_000)
    assert list(taken) == [little, *backlogs]
    assert sum(run.count for run in taken[little].runs) == 3
    for queue in backlogs:  # a third of the room each
        assert 90_000 < taken[queue].cost_bytes < 110_000


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
    loud, quiet = queue_of(stream, "loud", [1]), queue_of(stream, "quiet", [1])
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


def test_what_is_taken_has_a_cost() -> None:
    assert Taken().cost_bytes == 0
    assert Taken([Run(0, 1, b"a", b"\0")]).cost_bytes == RECORD_OVERHEAD_BYTES + 2
