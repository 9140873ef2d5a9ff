"""Valid (p, d)-decompositions (Lyu, Definition 4.2, Claim 4.1, Lemma 4.1) and their check."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, littlestone_dimension
from oracle.littlestone.decomposition import (
    DecompositionTree,
    Split,
    Whole,
    decomposition_leaves,
    is_valid_decomposition,
    valid_decomposition,
)
from support.littlestone import (
    NAMED,
    Matrix,
    Rows,
    all_functions,
    as_rows,
    classes,
    dimension_of,
    is_k_irreducible,
    outcomes,
    points,
    restricted,
    small_problems,
    sparse_sets,
    thresholds,
)


def by_definition(rows: Rows, p: int, d: int, tree: DecompositionTree | None, depth: int) -> bool:
    """Definition 4.2 below a node, with absent children where sub-classes are empty."""
    if not rows or tree is None:
        return not rows and tree is None
    gap = d - dimension_of(rows)
    if isinstance(tree, Whole):
        return depth <= p * (2**gap - 1) and is_k_irreducible(rows, p * 2**gap)
    zero, one = (restricted(rows, [(tree.point, label)]) for label in (0, 1))
    return (
        depth <= p * (2 ** (gap + 1) - 1)
        and by_definition(zero, p, d, tree.zero, depth + 1)
        and by_definition(one, p, d, tree.one, depth + 1)
    )


@given(classes(rows_max=10), st.integers(1, 3), st.integers(0, 2))
def test_claim_4_1_the_greedy_construction_is_valid(matrix: Matrix, p: int, more: int) -> None:
    d = littlestone_dimension(matrix) + more
    tree = valid_decomposition(matrix, p, d)
    assert by_definition(as_rows(matrix), p, d, tree, 0)
    assert is_valid_decomposition(matrix, p, d, tree)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("p", [1, 2])
def test_claim_4_1_holds_for_named_classes(name: str, p: int) -> None:
    d = littlestone_dimension(NAMED[name])
    tree = valid_decomposition(NAMED[name], p, d)
    assert by_definition(as_rows(NAMED[name]), p, d, tree, 0)
    leaves = decomposition_leaves(NAMED[name], tree)
    assert sum(map(len, leaves)) == len(NAMED[name])
    assert len(leaves) <= p**d * 2 ** (d * d)


def decoded(values: list[int], rows: Rows, size: int) -> DecompositionTree | None:
    """A tree in preorder: points, then a wrong leaf or absent child; in the end what is right."""
    value = values.pop(0) if values else size + 2
    if value < size:
        below = [restricted(rows, [(value, label)]) for label in (0, 1)]
        return Split(value, *(decoded(values, each, size) for each in below))
    if value == size + 1:
        return None if rows else Whole()
    return Whole() if rows or value == size else None


@pytest.mark.no_cover
@settings(max_examples=300)
@given(
    classes(points_max=3, rows_max=4),
    st.lists(st.integers(0, 9), max_size=7),
    st.integers(1, 2),
    st.integers(0, 1),
)
def test_the_check_equals_the_definition(
    matrix: Matrix, values: list[int], p: int, more: int
) -> None:
    size, d = matrix.shape[1], littlestone_dimension(matrix) + more
    # points are as frequent as leaves that are right
    short = [min(value % (2 * size + 2), size + 2) for value in values]
    tree = decoded(short, as_rows(matrix), size)
    assume(tree is not None)
    assert tree is not None
    expected = by_definition(as_rows(matrix), p, d, tree, 0)
    assert is_valid_decomposition(matrix, p, d, tree) == expected


@given(classes(rows_max=8), st.data())
def test_the_leaves_of_a_valid_tree_part_the_class(matrix: Matrix, data: st.DataObject) -> None:
    d = littlestone_dimension(matrix)
    leaves = decomposition_leaves(matrix, valid_decomposition(matrix, 1, d))
    assert sorted(map(tuple, np.concatenate(leaves).tolist())) == sorted(
        tuple(map(bool, row)) for row in as_rows(matrix)
    )


@settings(max_examples=60)
@given(classes(rows_max=7), st.data())
def test_lemma_4_1_bounds_the_leaves_of_every_valid_tree(
    matrix: Matrix, data: st.DataObject
) -> None:
    problems = small_problems(littlestone_dimension(matrix))
    assume(problems)
    p, d = data.draw(st.sampled_from(problems))
    leaves = [count for _, count in outcomes(as_rows(matrix), p, d)]
    assert 1 <= max(leaves) <= p**d * 2 ** (d * d)


def test_lemma_4_1_is_tight_for_two_hypotheses() -> None:
    # p = d = 1 allows 2 leaves.
    assert max(count for _, count in outcomes(as_rows(points(2)), 1, 1)) == 2


def test_lemma_4_1_needs_empty_children_to_be_absent() -> None:
    # Read literally, with dimension -1 for the empty class, Definition 4.2 with p = d = 1 allows
    # leaves of the empty class down to depth 3, whose inner nodes may lie at depth 7. One
    # hypothesis at depth 1 and an empty sub-class split once more make 3 leaves; the bound is 2.
    p, d, hypothesis, nothing = 1, 1, 0, -1
    for depth, dimension in [(0, hypothesis), (1, nothing)]:  # inner nodes
        assert depth <= p * (2 ** (d - dimension + 1) - 1)
    leaves = [(1, hypothesis), (2, nothing), (2, nothing)]
    for depth, dimension in leaves:
        assert depth <= p * (2 ** (d - dimension) - 1)
    assert len(leaves) > p**d * 2 ** (d * d)
    twice = Split(0, Whole(), Split(0, Whole(), Whole()))
    assert not is_valid_decomposition(np.zeros((1, 1), dtype=bool), p, d, twice)
    assert is_valid_decomposition(np.zeros((1, 1), dtype=bool), p, d, Split(0, Whole(), None))


def test_the_smallest_decompositions() -> None:
    single = np.zeros((1, 2), dtype=bool)
    assert valid_decomposition(single, 1, 0) == Whole()
    assert valid_decomposition(points(2), 1, 1) == Split(0, Whole(), Whole())
    # three points are 1-irreducible: they stay together for p = 1, and fall apart for p = 2
    assert valid_decomposition(points(3), 1, 1) == Whole()
    assert valid_decomposition(points(3), 2, 1) == Split(0, Split(1, Whole(), Whole()), Whole())


def test_bounds_on_depth_are_met_exactly() -> None:
    single = np.zeros((1, 2), dtype=bool)
    once = Split(0, Whole(), None)
    assert is_valid_decomposition(single, 1, 1, once)
    assert not is_valid_decomposition(single, 1, 1, Split(1, once, None))
    assert is_valid_decomposition(single, 2, 1, Split(1, once, None))
    assert not is_valid_decomposition(single, 1, 0, once)


def test_a_deep_decomposition_is_built_and_checked() -> None:
    matrix = points(300)  # one path of 299 splits
    tree = valid_decomposition(matrix, 299, 1)
    assert is_valid_decomposition(matrix, 299, 1, tree)
    assert len(decomposition_leaves(matrix, tree)) == 300


@pytest.mark.parametrize(
    ("matrix", "p", "d", "sentence"),
    [
        (thresholds(3), 0, 2, "p must be at least 1, not 0"),
        (thresholds(3), 1, 1, "d = 1 is less than the Littlestone dimension 2"),
        (thresholds(3)[:0], 1, 1, "needs at least one hypothesis"),
    ],
)
def test_what_has_no_decomposition_is_refused(
    matrix: Matrix, p: int, d: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        valid_decomposition(matrix, p, d)
    with pytest.raises(ValueError, match=sentence):
        is_valid_decomposition(matrix, p, d, Whole())


def test_a_tree_over_other_points_is_refused() -> None:
    with pytest.raises(ValueError, match="points 0 to 1, and 2 is none of them"):
        is_valid_decomposition(points(2), 1, 1, Split(2, Whole(), Whole()))


def test_cost_is_limited() -> None:
    with pytest.raises(CostExceeded):
        valid_decomposition(sparse_sets(10, 2), 3, 2, subclasses_max=3)
    with pytest.raises(CostExceeded):
        is_valid_decomposition(all_functions(4), 1, 4, Whole(), subclasses_max=3)
