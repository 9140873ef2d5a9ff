"""From a program's arrays and lists to columns on the wire, and back; the same for every client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_client.conversions import sixteen_bytes
from littled_client.errors import ExampleError
from littled_protocol import limits
from littled_protocol.columns import Labels, Points, PointType, encode_labels

# Everything of an examples frame that is neither x nor y: at most 72 bytes, rounded up.
FRAME_OVERHEAD_BYTES_MAX = 96


def points_array(kind: PointType, x: Any) -> Points:
    """Return points given as an array or a sequence in the shape and dtype of their type.

    Integers of any dtype are accepted when their values fit; 128-bit points may also be given as
    integers, 16 bytes, or IPv4 and IPv6 addresses. Raises ExampleError otherwise.
    """
    if isinstance(x, np.ndarray) and x.dtype == kind.dtype and x.ndim == (1 + (kind.columns > 1)):
        points: Points = x
    elif kind.name == "u128":
        points = _wide_points(x)
    else:
        points = _fitted(x, kind)
    if points.ndim == 2 and points.shape[1] != kind.columns:
        raise ExampleError(f"x needs {kind.columns} columns for points of type {kind.name}")
    return points


def labels_array(y: Any) -> Labels:
    """Return labels (n,) as uint8; raise ExampleError unless each is 0, 1, False or True."""
    labels = _array(y)
    if labels is None or labels.ndim != 1 or (labels.dtype.kind not in "bui" and labels.size):
        raise ExampleError("y needs one label 0 or 1 for each example")
    if labels.dtype != np.bool_ and labels.size and (labels.min() < 0 or labels.max() > 1):
        raise ExampleError("y holds a label other than 0 and 1")
    return labels.astype(np.uint8, copy=False)


def example_arrays(kind: PointType, x: Any, y: Any) -> tuple[Points, Labels]:
    """Return points and labels of equal number; raise ExampleError for anything else."""
    points, labels = points_array(kind, x), labels_array(y)
    if len(points) != len(labels):
        raise ExampleError("x and y need the same number of examples")
    return points, labels


def cut_batch(
    kind: PointType, x: Any, y: Any, frame_bytes_max: int
) -> Iterator[tuple[int, bytes, bytes]]:
    """Return (count, x column, y column) of a batch in pieces that each fit into one frame.

    Everything is checked before the first piece: a wrong batch is refused whole, with ExampleError.
    An empty batch gives nothing.
    """
    points, labels = example_arrays(kind, x, y)
    room = (frame_bytes_max - FRAME_OVERHEAD_BYTES_MAX) // (kind.itemsize_bytes + 1)
    most = max(1, min(limits.examples_per_frame_max, room))
    parts = (slice(start, start + most) for start in range(0, len(labels), most))
    return (
        (len(labels[part]), kind.encode(points[part]), encode_labels(labels[part]))
        for part in parts
    )


def _fitted(x: Any, kind: PointType) -> Points:
    """Return integers of any dtype, or sequences of them, as points (n,) or (n, m)."""
    dimensions = 2 if kind.columns > 1 else 1
    array = _array(x)
    if array is not None and array.size == 0 and array.ndim <= dimensions:
        return np.empty((0, kind.columns) if dimensions == 2 else (0,), dtype=kind.dtype)
    kinds = "bui"
    if array is not None and array.dtype.kind in "fO" and _are_integers(x):
        # Numpy has no integer type for all of them together, such as 2**63 beside -1.
        array, kinds = np.array(x, dtype=object), "O"
    if array is None or array.ndim != dimensions or array.dtype.kind not in kinds:
        raise ExampleError(f"x needs integers of {dimensions} dimensions for type {kind.name}")
    if int(array.min()) < 0 or int(array.max()) > kind.greatest:
        raise ExampleError(f"x holds a point outside the range of type {kind.name}")
    return array.astype(kind.dtype)


def _array(values: Any) -> NDArray[Any] | None:
    """Return values as an array, None when they have no common shape."""
    try:
        return np.asarray(values)
    except (ValueError, OverflowError):
        return None


def _are_integers(x: Any) -> bool:
    return isinstance(x, list | tuple) and all(isinstance(value, int) for value in x)


def _wide_points(x: Any) -> Points:
    if isinstance(x, np.ndarray):
        x = x.tolist() if x.ndim == 1 else None
    if not isinstance(x, Iterable):
        raise ExampleError("x needs shape (n, 2) and dtype uint64, or n points, for type u128")
    packed = bytearray()
    for value in x:
        wide = sixteen_bytes(value)
        if wide is None:
            raise ExampleError("x holds a point that is no integer or address of 128 bits")
        packed += wide
    return np.frombuffer(packed, dtype=">u8").reshape(-1, 2).astype(np.uint64)
