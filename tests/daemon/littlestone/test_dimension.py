"""Littlestone dimension, SOA and restriction against direct recursion over the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.littlestone import CostExceeded, littlestone_dimension
from oracle.littlestone.dimension import restrict, standard_optimal_algorithm
from support.littlestone import (
    Matrix,
    affine_subspaces,
    all_functions,
    as_rows,
    classes,
    dimension_of,
    parities,
    points,
    restricted,
    sparse_sets,
    thresholds,
)


@given(classes(points_max=5, rows_max=10))
def test_dimension_equals_the_definition(matrix: Matrix) -> None:
    assert littlestone_dimension(matrix) == dimension_of(as_rows(matrix))


@given(classes())
def test_soa_is_zero_exactly_where_restricting_to_zero_keeps_the_dimension(matrix: Matrix) -> None:
    whole = littlestone_dimension(matrix)
    for point, answer in enumerate(standard_optimal_algorithm(matrix)):
        kept = littlestone_dimension(matrix[~matrix[:, point]]) == whole
        assert answer == (not kept)


@given(classes(), st.data())
def test_a_restriction_holds_the_consistent_rows(matrix: Matrix, data: st.DataObject) -> None:
    example = st.tuples(st.integers(0, matrix.shape[1] - 1), st.integers(0, 1))
    examples = data.draw(st.lists(example, max_size=3))
    found = restrict(matrix, examples)
    assert found.shape[1] == matrix.shape[1]
    assert as_rows(found) == restricted(as_rows(matrix), examples)


@given(classes())
def test_no_point_keeps_the_dimension_on_both_sides(matrix: Matrix) -> None:
    whole = littlestone_dimension(matrix)
    for point in range(matrix.shape[1]):
        sides = [littlestone_dimension(restrict(matrix, [(point, y)])) for y in (0, 1)]
        assert min(sides) < whole


@given(classes(), st.data())
def test_the_soa_of_what_is_left_makes_at_most_dimension_many_mistakes(
    matrix: Matrix, data: st.DataObject
) -> None:
    truth = matrix[data.draw(st.integers(0, len(matrix) - 1))]
    mistakes, left = 0, matrix
    for point in data.draw(st.lists(st.integers(0, matrix.shape[1] - 1), max_size=12)):
        mistakes += int(standard_optimal_algorithm(left)[point] != truth[point])
        left = restrict(left, [(point, int(truth[point]))])
    assert mistakes <= littlestone_dimension(matrix)


@pytest.mark.parametrize(
    ("matrix", "dimension"),
    [
        (all_functions(3), 3),
        (np.zeros((0, 3), dtype=bool), -1),
        (np.zeros((0, 0), dtype=bool), -1),
        (np.zeros((2, 0), dtype=bool), 0),
        (np.ones((5, 3), dtype=bool), 0),
        (np.array([[False] * 4, [True] * 4]), 1),
        (thresholds(6), 2),
        (thresholds(7), 3),
        (thresholds(256), 8),
        (points(40), 1),
        (sparse_sets(9, 3), 3),
        (parities(5), 5),
    ],
)
def test_known_dimensions(matrix: Matrix, dimension: int) -> None:
    assert littlestone_dimension(matrix) == dimension


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_affine_subspaces_have_one_more_than_their_dimension(dimension: int) -> None:
    # Alon et al., introduction, say the dimension itself.
    assert littlestone_dimension(affine_subspaces(3, dimension)) == dimension + 1


def test_large_random_classes_are_quick() -> None:
    # Exact halves at every level: the search visits dozens of sub-classes, not millions.
    cells = np.random.default_rng(0).random((64, 64)) < 0.5
    assert littlestone_dimension(cells, subclasses_max=2000) == 6
    assert littlestone_dimension(cells[:63], subclasses_max=2000) == 5


def test_cost_is_limited_and_said() -> None:
    with pytest.raises(CostExceeded, match="more than 3 sub-classes"):
        littlestone_dimension(all_functions(5)[:31], subclasses_max=3)


def test_soa_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one hypothesis"):
        standard_optimal_algorithm(np.zeros((0, 3), dtype=bool))


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        ((5, 0), "points 0 to 4, and 5 is none of them"),
        ((-1, 0), "points 0 to 4, and -1 is none of them"),
        ((0, 2), "a label is 0 or 1, not 2"),
    ],
)
def test_examples_that_the_class_cannot_have_are_refused(
    example: tuple[int, int], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        restrict(points(5), [example])
