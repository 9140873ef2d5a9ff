"""Labelings of ids: how candidates are kept, and many of them at once."""

from itertools import combinations

import numpy as np
import pytest

from littled.classes.points import PointFunctions
from littled.classes.set_labelings import most_voted
from littled.classes.sparse_sets import SparseSets
from littled_protocol.rules import PointsRule


def test_candidates_rise_with_their_sizes_and_ids() -> None:
    x = np.array([9, 3, 5, 3, 7], dtype=np.uint16)
    window = SparseSets(16, 2).window(x, np.ones(5, dtype=np.uint8))
    found = window.candidates(np.arange(4))
    rules = [found.rule(index) for index in range(len(found.scores))]
    sets = [each for size in range(3) for each in combinations((3, 5, 9), size)]
    assert rules == [PointsRule(16, members) for members in sets]
    assert found.scores.tolist() == [0, 2, 1, 1, 3, 3, 2]


def test_ids_outside_the_subset_belong_to_no_candidate() -> None:
    x = np.array([[1, 2], [2, 1], [1, 3]], dtype=np.uint64)
    found = PointFunctions(128).window(x, np.ones(3, np.uint8)).candidates(np.arange(2))
    assert found.labels(x[2:]).tolist() == [False, False, False]
    assert found.labels(x[1:2]).tolist() == [False, False, True]


@pytest.mark.parametrize(("members", "ids", "count"), [(2, 400, 80_201), (20, 16, 1 << 16)])
def test_many_candidates(members: int, ids: int, count: int) -> None:
    generator = np.random.default_rng(0)
    x = generator.permutation(np.repeat(np.arange(1000, dtype=np.uint32) * 7919, 3))
    y = generator.integers(0, 2, size=len(x)).astype(np.uint8)
    subset = np.sort(np.unique(x, return_index=True)[1][:ids])
    found = SparseSets(32, members).window(x, y).candidates(subset)
    assert len(found.scores) == count
    point = x[subset[3:4]]
    labels = found.labels(point)
    for index in generator.integers(0, count, size=100).tolist():
        rule = found.rule(index)
        assert found.scores[index] == (rule.evaluate(x) == y).sum()
        assert labels[index] == rule.evaluate(point)[0]


def test_most_voted_ids_are_the_first_of_equals() -> None:
    x = np.array([8, 4, 4, 6, 6, 2, 5, 5, 9], dtype=np.uint8)
    y = np.array([1, 1, 1, 1, 1, 1, 0, 1, 0], dtype=np.uint8)
    chunk = np.zeros(9, dtype=np.int64)
    assert most_voted(x, y, chunk, 1, members=1) == [(4,)]
    assert most_voted(x, y, chunk, 1, members=3) == [(2, 4, 6)]
    assert most_voted(x, y, chunk + 1, 3, members=9) == [(), (2, 4, 6, 8), ()]
