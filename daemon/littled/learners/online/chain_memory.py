"""The public memory of a chain: which of its rules the releases have convicted.

The rules of a chain are numbered 0..n-1, and rule i + 1 says 1 only where rule i does. A rule that
errs on negatives is too low, and so are all below it; one that errs on positives is too high, and
so are all above it. Offsets are in units of one score, one agreeing example.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.learners.online.memory import Memory, MemorySettings
from littled.mechanisms.powers import weight_floors

DIRECT_CALLS_MAX = 10_000
# Offsets are added to scores of up to 2^44 examples, so that 63 bits hold them.
OFFSET_MAX = 1 << 40
# Of the weights of offsets: 2^22 of them can be added in 63 bits.
WEIGHT_BITS = 40


@dataclass(frozen=True, slots=True)
class ChainSettings(MemorySettings):
    """How a chain is searched.

    - `direct_calls`: J, so many calls draw among all rules; from then on an interval is halved.
    - `evidence`: what the rules on the wrong side lose in a call, in scores.
    - `fading`: how much less of it is left for every doubling of the epoch beyond `full_length`
      examples. The longer an epoch is, the fewer mistakes its fire takes: noise had more steps.
    - `floor`: no offset is further below the largest one.
    - `median_after`: from this direct call on, an epoch of up to `full_length` examples is answered
      by a draw between its two counts of mistakes and by the median of the weights; 0 for never.
      Mistakes that come so close together are hardly ever those of a rule that is nearly right.
    """

    word: ClassVar[str] = "chain"

    direct_calls: int
    evidence: int
    fading: int
    full_length: int
    floor: int
    median_after: int

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not 0 <= self.direct_calls <= DIRECT_CALLS_MAX:
            return f"direct_calls of a chain must be from 0 to {DIRECT_CALLS_MAX:,}"
        if not all(0 <= x <= OFFSET_MAX for x in (self.evidence, self.fading, self.floor)):
            return "evidence, fading and floor of a chain must be from 0 to 2^40 scores"
        if not 1 <= self.full_length <= OFFSET_MAX:
            return "full_length of a chain must be from 1 to 2^40 examples"
        if self.median_after < 0:
            return "median_after of a chain must not be negative"
        return None

    def is_median(self, fires: int, length: int) -> bool:
        """Whether a median is published after this direct call and an epoch of so many examples."""
        return 0 < self.median_after <= fires and length <= self.full_length

    def evidence_after(self, length: int) -> int:
        """What rules on the wrong side lose after an epoch of so many examples."""
        doublings = (length // self.full_length).bit_length()
        return max(0, self.evidence - self.fading * doublings)


@dataclass(frozen=True)
class Weights:
    """What offsets weigh in a draw at this rate: exp(rate * offset), in multiples of 2^-40."""

    rate: Fraction

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """Weights of the offsets 0, -1, ..., as long as they are not 0."""
        return np.fromiter(weight_floors(self.rate, WEIGHT_BITS), dtype=np.int64)

    def lead(self, side: NDArray[np.int64], other: NDArray[np.int64]) -> int:
        """By how many scores a side outweighs the other, rounded down; below 0 if it does not.

        Beyond the least weight it is no longer followed.
        """
        more, less = int(self.of(side).sum()), int(self.of(other).sum())
        return self._scores(more, less) if more >= less else -self._scores(less, more)

    def of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The weight of each offset, int64 (n,)."""
        return np.append(self._table, 0)[np.minimum(-offsets, len(self._table))]

    def _scores(self, more: int, less: int) -> int:
        """The largest n with less / more <= exp(-rate * n), as far as the table goes."""
        ratio = (less << WEIGHT_BITS) // max(more, 1)
        return int(np.count_nonzero(self._table >= ratio)) - 1


@dataclass(frozen=True, slots=True)
class ChainMemory(Memory):
    """`fires` since the memory began; offsets in runs of equal ones; the interval low..high.

    Run r holds the rules from `starts[r]` on and has `offsets[r]`, 0 or less and 0 at the best.
    While `fires` is below J the interval is that of all rules, and not used.
    """

    word: ClassVar[str] = "chain"

    fires: int
    starts: tuple[int, ...]
    offsets: tuple[int, ...]
    low: int
    high: int

    @classmethod
    def empty(cls, count: int) -> "ChainMemory":
        """Nothing is known of so many rules."""
        return cls(0, (0,), (0,), 0, count - 1)

    def of_each(self, count: int) -> NDArray[np.int64]:
        """The offset of each of so many rules, int64 (count,)."""
        return np.repeat(np.array(self.offsets, dtype=np.int64), self._sizes(count))

    def fired(self) -> "ChainMemory":
        """After one fire more."""
        return replace(self, fires=self.fires + 1)

    def likelihood(
        self, published: int, drawn: int, count: int, evidence: int, weights: Weights
    ) -> int:
        """About the log-likelihood ratio, in scores, of its side for a drawn rule; 0 or more.

        Of `evidence` scores, mistakes that the epoch is sure to have seen: if the published rule
        errs on the side that was drawn, they are what a draw of the other side takes. It is less
        where the drawn side had outweighed the other before, as then it is drawn whatever is true,
        and less where the drawn rule is close, as wrong draws are.
        """
        offsets, numbers = self.of_each(count), np.arange(count)
        if drawn > published:
            drawn_side, passed = numbers > published, (numbers > published) & (numbers <= drawn)
        else:
            drawn_side, passed = numbers < published, (numbers < published) & (numbers >= drawn)
        side = offsets[drawn_side]
        lead = weights.lead(side, offsets[~drawn_side]) + weights.lead(side, offsets[passed])
        return min(max(evidence - lead, 0), 2 * evidence)

    def convicted(
        self, published: int, conviction: int, count: int, *, too_low: bool, floor: int
    ) -> "ChainMemory":
        """With the published rule, and all on its side, so many scores further down."""
        offsets = self.of_each(count)
        offsets[: published + 1] -= conviction if too_low else 0
        offsets[published:] -= 0 if too_low else conviction
        offsets = np.maximum(offsets - offsets.max(), -floor)
        starts = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 1))
        return replace(self, starts=tuple(starts.tolist()), offsets=tuple(offsets[starts].tolist()))

    def median(self, weights: Weights, count: int) -> int:
        """The least rule up to which half of the weight lies."""
        table = weights.of(np.array(self.offsets, dtype=np.int64)).tolist()
        sizes = self._sizes(count)
        half = (sum(w * size for w, size in zip(table, sizes, strict=True)) + 1) // 2
        for start, weight, size in zip(self.starts, table, sizes, strict=True):
            if weight * size >= half:
                return int(start + -(-half // weight) - 1)
            half -= weight * size
        raise AssertionError("the weights up to the last rule are all of the weight")

    def halved(self, published: int, *, too_low: bool) -> "ChainMemory":
        """With the interval cut at the published rule, without it; it may be empty then."""
        if too_low:
            return replace(self, low=max(self.low, published + 1))
        return replace(self, high=min(self.high, published - 1))

    @property
    def middle(self) -> int:
        """The rule in the middle of the interval, the lower one of two."""
        return (self.low + self.high) // 2

    def _sizes(self, count: int) -> list[int]:
        """How many rules each run has."""
        return [end - start for start, end in pairwise((*self.starts, count))]
