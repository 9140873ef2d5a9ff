"""Sets of prefixes: `x` lies in one of at most so many CIDR blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from littled.classes.base import ClassError, Labels, Points
from littled.classes.block_unions import best_union
from littled.classes.capabilities import BlockUnions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.prefix_spaces import dimension_of_blocks
from littled.classes.wide import fits_bits, tally, to_ints
from littled_protocol.limits import rule_prefixes_max
from littled_protocol.rules import PrefixSetRule, Rule


@dataclass(frozen=True)
class PrefixSets(HypothesisClass, BlockUnions):
    """All unions of at most `blocks` blocks of addresses that begin alike, of `bits` bits."""

    bits: int
    blocks: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 and sizes outside 1..1024 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"prefix_sets needs a number of bits from 1 to 128, not {self.bits}")
        if not 1 <= self.blocks <= rule_prefixes_max:
            raise ClassError(
                f"prefix_sets needs a number of blocks from 1 to {rule_prefixes_max}, not "
                f"{self.blocks}"
            )

    @property
    def name(self) -> str:
        """`prefix_sets:BITS:BLOCKS`."""
        return f"prefix_sets:{self.bits}:{self.blocks}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """That of one block, exact; of several an upper bound.

        The logarithm to base 2 of the number of sets of at most so many blocks, and never more
        than the number of addresses.
        """
        if self.blocks == 1:
            return dimension_of_blocks(self.bits)
        every, sets, of_size = (2 << self.bits) - 1, 1, 1
        for count in range(self.blocks):
            of_size = of_size * (every - count) // (count + 1)
            sets += of_size
        return min(sets.bit_length() - 1, 1 << self.bits)

    @property
    def vc_dimension(self) -> int:
        """min(2 * blocks, 2^bits), exact.

        As many pairs of neighbours as there may be blocks are shattered: of each pair any part is
        a block or nothing. Conversely, take any set of addresses, and from each node of their trie
        whose two children are leaves one of the two away: at least half are left, and no node with
        two of them is without one that was taken away. So each of them needs a block of its own.
        """
        return min(2 * self.blocks, 1 << self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Name, width and greatest number of blocks."""
        return {"class": "prefix_sets", "bits": self.bits, "blocks": self.blocks}

    def contains(self, points: Points) -> bool:
        """Whether every address has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> PrefixSetRule:
        """No block."""
        return PrefixSetRule(self.bits, ())

    @property
    def longest_rule(self) -> PrefixSetRule:
        """The greatest single addresses, every other one."""
        ids = 1 << self.bits
        count = min(self.blocks, ids // 2)
        addresses = range(ids - 2 * count + 1, ids, 2)
        return PrefixSetRule(self.bits, tuple((address, self.bits) for address in addresses))

    def best_rule(
        self, starts: Sequence[int], lengths: Sequence[int], gains: Sequence[int], cost: int
    ) -> PrefixSetRule:
        """The union that gains most, of fewest blocks."""
        blocks = list(zip(starts, lengths, strict=True))
        found = best_union(self.bits, blocks, gains, self.blocks, cost)
        return PrefixSetRule(self.bits, tuple((s >> (self.bits - n), n) for s, n in found))

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """A union of the smallest blocks around some addresses with the fewest errors."""
        counts = tally(x, y)
        addresses = to_ints(counts.ids)
        gains = (counts.positive - counts.negative).tolist()
        return self.best_rule(addresses, [self.bits] * len(addresses), gains, 0)
