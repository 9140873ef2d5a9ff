"""Irreducible classes (Lyu, Definition 4.1 and Lemma 4.2) against the definition itself."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, littlestone_dimension
from oracle.littlestone.dimension import restrict, standard_optimal_algorithm
from oracle.littlestone.irreducibility import Reductions, is_irreducible, reducibility
from oracle.littlestone.subclasses import ListedSubClasses
from support.littlestone import (
    NAMED,
    Matrix,
    all_functions,
    as_matrix,
    as_rows,
    classes,
    dimension_of,
    is_k_irreducible,
    points,
    restricted,
    soa_of,
    sparse_sets,
    thresholds,
)

NOTHING = np.zeros((0, 3), dtype=bool)


@settings(max_examples=200)
@given(classes(rows_max=10), st.integers(0, 6))
def test_irreducibility_equals_the_definition(matrix: Matrix, k: int) -> None:
    assert is_irreducible(matrix, k) == is_k_irreducible(as_rows(matrix), k)


@settings(max_examples=200)
@given(classes(rows_max=10))
def test_reducibility_is_the_least_k(matrix: Matrix) -> None:
    reducible = [k for k in range(matrix.shape[1] + 1) if not is_k_irreducible(as_rows(matrix), k)]
    assert reducibility(matrix) == (reducible[0] if reducible else None)
    assert (reducibility(matrix) is None) == (littlestone_dimension(matrix) == 0)


@given(classes(rows_max=10), st.integers(1, 5))
def test_a_reducible_class_is_covered_by_classes_of_smaller_dimension(
    matrix: Matrix, k: int
) -> None:
    # Lyu, section 4.1: "H can be covered by k + 1 restriction classes".
    found = ListedSubClasses(matrix)
    path = Reductions(found).path(found.everything, k)
    if path is None:
        assert is_k_irreducible(as_rows(matrix), k)
        return
    assert len(path) <= k
    soa = standard_optimal_algorithm(matrix)
    cover = [restrict(matrix, [(x, int(not soa[x]))]) for x in path]
    cover.append(restrict(matrix, [(x, int(soa[x])) for x in path]))
    assert frozenset().union(*map(as_rows, cover)) == as_rows(matrix)
    assert max(map(littlestone_dimension, cover)) < littlestone_dimension(matrix)


@given(classes())
def test_a_class_reducible_all_the_way_down_is_small(matrix: Matrix) -> None:
    # Lyu, section 4.1: where H and its restrictions of positive dimension are k-reducible, H has
    # at most (k + 1)^d hypotheses.
    restrictions, ahead = {as_rows(matrix)}, [as_rows(matrix)]
    while ahead:
        rows = ahead.pop()
        smaller = {restricted(rows, [(x, y)]) for x in range(matrix.shape[1]) for y in (0, 1)}
        ahead += smaller - restrictions
        restrictions |= smaller
    sizes = [reducibility(as_matrix(rows, matrix.shape[1])) for rows in restrictions]
    k = max((size for size in sizes if size is not None), default=0)
    assert len(as_rows(matrix)) <= (k + 1) ** littlestone_dimension(matrix)


@settings(max_examples=60)
@given(classes(rows_max=7))
def test_lemma_4_2_soas_of_irreducible_sub_classes_are_no_richer(matrix: Matrix) -> None:
    d = littlestone_dimension(matrix)
    hypotheses = {
        soa_of(frozenset(chosen))
        for size in range(1, len(as_rows(matrix)) + 1)
        for chosen in combinations(as_rows(matrix), size)
        if is_irreducible(as_matrix(chosen, matrix.shape[1]), d + 1)
    }
    assert dimension_of(frozenset(hypotheses)) <= d


def test_lemma_4_2_is_about_sub_classes_that_are_not_empty() -> None:
    # By the formula, the SOA of the empty class says 0 everywhere, which may be new.
    ones = frozenset({(1,)})
    assert is_irreducible(NOTHING, 1)
    assert dimension_of(ones) == 0
    assert dimension_of(ones | {(0,)}) == 1


@pytest.mark.parametrize(
    ("matrix", "least"),
    [
        (points(9), 8),
        (all_functions(3), 1),
        (sparse_sets(6, 2), 5),
        (thresholds(7), 1),
        (np.ones((1, 2), dtype=bool), None),
        (NOTHING, None),
    ],
)
def test_known_reducibility(matrix: Matrix, least: int | None) -> None:
    assert reducibility(matrix) == least


@pytest.mark.parametrize("name", NAMED)
def test_named_classes_equal_the_definition(name: str) -> None:
    rows = as_rows(NAMED[name])
    for k in range(4):
        assert is_irreducible(NAMED[name], k) == is_k_irreducible(rows, k)


def test_no_more_points_than_needed_are_on_a_path() -> None:
    found = ListedSubClasses(sparse_sets(6, 2))
    path = Reductions(found).path(found.everything, 6)
    assert path is not None
    soa = found.standard_optimal(found.everything)
    for left_out in range(len(path) + 1):  # the last round leaves out none
        rows = found.everything
        for number, point in enumerate(path):
            if number != left_out:
                rows = found.restricted(rows, point, soa >> point & 1)
        assert (found.dimension(rows) < 2) == (left_out == len(path))


@pytest.mark.parametrize(
    ("rows", "first_found", "least"),
    [
        (["0010", "0101", "0110", "0111", "1000", "1110"], 2, 1),
        (["00001", "00010", "00011", "00100", "01000", "10000", "11100"], 3, 2),
    ],
)
def test_points_none_of_which_can_be_spared_need_not_be_fewest(
    rows: list[str], first_found: int, least: int
) -> None:
    matrix = np.array([list(map(int, row)) for row in rows], dtype=bool)
    found = ListedSubClasses(matrix)
    paths = [Reductions(found).path(found.everything, k) for k in (first_found, least, least - 1)]
    assert [path and len(path) for path in paths] == [first_found, least, None]
    assert reducibility(matrix) == least
    assert is_k_irreducible(as_rows(matrix), least - 1)
    assert not is_k_irreducible(as_rows(matrix), least)


def test_cost_is_limited_and_said() -> None:
    with pytest.raises(CostExceeded, match="more than 10 sub-classes"):
        reducibility(points(20), subclasses_max=10)
    with pytest.raises(CostExceeded, match="not searched beyond 300 points"):
        reducibility(points(350))


def test_negative_k_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0, not -1"):
        is_irreducible(points(3), -1)
