"""Readings: which numbers of a row make a point, and of which form."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.columns import point_type
from littled_protocol.encodings import (
    CategoryColumn,
    EncodingError,
    IdColumn,
    NumberColumn,
    Reading,
    column_from_dict,
    flag_masks,
)
from support.tables import ADDRESS, AMOUNT, BUCKETED, CARD, GRADE, HOST, INCOME, OPENED, SCORE

WIDE = (CARD, ADDRESS, HOST, IdColumn("short", 20), IdColumn("long", 100))


def wide_numbers(points: Any) -> list[int]:
    if points.ndim == 1:
        return [int(point) for point in points]
    return [(int(high) << 64) | int(low) for high, low in points]


@pytest.mark.parametrize("column", WIDE, ids=lambda column: f"{column.bits} bits")
@given(data=st.data())
def test_wide_numbers_come_back_from_their_words(column: Any, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 2**column.bits - 1), min_size=1, max_size=5))
    rows = [[(n >> 16 * p) & 0xFFFF for p in reversed(range(column.words))] for n in numbers]
    reading = Reading((column,), "number")
    points = reading.points(np.array(rows, dtype=np.uint16))
    assert points.dtype == point_type(reading.x_type).dtype
    assert wide_numbers(points) == numbers


def small() -> Any:
    sizes = st.lists(st.integers(2, 5), min_size=1, max_size=4)
    return sizes.map(
        lambda found: tuple(
            CategoryColumn(f"c{i}", tuple(f"v{j}" for j in range(size - 1)))
            for i, size in enumerate(found)
        )
    )


@given(small())
def test_cells_number_all_rows(columns: Any) -> None:
    reading = Reading(columns, "cell")
    sizes = [feature.size for feature in reading.features]
    rows = np.array(list(product(*map(range, sizes))), dtype=np.uint16)
    assert reading.points(rows).tolist() == list(range(reading.size))
    assert reading.points(rows).dtype == point_type(reading.x_type).dtype


@given(small(), st.data())
def test_bits_are_the_answers_to_the_questions(columns: Any, data: st.DataObject) -> None:
    reading = Reading((*columns, SCORE), "bits")
    row = [data.draw(st.integers(0, feature.size - 1)) for feature in reading.features]
    expected = [bool(flag[row[reading.features.index(feature)]]) for feature, flag in reading.flags]
    (point,) = reading.points(np.array([row], dtype=np.uint16)).tolist()
    assert [bool(point >> bit & 1) for bit in range(reading.bits)] == expected
    assert reading.bits == len(reading.flags)


def test_more_than_64_bits() -> None:
    wide = NumberColumn("n", given=tuple(column_from_dict(INCOME.to_dict()).edges))  # type: ignore[attr-defined]
    reading = Reading((INCOME, wide), "bits")
    assert (reading.bits, reading.x_type) == (126, "u128")
    points = reading.points(np.array([[63, 63], [0, 1]], dtype=np.uint16))
    assert wide_numbers(points) == [2**126 - 1, 2**63]


def test_numbers_that_no_encoder_wrote_count_as_the_last_bucket() -> None:
    """Rows come from anybody; whatever is in them, a learner sees points of its class."""
    hostile = np.array([[65535, 65535]], dtype=np.uint16)
    for form, last in (("bits", [[3, 4]]), ("cell", [[3, 4]])):
        reading = Reading((SCORE, GRADE), form)  # type: ignore[arg-type]
        expected = reading.points(np.array(last, dtype=np.uint16))
        assert reading.points(hostile).tolist() == expected.tolist()
    assert Reading((SCORE,), "value").points(hostile[:, :1]).tolist() == [3]
    short = Reading((IdColumn("short", 20),), "number")
    assert short.points(hostile).tolist() == [2**20 - 1]


def test_masks_have_a_bit_for_each_question() -> None:
    assert flag_masks(SCORE.features[0]) == [0, 1, 3, 7]
    assert flag_masks(GRADE.features[0]) == [1, 2, 4, 8, 0]


@pytest.mark.parametrize(
    ("columns", "form", "x_type"),
    [
        ((INCOME,), "value", "u8"),
        (BUCKETED, "row", "u16x10"),
        ((GRADE, AMOUNT), "bits", "u16"),
        ((INCOME, GRADE), "cell", "u16"),
        ((CARD,), "number", "u64"),
        ((ADDRESS,), "number", "u128"),
        ((HOST,), "number", "u32"),
    ],
)
def test_types_and_maps(columns: Any, form: Any, x_type: str) -> None:
    reading = Reading(columns, form)
    assert reading.x_type == x_type
    assert Reading.from_dict(reading.to_dict()) == reading
    assert reading.names == tuple(column.name for column in columns)


@pytest.mark.parametrize(
    ("columns", "form", "sentence"),
    [
        ((), "row", "must be different, at least one"),
        ((GRADE, GRADE), "row", "must be different, at least one"),
        ((GRADE,), "number", "must be one column of ids or addresses"),
        ((CARD, ADDRESS), "number", "must be one column of ids or addresses"),
        ((CARD,), "value", "must be numbers, categories or times, which card is not"),
        ((GRADE, INCOME), "value", "must be one number, one category or one part of a time"),
        ((OPENED,), "value", "must be one number, one category or one part of a time"),
        ((GRADE,), "row", "must have 2 to 1024 features together"),
        ((INCOME, OPENED, NumberColumn("n", given=INCOME.edges)), "bits", "must make at most 128"),  # type: ignore[attr-defined]
        ((INCOME, OPENED, GRADE), "cell", "must make at most 524,288 cells together, not 645,120"),
    ],
)
def test_readings_that_cannot_be(columns: Any, form: Any, sentence: str) -> None:
    with pytest.raises(EncodingError) as raised:
        Reading(columns, form)
    assert raised.value.sentence.startswith(sentence)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"form": "rows", "columns": []}, "form must be one of value, row, bits, cell, number"),
        ({"form": [], "columns": []}, "form must be one of"),
        ({"form": "row", "columns": 5}, "columns must be a list of columns"),
        ({"form": "row", "columns": [5]}, "kind must be"),
        ({"form": "row", "column": []}, "column is not a known key; did you mean columns?"),
    ],
)
def test_maps_that_are_none(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EncodingError, match=sentence.replace("?", r"\?")):
        Reading.from_dict(values)


def test_a_view_takes_the_numbers_of_its_columns() -> None:
    stream = (SCORE, CARD, GRADE)
    rows = np.array([[1, 10, 11, 12, 13, 4], [3, 0, 0, 0, 7, 0]], dtype=np.uint16)
    assert Reading((GRADE, SCORE), "row").view(stream)(rows).tolist() == [[4, 1], [0, 3]]
    card = Reading((CARD,), "number").view(stream)(rows)
    assert wide_numbers(card) == [(10 << 48) | (11 << 32) | (12 << 16) | 13, 7]
    whole = Reading((SCORE, GRADE), "row").view((SCORE, GRADE))
    assert whole(rows[:, [0, 5]]).tolist() == [[1, 4], [3, 0]]
    alone = Reading((SCORE,), "value").view((SCORE,))
    assert alone(np.array([0, 3], dtype=np.uint8)).tolist() == [0, 3]
