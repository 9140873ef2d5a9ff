"""Schemas of tables: the columns of a stream together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from littled_protocol.encodings import EncodingError, IdColumn, TableSchema, chosen_columns
from support.tables import ADDRESS, CARD, COLUMNS, GRADE, INCOME, OWNER


@pytest.mark.parametrize(
    ("columns", "x_type"),
    [((INCOME,), "u8"), ((CARD,), "u16x4"), ((INCOME, GRADE), "u16x2"), (COLUMNS, "u16x24")],
)
def test_types_and_maps(columns: Any, x_type: str) -> None:
    for more in ({}, {"user": "who"}):
        schema = TableSchema(columns, "y", "yes", "no", **more)
        assert schema.x_type == x_type
        assert TableSchema.from_dict(schema.to_dict()) == schema


def test_only_numbers_of_the_columns_are_inside() -> None:
    schema = TableSchema((INCOME, GRADE, CARD), "y")
    inside = np.array([[63, 4, 65535, 0, 1, 2]], dtype=np.uint16)
    assert schema.contains(inside)
    for place in (0, 1):
        outside = inside.copy()
        outside[0, place] += 1
        assert not schema.contains(outside)
    assert TableSchema((INCOME,), "y").contains(np.array([0, 63], dtype=np.uint8))
    assert not TableSchema((INCOME,), "y").contains(np.array([0, 64], dtype=np.uint8))


@pytest.mark.parametrize(
    ("columns", "more", "sentence"),
    [
        ((), {}, "columns must be different from each other and from the label"),
        ((GRADE, GRADE), {}, "columns must be different from each other"),
        ((GRADE,), {"label": "grade"}, "columns must be different from each other"),
        ((GRADE,), {"user": "y"}, "columns must be different from each other"),
        ((GRADE,), {"positive": "0"}, "label must name the labels 1 and 0 differently"),
    ],
)
def test_schemas_that_cannot_be(columns: Any, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EncodingError, match=sentence):
        TableSchema(columns, **{"label": "y", **more})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"columns": 5, "label": "y"}, "columns must be a list"),
        ({"columns": [GRADE.to_dict()]}, "label must be a text"),
        ({"columns": [GRADE.to_dict()], "label": "y", "user": 5}, "user must be a text"),
        ({"columns": [GRADE.to_dict()], "labels": "y"}, "labels is not a known key; did you mean"),
    ],
)
def test_maps_that_are_none(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EncodingError, match=sentence):
        TableSchema.from_dict(values)


def test_columns_are_chosen_in_the_order_of_their_names() -> None:
    assert chosen_columns((INCOME, GRADE, OWNER), ["grade", "income"]) == (GRADE, INCOME)
    with pytest.raises(EncodingError, match="columns must be among income, address"):
        chosen_columns((INCOME, ADDRESS), ["card"])


def test_a_row_has_an_end() -> None:
    many = tuple(IdColumn(f"id {number}", 64) for number in range(257))
    assert TableSchema(many[:256], "y").x_type == "u16x1024"
    with pytest.raises(EncodingError, match="columns are too many for one row"):
        TableSchema(many, "y")
