"""Arrays and lists of programs as points and labels."""

import ctypes
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import numpy as np
import polars
import pytest

from littled_client.batches import (
    FRAME_OVERHEAD_BYTES_MAX,
    cut_again,
    cut_batch,
    example_arrays,
    labels_array,
    points_array,
)
from littled_client.errors import ExampleError
from littled_protocol.columns import point_type


@pytest.mark.parametrize("x_type", ["u8", "u16", "u32", "u64"])
@pytest.mark.parametrize(
    "x", [[0, 7, 255], (0, 7, 255), np.array([0, 7, 255]), np.array([0, 7, 255], dtype=np.uint8)]
)
def test_integers_of_any_kind_are_taken_when_they_fit(x_type: str, x: Any) -> None:
    points = points_array(point_type(x_type), x)
    assert points.tolist() == [0, 7, 255]
    assert points.dtype == point_type(x_type).dtype


def test_an_array_of_the_right_type_is_not_copied() -> None:
    for x_type, shape in (("u8", (4,)), ("u64", (4,)), ("u128", (4, 2)), ("u16x3", (4, 3))):
        x = np.zeros(shape, dtype=point_type(x_type).dtype)
        assert points_array(point_type(x_type), x) is x


def test_big_integers_stay_exact() -> None:
    assert points_array(point_type("u64"), [2**64 - 1, 1]).tolist() == [2**64 - 1, 1]
    assert points_array(point_type("u64"), [2**63 + 1]).tolist() == [2**63 + 1]


def test_wide_points_may_be_written_in_many_ways() -> None:
    x = [1, b"\0" * 15 + b"\2", IPv4Address("10.0.0.1"), IPv6Address("1::"), "10.0.0.2"]
    points = points_array(point_type("u128"), x)
    assert points.tolist() == [
        [0, 1],
        [0, 2],
        [0, 0xFFFF_0A00_0001],
        [1 << 48, 0],
        [0, 0xFFFF_0A00_0002],
    ]
    numbers = np.array([1, 2, 3], dtype=np.int32)
    assert points_array(point_type("u128"), numbers).tolist() == [[0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize(
    ("x_type", "x"),
    [
        ("u8", [256]),
        ("u8", [-1]),
        ("u8", [1.0]),
        ("u8", ["1"]),
        ("u8", [[1]]),
        ("u8", 1),
        ("u8", None),
        ("u8", [2**70]),
        ("u64", [-1, 2**63]),
        ("u16x3", [1, 2, 3]),
        ("u16x3", [[1, 2]]),
        ("u16x3", [[1, 2, 3, 4]]),
        ("u16x3", [[1, 2, 65536]]),
        ("u16x3", [[1, 2, 3], [1]]),
        ("u128", [2**128]),
        ("u128", [-1]),
        ("u128", [1.5]),
        ("u128", np.zeros((3, 2), dtype=np.int64)),
        ("u128", np.zeros((3, 3), dtype=np.uint64)),
        ("u128", 1),
    ],
)
def test_anything_else_is_refused_without_a_value(x_type: str, x: Any) -> None:
    with pytest.raises(ExampleError, match="x ") as caught:
        points_array(point_type(x_type), x)
    assert "256" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_masked_values_are_refused_and_those_without_a_mask_taken(dtype: Any) -> None:
    some = np.ma.masked_array([[1, 99, 1]] * 3, mask=[[False, True, False]] * 3, dtype=dtype)
    for x_type, x in (("u8", some[0]), ("u16x3", some), ("u16x3", list(some)), ("bytes3", some)):
        with pytest.raises(ExampleError, match=r"^some of x is masked; leave .* or fill"):
            points_array(point_type(x_type), x)
    filled = np.ma.masked_array(some.filled(7), mask=False)
    assert points_array(point_type("u16x3"), filled).tolist() == [[1, 7, 1]] * 3
    with pytest.raises(ExampleError, match=r"^some of y is masked"):
        labels_array(np.ma.masked_array([0, 1, 0], mask=[False, True, False], dtype=dtype))
    assert labels_array(np.ma.masked_array([0, 1], dtype=dtype)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("x_type", "columns", "dtype"), [("u128", 2, np.uint64), ("bytes4", 4, np.uint8)]
)
def test_a_memory_of_rows_is_taken_as_its_array(x_type: str, columns: int, dtype: Any) -> None:
    rows = np.arange(3 * columns, dtype=dtype).reshape(3, columns)
    assert points_array(point_type(x_type), rows.data).tolist() == rows.tolist()
    unknown = memoryview(((ctypes.c_void_p * columns) * 3)())
    for other in (rows[:, 1:].copy().data, (rows / 2).data, np.zeros((), dtype).data, unknown):
        with pytest.raises(ExampleError, match=r"^x "):
            points_array(point_type(x_type), other)


def test_the_first_wrong_row_is_named() -> None:
    with pytest.raises(ExampleError, match=r"^row 3: x holds a point outside 0 to 255$"):
        points_array(point_type("u8"), np.array([1, 2, 300, -1]))
    with pytest.raises(ExampleError, match=r"^row 2: x holds a point outside 0 to 65535$"):
        points_array(point_type("u16x2"), [[1, 2], [3, -4], [-1, 0]])
    with pytest.raises(ExampleError, match=r"^row 2: y holds a label other than 0 and 1$"):
        labels_array([1, 2, 3])


@pytest.mark.parametrize("table", [{"n": [1]}, polars.DataFrame({"n": [1]})])
def test_a_table_is_told_to_be_encoded(table: Any) -> None:
    with pytest.raises(ExampleError, match=r"Encoder\(schema\)\.examples\(table\) makes points"):
        points_array(point_type("u16x3"), table)


@pytest.mark.parametrize("y", [[0, 1, 1], [False, True, True], np.array([0, 1, 1])])
def test_labels_are_bits(y: Any) -> None:
    labels = labels_array(y)
    assert labels.dtype == np.uint8
    assert labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("y", [[2], [-1], [0.5], ["1"], [[1]], 1, None, [0, [1]]])
def test_other_labels_are_refused(y: Any) -> None:
    with pytest.raises(ExampleError, match="y "):
        labels_array(y)


def test_every_point_needs_a_label() -> None:
    with pytest.raises(ExampleError, match="same number"):
        example_arrays(point_type("u8"), [1, 2], [1])


@pytest.mark.parametrize(("x_type", "shape"), [("u8", (0,)), ("u128", (0, 2)), ("u16x3", (0, 3))])
def test_an_empty_batch_has_no_pieces(x_type: str, shape: tuple[int, ...]) -> None:
    points, labels = example_arrays(point_type(x_type), [], [])
    assert points.shape == shape
    assert labels.shape == (0,)
    assert list(cut_batch(point_type(x_type), [], [], 4096)) == []


def test_a_wrong_batch_is_refused_before_its_first_piece() -> None:
    with pytest.raises(ExampleError):
        cut_batch(point_type("u8"), [1] * 10_000, [1] * 9_999 + [2], 4096)


def test_a_piece_is_cut_again_for_shorter_frames() -> None:
    """Its examples stay together with their labels and users, and the place comes with the last."""
    kind, count = point_type("u16x3"), 1000
    x = np.arange(3 * count, dtype=np.uint16).reshape(-1, 3)
    users = np.arange(2 * count, dtype=np.uint64).reshape(-1, 2)
    (whole,) = cut_batch(kind, x, np.arange(count) % 2, 1 << 20, users, b"place")
    parts = list(cut_again(whole, 4096))
    assert len(parts) > 1
    assert all(part.size_bytes + FRAME_OVERHEAD_BYTES_MAX <= 4096 for part in parts)
    assert [part.resume for part in parts] == [None] * (len(parts) - 1) + [b"place"]
    assert sum(part.count for part in parts) == count
    for column in ("x", "y", "users"):
        assert b"".join(getattr(part, column) for part in parts) == getattr(whole, column)
    with pytest.raises(ExampleError, match="does not fit into a frame"):
        next(cut_again(whole, FRAME_OVERHEAD_BYTES_MAX + 20))
