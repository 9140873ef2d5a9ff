"""The majority of two noisy vote counts: what private aggregation of teachers does.

Source: Papernot and others, "Semi-supervised Knowledge Transfer for Deep Learning from Private
Training Data" (Laplace noise) and "Scalable Private Learning with PATE" (Gaussian noise), with
integer noise; the discrete Gaussian and its price are those of Canonne, Kamath and Steinke, "The
Discrete Gaussian for Differential Privacy", Theorem 4.

Mechanism. Of k voters n_1 say 1 and n_0 = k - n_1 say 0. The answer is 1 iff n_1 + Z_1 > n_0 + Z_0
with independent noise, either discrete Laplace, P[z] proportional to exp(-v |z|), or discrete
Gaussian, P[z] proportional to exp(-v^2 z^2 / 2), of standard deviation about 1/v.

Guarantee: with Laplace noise pure 2v-DP, with Gaussian noise v^2-zCDP, up to a total variation of
`total_variation`. Proof: each count changes by at most 1 and has noise of its own, so the two noisy
counts are pure v-DP each, or (v^2 / 2)-zCDP each; the answer is a function of both.

Neighbouring relation: replace one example. Voters hold disjoint, public sets of positions.

Sensitivity: one voter changes its vote at most, so each count changes by at most 1.

Shapes: two counts as ints and uint64 (`WORDS`,) words; the answer is an int.

Edge cases: where the noisy counts are equal, the answer is 0. Pure, the coin of
`littled.mechanisms.votes` errs less at the same price, and is what to use.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism

Noise = Literal["laplace", "gaussian"]

# exp(-89) < 2^-127: the exponential mechanism gives a score that far below the best no weight.
EXPONENT_MAX = 89


@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise Z with P[Z = z] proportional to exp(-rate^2 z^2 / 2), z any integer.

    It is the exponential mechanism of rate `rate`^2 / 2 over z = -R, ..., R with score -z^2.
    """

    rate: Fraction

    WORDS: ClassVar[int] = ExponentialMechanism.WORDS

    def __post_init__(self) -> None:
        """Refuse rates that are not exact, or whose square is out of range."""
        _ = self._mechanism

    @cached_property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.rate * self.rate / 2)

    @cached_property
    def reach(self) -> int:
        """R, the least number with rate^2 R^2 / 2 >= 89; magnitudes beyond it never occur."""
        limit = 2 * EXPONENT_MAX / (self.rate * self.rate)
        return isqrt(-(-limit.numerator // limit.denominator)) + 1

    @cached_property
    def _scores(self) -> NDArray[np.int64]:
        return -(np.arange(-self.reach, self.reach + 1, dtype=np.int64) ** 2)

    def sample(self, words: NDArray[np.uint64]) -> int:
        """One value of Z from `WORDS` uniform words; ValueError for another shape."""
        return self._mechanism.sample(self._scores, words) - self.reach

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation distance between `sample` and Z.

        Proof. What lies beyond R has, with weight 1 at 0, a weight of at most
        2 exp(-v^2 R^2 / 2) / (exp(v^2 R) - 1) <= 2 exp(-89) / (v^2 R), as z = R + j has
        z^2 >= R^2 + 2 R j. With v R >= sqrt(178) > 13 and v > 1/182, which v^2 / 2 >= 2^-16 makes
        sure of, that is below 28 exp(-89) < 2^-123; the mechanism's own error comes on top.
        """
        return self._mechanism.total_variation(2 * self.reach + 1) + Fraction(1, 1 << 123)


@dataclass(frozen=True)
class NoisyMajority:
    """The answer to two vote counts with noise of rate v on each."""

    rate: Fraction
    noise: Noise

    def __post_init__(self) -> None:
        """Refuse rates that are not exact or out of range."""
        _ = self._noise

    @cached_property
    def _noise(self) -> DiscreteLaplace | DiscreteGaussian:
        kind = DiscreteLaplace if self.noise == "laplace" else DiscreteGaussian
        return kind(self.rate)

    @property
    def words(self) -> int:
        """Words that one answer takes: those of two noises."""
        return 2 * self._noise.WORDS

    def answer(self, ones: int, zeros: int, words: NDArray[np.uint64]) -> int:
        """1 iff the noisy count of ones is the larger; ValueError for another number of words."""
        half = self._noise.WORDS
        more = ones + self._noise.sample(words[:half]) > zeros + self._noise.sample(words[half:])
        return int(more)

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation of one answer from the ideal one: that of two noises."""
        return 2 * self._noise.total_variation
