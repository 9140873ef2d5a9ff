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
    - `bend`: how far the outermost open candidates on each side are below the middle one.
    """

    word: ClassVar[str] = "path"

    conviction: int
    floor: int
    bit: int
    longer: int
    bend: int

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not (1 <= self.conviction <= OFFSET_MAX and 1 <= self.floor <= OFFSET_MAX):
            return "conviction and floor of a path must be from 1 to 2^40 scores"
        if not all(0 <= x <= OFFSET_MAX for x in (self.bit, self.longer, self.bend)):
            return "bit, longer and bend of a path must be from 0 to 2^40 scores"
        return None


@dataclass(frozen=True, slots=True)
class PathMemory(Memory):
    """What is known of blocks.

    `mode`: `INHERITED`, `SEARCHING` or `ON_PATH`. While it searches, blocks are proposed from the
    length `shortest` on, and so many `bottoms` were drawn in a row. On a path, it is that of the
    block of the given `length` with the first bits `value`, as two words, and has no more bits;
    `offsets` are of the candidates 0..length + 1, 0 or less, and 0 at the best.
    """

    word: ClassVar[str] = "path"

    mode: int
    shortest: int = 0
    bottoms: int = 0
    length: int = 0
    value: tuple[int, int] = (0, 0)
    offsets: tuple[int, ...] = ()

    def bottom(self) -> "PathMemory":
        """After a search that ended with bottom: something was wrong, so all lengths are open."""
        return PathMemory(SEARCHING, bottoms=self.bottoms + 1)

    def found(self, value: int, length: int, settings: PathSettings) -> "PathMemory":
        """After a search that drew this block."""
        open_ones = max(length - self.shortest, 1)
        offsets = np.full(length + 2, -settings.floor, dtype=np.int64)
        offsets[self.shortest : length] = -settings.bit * open_ones.bit_length()
        offsets[length:] = 0, -settings.longer
        floored = np.maximum(offsets, -settings.floor)
        return PathMemory(
            ON_PATH, length=length, value=words_of(value), offsets=tuple(floored.tolist())
        )

    def bent(self, published: int, settings: PathSettings) -> NDArray[np.int64]:
        """The offset of each candidate in the next draw, int64 (length + 2,).

        On each side of the published one the open candidates are bent to the one in their middle.
        """
        offsets = np.array(self.offsets, dtype=np.int64)
        bent = offsets.copy()
        for side in (slice(0, published), slice(published + 1, None)):
            places = np.flatnonzero(offsets[side] > -settings.conviction) + (side.start)
            count = len(places)
            outwards = np.abs(2 * np.arange(count, dtype=np.int64) + 1 - count)
            bent[places] -= settings.bend * outwards // max(count, 1)
        return bent

    def moved(
        self, published: int, drawn: int, longest: int, settings: PathSettings
    ) -> "PathMemory":
        """After the `drawn` candidate was, when the `published` one had made its mistakes.

        The published one is convicted, with those on the side of it off the drawn one; nothing is
        if it was drawn again. A drawn candidate at the floor contradicts what was remembered, which
        is forgotten then. Beyond the path, blocks up to the `longest` are searched for that are
        longer than the last convicted one in front.
        """
        offsets = np.array(self.offsets, dtype=np.int64)
        if offsets[drawn] <= -settings.floor:
            offsets[:] = 0
        if drawn > published:
            offsets[: published + 1] -= settings.conviction
        elif drawn < published:
            offsets[published:] -= settings.conviction
        offsets = np.maximum(offsets - offsets.max(), -settings.floor)
        if drawn <= self.length:
            return replace(self, offsets=tuple(offsets.tolist()))
        open_ones = np.flatnonzero(offsets[: self.length + 1] > -settings.conviction)
        shortest = int(open_ones[0]) if len(open_ones) else self.length + 1
        return PathMemory(SEARCHING, shortest=shortest if shortest <= longest else 0)
