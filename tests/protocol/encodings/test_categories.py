"""Categories: a list of words, what is missing, and everything else."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.cells import rows_of
from littled_protocol.encodings import CategoryColumn, EncodingError, column_from_dict
from support.tables import GRADE, OWNER, cells_of, numbers_by_hand, true_in_sqlite

MANY = column_from_dict(
    {"kind": "category", "name": "many", "values": [f"v{i}" for i in range(30)]}
)


@pytest.mark.parametrize(
    ("column", "buckets", "sentence"),
    [
        (GRADE, [0], "grade is A"),
        (GRADE, [2, 4], "grade is C or other"),
        (GRADE, [1, 2, 3, 4], "grade is not A"),
        (GRADE, [2, 3, 4], "grade is none of A, B"),
        (OWNER, [0], "owner's home is missing"),
        (OWNER, [0, 2], "owner's home is not rent"),
        (MANY, range(10), "many is one of 10: v0, v1, v2, v3, v4, v5, v6, v7, ..."),
    ],
)
def test_sentences(column: Any, buckets: Any, sentence: str) -> None:
    (feature,) = column.features
    assert feature.condition(np.isin(np.arange(feature.size), list(buckets))) == sentence


@pytest.mark.parametrize("column", [GRADE, OWNER], ids=["grade", "owner"])
@given(data=st.data())
def test_sql_is_true_for_the_values_of_the_buckets(column: Any, data: st.DataObject) -> None:
    (feature,) = column.features
    size = feature.size
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if chosen.all() or not chosen.any():
        return
    cell = data.draw(cells_of(column))
    said = true_in_sqlite(feature.to_sql(chosen, "sqlite"), column.name, cell)
    assert said == chosen[numbers_by_hand(column, cell)[0]]


@pytest.mark.parametrize(
    ("values", "sql_type", "cells"),
    [
        (["True", "False"], "BOOLEAN", [True, False]),
        (["FALSE", "x"], "BOOLEAN", [True, False]),
        (["1", "2"], "DOUBLE", [1.0, 2.0, 3.0, 2.5]),
        (["1.0", "-2.0"], "INTEGER", [1, -2, 3]),
        (["1", "1.0"], "VARCHAR", ["1", "1.0", "01"]),
        (["true", "True"], "VARCHAR", ["true", "True", "TRUE", "tRUE"]),
    ],
)
def test_truth_values_and_numbers_of_a_database_are_those_of_frames(
    values: list[str], sql_type: str, cells: list[Any]
) -> None:
    column = column_from_dict({"kind": "category", "name": "c", "values": values})
    (feature,) = column.features
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE t (number INTEGER, c {sql_type})")
        base.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(cells)))
        for bucket in range(feature.size):
            sql = feature.to_sql(np.arange(feature.size) == bucket, "duckdb")
            found = base.execute(f"SELECT {sql} FROM t ORDER BY number").fetchall()  # noqa: S608
            expected = [numbers == [bucket] for numbers in rows_of(column, cells).tolist()]
            assert [row[0] for row in found] == expected


@pytest.mark.parametrize("column", [GRADE, OWNER, MANY], ids=["grade", "owner", "many"])
def test_a_map_and_back(column: Any) -> None:
    assert column_from_dict(column.to_dict()) == column


def test_questions() -> None:
    def flags(**keys: Any) -> list[list[bool]]:
        column = CategoryColumn("c", **keys)
        return [flag.tolist() for flag in column.features[0].flags]

    # Two buckets need one question, and "other" is the answer no to all of them.
    assert flags(values=("a", "b"), other="refuse") == [[True, False]]
    assert flags(values=("a",)) == [[True, False]]
    assert flags(values=("a",), other="refuse", missing="bucket") == [[False, True]]
    assert flags(values=("a", "b")) == [[True, False, False], [False, True, False]]
    assert len(flags(values=("a", "b"), missing="bucket")) == 3


@pytest.mark.parametrize(
    ("keys", "key", "sentence"),
    [
        ({}, "values", "must be a list of texts, at least one"),
        ({"values": []}, "values", "must be a list of texts, at least one"),
        ({"values": "AB"}, "values", "must be a list of texts, at least one"),
        ({"values": ["A", 1]}, "values", "must be a text of printable characters"),
        ({"values": ["A", ""]}, "values", "must not be empty"),
        ({"values": ["A", "A"]}, "values", "must be different"),
        ({"values": ["A"], "other": "refuse"}, "values", "must make 2 to 65536 buckets"),
        ({"values": ["A"], "other": "x"}, "other", 'must be "bucket" or "refuse"'),
        ({"values": ["A"], "missing": "x"}, "missing", 'must be "refuse" or "bucket"'),
        ({"values": ["A"], "value": 1}, "value", "is not a known key; did you mean values?"),
    ],
)
def test_categories_that_cannot_be(keys: dict[str, Any], key: str, sentence: str) -> None:
    with pytest.raises(EncodingError) as raised:
        column_from_dict({"kind": "category", "name": "c", **keys})
    assert (raised.value.key, raised.value.sentence[: len(sentence)]) == (key, sentence)
