"""Partitions: always a partition, divided where labels are mixed, joined where they are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.learners.partition.parts import DIVIDED_BITS, Partition, followed


def check(partition: Partition) -> None:
    """It covers all addresses once, in rising order, with blocks."""
    position = 0
    for start, length in zip(partition.starts, partition.lengths, strict=True):
        size = 1 << (partition.bits - length)
        assert start == position
        assert start % size == 0
        position += size
    assert position == 1 << partition.bits


@pytest.mark.parametrize(("bits", "most", "parts"), [(1, 8, 2), (32, 8192, 256), (128, 100, 64)])
def test_the_first_partition_has_as_many_parts_as_may_be_up_to_256(
    bits: int, most: int, parts: int
) -> None:
    first = Partition.first(bits, most)
    assert len(first) == parts
    check(first)


@given(
    st.sampled_from([1, 3, 9, 32, 128]),
    st.lists(st.integers(-5, 400), min_size=1, max_size=60),
    st.integers(1, 20),
    st.integers(1, 80),
    st.integers(1, 4),
)
@settings(max_examples=80)
def test_what_follows_is_a_partition_of_few_parts(
    bits: int, numbers: list[int], divided_from: int, most: int, rounds: int
) -> None:
    partition = Partition.first(bits, most)
    for _ in range(rounds):
        counts = np.resize(np.array(numbers, dtype=np.int64), (len(partition), 2))
        following, shared = followed(partition, counts, divided_from, most)
        check(following)
        assert len(following) <= most
        assert shared.shape == (len(following), 2)
        # counts are rounded down where they are shared out
        lost = counts.sum() - shared.sum()
        assert 0 <= lost <= 2 * len(following)
        partition = following


def test_places_are_those_of_the_blocks() -> None:
    partition = Partition(3, (0, 4, 6, 7), (1, 2, 3, 3))
    check(partition)
    assert partition.places(np.arange(8, dtype=np.uint8)).tolist() == [0, 0, 0, 0, 1, 1, 2, 3]
    wide = Partition(128, (0, 1 << 127, (1 << 127) + (1 << 63)), (1, 65, 65))
    points = np.array([[0, 5], [1 << 63, 7], [1 << 63, 1 << 63], [1 << 63, 2**64 - 1]], np.uint64)
    assert wide.places(points).tolist() == [0, 1, 2, 2]


def test_parts_with_both_labels_are_divided_by_how_many_there_are() -> None:
    partition = Partition.first(32, 4)
    counts = np.array([[100, 2], [40, 17], [8, 90], [4, 5]], dtype=np.int64)
    found, shared = followed(partition, counts, 4, 8192)
    assert found.lengths == (2, *[4] * 4, *[3] * 2, 2)
    assert shared.tolist() == [[100, 2], *[[10, 4]] * 4, *[[4, 45]] * 2, [4, 5]]


def test_neighbours_without_both_labels_are_joined_and_others_are_not() -> None:
    partition = Partition.first(32, 4)
    counts = np.array([[100, 0], [50, 1], [0, 60], [70, 0]], dtype=np.int64)
    found, shared = followed(partition, counts, 4, 8192)
    assert found.lengths == (1, 2, 2)
    assert shared.tolist() == [[150, 1], [0, 60], [70, 0]]
    alone, all_of_them = followed(partition, counts, 500, 8192)
    assert (alone.starts, alone.lengths, all_of_them.tolist()) == ((0,), (0,), [[220, 61]])


def test_where_too_many_would_be_made_fewer_are() -> None:
    partition = Partition.first(32, 4)
    counts = np.full((4, 2), 64, dtype=np.int64)
    assert len(followed(partition, counts, 4, 64)[0]) == 64
    assert len(followed(partition, counts, 4, 63)[0]) == 32
    assert len(followed(partition, counts, 4, 1)[0]) == 1
    once = followed(Partition.first(32, 1), np.full((1, 2), 1 << 20, dtype=np.int64), 1, 8192)[0]
    assert set(once.lengths) == {DIVIDED_BITS}
    assert set(followed(Partition.first(2, 4), counts, 1, 8192)[0].lengths) == {2}
