"""Sub-classes of a finite class as bit sets, and what is known of their Littlestone dimensions.

A class is a boolean matrix: rows are hypotheses, columns are points. A sub-class is a Python
integer whose bit i stands for the i-th *distinct* row, so that a restriction is one bitwise
operation and everything found out about a sub-class is kept under the sub-class itself. The
functions of this package put these sets together; callers only ever see matrices.

Finding the dimension is hard (`bounds_and_witness` says how hard), so every search here obeys a
cost limit.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUBCLASSES_MAX = 1_000_000


class CostExceeded(Exception):
    """The exact answer would visit more sub-classes than the caller allowed."""


def as_class(matrix: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`matrix` as booleans of shape (hypotheses, points).

    ValueError for any other shape, and for what is neither True nor False, 1 nor 0.
    """
    try:
        given = np.asarray(matrix)
    except ValueError:
        raise ValueError("the rows of a class need the same length, one label a point") from None
    if given.dtype != np.bool_ and not _is_zero_or_one(given):
        raise ValueError("a class is a matrix of True and False, or of 1 and 0")
    if given.ndim != 2:
        raise ValueError(
            f"a class is a matrix of hypotheses by points, not an array of {given.ndim} dimensions"
        )
    return given.astype(bool)


def _is_zero_or_one(array: NDArray[Any]) -> bool:
    """Whether all entries are numbers 0 and 1; text of digits is none."""
    if array.dtype.kind == "O":
        numbers = all(isinstance(entry, int | float | np.number | np.bool_) for entry in array.flat)
        return numbers and bool(np.isin(array.astype(float), (0, 1)).all())
    return array.dtype.kind in "iuf" and bool(np.isin(array, (0, 1)).all())


class SubClasses:
    """The sub-classes of one matrix, and memoised bounds on their Littlestone dimensions.

    `everything` is the whole class, `ones[x]` the rows that say 1 at point x, and `rows[i]` the
    first row of the matrix that bit i stands for.
    """

    def __init__(self, matrix: NDArray[np.bool_], subclasses_max: int = SUBCLASSES_MAX) -> None:
        """Number the distinct rows; ValueError for an array that is no matrix."""
        matrix = as_class(matrix)
        first: dict[bytes, int] = {}
        for row, packed in enumerate(np.packbits(matrix, axis=1)):
            first.setdefault(packed.tobytes(), row)
        self.rows = tuple(first.values())
        self.points = matrix.shape[1]
        distinct = matrix[np.array(self.rows, dtype=np.intp)]
        self.ones = tuple(map(_bit_set, distinct.T))
        self.everything = (1 << len(self.rows)) - 1
        self.subclasses_max = subclasses_max
        self._visited = 0
        self._bounds: dict[int, tuple[int, int]] = {}

    def charge(self, steps: int = 1, what: str = "sub-classes") -> None:
        """Count steps of a search, each a sub-class unless said; CostExceeded beyond the limit."""
        self._visited += steps
        if self._visited > self.subclasses_max:
            raise CostExceeded(f"the exact answer needs more than {self.subclasses_max} {what}")

    # -- restriction -------------------------------------------------------------------------

    def restricted(self, rows: int, point: int, label: int | bool) -> int:
        """Those of `rows` that say `label` at `point`."""
        return rows & self.ones[point] if label else rows & ~self.ones[point]

    def parts(self, rows: int, columns: Iterable[int] | None = None) -> list[int]:
        """One side of each different way in which a point divides `rows` into two parts.

        The side without the lowest row stands for both: points that say the same or the opposite
        everywhere divide alike. Ways are in the order of the first point that divides so.
        """
        lowest = rows & -rows
        found: dict[int, None] = {}
        for column in self.ones if columns is None else columns:
            part = rows & column
            found[rows ^ part if part & lowest else part] = None
        found.pop(0, None)
        return list(found)

    def point_of(self, rows: int, part: int) -> int:
        """The first point that divides `rows` into `part` and the rest."""
        other = rows ^ part
        return next(x for x, ones in enumerate(self.ones) if rows & ones in (part, other))

    # -- Littlestone dimension ---------------------------------------------------------------

    def bounds(self, rows: int) -> tuple[int, int]:
        """What is known of the dimension so far, without a search: least and greatest value."""
        size = rows.bit_count()
        if size <= 2:
            return size - 1, size - 1  # two different rows differ at some point
        return self._bounds.get(rows, (1, size.bit_length() - 1))

    def dimension(self, rows: int) -> int:
        """Littlestone dimension of `rows`; -1 for the empty class, as is usual."""
        lower, upper = self.bounds(rows)
        while lower < upper and self.at_least(rows, lower + 1):
            lower += 1
        return lower

    def at_least(self, rows: int, depth: int, columns: Sequence[int] | None = None) -> bool:
        """Whether a complete tree of this depth, at least 0, is shattered by `rows`.

        `columns` are parts of a larger class that divide `rows` in every way in which points do.
        """
        lower, upper = self.bounds(rows)
        if depth <= lower or depth > upper:
            return depth <= lower
        if rows not in self._bounds:
            self.charge()
        self._bounds[rows] = lower, upper
        if self._shattering_part(rows, depth, columns) is None:
            self._bounds[rows] = lower, depth - 1
            return False
        self._bounds[rows] = depth, upper
        return True

    def _shattering_part(
        self, rows: int, depth: int, columns: Sequence[int] | None = None
    ) -> int | None:
        """A part such that it and the rest both have dimension at least `depth` - 1."""
        parts = self.parts(rows, columns)
        size, least = rows.bit_count(), 1 << depth - 1
        large = [part for part in parts if least <= part.bit_count() <= size - least]
        for part in sorted(large, key=lambda part: abs(2 * part.bit_count() - size)):
            fewer, more = sorted((part, rows ^ part), key=int.bit_count)
            if self.at_least(fewer, depth - 1, parts) and self.at_least(more, depth - 1, parts):
                return part
        return None

    def shattering_point(self, rows: int, depth: int) -> int:
        """The root of a tree of this depth, at least 1, that `rows` shatters; it must exist."""
        part = self._shattering_part(rows, depth)
        assert part is not None
        return self.point_of(rows, part)


def _bit_set(column: NDArray[np.bool_]) -> int:
    """Bit set of the rows that say 1 in this column."""
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")
