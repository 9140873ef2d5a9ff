"""Littlestone dimension and SOA against a direct recursion over the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.littlestone import (
    CostExceeded,
    littlestone_dimension,
    standard_optimal_algorithm,
)


def by_definition(rows: frozenset[tuple[bool, ...]]) -> int:
    """Deepest complete tree whose branches are all explained."""
    if len(rows) <= 1:
        return len(rows) - 1
    best = 0
    for point in range(len(next(iter(rows)))):
        ones = frozenset(row for row in rows if row[point])
        if ones and ones != rows:
            best = max(best, 1 + min(by_definition(ones), by_definition(rows - ones)))
    return best


matrices = st.integers(1, 4).flatmap(
    lambda points: st.lists(
        st.lists(st.booleans(), min_size=points, max_size=points), min_size=1, max_size=7
    )
)


@given(matrices)
def test_dimension_equals_the_definition(rows: list[list[bool]]) -> None:
    matrix = np.array(rows, dtype=bool)
    assert littlestone_dimension(matrix) == by_definition(frozenset(map(tuple, rows)))


@given(matrices)
def test_soa_is_zero_exactly_where_restricting_to_zero_keeps_the_dimension(
    rows: list[list[bool]],
) -> None:
    matrix = np.array(rows, dtype=bool)
    whole = littlestone_dimension(matrix)
    for point, answer in enumerate(standard_optimal_algorithm(matrix)):
        kept = littlestone_dimension(matrix[~matrix[:, point]]) == whole
        assert answer == (not kept)


def test_known_dimensions() -> None:
    cube = np.array([[bool(row >> bit & 1) for bit in range(3)] for row in range(8)])
    assert littlestone_dimension(cube) == 3
    assert littlestone_dimension(np.zeros((0, 3), dtype=bool)) == -1
    assert littlestone_dimension(np.ones((5, 3), dtype=bool)) == 0
    assert littlestone_dimension(np.array([[False] * 4, [True] * 4])) == 1


def test_cost_is_limited_and_said() -> None:
    cube = np.array([[bool(row >> bit & 1) for bit in range(5)] for row in range(31)])
    with pytest.raises(CostExceeded, match="more than 3 sub-classes"):
        littlestone_dimension(cube, subclasses_max=3)


def test_soa_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one hypothesis"):
        standard_optimal_algorithm(np.zeros((0, 3), dtype=bool))
