"""The public memory of blocks: the path that is known, and which of its blocks are convicted.

The blocks around one point form a path: of lengths 0, the block of everything, to the point alone.
Once a block of length L was drawn, the candidates are its ancestors and itself, numbered by their
lengths 0..L, and number L + 1, "longer": then the right block is a smaller one inside, and no block
is published until it is found. Each candidate says 1 only where those before it do, so they are a
chain. Offsets are in units of one score, one agreeing example.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.learners.online.chain_memory import Weights
from littled.learners.online.memory import Memory, MemorySettings

# Offsets are added to scores of up to 2^44 examples, so that 63 bits hold them.
OFFSET_MAX = 1 << 40

# What a memory is about to do: nothing of the rule that it found published; or look for a block,
# while the constant 0 is published; or move on the path of a block that was found.
INHERITED, SEARCHING, ON_PATH = range(3)


def words_of(value: int) -> tuple[int, int]:
    """A value of up to 128 bits as two words (high, low) of 64 bits, as snapshots hold them."""
    return value >> 64, value % (1 << 64)


def value_of(words: tuple[int, int]) -> int:
    """The value of two such words."""
    return words[0] << 64 | words[1]


@dataclass(frozen=True, slots=True)
class PathSettings(MemorySettings):
    """How blocks are found, all in scores.

    - `conviction`: what the candidates on the wrong side lose in a call.
    - `floor`: no offset is further below the largest one.
    - `bit`: what each candidate loses, where a block is found, for every bit of the number of
      lengths that were open and are shorter; about ln 2 over the rate of a draw.
    - `longer`: how much less likely than the block that was found smaller ones inside it are.
    - `full_length`: epochs of more examples, on a path, propose blocks anew; shorter ones have few
      positives that the published block misses or holds.
    - `leaves`: 1 where all blocks are searched for once every candidate of a path was convicted; 0
      in stores of before.
    - `elsewhere`: with so many mistakes of the best block of a path it is as likely that the right
      one is on no path of it; 0 in stores of before, where that is not asked.
    """

    word: ClassVar[str] = "path"
    came_later: ClassVar[frozenset[str]] = frozenset({"leaves", "elsewhere"})

    conviction: int
    floor: int
    bit: int
    longer: int
    full_length: int
    leaves: int = 0
    elsewhere: int = 0

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not (1 <= self.conviction <= OFFSET_MAX and 1 <= self.floor <= OFFSET_MAX):
            return "conviction and floor of a path must be from 1 to 2^40 scores"
        if not all(0 <= x <= OFFSET_MAX for x in (self.bit, self.longer)):
            return "bit and longer of a path must be from 0 to 2^40 scores"
        if not 1 <= self.full_length <= OFFSET_MAX:
            return "full_length of a path must be from 1 to 2^40 examples"
        if self.leaves not in (0, 1):
            return "leaves of a path must be 0 or 1"
        if not 0 <= self.elsewhere <= OFFSET_MAX:
            return "elsewhere of a path must be from 0 to 2^40 mistakes"
        return None


@dataclass(frozen=True, slots=True)
class PathMemory(Memory):
    """What is known of blocks.

    `mode`: `INHERITED`, `SEARCHING` or `ON_PATH`. While it searches, blocks are proposed from the
    length `shortest` on, and so many `bottoms` were drawn in a row. On a path, it is that of the
    block of the given `length` with the first bits `value`, as two words, and has no more bits;
    `offsets` are of the candidates 0..length + 1, 0 or less, and 0 at the best. Since a block was
    drawn, so many candidates at the `front` and at the `back` were convicted. A path that was left,
    as the right block seemed to be elsewhere, is kept while blocks are searched for.
    """

    word: ClassVar[str] = "path"
    came_later: ClassVar[frozenset[str]] = frozenset({"front", "back"})

    mode: int
    shortest: int = 0
    bottoms: int = 0
    length: int = 0
    value: tuple[int, int] = (0, 0)
    offsets: tuple[int, ...] = ()
    front: int = 0
    back: int = 0

    def bottom(self) -> "PathMemory":
        """After a search that ended with bottom.

        With the constant 0 published something was wrong, so all lengths are open. On a path the
        next call moves on it.
        """
        if self.mode == ON_PATH:
            return replace(self, bottoms=1)
        return replace(self, shortest=0, bottoms=self.bottoms + 1)

    def left(self) -> "PathMemory":
        """After it was drawn that the right block is on no path of the published one.

        The draw may be wrong, so what is known of the path comes back if the search leads to it.
        """
        return replace(self, mode=SEARCHING, bottoms=0, front=0, back=0)

    def proposes(self, epoch_length: int, settings: PathSettings) -> bool:
        """Whether blocks are proposed after an epoch of so many examples."""
        if self.mode == ON_PATH:
            return not self.bottoms and epoch_length > settings.full_length
        return self.mode == SEARCHING

    def of_lengths(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The offsets of blocks of these lengths (n,), wherever they are: int64 (n,)."""
        if self.mode != ON_PATH:
            return np.zeros(len(lengths), dtype=np.int64)
        offsets = np.array(self.offsets, dtype=np.int64)
        return offsets[np.minimum(lengths, self.length + 1)]

    def found_again(
        self, published: int, value: int, length: int, settings: PathSettings
    ) -> "PathMemory":
        """After this block was drawn among those that were proposed beside a published one."""
        lengths = np.arange(max(length, self.length) + 2)
        offsets = self.of_lengths(lengths)
        if length > published:
            offsets[: published + 1] -= settings.conviction
        elif length < published:
            offsets[published:] -= settings.conviction
        offsets[length + 1] = offsets[length + 1 :].max()
        if length > self.length:
            offsets[length + 1] -= settings.longer
        offsets = offsets[: length + 2]
        offsets = np.maximum(offsets - offsets.max(), -settings.floor)
        return PathMemory(
            ON_PATH, length=length, value=words_of(value), offsets=tuple(offsets.tolist())
        )

    def found(self, value: int, length: int, settings: PathSettings) -> "PathMemory":
        """After a search that drew this block."""
        open_ones = max(length - self.shortest, 1)
        offsets = np.full(length + 2, -settings.floor, dtype=np.int64)
        offsets[self.shortest : length] = -settings.bit * open_ones.bit_length()
        offsets[length:] = 0, -settings.longer
        if self._leads_back(value, length):
            known = np.array(self.offsets, dtype=np.int64)
            offsets += known[np.minimum(np.arange(length + 2), self.length + 1)]
            offsets -= offsets.max()
        floored = np.maximum(offsets, -settings.floor)
        return PathMemory(
            ON_PATH, length=length, value=words_of(value), offsets=tuple(floored.tolist())
        )

    def _leads_back(self, value: int, length: int) -> bool:
        """Whether a block is on the path that was left, or the path on one to the block."""
        shared = min(length, self.length)
        left = value_of(self.value) >> (self.length - shared)
        return bool(self.offsets) and value >> (length - shared) == left

    def moved(
        self,
        published: int,
        *,
        longer: bool,
        longest: int,
        settings: PathSettings,
        weights: Weights,
    ) -> tuple["PathMemory", int | None]:
        """After a draw between the published block's mistakes; the next length, None for the 0.

        `longer`: false positives were drawn, so the right block is a smaller one. The published
        block is convicted, with those on the other side. What is published next is the median of
        the weights. If that is "longer", blocks up to the `longest` are searched for that are
        longer than the last convicted one in front.

        Where the settings say so, all blocks are searched for once every candidate was convicted.
        The right one is elsewhere then: of a block that holds all positive examples, the block that
        was drawn is an ancestor or a descendant, so that it is on the path. What is drawn after a
        bottom does not count, as mistakes may be few there.
        """
        offsets = np.array(self.offsets, dtype=np.int64)
        offsets[slice(published + 1) if longer else slice(published, None)] -= settings.conviction
        front, back = self.front, self.back
        if settings.leaves and not self.bottoms:
            front, back = self._convicted(published, longer=longer)
        if front + back >= len(offsets):
            return PathMemory(SEARCHING), None
        offsets = np.maximum(offsets - offsets.max(), -settings.floor)
        sums = np.cumsum(weights.of(offsets))
        median = int(np.searchsorted(2 * sums, sums[-1]))
        if median <= self.length:
            known = tuple(offsets.tolist())
            return replace(self, bottoms=0, offsets=known, front=front, back=back), median
        open_ones = np.flatnonzero(offsets[: self.length + 1] > -settings.conviction)
        shortest = int(open_ones[0]) if len(open_ones) else self.length + 1
        return PathMemory(SEARCHING, shortest=shortest if shortest <= longest else 0), None

    def _convicted(self, published: int, *, longer: bool) -> tuple[int, int]:
        """How many candidates at the front and at the back are, after a draw."""
        if longer:
            return max(self.front, published + 1), self.back
        return self.front, max(self.back, self.length + 2 - published)
