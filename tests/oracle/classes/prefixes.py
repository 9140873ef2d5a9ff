"""Dimensions and standard optimal rules of version spaces of prefixes."""

from functools import cached_property

from littled.classes.base import ClassError
from littled.classes.prefix_spaces import PrefixVersionSpace, _Edge, _edges, dimension_of_blocks
from littled.littlestone import CostExceeded
from littled_protocol.rules import MajorityRule, PrefixRule
from oracle.classes.solved import Solved

# What an exact dimension may cost: blocks that hold addresses of data sets (two to a majority, the
# widest form of an SOA), parts of them, and the width up to which all addresses are looked at.
BLOCKS_MAX = 512
PARTS_MAX = 20_000
SMALL_BITS_MAX = 7


class SolvedPrefixes(PrefixVersionSpace, Solved):
    """The version space of `PrefixVersionSpace`."""

    @property
    def littlestone_dimension(self) -> int:
        """Exact if no errors are allowed and in many other cases, else an upper bound; -1 if empty.

        - If the constant 0 is consistent, but no block that holds an address of the data sets:
          1 + floor(log2(G)) for a largest block without such an address, which has G blocks of
          different lengths around each of its addresses; 0 if there is none. As for the class, a
          mistake reveals at most G nested blocks; and without one path through that block, G - 1
          nested blocks and the constant 0 are left.
        - If the constant 0 is not consistent, there are finitely many blocks. Exact for at most
          BLOCKS_MAX of them, within PARTS_MAX parts (`_Laminar`). If no errors are allowed they are
          nested, n of them: floor(log2(n)).
        - If both are consistent: exact for at most SMALL_BITS_MAX bits, within PARTS_MAX parts.

        Otherwise the smaller of the dimension of the class and, if the constant 0 is not
        consistent, floor(log2(number of blocks)).
        """
        return self._solution[0]

    def standard_optimal_rule(self) -> PrefixRule | MajorityRule:
        """The SOA where the dimension is exact by the list above, else a rule that is consistent.

        It says 1 to a union of disjoint blocks: the SOA says 1 to x if no tree of full depth is
        left without the blocks around x, and other addresses in the smallest of these blocks take
        away as much or more. Several blocks are written as a majority. If no errors are allowed it
        is at most one block. With n nested blocks, it is the one that n - 2^floor(log2(n)) others
        contain. Without positive examples it is the constant 0, unless there is only one largest
        block without an address of the data sets and G is a power of 2: then it is that block.
        """
        dimension, blocks = self._solution
        if dimension < 0:
            raise ClassError("an empty version space has no standard optimal rule")
        rules = [PrefixRule(bits=self.bits, value=value, length=n) for n, value in blocks]
        if len(rules) > 1:
            always = PrefixRule(bits=self.bits, value=0, length=0)
            return MajorityRule((*rules, *[always] * (len(rules) - 1)))
        return rules[0] if rules else PrefixRule(bits=self.bits, value=0, length=None)

    @cached_property
    def _solution(self) -> tuple[int, list[tuple[int, int]]]:
        """The dimension, and the disjoint blocks to which the standard optimal rule says 1."""
        addresses, nothing = self._addresses, self._nothing_is_consistent
        edges = _edges(addresses, self.bits)
        good = self._consistent(edges, addresses)
        if nothing and not good:
            return self._unseen_solution(edges)
        try:
            if nothing:
                if self.bits > SMALL_BITS_MAX:
                    raise CostExceeded("too many addresses")
                addresses = list(range(1 << self.bits))
                edges = _edges(addresses, self.bits)
                good = self._consistent(edges, addresses)
            return _Laminar(edges, good, addresses, self.bits, nothing).solve()
        except CostExceeded:
            most = dimension_of_blocks(self.bits)
            if nothing:
                return most, []
            rules = sum(edge.high - edge.low + 1 for edge in good)
            return min(most, rules.bit_length() - 1), [next(self._blocks(good))]

    def _unseen_solution(self, edges: list[_Edge]) -> tuple[int, list[tuple[int, int]]]:
        """The constant 0 and all blocks without an address of the data sets."""
        if not edges:
            whole = self.bits + 1
            return whole.bit_length(), [(0, 0)] if whole.bit_count() == 1 else []
        # the largest such block beside an edge has length low + 1
        long = [edge for edge in edges if edge.low < edge.high]
        length = min((edge.low + 1 for edge in long), default=self.bits + 1)
        beside = [edge.first for edge in long if edge.low + 1 == length]
        nested = self.bits + 1 - length
        if nested.bit_count() != 1 or len(beside) > 1:
            return nested.bit_length(), []
        value = self._addresses[beside[0]] >> (self.bits - length)
        return nested.bit_length(), [(length, value ^ 1)]


class _Laminar:
    """Exact Littlestone dimension of finitely many blocks, and perhaps the constant 0.

    Any two blocks are nested or disjoint. So label 1 at x leaves nested blocks, n of them, which
    are thresholds of dimension floor(log2(n)), and label 0 all others. A tree of depth d is one
    path of labels 0 that takes away 2^(d - 1), 2^(d - 2), ..., 1 nested blocks or more, and leaves
    one rule. Blocks around x that contain fewer of the others take away less, which is better, as
    long as they are enough.

    Parts are bit sets of rows; a row is a block, the last one may be the constant 0. Raises
    CostExceeded for more than BLOCKS_MAX blocks and after PARTS_MAX parts.
    """

    def __init__(
        self, edges: list[_Edge], good: list[_Edge], addresses: list[int], bits: int, nothing: bool
    ) -> None:
        rows = sum(edge.high - edge.low + 1 for edge in good)
        if rows > BLOCKS_MAX:
            raise CostExceeded(f"more than {BLOCKS_MAX} blocks are consistent")
        self.keys: list[tuple[int, int]] = []
        self.around: dict[int, None] = {}  # the different sets of all blocks around an address
        known = set(good)
        above: list[tuple[_Edge, int]] = []
        for edge in edges:
            while above and edge.first >= above[-1][0].end:
                above.pop()
            blocks = above[-1][1] if above else 0
            for length in range(edge.low, edge.high + 1):
                if length > edge.low:
                    self.around[blocks] = None  # the addresses beside the path to the edge's end
                if edge in known:
                    blocks |= 1 << len(self.keys)
                    self.keys.append((length, addresses[edge.first] >> (bits - length)))
            if edge.high == bits:
                self.around[blocks] = None
            above.append((edge, blocks))
        self.everything = (1 << rows + nothing) - 1
        self.hopeless: dict[int, int] = {}

    def solve(self) -> tuple[int, list[tuple[int, int]]]:
        """The dimension, and the disjoint blocks to which the standard optimal rule says 1."""
        dimension = -1
        while self._at_least(self.everything, dimension + 1):
            dimension += 1
        if dimension < 0:
            return dimension, []
        ones = [
            blocks
            for blocks in self.around
            if blocks and not self._at_least(self.everything & ~blocks, dimension)
        ]
        return dimension, sorted(self.keys[each.bit_length() - 1] for each in _least(ones))

    def _at_least(self, rows: int, depth: int) -> bool:
        """Whether this part has a tree of this depth."""
        if depth == 0 or rows.bit_count() < 1 << depth:
            return rows.bit_count() >= 1 << depth
        if self.hopeless.get(rows, depth + 1) <= depth:
            return False
        if len(self.hopeless) >= PARTS_MAX:
            raise CostExceeded(f"the exact dimension takes more than {PARTS_MAX} parts")
        parts = {rows & blocks for blocks in self.around}
        enough = [part for part in parts if part.bit_count() >= 1 << depth - 1 and part != rows]
        if any(self._at_least(rows ^ part, depth - 1) for part in _least(enough)):
            return True
        self.hopeless[rows] = depth
        return False


def _least(parts: list[int]) -> list[int]:
    """The bit sets that contain no other."""
    found: list[int] = []
    for part in sorted(parts, key=int.bit_count):
        if not any(other & part == other for other in found):
            found.append(part)
    return found
