"""Threshold tests with fresh noise and a plain threshold.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithm 2 and Lemma 3.2 (after
Cohen and Lyu), with integer noise, and with constants proven here in place of the paper's O().

Mechanism. At every step t one fresh nu_t, discrete Laplace of rate e, P[z] proportional to
exp(-e |z|). The test at t says Above iff nu_t >= g_t, where the gap g_t is the threshold minus the
query; the threshold has no noise. It is used in two ways:

- *trigger*: tests go on until the first Above, the fire; released is at which step, if any;
- *stage test*: tests go on until the first Below; they make up one *segment*.

Guarantee: with kappa(e) = e / ln(1 + exp(-e)) and any f, 0 < f < 1 (Lemma D below),

- the positions of all fires of a season are (max(e, kappa(e) ln(1/f)), f)-DP;
- a segment is (e + kappa(e) ln(1/f), f)-DP;

each up to a total variation of `precision_error(steps)`. The failure mass f is a set of transcripts
outside which the loss is bounded whatever other mechanisms release between the tests.

Neighbouring relation: replace one example of the stream.

Sensitivity: trigger: as in `littled.mechanisms.above_threshold`, in one epoch of the season the
queries differ by one constant c in {-1, 0, 1} from the replaced position on, in all others they are
equal. Stage test: every query differs by -1, 0 or 1, in any order.

Shapes: gaps int64 (n,), words uint64 (n,), one of each per step; or `Gaps` of n steps.

Edge cases: no steps are never Above; a gap beyond `reach` never is, and one below -reach is unless
its word is 2^64 - 1, for every int64. For small rates kappa(e) is about 1.44 e, so with f = 10^-9
the trigger costs 30 times what AboveThreshold costs with the same noise.

Lemma D. Let a = exp(-e), G(g) = P[nu >= g] and F(g) = P[nu < g] = 1 - G(g).

(1) *One test.* For every integer g, G(g) <= exp(e) G(g + 1), and
ln(F(g) / F(g - 1)) <= kappa * (-ln F(g)), with equality at g = 1.
The first: P[nu = z] <= exp(e) P[nu = z + 1] for every z. The second, for g <= 0: F(g) is
a^(1 - g) / (1 + a), so the left side is e, and -ln F(g) = (1 - g) e + ln(1 + a) >= ln(1 + a). For
g >= 1 let s = G(g) = a^g / (1 + a); then F(g) = 1 - s, and F(g - 1) = 1 - s / a with s / a < 1. The
quotient of ln(F(g) / F(g - 1)) and -ln F(g) is

    (sum over n >= 1 of (a^-n - 1) s^n / n) / (sum over n >= 1 of s^n / n),

an average of the rising numbers a^-n - 1 with weights that move to larger n as s grows. So it grows
with s and is largest at g = 1, where F(1) / F(0) = 1 / a and F(1) = 1 / (1 + a) make it kappa. As
nu is symmetric, G(g) = F(1 - g): the same holds with Above and Below exchanged, that is
F(g) <= exp(e) F(g - 1) and ln(G(g) / G(g + 1)) <= kappa * (-ln G(g)).

(2) *Hazard.* Let h_t be -ln of the probability that the test at t lets the tests go on: -ln F(g_t)
for a trigger, -ln G(g_t) for a stage test. Given everything before, h_t is fixed, and as nu_t is
fresh the probability to go on is exp(-h_t). So exp(h_1 + ... + h_t) times the indicator of having
gone on up to t is a martingale of mean 1, whatever the queries and the releases in between depend
on. Stopped at the first t where the sum of hazards exceeds z, its mean is still at most 1; so with
probability at most exp(-z) the tests go on through hazards of a larger sum than z. Let z = ln(1/f).

(3) *Trigger.* Only the epoch with the replaced position has factors that differ, and only from that
position on. c = -1: the neighbour's gaps are larger by 1; its Below factors are at least as large,
and its one Above factor is smaller by exp(e) at the most. c = +1: its gaps are smaller by 1; its
Above factor is at least as large, and its Below factors are smaller by exp(kappa h_t) at the most,
together by exp(kappa z) outside the mass f. c is one for the whole epoch, so the two do not add up.

(4) *Segment.* The neighbour's Above factors are smaller by exp(kappa h_t) at the most, together by
exp(kappa z) outside the mass f; its one Below factor by exp(e) at the most.

(5) Other mechanisms that release between the tests draw noise of their own, so on the transcripts
that are left the factors of a joint transcript multiply, and so do these bounds. QED.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.above_threshold import Gaps, first_above, first_fire
from littled.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True)
class CohenLyuTest:
    """Tests with fresh noise of rate e = `rate` against a threshold without noise."""

    rate: Fraction

    def __post_init__(self) -> None:
        """Refuse rates that are not exact or out of range."""
        _ = self._noise

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate)

    @property
    def reach(self) -> int:
        """A step whose gap is above this cannot be Above, whatever its word is; public."""
        return self._noise.reach

    def first_above(self, gaps: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        """Index of the first step that says Above, None if none does.

        `gaps` int64 (n,), threshold minus query; `words` uint64 (n,) uniform and independent.
        ValueError for other shapes or types.
        """
        return first_above(self._noise, gaps, words)

    def first_fire(self, gaps: Gaps, words: NDArray[np.uint64]) -> int | None:
        """`first_above(gaps.all(), words)`, sooner where few steps come near the threshold."""
        return first_fire(self._noise, gaps, words)

    def precision_error(self, steps: int) -> Fraction:
        """Bound on the total variation of at most this many steps from the ideal ones.

        A step's probability G is replaced by floor(2^64 G) / 2^64, at most 2^-64 away, whatever the
        queries are, so an adaptive sequence is coupled with the ideal one up to the sum. ValueError
        if steps < 0.
        """
        if steps < 0:
            raise ValueError("a number of steps cannot be negative")
        return Fraction(steps, 1 << 64)
