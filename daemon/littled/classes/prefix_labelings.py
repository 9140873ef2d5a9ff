"""Labelings of addresses by prefixes: the nodes of a compressed trie, and nothing.

The blocks that say 1 to the same addresses of a set T, and not to none, differ in their length
only. They are an edge of T's compressed trie, and its node, the smallest of these blocks,
represents them. It is known from T's addresses alone: k different ones make k leaves, which are
blocks of a single address, and one node with two children for each pair of neighbours in sorted
order, the block of their common bits (no two pairs share a node, as behind the common bits of a
node there is one step from 0 to 1). With the constant 0, which represents the empty labeling, these
are 2k different labelings, and all there are.

The trie of T consists of nodes of the trie of all addresses of the window. There, neighbours number
the nodes, and the node of two addresses is that with the fewest common bits between them.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Candidates, Labelings, Labels, Points
from littled.classes.chunks import chunk_votes
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import check_labelings
from littled.classes.range_minima import RangeMinima
from littled.classes.wide import Pairs, as_pairs, bit_length, ranked, starts_of_runs, to_int
from littled_protocol.rules import PrefixRule

Numbers = NDArray[np.int64]

# The length, in a key, of the block that holds no address.
NO_LENGTH = 129


@dataclass(frozen=True, eq=False)
class PrefixCandidates(Candidates):
    """Blocks of addresses of `bits` bits; keys (candidates, 3), uint64, are length, high and low.

    The first candidate, of length `NO_LENGTH`, is the constant 0.
    """

    bits: int

    def labels(self, point: Points) -> NDArray[np.bool_]:
        """Which blocks hold the address."""
        masks = _masks(self.bits).take(self.keys[:, 0].astype(np.int64), axis=0)
        different = (self.keys[:, 1:] ^ as_pairs(point)) & masks
        held: NDArray[np.bool_] = (different[:, 0] | different[:, 1]) == 0
        held[0] = False
        return held

    def rule(self, index: int) -> PrefixRule:
        """The block of candidate `index`."""
        length, address = int(self.keys[index, 0]), to_int(self.keys[index, 1:])
        return block(self.bits, length, address)


@dataclass(frozen=True, eq=False)
class PrefixLabelings(Labelings):
    """The labelings of subsets of a window's addresses.

    `addresses` (k, 2) are its different ones, rising, `votes` (k,) their examples with label 1 less
    those with label 0, `ranks` (n,) the address of every example; of node i, between addresses i
    and i + 1, `common` (k - 1,) are the common bits and `node_votes` the votes inside; `zeros` is
    the number of labels 0. Memory: 8 bytes an example and about 60 bytes an address.
    """

    hypotheses: HypothesisClass
    bits: int
    addresses: Pairs
    votes: Numbers
    ranks: Numbers
    common: NDArray[np.uint8]
    node_votes: Numbers
    minima: RangeMinima
    zeros: int

    @classmethod
    def of(cls, hypotheses: HypothesisClass, bits: int, x: Points, y: Labels) -> "PrefixLabelings":
        """The labelings of subsets of the examples `x` (n,) with labels `y` (n,)."""
        ids, ranks = ranked(x)
        addresses = as_pairs(ids)
        examples = np.bincount(ranks, minlength=len(ids))
        votes = 2 * np.bincount(ranks[y == 1], minlength=len(ids)) - examples
        common = common_bits(addresses, bits)
        node_votes = votes_of_nodes(common.astype(np.int64) + 1, votes)
        zeros = len(y) - int(y.sum(dtype=np.int64))
        minima = RangeMinima(common)
        return cls(
            *(hypotheses, bits, addresses, votes, ranks), *(common, node_votes, minima, zeros)
        )

    def candidates(self, subset: Numbers) -> PrefixCandidates:
        """The constant 0, the subset's different addresses, and the nodes of their trie."""
        check_labelings(self.hypotheses, len(subset))
        ranks = np.sort(self.ranks.take(subset))
        ranks = ranks.take(starts_of_runs(ranks))
        nodes = self.minima.places(ranks[:-1], ranks[1:])
        nothing = np.zeros(1, dtype=np.int64)
        votes = np.concatenate((nothing, self.votes.take(ranks), self.node_votes.take(nodes)))
        lengths = np.full(len(votes), self.bits, dtype=np.int64)
        lengths[0] = NO_LENGTH
        lengths[1 + len(ranks) :] = self.common.take(nodes)
        keys = np.zeros((len(votes), 3), dtype=np.uint64)
        keys[:, 0] = lengths
        keys[1 : 1 + len(ranks), 1:] = self.addresses.take(ranks, axis=0)
        keys[1 + len(ranks) :, 1:] = keys[1 : len(ranks), 1:]
        keys[:, 1:] &= _masks(self.bits).take(lengths, axis=0)
        return PrefixCandidates(votes + self.zeros, keys, self.bits)


def best_blocks(
    bits: int, x: Points, y: Labels, chunk_numbers: Numbers, chunks: int
) -> list[PrefixRule]:
    """For every chunk a rule with the fewest errors: a node of its trie, or else the constant 0."""
    ids, ranks = ranked(x)
    addresses = as_pairs(ids)
    seen = chunk_votes(ranks, y, chunk_numbers, len(ids))
    found = [PrefixRule(bits=bits, value=0, length=None)] * chunks
    if not len(seen.votes):
        return found
    common = common_bits(addresses.take(seen.value, axis=0), bits)
    same_chunk = seen.chunk[1:] == seen.chunk[:-1]
    depths = np.where(same_chunk, common.astype(np.int64) + 1, 0)
    node_votes = np.append(np.where(same_chunk, votes_of_nodes(depths, seen.votes), 0), 0)
    votes = np.maximum(seen.votes, node_votes)
    best = seen.best(votes, chunks)
    best = best[best >= 0]
    best = best[votes[best] > 0]
    is_node = node_votes[best] > seen.votes[best]
    lengths = np.where(is_node, np.append(common, 0)[best].astype(np.int64), bits)
    for chunk, length, item in zip(
        seen.chunk[best].tolist(), lengths.tolist(), seen.value[best].tolist(), strict=True
    ):
        found[chunk] = block(bits, length, to_int(addresses[item]))
    return found


def votes_of_nodes(depths: Numbers, votes: Numbers) -> Numbers:
    """The votes of the items below every node between two neighbours, int64 (items - 1,).

    `votes` (items,) belong to sorted addresses. `depths` (items - 1,) are the common bits of
    neighbours and 1, or 0 between addresses of different tries; the node of a 0 holds everything
    back to the first item and on to the last. Below a node is what no lesser depth separates.
    """
    sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(votes)))
    found = np.zeros(len(depths), dtype=np.int64)
    small = depths.astype(np.uint8)
    for depth in np.flatnonzero(np.bincount(depths)).tolist():
        nodes = np.flatnonzero(small == depth)
        # items from one separation to the next
        ends = np.flatnonzero(small < depth) + 1
        ends = np.concatenate((np.zeros(1, dtype=np.int64), ends, [len(votes)]))
        place = np.searchsorted(ends, nodes, side="right")
        found[nodes] = sums[ends[place]] - sums[ends[place - 1]]
    return found


def common_bits(addresses: Pairs, bits: int) -> NDArray[np.uint8]:
    """Leading bits, of `bits`, shared by each address (n, 2) and its successor, (n - 1,)."""
    high, low = (addresses[1:] ^ addresses[:-1]).T
    different = np.where(high > 0, bit_length(high) + 64, bit_length(low))
    return (bits - different).astype(np.uint8)


def block(bits: int, length: int, address: int) -> PrefixRule:
    """The block of the first `length` bits of an address; `NO_LENGTH`: the constant 0."""
    if length == NO_LENGTH:
        return PrefixRule(bits=bits, value=0, length=None)
    return PrefixRule(bits=bits, value=address >> (bits - length), length=length)


@cache
def _masks(bits: int) -> Pairs:
    """For every length the mask of the first bits of an address, (NO_LENGTH + 1, 2)."""
    whole = (1 << bits) - 1
    masks = [whole ^ (whole >> min(length, bits)) for length in range(NO_LENGTH + 1)]
    words = [(mask >> 64, mask % 2**64) for mask in masks]
    return np.array(words, dtype=np.uint64)
