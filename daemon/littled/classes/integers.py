"""Integers from a least one on: `x >= v`, over so many numbers that none can be listed.

Source: Bun, "A Computational Separation between Private Learning and Online Learning", Definition
12, in which such a number is a robust minimum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from littled.classes.base import ClassError, Labels, Points
from littled.classes.capabilities import OrderedNumbers
from littled.classes.hypothesis import HypothesisClass
from littled.classes.wide import fits_bits, ranked, to_ints
from littled_protocol.rules import AtLeastRule, Rule


@dataclass(frozen=True)
class Integers(HypothesisClass, OrderedNumbers):
    """The rules x >= v over the numbers of `bits` bits, and the rule that is always 0."""

    bits: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"integers needs a number of bits from 1 to 128, not {self.bits}")

    @property
    def name(self) -> str:
        """`integers:BITS`."""
        return f"integers:{self.bits}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """BITS: binary search over 2^BITS + 1 rules, exact."""
        return self.bits

    @property
    def dual_vc_dimension(self) -> int:
        """1: of two rules the later one cannot say 1 where the earlier one says 0."""
        return 1

    @property
    def vc_dimension(self) -> int:
        """1, exact: of two points the greater one is never alone 0."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and width."""
        return {"class": "integers", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every number has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> AtLeastRule:
        """Always 0."""
        return AtLeastRule(self.bits, None)

    @property
    def longest_rule(self) -> AtLeastRule:
        """The greatest number: the most digits, or the longest integer."""
        return AtLeastRule(self.bits, (1 << self.bits) - 1)

    @property
    def number_bits(self) -> int:
        """All numbers of the class."""
        return self.bits

    def rule_from(self, least: int) -> AtLeastRule:
        """x >= least."""
        return AtLeastRule(self.bits, None if least >> self.bits else least)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The least of the examples' numbers, or the constant 0, with the fewest errors."""
        numbers, ranks = ranked(x)
        signed = np.where(y == 1, np.int64(1), np.int64(-1))
        gains = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.add.at(gains, ranks, signed)
        # what is right more often from each number on than nowhere; the last entry is nowhere
        ahead = np.cumsum(gains[::-1])[::-1]
        best = int(np.argmax(ahead))
        return (
            self.first_rule()
            if best == len(numbers)
            else self.rule_from(to_ints(numbers[best : best + 1])[0])
        )
