"""Single examples on their way into one frame; no I/O.

A frame costs both sides some microseconds, whatever it holds, so single examples that come while
others are under way travel together. They wait as rows, one for each example with all of its
columns, so that no interruption can part a point from its label; a frame's columns are cut out of
them when they leave.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from littled_client.batches import (
    FRAME_OVERHEAD_BYTES_MAX,
    Piece,
    check_named,
    points_array,
)
from littled_client.errors import ExampleError
from littled_client.users import UserDigests
from littled_protocol import limits
from littled_protocol.columns import PointType

# Single examples of one frame; more would save less than a hundredth of a microsecond each.
JOINED_EXAMPLES_MAX: Final = 1024
# A feeder looks at the clock with every so many examples that have joined: a look takes a fifth as
# long as all else that is done for an example.
JOINED_EXAMPLES_A_LOOK: Final = 8
# How long one waits for others. Clients promise that it leaves within a millisecond; the rest of it
# is for the thread or the event loop that sends it to wake up.
JOINED_SECONDS_MAX: Final = 0.0004

_LABELS: Final = {0: 0, 1: 1}
_ROWS: Final = (list, tuple)
_FORMATS: Final = {"u8": "<BB", "u16": "<HB", "u32": "<IB", "u64": "<QB"}

_Frame = TypeVar("_Frame")


class Rows:
    """Examples that wait for the next frame of single ones, in their order.

    named: whether every example has a user. row_bytes: of one example, with its label and user.
    full: whether as many wait as one frame takes. Examples may be added on any thread at any time;
    whoever calls `heard`, `first` and `leave`, one thread at a time, has to look afterwards whether
    there are any.
    """

    def __init__(self, kind: PointType, digests: UserDigests | None) -> None:
        """Begin empty, for points of one type; digests: of the users, None where there are none."""
        self.named = digests is not None
        self._kind = kind
        self._digests = digests or UserDigests()
        self._pack = _packer(kind)
        self._waiting = bytearray()
        self.row_bytes = kind.itemsize_bytes + 1 + self.named * limits.user_bytes
        self._bytes_max = 0
        # From how many bytes on a feeder is to hear of what waits.
        self._told_bytes = self.row_bytes
        self.fit(limits.frame_bytes_max_min)

    def fit(self, frame_bytes_max: int) -> None:
        """Take note of how long a frame may be; rows that wait already are cut accordingly."""
        room = (frame_bytes_max - FRAME_OVERHEAD_BYTES_MAX) // self.row_bytes
        self._bytes_max = max(1, min(JOINED_EXAMPLES_MAX, room)) * self.row_bytes
        self._told_bytes = min(self._told_bytes, self._bytes_max)

    def __len__(self) -> int:
        """Return how many examples wait."""
        return len(self._waiting) // self.row_bytes

    def add(self, x: Any, y: Any, user: Any = None) -> bool:
        """Let one example wait; return whether the feeder is to see to what waits.

        That is so with the first one, with every eighth after it, and when a frame is full, until
        the feeder has `heard`. Raises ExampleError, with nothing changed, when it cannot be sent.
        """
        try:
            row = self._pack(x, _LABELS[y])
        except (KeyError, TypeError, struct.error):
            row = b""
        if not row:
            row = self._packed_slowly(x, y)
        if self.named or user is not None:
            check_named(user, wanted=self.named)
            row += self._digests.one(user)
        # One step, so that no lock is needed, and not a call, which would take a tenth of the time.
        waiting = self._waiting
        waiting += row
        return len(waiting) >= self._told_bytes

    def add_piece(self, piece: Piece) -> bool:
        """Let the only example of a piece wait; returns what `add` does."""
        self._waiting += piece.x + piece.y + (piece.users or b"")
        return len(self._waiting) >= self._told_bytes

    @property
    def full(self) -> bool:
        """Whether as many wait as one frame takes."""
        return len(self._waiting) >= self._bytes_max

    def first(self) -> Piece | None:
        """Return the columns of the first ones that wait, as many as fit a frame; None of none."""
        rows = bytes(self._waiting[: self._bytes_max])
        if not rows:
            return None
        x_bytes, row_bytes = self._kind.itemsize_bytes, self.row_bytes
        if len(rows) == row_bytes:
            users = rows[x_bytes + 1 :] if self.named else None
            return Piece(1, rows[:x_bytes], rows[x_bytes : x_bytes + 1], users)
        table = np.frombuffer(rows, np.uint8).reshape(-1, row_bytes)
        return Piece(
            len(table),
            table[:, :x_bytes].tobytes(),
            table[:, x_bytes].tobytes(),
            table[:, x_bytes + 1 :].tobytes() if self.named else None,
        )

    def leave(self, count: int, frames: deque[_Frame], frame: _Frame) -> None:
        """Forget the first `count` examples and append the frame that they have to `frames`."""
        waiting, row_bytes, found = self._waiting, count * self.row_bytes, (frame,)
        # Handlers of signals run behind calls alone: where one raises, both of this is done or
        # nothing, and no example has two numbers or none.
        frames += found
        del waiting[:row_bytes]
        self.heard()

    def heard(self) -> None:
        """Settle when the feeder hears the next time, now that it looks at what waits."""
        waits = len(self._waiting)
        step = (JOINED_EXAMPLES_A_LOOK if waits else 1) * self.row_bytes
        self._told_bytes = min(waits + step, self._bytes_max)

    def hear_next(self) -> None:
        """Let the feeder hear of the next one, whatever waits."""
        self._told_bytes = 0

    def _packed_slowly(self, x: Any, y: Any) -> bytes:
        """Return the point and label of an example in an unusual spelling, or say what is wrong."""
        try:
            label = _LABELS.get(y)
        except TypeError:
            label = None
        if label is None:
            raise ExampleError("y is no label: it needs to be 0 or 1")
        if self._kind.columns == 1:
            raise ExampleError(f"x is no integer in the range of type {self._kind.name}")
        return self._kind.encode(points_array(self._kind, [x])) + bytes((label,))


def _packer(kind: PointType) -> Callable[[Any, int], bytes]:
    """Return the quickest encoder of a point and its label.

    It raises KeyError, TypeError or struct.error for what it does not know.
    """
    if (known := _FORMATS.get(kind.name)) is not None:
        return struct.Struct(known).pack
    if kind.name == "u128":
        return _pack_wide
    if kind.is_string:
        return _pack_string(kind)
    pack_row, features = struct.Struct(f"<{kind.columns}HB").pack, kind.columns

    def pack(x: Any, label: int) -> bytes:
        if type(x) not in _ROWS or len(x) != features:
            raise TypeError
        return pack_row(*x, label)

    return pack


def _pack_string(kind: PointType) -> Callable[[Any, int], bytes]:
    size = kind.itemsize_bytes

    def pack(x: Any, label: int) -> bytes:
        if type(x) is not bytes or len(x) != size:
            raise TypeError
        return x + bytes((label,))

    return pack


def _pack_wide(x: Any, label: int) -> bytes:
    if type(x) is not int or not 0 <= x < 1 << 128:
        raise TypeError
    return x.to_bytes(16) + bytes((label,))


def lone(x: Any, y: Any, users: Any) -> tuple[Any, Any, Any] | None:
    """Return the point, label and user of a batch of one in plain lists; None for any other."""
    if type(x) is not list or type(y) is not list or len(x) != 1 or len(y) != 1:
        return None
    if users is not None and (type(users) is not list or len(users) != 1):
        return None
    # Otherwise spelled labels are the business of whole batches.
    if type(y[0]) is not int and type(y[0]) is not bool:
        return None
    return x[0], y[0], None if users is None else users[0]
