"""The public partition of all addresses into blocks, and how it follows what was released.

A part is divided where it has many labels of both kinds, as no union of blocks that takes it whole
or not at all can say these; it is joined with its neighbour again where they have too few. All of
it is a function of counts that are public, so nothing is paid for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from littled.classes.base import Points
from littled.classes.capabilities import Integers
from littled_protocol.columns import smallest_point_type
from littled_protocol.rules.bounds import Bounds

# The first partition has 2^8 parts, where there are so many addresses.
FIRST_BITS = 8
# A part is divided into at most 2^10 at once.
DIVIDED_BITS = 10


@dataclass(frozen=True)
class Partition:
    """Blocks that cover all addresses, in rising order: first addresses, and how many bits fixed.

    Two parts that are halves of one block follow each other, since together they cover everything.
    """

    bits: int
    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def first(cls, bits: int, most: int) -> "Partition":
        """The partition before any data: 2^8 blocks of one size, or as many as there may be."""
        length = min(bits, FIRST_BITS, most.bit_length() - 1)
        starts = tuple(part << (bits - length) for part in range(1 << length))
        return cls(bits, starts, (length,) * len(starts))

    def __len__(self) -> int:
        """Number of parts."""
        return len(self.starts)

    def places(self, x: Points) -> Integers:
        """The part of each address (n,), int64 (n,)."""
        found: Integers = self._bounds.below(x) - 1
        return found

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.starts, smallest_point_type(self.bits))


@dataclass(frozen=True, slots=True)
class _Part:
    """A block with counts of labels 0 and 1."""

    start: int
    length: int
    zeros: int
    ones: int

    @property
    def rarer(self) -> int:
        """How often the rarer label was seen."""
        return min(self.zeros, self.ones)


def followed(
    partition: Partition, counts: Integers, divided_from: int, most: int
) -> tuple[Partition, Integers]:
    """The next partition, and what the counts (parts, 2), labels 0 and 1, come to there.

    A block stays divided if it has `divided_from` labels of its rarer kind, and a part of k times
    as many and more is divided into up to k, to which its counts are shared out evenly. Where
    there would be more than `most` parts, both numbers are doubled until there are not.
    """
    while True:
        parts = list(_divided(partition, _joined(partition, counts, divided_from), divided_from))
        if len(parts) <= most:
            break
        divided_from *= 2
    starts, lengths = (tuple(getattr(part, name) for part in parts) for name in ("start", "length"))
    shared = [(part.zeros, part.ones) for part in parts]
    return Partition(partition.bits, starts, lengths), np.array(shared, dtype=np.int64)


def _joined(partition: Partition, counts: Integers, divided_from: int) -> list[_Part]:
    """The parts that stay: those in blocks with enough labels of both kinds, else these blocks."""
    stack: list[tuple[_Part, list[_Part]]] = []
    for start, length, (zeros, ones) in zip(
        partition.starts, partition.lengths, counts.tolist(), strict=True
    ):
        block = _Part(start, length, zeros, ones)
        parts = [block]
        while stack and stack[-1][0].length == block.length:
            first, its_parts = stack.pop()
            block = _Part(
                first.start, block.length - 1, first.zeros + block.zeros, first.ones + block.ones
            )
            parts = [block] if block.rarer < divided_from else its_parts + parts
        stack.append((block, parts))
    return stack[0][1]


def _divided(partition: Partition, parts: list[_Part], divided_from: int) -> Iterator[_Part]:
    """The parts, those with many labels of both kinds in smaller ones."""
    for part in parts:
        times = max(1, part.rarer // divided_from)
        deeper = min(times.bit_length() - 1, DIVIDED_BITS, partition.bits - part.length)
        length = part.length + deeper
        for number in range(1 << deeper):
            start = part.start + (number << (partition.bits - length))
            yield _Part(start, length, part.zeros >> deeper, part.ones >> deeper)
