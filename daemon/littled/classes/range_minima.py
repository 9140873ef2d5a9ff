"""The place of the least of any run of neighbours, found in a few steps.

Source: Bender and Farach-Colton 2000, "The LCA Problem Revisited", on sparse tables: a run is
covered by two runs, perhaps overlapping, whose lengths are the same power of two.

A table of the runs of all powers of two would have 20 entries for each of a million numbers. So
runs of up to `_BLOCK` numbers begin anywhere, and longer ones consist of whole blocks. They cover
what two short runs at the ends leave over.
"""

import numpy as np
from numpy.typing import NDArray

from littled.classes.wide import bit_length

_BLOCK_BITS = 4
_BLOCK = 1 << _BLOCK_BITS

Numbers = NDArray[np.uint8]
Places = NDArray[np.int64]


class RangeMinima:
    """Answers where the least of numbers[left:right] is, for a fixed column of numbers.

    Memory: about 25 bytes a number.
    """

    def __init__(self, numbers: Numbers) -> None:
        """Prepare for these numbers, uint8 (n,), n < 2^31."""
        self._numbers = numbers
        everywhere = np.arange(len(numbers), dtype=np.int32)
        self._short = _sparse_table(numbers, everywhere, _BLOCK_BITS)
        blocks = len(numbers) >> _BLOCK_BITS
        of_blocks = self._short[-1, : blocks << _BLOCK_BITS : _BLOCK]
        self._long = _sparse_table(numbers, of_blocks, max(blocks, 1).bit_length() - 1)

    def places(self, left: Places, right: Places) -> Places:
        """Where the least of numbers[left[i]:right[i]] is, the first one; no run is empty."""
        level = np.minimum(_floor_log2(right - left), _BLOCK_BITS)
        found = self._in_two(self._short, level, left, right)
        longer = np.flatnonzero(right - left > 2 * _BLOCK)
        first, end = (left[longer] >> _BLOCK_BITS) + 1, right[longer] >> _BLOCK_BITS
        inner = self._in_two(self._long, _floor_log2(end - first), first, end)
        found[longer] = self._least(found[longer], inner)
        return found

    def _in_two(
        self, table: NDArray[np.int32], level: Places, left: Places, right: Places
    ) -> Places:
        """The least in the two runs of 2^level at both ends of left..right."""
        ends = table[level, left], table[level, right - (1 << level)]
        return self._least(*(end.astype(np.int64) for end in ends))

    def _least(self, places: Places, others: Places) -> Places:
        """Of two places, that of the lesser number; the earlier one where they are equal."""
        numbers, rest = self._numbers.take(places), self._numbers.take(others)
        return np.where((rest < numbers) | ((rest == numbers) & (others < places)), others, places)


def _sparse_table(numbers: Numbers, places: NDArray[np.int32], levels: int) -> NDArray[np.int32]:
    """Where the least is in each run of 2^level items, in row `level`; (levels + 1, items).

    `places` (items,) are those of the least number in each item. Runs that do not fit are 0.
    """
    table = np.zeros((levels + 1, len(places)), dtype=np.int32)
    table[0] = places
    for level in range(levels):
        step = 1 << level
        fitting = max(len(places) - 2 * step + 1, 0)
        left, right = table[level, :fitting], table[level, step : step + fitting]
        less = numbers.take(right) < numbers.take(left)
        table[level + 1, :fitting] = np.where(less, right, left)
    return table


def _floor_log2(numbers: Places) -> Places:
    """floor(log2) of positive numbers."""
    return bit_length(numbers.astype(np.uint64)) - 1
