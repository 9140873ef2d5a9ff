"""One private answer from the votes of k voters: the coin of the exponential mechanism.

Source: the private prediction for realizable data of Dwork and Feldman, "Privacy-preserving
Prediction", Theorem 4.1 (Lemma 9 in Dagan and Feldman); McSherry and Talwar for the mechanism.

Mechanism. Of k voters n_1 say 1 and n_0 = k - n_1 say 0. The answer is y with probability
proportional to exp(v n_y), so it is 1 with probability 1 / (1 + exp(-v (n_1 - n_0))).

Guarantee: pure 2v-DP, of bounded range 2v and so (v^2 / 2)-zCDP, up to a total variation of
`PRECISION` (PRIVACY.md, section 13, Realizable). It is nearly tight for many voters: where all
agree, the rare answer's probability changes by the factor
exp(2v) (1 + exp(-v k)) / (1 + exp(-v (k - 2))).

Neighbouring relation: replace one example. Voters hold disjoint, public sets of positions.

Sensitivity: one voter changes its vote at most.

Shapes: ones int64 (m,), words uint64 (m,); answers uint8 (m,).

Edge cases: equal votes are answered by a fair coin, exactly. No vote is refused but one that is
negative or above k. Only the answer is released, so it is one comparison of a word with
floor(2^64 P[1]), as with the tests of `littled.mechanisms.above_threshold`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, weight_floors
from littled.written import write_exactly

PROBABILITY_BITS = 64
ODDS_BITS = 128
# Bound on the total variation of one answer from the ideal one (`VoteCoin.threshold`).
PRECISION = Fraction(1, 1 << 63)


@dataclass(frozen=True)
class VoteCoin:
    """Answers from the votes of `voters`, at rate v = `rate` for each vote.

    rate: a float is taken as it is written. ValueError for no voters at all, or a rate that is out
    of range; TypeError for one that is no number.
    """

    rate: Fraction
    voters: int

    def __post_init__(self) -> None:
        """Refuse what no votes can be counted with."""
        write_exactly(self, "rate")
        check_rate(self.rate)
        if self.voters < 1:
            raise ValueError("a vote needs at least one voter")

    def answers(self, ones: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """One answer for each number of votes for 1, `ones` int64 (m,), and uniform words (m,).

        ValueError for other shapes or types, or votes that cannot be.
        """
        if ones.dtype != np.int64 or words.dtype != np.uint64:
            raise ValueError("a vote takes counts of int64 and words of uint64")
        if ones.ndim != 1 or ones.shape != words.shape:
            raise ValueError("a vote takes one word for each count, in one dimension")
        if len(ones) and not (ones.min() >= 0 and ones.max() <= self.voters):
            raise ValueError("votes must be from 0 to the number of voters")
        return (words < _thresholds(self.rate, self.voters)[ones]).astype(np.uint8)

    def threshold(self, ones: int) -> int:
        """2^64 P[1] for this many votes for 1, rounded to an integer below 2^64.

        P[1] is off by at most 2^-63: for n_1 < n_0, with x = exp(-v (n_0 - n_1)), it is x / (1 + x)
        with x rounded down to 2^-128 and the quotient to 2^-64; for n_1 > n_0 it is what is left to
        2^64 - 1 of the case with the votes exchanged; equal votes give 2^63, which is exact.
        """
        return int(_thresholds(self.rate, self.voters)[ones])


@lru_cache(maxsize=16)
def _thresholds(rate: Fraction, voters: int) -> NDArray[np.uint64]:
    """Thresholds for 0 to `voters` votes for 1: uint64 (voters + 1,), read-only."""
    odds = list(islice(weight_floors(rate, ODDS_BITS), voters + 1))
    below = [
        (odds[behind] << PROBABILITY_BITS) // ((1 << ODDS_BITS) + odds[behind])
        if behind < len(odds)
        else 0
        for behind in range(voters, 0, -2)
    ]
    tie = [1 << (PROBABILITY_BITS - 1)] if voters % 2 == 0 else []
    above = [(1 << PROBABILITY_BITS) - 1 - bound for bound in reversed(below)]
    table = np.array([*below, *tie, *above], dtype=np.uint64)
    table.flags.writeable = False
    return table
