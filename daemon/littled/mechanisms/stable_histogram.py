"""Stable histograms: every candidate whose noisy score reaches a threshold, all at once.

Source: Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing Search Queries and Clicks Privately", and
Bun, Nissim, Stemmer, "Simultaneous Private Learning of Multiple Concepts", with integer noise, with
vetoes, and releasing which candidates pass but not their counts, with constants.

Mechanism. Each example does one of three things: it *votes* for one candidate, or it *vetoes* one
candidate, or nothing. Candidates are those with at least one vote; the score of a candidate is its
votes minus its vetoes. Each candidate gets noise of its own, nu, discrete Laplace of rate e,
P[z] proportional to exp(-e |z|), and passes iff score + nu >= B. Released is the set of those that
pass. What nobody votes for never passes, so the domain need not be listed.

Guarantee: with delta_1 = P[nu >= B - 1] = exp(-e (B - 1)) / (1 + exp(-e)) for B >= 2 (and 1 below),
one histogram is delta_1-approximately 2e-DP, and delta_1-approximately (c e^2)-zCDP, where c is the
most by which one score changes: 2, or 1 where nothing vetoes. All this up to a total variation of
`total_variation(candidates)` (Lemma E: PRIVACY.md, section 4; for users, section 14).

Neighbouring relation: replace one example; adding and removing one are special cases, as an example
may do nothing.

Sensitivity: what an example does touches one candidate by 1. So the scores of neighbours differ by
2 in sum: by at most 1 at two candidates, or by at most 2 at one, if a vote for it becomes a veto.
An example that votes for several candidates is NOT covered.

Shapes: scores int64 (n,), words uint64 (n,), one of each per candidate; the indices of those that
pass, rising, int64.

Edge cases: n = 0 passes nothing; every int64 score is accepted. A score below B - `reach` never
passes, and one far above B does unless its word is 2^64 - 1.

Only the bits are released, so a candidate is one Bernoulli draw of probability G(B - score): it
passes iff a uniform 64-bit word is below floor(2^64 G(B - score)), an entry of an integer table.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.written import write_exactly

# Scores and B are int64; this leaves room for every comparison.
THRESHOLD_MAX = 1 << 62


@dataclass(frozen=True)
class StableHistogram:
    """Lets candidates pass whose score and noise of `rate` e reach `threshold` B."""

    rate: Fraction
    threshold: int

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        write_exactly(self, "rate")
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
