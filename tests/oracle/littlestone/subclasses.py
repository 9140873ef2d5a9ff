"""What only the definitions ask of the sub-classes of a matrix: rows, matrices, members."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SubClasses


def check_point(point: int, points: int) -> None:
    """ValueError unless `point` numbers one of the class's points."""
    if not 0 <= point < points:
        raise ValueError(f"the class has points 0 to {points - 1}, and {point} is none of them")


def bits_of(rows: int) -> Iterable[int]:
    """The members of a bit set, in rising order."""
    while rows:
        yield (rows & -rows).bit_length() - 1
        rows &= rows - 1


class ListedSubClasses(SubClasses):
    """The sub-classes of one matrix, which can be listed as matrices of their own."""

    def shattering_rows(self, rows: int, depth: int) -> int:
        """Rows enough to shatter a tree of this depth, one for each leaf; it must exist."""
        if depth == 0:
            return rows & -rows
        part = self._shattering_part(rows, depth)
        assert part is not None
        one = self.shattering_rows(part, depth - 1)
        return one | self.shattering_rows(rows ^ part, depth - 1)

    def matrix_of(self, rows: int) -> NDArray[np.bool_]:
        """The sub-class as a matrix, shape (members, points)."""
        return self.as_rows(map(self.hypothesis, bits_of(rows)))
