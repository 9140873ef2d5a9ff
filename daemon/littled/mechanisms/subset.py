"""A random subset of a window: every index is in it independently, with one public probability.

Source: the subset T of Dagan and Feldman, "PAC Learning with Stable and Private Predictions",
appendices B and C. The paper draws a set of fixed size; here membership is independent, so that
what T is apart from index i does not say whether i is in it, and all constants become exact.

Guarantee: none by itself; the learners that use it state theirs. A sample is within a total
variation of `total_variation` of the ideal subset.

Neighbouring relation: none; only words, the public size of the window and the rate q enter.

Sensitivity: none, for the same reason: neighbouring windows draw the same subset of indices.

Shapes: `sample` gives int64 (m,), distinct indices in rising order, 0 <= m <= `count`.

Edge cases: q = 0 gives the empty set and q = 1 all indices; a window of no examples gives the empty
set. How many words are read depends on the words alone.

Method. The size M has the binomial law of `count` and q: with m* its mode, the weights of all sizes
relative to that of m* follow from each other by exact quotients, kept in fixed point of 192 bits;
their running sums, scaled to 128 bits, are compared with a uniform number. Then M distinct indices,
or the ones to leave out where those are fewer, are drawn by rejection: words are cut into lanes,
lanes are masked to the bits that an index needs, and values from `count` on or drawn before are
dropped. No round looks at more values than are missing, so the result is that of drawing one value
after the other until M differ: uniform over all sets of M indices.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, takewhile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.noise import Address, NoiseSource
from littled.written import write_exactly

# Indices and their lanes have at most so many bits.
COUNT_MAX = 1 << 32
SIZE_WORDS = 2
WEIGHT_BITS = 192
SUM_BITS = 64 * SIZE_WORDS

# Enough for a small subset and its later rounds; a call costs as much as 1,000 words.
AHEAD_WORDS = 48
# Sorting a sixteenth of all indices takes about as long as looking at a mark of each.
MARKED_SHARE = 16

Indices = NDArray[np.int64]
_Values = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class BernoulliSubset:
    """The subset of 0..count-1 that has each index with probability `rate`, independently.

    rate: a float is taken as it is written. TypeError for what is no number; ValueError for a rate
    outside 0 to 1, or a count outside 0 to 2^32.
    """

    count: int
    rate: Fraction

    def __post_init__(self) -> None:
        """Refuse what is not exact or out of range."""
        write_exactly(self, "rate")
        if not isinstance(self.rate, Fraction):
            raise TypeError("the rate of a subset must be a Fraction, so that it is exact")
        if not 0 <= self.rate <= 1:
            raise ValueError("the rate of a subset must be from 0 to 1")
        if not 0 <= self.count <= COUNT_MAX:
            raise ValueError("a subset is of 0 to 2^32 indices")

    def sample(self, noise: NoiseSource, address: Address) -> Indices:
        """One subset from the words of this address, which serves no other use."""
        words = _Reader(noise, address)
        size = self.size(words.take(SIZE_WORDS))
        if 2 * size <= self.count:
            return _distinct(size, self.count, words).astype(np.int64)
        kept = np.ones(self.count, dtype=np.bool_)
        kept[_distinct(self.count - size, self.count, words)] = False
        return np.flatnonzero(kept).astype(np.int64)

    def size(self, words: NDArray[np.uint64]) -> int:
        """The size of the subset from `SIZE_WORDS` uniform words."""
        first, sums = self._sizes
        uniform = int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
        return first + bisect_right(sums, uniform)

    @property
    def size_max(self) -> int:
        """The largest size that occurs; larger ones have a probability of at most 2^-128."""
        first, sums = self._sizes
        return first + len(sums)

    @cached_property
    def _sizes(self) -> tuple[int, tuple[int, ...]]:
        return _size_table(self.count, self.rate)

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation distance of a sample from the ideal subset.

        Proof. In units of 2^-192 of the mode's, let x_m be the true weight of size m and w_m its
        table entry. Quotients fall from 1 on with the distance from the mode, so a step takes an
        error d to at most d + 1: 0 <= x_m - w_m <= n, also where w_m is 0 and left out, n = count.
        With X and W the sums, x_m / X - w_m / W <= (x_m - w_m) / X as W <= X, and X >= 2^192: in
        all at most n (n + 1) / 2^192 <= (n + 1) / 2^160. The running sums are rounded down to
        2^-128, and the last kept one up to 1, which moves at most 2^-128 to each size. Together
        below (n + 1) / 2^127. Given its size the subset is exactly uniform.
        """
        return Fraction(self.count + 1, 1 << (SUM_BITS - 1))


@lru_cache(maxsize=16)
def _size_table(count: int, rate: Fraction) -> tuple[int, tuple[int, ...]]:
    """The smallest size m of positive weight, and floor(2^128 P[M <= m]) from it on.

    Up to the first that is 2^128 - 1: the next size is the largest that occurs.
    """
    inside, outside = rate.numerator, rate.denominator - rate.numerator
    mode = min((count + 1) * inside // rate.denominator, count)
    rising, size, weight = [], mode, 1 << WEIGHT_BITS
    while weight:
        rising.append(weight)
        if size == count:
            break
        weight = weight * (count - size) * inside // ((size + 1) * outside)
        size += 1
    falling, size, weight = [], mode, 1 << WEIGHT_BITS
    while size:
        weight = weight * size * outside // ((count - size + 1) * inside)
        if not weight:
            break
        size -= 1
        falling.append(weight)
    sums = list(accumulate([*reversed(falling), *rising]))
    scaled = ((running << SUM_BITS) // sums[-1] for running in sums)
    return size, tuple(takewhile(((1 << SUM_BITS) - 1).__gt__, scaled))


class _Reader:
    """The words of one address in order; reading some ahead spares small subsets most calls."""

    def __init__(self, noise: NoiseSource, address: Address) -> None:
        self._noise, self._address, self._offset = noise, address, 0
        self._ahead: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)

    def take(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words."""
        if len(self._ahead) < count:
            more = max(count - len(self._ahead), AHEAD_WORDS)
            read = self._noise.words(self._address, more, self._offset)
            self._ahead = np.concatenate((self._ahead, read))
            self._offset += more
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        return taken


def _distinct(size: int, count: int, words: _Reader) -> _Values:
    """The first `size` distinct indices below `count` in the words that come next."""
    kept: _Kept = _Marked(count) if size > count // MARKED_SHARE else _Sorted()
    while kept.number < size:
        missing = size - kept.number
        values = _values(words.take(_words_for(missing, count)), count)
        kept.add(values[:missing])
    return kept.rising()


def _lane(count: int) -> tuple[np.dtype[np.unsignedinteger[Any]], int]:
    """The type of the lanes that words are cut into, and the bits of them that an index needs."""
    bits = max((count - 1).bit_length(), 1)
    return np.dtype("<u2" if bits <= 16 else "<u4"), bits


def _words_for(missing: int, count: int) -> int:
    """Words that hold so many indices on average, and some to spare; what is left is dropped."""
    lane, bits = _lane(count)
    lanes = 8 // lane.itemsize
    return (missing << bits) // (count * lanes) + missing // (16 * lanes) + 2


def _values(words: NDArray[np.uint64], count: int) -> _Values:
    """The lanes of the words, masked, that are indices below `count`."""
    lane, bits = _lane(count)
    lanes = words.astype("<u8", copy=False).view(lane)
    values: _Values = lanes & lane.type((1 << bits) - 1)
    return values if count == 1 << bits else values[values < count]


class _Kept(Protocol):
    """Distinct indices so far: their number, more of them, and all in rising order."""

    number: int

    def add(self, values: _Values) -> None: ...

    def rising(self) -> _Values: ...


class _Sorted:
    """For few indices: a sorted array, into which the still fewer ones of a later round are put."""

    def __init__(self) -> None:
        self._chosen: _Values = np.empty(0, dtype=np.uint16)
        self.number = 0

    def add(self, values: _Values) -> None:
        fresh = _unique(values)
        if self.number:
            places = np.searchsorted(self._chosen, fresh)
            new = self._chosen[np.minimum(places, self.number - 1)] != fresh
            fresh = np.insert(self._chosen, places[new], fresh[new])
        self._chosen, self.number = fresh, len(fresh)

    def rising(self) -> _Values:
        return self._chosen


def _unique(values: _Values) -> _Values:
    """Each value once, rising; `numpy.unique` takes ten times as long."""
    rising = np.sort(values)
    first = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return rising[first]


class _Marked:
    """For many indices: one mark an index."""

    def __init__(self, count: int) -> None:
        self._marks = np.zeros(count, dtype=np.bool_)
        self.number = 0

    def add(self, values: _Values) -> None:
        self._marks[values] = True
        self.number = int(np.count_nonzero(self._marks))

    def rising(self) -> _Values:
        return np.flatnonzero(self._marks)
