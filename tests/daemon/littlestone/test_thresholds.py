"""Thresholds inside a class (Alon et al., Theorem 10): both directions, and the largest number."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, Leaf, ShatteredTree, littlestone_dimension
from littled.littlestone.trees import Node, branches, tree_depth
from oracle.littlestone.thresholds import (
    are_thresholds,
    largest_thresholds,
    thresholds_from_tree,
    tree_from_thresholds,
)
from oracle.littlestone.trees import is_shattered, witness_tree
from support.littlestone import NAMED, Matrix, all_functions, classes, parities, points, thresholds


def most_by_definition(matrix: Matrix) -> int:
    """The largest k such that some k points and k rows, in some order, are thresholds."""
    rows, columns = matrix.shape
    for k in range(min(rows, columns), 0, -1):
        wanted = np.triu(np.ones((k, k), dtype=bool))
        for xs in permutations(range(columns), k):
            found = matrix[:, xs]
            if all((found == each).all(axis=1).any() for each in wanted):
                return k
    return 0


def most_by_recursion(matrix: Matrix) -> int:
    """The same, from the first threshold to the last, without any bound."""

    @cache
    def most(rows: frozenset[int], columns: frozenset[int]) -> int:
        return max(
            (
                1
                + most(
                    frozenset(h for h in rows if not matrix[h, x]),
                    frozenset(z for z in columns if matrix[row, z]),
                )
                for row in rows
                for x in columns
                if matrix[row, x]
            ),
            default=0,
        )

    return most(frozenset(range(len(matrix))), frozenset(range(matrix.shape[1])))


def shattering_class(depth: int, seed: int) -> tuple[Matrix, ShatteredTree]:
    """A class with a row for each leaf of a tree with a point for each inner node.

    Labels off a row's own branch are random: only the tree is certain.
    """
    nodes = (1 << depth) - 1
    matrix = np.random.default_rng(seed).random((nodes + 1, nodes)) < 0.5

    def grow(node: int) -> ShatteredTree:
        if node >= nodes:
            return Leaf(node - nodes)
        return Node(node, grow(2 * node + 1), grow(2 * node + 2))

    tree = grow(0)
    for examples, row in branches(tree):
        for point, label in examples:
            matrix[row, point] = bool(label)
    return matrix, tree


# -- Theorem 10 ----------------------------------------------------------------------------------


@given(classes(rows_max=12))
def test_theorem_10_first_item(matrix: Matrix) -> None:
    dimension = littlestone_dimension(matrix)
    found = thresholds_from_tree(matrix)
    assert are_thresholds(matrix, found.points, found.rows)
    assert len(found.points) == len(found.rows) == (dimension + 1).bit_length() - 1
    assert len(found.rows) >= max(dimension, 1).bit_length() - 1  # as the theorem states it


@settings(max_examples=30)
@given(st.integers(0, 7), st.integers(0, 2**32))
def test_theorem_10_first_item_for_random_trees(depth: int, seed: int) -> None:
    matrix, tree = shattering_class(depth, seed)
    assert is_shattered(matrix, tree)
    found = thresholds_from_tree(matrix, tree)
    assert are_thresholds(matrix, found.points, found.rows)
    assert len(found.rows) == (depth + 1).bit_length() - 1


@given(st.sets(st.integers(0, 39), min_size=1))
def test_theorem_10_second_item(chosen: set[int]) -> None:
    matrix, ordered = thresholds(40), sorted(chosen)
    tree = tree_from_thresholds(matrix, ordered, ordered)
    assert tree_depth(tree) == len(ordered).bit_length() - 1
    assert is_shattered(matrix, tree)


@given(classes(points_max=4, rows_max=8))
def test_theorem_10_bounds_each_number_by_the_other(matrix: Matrix) -> None:
    dimension = littlestone_dimension(matrix)
    most = len(largest_thresholds(matrix).rows)
    assert most >= (dimension + 1).bit_length() - 1
    if most:
        assert dimension >= most.bit_length() - 1


@pytest.mark.parametrize("bits", [7, 8])
def test_all_functions_contain_more_thresholds_than_the_proof_finds(bits: int) -> None:
    matrix = all_functions(bits)
    found = thresholds_from_tree(matrix)
    assert len(found.rows) == 3
    assert are_thresholds(matrix, found.points, found.rows)
    most = largest_thresholds(matrix)
    assert are_thresholds(matrix, most.points, most.rows)
    assert len(most.rows) == bits


# -- the largest number --------------------------------------------------------------------------


@settings(max_examples=150)
@given(classes(points_max=5, rows_max=9))
def test_the_largest_number_equals_the_definition(matrix: Matrix) -> None:
    found = largest_thresholds(matrix)
    assert are_thresholds(matrix, found.points, found.rows)
    assert len(found.rows) == most_by_definition(matrix)


@pytest.mark.parametrize(
    ("matrix", "most"),
    [
        (thresholds(40), 40),
        (~thresholds(40), 40),
        (points(6), 1),
        (~points(6), 2),
        (parities(3), 3),
        (np.zeros((2, 3), dtype=bool), 0),
        (np.ones((2, 3), dtype=bool), 1),
        (np.zeros((0, 3), dtype=bool), 0),
    ],
)
def test_known_numbers(matrix: Matrix, most: int) -> None:
    found = largest_thresholds(matrix)
    assert are_thresholds(matrix, found.points, found.rows)
    assert len(found.rows) == most


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_number_equals_a_plain_recursion(seed: int) -> None:
    cells = np.random.default_rng(seed).random((10, 9)) < 0.5
    found = largest_thresholds(cells)
    assert are_thresholds(cells, found.points, found.rows)
    assert len(found.rows) == most_by_recursion(cells)


def test_shuffled_thresholds_are_put_in_order() -> None:
    order = np.random.default_rng(3)
    matrix = thresholds(60)[order.permutation(61)][:, order.permutation(60)]
    found = largest_thresholds(matrix)
    assert are_thresholds(matrix, found.points, found.rows)
    assert len(found.rows) == 60
    tree = tree_from_thresholds(matrix, found.points, found.rows)
    assert is_shattered(matrix, tree)
    assert tree_depth(tree) == littlestone_dimension(matrix) == 5


# -- refusals ------------------------------------------------------------------------------------


def test_order_and_number_matter() -> None:
    matrix = thresholds(4)
    assert are_thresholds(matrix, (1, 3), (0, 2))
    assert are_thresholds(matrix, (), ())
    assert not are_thresholds(matrix, (3, 1), (2, 0))
    assert not are_thresholds(matrix, (1, 3), (0,))
    assert not are_thresholds(matrix, (1, 2), (0, 3))


def test_what_is_no_thresholds_makes_no_tree() -> None:
    with pytest.raises(ValueError, match="are no thresholds"):
        tree_from_thresholds(thresholds(4), (3, 1), (2, 0))
    with pytest.raises(ValueError, match="are no thresholds"):
        tree_from_thresholds(thresholds(4), (), ())
    with pytest.raises(ValueError, match="points 0 to 3, and 4 is none of them"):
        are_thresholds(thresholds(4), (4,), (0,))
    with pytest.raises(ValueError, match="has rows 0 to 4 only"):
        are_thresholds(thresholds(4), (0,), (5,))


def test_a_tree_has_to_be_shattered() -> None:
    tree = witness_tree(NAMED["parities"])
    assert isinstance(tree, Node)
    with pytest.raises(ValueError, match="does not shatter this tree"):
        thresholds_from_tree(NAMED["parities"], Node(tree.point, tree.one, tree.zero))
    with pytest.raises(ValueError, match="at least one hypothesis"):
        thresholds_from_tree(np.zeros((0, 2), dtype=bool))


def test_cost_is_limited_and_said() -> None:
    cells = np.random.default_rng(0).random((24, 24)) < 0.5
    with pytest.raises(CostExceeded, match="more than 100 choices of thresholds"):
        largest_thresholds(cells, subclasses_max=100)
