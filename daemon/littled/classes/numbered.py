"""Classes whose rules are numbered: how their examples are counted, and their version spaces."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import DataSet, Labels, Points, VersionSpace, errors_allowed, evenly_cut
from littled.classes.capabilities import NumberedRules, VersionSpaces
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import RULE_BYTES
from littled_protocol.rules import Rule

# Examples that are counted at a time: their cells, as numpy counts them, take 256 KiB.
COUNTED_AT_ONCE = 1 << 15


class NumberedPoints(HypothesisClass, NumberedRules):
    """A class over the points 0..point_count-1 whose rules are numbered, for dense selection."""

    @property
    @abstractmethod
    def point_count(self) -> int:
        """Number of points."""

    def contains(self, points: Points) -> bool:
        """Whether every point is below `point_count`."""
        return not len(points) or int(points.max()) < self.point_count

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 at each point, (2, point_count)."""
        return np.zeros((2, self.point_count), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples at their points."""
        return statistics + counts_by_label(x, y, self.point_count)


class NumberedVersionSpaces(NumberedRules, VersionSpaces):
    """Version spaces of a class whose rules are numbered: a key is a number."""

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> "NumberedVersionSpace":
        """The rules that err little enough on every data set, exactly."""
        consistent = np.ones(self.rule_count, dtype=np.bool_)
        for x, y in data_sets:
            consistent &= len(y) - self.agreements(x, y) <= errors_allowed(tolerance, len(y))
        return NumberedVersionSpace(np.flatnonzero(consistent).astype(np.int64))

    def essential_rule(self, key: Hashable) -> Rule:
        """The rule with this number."""
        assert isinstance(key, int)
        return self.rule(key)

    def space_bytes(self, examples: int, epochs: int) -> int:
        """Counts, and scores of all rules."""
        return 8 * RULE_BYTES * self.rule_count + examples * 64


@dataclass(frozen=True, eq=False)
class NumberedVersionSpace(VersionSpace):
    """Some rules of a class for dense selection, by their numbers in rising order, (rules,)."""

    numbers: NDArray[np.int64]

    def essential(self, cap: int) -> list[Hashable]:
        """The numbers of all rules, evenly cut.

        For every p and d with p * 2^(d - LDim) >= rules - 1, and also with p * 2^(d - LDim) >=
        number of points, LDim being the dimension of any part of the class. Such a part is
        irreducible only if it is a single rule: while two are left some point tells them apart,
        and its SOA label drops one; and labels of all points leave at most one. So every leaf of a
        decomposition is one rule and all rules are essential (Corollary 4.1, item 4).
        """
        return [int(number) for number in self.numbers[evenly_cut(len(self.numbers), cap)]]


def counts_by_label(x: Points, y: Labels, point_count: int) -> NDArray[np.int64]:
    """How many of the examples with label 0, and with label 1, lie at each point, (2, point_count).

    x: unsigned (n,), below `point_count`. Counted in the narrowest type and in pieces that stay
    close to the processor; IndexError for a point beyond the last.
    """
    cells = 2 * point_count
    counts = np.zeros(cells, dtype=np.int64)
    greatest = int(np.iinfo(x.dtype).max) + point_count
    kind = np.dtype("u2" if greatest < 1 << 16 else "u4" if greatest < 1 << 32 else "i8")
    step = max(COUNTED_AT_ONCE, cells)
    for start in range(0, len(y), step):
        labels = y[start : start + step].astype(kind)
        points = x[start : start + step].astype(kind, copy=False)
        found = np.bincount(labels * kind.type(point_count) + points, minlength=cells)
        if len(found) > cells:
            raise IndexError("a point lies beyond the last one")
        counts += found
    return counts.reshape(2, point_count)
