"""Prefixes of addresses: `x` lies in one CIDR block, or in none.

The class over 128 bits has about 2^129 rules, but a positive example leaves only the 129 prefixes
of its own address: a path. Everything below works on the sorted addresses that occur; prefixes of
one length are then runs of neighbours whose common prefix is at least that long.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    ClassError,
    DataSet,
    HypothesisClass,
    Labels,
    Points,
    Proposals,
    errors_allowed,
    evenly_cut,
)
from littled.classes.wide import Pairs, as_pairs, fits_bits, to_int
from littled_protocol.rules import PrefixRule

NOWHERE: Hashable = None


@dataclass(frozen=True)
class Prefixes(HypothesisClass):
    """The rules "the first l bits of x are v", l = 0..bits, and the rule that is always 0.

    The constant 0 is the SOA of the class wherever unseen addresses abound, so learners may
    publish it.
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
        """1 + floor(log2(bits + 1)), an upper bound (tight: see the tests on small widths).

        One mistake on a positive example reveals a path of bits + 1 nested blocks, a threshold
        class of dimension floor(log2(bits + 1)).
        """
        return 1 + (self.bits + 1).bit_length() - 1

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
    def proposals_per_example(self) -> int:
        """A positive example proposes all prefixes of its address."""
        return self.bits + 1

    def proposals(self, x: Points, y: Labels) -> Proposals:
        """Every prefix of an address with label 1; keys (length, high, low), (candidates, 3)."""
        addresses, votes, positive = _tally(as_pairs(x), y)
        if not len(addresses):
            return Proposals(np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.uint64))
        common = _common_bits(addresses, self.bits)
        scores, keys = [], []
        for length in range(self.bits + 1):
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

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        """The consistent part of the paths of all positive examples; else the constant 0.

        If blocks that hold no positive example are consistent with all data sets, the class keeps
        its dimension however it is restricted by few points, and its only essential hypothesis is
        the constant 0. Otherwise the version space is a finite set of prefixes on few paths.
        """
        allowed = [errors_allowed(tolerance, len(y)) for _, y in data_sets]
        if all(int(y.sum()) <= most for (_, y), most in zip(data_sets, allowed, strict=True)):
            return [NOWHERE]
        columns = [(as_pairs(x), y) for x, y in data_sets]
        paths = np.unique(np.concatenate([x[y == 1] for x, y in columns]), axis=0)
        found = {
            self._key(length, to_int(path))
            for path in paths
            for length in self._consistent_lengths(path, columns, allowed)
        }
        ordered = sorted(found)
        return [ordered[i] for i in evenly_cut(len(ordered), cap)]

    def essential_rule(self, key: Hashable) -> PrefixRule:
        """The rule of one (length, value); `NOWHERE` is the constant 0."""
        if key is NOWHERE:
            return self.first_rule()
        assert isinstance(key, tuple)
        length, value = key
        return PrefixRule(bits=self.bits, value=value, length=length)

    def _key(self, length: int, address: int) -> tuple[int, int]:
        return (length, address >> (self.bits - length))

    def _consistent_lengths(
        self, path: NDArray[np.uint64], columns: Sequence[tuple[Pairs, Labels]], allowed: list[int]
    ) -> list[int]:
        """Lengths l for which the first l bits of `path` err at most `allowed` on each set."""
        good = np.ones(self.bits + 1, dtype=bool)
        for (x, y), most in zip(columns, allowed, strict=True):
            shared = _leading_equal_bits(x, path, self.bits)
            # an address is inside the block of length l exactly when it shares at least l bits
            inside = np.zeros((2, self.bits + 2), dtype=np.int64)
            np.add.at(inside, (y.astype(np.int64), shared), 1)
            at_least = np.cumsum(inside[:, ::-1], axis=1)[:, ::-1]
            errors = at_least[0] + (int(y.sum()) - at_least[1])
            good &= errors[: self.bits + 1] <= most
        return [int(length) for length in np.flatnonzero(good)]


def _tally(pairs: Pairs, y: Labels) -> tuple[Pairs, NDArray[np.int64], NDArray[np.int64]]:
    """Distinct addresses in ascending order, positives minus negatives, and positives, of each."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered, labels = pairs[order], y[order].astype(np.int64)
    if not len(ordered):
        return ordered, labels, labels
    changes = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate(([True], changes)))
    positive = np.add.reduceat(labels, starts)
    votes = np.add.reduceat(2 * labels - 1, starts)
    return ordered[starts], votes, positive


def _common_bits(addresses: Pairs, bits: int) -> NDArray[np.int64]:
    """Bits shared by each address and its successor, (n - 1,)."""
    return _leading_equal_bits(addresses[1:], addresses[:-1], bits)


def _leading_equal_bits(left: Pairs, right: Pairs, bits: int) -> NDArray[np.int64]:
    """Number of leading equal bits, of `bits`, of each row of `left` and (each row of) `right`."""
    high, low = np.moveaxis(left ^ right, -1, 0)
    different = np.where(high > 0, _bit_length(high) + 64, _bit_length(low))
    return (bits - different).astype(np.int64)


def _bit_length(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Bit length of every word, by integer steps only."""
    words = words.copy()
    length = np.zeros(words.shape, dtype=np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        large = words >= np.uint64(1 << shift)
        length[large] += shift
        words[large] >>= np.uint64(shift)
    return length + (words > 0)
