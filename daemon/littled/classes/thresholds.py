"""Thresholds on a line: `x >= t`.

Source: the standard example of a class with Littlestone dimension floor(log2 of its size); see
Alon, Bun, Livni, Malliaris and Moran, "Private and Online Learnability are Equivalent", on
thresholds inside any class of large dimension.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    NumberedPoints,
    Scores,
)
from littled_protocol.rules import ThresholdRule


@dataclass(frozen=True)
class Thresholds(NumberedPoints):
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

    def first_rule(self) -> ThresholdRule:
        """The middle: the majority vote of all rules, wrong on at most half of the domain."""
        return ThresholdRule(size=self.size, threshold=(self.size + 1) // 2)

    @property
    def point_count(self) -> int:
        """One point for each number below `size`."""
        return self.size

    @property
    def rule_count(self) -> int:
        """One rule for every threshold."""
        return self.size + 1

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements of t: labels 1 at or above t and labels 0 below t."""
        return _agreements(statistics)

    def rule(self, index: int) -> ThresholdRule:
        """The threshold `index`."""
        return ThresholdRule(size=self.size, threshold=index)


def _agreements(statistics: NDArray[np.int64]) -> Scores:
    """Agreements of every threshold 0..size from label counts (2, size)."""
    zeros, ones = statistics
    below = np.concatenate(([0], np.cumsum(zeros)))
    above = np.concatenate((np.cumsum(ones[::-1])[::-1], [0]))
    return (below + above).astype(np.int64)
