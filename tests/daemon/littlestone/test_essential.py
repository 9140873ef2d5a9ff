"""Decomposition dimension and essential hypotheses against all valid trees, and Lyu's statements.

Lemma 4.3, Corollary 4.1 and Fact 4 are checked on random pairs of classes.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, littlestone_dimension
from oracle.littlestone.decomposition import (
    Whole,
    decomposition_leaves,
    is_valid_decomposition,
    valid_decomposition,
)
from oracle.littlestone.dimension import standard_optimal_algorithm
from oracle.littlestone.essential import (
    decomposition_dimension,
    essential_hypotheses,
    optimal_decomposition,
)
from support.littlestone import (
    NAMED,
    Matrix,
    Row,
    all_functions,
    as_rows,
    classes,
    nested_classes,
    optimal_tops,
    points,
    small_problems,
    soa_of,
    sparse_sets,
    thresholds,
)

# Found by a search: seven hypotheses over four points, dimension 2.
WITHOUT_ESSENTIALS = np.array(
    [
        [0, 0, 1, 0],
        [0, 0, 1, 1],
        [0, 1, 0, 0],
        [0, 1, 0, 1],
        [0, 1, 1, 0],
        [1, 0, 1, 0],
        [1, 1, 0, 0],
    ],
    dtype=bool,
)


def essential(matrix: Matrix, p: int, d: int) -> set[Row]:
    """Essential hypotheses as tuples."""
    return set(as_rows(essential_hypotheses(matrix, p, d)))


# -- against the definitions ---------------------------------------------------------------------


@settings(max_examples=80)
@given(classes(points_max=6, rows_max=9), st.data())
def test_all_valid_trees_agree(matrix: Matrix, data: st.DataObject) -> None:
    problems = small_problems(littlestone_dimension(matrix))
    assume(problems)
    p, d = data.draw(st.sampled_from(problems))
    degree, tops = optimal_tops(as_rows(matrix), p, d)
    assert decomposition_dimension(matrix, p, d) == degree
    assert essential(matrix, p, d) == set(frozenset.intersection(*tops))


@pytest.mark.parametrize(
    ("matrix", "p", "d"),
    [(sparse_sets(n, 2), 1, 2) for n in (3, 4, 5)]
    + [(sparse_sets(n, 1), p, d) for n in (3, 4, 5) for p, d in [(1, 1), (2, 1), (3, 1), (1, 2)]]
    + [(thresholds(5), 1, 2), (all_functions(2), 1, 2)],
)
def test_all_valid_trees_of_named_classes_agree(matrix: Matrix, p: int, d: int) -> None:
    degree, tops = optimal_tops(as_rows(matrix), p, d)
    assert decomposition_dimension(matrix, p, d) == degree
    assert essential(matrix, p, d) == set(frozenset.intersection(*tops))


@given(classes(points_max=6, rows_max=12), st.integers(1, 3), st.integers(0, 1))
def test_an_optimal_decomposition_is_valid_and_has_the_least_degree(
    matrix: Matrix, p: int, more: int
) -> None:
    d = littlestone_dimension(matrix) + more
    tree = optimal_decomposition(matrix, p, d)
    assert is_valid_decomposition(matrix, p, d, tree)
    leaves = decomposition_leaves(matrix, tree)
    degree = max(map(littlestone_dimension, leaves))
    assert degree == decomposition_dimension(matrix, p, d)
    greedy = decomposition_leaves(matrix, valid_decomposition(matrix, p, d))
    assert degree <= max(map(littlestone_dimension, greedy))
    tops = {soa_of(as_rows(leaf)) for leaf in leaves if littlestone_dimension(leaf) == degree}
    assert essential(matrix, p, d) <= tops


# -- statements of the paper ---------------------------------------------------------------------


@settings(max_examples=80)
@given(nested_classes(points_max=6, rows_max=10), st.integers(1, 3), st.integers(0, 1))
def test_lemma_4_3_first_item(pair: tuple[Matrix, Matrix], p: int, more: int) -> None:
    smaller, larger = pair
    d = littlestone_dimension(larger) + more
    bound = decomposition_dimension(larger, p, d)
    assert decomposition_dimension(smaller, 2 * p, d) <= bound
    assert decomposition_dimension(smaller, p, d) <= bound  # what Corollary 4.1, item 2, uses


@settings(max_examples=80)
@given(nested_classes(points_max=6, rows_max=10), st.integers(1, 3), st.integers(0, 1))
def test_lemma_4_3_second_item(pair: tuple[Matrix, Matrix], p: int, more: int) -> None:
    smaller, larger = pair
    d = littlestone_dimension(larger) + more
    degree = decomposition_dimension(larger, p, d)
    assume(decomposition_dimension(smaller, 2 * p, d) == degree)
    leaves = decomposition_leaves(smaller, optimal_decomposition(smaller, 2 * p, d))
    tops = [leaf for leaf in leaves if littlestone_dimension(leaf) == degree]
    # in every optimal decomposition of the larger class: that is, essential to it
    assert {tuple(map(int, standard_optimal_algorithm(leaf))) for leaf in tops} <= essential(
        larger, p, d
    )


@settings(max_examples=60)
@given(nested_classes(points_max=5, rows_max=6))
def test_lemma_4_3_second_item_for_every_pair_of_trees(pair: tuple[Matrix, Matrix]) -> None:
    smaller, larger = map(as_rows, pair)
    p, d = 1, littlestone_dimension(pair[1])
    assume(d <= 1)
    degree, tops = optimal_tops(larger, p, d)
    smaller_degree, smaller_tops = optimal_tops(smaller, 2 * p, d)
    assert smaller_degree <= degree
    if smaller_degree == degree:
        assert all(found <= others for found, others in product(smaller_tops, tops))


@settings(max_examples=80)
@given(nested_classes(points_max=6, rows_max=10), st.integers(1, 3), st.integers(0, 1))
def test_corollary_4_1(pair: tuple[Matrix, Matrix], p: int, more: int) -> None:
    smaller, larger = pair
    d = littlestone_dimension(larger) + more
    degree = decomposition_dimension(larger, p, d)
    found = essential(larger, p, d)
    assert len(found) <= p**d * 2 ** (d * d)  # item 1
    if decomposition_dimension(smaller, p, d) == degree:
        assert essential(smaller, p, d) <= found  # item 2
    if decomposition_dimension(larger, 2 * p, d) == degree:
        assert found  # item 3
    if degree == 0:
        assert found == set(as_rows(larger))  # item 4


@given(classes(points_max=6, rows_max=12), st.integers(1, 2), st.data())
def test_classes_that_share_no_hypothesis_have_a_simpler_intersection(
    matrix: Matrix, p: int, data: st.DataObject
) -> None:
    # Lyu, section 4.2, "Digest".
    kept = data.draw(st.lists(st.sets(st.integers(0, len(matrix) - 1)), min_size=2, max_size=3))
    several = [matrix[sorted(each | {0})] for each in kept]
    common = frozenset.intersection(*map(as_rows, several))
    d = max(map(littlestone_dimension, several))
    degrees = {decomposition_dimension(matrix, p, d) for matrix in several}
    assume(len(degrees) == 1)
    if not set.intersection(*(essential(matrix, p, d) for matrix in several)):
        rows = np.array(sorted(common), dtype=bool)
        assert decomposition_dimension(rows, 2 * p, d) < min(degrees)


@settings(max_examples=80)
@given(classes(points_max=6, rows_max=10), st.data())
def test_fact_4_counterexamples_make_a_hypothesis_inessential(
    matrix: Matrix, data: st.DataObject
) -> None:
    d = littlestone_dimension(matrix)
    p = max(d, data.draw(st.integers(1, 4)))
    example = st.tuples(st.integers(0, matrix.shape[1] - 1), st.integers(0, 1))
    examples = data.draw(st.lists(example, min_size=max(d, 1), max_size=p))

    def errors(row: Row) -> int:
        return sum(row[x] != y for x, y in examples)

    kept = np.array([10 * errors(tuple(map(int, row))) <= len(examples) for row in matrix])
    left = essential(matrix[kept], p, d)
    for hypothesis in essential(matrix, p, d):
        if 8 * errors(hypothesis) >= len(examples):
            assert hypothesis not in left


# -- known classes -------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "p"), [(3, 1), (4, 1), (4, 2), (64, 1), (64, 8), (64, 62)])
def test_many_points_have_one_essential_hypothesis_that_is_none_of_them(size: int, p: int) -> None:
    # p * 2^0 points are fewer than the size - 1 that reduce the class
    assert decomposition_dimension(points(size), p, 1) == 1
    assert essential(points(size), p, 1) == {(0,) * size}


@pytest.mark.parametrize("p", [1, 2, 3])
def test_many_sparse_sets_have_the_empty_set_in_common(p: int) -> None:
    assert decomposition_dimension(sparse_sets(12, 2), p, 2) == 2
    assert essential(sparse_sets(12, 2), p, 2) == {(0,) * 12}


@pytest.mark.parametrize("name", NAMED)
def test_with_large_p_all_rows_are_essential(name: str) -> None:
    d = littlestone_dimension(NAMED[name])
    p = NAMED[name].shape[1]  # so many points reduce every sub-class of positive dimension
    assert decomposition_dimension(NAMED[name], p, d) == 0
    assert essential(NAMED[name], p, d) == set(as_rows(NAMED[name]))


def test_a_class_may_have_no_essential_hypothesis() -> None:
    # Two trees of degree 1 with nothing in common; p = 2 gives degree 0 (Corollary 4.1, item 3).
    matrix = WITHOUT_ESSENTIALS
    degree, tops = optimal_tops(as_rows(matrix), 1, 2)
    assert (degree, frozenset.intersection(*tops)) == (1, frozenset())
    assert essential_hypotheses(matrix, 1, 2).shape == (0, matrix.shape[1])
    assert decomposition_dimension(matrix, 2, 2) == 0


def test_essential_hypotheses_come_in_lexicographic_order() -> None:
    found = essential_hypotheses(all_functions(2)[::-1], 1, 2)
    assert found.tolist() == all_functions(2).tolist()
    assert essential_hypotheses(np.ones((2, 0), dtype=bool), 1, 0).shape == (1, 0)


def test_the_empty_class_has_no_essential_hypothesis() -> None:
    # By the formulas it would have one, 0 everywhere, and Fact 4 would fail where no row is left.
    nothing = np.zeros((0, 3), dtype=bool)
    assert decomposition_dimension(nothing, 1, 0) == -1
    assert essential_hypotheses(nothing, 1, 0).shape == (0, 3)
    with pytest.raises(ValueError, match="at least one hypothesis"):
        optimal_decomposition(nothing, 1, 0)


@pytest.mark.parametrize(("p", "d", "sentence"), [(0, 2, "p must be"), (1, 1, "d = 1 is less")])
def test_wrong_parameters_are_refused(p: int, d: int, sentence: str) -> None:
    for function in (decomposition_dimension, optimal_decomposition, essential_hypotheses):
        with pytest.raises(ValueError, match=sentence):
            function(thresholds(3), p, d)


def test_cost_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CostExceeded, match="more than 5 sub-classes"):
        essential_hypotheses(sparse_sets(8, 2), 2, 2, subclasses_max=5)
    # seven points are 4-irreducible, so they may stay together; but six splits part them all
    assert valid_decomposition(points(7), 2, 2) == Whole()
    assert essential(points(7), 2, 2) == set(as_rows(points(7)))
    monkeypatch.setattr("oracle.littlestone.essential.SEARCH_DEPTH_MAX", 3)
    with pytest.raises(CostExceeded, match="not searched beyond 3 splits on a branch"):
        essential_hypotheses(points(7), 2, 2)
