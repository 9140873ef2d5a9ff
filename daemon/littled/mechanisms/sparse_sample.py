"""Private sparse sampling with integer scores: the exponential mechanism over what is proposed.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithm 1 and Lemma 3.1 (after
Ghazi, Kumar, Manurangsi), with explicit constants and vetoes.

Mechanism. Each example (or teacher) does one of three things: it *proposes* a list of at most L
candidates, each of them once, cut by a rule that looks at this list alone; or it *vetoes* any set
of candidates, each of them once; or nothing. The candidates offered are those with at least one
proposal, their score is proposals minus vetoes, and bottom has the public score B. Candidate u is
drawn with probability proportional to exp(e * score(u)), bottom with one to exp(e * B).

Guarantee: a draw is delta_1-approximately (e^2 / 2)-zCDP and also (2e, delta_1)-DP, with
delta_1 = min(1, L * exp(e * (1 - B))), up to a total variation of `total_variation(candidates)`
(Lemma B: PRIVACY.md, section 4). R draws from the same scores cost R times that.

Neighbouring relation: replace one example (or the list of one teacher); adding and removing one
are special cases, as an example may do nothing.

Sensitivity: with one example replaced, the changes of all scores and of bottom's (0) lie in one
interval of width 2. An example that proposes some candidates AND vetoes others is NOT covered:
replaced by one that does the opposite, changes from -2 to 2 occur together. Where at most c
examples of one user are left out and at most c others take their place, the interval has a width of
2c (Lemma B for users: PRIVACY.md, section 14). The list of one teacher who has all of a user's
examples is one list.

Shapes: scores int64 (n,), words uint64 (`WORDS`,); the index of the drawn candidate, or None for
bottom.

Edge cases: n = 0 always gives bottom. `list_cap` and `bottom_score` are what the price is computed
from; that no list is longer is the caller's part, scores alone cannot show it. With B <= 1 delta_1
is 1: nothing is promised.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.exponential import ExponentialMechanism
from littled.written import write_exactly

# Scores and B are int64; this leaves room for every comparison.
BOTTOM_SCORE_MAX = 1 << 62


@dataclass(frozen=True)
class SparseSample:
    """Draws a proposed candidate, or bottom, at `rate` e with lists of at most `list_cap`."""

    rate: Fraction
    list_cap: int
    bottom_score: int

    WORDS: ClassVar[int] = ExponentialMechanism.WORDS

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        write_exactly(self, "rate")
        _ = self._mechanism
        if self.list_cap < 1:
            raise ValueError("sparse sampling needs lists of at least one candidate")
        if not 0 <= self.bottom_score <= BOTTOM_SCORE_MAX:
            raise ValueError("the score of bottom must be from 0 to 2^62")

    @cached_property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.rate)

    def sample(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        """An index into scores int64 (n,), n >= 0, or None for bottom, from `WORDS` words.

        ValueError for other shapes or types.
        """
        if scores.dtype != np.int64 or scores.ndim != 1:
            raise ValueError("sparse sampling takes scores of int64 in one dimension")
        index = self._mechanism.sample(np.append(scores, np.int64(self.bottom_score)), words)
        return index if index < len(scores) else None

    def total_variation(self, candidate_count: int) -> Fraction:
        """Bound on the total variation of a draw from the ideal one, at most this many offered."""
        return self._mechanism.total_variation(candidate_count + 1)
