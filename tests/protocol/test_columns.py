"""Points and labels to columns and back, and what is refused."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import (
    PointType,
    bytes_of_text,
    decode_labels,
    decode_users,
    encode_labels,
    encode_users,
    point_type,
    smallest_point_type,
    text_of_bytes,
)
from littled_protocol.errors import ErrorCode, ProtocolError

SCALARS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
NAMES = [*SCALARS, "u128", "u16x2", "u16x12", "u16x1024", "bytes2", "bytes4096"]


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(ProtocolError) as caught:
        call(*arguments)
    assert caught.value.code == ErrorCode.INVALID_EXAMPLES
    return caught.value.message


def array(kind: PointType, points: list[Any]) -> NDArray[Any]:
    """The array of points given as integers or rows, made without the code under test."""
    if kind.name == "u128":
        pairs = [[point // 2**64, point % 2**64] for point in points]
        return np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    found = np.array(points, dtype=kind.dtype)
    return found if kind.columns == 1 else found.reshape(-1, kind.columns)


def wire(kind: PointType, points: list[Any]) -> bytes:
    """The column of the points, made without numpy."""
    if kind.name == "u128":
        return b"".join(point.to_bytes(16, "big") for point in points)
    if kind.name in SCALARS:
        return b"".join(point.to_bytes(SCALARS[kind.name], "little") for point in points)
    if kind.is_string:
        return b"".join(map(bytes, points))
    return b"".join(struct.pack(f"<{kind.columns}H", *row) for row in points)


@st.composite
def columns(draw: st.DrawFn) -> tuple[PointType, list[Any]]:
    kind = point_type(draw(st.sampled_from([*SCALARS, "u128", "u16x2", "u16x5", "bytes3"])))
    one = st.integers(0, kind.greatest)
    if kind.columns > 1 and kind.name != "u128":
        rows = st.lists(one, min_size=kind.columns, max_size=kind.columns)
        return kind, draw(st.lists(rows, max_size=20))
    return kind, draw(st.lists(one, max_size=20))


@given(columns())
def test_columns_and_lists_survive_the_wire(column: tuple[PointType, list[Any]]) -> None:
    kind, points = column
    expected, data = array(kind, points), wire(kind, points)
    assert kind.encode(expected) == data
    for given_as in (data, list(map(bytes, points)) if kind.is_string else points):
        found = kind.decode(given_as, len(points))
        assert found.dtype == kind.dtype
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, expected)
    if kind.name == "u128":
        binaries = [point.to_bytes(16, "big") for point in points]
        np.testing.assert_array_equal(kind.decode(binaries, len(points)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_point_types_have_the_sizes_of_their_names(name: str) -> None:
    kind = point_type(name)
    assert kind.name == name
    sizes = SCALARS | {"u128": 16, "u16x2": 4, "u16x12": 24, "u16x1024": 2048}
    sizes |= {"bytes2": 2, "bytes4096": 4096}
    assert kind.itemsize_bytes == sizes[name]
    columns = {"u128": 2, "u16x2": 2, "u16x12": 12, "u16x1024": 1024}
    assert kind.columns == (columns | {"bytes2": 2, "bytes4096": 4096}).get(name, 1)
    assert kind.decode(b"", 0).shape == ((0,) if kind.columns == 1 else (0, kind.columns))
    assert kind.decode([], 0).shape == kind.decode(b"", 0).shape
    assert point_type(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        *("", "u", "u1", "u24", "U8", "u8 ", "i8", "f64", "u16x", "u16x0", "u16x1", "u16x01"),
        *("u16x1025", "u16x99999", "u16x-2", "u16x2\n", "u8x2", "u16x²"),
        *("bytes", "bytes1", "bytes01", "bytes4097", "bytes:2", "bytes2x"),
    ],
)
def test_names_of_no_type_are_refused(name: str) -> None:
    assert "a type of points is u8, u16" in refusal(point_type, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_another_length_is_refused(name: str) -> None:
    kind = point_type(name)
    data = bytes(3 * kind.itemsize_bytes)
    assert len(kind.decode(data, 3)) == 3
    for wrong in (data[:-1], data + b"\x00", b""):
        refusal(kind.decode, wrong, 3)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("u8", [256]),
        ("u8", [-1]),
        ("u8", [True]),
        ("u8", [1.0]),
        ("u8", ["1"]),
        ("u8", [None]),
        ("u8", [[1]]),
        ("u8", [b"\x01"]),
        ("u16", [1, 65536]),
        ("u32", [2**32]),
        ("u64", [2**64]),
        ("u64", [-1]),
        ("u128", [-1]),
        ("u128", [2**128]),
        ("u128", [True]),
        ("u128", [bytes(15)]),
        ("u128", [bytes(17)]),
        ("u128", ["::1"]),
        ("u16x2", [1, 2]),
        ("u16x2", [[1]]),
        ("u16x2", [[1, 2, 3]]),
        ("u16x2", [[1, 65536]]),
        ("u16x2", [[1, -1]]),
        ("u16x2", [[1, True]]),
        ("u16x2", ["ab"]),
        ("u16x2", [b"ab"]),
        ("u16x2", [{"a": 1, "b": 2}]),
    ],
)
def test_lists_with_something_else_are_refused(name: str, values: list[Any]) -> None:
    kind = point_type(name)
    message = refusal(kind.decode, values, len(values))
    assert name in message
    refusal(kind.decode, values, len(values) + 1)


@pytest.mark.parametrize("name", NAMES)
def test_only_arrays_of_the_type_are_encoded(name: str) -> None:
    kind = point_type(name)
    shape = (3,) if kind.columns == 1 else (3, kind.columns)
    assert len(kind.encode(np.zeros(shape, kind.dtype))) == 3 * kind.itemsize_bytes
    wrong = "uint8" if kind.dtype != np.uint8 else "uint16"
    for array in (
        np.zeros(shape, wrong),
        np.zeros(shape, np.int64),
        np.zeros((*shape, 1), kind.dtype),
        np.zeros((), kind.dtype),
        np.zeros((3, 7), kind.dtype),
    ):
        assert str(kind.dtype) in refusal(kind.encode, array)


def test_arrays_with_strides_are_encoded_in_their_order() -> None:
    wide = np.arange(24, dtype=np.uint64).reshape(6, 4)
    view = wide[::2, 1:3]
    assert point_type("u128").encode(view) == struct.pack(">6Q", 1, 2, 9, 10, 17, 18)
    assert point_type("u64").encode(wide[:, 0]) == struct.pack("<6Q", 0, 4, 8, 12, 16, 20)


@given(st.lists(st.booleans(), max_size=30))
def test_labels_survive_the_wire(labels: list[bool]) -> None:
    column = bytes(labels)
    for given_as in (np.array(labels, dtype=np.bool_), np.array(labels, dtype=np.uint8)):
        assert encode_labels(given_as) == column
    for data in (column, labels, [int(label) for label in labels]):
        found = decode_labels(data, len(labels))
        assert found.dtype == np.uint8
        assert found.tolist() == labels


@pytest.mark.parametrize(
    "data",
    [b"\x02", b"\xff", b"0", [2], [-1], [1.0], ["1"], [None], [[1]], [b"\x01"], [[]], [{}]],
)
def test_what_is_no_label_is_refused(data: bytes | list[Any]) -> None:
    refusal(decode_labels, data, 1)


@given(st.binary(max_size=50))
def test_exactly_the_columns_of_zeros_and_ones_are_labels(column: bytes) -> None:
    if set(column) <= {0, 1}:
        assert decode_labels(column, len(column)).tolist() == list(column)
    else:
        refusal(decode_labels, column, len(column))
        refusal(encode_labels, np.frombuffer(column, dtype=np.uint8))


@pytest.mark.parametrize("count", [4095, 4096, 10_000])
@pytest.mark.parametrize("wrong", [2, 128, 255])
def test_one_wrong_label_among_many_is_refused(count: int, wrong: int) -> None:
    column = bytearray(b"\0\1" * (count // 2) + bytes(count % 2))
    assert decode_labels(bytes(column), count).tolist() == list(column)
    for place in (0, count // 2, count - 1):
        changed = bytes(column[:place]) + bytes([wrong]) + bytes(column[place + 1 :])
        refusal(decode_labels, changed, count)


def test_labels_need_their_number_and_shape() -> None:
    refusal(decode_labels, b"\x00\x01", 3)
    refusal(decode_labels, [0, 1], 1)
    refusal(encode_labels, np.zeros((2, 2), dtype=np.uint8))
    refusal(encode_labels, np.zeros(2, dtype=np.int64))


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=30))
def test_users_survive_the_wire(digests: list[bytes]) -> None:
    column = b"".join(digests)
    found = decode_users(column, len(digests))
    assert found.dtype == np.uint64
    assert [(high << 64) + low for high, low in found.tolist()] == [
        int.from_bytes(digest, "big") for digest in digests
    ]
    assert encode_users(found) == column
    assert encode_users(found.astype(">u8").astype("=u8")[::1]) == column


@pytest.mark.parametrize(("length", "count"), [(0, 1), (15, 1), (17, 1), (16, 2), (32, 1)])
def test_users_need_their_number_of_bytes(length: int, count: int) -> None:
    assert "16 bytes" in refusal(decode_users, bytes(length), count)


@pytest.mark.parametrize(
    "array", [np.zeros(2, "u8"), np.zeros((2, 1), "u8"), np.zeros((2, 2), "i8"), np.zeros((1, 3))]
)
def test_users_need_their_shape_and_dtype(array: Any) -> None:
    refusal(encode_users, array)


def test_refusals_do_not_say_what_was_found() -> None:
    assert "54321" not in refusal(point_type("u8").decode, [54321], 1)
    assert "54321" not in refusal(point_type("u16x2").decode, [[1, 54321 * 2]], 1)
    assert "77" not in refusal(decode_labels, [77], 1)


@pytest.mark.parametrize("bits", range(1, 129))
def test_the_smallest_type_holds_the_bits(bits: int) -> None:
    name = smallest_point_type(bits)
    sizes = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "u128": 128}
    assert sizes[name] == min(size for size in sizes.values() if size >= bits)


@pytest.mark.parametrize("bits", [0, -1, 129])
def test_no_type_holds_other_numbers_of_bits(bits: int) -> None:
    with pytest.raises(ValueError, match="1 to 128 bits"):
        smallest_point_type(bits)


def test_rows_have_at_most_the_features_of_the_limit() -> None:
    assert point_type(f"u16x{limits.row_features_max}").columns == limits.row_features_max


# --- Byte strings ---------------------------------------------------------------------------------


@given(st.binary(min_size=2, max_size=12) | st.text(max_size=4).map(str.encode))
def test_every_byte_string_has_one_text_which_is_read_as_it(string: bytes) -> None:
    string = string.ljust(2, b"\0")
    text = text_of_bytes(string)
    assert text.isprintable()
    assert bytes_of_text(text, len(string)) == string


@given(st.text(max_size=6) | st.from_regex(r"0x[0-9a-f]{3,5}", fullmatch=True))
def test_a_text_is_a_byte_string_that_is_written_so_or_none(text: str) -> None:
    string = bytes_of_text(text, 2)
    assert string is None or len(string) == 2
    if string is not None and not text.startswith("0x"):
        assert text_of_bytes(string) == text


@pytest.mark.parametrize(
    "value", ["abc", "", "0x00", "0x00FF", "a\n", 7, b"a", None, [1, 2], "\udc80"]
)
def test_lists_of_byte_strings_hold_texts_or_binaries(value: Any) -> None:
    kind = point_type("bytes2")
    assert "binaries of 2 bytes" in refusal(kind.decode, [value], 1)
    np.testing.assert_array_equal(
        kind.decode(["a", b"bc", "0x0001"], 3), [[97, 0], [98, 99], [0, 1]]
    )
