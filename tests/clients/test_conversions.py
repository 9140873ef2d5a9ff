"""Columns of raw values to points and labels: every type, every refusal, never a value in words."""

import ipaddress
import math
import uuid
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.conversions import (
    BadRow,
    Converter,
    Fields,
    incomplete_rows,
    sixteen_bytes,
)
from littled_client.users import hash_users
from littled_protocol.errors import ProtocolError
from support.batches import pair, triple

CANARY = "canary"


def points(x_type: str, column: Any, **options: Any) -> list[Any]:
    fields = Fields("x", "y", **options)
    y = np.zeros(len(column), dtype=np.uint8)
    converted = Converter(x_type, fields).convert([column], y)[0]
    assert converted.dtype == Converter(x_type, fields).point_type.dtype
    result: list[Any] = converted.tolist()
    return result


def labels(column: Any, **options: Any) -> list[int]:
    x = np.zeros(len(column), dtype=np.uint8)
    converted = Converter("u8", Fields("x", "y", **options)).convert([x], column)[1]
    assert converted.dtype == np.uint8
    result: list[int] = converted.tolist()
    return result


@pytest.mark.parametrize(
    "column",
    [
        ["7", "0", "255"],
        [" 7 ", "0.0", "2.55e2"],
        ["0x07", "+0", "255"],
        [7, 0, 255],
        [7.0, 0, 255],
        [7, "0", 255.0],
        np.array([7, 0, 255], dtype=np.int16),
        np.array([7, 0, 255], dtype=np.uint64),
        np.array([7.0, 0.0, 255.0]),
    ],
)
def test_integers_in_every_spelling(column: Any) -> None:
    assert points("u8", column) == [7, 0, 255]


@pytest.mark.parametrize(
    "column",
    [
        ["1", "1.5"],
        ["1", CANARY],
        ["1", ""],
        ["1", "256"],
        ["1", "-1"],
        ["1", "1e99"],
        ["1", "inf"],
        ["1", "nan"],
        ["1", "1_0"],
        ["1", "0x1_0"],
        ["1", "1_0.0"],
        ["1", "\u0661\u0662"],  # Arabic digits
        ["1", "\uff11"],  # a full-width digit
        ["1", "9" * 5000],
        [1, True],
        [1, np.True_],
        [1, 1.5],
        [1, None],
        [1, [1]],
        [1, 2**64],
        [1, float("inf")],
        np.array([1, 256]),
        np.array([1.0, np.nan]),
        np.array([1.0, 0.5]),
        np.array([1, True], dtype=object),
    ],
)
def test_the_first_row_without_a_point_is_named_but_not_shown(column: Any) -> None:
    with pytest.raises(BadRow) as caught:
        points("u8", column)
    assert caught.value.index == 1
    assert "'x'" in caught.value.reason
    for shown in (CANARY, "256", "1.5", "1e99"):
        assert shown not in caught.value.reason
    assert caught.value.__context__ is None


@pytest.mark.parametrize("column", [[True, True], np.array([True, False])])
def test_labels_are_no_points(column: Any) -> None:
    """Who names the columns the wrong way round is told so, where labels are true and false."""
    with pytest.raises(BadRow, match=r"'x' does not hold an integer$") as caught:
        points("u8", column)
    assert caught.value.index == 0


STRANGE = [True, 1.0, 1e2, "1_0", "1.0", "1e2", "0x_1", "\u0661", "\uff11", "\u00b2", "1 0", "--1"]


@pytest.mark.parametrize("x_type", ["u8", "u16", "u32", "u64", "u128"])
@pytest.mark.parametrize("value", STRANGE)
def test_exact_points_are_integers_in_one_spelling(x_type: str, value: Any) -> None:
    converter = Converter(x_type, Fields("x", "y"), exact=True)
    assert len(converter.points([[7, " 7", "0x07", "007"]])) == 4
    for column in ([7, value], ["7", value]):
        with pytest.raises(BadRow, match=r"integer.* \(digits 0 to 9, ") as caught:
            converter.points([column])
        assert caught.value.index == 1


@pytest.mark.parametrize("value", STRANGE)
def test_exact_features_are_integers_in_one_spelling(value: Any) -> None:
    by_row = Converter("u16x2", Fields("x", "y"), exact=True)
    with pytest.raises(BadRow, match="integer") as caught:
        by_row.points([[[1, 2], [3, value]]])
    assert caught.value.index == 1
    by_column = Converter("u16x2", Fields(("a", "b"), "y"), exact=True)
    with pytest.raises(BadRow, match="'b' does not hold an integer") as caught:
        by_column.points([[1, 3], [2, value]])
    assert caught.value.index == 1


@given(
    st.lists(st.integers(-(2**70), 2**70), min_size=1),
    st.integers(-(2**63), 2**63 - 1),
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)).map(sorted),
    st.sampled_from(["u8", "u16", "u32", "u64"]),
    st.sampled_from([str, int]),
)
def test_clip_and_offset_agree_with_exact_integers(
    values: list[int], offset: int, clip: list[int], x_type: str, spelling: Any
) -> None:
    greatest = 2 ** int(x_type[1:]) - 1
    expected = [min(max(value, clip[0]), clip[1]) - offset for value in values]
    column = [spelling(value) for value in values]
    outside = [i for i, value in enumerate(expected) if not 0 <= value <= greatest]
    options: dict[str, Any] = {"offset": offset, "clip": tuple(clip)}
    if outside:
        with pytest.raises(BadRow) as caught:
            points(x_type, column, **options)
        assert caught.value.index == outside[0]
    else:
        assert points(x_type, column, **options) == expected


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.sampled_from([str, int, float]))
def test_ids_of_64_bits_stay_exact(values: list[int], spelling: Any) -> None:
    if spelling is float:
        values = [int(float(value % 2**53)) for value in values]
    assert points("u64", [spelling(value) for value in values]) == values
    assert points("u64", np.array(values, dtype=np.uint64)) == values


def test_flight_delays_become_bytes() -> None:
    delays = ["-45", "-30", "0", "24.0", "225", "1301"]
    assert points("u8", delays, offset=-30, clip=(-30, 225)) == [0, 0, 30, 54, 255, 255]


def test_addresses_become_points_of_32_or_128_bits() -> None:
    assert points("u32", ["10.0.0.1", "255.255.255.255", "7"]) == [0x0A000001, 2**32 - 1, 7]
    texts = ["10.0.0.1", "2001:db8::1", "::ffff:1.2.3.4"]
    wide = points("u128", texts)
    numbers = [(high << 64) | low for high, low in wide]
    assert numbers == [
        0xFFFF_0A00_0001,
        int(ipaddress.ip_address(texts[1])),
        int(ipaddress.ip_address(texts[2])),
    ]


@given(st.integers(0, 2**128 - 1))
def test_128_bits_in_every_spelling(number: int) -> None:
    packed = number.to_bytes(16)
    spellings = [
        number,
        str(number),
        hex(number),
        packed,
        str(uuid.UUID(int=number)),
        str(ipaddress.IPv6Address(number)),
        ipaddress.IPv6Address(number),
    ]
    assert [sixteen_bytes(value) for value in spellings] == [packed] * len(spellings)


@pytest.mark.parametrize(
    "value",
    [
        *(2**128, -1, "", "1.2.3", "1:2", "x", b"short", None, 1.5, True, "1_0", "\u0661"),
        "g" * 8 + "-g-g-g-" + "g" * 21,
    ],
)
def test_anything_else_is_no_128_bit_point(value: Any) -> None:
    assert sixteen_bytes(value) is None
    with pytest.raises(BadRow) as caught:
        points("u128", [1, value])
    assert caught.value.index == 1


def test_rows_come_from_several_columns_or_one_column_of_rows() -> None:
    converter = Converter("u16x3", Fields(("a", "b", "c"), "y"))
    x, y = pair(converter.convert([["1", "2"], [3, 4], np.array([5, 65535])], ["0", "1"]))
    assert x.tolist() == [[1, 3, 5], [2, 4, 65535]]
    assert y.tolist() == [0, 1]
    assert points("u16x3", [[1, 3, 5], (2, 4, 65535)]) == x.tolist()


@pytest.mark.parametrize("row", [[1, 2], [1, 2, 3, 4], "123", None, [1, 2, 65536], [1, 2, "a"]])
def test_a_wrong_row_is_named(row: Any) -> None:
    with pytest.raises(BadRow) as caught:
        points("u16x3", [[1, 2, 3], row])
    assert caught.value.index == 1


@pytest.mark.parametrize(
    "column",
    [
        ["0", "1", "1"],
        ["false", "True", " 1 "],
        [0, 1, True],
        [0.0, 1.0, "true"],
        np.array([0, 1, 1]),
        np.array([False, True, True]),
        np.array([0.0, 1.0, 1.0]),
    ],
)
def test_labels_in_every_spelling(column: Any) -> None:
    assert labels(column) == [0, 1, 1]


@pytest.mark.parametrize(
    "column",
    [["0", "2"], [0, -1], ["0", ""], [0, None], [0, [1]], [0, 0.5], np.array([0, 2])],
)
def test_a_wrong_label_is_named_but_not_shown(column: Any) -> None:
    with pytest.raises(BadRow, match="'y'") as caught:
        labels(column)
    assert caught.value.index == 1
    assert caught.value.__context__ is None


def test_a_label_may_be_a_word() -> None:
    assert labels(["spam", " ham", "spam "], positive="spam", negative="ham") == [1, 0, 1]
    assert labels([3, 4, 3], positive="3", negative="4") == [1, 0, 1]
    several = {"positive": "A", "negative": ("B", "C")}
    assert labels(["A", "B", "C", "0", 1, True], **several) == [1, 0, 0, 0, 1, 1]
    with pytest.raises(BadRow, match="is empty") as caught:
        labels(["spam", "NA"], positive="spam")
    assert caught.value.index == 1


@pytest.mark.parametrize("negative", [None, "ham", ("ham", "eggs")])
def test_a_word_that_nobody_named_is_no_label(negative: str | tuple[str, ...] | None) -> None:
    with pytest.raises(BadRow, match="does not hold a label \\('spam', ") as caught:
        labels(["spam", "smap"], positive="spam", negative=negative)
    assert caught.value.index == 1
    assert "smap" not in caught.value.reason
    assert ("name the word that means 0" in caught.value.reason) == (negative is None)


@pytest.mark.parametrize("negative", ["spam", ("ham", "spam")])
def test_one_word_cannot_be_both_labels(negative: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="another one for label 1"):
        Fields("x", "y", positive="spam", negative=negative)
    with pytest.raises(ValueError, match="another one for label 1"):
        Fields("x", "y", negative=negative)


def test_incomplete_rows_are_found_in_any_column() -> None:
    columns: list[Any] = [
        ["1", "NA", "3", "", "5"],
        np.array([1.0, 2.0, np.nan, 4.0, 5.0]),
        [1, 2, 3, 4, None],
        np.array([1, 2, 3, 4, 5]),
    ]
    assert incomplete_rows(columns).tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("x_type", "fields"),
    [
        ("u16x3", Fields(("a", "b"), "y")),
        ("u8", Fields(("a", "b"), "y")),
        ("u128", Fields(("a", "b"), "y")),
        ("u128", Fields("a", "y", offset=1)),
        ("u128", Fields("a", "y", clip=(0, 1))),
    ],
)
def test_fields_must_suit_the_point_type(x_type: str, fields: Fields) -> None:
    with pytest.raises(ValueError, match="u"):
        Converter(x_type, fields)


def test_an_unknown_point_type_is_refused() -> None:
    with pytest.raises(ProtocolError):
        Converter("float", Fields("x", "y"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": ""},
        {"x": ()},
        {"y": ""},
        {"clip": (2, 1)},
        {"clip": (0, 2**63)},
        {"offset": 2**63},
        {"user": ""},
    ],
)
def test_impossible_fields_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"need|must"):
        Fields(**({"x": "a", "y": "b"} | wrong))


def test_empty_columns_give_empty_arrays() -> None:
    x, y = pair(Converter("u8", Fields("x", "y")).convert([[]], []))
    assert x.shape == y.shape == (0,)


def users(column: Any, **options: Any) -> Any:
    converter = Converter("u8", Fields("x", "y", user="who", **options))
    zeros = np.zeros(len(column), dtype=np.uint8)
    points, labels, found = triple(converter.convert([zeros], zeros, column))
    assert len(points) == len(labels) == len(found)
    return found


@pytest.mark.parametrize(
    "column",
    [["17", "ann"], [17, "ann"], [b"17", "ann"], [np.int64(17), b"ann"], np.array(["17", "ann"])],
)
def test_users_are_texts_and_integers(column: Any) -> None:
    assert users(column).tolist() == hash_users(["17", "ann"]).tolist()


def test_whole_columns_of_integers_are_users() -> None:
    assert users(np.array([3, -1])).tolist() == hash_users(["3", "-1"]).tolist()


@pytest.mark.parametrize("value", ["", " ", "NA", "null", None, math.nan])
def test_a_missing_user_is_an_empty_cell(value: Any) -> None:
    with pytest.raises(BadRow, match="'who' is empty") as caught:
        users(["ann", value, 5])
    assert caught.value.index == 1
    assert incomplete_rows([["ann", value, 5]]).tolist() == [False, True, False]


@pytest.mark.parametrize("value", [1.5, 2.0, True, ["canary"], {}, b"", "canary\ud800"])
def test_what_is_no_user_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(BadRow, match="'who' does not hold a user") as caught:
        users(["ann", value])
    assert caught.value.index == 1
    assert CANARY not in caught.value.reason


def test_a_column_of_fractions_holds_no_users() -> None:
    with pytest.raises(BadRow):
        users(np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("", "is empty"),
        ("NA", "is empty"),
        (None, "is empty"),
        ("NaN", "is NaN, not a number"),
        (math.nan, "is NaN, not a number"),
        (np.float64("nan"), "is NaN, not a number"),
    ],
)
def test_what_is_empty_and_what_is_not_a_number_are_told_apart(cell: Any, what: str) -> None:
    converter = Converter("u8", Fields("x", "y"))
    with pytest.raises(BadRow, match=f"^column 'x' {what}; give a value") as caught:
        converter.convert([[1, cell]], [0, 1])
    assert caught.value.index == 1


@pytest.mark.parametrize("cell", ["16", 16, "65535", "-1"])
def test_a_number_that_a_stream_has_not_is_named_by_its_column(cell: Any) -> None:
    converter = Converter("u16x2", Fields(("a", "b"), "y"), greatest=15)
    assert converter.convert([["15", "0"], ["0", "15"]], [0, 1])[0].tolist() == [[15, 0], [0, 15]]
    with pytest.raises(BadRow, match=r"^column 'b' is outside 0 to 15$") as caught:
        converter.convert([["1", "2"], ["3", cell]], [0, 1])
    assert caught.value.index == 1


def test_no_stream_has_greater_points_than_its_type() -> None:
    converter = Converter("u8", Fields("x", "y"), greatest=1000)
    with pytest.raises(BadRow, match="outside 0 to 255"):
        converter.convert([[256]], [0])


def test_how_many_columns_points_need_is_said_once() -> None:
    with pytest.raises(ValueError, match=r"^points of type u8 need 1 column, not 2$"):
        Converter("u8", Fields(("a", "b"), "y"))
    with pytest.raises(ValueError, match=r"^points of type u16x3 need 1 or 3 columns, not 2$"):
        Converter("u16x3", Fields(("a", "b"), "y"))
