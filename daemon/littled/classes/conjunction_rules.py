"""All conjunctions of few bits, by their numbers.

The number of a conjunction has a ternary digit for each bit, the lowest for bit 0: 0 and 1 for the
literal that asks for this bit, 2 for none. The last rule is always 0.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points, Scores
from littled.classes.capabilities import NumberedRules
from littled.classes.labelings import RepresentedRules
from littled.classes.numbered import counts_by_label
from littled_protocol.rules import ConjunctionRule

# 3^12 + 1 rules are the most that fit into a dense selection.
DENSE_BITS_MAX = 12


@dataclass(frozen=True)
class ConjunctionRules(NumberedRules, RepresentedRules):
    """The conjunctions of literals over `bits` bits, at most DENSE_BITS_MAX, and the constant 0."""

    bits: int

    @property
    def rule_count(self) -> int:
        """3^bits conjunctions and the rule that is always 0."""
        return int(3**self.bits) + 1

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 at each point, (2, 2^bits)."""
        return np.zeros((2, 1 << self.bits), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples at their points."""
        return statistics + counts_by_label(x, y, 1 << self.bits)

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements: all labels 0, and each example inside adds 1 for label 1, -1 for label 0.

        The sums over all subcubes at once: each axis of two values gets their sum as a third.
        """
        zeros, ones = statistics
        sums = ones - zeros
        for bit in range(self.bits):
            # the axes of lower bits have three values already, those of higher bits still two
            pairs = sums.reshape(-1, 2, 3**bit)
            sums = np.concatenate((pairs, pairs.sum(axis=1, keepdims=True)), axis=1)
        agreements = sums.ravel() + zeros.sum()
        scores: Scores = np.append(agreements, zeros.sum())
        return scores

    def rule(self, index: int) -> ConjunctionRule:
        """The conjunction `index`."""
        if index == 3**self.bits:
            return ConjunctionRule(self.bits, self._mask, self._mask)
        digits = [index // 3**bit % 3 for bit in range(self.bits)]
        ones, zeros = (
            sum(1 << bit for bit, digit in enumerate(digits) if digit == value) for value in (1, 0)
        )
        return ConjunctionRule(self.bits, ones, zeros)

    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        """What the conjunctions with these numbers say to one point: 1 if it breaks no literal."""
        broken = int(point[0]) << self.bits | ~int(point[0]) & self._mask
        labels: NDArray[np.bool_] = _literals_by_number(self.bits)[numbers] & np.uint32(broken) == 0
        return labels

    def representatives(self, points: Points) -> NDArray[np.int64]:
        """The conjunctions that are the smallest around some of these points (n,), or none.

        A labeling is represented by the smallest conjunction around the points labeled 1.
        Each conjunction's own points among them have common literals: those of the smallest one
        with the same labeling. All rules at once, like `scores`: 12 bytes a rule.
        """
        whole = (1 << 2 * self.bits) - 1
        common = np.full(1 << self.bits, whole, dtype=np.uint32)
        ones = points.astype(np.uint32)
        common[points] = ones | (~ones & np.uint32(self._mask)) << np.uint32(self.bits)
        for bit in range(self.bits):
            pairs = common.reshape(-1, 2, 3**bit)
            both = pairs[:, :1] & pairs[:, 1:]
            common = np.concatenate((pairs, both), axis=1)
        own = _literals_by_number(self.bits)
        return np.flatnonzero(np.append(common.ravel(), np.uint32(whole)) == own)

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1


@cache
def _literals_by_number(bits: int) -> NDArray[np.uint32]:
    """The literals of every rule of few bits, by its number, (3^bits + 1,)."""
    literals = np.zeros(1, dtype=np.uint32)
    for bit in range(bits):
        own = np.array([1 << bits + bit, 1 << bit, 0], dtype=np.uint32)
        literals = (own[:, None] | literals).ravel()
    return np.append(literals, np.uint32((1 << 2 * bits) - 1))
