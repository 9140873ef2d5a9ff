"""Tallies: every candidate's votes are watched by a threshold of its own, from example to example.

Source: AboveThreshold (Dwork and Roth, "The Algorithmic Foundations of Differential Privacy",
Algorithm 1) for each candidate of a stable histogram (Korolova, Kenthapadi, Mishra, Ntoulas,
"Releasing Search Queries and Clicks Privately"), with one-sided integer noise, with constants.

Mechanism. Each example votes for one candidate or for none, and a vote stays. With a candidate's
first vote a *spell* of it begins: rho >= 0 is drawn, P[rho = r] proportional to exp(-e_1 r). After
each example from then on the candidate passes with probability exp(-e_2 g), or 1 if g <= 0, where
g = B + rho - votes is its gap; noise of different steps and candidates is independent. Released is
after which example which candidates pass. Its passing ends the spell of a candidate, and so may
anything that was released.

Guarantee: with T steps, `failure`-approximately pure (e_1 + e_2)-DP for all that passes in a season
together, where failure = T m (1 + exp(-e_2)) exp(-e_2 (B - 1)) and
m = (1 - exp(-e_1)) / (1 - exp(-e_1 - e_2)) (Lemma T: PRIVACY.md, section 4), up to the total
variation of `total_variation(votes)`.

Neighbouring relation: replace one example; adding and removing one are special cases, as an example
may vote for nothing.

Sensitivity: a replaced example takes one vote from one candidate and gives one to another, from its
position on. An example that votes for several candidates is NOT covered.

Shapes: one candidate at a time; words are uint64 (`words`,) and gaps Python integers.

Edge cases: a gap of 0 or less passes at once; one that would wait longer than all steps never does.

While its gap is the same a candidate passes at each step with the same probability p. So how long
it waits follows a geometric law, and the steps need not be drawn one by one: the waiting time is
drawn at each vote, and drawn anew at the next. The binary digits of W - 1 are independent if W is
geometric, digit j being 1 with probability s^(2^j) / (1 + s^(2^j)), s = 1 - p; the same is true of
the digits below one that is known to be 0.
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, scaled_exponential, weight_floors
from littled.written import write_exactly

# A draw compares a number of so many bits, two words, with a table's.
DRAW_BITS = 128
DRAW_WORDS = DRAW_BITS // 64
# Bits with which the powers of s are computed; each squaring doubles what the first one lacks.
POWER_BITS = 512
# So many steps at the most: 2^64 squarings' worth of lost bits leave more than enough of them.
STEPS_MAX = 1 << 64


@dataclass(frozen=True)
class TallyTests:
    """The tests of all candidates of a season of `steps` examples.

    rate: e_2, of the tests. threshold_rate: e_1, of the noise of a spell.
    """

    rate: Fraction
    threshold_rate: Fraction
    steps: int

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate, and no steps or too many."""
        write_exactly(self, "rate", "threshold_rate")
        check_rate(self.rate)
        check_rate(self.threshold_rate)
        if not 1 <= self.steps <= STEPS_MAX:
            raise ValueError("tallies need a number of steps from 1 to 2^64")

    @property
    def digits(self) -> int:
        """Binary digits of a waiting time within all steps."""
        return self.steps.bit_length()

    @property
    def words(self) -> int:
        """Words that a vote takes: for rho, for whether anything passes at all, for the digits."""
        return DRAW_WORDS * (2 + self.digits)

    def threshold_noise(self, words: NDArray[np.uint64]) -> int:
        """Rho of a spell from the words of its first vote; drawn once, kept secret."""
        # entries are negative and rise: of P[rho >= k], all those that the draw is below count
        return bisect_left(self._survivals, -_number(self._checked(words), 0))

    def wait(self, gap: int, words: NDArray[np.uint64]) -> int | None:
        """Steps up to and with the one that passes, the vote's own being the first; None: never."""
        words = self._checked(words)
        if gap <= 0:
            return 1
        never, ones = waiting_law(self.rate, gap, self.digits)
        if _number(words, 1) < never:
            return None
        before = sum(1 << j for j, one in enumerate(ones) if _number(words, 2 + j) < one)
        return 1 + before if before < self.steps else None

    def total_variation(self, votes: int) -> Fraction:
        """Bound on the total variation of so many votes in all from the ideal law.

        P[rho >= k] is rounded down by less than 2^-128 for each k of the table, and is below that
        beyond it. Each of the other draws is one bit, whose probability is off by at most 2^-127.
        Both hold whatever the votes are. ValueError if the number is negative.
        """
        if votes < 0:
            raise ValueError("a number of votes cannot be negative")
        drawn = len(self._survivals) + 1 + 2 * (1 + self.digits)
        return Fraction(votes * drawn, 1 << DRAW_BITS)

    @cached_property
    def _survivals(self) -> tuple[int, ...]:
        """-floor(2^128 exp(-e_1 k)) for k = 1, 2, ... as long as it is not 0."""
        floors = weight_floors(self.threshold_rate, DRAW_BITS)
        next(floors)
        return tuple(-floor for floor in floors)

    def _checked(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if words.dtype != np.uint64 or words.shape != (self.words,):
            raise ValueError(f"a vote takes {self.words} words of uint64")
        return words


@lru_cache(maxsize=4096)
def waiting_law(rate: Fraction, gap: int, digits: int) -> tuple[int, tuple[int, ...]]:
    """How a candidate waits whose gap is above 0, in units of 2^-128.

    The chance that it passes in none of 2^digits steps, and for each binary digit of W - 1, lowest
    first, the chance that it is 1 if the candidate passes in these steps.
    """
    one = 1 << POWER_BITS
    # s is within 2 units of this; what is lost at most doubles with each squaring, and one is added
    power = one - scaled_exponential(rate * gap, POWER_BITS)
    ones = []
    for _ in range(digits):
        ones.append((power << DRAW_BITS) // (one + power))
        power = power * power >> POWER_BITS
    return power >> (POWER_BITS - DRAW_BITS), tuple(ones)


def _number(words: NDArray[np.uint64], draw: int) -> int:
    """Number `draw` of those that the words make, below 2^128."""
    high, low = words[DRAW_WORDS * draw : DRAW_WORDS * (draw + 1)].tolist()
    number: int = high << 64 | low
    return number
