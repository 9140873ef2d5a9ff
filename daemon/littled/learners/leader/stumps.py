"""The stumps that a scorecard learner compares: one column at least a bucket, or below it.

A stump has a number, in the order of columns, of buckets, and of "at least" before "below"; the
last two numbers are "never" and "always". Only those are drawn that the plan's shape allows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels
from littled.classes.capabilities import Integers
from littled.learners.leader.features import FeatureMap
from littled.learners.leader.shaping import FALLING, RISING

NOTHING_DRAWN: Final = -1


@dataclass(frozen=True)
class Stumps:
    """All stumps over the buckets of a class. `monotone`: as in the parameters."""

    features: FeatureMap
    monotone: str = ""

    @property
    def never(self) -> int:
        """The number of the stump that is always 0; the next one is always 1."""
        return 2 * (self.features.cell_count - len(self.features.rules.sizes))

    @cached_property
    def drawn(self) -> Integers:
        """The numbers that may be drawn: no stump falls where points have to rise."""
        allowed = [np.array([self.never, self.never + 1])]
        first = 0
        for place, size in enumerate(self.features.rules.sizes):
            way = self.monotone[place] if self.monotone else ""
            numbers = np.arange(2 * first, 2 * (first + size - 1))
            if way in (RISING, FALLING):
                numbers = numbers[numbers % 2 == (way == FALLING)]
            allowed.append(numbers)
            first += size - 1
        found: Integers = np.concatenate(allowed).astype(np.int64)
        return found

    def sums(self, cells: NDArray[np.uint32], signs: Integers) -> Integers:
        """For each cell the signs of the rows that have it, int64 (cells,); exact below 2^53."""
        repeated = np.tile(signs, len(cells))
        found = np.bincount(cells.ravel(), repeated, self.features.cell_count)
        return found.astype(np.int64)

    def scores(self, sums: Integers) -> Integers:
        """Right answers of each stump that may be drawn, less those of "never": int64 (drawn,).

        sums: of each cell how many more rows have the label 1 than 0. An example changes each
        number of right answers by 1 at the most, and all by the same number of "never".
        """
        found = np.empty(self.never + 2, dtype=np.int64)
        first, total = 0, 0
        for start, size in zip(
            self.features.first_cells.tolist(), self.features.rules.sizes, strict=True
        ):
            behind = np.cumsum(sums[start : start + size][::-1])[::-1]
            total = int(behind[0])
            found[2 * first : 2 * (first + size - 1) : 2] = behind[1:]
            found[2 * first + 1 : 2 * (first + size - 1) : 2] = total - behind[1:]
            first += size - 1
        found[-2:] = 0, total
        return found[self.drawn]

    def points(self, number: int) -> tuple[int, Integers]:
        """Of a stump the constant, and each cell's part, -1, 0 or 1: above 0 where it says 1.

        They add up to 1 or -1 for every row.
        """
        parts = np.zeros(self.features.cell_count, dtype=np.int64)
        if number >= self.never:
            return 2 * (number - self.never) - 1, parts
        column, bucket, below = self._cut(number)
        start = int(self.features.first_cells[column])
        sides = np.where(np.arange(self.features.rules.sizes[column]) >= bucket, 1, -1)
        parts[start : start + len(sides)] = -sides if below else sides
        return 0, parts

    def column(self, number: int) -> int | None:
        """The column that a stump looks at; None if it is always the same, or not drawn."""
        return self._cut(number)[0] if 0 <= number < self.never else None

    def _cut(self, number: int) -> tuple[int, int, bool]:
        """The column of a stump, its bucket, and whether it is 1 below it."""
        cut, below = divmod(number, 2)
        for column, size in enumerate(self.features.rules.sizes):
            if cut < size - 1:
                return column, cut + 1, bool(below)
            cut -= size - 1
        raise ValueError(f"there is no stump {number}")

    def labels(self, number: int, cells: NDArray[np.uint32]) -> Labels:
        """What a stump says of n rows, 0 if none is drawn: uint8 (n,)."""
        column = self.column(number)
        if column is None:
            return np.full(cells.shape[1], number == self.never + 1, dtype=np.uint8)
        _, bucket, below = self._cut(number)
        found: Labels = (cells[column] >= self.features.first_cells[column] + bucket) ^ below
        return found.astype(np.uint8)


def labelled(constant: int, points: Integers, cells: NDArray[np.uint32]) -> Labels:
    """Where the points of a row and the constant sum above 0: uint8 (n,)."""
    found: Labels = (points.take(cells).sum(axis=0) + constant > 0).astype(np.uint8)
    return found
