"""The public memory of a chain: which of its rules the releases have convicted.

The rules of a chain are numbered 0..n-1, and rule i + 1 says 1 only where rule i does. A rule that
errs on negatives is too low, and so are all below it; one that errs on positives is too high, and
so are all above it. Offsets are in units of one score, one agreeing example.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.learners.online.memory import Memory, MemorySettings
from littled.mechanisms.powers import weight_floors

DIRECT_CALLS_MAX = 10_000
# Offsets are added to scores of up to 2^44 examples, so that 63 bits hold them.
OFFSET_MAX = 1 << 40
# Of the weights that a median is taken of: at most 2^22 rules have one each.
MEDIAN_BITS = 40


@dataclass(frozen=True, slots=True)
class ChainSettings(MemorySettings):
    """How a chain is searched.

    - `direct_calls`: J, so many calls draw among all rules; from then on an interval is halved.
    - `conviction`: what the rules on the wrong side lose in a call, in scores.
    - `floor`: no offset is further below the largest one.
    - `median_after`: from this direct call on the median of the weights is published in place of
      the rule that was drawn; 0 for never.
    """

    word: ClassVar[str] = "chain"

    direct_calls: int
    conviction: int
    floor: int
    median_after: int

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not 0 <= self.direct_calls <= DIRECT_CALLS_MAX:
            return f"direct_calls of a chain must be from 0 to {DIRECT_CALLS_MAX:,}"
        if not (0 <= self.conviction <= OFFSET_MAX and 0 <= self.floor <= OFFSET_MAX):
            return "conviction and floor of a chain must be from 0 to 2^40 scores"
        if self.median_after < 0:
            return "median_after of a chain must not be negative"
        return None


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

    def convicted(
        self, published: int, drawn: int, count: int, settings: ChainSettings
    ) -> "ChainMemory":
        """With the rules convicted that are on the side of the `published` one off the drawn one.

        The published rule is among them; nothing is convicted if it was drawn again.
        """
        offsets = self.of_each(count)
        if drawn > published:
            offsets[: published + 1] -= settings.conviction
        elif drawn < published:
            offsets[published:] -= settings.conviction
        offsets = np.maximum(offsets - offsets.max(), -settings.floor)
        starts = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 1))
        return replace(self, starts=tuple(starts.tolist()), offsets=tuple(offsets[starts].tolist()))

    def median(self, rate: Fraction, count: int) -> int:
        """The least rule up to which half of the weight lies; a weight is exp(rate * offset).

        Weights are rounded down to multiples of 2^-40 of the largest.
        """
        table = list(islice(weight_floors(rate, MEDIAN_BITS), 1 - min(self.offsets)))
        weights = [table[-offset] if -offset < len(table) else 0 for offset in self.offsets]
        sizes = self._sizes(count)
        half = (sum(w * size for w, size in zip(weights, sizes, strict=True)) + 1) // 2
        for start, weight, size in zip(self.starts, weights, sizes, strict=True):
            if weight and weight * size >= half:
                return start + -(-half // weight) - 1
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
