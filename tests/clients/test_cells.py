"""Cells of columns: one number however a value is written, and a sentence for those without."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.cells import rows_of
from littled_client.conversions import BadRow
from littled_protocol.encodings import Column, column_from_dict
from support.tables import (
    ADDRESS,
    AMOUNT,
    CARD,
    CLOSED,
    COLUMNS,
    GRADE,
    HOST,
    INCOME,
    OPENED,
    OWNER,
    SCORE,
    cells_of,
    numbers_by_hand,
)

DIGITS = column_from_dict({"kind": "category", "name": "digits", "values": ["1", "2.0"]})
TRUTHS = column_from_dict({"kind": "category", "name": "truths", "values": ["True", "False"]})
GRADED = column_from_dict({**GRADE.to_dict(), "missing": "bucket"})
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # numpy wants one from 2.5 on
    NO_UNIT = np.datetime64("NaT")


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@given(data=st.data())
def test_numbers_are_those_made_by_hand(column: Column, data: st.DataObject) -> None:
    cells = data.draw(st.lists(cells_of(column), min_size=1, max_size=8))
    expected = [numbers_by_hand(column, cell) for cell in cells]
    assert rows_of(column, cells).tolist() == expected
    texts = ["NA" if cell is None else str(cell) for cell in cells]
    assert rows_of(column, texts).tolist() == expected
    # Beside a cell that needs a closer look, all are looked at one by one.
    if column not in (CARD, ADDRESS, HOST):
        odd: Any = {INCOME: Decimal(5), GRADE: 3}.get(column, cells[0])
        mixed = [odd, *cells]
        assert rows_of(column, mixed).tolist()[1:] == expected


@pytest.mark.parametrize(
    ("column", "same"),
    [
        (INCOME, ["3125", " 3125 ", "3125.0", "3.125e3", 3125, 3125.0, Decimal(3125)]),
        (AMOUNT, ["", "NA", " NaN ", "null", None, float("nan")]),
        (GRADE, ["C", " C ", "C "]),
        (DIGITS, ["1", 1, 1.0, "1.0", np.float32(1)]),
        (TRUTHS, ["true", "True", "TRUE", True, np.bool_(True)]),
        (GRADED, [None, float("nan"), pandas.NA, pandas.NaT, Decimal("NaN"), np.float32("nan")]),
        (
            OPENED,
            [
                *["2024-06-30T22:30:00Z", "2024-07-01 00:30", "2024-07-01T00:30:00+02:00"],
                datetime.datetime(2024, 7, 1, 0, 30),
                datetime.datetime(2024, 6, 30, 22, 30, tzinfo=datetime.UTC),
                np.datetime64("2024-07-01T00:30"),
            ],
        ),
        (CLOSED, ["", None, pandas.NaT, np.datetime64("NaT", "s"), NO_UNIT]),
        (CARD, ["17", 17, 17.0, np.int64(17), Decimal(17), Decimal("17.00")]),
        (CARD, [str(UUID(int=5)), UUID(int=5)]),
        (ADDRESS, ["1.2.3.4", "::ffff:1.2.3.4", "00000000000000000000ffff01020304"]),
        (ADDRESS, ["2001::1", "20010000000000000000000000000001"]),
        (HOST, ["1.2.3.4", 0x01020304, str(0x01020304)]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_values_that_are_the_same(column: Column, same: list[Any]) -> None:
    rows = {tuple(rows_of(column, [cell])[0]) for cell in same}
    assert len(rows) == 1
    assert {tuple(row) for row in rows_of(column, same).tolist()} == {
        tuple(int(number) for number in row) for row in rows
    }


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "float32", "float64"])
def test_arrays_of_numbers(dtype: str) -> None:
    values = np.array([0, 1, 3, 4, 200], dtype=dtype)
    assert rows_of(SCORE, values).ravel().tolist() == [1, 2, 3, 3, 3]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_fewer_bits_are_what_a_file_of_them_says(dtype: str) -> None:
    tenths = column_from_dict({"kind": "number", "name": "n", "from": 0, "to": 1, "steps": 10})
    values = np.arange(11).astype(dtype) / np.array(10, dtype)
    written = [str(value) for value in values]
    assert written[:3] == ["0.0", "0.1", "0.2"]
    expected = [*range(10), 9]
    assert rows_of(tenths, values).ravel().tolist() == expected
    assert rows_of(tenths, written).ravel().tolist() == expected
    strict = column_from_dict({**tenths.to_dict(), "from": "0.7", "outside": "refuse"})
    assert rows_of(strict, values[7:]).shape == (4, 1)


def test_a_truth_value_or_number_with_words_of_its_own() -> None:
    """Spellings that a category lists are different values, as somebody meant them to be."""
    column = column_from_dict({"kind": "category", "name": "n", "values": ["true", "True", "1.0"]})
    cells = ["true", "True", "TRUE", True, "1", 1, 1.0, "1.00", "01", "on"]
    assert rows_of(column, cells).ravel().tolist() == [0, 1, 0, 0, 2, 2, 2, 3, 3, 3]


def test_arrays_with_what_is_missing() -> None:
    assert rows_of(AMOUNT, np.array([np.nan, 1.0, 10.0])).ravel().tolist() == [0, 1, 2]
    times = np.array(["NaT", "2024-02-29T12:59"], dtype="datetime64[m]")
    assert rows_of(CLOSED, times).tolist() == [[0, 0], [29, 60]]
    beyond = np.array(["2024-02-29", "10000-01-01"], dtype="datetime64[D]")
    with pytest.raises(BadRow, match="'closed' does not hold a time such as"):
        rows_of(CLOSED, beyond)


@pytest.mark.parametrize(
    ("column", "cell", "sentence"),
    [
        (INCOME, "", "is empty, and its missing values are refused"),
        (INCOME, "secret", "does not hold a number"),
        (INCOME, "1_0", "does not hold a number"),
        (INCOME, "inf", "does not hold a number"),
        (INCOME, "-nan", "does not hold a number"),
        (INCOME, "٣", "does not hold a number"),
        (INCOME, True, "does not hold a number"),
        (INCOME, 10**400, "does not hold a number"),
        (INCOME, float("inf"), "does not hold a number"),
        (INCOME, [1], "does not hold a number"),
        (GRADE, None, "is empty, and its missing values are refused"),
        (OWNER, "secret", "holds none of its values"),
        (OPENED, "secret", "does not hold a time such as"),
        (OPENED, "2024-13-01", "does not hold a time such as"),
        (OPENED, "2024-05-01T13:4500", "does not hold a time such as"),
        (OPENED, "2024-05-01T13:45:0000", "does not hold a time such as"),
        (OPENED, 20240101, "does not hold a time such as"),
        (OPENED, "1746100000", "does not hold a time such as"),
        (OPENED, "2026050113", "does not hold a time such as"),
        (OPENED, "0000-01-01", "does not hold a time such as"),
        (OPENED, "10000-01-01", "does not hold a time such as"),
        (OPENED, "9999-12-31T23:59:59Z", "does not hold a time such as"),
        (OPENED, np.datetime64("20000-01-01"), "does not hold a time such as"),
        (OPENED, None, "is empty, and its missing values are refused"),
        (OPENED, pandas.NaT, "is empty, and its missing values are refused"),
        (GRADE, pandas.NA, "is empty, and its missing values are refused"),
        (GRADE, b"A", "does not hold a text, a number or a truth value"),
        (GRADE, {"secret": 1}, "does not hold a text, a number or a truth value"),
        (GRADE, {"secret"}, "does not hold a text, a number or a truth value"),
        (CARD, "", "is empty, and ids cannot be missing"),
        (CARD, 1.5, "does not hold an id"),
        (CARD, Decimal("1.5"), "does not hold an id"),
        (CARD, Decimal("Infinity"), "does not hold an id"),
        (CARD, True, "does not hold an id"),
        (ADDRESS, "1.2.3", "does not hold an address"),
        (ADDRESS, "NA", "is empty, and addresses cannot be missing"),
        (HOST, "::1", "does not hold an IPv4 address"),
        (HOST, 2**32, "does not hold an IPv4 address"),
        (HOST, 1.0, "does not hold an IPv4 address"),
    ],
)
def test_cells_that_have_no_number(column: Column, cell: Any, sentence: str) -> None:
    good: dict[Column, Any] = {INCOME: 1, GRADE: "A", OWNER: "own", OPENED: "2024-01-01", CARD: "x"}
    before = good.get(column, "1.2.3.4")
    with pytest.raises(BadRow) as raised:
        rows_of(column, [before, before, cell, before])
    assert raised.value.index == 2
    assert raised.value.reason.startswith(f"column {column.name!r} {sentence}")
    assert "secret" not in raised.value.reason


def test_numbers_outside_are_clipped_or_refused() -> None:
    assert rows_of(INCOME, [-5, 10**9]).ravel().tolist() == [0, 63]
    strict = column_from_dict({**INCOME.to_dict(), "outside": "refuse"})
    assert rows_of(strict, [0, 200_000]).ravel().tolist() == [0, 63]
    for cell, sentence in ((-1, "is below its least value, 0"), (200_001, "is above its greatest")):
        with pytest.raises(BadRow, match=sentence):
            rows_of(strict, [0, cell])


def test_no_cells() -> None:
    for column in COLUMNS:
        assert rows_of(column, []).shape == (0, column.words)
