"""Votes of values in many disjoint chunks of examples at once, for learners of single chunks.

To sort all chunks together takes a hundredth of the time that thousands of small sorts take.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels
from littled.classes.wide import starts_of_runs

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkVotes:
    """The different values of every chunk, in rising order of chunks and then of values.

    `chunk`, `value` and `votes` are int64 (items,): the votes are the examples with label 1 less
    those with label 0.
    """

    chunk: Numbers
    value: Numbers
    votes: Numbers

    def best(self, scores: Numbers, chunks: int) -> Numbers:
        """For every chunk 0..chunks-1 its item of greatest score, (chunks,); -1 without items.

        Of several the middle one, so that many chunks do not all err to the same side.
        """
        starts = starts_of_runs(self.chunk)
        greatest = np.maximum.reduceat(scores, starts) if len(starts) else scores
        sizes = np.diff(starts, append=len(scores))
        ties = np.flatnonzero(scores == np.repeat(greatest, sizes))
        first = starts_of_runs(self.chunk[ties])
        count = np.diff(first, append=len(ties))
        found = np.full(chunks, -1, dtype=np.int64)
        found[self.chunk[starts]] = ties[first + (count - 1) // 2]
        return found


def chunk_votes(values: Numbers, y: Labels, chunk_numbers: Numbers, value_count: int) -> ChunkVotes:
    """Count the labels `y` (n,) of the values (n,), each below `value_count`, in every chunk."""
    keys = np.sort(((chunk_numbers * value_count + values) << 1) | y)
    items = keys >> 1
    starts = starts_of_runs(items)
    if not len(starts):
        return ChunkVotes(starts, starts, starts)
    chunk, value = np.divmod(items[starts], value_count)
    votes = np.add.reduceat(2 * (keys & 1) - 1, starts)
    return ChunkVotes(chunk, value, votes)


@dataclass(frozen=True, slots=True)
class ChunkCuts:
    """The ways in which "value >= t", t = 0..size, labels every chunk.

    Each is an item: all t above one value of the chunk, or from 0 on, up to and including the next
    value, or `size`. `gains` (items,) are the agreements of an item less those of "always 1".
    """

    items: ChunkVotes
    gains: Numbers

    @classmethod
    def of(cls, values: Numbers, y: Labels, chunk_numbers: Numbers, chunks: int, size: int) -> Self:
        """The cuts of values (n,), below `size`, with labels `y` (n,) in chunks 0..chunks-1."""
        # every chunk has one more example, at the end of the domain, which no item before it sees
        values = np.concatenate((values, np.full(chunks, size)))
        y = np.concatenate((y, np.zeros(chunks, dtype=np.uint8)))
        numbers = np.concatenate((chunk_numbers, np.arange(chunks)))
        items = chunk_votes(values, y, numbers, size + 1)
        # "at least t" loses the votes of all values below t
        gains = items.votes - np.cumsum(items.votes)
        starts = starts_of_runs(items.chunk)
        gains -= np.repeat(gains[starts], np.diff(starts, append=len(gains)))
        return cls(items, gains)

    def gaps(self, items: Numbers) -> tuple[Numbers, Numbers]:
        """The least and the greatest t of these items."""
        before = items - 1
        first = (items == 0) | (self.items.chunk[before] != self.items.chunk[items])
        return np.where(first, 0, self.items.value[before] + 1), self.items.value[items]
