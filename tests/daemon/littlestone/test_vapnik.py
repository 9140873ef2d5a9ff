"""Vapnik-Chervonenkis dimensions against all sets of points, and what bounds them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from littled.littlestone import (
    CostExceeded,
    dual_vapnik_chervonenkis_dimension,
    littlestone_dimension,
    vapnik_chervonenkis_dimension,
)
from support.littlestone import (
    Matrix,
    all_functions,
    as_rows,
    classes,
    parities,
    points,
    sparse_sets,
    thresholds,
)


def by_definition(matrix: Matrix) -> int:
    """The largest set of points on which all labels occur."""
    return max(
        (
            size
            for size in range(matrix.shape[1] + 1)
            for chosen in combinations(range(matrix.shape[1]), size)
            if len(as_rows(matrix[:, chosen])) == 2**size
        ),
        default=-1,
    )


@given(classes(points_max=6, rows_max=9))
def test_dimensions_equal_the_definition(matrix: Matrix) -> None:
    assert vapnik_chervonenkis_dimension(matrix) == by_definition(matrix)
    assert dual_vapnik_chervonenkis_dimension(matrix) == by_definition(matrix.T)


@given(classes(points_max=6, rows_max=16))
def test_the_dimensions_bound_each_other(matrix: Matrix) -> None:
    plain = vapnik_chervonenkis_dimension(matrix)
    dual = dual_vapnik_chervonenkis_dimension(matrix)
    assert plain <= littlestone_dimension(matrix)  # Lyu, section 4, "Notation"
    assert dual < 2 ** (plain + 1)  # Assouad 1983
    assert plain < 2 ** (dual + 1)


@pytest.mark.parametrize(
    ("matrix", "plain", "dual"),
    [
        (thresholds(30), 1, 1),
        (points(30), 1, 1),
        (sparse_sets(8, 2), 2, 2),
        (all_functions(4), 4, 2),
        (parities(4), 4, 4),
        (np.ones((3, 2), dtype=bool), 0, 0),
        (np.zeros((0, 2), dtype=bool), -1, 0),
        (np.zeros((2, 0), dtype=bool), 0, -1),
    ],
)
def test_known_dimensions(matrix: Matrix, plain: int, dual: int) -> None:
    assert vapnik_chervonenkis_dimension(matrix) == plain
    assert dual_vapnik_chervonenkis_dimension(matrix) == dual


def test_cost_is_limited_and_said() -> None:
    for function in (vapnik_chervonenkis_dimension, dual_vapnik_chervonenkis_dimension):
        with pytest.raises(CostExceeded, match="more than 5 sub-classes"):
            function(parities(4), subclasses_max=5)
