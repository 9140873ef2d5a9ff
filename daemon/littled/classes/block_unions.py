"""The union of at most so many blocks that gains most: a knapsack on the trie of weighted blocks.

A gain belongs to a block that is chosen whole or not at all. Around neighbours there are larger
blocks, the nodes of their compressed trie, and a union may take any of these. For every node its
table says the most that 0, 1, 2, ... blocks inside it gain; of two halves it is the best way to
share the blocks out. Exact, with integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from littled.classes.capabilities import Integers

# A block: its first address, as an integer of all bits, and how many bits are fixed.
Block: TypeAlias = tuple[int, int]
# Among unions that gain the same the one of fewest blocks is best: a block costs one part of this.
_PARTS = 1 << 12
_NOTHING = np.zeros(1, dtype=np.int64)


@dataclass(slots=True)
class _Node:
    """A block of the trie. `table`: what at most 0, 1, ... blocks gain, until more gain nothing.

    `shared`: bits that it has in common with the node before it.
    """

    block: Block
    shared: int
    total: int
    table: Integers
    halves: tuple["_Node", "_Node"] | None = None


def best_union(
    bits: int, blocks: Sequence[Block], gains: Sequence[int], most: int, cost: int = 0
) -> tuple[Block, ...]:
    """The union of at most `most` blocks that gains most, and of these one of fewest blocks.

    Each block of a union takes `cost` off its gain, so that one which gains less is in none.
    `blocks` are apart and in rising order, with a gain each. The union is of disjoint blocks in
    rising order, no two of which are the two halves of one. Gains together are below 2^50.
    """
    stack: list[_Node] = []
    before, fee = 0, _PARTS * cost + 1
    for (start, length), gain in zip(blocks, gains, strict=True):
        shared = bits - (before ^ start).bit_length() if stack else 0
        while len(stack) > 1 and stack[-1].shared > shared:
            _merge(stack, bits, most, fee)
        table = _with_whole(_NOTHING, _PARTS * gain - fee)
        stack.append(_Node((start, length), shared, gain, table))
        before = start
    while len(stack) > 1:
        _merge(stack, bits, most, fee)
    found: list[Block] = []
    if stack:
        _collect(stack[0], fee, found)
    return tuple(found)


def _merge(stack: list[_Node], bits: int, most: int, fee: int) -> None:
    """Put the block around the last two nodes into their place."""
    last, first = stack.pop(), stack.pop()
    length = last.shared
    start = first.block[0] >> (bits - length) << (bits - length)
    total = first.total + last.total
    table = _with_whole(_shared_out(first.table, last.table, most), _PARTS * total - fee)
    stack.append(_Node((start, length), first.shared, total, table, (first, last)))


def _shared_out(first: Integers, last: Integers, most: int) -> Integers:
    """The most that k = 0, 1, ... blocks gain, some of them in each half."""
    if len(first) == 1 or len(last) == 1:
        return last if len(first) == 1 else first
    short, long = sorted((first, last), key=len)
    found = np.full(min(most + 1, len(short) + len(long) - 1), -1, dtype=np.int64)
    for blocks, gain in enumerate(short.tolist()):
        part = found[blocks : blocks + len(long)]
        np.maximum(part, long[: len(part)] + gain, out=part)
    return found[: int(np.argmax(found)) + 1]


def _with_whole(table: Integers, gain: int) -> Integers:
    """The table where one block may be the whole node."""
    if gain <= 0 or (len(table) > 1 and gain <= table[1]):
        return table
    if gain >= table[-1]:
        return np.array([0, gain], dtype=np.int64)
    found = np.maximum(table, gain)
    found[0] = 0
    return found


def _collect(root: _Node, fee: int, found: list[Block]) -> None:
    """The blocks that a root's table counts, in rising order."""
    stack = [(root, len(root.table) - 1)]
    while stack:
        node, count = stack.pop()
        count = min(count, len(node.table) - 1)
        if not count:
            continue
        value = int(node.table[count])
        if node.halves is None or value == _PARTS * node.total - fee:
            found.append(node.block)
            continue
        first, last = node.halves
        left = np.minimum(np.arange(count + 1), len(first.table) - 1)
        right = np.minimum(count - np.arange(count + 1), len(last.table) - 1)
        split = int(np.flatnonzero(first.table[left] + last.table[right] == value)[0])
        stack += [(last, count - split), (first, split)]
