"""Bursts: runs of examples frames that differ in nothing but their numbers and their examples.

Who sends one example at a time sends the same fifty bytes around each. The first frame of a run is
looked at closely; of the others the bytes around the columns only have to be equal, which is one
comparison of arrays for all of them, and their sequence numbers to go on. What a run gives is what
its frames would give one by one, and whatever is not such a run is left to be decoded that way. A
long frame is a run by itself: so its columns are copied once, and not as often as a decoder does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.codec import UsualForm, usual_form
from littled_protocol.messages import Examples

# Whole frames that this short are not looked at: the shortest frame of examples is longer.
FRAME_BYTES_MIN: Final = 48

# Frames from this length on need no other beside them.
LONG_FRAME_BYTES: Final = 4096
# Bytes of a sequence number without its tag -> how they read. One byte may be its own tag.
_NUMBERS: Final = {size: np.dtype(f">u{size}") for size in (1, 2, 4, 8)}
# The greatest number that is its own tag.
_FIXINT_MAX: Final = 0x7F


@dataclass(frozen=True, slots=True)
class Burst:
    """Examples messages of one channel, each going on where the last one ended.

    sequence: number of the very first example. count: examples of each message. frames: how many
    there are. frame_bytes: whole length of each frame. x, y, users: the columns of all, joined; as
    in `Examples`, nobody has looked yet whether their lengths fit the count.
    """

    channel: int
    sequence: int
    count: int
    frames: int
    frame_bytes: int
    x: bytes
    y: bytes
    users: bytes | None

    def part(self, first: int, end: int) -> Burst:
        """Return some of the messages, at least one: from the first one to the one before `end`."""
        x, y, users = self._columns(first, end)
        sequence = self.sequence + first * self.count
        return replace(self, sequence=sequence, frames=end - first, x=x, y=y, users=users)

    def messages(self) -> Iterator[Examples]:
        """Return the messages one by one."""
        for index in range(self.frames):
            sequence = self.sequence + index * self.count
            columns = self._columns(index, index + 1)
            yield Examples(self.channel, sequence, self.count, *columns)

    def _columns(self, first: int, end: int) -> tuple[bytes, bytes, bytes | None]:
        """Points, labels and users of some of the messages."""

        def cut(column: bytes) -> bytes:
            size = len(column) // self.frames
            return column[first * size : end * size]

        return cut(self.x), cut(self.y), None if self.users is None else cut(self.users)


def decode_burst(buffer: bytearray, start: int, frames_max: int) -> Burst | None:
    """Return the burst that begins at `start`, of at most `frames_max` frames of `buffer`.

    None where fewer than two whole frames in the usual form of examples go together, or not even
    one long frame is there.
    """
    form = usual_form(buffer, start + limits.frame_prefix_bytes)
    if form is None:
        return None
    frame_bytes = form.end - start
    frames = min(frames_max, (len(buffer) - start) // frame_bytes, _countable(form))
    prefix = int.from_bytes(buffer[start : start + limits.frame_prefix_bytes], "big")
    frames_min = 1 if frame_bytes >= LONG_FRAME_BYTES else 2
    if frames < frames_min or frame_bytes != prefix + limits.frame_prefix_bytes:
        return None
    rows = np.frombuffer(buffer, np.uint8, frames * frame_bytes, start)
    rows = rows.reshape(frames, frame_bytes)
    if frames > 1:
        rows = _consecutive(_alike(rows, form, start), form, start)
    if len(rows) < frames_min:
        return None
    users = None if form.users_start is None else rows[:, form.users_start - start :].tobytes()
    return Burst(
        form.channel,
        form.sequence,
        form.examples,
        len(rows),
        frame_bytes,
        rows[:, form.x_start - start : form.x_end - start].tobytes(),
        rows[:, form.y_start - start : form.y_end - start].tobytes(),
        users,
    )


def _countable(form: UsualForm) -> int:
    """Return how many frames may follow each other before their numbers are wrong or look new."""
    if not 1 <= form.examples <= limits.examples_per_frame_max:
        return 0
    if form.number_end - form.number_start == 1 and form.sequence <= _FIXINT_MAX:
        # Perhaps its own tag, which no greater number is.
        return (_FIXINT_MAX - form.sequence) // form.examples + 1
    return (limits.integer_max - form.sequence) // form.examples


def _alike(rows: NDArray[np.uint8], form: UsualForm, start: int) -> NDArray[np.uint8]:
    """Return the first frames as far as they equal the first one outside numbers and columns."""
    users = form.end if form.users_start is None else form.users_start
    fixed = (
        (start, form.number_start),
        (form.number_end, form.x_start),
        (form.x_end, form.y_start),
        (form.y_end, users),
    )
    for first, end in fixed:
        part = rows[:, first - start : end - start]
        if part.tobytes() != part[0].tobytes() * len(part):
            rows = rows[: _leading((part == part[0]).all(axis=1))]
    return rows


def _consecutive(rows: NDArray[np.uint8], form: UsualForm, start: int) -> NDArray[np.uint8]:
    """Return the first frames as far as each one's number is the one after the last example."""
    column = rows[:, form.number_start - start : form.number_end - start].tobytes()
    numbers = np.frombuffer(column, _NUMBERS[form.number_end - form.number_start])
    due = np.arange(len(rows), dtype=np.uint64) * np.uint64(form.examples) + np.uint64(
        form.sequence
    )
    return rows[: _leading(numbers == due)]


def _leading(good: NDArray[np.bool_]) -> int:
    """Return how many values are true before the first one that is not."""
    return len(good) if good.all() else int(good.argmin())
