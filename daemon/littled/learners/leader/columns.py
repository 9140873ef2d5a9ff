"""The columns of a matrix that grows by one after the other: a value, as all state of a learner."""

from dataclasses import dataclass

import numpy as np

from littled.classes.capabilities import Integers

# Room for so many columns at first; it doubles when it is full.
FIRST_COLUMNS = 64


@dataclass(slots=True)
class _Room:
    """Columns that several values share: each has the first ones, and no value changes those."""

    cells: Integers
    written: int


class Columns:
    """`count` columns of a room, one after the other, int64 (rows, count). Immutable.

    One more column is another value. It is written behind those of this value, if nobody has
    written there yet; else all are copied. So n columns, one after the other, take about as much
    work as 2 n.
    """

    __slots__ = ("_first", "_room", "count")

    def __init__(self, rows: int, columns: Integers | None = None) -> None:
        """No columns of so many rows, or these ones (rows, count)."""
        self.count = 0 if columns is None else columns.shape[1]
        cells = np.empty((rows, max(FIRST_COLUMNS, self.count)), dtype=np.int64)
        if columns is not None:
            cells[:, : self.count] = columns
        self._room, self._first = _Room(cells, self.count), 0

    @property
    def cells(self) -> Integers:
        """All columns, (rows, count), not to be changed."""
        return self._room.cells[:, self._first : self._first + self.count]

    def plus(self, column: Integers, most: int | None = None) -> "Columns":
        """These and one column (rows,) more; of all of them the last `most`, if that is given."""
        room, first = self._room, self._first
        end = first + self.count
        if room.written != end or end == room.cells.shape[1]:
            rows = len(room.cells)
            cells = np.empty((rows, max(FIRST_COLUMNS, 2 * self.count)), dtype=np.int64)
            cells[:, : self.count] = self.cells
            room, first, end = _Room(cells, self.count), 0, self.count
        room.cells[:, end] = column
        room.written += 1
        more = Columns.__new__(Columns)
        more._room, more.count = room, self.count + 1
        if most is not None:
            more.count = min(most, more.count)
        more._first = end + 1 - more.count
        return more
