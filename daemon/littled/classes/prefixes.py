"""Prefixes of addresses: `x` lies in one CIDR block, or in none.

The class over 128 bits has about 2^129 rules, but a positive example leaves only the 129 prefixes
of its own address: a path. Everything below works on the sorted addresses that occur; prefixes of
one length are then runs of neighbours whose common prefix is at least that long.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    ClassError,
    DataSet,
    Labels,
    Points,
    Proposals,
)
from littled.classes.capabilities import PathRules, VersionSpaces, WindowLabelings
from littled.classes.hypothesis import HypothesisClass
from littled.classes.prefix_labelings import PrefixLabelings, best_blocks, common_bits
from littled.classes.prefix_spaces import NOWHERE, PrefixVersionSpace, dimension_of_blocks
from littled.classes.wide import as_pairs, fits_bits, tally, to_int
from littled_protocol.rules import PrefixRule, Rule


@dataclass(frozen=True)
class Prefixes(HypothesisClass, PathRules, VersionSpaces, WindowLabelings):
    """The rules "the first l bits of x are v", l = 0..bits, and the rule that is always 0.

    The constant 0 is essential wherever it is consistent and unseen addresses abound
    (`PrefixVersionSpace`), so learners may publish it.
    """

    bits: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"prefixes needs a number of bits from 1 to 128, not {self.bits}")

    @property
    def name(self) -> str:
        """`prefixes:BITS`."""
        return f"prefixes:{self.bits}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """1 + floor(log2(bits + 1)), exact.

        At most: say 0 up to the first mistake, which reveals a path of bits + 1 nested blocks, a
        threshold class of dimension floor(log2(bits + 1)). At least: ask for some x. Label 1 leaves
        that path, and label 0 the constant 0 and `bits` nested blocks of addresses that differ from
        x in the first bit, a threshold class of the same size.
        """
        return dimension_of_blocks(self.bits)

    @property
    def dual_vc_dimension(self) -> int:
        """1: of two blocks one contains the other, or no address belongs to both."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and width."""
        return {"class": "prefixes", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every address has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> PrefixRule:
        """Always 0."""
        return PrefixRule(bits=self.bits, value=0, length=None)

    @property
    def longest_rule(self) -> PrefixRule:
        """The greatest address: its value has the most digits, or is the longest integer."""
        return PrefixRule(bits=self.bits, value=(1 << self.bits) - 1, length=self.bits)

    @property
    def proposals_per_example(self) -> int:
        """A positive example proposes all prefixes of its address."""
        return self.bits + 1

    def proposals(self, x: Points, y: Labels) -> Proposals:
        """Every prefix of an address with label 1; keys (length, high, low), (candidates, 3)."""
        return self.blocks_around(x, y, range(self.bits + 1))

    def blocks_around(self, x: Points, y: Labels, lengths: Iterable[int]) -> Proposals:
        """Every prefix of these lengths; keys as of `proposals`, a whole address each."""
        counts = tally(x, y)
        addresses, positive = as_pairs(counts.ids), counts.positive
        votes = positive - counts.negative
        if not len(addresses):
            return Proposals(np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.uint64))
        common = common_bits(addresses, self.bits)
        scores, keys = [], []
        for length in lengths:
            starts = np.flatnonzero(np.concatenate(([True], common < length)))
            proposed = np.add.reduceat(positive, starts) > 0
            scores.append(np.add.reduceat(votes, starts)[proposed])
            found = addresses[starts[proposed]]
            keys.append(np.column_stack((np.full(len(found), length, dtype=np.uint64), found)))
        return Proposals(np.concatenate(scores), np.concatenate(keys))

    def proposed_rule(self, proposals: Proposals, index: int) -> PrefixRule:
        """The prefix behind candidate `index`."""
        key = proposals.keys[index]
        return self.essential_rule(self._key(int(key[0]), to_int(key[1:])))

    @property
    def longest(self) -> int:
        """All bits of an address."""
        return self.bits

    def block(self, value: int, length: int) -> PrefixRule:
        """The addresses that begin with this value."""
        return PrefixRule(bits=self.bits, value=value, length=length)

    def block_of(self, rule: Rule) -> tuple[int, int] | None:
        """The first bits, and how many there are."""
        assert isinstance(rule, PrefixRule)
        return None if rule.length is None else (rule.value, rule.length)

    def block_lengths(self, proposals: Proposals) -> NDArray[np.int64]:
        """The first column of the keys."""
        return proposals.keys[:, 0].astype(np.int64)

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> PrefixVersionSpace:
        """The blocks, and the constant 0, that err little enough on every data set."""
        return PrefixVersionSpace.of(self.bits, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> PrefixRule:
        """The rule of one (length, value); `NOWHERE` is the constant 0."""
        if key is NOWHERE:
            return self.first_rule()
        assert isinstance(key, tuple)
        length, value = key
        return PrefixRule(bits=self.bits, value=value, length=length)

    def space_bytes(self, examples: int, epochs: int) -> int:
        """The path of each example."""
        return examples * (300 + 16 * epochs)

    @property
    def vc_dimension(self) -> int:
        """2, exact: two addresses are labeled in 4 ways, three in 6 only."""
        return 2

    def labelings_max(self, n: int) -> int:
        """Two for each different address: the nodes of a trie, and nothing; exact."""
        return 2 * min(n, 1 << self.bits) if n else 1

    def window(self, x: Points, y: Labels) -> PrefixLabelings:
        """A labeling is represented by its smallest block, or by the constant 0."""
        return PrefixLabelings.of(self, self.bits, x, y)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The smallest block around some addresses, or the constant 0, with the fewest errors."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same of all chunks at once."""
        return [*best_blocks(self.bits, x, y, chunk_numbers, chunks)]

    def _key(self, length: int, address: int) -> tuple[int, int]:
        return (length, address >> (self.bits - length))
