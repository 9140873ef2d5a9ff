"""Words, the arrays that are points, and texts that several rules share."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled_protocol.rules import (
    PointsRule,
    PrefixRule,
    RuleError,
    StumpRule,
    ThresholdRule,
    Words,
)
from littled_protocol.rules.base import listed, masked_equal, shifted, shown_date


def test_words_shift_name_and_label() -> None:
    words = Words("delay", "min", -30, "late", "on time")
    assert words.value(54) == "24 min"
    assert (words.label(1), words.label(0)) == ("late", "on time")
    assert PointsRule(8, (30, 31)).describe(words) == "late if delay is 0 min or 1 min"
    assert PrefixRule(8, 1, 4).describe(words) == "late if delay in -14 min..1 min"
    assert ThresholdRule(4, 1).describe(Words()) == "1 if x >= 1"


def test_words_name_the_point_itself() -> None:
    assert Words("x").number("u8") == "x"
    assert Words("x", offset=5).number("u8") == "(x - 5)"
    assert Words("x", offset=-5).number("u64") == "(x + 5)"
    # Points of 128 bits have no offset.
    assert Words("x", offset=5).number("u128") == "x"


@pytest.mark.parametrize(
    "wrong",
    [{"x_name": "a\nb"}, {"unit": 1}, {"offset": 1.0}, {"positive": "\x00"}, {"offset": True}],
)
def test_words_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="words need"):
        Words(**wrong)


def test_words_are_written_and_read_as_maps() -> None:
    words = Words("delay", "min", -30, "late", "on time")
    written = {
        "x_name": "delay",
        "unit": "min",
        "offset": -30,
        "positive": "late",
        "negative": "on time",
    }
    assert words.to_dict() == written
    assert list(words.to_dict()) == list(written)  # the bytes of plans follow from the order
    assert Words.from_dict(written) == words
    assert Words.from_dict({}) == Words()
    assert Words.from_dict({"offset": 4}) == Words(offset=4)


def test_lists_and_differences_as_texts() -> None:
    assert listed(["a"], "or") == "a"
    assert listed(["a", "b"], "or") == "a or b"
    assert listed(["a", "b", "c"], "and") == "a, b and c"
    assert (shifted("x", 0), shifted("x", 3), shifted("x", -3)) == ("x", "(x - 3)", "(x + 3)")


def test_arrays_of_other_integers_are_converted_when_they_fit() -> None:
    rule = ThresholdRule(256, 54)
    assert rule.evaluate(np.array([53, 54, 255])).tolist() == [0, 1, 1]
    assert rule.evaluate(np.array([53, 54], dtype=np.uint64)).tolist() == [0, 1]
    assert rule.evaluate(np.array([], dtype=np.float64)).tolist() == []
    pairs = np.array([[0, 1], [1, 0]])
    assert PointsRule(128, (1,)).evaluate(pairs).tolist() == [1, 0]
    rows = np.array([[0, 7], [7, 0]])
    assert StumpRule(2, 8, 1, 7, True).evaluate(rows).tolist() == [1, 0]


@pytest.mark.parametrize(
    "x",
    [
        np.array([256]),
        np.array([-1]),
        np.array([1.0]),
        np.array([True]),
        np.array(["1"]),
        np.zeros((2, 2), dtype=np.uint8),
        np.zeros((), dtype=np.uint8),
    ],
)
def test_arrays_of_anything_else_are_refused(x: NDArray[Any]) -> None:
    with pytest.raises(RuleError, match="points of type u8 need"):
        ThresholdRule(256, 54).evaluate(x)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 3), (2, 2, 2), ()])
def test_wide_points_need_two_columns(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuleError, match=r"points of type u128 need an array \(n, 2\)"):
        PrefixRule(128, 1, 1).evaluate(np.zeros(shape, dtype=np.uint64))


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 4), (2, 3, 3), ()])
def test_rows_need_their_number_of_features(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuleError, match=r"points of type u16x3 need an array \(n, 3\)"):
        StumpRule(3, 8, 1, 1, True).evaluate(np.zeros(shape, dtype=np.uint16))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_masked_bits_are_compared(kind: type[np.unsignedinteger[Any]]) -> None:
    points: NDArray[Any] = np.arange(256).astype(kind)
    found = masked_equal(points, 0b1010, 0b0010).tolist()
    assert found == [x & 0b1010 == 0b0010 for x in range(256)]


def test_masked_bits_are_compared_in_both_words() -> None:
    points = np.array([[h, low] for h in range(4) for low in range(4)], dtype=np.uint64)
    numbers = [(int(h) << 64) + int(low) for h, low in points]
    for mask in (0, 1, 1 << 64, (1 << 64) + 2, (3 << 64) + 3):
        for value in {number & mask for number in numbers}:
            expected = [number & mask == value for number in numbers]
            assert masked_equal(points, mask, value).tolist() == expected


@given(st.integers(0, 2932896))
def test_dates_are_those_of_the_calendar(days: int) -> None:
    assert shown_date(days) == (date(1970, 1, 1) + timedelta(days)).isoformat()


@pytest.mark.parametrize(
    ("unit", "point", "shown"),
    [
        ("unix s", 0, "1970-01-01 00:00:00 UTC"),
        ("unix s", 951_826_799, "2000-02-29 12:19:59 UTC"),
        ("unix ms", 1_709_251_200_007, "2024-03-01 00:00:00.007 UTC"),
        ("unix us", 1, "1970-01-01 00:00:00.000001 UTC"),
        ("unix ns", 2**64 - 1, "2554-07-21 23:34:33.709551615 UTC"),
        ("unix s", 253_402_300_799, "9999-12-31 23:59:59 UTC"),
        ("unix s", 253_402_300_800, "253402300800 unix s"),
        ("s", 5, "5 s"),
    ],
)
def test_units_that_count_from_1970_are_shown_as_times(unit: str, point: int, shown: str) -> None:
    assert Words("time", unit).value(point) == shown
    assert Words("time", unit, offset=-7).value(point + 7) == shown
