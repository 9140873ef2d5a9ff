"""Counts of examples with discrete Laplace noise.

Source: Ghosh, Roughgarden, Sundararajan, "Universally Utility-maximizing Privacy Mechanisms" (the
two-sided geometric mechanism); over disjoint sets of examples McSherry, "Privacy Integrated
Queries", Theorem 4 (parallel composition).

Mechanism. To each of some counts a noise of its own is added, P[z] proportional to exp(-e |z|).

Guarantee: pure k e-DP for all counts of all releases together, if neighbours move them by at most
k in sum (PRIVACY.md, section 19), up to a total variation of `precision_error`. It is tight.

Neighbouring relation: that of the caller, who says what k is.

Sensitivity: an example that is counted once, in one count, and takes the place of another one moves
one count by 1 if it can only be counted there, else two counts by 1 each.

Shapes: counts are integers, words uint64 (counts, `WORDS`).

Edge cases: no counts need no words; a result may be negative, or above what can have been counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.written import write_exactly


@dataclass(frozen=True)
class NoisyCounts:
    """Counts with noise of one `rate`; ValueError for what is no rate."""

    rate: Fraction

    WORDS: ClassVar[int] = DiscreteLaplace.WORDS

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
        _ = self._noise

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate)

    def released(self, counts: Sequence[int], words: NDArray[np.uint64]) -> tuple[int, ...]:
        """The counts with noise, from words of their own; ValueError for another shape."""
        if words.shape != (len(counts), self.WORDS):
            raise ValueError(f"noise on {len(counts)} counts takes {self.WORDS} words for each")
        drawn = zip(counts, words, strict=True)
        return tuple(count + self._noise.sample(own) for count, own in drawn)

    def precision_error(self, counts: int) -> Fraction:
        """Bound on the total variation of so many counts from ideal noise; ValueError below 0."""
        if counts < 0:
            raise ValueError("a number of counts cannot be negative")
        return counts * self._noise.total_variation
