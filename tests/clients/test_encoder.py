"""Tables of every kind through the one encoder: the same points and labels, or one sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client import Encoder, ExampleError, hash_users, points_of
from littled_client.conversions import BadRow
from littled_client.encoder import labels_of
from littled_protocol.encodings import Column, Reading, TableSchema, column_from_dict
from support.batches import pair
from support.tables import (
    AMOUNT,
    CARD,
    CLOSED,
    COLUMNS,
    GRADE,
    INCOME,
    OPENED,
    OWNER,
    SCORE,
    cells_of,
    numbers_by_hand,
)

TABLE: dict[str, list[Any]] = {
    "income": [0.0, 3125.0, 99999.5],
    "note": ["not", "looked", "at"],
    "amount": [None, 1000.0, 2.5],
    "grade": ["A", "Z", "D"],
    "opened": [
        datetime.datetime(2024, 7, 1, 23, 30),
        datetime.datetime(2024, 12, 31, 23, 59, 59),
        datetime.datetime(2024, 2, 29, 12),
    ],
    "card": [17, 18, 17],
    "defaulted": ["yes", "no", "no"],
}
READ = (INCOME, AMOUNT, GRADE, OPENED, CARD)


def schema(*columns: Column, **more: Any) -> TableSchema:
    """A schema whose labels are yes and no."""
    return TableSchema(columns, "defaulted", "yes", "no", **more)


class Capsule:
    """A table that is known by Arrow's interface alone."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def tables() -> dict[str, Any]:
    """The same table as every kind that the encoder takes."""
    arrow = pyarrow.table(TABLE)
    return {
        "columns": TABLE,
        "arrays": {name: np.array(cells) for name, cells in TABLE.items()},
        "tuples": {name: tuple(cells) for name, cells in TABLE.items()},
        "rows": [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)],
        "pandas": pandas.DataFrame(TABLE),
        "categorical": pandas.DataFrame(TABLE).astype({"grade": "category"}),
        "polars": polars.DataFrame(TABLE),
        "arrow": arrow,
        "capsule": Capsule(arrow),
        "structured": np.array(
            list(zip(*TABLE.values(), strict=True)), dtype=[(name, object) for name in TABLE]
        ),
    }


@pytest.mark.parametrize("name", list(tables()))
def test_the_same_table_has_the_same_points_and_labels(name: str) -> None:
    encoder = Encoder(schema(*READ))
    x, y = pair(encoder.examples(tables()[name]))
    expected = [
        [number for column in READ for number in numbers_by_hand(column, TABLE[column.name][row])]
        for row in range(3)
    ]
    assert x.dtype == np.uint16
    assert x.tolist() == expected
    assert y.dtype == np.uint8
    assert y.tolist() == [1, 0, 0]
    assert encoder.x_type == f"u16x{len(expected[0])}"


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_times_with_a_zone_are_put_into_the_zone_of_the_column(library: Any) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=-3))
    times = [datetime.datetime(2024, 6, 30, 19, 30, tzinfo=zone), None]
    frame = library({"opened": times[:1], "closed": times[:1]})
    reading = Reading((OPENED,), "row")
    assert points_of(frame, reading).tolist() == [[6, 0, 0]]
    assert points_of(frame, Reading((CLOSED,), "row")).tolist() == [[30, 31]]


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_empty_cells_of_frames_are_missing(library: Any) -> None:
    when = datetime.datetime(2024, 1, 31, 5, 7)
    frame = library({"amount": [1, None], "owner's home": ["own", None], "closed": [when, None]})
    x = points_of(frame, Reading((AMOUNT, OWNER, CLOSED), "row"))
    assert x.tolist() == [[1, 2, 31, 8], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    "cells",
    [
        pandas.Series(["A", None, "Z"], dtype="string"),
        pandas.Series(["A", None, "Z"], dtype="category"),
        pandas.Series(["A", pandas.NA, "Z"], dtype="object"),
        polars.Series(["A", None, "Z"], dtype=polars.Enum(["Z", "A"])),
        polars.Series(["A", None, "Z"], dtype=polars.Categorical),
        pyarrow.array(["A", None, "Z"]).dictionary_encode(),
    ],
    ids=["string", "category", "object", "Enum", "Categorical", "dictionary"],
)
def test_texts_of_frames_that_are_missing_are_no_words(cells: Any) -> None:
    graded = column_from_dict({**GRADE.to_dict(), "missing": "bucket"})
    library: Any = {"pandas": pandas.DataFrame, "polars": polars.DataFrame}.get(
        type(cells).__module__.partition(".")[0], pyarrow.table
    )
    for table in ({"grade": cells}, library({"grade": cells})):
        assert points_of(table, Reading((graded,), "value")).tolist() == [1, 0, 5]


@pytest.mark.parametrize(
    "cells",
    [
        pandas.Series([1, None, 3], dtype="Int64"),
        pandas.Series([1.0, None, 3.0], dtype="Float32"),
        pandas.Series([1, pandas.NA, Decimal(3)], dtype="object"),
        polars.Series([1, None, 3], dtype=polars.Int128),
        polars.Series([1, None, 3], dtype=polars.Float32),
        pyarrow.array([1, None, 3]),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
    ],
    ids=["Int64", "Float32", "object", "Int128", "polars Float32", "Arrow", "masked"],
)
def test_numbers_that_are_missing_in_columns_of_every_kind(cells: Any) -> None:
    counted = column_from_dict({"kind": "number", "name": "n", "edges": [2], "missing": "bucket"})
    assert points_of({"n": cells}, Reading((counted,), "value")).tolist() == [1, 0, 2]
    if isinstance(cells, pandas.Series | polars.Series):
        frame = cells.rename("n").to_frame()
        assert points_of(frame, Reading((counted,), "value")).tolist() == [1, 0, 2]


def test_one_number_is_no_row() -> None:
    table = {"score": [0, 1], "defaulted": ["no", "yes"]}
    x, _ = pair(Encoder(schema(SCORE)).examples(table))
    assert x.dtype == np.uint8
    assert x.tolist() == [1, 2]
    x, _ = pair(Encoder(schema(CARD)).examples({"card": ["x"], "defaulted": ["no"]}))
    assert x.shape == (1, 4)


@given(data=st.data())
def test_a_view_of_the_row_is_what_a_rule_reads(data: st.DataObject) -> None:
    columns = tuple(data.draw(st.permutations(COLUMNS)))[: data.draw(st.integers(1, len(COLUMNS)))]
    bucketed = [column for column in columns if column.features]
    readings = [Reading((column,), "number") for column in columns if not column.features]
    features = [len(column.features) for column in bucketed]
    if sum(features) > 1:
        readings.append(Reading(tuple(bucketed), "row"))
    readings += [Reading((column,), "bits") for column in bucketed]
    readings += [Reading((column,), "cell") for column in bucketed]
    readings += [
        Reading((c,), "value") for c, count in zip(bucketed, features, strict=True) if count == 1
    ]
    table = {c.name: data.draw(st.lists(cells_of(c), min_size=3, max_size=3)) for c in columns}
    encoder = Encoder(schema(*columns))
    stream, _ = pair(encoder.examples({**table, "defaulted": [0, 1, True]}))
    for reading in readings:
        seen = reading.view(columns)(stream)
        read = points_of(table, reading)
        assert seen.dtype == read.dtype
        assert seen.tolist() == read.tolist()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["yes", "no", " yes ", "no"], [1, 0, 1, 0]),
        (["1", "0", 1, 0], [1, 0, 1, 0]),
        ([True, False, "true", "false"], [1, 0, 1, 0]),
        (np.array([1, 0], dtype=np.int64), [1, 0]),
        (np.array(["yes", "no"], dtype=object), [1, 0]),
    ],
)
def test_labels(cells: Any, labels: list[int]) -> None:
    assert labels_of(schema(INCOME), cells).tolist() == labels


def test_words_for_labels_come_before_their_usual_spelling() -> None:
    turned = TableSchema((INCOME,), "y", positive="0", negative="1")
    assert labels_of(turned, ["0", "1", 0]).tolist() == [1, 0, 1]
    counted = TableSchema((INCOME,), "y", positive="2", negative="1")
    assert labels_of(counted, [2, 1, 2.0, "2"]).tolist() == [1, 0, 1, 1]


def test_a_usual_spelling_that_would_say_the_opposite_is_no_label() -> None:
    turned = TableSchema((INCOME,), "y", positive="False", negative="True")
    cells = [False, "FALSE", True, "true"]
    assert labels_of(turned, cells).tolist() == [1, 1, 0, 0]
    assert labels_of(turned, np.array([False, True])).tolist() == [1, 0]
    with pytest.raises(BadRow, match="holds a label other than 'False' and 'True'"):
        labels_of(turned, [0])
    survived = TableSchema((INCOME,), "y", positive="0", negative="lost")
    with pytest.raises(BadRow, match="holds a label other than '0' and 'lost'"):
        labels_of(survived, [True])


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("secret", "holds a label other than 'yes' and 'no'"),
        ("Yes", "holds a label other than 'yes' and 'no'"),
        (2, "holds a label other than"),
        ("", "is empty"),
        (None, "is empty"),
        ([1], "holds a label other than"),
    ],
)
def test_cells_that_are_no_label(cell: Any, sentence: str) -> None:
    with pytest.raises(BadRow) as raised:
        labels_of(schema(INCOME), ["yes", cell])
    assert raised.value.index == 1
    assert raised.value.reason.startswith(f"column 'defaulted' {sentence}")
    assert "secret" not in raised.value.reason


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({**TABLE, "income": [1, 2, "secret"]}, "row 3: column 'income' does not hold a number"),
        (
            {**TABLE, "defaulted": ["yes", "secret", "no"]},
            "row 2: column 'defaulted' holds a label",
        ),
        ({**TABLE, "grade": ["A"]}, "the columns of the table need the same length"),
        ({"income": [1]}, "the table has no column 'amount'"),
        ({**TABLE, "income": 5}, "column 'income' of a table needs a list or an array"),
        ({**TABLE, "income": {1, 2, 3}}, "column 'income' of a table needs a list or an array"),
        ({**TABLE, "income": {1: 2}}, "column 'income' of a table needs a list or an array"),
        ({**TABLE, "income": np.zeros((3, 2))}, "column 'income' has 2 dimensions, and a column"),
        ({**TABLE, "income": np.array(5)}, "column 'income' has 0 dimensions, and a column"),
        (np.zeros((2, 2), [("income", "f8")]), "column 'income' has 2 dimensions"),
        ([{"income": 1}, 2], "rows of a table need to be dicts"),
        ([{"income": 1}, {}], "row 2 has no column 'income'"),
        ("secret", "a table is a frame of pandas, polars or Arrow"),
        (5, "a table is a frame of pandas, polars or Arrow"),
        (pandas.DataFrame({"income": [1]}), "the table has no column 'amount'"),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), "a frame need different names"),
        (pandas.Series([1], name="income"), "a table is a frame of pandas, polars or Arrow"),
        (polars.LazyFrame({"income": [1]}), r"that has no rows yet; give what .collect\(\) ret"),
    ],
)
def test_tables_that_cannot_be_read(table: Any, sentence: str) -> None:
    with pytest.raises(ExampleError, match=sentence) as raised:
        Encoder(schema(*READ)).examples(table)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_long_whole_numbers_are_ids_beside_what_is_missing(library: Any) -> None:
    """Floats, which such columns become elsewhere, have no place for all their digits."""
    cells: Any = [2**53 + 1, None]
    if library is pandas.DataFrame:
        cells = pandas.Series(cells, dtype="Int64")
    frame = library({"card": cells})
    with pytest.raises(ExampleError, match="row 2: column 'card' is empty, and ids cannot be"):
        points_of(frame, Reading((CARD,), "number"))
    graded = column_from_dict(
        {"kind": "category", "name": "card", "values": [str(2**53 + 1)], "missing": "bucket"}
    )
    assert points_of(frame, Reading((graded,), "value")).tolist() == [1, 0]


def test_rows_may_come_from_a_generator() -> None:
    rows = ({"score": score, "defaulted": label} for score, label in ((0, "no"), (1, "yes")))
    x, y = pair(Encoder(schema(SCORE)).examples(rows))
    assert (x.tolist(), y.tolist()) == ([1, 2], [0, 1])


def test_users_are_digests() -> None:
    table = {**TABLE, "who": ["ann", 17, "ann"]}
    *rest, users = Encoder(schema(*READ, user="who")).examples(table)
    assert [len(part) for part in rest] == [3, 3]
    assert users.tolist() == hash_users(["ann", 17, "ann"]).tolist()
    with pytest.raises(ExampleError, match="row 2: column 'who' holds no user"):
        Encoder(schema(*READ, user="who")).examples({**table, "who": ["ann", None, "bob"]})
