"""Columns that grow: each value keeps its own, whoever adds to which."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from littled.learners.leader.columns import FIRST_COLUMNS, Columns


def column(number: int) -> Any:
    return np.array([number, -number, 7], dtype=np.int64)


@given(parents=st.lists(st.integers(0, 1 << 20), max_size=150))
def test_values_keep_their_columns_whoever_adds_to_them(parents: list[int]) -> None:
    """Any tree of values: each is made of an earlier one and a column of its own."""
    values, expected = [Columns(3)], [list[int]()]
    for number, choice in enumerate(parents):
        # mostly the newest one, so that rooms are shared, fill up and are copied
        parent = len(values) - 1 if choice % 4 else choice % len(values)
        values.append(values[parent].plus(column(number)))
        expected.append([*expected[parent], number])
    for value, numbers in zip(values, expected, strict=True):
        assert value.count == len(numbers)
        assert value.cells.tolist() == [[*numbers], [-n for n in numbers], [7 for _ in numbers]]


def test_the_last_columns_are_kept_where_there_is_a_limit() -> None:
    value, values = Columns(3), []
    for number in range(4 * FIRST_COLUMNS):
        value = value.plus(column(number), 5)
        values.append(value)
    for number, each in enumerate(values):
        kept = list(range(max(0, number - 4), number + 1))
        assert (each.count, each.cells[0].tolist()) == (len(kept), kept)
    other = values[10].plus(column(99), 5)  # a second child of a value in the middle
    assert other.cells[0].tolist() == [7, 8, 9, 10, 99]
    assert values[11].cells[0].tolist() == [7, 8, 9, 10, 11]


def test_many_columns_have_room() -> None:
    value = Columns(3)
    for number in range(5 * FIRST_COLUMNS):
        value = value.plus(column(number))
    assert value.cells[0].tolist() == list(range(5 * FIRST_COLUMNS))


def test_columns_are_made_of_a_matrix_and_do_not_share_it() -> None:
    matrix = np.arange(12, dtype=np.int64).reshape(3, 4)
    value = Columns(3, matrix)
    matrix[:] = 0
    assert value.count == 4
    assert value.plus(column(9)).cells.tolist() == [
        [0, 1, 2, 3, 9], [4, 5, 6, 7, -9], [8, 9, 10, 11, 7],
    ]  # fmt: skip
