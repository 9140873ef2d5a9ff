"""Threshold tests with fresh noise and a plain threshold.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithm 2 and Lemma 3.2 (after
Cohen and Lyu), with integer noise, and with constants in place of the paper's O().

Mechanism. At every step t one fresh nu_t, discrete Laplace of rate e, P[z] proportional to
exp(-e |z|). The test at t says Above iff nu_t >= g_t, where the gap g_t is the threshold minus the
query; the threshold has no noise. It is used in two ways:

- *trigger*: tests go on until the first Above, the fire; released is at which step, if any;
- *stage test*: tests go on until the first Below; they make up one *segment*.

Guarantee: with kappa(e) = e / ln(1 + exp(-e)) and any f, 0 < f < 1 (Lemma D:
PRIVACY.md, section 4),

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
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.above_threshold import Gaps, first_above, first_fire
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.written import write_exactly


@dataclass(frozen=True)
class CohenLyuTest:
    """Tests with fresh noise of rate e = `rate` against a threshold without noise."""

    rate: Fraction

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
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
