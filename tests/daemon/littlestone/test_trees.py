"""Shattered trees: found, checked and said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.littlestone import Leaf, describe_tree, littlestone_dimension
from littled.littlestone.trees import Node, branches, tree_depth
from oracle.littlestone.trees import is_shattered, witness_tree
from support.littlestone import NAMED, Matrix, classes, thresholds

SEARCH = Node(1, Node(2, Leaf(3), Leaf(2)), Node(0, Leaf(1), Leaf(0)))  # of three points


@given(classes(rows_max=10))
def test_a_witness_is_as_deep_as_the_dimension(matrix: Matrix) -> None:
    tree = witness_tree(matrix)
    assert tree_depth(tree) == littlestone_dimension(matrix)
    assert is_shattered(matrix, tree)


@pytest.mark.parametrize("name", NAMED)
def test_named_classes_have_witnesses(name: str) -> None:
    tree = witness_tree(NAMED[name])
    assert is_shattered(NAMED[name], tree)
    assert tree_depth(tree) == littlestone_dimension(NAMED[name])
    assert len({leaf for _, leaf in branches(tree)}) == 2 ** tree_depth(tree)


@given(classes(rows_max=10), st.data())
def test_a_leaf_that_does_not_explain_its_branch_is_noticed(
    matrix: Matrix, data: st.DataObject
) -> None:
    tree = witness_tree(matrix)
    if isinstance(tree, Leaf):
        return
    flipped = Node(tree.point, tree.one, tree.zero)
    assert not is_shattered(matrix, flipped)


def test_a_tree_of_uneven_depth_is_not_complete() -> None:
    uneven = Node(1, Node(2, Leaf(3), Leaf(2)), Leaf(1))
    assert tree_depth(uneven) == 1
    assert is_shattered(thresholds(3), SEARCH)
    assert not is_shattered(thresholds(3), uneven)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        (Leaf(4), "the class has 4 rows, and 4 is none of them"),
        (Leaf(-1), "the class has 4 rows, and -1 is none of them"),
        (Node(3, Leaf(0), Leaf(1)), "points 0 to 2, and 3 is none of them"),
    ],
)
def test_a_tree_over_another_class_is_refused(tree: Leaf | Node, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        is_shattered(thresholds(3), tree)


def test_trees_are_printed_with_a_line_for_each_edge() -> None:
    assert str(SEARCH) == (
        "point 1 = 0\n"
        "  point 2 = 0: rule 3\n"
        "  point 2 = 1: rule 2\n"
        "point 1 = 1\n"
        "  point 0 = 0: rule 1\n"
        "  point 0 = 1: rule 0"
    )
    assert str(Leaf(7)) == "rule 7"
    named = describe_tree(Node(0, Leaf(1), Leaf(0)), ["rain"], ["wet", "dry"])
    assert named == "rain = 0: dry\nrain = 1: wet"


def test_nothing_shatters_no_tree() -> None:
    with pytest.raises(ValueError, match="at least one hypothesis"):
        witness_tree(np.zeros((0, 3), dtype=bool))
