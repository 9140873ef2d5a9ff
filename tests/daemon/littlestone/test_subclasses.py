"""Bit sets of rows: numbering, parts, and the count of what a search visits."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from littled.littlestone.dimension import littlestone_dimension
from littled.littlestone.subclasses import CostExceeded, SubClasses
from oracle.littlestone.subclasses import ListedSubClasses, bits_of
from support.littlestone import Matrix, as_rows, classes, dimension_of, soa_of, thresholds


@given(classes())
def test_every_bit_stands_for_the_first_of_equal_rows(matrix: Matrix) -> None:
    found = ListedSubClasses(matrix)
    assert as_rows(found.matrix_of(found.everything)) == as_rows(matrix)
    assert len(found.rows) == len(as_rows(matrix))
    for bit, row in enumerate(found.rows):
        same = np.flatnonzero((matrix == matrix[row]).all(axis=1))
        assert row == same[0]
        assert found.matrix_of(1 << bit).tolist() == [matrix[row].tolist()]


@given(classes())
def test_parts_are_the_different_ways_to_divide(matrix: Matrix) -> None:
    found = SubClasses(matrix)
    for rows in range(1, found.everything + 1):
        ways = {
            frozenset({rows & ones, rows & ~ones})
            for ones in found.ones
            if 0 != rows & ones != rows
        }
        parts = found.parts(rows)
        assert {frozenset({part, rows ^ part}) for part in parts} == ways
        assert len(parts) == len(ways)
        for part in parts:
            assert found.ones[found.point_of(rows, part)] & rows in (part, rows ^ part)


@given(classes(rows_max=6))
def test_every_sub_class_gets_its_own_dimension_and_soa(matrix: Matrix) -> None:
    found = ListedSubClasses(matrix)
    for rows in range(1, found.everything + 1):
        naive = as_rows(found.matrix_of(rows))
        assert found.dimension(rows) == dimension_of(naive)
        assert found.as_rows([found.standard_optimal(rows)])[0].tolist() == list(
            map(bool, soa_of(naive))
        )
        lower, upper = found.bounds(rows)
        assert lower == dimension_of(naive) <= upper


def test_the_rows_that_shatter_a_tree_are_no_more_than_its_leaves() -> None:
    found = ListedSubClasses(thresholds(20))
    rows = found.shattering_rows(found.everything, 4)
    assert rows.bit_count() == 16
    assert found.dimension(rows) == 4


def test_members_of_a_bit_set_are_listed() -> None:
    assert list(bits_of(0b101001)) == [0, 3, 5]
    assert list(bits_of(0)) == []


def test_steps_are_counted_up_to_the_limit() -> None:
    found = SubClasses(thresholds(3), subclasses_max=5)
    found.charge(5)
    with pytest.raises(CostExceeded, match="needs more than 5 sub-classes"):
        found.charge()


def test_a_class_is_a_matrix() -> None:
    with pytest.raises(ValueError, match="not an array of 1 dimensions"):
        SubClasses(np.array([True, False]))


@pytest.mark.parametrize(
    "rows",
    [
        *([["a", "b"]], [[0, 2]], [[0.5, 1.0]], [[None, True]], [["0", "1"]], [[b"1"]]),
        *([[float("nan"), 1]], [[1j, 1]], [["0", 1]], [[Fraction(1, 2), 1]], [[0, -1]]),
        np.array([["1", 0]], dtype=object),
    ],
)
def test_a_class_says_yes_or_no(rows: Any) -> None:
    with pytest.raises(ValueError, match="matrix of True and False"):
        littlestone_dimension(rows)


def test_rows_of_a_class_have_one_length() -> None:
    rows: Any = [[0, 1], [1]]
    with pytest.raises(ValueError, match="rows of a class need the same length"):
        littlestone_dimension(rows)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [1, 0]],
        [[0.0, 1.0], [1.0, 0.0]],
        pd.DataFrame({"low": [True, False], "high": [0, 1]}),
        np.array([[False, 1], [True, 0]], dtype=object),
    ],
)
def test_a_class_may_be_written_in_ones_and_noughts(rows: Any) -> None:
    assert littlestone_dimension(rows) == 1
