"""Version spaces of prefixes.

Blocks that hold the same addresses of the data sets differ in their length only: they are the edges
of a compressed trie, about two for each address.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import le
from typing import NamedTuple, Self

from littled.classes.base import DataSet, VersionSpace, evenly_cut
from littled.classes.wide import evidence

NOWHERE: Hashable = None


def dimension_of_blocks(bits: int) -> int:
    """The Littlestone dimension of all blocks of addresses of `bits` bits and the constant 0."""
    return 1 + (bits + 1).bit_length() - 1


class _Edge(NamedTuple):
    """The blocks of lengths `low`..`high` around the sorted addresses `first`..`end` - 1."""

    low: int
    high: int
    first: int
    end: int


@dataclass(frozen=True, eq=False)
class PrefixVersionSpace(VersionSpace):
    """The blocks that err at most `allowed[i]` times on data set i, and perhaps the constant 0.

    `positives[i]` and `negatives[i]` are the addresses of the examples of data set i, with
    repetitions. The constant 0 errs at all positives; a block also at the negatives inside, but not
    at the positives inside. So blocks without an address of the data sets are consistent exactly
    when the constant 0 is.
    """

    bits: int
    positives: tuple[list[int], ...]
    negatives: tuple[list[int], ...]
    allowed: tuple[int, ...]

    @classmethod
    def of(cls, bits: int, data_sets: Sequence[DataSet], tolerance: Fraction) -> Self:
        """The version space of these data sets."""
        return cls(bits, *evidence(data_sets, tolerance))

    def essential(self, cap: int) -> list[Hashable]:
        """The constant 0 if it is consistent, else all consistent blocks, evenly cut to `cap`.

        If the constant 0 is consistent it is the only (p, d)-essential hypothesis for all p >= 3
        and d such that p * 2^d is less than the number of addresses that no data set contains.
        Otherwise all consistent blocks are, n of them, and no others, for all p >= n - 1.

        Proof. *Nested blocks*, two or more of them and fewer than 2^(c + 1), dimension c: one point
        leaves at most 2^c of them, whatever its label, and if it leaves 2^c, then a second point
        half of these. So two points reduce them. *The constant 0 is consistent*: every leaf of a
        valid tree is irreducible for p >= 3 points. All but the leaf on the path of labels 0 have
        blocks around one address only, which are nested, so they are single rules. On that path no
        node has dimension 0: it would be at most one deeper than p * (2^d - 1), the most for its
        parent, and so many labels leave the constant 0 and an unseen address. So in every valid
        tree this leaf, and no other, has the greatest dimension, t >= 1. Its SOA is 0: if it were 1
        at x, then the blocks around x would have dimension t too, since x does not reduce the leaf;
        but x and two more points would. *Otherwise*: n - 1 points tell n rules apart, so no part of
        two rules or more is irreducible for p points. All leaves are single rules, so all n rules
        are essential (Corollary 4.1, item 4).
        """
        if self._nothing_is_consistent:
            return [NOWHERE][:cap]
        good = self._consistent(self._edges_worth_it(), self._addresses)
        total = sum([edge.high - edge.low + 1 for edge in good])
        if total <= cap:
            return list(self._blocks(good))
        picked = set(evenly_cut(total, cap).tolist())
        return [block for i, block in enumerate(self._blocks(good)) if i in picked]

    @cached_property
    def _nothing_is_consistent(self) -> bool:
        """Whether the constant 0 belongs to the version space."""
        return all(map(le, map(len, self.positives), self.allowed))

    @cached_property
    def _addresses(self) -> list[int]:
        return sorted(set().union(*self.positives, *self.negatives))

    def _edges_worth_it(self) -> list[_Edge]:
        """Edges with enough positives of the data set that the constant 0 is worst on."""
        excess = [len(p) - most for p, most in zip(self.positives, self.allowed, strict=True)]
        most = max(excess)
        counts = Counter(self.positives[excess.index(most)])
        sums = list(accumulate([counts.get(x, 0) for x in self._addresses], initial=0))
        return _edges(self._addresses, self.bits, sums, most)

    def _consistent(self, edges: list[_Edge], addresses: list[int]) -> list[_Edge]:
        """Those edges whose blocks err little enough on every data set."""
        for positive, negative, most in zip(
            self.positives, self.negatives, self.allowed, strict=True
        ):
            change = Counter(negative)
            change.subtract(positive)
            sums = list(accumulate([change.get(x, 0) for x in addresses], initial=0))
            room = most - len(positive)
            edges = [edge for edge in edges if sums[edge.end] - sums[edge.first] <= room]
        return edges

    def _blocks(self, edges: list[_Edge]) -> Iterator[tuple[int, int]]:
        """The blocks of these edges, as keys."""
        for low, high, first, _ in edges:
            address = self._addresses[first]
            for length in range(low, high + 1):
                yield length, address >> (self.bits - length)


def _edges(
    addresses: list[int], bits: int, sums: list[int] | None = None, least: int = 0
) -> list[_Edge]:
    """The edges of the compressed trie of different rising addresses, outer ones first.

    With the sums of some counts up to each address, only those of at least `least` counts.
    """
    edges: list[_Edge] = []
    waiting = [(0, 0, len(addresses))] if addresses else []
    while waiting:
        low, first, end = waiting.pop()
        if sums is not None and sums[end] - sums[first] < least:
            continue
        last = addresses[end - 1]
        below = (addresses[first] ^ last).bit_length()
        edges.append(_Edge(low, bits - below, first, end))
        if below:
            middle = bisect_left(addresses, last >> (below - 1) << (below - 1), first, end)
            low = bits - below + 1
            waiting += ((low, middle, end), (low, first, middle))
    return edges
