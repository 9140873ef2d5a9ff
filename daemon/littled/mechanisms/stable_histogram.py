"""Stable histograms: every candidate whose noisy score reaches a threshold, all at once.

Source: Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing Search Queries and Clicks Privately", and
Bun, Nissim, Stemmer, "Simultaneous Private Learning of Multiple Concepts", with integer noise, with
vetoes, and releasing which candidates pass but not their counts; constants are proven here.

Mechanism. Each example does one of three things: it *votes* for one candidate, or it *vetoes* one
candidate, or nothing. Candidates are those with at least one vote; the score of a candidate is its
votes minus its vetoes. Each candidate gets noise of its own, nu, discrete Laplace of rate e,
P[z] proportional to exp(-e |z|), and passes iff score + nu >= B. Released is the set of those that
pass. What nobody votes for never passes, so the domain need not be listed.

Guarantee: with delta_1 = P[nu >= B - 1] = exp(-e (B - 1)) / (1 + exp(-e)) for B >= 2 (and 1 below),
one histogram is delta_1-approximately 2e-DP, and delta_1-approximately (c e^2)-zCDP, where c is the
most by which one score changes: 2, or 1 where nothing vetoes. All this up to a total variation of
`total_variation(candidates)` (Lemma E below).

Neighbouring relation: replace one example; adding and removing one are special cases, as an example
may do nothing.

Sensitivity: what an example does touches one candidate by 1. So the scores of neighbours differ by
2 in sum: by at most 1 at two candidates, or by at most 2 at one, if a vote for it becomes a veto.
An example that votes for several candidates is NOT covered.

Shapes: scores int64 (n,), words uint64 (n,), one of each per candidate; the indices of those that
pass, rising, int64.

Edge cases: n = 0 passes nothing; every int64 score is accepted. A score below B - `reach` never
passes, and one far above B does unless its word is 2^64 - 1.

Lemma E. Let G(g) = P[nu >= g], F(g) = P[nu < g] = 1 - G(g), and let S, S' be the candidates of two
neighbours, with scores s, s'.

(1) *One bit.* G(g) <= exp(e) G(g + 1) and F(g) <= exp(e) F(g - 1) for every integer g, because
P[nu = z] <= exp(e) P[nu = z + 1] and P[nu = z] <= exp(e) P[nu = z - 1] for every z. G falls with g
and F rises. So if the score of a common candidate differs by k, the probability that it passes, and
the probability that it does not, differ by a factor of at most exp(k e) in either direction.

(2) *Only on one side.* A candidate of S without S' has a vote in one data set and none in the
other: its one vote is that of the replaced example, so there is at most one such candidate u, and
its score is at most 1. It passes with probability G(B - s(u)) <= G(B - 1), which is delta_1 for
B >= 2. Likewise at most one candidate u' of S' without S.

(3) Let W be the outputs that contain neither u nor u'. P[not W] <= delta_1, P'[not W] <= delta_1.
The noise of different candidates is independent, so P_W, the law given W, is a product over the
candidates in both S and S': u does not pass, which has probability 1 under both. The differences of
the scores of the common candidates are k_1, k_2, ... with a sum of absolute values of at most 2. By
(1) P_W and P'_W are within the factor exp(e (|k_1| + |k_2| + ...)) <= exp(2e) of one another.

(4) A pure (k e)-DP bit is (k e)^2 / 2-zCDP (Bun and Steinke 2016, Proposition 3.3), and independent
bits add up: e^2 / 2 twice, for two candidates, is e^2; where one score changes by 2, it is 2 e^2.

(5) With w the larger of the masses outside W, both laws are mixtures with the same weights,
P = (1 - w) P_W + w Q and P' = (1 - w) P'_W + w Q', as in `littled.mechanisms.sparse_sample`. That
is what approximately DP and approximately zCDP mean. QED.

*For users.* Let n examples be left out and n' take their place, n, n' <= c. In (2) the votes of the
candidates of S without S' are the user's, m_i of candidate i, and sum to at most n; so one of them
passes with probability at most the sum of G(B - m_i), which is for B > c at most
delta_1 = max(c exp(e), exp(c e)) exp(-e B) / (1 + exp(-e)), as in
`littled.mechanisms.sparse_sample`. In (3) the |k_i| sum to at most n + n': pure 2ce. In (4) the sum
of (k_i e)^2 / 2 is at most c^2 e^2 without vetoes, where votes taken away sum to at most c, and so
do the votes added; and 2 c^2 e^2 with vetoes: the sum of squares is at most the square of the sum,
2c. For histograms of disjoint parts of the examples the same sums run over all of them, and they
fail with 2 delta_1, or with delta_1 if each has as many of both sides.

The constant 2e cannot be improved: if a vote moves from a candidate with score B to one with score
B - 1, the probability that the first passes and the second does not falls by exp(2e) exactly.

Which word serves which candidate does not matter: the law of the output is computed for each data
set on its own, and for each of them the words are uniform and independent. So candidates may come
in any order that is a function of the data set, such as that of their ids.

Only the bits are released, so a candidate is one Bernoulli draw of probability G(B - score): it
passes iff a uniform 64-bit word is below floor(2^64 G(B - score)), an entry of an integer table.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace

# Scores and B are int64; this leaves room for every comparison.
THRESHOLD_MAX = 1 << 62


@dataclass(frozen=True)
class StableHistogram:
    """Lets candidates pass whose score and noise of `rate` e reach `threshold` B."""

    rate: Fraction
    threshold: int

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        _ = self._noise
        if not 0 <= self.threshold <= THRESHOLD_MAX:
            raise ValueError("the threshold of a stable histogram must be from 0 to 2^62")

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate)

    @property
    def reach(self) -> int:
        """A candidate whose score is further below the threshold cannot pass; public."""
        return self._noise.reach

    def passing(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Indices, rising, of the candidates that pass.

        `scores` int64 (n,), `words` uint64 (n,) uniform and independent. ValueError for other
        shapes or types.
        """
        if scores.dtype != np.int64 or words.dtype != np.uint64:
            raise ValueError("a stable histogram takes scores of int64 and words of uint64")
        if scores.ndim != 1 or scores.shape != words.shape:
            raise ValueError("a stable histogram takes one word for each score, in one dimension")
        reach, threshold = self._noise.reach, self.threshold
        # clipped before subtracting, so that no difference overflows
        rows = threshold - np.clip(scores, threshold - reach - 1, threshold + reach)
        rows += reach
        return np.flatnonzero(words < self._noise.survival_table[rows]).astype(np.int64)

    def total_variation(self, candidate_count: int) -> Fraction:
        """Bound on the total variation of histograms of so many candidates in all.

        A candidate's probability G is replaced by floor(2^64 G) / 2^64, at most 2^-64 away,
        whatever the scores are, so an adaptive sequence is coupled with the ideal one up to the
        sum. ValueError if the count is negative.
        """
        if candidate_count < 0:
            raise ValueError("a number of candidates cannot be negative")
        return Fraction(candidate_count, 1 << 64)
