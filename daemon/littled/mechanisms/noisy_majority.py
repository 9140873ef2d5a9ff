"""The majority of votes with noise: private aggregation of teachers, in the best law for zCDP.

Source: Papernot and others, "Semi-supervised Knowledge Transfer for Deep Learning from Private
Training Data" (Laplace noise) and "Scalable Private Learning with PATE" (Gaussian noise). The law
that is used in place of the Gaussian one is our own; it rests on the inequality of Kearns and Saul,
"Large Deviation Methods for Approximate Probabilistic Inference", proven after Jaakkola and
Jordan, "Bayesian Parameter Estimation via Variational Methods".

Mechanism. Of k voters n_1 say 1 and n_0 = k - n_1 say 0.

- *laplace*: 1 iff n_1 + Z_1 > n_0 + Z_0 with independent discrete Laplace noise, P[z]
  proportional to exp(-v |z|).
- *concentrated*: 1 with log-odds l(n_1 - n_0), where l(-t) = -l(t), l(0) = 0, l(1) = sqrt(2) v, and
  from there on two votes more of a lead add

      v / sqrt(K(l)) or a little less,    K(l) = tanh(l / 2) / (4 l),    K(0) = 1/8.

  So log-odds begin as a line of slope sqrt(2) v and end as a parabola, v^2 t^2 / 4. It is the
  majority with noise on the lead, P[Z > t] = 1 / (1 + exp(l(t))).

Guarantee: with Laplace noise pure 2v-DP, by the concentrated law v^2-zCDP, both up to a total
variation of `total_variation`. The proofs are in PRIVACY.md, section 13 (Majority).

For small v that is nearly what an answer costs, whatever the lead. The majority with Gaussian noise
of the same price costs as much only where it is nearly certain, and so errs more.

Neighbouring relation: replace one example. Voters hold disjoint, public sets of positions.

Sensitivity: one voter changes its vote at most, so each count changes by at most 1.

Shapes: counts as ints and uint64 (`words`,) words; the answer is an int.

Edge cases: equal votes are answered by a fair coin, and equal noisy counts by 0. Pure, the coin of
`littled.mechanisms.votes` errs less than Laplace noise at the same price, and is what to use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from math import isqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.powers import NO_RATE, scaled_exponential
from littled.written import write_exactly

Noise = Literal["laplace", "concentrated"]

# Below, no number of votes that a window has says anything; above, no vote is ever contradicted.
RATE_MIN, RATE_MAX = Fraction(1, 1 << 20), Fraction(1 << 6)

PROBABILITY_BITS = 64
# Log-odds and odds are multiples of 2^-192.
ODDS_BITS = 192
ONE = 1 << ODDS_BITS
# K is found anew whenever the log-odds have grown by so much: 2^-5.
PIECE = ONE >> 5


@dataclass(frozen=True)
class NoisyMajority:
    """The answer to the votes of `voters` at rate v, with either law of noise.

    rate: a float is taken as it is written. ValueError for no voters at all, or a rate that is out
    of range; TypeError for one that is no number.
    """

    rate: Fraction
    voters: int
    noise: Noise

    def __post_init__(self) -> None:
        """Refuse what no votes can be counted with."""
        write_exactly(self, "rate")
        _ = self._law
        if self.voters < 1:
            raise ValueError("a vote needs at least one voter")

    def prepare(self) -> None:
        """Make the table that answers are read from, which may take a second."""
        self._law.prepare()

    def answer(self, ones: int, zeros: int, words: NDArray[np.uint64]) -> int:
        """The answer to so many votes. ValueError for other words, or votes that cannot be."""
        if words.shape != (self.words,) or words.dtype != np.uint64:
            raise ValueError(f"an answer to votes takes uint64 words, {self.words} of them")
        if min(ones, zeros) < 0 or ones + zeros != self.voters:
            raise ValueError("votes must be those of all voters")
        return int(self._law.answer(ones, zeros, words))

    @property
    def words(self) -> int:
        """Words that one answer takes."""
        return self._law.words

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation of one answer from the ideal one."""
        return self._law.total_variation

    @cached_property
    def _law(self) -> "LaplaceCounts | ConcentratedLead":
        if self.noise == "laplace":
            return LaplaceCounts(self.rate)
        return ConcentratedLead(self.rate, self.voters)


@dataclass(frozen=True)
class LaplaceCounts:
    """The larger of two counts with discrete Laplace noise of rate v on each."""

    rate: Fraction

    words: ClassVar[int] = 2 * DiscreteLaplace.WORDS

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
        _ = self._noise

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate)

    def prepare(self) -> None:
        """Do nothing: there is no table."""

    def answer(self, ones: int, zeros: int, words: NDArray[np.uint64]) -> bool:
        """Whether the noisy count of ones is the larger."""
        half = DiscreteLaplace.WORDS
        return ones + self._noise.sample(words[:half]) > zeros + self._noise.sample(words[half:])

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation of one answer from the ideal one: that of two noises."""
        return 2 * self._noise.total_variation


@dataclass(frozen=True)
class ConcentratedLead:
    """An answer that follows the lead among `voters` as fast as v^2-zCDP allows."""

    rate: Fraction
    voters: int

    words: ClassVar[int] = 1

    # Bound on the total variation of one answer from the ideal one (`threshold`).
    total_variation: ClassVar[Fraction] = Fraction(1, 1 << 63)

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
        if not isinstance(self.rate, Fraction):
            raise TypeError(NO_RATE)
        if not RATE_MIN <= self.rate <= RATE_MAX:
            raise ValueError(f"a rate must be from {RATE_MIN} to {RATE_MAX}, not {self.rate}")

    def prepare(self) -> None:
        """Make the table."""
        _ = self._losing

    def answer(self, ones: int, zeros: int, words: NDArray[np.uint64]) -> bool:
        """Whether 1 is drawn, by one comparison."""
        return int(words[0]) < self.threshold(ones - zeros)

    def threshold(self, lead: int) -> int:
        """2^64 P[1] for a lead of the votes for 1, rounded to an integer below 2^64.

        P[1] is off by at most 2^-63: for a negative lead the odds are a lower bound within 2^-174
        (`_losing_odds`), and the quotient is rounded down to 2^-64; for a positive one it is what
        is left to 2^64 - 1 of the opposite lead; equal votes give 2^63, which is exact.
        """
        if not lead:
            return 1 << (PROBABILITY_BITS - 1)
        place = abs(lead) // 2
        losing = int(self._losing[place]) if place < len(self._losing) else 0
        return losing if lead < 0 else (1 << PROBABILITY_BITS) - 1 - losing

    @property
    def _losing(self) -> NDArray[np.uint64]:
        return _losing_thresholds(self.rate, self.voters)


@lru_cache(maxsize=16)
def _losing_thresholds(rate: Fraction, voters: int) -> NDArray[np.uint64]:
    """floor(2^64 x / (1 + x)) for odds x against leads 0, 2, ..., or 1, 3, ..., up to `voters`.

    As long as it is not 0; uint64, read-only.
    """
    odds = islice(_losing_odds(rate, voters % 2 == 1), voters // 2 + 1)
    chances = ((lower << PROBABILITY_BITS) // (ONE + lower) for _, lower in odds)
    table = np.fromiter(takewhile(bool, chances), dtype=np.uint64)
    table.flags.writeable = False
    return table


def _losing_odds(rate: Fraction, odd: bool) -> Iterator[tuple[int, int]]:
    """l and exp(-l) in units of 2^-192, for leads 0, 2, 4, ..., or 1, 3, 5, ... if `odd`.

    Log-odds l are exact: they are what the law is made of. Odds are lower bounds: the first one of
    a piece is less than 2 units too small, each further one at most 3 more
    (`littled.mechanisms.powers`), and a piece has at most 2^14 of them, as steps are at least
    2^-19. So they are within 2^-174.
    """
    level = isqrt(2 * _square(rate)) if odd else 0
    while True:
        odds = scaled_exponential(Fraction(level, ONE), ODDS_BITS) if level else ONE
        step = _step(rate, level, odds)
        factor = scaled_exponential(Fraction(step, ONE), ODDS_BITS)
        for _ in range(max(1, PIECE // step)):
            yield level, odds
            odds = odds * factor >> ODDS_BITS
            level += step


def _step(rate: Fraction, level: int, odds: int) -> int:
    """v / sqrt(K(l)) in units of 2^-192, or a little less; `odds` is a lower bound of exp(-l)."""
    if not level:
        return isqrt(8 * _square(rate))
    # 1 / K = 4 l (1 + exp(-l)) / (1 - exp(-l)), which is smaller for a smaller exponential
    return isqrt(4 * _square(rate) * level * (ONE + odds) // (ONE * (ONE - odds)))


def _square(rate: Fraction) -> int:
    """v^2 in units of 2^-384, rounded down."""
    squared = rate * rate
    return (squared.numerator << (2 * ODDS_BITS)) // squared.denominator
