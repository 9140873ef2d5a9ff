"""Bounds on the Littlestone dimension where the search is stopped early."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, bounds_and_witness, littlestone_dimension
from littled.littlestone.bounds import greedy_tree
from littled.littlestone.trees import tree_depth
from oracle.littlestone.trees import is_shattered
from support.littlestone import NAMED, Matrix, classes, points, sparse_sets, thresholds


@settings(max_examples=200)
@given(classes(points_max=6, rows_max=24), st.integers(0, 8))
def test_bounds_hold_wherever_the_search_stops(matrix: Matrix, subclasses_max: int) -> None:
    (lower, upper), tree = bounds_and_witness(matrix, subclasses_max=subclasses_max)
    assert lower <= littlestone_dimension(matrix) <= upper
    assert is_shattered(matrix, tree)
    assert tree_depth(tree) == lower


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_bounds_hold_for_larger_classes(seed: int, subclasses_max: int) -> None:
    matrix = np.random.default_rng(seed).random((90, 12)) < 0.3
    (lower, upper), tree = bounds_and_witness(matrix, subclasses_max=subclasses_max)
    assert lower <= littlestone_dimension(matrix) <= upper
    assert is_shattered(matrix, tree)
    assert tree_depth(tree) == lower


@pytest.mark.parametrize("name", NAMED)
def test_bounds_are_exact_where_the_search_ends(name: str) -> None:
    found = littlestone_dimension(NAMED[name])
    assert bounds_and_witness(NAMED[name])[0] == (found, found)


@pytest.mark.parametrize(
    ("matrix", "bounds"),
    [
        (thresholds(255), (8, 8)),  # even division is optimal
        (points(200), (1, 1)),  # no point has 2 rows on one side
        (sparse_sets(9, 3), (3, 5)),
    ],
)
def test_without_any_search_bounds_come_from_counting(
    matrix: Matrix, bounds: tuple[int, int]
) -> None:
    with pytest.raises(CostExceeded):
        littlestone_dimension(matrix, subclasses_max=0)
    assert bounds_and_witness(matrix, subclasses_max=0)[0] == bounds


@given(classes(points_max=6, rows_max=24), st.integers(0, 6))
def test_a_greedy_tree_is_shattered_and_not_too_deep(matrix: Matrix, depth: int) -> None:
    tree = greedy_tree(matrix, depth)
    assert is_shattered(matrix, tree)
    assert tree_depth(tree) <= min(depth, littlestone_dimension(matrix))


def test_a_large_class_is_bounded_at_once() -> None:
    cells = np.random.default_rng(0).random((4000, 60)) < 0.5
    (lower, upper), _ = bounds_and_witness(cells, subclasses_max=50)
    assert 8 <= lower <= upper <= 11


def test_the_empty_class_has_no_witness() -> None:
    with pytest.raises(ValueError, match="at least one hypothesis"):
        bounds_and_witness(np.zeros((0, 3), dtype=bool))
