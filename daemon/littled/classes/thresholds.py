"""Thresholds on a line: `x >= t`.

Source: the standard example of a class with Littlestone dimension floor(log2 of its size); see
Alon, Bun, Livni, Malliaris and Moran, "Private and Online Learnability are Equivalent", on
thresholds inside any class of large dimension.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    DataSet,
    HypothesisClass,
    Labels,
    Points,
    Scores,
    errors_allowed,
    evenly_cut,
)
from littled_protocol.rules import ThresholdRule


@dataclass(frozen=True)
class Thresholds(HypothesisClass):
    """The rules x >= t, t = 0..size, over the points 0..size-1."""

    size: int

    def __post_init__(self) -> None:
        """Refuse domains that are empty or too large for dense selection (ClassError)."""
        if not 1 <= self.size < DENSE_RULES_MAX:
            raise ClassError(
                f"thresholds needs a size from 1 to {DENSE_RULES_MAX - 1}, not {self.size}"
            )

    @property
    def name(self) -> str:
        """`thresholds:SIZE`."""
        return f"thresholds:{self.size}"

    @property
    def point_type(self) -> str:
        """The smallest unsigned integer that holds the domain."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """floor(log2(size + 1)): binary search over size + 1 rules, exact."""
        return (self.size + 1).bit_length() - 1

    def to_dict(self) -> dict[str, Any]:
        """Name and size."""
        return {"class": "thresholds", "size": self.size}

    def contains(self, points: Points) -> bool:
        """Whether every point is below `size`."""
        return not len(points) or int(points.max()) < self.size

    def first_rule(self) -> ThresholdRule:
        """The middle: the majority vote of all rules, wrong on at most half of the domain."""
        return ThresholdRule(size=self.size, threshold=(self.size + 1) // 2)

    @property
    def rule_count(self) -> int:
        """One rule for every threshold."""
        return self.size + 1

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 at each point, (2, size)."""
        return np.zeros((2, self.size), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples at their points."""
        cells = x.astype(np.int64) + self.size * y.astype(np.int64)
        return statistics + np.bincount(cells, minlength=2 * self.size).reshape(2, self.size)

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements of t: labels 1 at or above t and labels 0 below t."""
        return _agreements(statistics)

    def rule(self, index: int) -> ThresholdRule:
        """The threshold `index`."""
        return ThresholdRule(size=self.size, threshold=index)

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """All approximately consistent thresholds, evenly cut.

        On a small domain a class that is p * 2^(d - LDim)-irreducible is a single hypothesis, so
        the essential list is the version space itself.
        """
        consistent = np.ones(self.size + 1, dtype=bool)
        for x, y in data_sets:
            agreements = _agreements(self.add(self.empty_statistics(), x, y))
            consistent &= len(x) - agreements <= errors_allowed(tolerance, len(x))
        found = np.flatnonzero(consistent)
        return [int(t) for t in found[evenly_cut(len(found), cap)]]

    def essential_rule(self, key: Hashable) -> ThresholdRule:
        """The threshold named by its value."""
        assert isinstance(key, int)
        return self.rule(key)


def _agreements(statistics: NDArray[np.int64]) -> Scores:
    """Agreements of every threshold 0..size from label counts (2, size)."""
    zeros, ones = statistics
    below = np.concatenate(([0], np.cumsum(zeros)))
    above = np.concatenate((np.cumsum(ones[::-1])[::-1], [0]))
    return (below + above).astype(np.int64)
