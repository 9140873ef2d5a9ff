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
(Lemma B below). R draws from the same scores cost R times that.

Neighbouring relation: replace one example (or the list of one teacher); adding and removing one
are special cases, as an example may do nothing.

Sensitivity: with one example replaced, the changes of all scores and of bottom's (0) lie in one
interval of width 2:

    from \\ to    nothing     propose      veto
    nothing      [0, 0]      [0, 1]       [-1, 0]
    propose      [-1, 0]     [-1, 1]      [-2, 0]
    veto         [0, 1]      [0, 2]       [-1, 1]

An example that proposes some candidates AND vetoes others is NOT covered: replaced by one that does
the opposite, changes from -2 to 2 occur together.

Where at most c examples of one user are left out and at most c others take their place, each change
lies in [-1, 0] or in [0, 1], so that those of all scores lie in an interval of width 2c. See
Lemma B for users below. The list of one teacher who has all of a user's examples is one list.

Shapes: scores int64 (n,), words uint64 (`WORDS`,); the index of the drawn candidate, or None for
bottom.

Edge cases: n = 0 always gives bottom. `list_cap` and `bottom_score` are what the price is computed
from; that no list is longer is the caller's part, scores alone cannot show it. With B <= 1 delta_1
is 1: nothing is promised.

Lemma B. Let P, P' be the two output distributions, S, S' the candidates offered, C = those offered
in both, and bottom.
(1) P[not C] <= delta_1: a candidate of S without S' had the replaced example's proposal and no
other, so there are at most L of them, each of score at most 1 (vetoes only lower it), while the
normaliser is at least exp(e * B). By symmetry P'[not C] <= delta_1.
(2) On C, the conditional distributions P_C and P'_C are exponential mechanisms over the same
candidates, with changes of score in an interval of width 2 (table above). So log(P_C / P'_C) lies
in an interval of width 2e that contains 0: (e^2 / 2)-zCDP and pure 2e-DP, as is shown in
`littled.mechanisms.exponential`.
(3) With d = max(P[not C], P'[not C]) <= delta_1 both can be written with the same weights,
P = (1 - d) P_C + d Q and P' = (1 - d) P'_C + d Q', where d Q is all of P outside C and what is left
of P on C, (P[C] - (1 - d)) P_C, which is not negative. This is d-approximate zCDP as defined. Also
P[A] <= (1 - d) P_C[A] + d <= (1 - d) exp(2e) P'_C[A] + d <= exp(2e) P'[A] + d: (2e, d)-DP.
Bounding P / P' on C without conditioning would give the larger 2e + ln(1 + L exp(-e B)).

*For users.* With n examples left out and n' put in their place, n, n' <= c, (2) holds with a width
of n + n' and so a range of (n + n') e: (c^2 e^2 / 2)-zCDP and pure 2ce-DP. In (1) the candidates of
S without S' have proposals of the user's examples only. With m_i of them candidate i has a score of
at most m_i <= n, and the m_i sum to at most n L. So P[not C] is at most the sum of the
exp(e (m_i - B)), and this at most n L times the largest exp(e m) / m, m = 1..n, times exp(-e B); as
the logarithm of exp(e m) / m is convex in m, the largest is at an end:
delta_1 = L max(c exp(e), exp(c e)) exp(-e B).
For draws from disjoint parts of the examples, n_1, n_2, ... of one side and n'_1, n'_2, ... of the
other in them, that sum to at most c each: the ranges sum to at most 2ce, so that all draws together
are pure 2ce-DP; their squares sum to at most (2ce)^2; and as d of (3) is at most L max(n_j, n'_j)
max over m <= c of exp(e m) / m times exp(-e B), they fail with 2 delta_1, or delta_1 if n_j = n'_j.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.exponential import ExponentialMechanism

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
