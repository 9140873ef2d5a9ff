"""The public memory of a search for the length of a block.

Lengths are those of blocks around one point: 0 is the block of everything, and each block lies in
the shorter ones. First the constant 0 is published and blocks of a few lengths are proposed. The
one that is drawn is published; whether it is too long or too short is inferred from its mistakes.
If the right block is shorter, it is an ancestor, and the lengths left are halved; if it is longer,
the search goes on among the lengths above.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from littled.learners.online.memory import Memory, MemorySettings
from littled.learners.online.path_memory import OFFSET_MAX, words_of

# What is published: a rule of the season before; the constant 0, while blocks are proposed; the
# block that was drawn; or the block of the middle length of those left on its path.
INHERITED, SEARCHING, FOUND, HALVING = range(4)


@dataclass(frozen=True, slots=True)
class LengthSettings(MemorySettings):
    """Which lengths are proposed at once, and how much longer ones are preferred.

    - `step`: what a block loses, in scores, for each longer length that is proposed with it.
    - `cuts`: by the number n of lengths left, which of them are proposed: at least one, rising,
      counted from the shortest one, 0..n - 1. The first list, of n = 0, is empty.
    """

    word: ClassVar[str] = "lengths"

    step: int
    cuts: tuple[tuple[int, ...], ...]

    @property
    def at_once(self) -> int:
        """The most lengths that are proposed in one call."""
        return max(map(len, self.cuts), default=0)

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not 0 <= self.step <= OFFSET_MAX:
            return "step of a search for the length must be from 0 to 2^40 scores"
        if self.cuts[:1] != ((),):
            return "cuts of a search for the length begin with an empty list, of no lengths left"
        for left, places in enumerate(self.cuts[1:], start=1):
            if not places or places[0] < 0 or places[-1] >= left or not _rises(places):
                return (
                    f"cuts of a search for the length: of {left} lengths left, at least one must "
                    f"be proposed, by rising numbers from 0 to {left - 1}"
                )
        return None


def _rises(places: Sequence[int]) -> bool:
    return all(one < other for one, other in pairwise(places))


@dataclass(frozen=True, slots=True)
class LengthMemory(Memory):
    """The lengths that are left, `low`..`high`, at least one.

    `mode`: `INHERITED`, `SEARCHING`, `FOUND` or `HALVING`. From `FOUND` on the path is that of the
    block of the given `length` with the first bits `value`, as two words, and has no more bits.
    """

    word: ClassVar[str] = "lengths"

    mode: int
    low: int
    high: int
    length: int = 0
    value: tuple[int, int] = (0, 0)

    @classmethod
    def empty(cls, longest: int, mode: int = SEARCHING) -> "LengthMemory":
        """All lengths are left."""
        return cls(mode, 0, longest)

    def proposed(self, settings: LengthSettings) -> list[int]:
        """The lengths that are proposed while it searches, rising."""
        return [self.low + place for place in settings.cuts[self.high - self.low + 1]]

    def bottom(self, longest: int, settings: LengthSettings) -> "LengthMemory":
        """After a search that ended with bottom: the right length is below those proposed."""
        shorter = replace(self, high=self.proposed(settings)[0] - 1)
        return shorter._or_all(longest)

    def found(self, value: int, length: int, settings: LengthSettings) -> "LengthMemory":
        """After a search that drew this block: the right length is below the next one proposed."""
        beyond = [other for other in self.proposed(settings) if other > length]
        high = beyond[0] - 1 if beyond else self.high
        return LengthMemory(FOUND, self.low, high, length, words_of(value))

    def inferred(self, published: int, longest: int, *, longer: bool) -> "LengthMemory":
        """After a call that said on which side of the `published` length the right one is."""
        if longer and self.mode == FOUND:
            return LengthMemory(SEARCHING, published + 1, self.high)._or_all(longest)
        if longer:
            return replace(self, low=published + 1)._or_all(longest)
        return replace(self, mode=HALVING, high=published - 1)._or_all(longest)

    @property
    def middle(self) -> int:
        """The length in the middle of those left, the shorter one of two."""
        return (self.low + self.high) // 2

    def _or_all(self, longest: int) -> "LengthMemory":
        """Begun anew if nothing is left, which contradicts what was drawn or inferred before."""
        return self if self.low <= self.high else LengthMemory.empty(longest)
