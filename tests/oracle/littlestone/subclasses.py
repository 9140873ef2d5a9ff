"""What only the definitions ask of the sub-classes of a matrix: rows, SOAs, matrices."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, SubClasses


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
    """The sub-classes of one matrix, which can be listed, and have an SOA."""

    def __init__(self, matrix: NDArray[np.bool_], subclasses_max: int = SUBCLASSES_MAX) -> None:
        """Number the distinct rows; ValueError for an array that is no matrix."""
        super().__init__(matrix, subclasses_max)
        self._soa: dict[int, int] = {}

    def shattering_rows(self, rows: int, depth: int) -> int:
        """Rows enough to shatter a tree of this depth, one for each leaf; it must exist."""
        if depth == 0:
            return rows & -rows
        part = self._shattering_part(rows, depth)
        assert part is not None
        one = self.shattering_rows(part, depth - 1)
        return one | self.shattering_rows(rows ^ part, depth - 1)

    # -- the standard optimal algorithm ------------------------------------------------------

    def standard_optimal(self, rows: int) -> int:
        """The SOA hypothesis of a non-empty sub-class, as the bit set of the points it says 1 to.

        Source: Lyu, section 4: 0 where restricting to label 0 keeps the dimension, else 1.
        """
        if rows not in self._soa:
            whole = self.dimension(rows)
            self._soa[rows] = sum(
                1 << point
                for point, ones in enumerate(self.ones)
                if rows & ones and not self.at_least(rows & ~ones, whole)
            )
        return self._soa[rows]

    # -- hypotheses as bit sets of the points they say 1 to ----------------------------------

    def hypothesis(self, row: int) -> int:
        """The hypothesis that bit `row` of a sub-class stands for."""
        return sum(1 << point for point, ones in enumerate(self.ones) if ones >> row & 1)

    def as_rows(self, hypotheses: Iterable[int]) -> NDArray[np.bool_]:
        """Hypotheses as a boolean matrix, shape (hypotheses, points)."""
        found = [[bool(each >> point & 1) for point in range(self.points)] for each in hypotheses]
        return np.array(found, dtype=bool).reshape(len(found), self.points)

    def matrix_of(self, rows: int) -> NDArray[np.bool_]:
        """The sub-class as a matrix, shape (members, points)."""
        return self.as_rows(map(self.hypothesis, bits_of(rows)))
