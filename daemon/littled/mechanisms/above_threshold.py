"""The retrain trigger: AboveThreshold with one threshold noise per epoch.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithm 3, line 15, with the
classical AboveThreshold (Dwork and Roth, "The Algorithmic Foundations of Differential Privacy",
Algorithm 1) instead of the paper's Algorithm 2, and a smaller price.

Mechanism. At the start of an epoch one rho of rate e_1, at every step t one fresh nu_t of rate e_2,
all discrete Laplace, P[z] proportional to exp(-e |z|) at the rate e. Fire at the first t with
q_t + nu_t >= U + rho. Released is only at which step, if any, the epoch fires.

Guarantee: pure e-DP for the positions of all fires of a season, e being the larger of the two rates
(Lemma A: PRIVACY.md, section 4), up to a total variation of `precision_error(steps)` an epoch. It
is tight.

Neighbouring relation: replace one example of the stream.

Sensitivity: in the epoch that contains the replaced position t*, q'_t = q_t for t < t* and
q'_t = q_t + c for t >= t*, with one c in {-1, 0, 1} for the whole epoch; in every other epoch the
queries are equal. Counts of mistakes since the epoch began are of this kind, whether or not a
public function of t is subtracted. Queries that differ in another way are NOT covered by Lemma A: a
c that changes its sign within an epoch costs up to three times as much. Counts that differ by what
one user adds to them are covered by Lemma U, at another price (PRIVACY.md, section 14): for a user
of whom c mistakes are counted in a season c (e_1 + e_2), which is tight as well.

Shapes: gaps int64 (n,), words uint64 (n,), one of each per step; or `Gaps` of n steps.

Edge cases: no steps never fire; a gap beyond `reach` never fires and one below -reach fires unless
its word is 2^64 - 1, for every int64.

How it is computed: G falls as its gap grows. So a run of steps is compared with G at a gap that
none of them is below, and only those that would fire there are looked at exactly (`Gaps`). How long
that takes depends on how near the run is to its threshold; what is found, and which words are
taken, does not depend on the way.

Only the bit is released, so given rho a step is one Bernoulli draw of probability G(gap),
gap = U + rho - q_t: it is 1 iff a uniform 64-bit word is below floor(2^64 * G(gap)).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.written import write_exactly

# Steps of a run that are looked at one by one, rather than in two shorter runs: at least so many,
# and one in so many of a long run.
NEAR_STEPS = 64
NEAR_SHARE = 8


@dataclass(frozen=True)
class AboveThreshold:
    """The trigger with e_2 = `rate` for every step's noise and e_1 = `threshold_rate` for rho.

    `threshold_rate` None: the same rate for both.
    """

    rate: Fraction
    threshold_rate: Fraction | None = None

    WORDS: ClassVar[int] = DiscreteLaplace.WORDS

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate", "threshold_rate")
        _ = self._noise, self.threshold_law

    @cached_property
    def threshold_law(self) -> DiscreteLaplace:
        """The law of rho."""
        return self._noise if self.threshold_rate is None else DiscreteLaplace(self.threshold_rate)

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate)

    @property
    def reach(self) -> int:
        """A step whose gap is above this cannot fire, whatever its word is; public."""
        return self._noise.reach

    @property
    def noise_max(self) -> int:
        """No noise is above this, of a step or of a threshold, but for a chance of about 2^-64."""
        return max(self._noise.reach, self.threshold_law.reach)

    def threshold_noise(self, words: NDArray[np.uint64]) -> int:
        """The epoch's rho from `WORDS` words. Drawn once an epoch, kept secret, never redrawn."""
        return self.threshold_law.sample(words)

    def first_above(self, gaps: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        """Index of the first step that fires, None if none does.

        `gaps` int64 (n,) with gap = U + rho - q_t, `words` uint64 (n,) uniform and independent.
        ValueError for other shapes or types.
        """
        return first_above(self._noise, gaps, words)

    def first_fire(self, gaps: "Gaps", words: NDArray[np.uint64]) -> int | None:
        """`first_above(gaps.all(), words)`, sooner where few steps come near the threshold."""
        return first_fire(self._noise, gaps, words)

    def precision_error(self, steps: int) -> Fraction:
        """Bound on the total variation of an epoch of at most `steps` steps from the ideal one.

        rho is within `DiscreteLaplace.total_variation`; a step's probability G is replaced by
        floor(2^64 G) / 2^64, at most 2^-64 away; both hold whatever the queries are, so an
        adaptive sequence is coupled with the ideal one up to the sum. ValueError if steps < 0.
        """
        if steps < 0:
            raise ValueError("a number of steps cannot be negative")
        return self.threshold_law.total_variation + Fraction(steps, 1 << 64)


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of n consecutive steps of an epoch, worked out only where they are needed.

    The gap of step i is `before`, less the `counted` ones among steps 0 to i, plus the share
    floor((`earlier` + i + 1) * `rate`) of the epoch's steps that a public rate allows for.

    counted: bool (n,). rate: from 0 to 1. earlier: steps of the epoch before the first of these.
    """

    before: int
    counted: NDArray[np.bool_]
    rate: Fraction = Fraction(0)
    earlier: int = 0

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.counted)

    @property
    def least(self) -> int:
        """A gap that no step is below: all counted, and no more allowed for than at the first."""
        return self.before - int(np.count_nonzero(self.counted)) + self._allowed(self.earlier + 1)

    def at(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The gaps of the steps with these indices, int64."""
        counts = np.cumsum(self.counted, dtype=np.int32)[steps].astype(np.int64)
        gaps = self.before - counts
        if self.rate:
            # Python integers carry the long part, so that no season is long enough to overflow
            share = self.rate
            base, rest = divmod(self.earlier * share.numerator, share.denominator)
            gaps += base + (rest + (steps + 1) * share.numerator) // share.denominator
        return gaps

    def all(self) -> NDArray[np.int64]:
        """The gaps of all steps, int64 (n,)."""
        return self.at(np.arange(len(self), dtype=np.int64))

    def first(self, steps: int) -> "Gaps":
        """The gaps of so many steps from the first on."""
        return Gaps(self.before, self.counted[:steps], self.rate, self.earlier)

    def after(self, steps: int) -> "Gaps":
        """The gaps of the steps that follow so many."""
        before = self.before - int(np.count_nonzero(self.counted[:steps]))
        return Gaps(before, self.counted[steps:], self.rate, self.earlier + steps)

    def _allowed(self, steps: int) -> int:
        return steps * self.rate.numerator // self.rate.denominator


def first_fire(noise: DiscreteLaplace, gaps: Gaps, words: NDArray[np.uint64]) -> int | None:
    """Index of the first step whose fresh noise reaches its gap, None if none does.

    The same as `first_above` of all gaps. `words` uint64 (n,), one a step; ValueError otherwise.
    """
    if words.dtype != np.uint64 or words.shape != gaps.counted.shape:
        raise ValueError("a run of threshold tests takes one word of uint64 for each step")
    near = np.flatnonzero(words < noise.survival_word(gaps.least))
    if not len(near):
        return None
    if len(near) <= max(NEAR_STEPS, len(words) // NEAR_SHARE):
        fired = first_above(noise, gaps.at(near), words[near])
        return None if fired is None else int(near[fired])
    # The bound says little about so long a run: those of its halves are closer.
    half = len(words) // 2
    fired = first_fire(noise, gaps.first(half), words[:half])
    if fired is None:
        fired = first_fire(noise, gaps.after(half), words[half:])
        return None if fired is None else half + fired
    return fired


def first_above(
    noise: DiscreteLaplace, gaps: NDArray[np.int64], words: NDArray[np.uint64]
) -> int | None:
    """Index of the first step whose fresh noise reaches its gap, None if none does.

    `gaps` int64 (n,), `words` uint64 (n,) uniform and independent: a step is 1 iff its word is
    below floor(2^64 * P[nu >= gap]). ValueError for other shapes or types.
    """
    if gaps.dtype != np.int64 or words.dtype != np.uint64:
        raise ValueError("a threshold test takes gaps of int64 and words of uint64")
    if gaps.ndim != 1 or gaps.shape != words.shape:
        raise ValueError("a threshold test takes one word for each gap, in one dimension")
    table = noise.survival_table
    reach = len(table) // 2 - 1
    # Far from the threshold, the usual case, no word can be below the table's value 0.
    if not len(gaps) or int(gaps.min()) > reach:
        return None
    rows = np.clip(gaps, -reach, reach + 1)
    rows += reach
    fires = words < table[rows]
    first = int(fires.argmax())
    return first if fires[first] else None
