"""Thresholds on a line: `x >= t`.

Source: the standard example of a class with Littlestone dimension floor(log2 of its size); see
Alon, Bun, Livni, Malliaris and Moran, "Private and Online Learnability are Equivalent", on
thresholds inside any class of large dimension.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    Ballot,
    ClassError,
    Labels,
    Points,
    Scores,
)
from littled.classes.capabilities import NestedRules
from littled.classes.chunks import ChunkCuts
from littled.classes.labelings import RepresentedRules
from littled.classes.numbered import NumberedPoints, NumberedVersionSpaces
from littled_protocol.rules import Rule, ThresholdRule


@dataclass(frozen=True)
class Thresholds(NumberedPoints, NestedRules, NumberedVersionSpaces, RepresentedRules):
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

    @property
    def dual_vc_dimension(self) -> int:
        """1: of two thresholds the greater one cannot say 1 where the smaller one says 0."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and size."""
        return {"class": "thresholds", "size": self.size}

    def first_rule(self) -> ThresholdRule:
        """The middle: the majority vote of all rules, wrong on at most half of the domain."""
        return ThresholdRule(size=self.size, threshold=(self.size + 1) // 2)

    @property
    def longest_rule(self) -> ThresholdRule:
        """The greatest threshold: greater integers are no shorter."""
        return ThresholdRule(size=self.size, threshold=self.size)

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

    def number(self, rule: Rule) -> int:
        """Its threshold."""
        assert isinstance(rule, ThresholdRule)
        return rule.threshold

    def mistakes(self, statistics: NDArray[np.int64], number: int) -> tuple[int, int]:
        """Labels 0 at or above the threshold, labels 1 below it."""
        zeros, ones = statistics
        return int(zeros[number:].sum()), int(ones[:number].sum())

    def essential_p_min(self, d: int) -> int:
        """2, whatever d is and however large the domain: all consistent thresholds are essential.

        Where the SOA of a set of thresholds says 0 and then 1, these two points leave one
        threshold, and where it is constant, the first or the last point does.
        """
        return 2

    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        """What the thresholds with these numbers say to one point."""
        return numbers <= int(point[0])

    @property
    def vc_dimension(self) -> int:
        """1, exact: of two points the greater one is never alone 0."""
        return 1

    def labelings_max(self, n: int) -> int:
        """One for each different point, the least with label 1, and one for none, exact."""
        return min(n, self.size) + 1

    def representatives(self, points: Points) -> NDArray[np.int64]:
        """The different points (n,) as thresholds, and the rule that is always 0, rising.

        A labeling is represented by its least point with label 1; without one, by 0 always.
        """
        present = np.zeros(self.size + 1, dtype=np.bool_)
        present[points] = True
        present[self.size] = True
        return np.flatnonzero(present)

    @property
    def lines(self) -> int:
        """One."""
        return 1

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """A threshold with the fewest errors, in the middle between two points of the chunk."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def ballot(self, rules: Sequence[Rule]) -> Ballot:
        """The rules with a threshold up to x say 1 to x: a search in the sorted thresholds."""
        thresholds = [rule.threshold for rule in rules if isinstance(rule, ThresholdRule)]
        ordered = np.sort(np.array(thresholds, dtype=np.int64))
        return lambda points: np.searchsorted(ordered, points, side="right").astype(np.int64)

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same of all chunks at once."""
        cuts = ChunkCuts.of(x.astype(np.int64), y, chunk_numbers, chunks, self.size)
        least, greatest = cuts.gaps(cuts.items.best(cuts.gains, chunks))
        middles = (least + greatest + 1) // 2
        return [self.rule(threshold) for threshold in middles.tolist()]


def _agreements(statistics: NDArray[np.int64]) -> Scores:
    """Agreements of every threshold 0..size from label counts (2, size)."""
    zeros, ones = statistics
    agreements = np.empty(len(zeros) + 1, dtype=np.int64)
    agreements[0] = ones.sum()
    np.cumsum(zeros - ones, out=agreements[1:])
    agreements[1:] += agreements[0]
    return agreements
