"""From a program's arrays and lists to columns on the wire, and back; the same for every client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_client.arrays import as_given
from littled_client.conversions import sixteen_bytes
from littled_client.errors import ExampleError
from littled_protocol import limits
from littled_protocol.columns import (
    Labels,
    Points,
    PointType,
    Users,
    encode_labels,
    encode_users,
)
from littled_protocol.errors import ProtocolError

# Everything of an examples frame that is in no column: at most 83 bytes, rounded up.
FRAME_OVERHEAD_BYTES_MAX = 96
# What the place of a source adds to that: its field's name, its length and itself.
_PLACE_BYTES_MAX = 10 + limits.resume_bytes_max


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of `count` examples that fit into one frame; users is None where nobody is named.

    resume: the place of the source behind the last example, where it is told.
    """

    count: int
    x: bytes
    y: bytes
    users: bytes | None = None
    resume: bytes | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of all columns, and of the place at most."""
        columns = len(self.x) + len(self.y) + (0 if self.users is None else len(self.users))
        return columns if self.resume is None else columns + _PLACE_BYTES_MAX


def points_array(kind: PointType, x: Any) -> Points:
    """Return points given as an array or a sequence in the shape and dtype of their type.

    Integers of any dtype are accepted when their values fit; 128-bit points may also be given as
    integers, 16 bytes, or IPv4 and IPv6 addresses, byte strings as texts or binaries. Raises
    ExampleError otherwise, and for masked values.
    """
    x = as_given("x", x)
    if isinstance(x, np.ndarray) and x.dtype == kind.dtype and x.ndim == (1 + (kind.columns > 1)):
        points: Points = x
    elif kind.name == "u128":
        points = _wide_points(x)
    elif kind.is_string and not isinstance(x, np.ndarray):
        points = _strings(x, kind)
    else:
        points = _fitted(x, kind)
    if points.ndim == 2 and points.shape[1] != kind.columns:
        raise ExampleError(f"x needs {kind.columns} columns for points of type {kind.name}")
    return points


def labels_array(y: Any) -> Labels:
    """Return labels (n,) as uint8; raise ExampleError unless each is 0, 1, False or True."""
    labels = _array(as_given("y", y))
    if labels is None or labels.ndim != 1 or (labels.dtype.kind not in "bui" and labels.size):
        raise ExampleError("y needs one label 0 or 1 for each example")
    if labels.dtype != np.bool_ and labels.size and (labels.min() < 0 or labels.max() > 1):
        row = int(((labels < 0) | (labels > 1)).argmax()) + 1
        raise ExampleError(f"row {row}: y holds a label other than 0 and 1")
    return labels.astype(np.uint8, copy=False)


def example_arrays(kind: PointType, x: Any, y: Any) -> tuple[Points, Labels]:
    """Return points and labels of equal number; raise ExampleError for anything else."""
    points, labels = points_array(kind, x), labels_array(y)
    if len(points) != len(labels):
        raise ExampleError("x and y need the same number of examples")
    return points, labels


def cut_batch(
    kind: PointType,
    x: Any,
    y: Any,
    frame_bytes_max: int,
    users: Users | None = None,
    resume: bytes | None = None,
) -> Iterator[Piece]:
    """Return a batch in pieces that each fit into one frame.

    users: digests (n, 2), for a stream that protects users. resume: the place of the source behind
    the batch, which its last piece gets. Everything is checked before the first piece: a wrong
    batch is refused whole, with ExampleError. An empty batch gives nothing.
    """
    points, labels = example_arrays(kind, x, y)
    if users is not None and len(users) != len(labels):
        raise ExampleError("users needs one user for each example")
    example_bytes = kind.itemsize_bytes + 1 + (0 if users is None else limits.user_bytes)
    place_bytes = 0 if resume is None else _checked_place(resume)
    room = _room(frame_bytes_max, place_bytes, example_bytes)
    if kind.is_string and room < 1:
        raise _too_long(example_bytes, frame_bytes_max)
    most = max(1, min(limits.examples_per_frame_max, room))
    parts = (slice(start, start + most) for start in range(0, len(labels), most))
    return (
        Piece(
            len(labels[part]),
            kind.encode(points[part]),
            encode_labels(labels[part]),
            None if users is None else encode_users(users[part]),
            resume if part.stop >= len(labels) else None,
        )
        for part in parts
    )


def cut_again(piece: Piece, frame_bytes_max: int) -> Iterator[Piece]:
    """Yield a piece in smaller ones, for a daemon whose frames have become shorter.

    Raises ExampleError where not even one of its examples fits any more.
    """
    x_bytes, y_bytes = len(piece.x) // piece.count, len(piece.y) // piece.count
    users_bytes = 0 if piece.users is None else len(piece.users) // piece.count
    example_bytes = x_bytes + y_bytes + users_bytes
    place_bytes = 0 if piece.resume is None else _PLACE_BYTES_MAX
    most = _room(frame_bytes_max, place_bytes, example_bytes)
    if most < 1:
        raise _too_long(example_bytes, frame_bytes_max)
    for start in range(0, piece.count, most):
        end = min(start + most, piece.count)
        yield Piece(
            end - start,
            piece.x[start * x_bytes : end * x_bytes],
            piece.y[start * y_bytes : end * y_bytes],
            None if piece.users is None else piece.users[start * users_bytes : end * users_bytes],
            piece.resume if end == piece.count else None,
        )


def _room(frame_bytes_max: int, place_bytes: int, example_bytes: int) -> int:
    """How many examples fit into a frame, beside a place of so many bytes."""
    return (frame_bytes_max - FRAME_OVERHEAD_BYTES_MAX - place_bytes) // example_bytes


def _too_long(example_bytes: int, frame_bytes_max: int) -> ExampleError:
    return ExampleError(
        f"an example of {example_bytes} bytes does not fit into a frame of the daemon, which "
        f"takes {frame_bytes_max}"
    )


def _checked_place(resume: bytes) -> int:
    """Return how many bytes the place of a source takes at most; ExampleError for what is none."""
    if type(resume) is not bytes or len(resume) > limits.resume_bytes_max:
        raise ExampleError(f"resume needs bytes, at most {limits.resume_bytes_max}")
    return _PLACE_BYTES_MAX


def check_named(given: object, *, wanted: bool) -> None:
    """Raise ExampleError unless users are given where, and only where, the stream protects users.

    given: what the program gave for users, None for nothing. wanted: `users` of `Opened`.
    """
    if wanted and given is None:
        raise ExampleError("the stream protects users: give the user of each example")
    if given is not None and not wanted:
        raise ExampleError("the stream protects single examples and takes no users")


def _fitted(x: Any, kind: PointType) -> Points:
    """Return integers of any dtype, or sequences of them, as points (n,) or (n, m)."""
    if isinstance(x, Mapping) or hasattr(x, "columns"):
        raise ExampleError(
            "x is a table; Encoder(schema).examples(table) makes points and labels of its rows"
        )
    dimensions = 2 if kind.columns > 1 else 1
    array = _array(x)
    if array is not None and array.size == 0 and array.ndim <= dimensions:
        return np.empty((0, kind.columns) if dimensions == 2 else (0,), dtype=kind.dtype)
    kinds = "bui"
    if array is not None and array.dtype.kind in "fO" and _are_integers(x):
        # Numpy has no integer type for all of them together, such as 2**63 beside -1.
        array, kinds = np.array(x, dtype=object), "O"
    if array is None or array.ndim != dimensions or array.dtype.kind not in kinds:
        shape = "(n,)" if dimensions == 1 else f"(n, {kind.columns})"
        raise ExampleError(f"x needs integers in an array {shape} for points of type {kind.name}")
    if int(array.min()) < 0 or int(array.max()) > kind.greatest:
        wrong = (array < 0) | (array > kind.greatest)
        row = int(wrong.reshape(len(array), -1).any(axis=1).argmax()) + 1
        raise ExampleError(f"row {row}: x holds a point outside 0 to {kind.greatest}")
    return array.astype(kind.dtype)


def _array(values: Any) -> NDArray[Any] | None:
    """Return values as an array, None when they have no common shape."""
    try:
        return np.asarray(values)
    except (ValueError, OverflowError):
        return None


def _are_integers(x: Any) -> bool:
    return isinstance(x, list | tuple) and all(isinstance(value, int) for value in x)


def _strings(x: Any, kind: PointType) -> Points:
    """Return texts, or binaries of exactly m bytes, as byte strings (n, m)."""
    try:
        return kind.decode(list(x), len(x))
    except (ProtocolError, TypeError):
        raise ExampleError(
            f"x needs texts of at most {kind.columns} bytes, binaries of {kind.columns} bytes, or "
            f"an array (n, {kind.columns}) of uint8, for type {kind.name}"
        ) from None


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
