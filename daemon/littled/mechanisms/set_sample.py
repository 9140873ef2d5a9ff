"""A set of tests, drawn by the one of them that failed least: exponential, exact up to an error.

Source: this project's; the exponential mechanism (McSherry, Talwar, "Mechanism Design via
Differential Privacy") over sets with public weights, Lemmas M and S of PRIVACY.md, section 4.

Mechanism. There are public groups of up to two tests. Each example fails some tests, and the count
of a test is how many examples fail it, or `cap` if there are more. A candidate is a set with at
most one test of each group; its public weight is the product of the `odds` of its tests, of `NONE`
for each group without one; its score is the least count of its tests, of the empty set the greatest
count of all. Bottom has the score 0 and `doubt` times the weight of all sets together. P[candidate]
is proportional to weight times exp(e score). A test with odds of 0 is in no set.

Guarantee: a draw is pure 2e-DP and (e^2 / 2)-zCDP, up to `total_variation()`.

Neighbouring relation: replace one example; adding and removing one are special cases, which cost
half as much in pure terms (Lemma S). With n examples left out and n' in their place it is (n + n')
e.

Sensitivity: an example changes counts by at most 1, and the least or the greatest of some numbers
by no more than any of them. Weights and `doubt` are public; odds that look at data are NOT covered.

Shapes: counts int64 (g, 2), 0..cap, odds int64 (g, 2), 0 or more, words uint64 (`words(odds)`,);
the tests drawn as pairs (group, place in the group), or None for bottom.

Edge cases: without any odds bottom is certain. The time taken depends on the counts and is not part
of the guarantee.

Method. With a the largest count, the weights w_v = floor(2^b exp(-e (a - v))) of the counts v that
occur, rising, are cut into steps s_v = w_v - w_u, u being the next lower one. A level v is drawn in
proportion to s_v N_v, N_v being the weight of all sets of tests with counts of v or more, and then
one of these sets by its weight alone. So a set of least count v has its weight times the sum of all
steps up to v, which is w_v. One uniform number decides all of it, as an index of the candidates.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, weight_floors
from littled.written import write_exactly

NONE: Final = 256
"""The weight of a group without a test."""
CAP_MAX: Final = 1 << 16
DOUBT_MAX: Final = 1 << 32
ODDS_MAX: Final = 1 << 54
_SPARE_BITS = 128
_WORD_BITS = 64

Integers = NDArray[np.int64]
Drawn = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SetSample:
    """Draws sets of tests, or bottom, at `rate` e."""

    rate: Fraction
    cap: int
    doubt: int

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        write_exactly(self, "rate")
        check_rate(self.rate)
        if not 1 <= self.cap <= CAP_MAX:
            raise ValueError("counts of a draw of sets end between 1 and 65536")
        if not 0 <= self.doubt <= DOUBT_MAX:
            raise ValueError("the weight of bottom must be from 0 to 2^32")

    def words(self, odds: Integers) -> int:
        """How many uniform words a draw with these odds takes; a public number."""
        return -(-(self._bits(odds) + self._all(odds).bit_length() + _SPARE_BITS) // _WORD_BITS)

    def sample(self, counts: Integers, odds: Integers, words: NDArray[np.uint64]) -> Drawn | None:
        """The tests that were drawn, None for bottom; ValueError for other shapes or ranges."""
        if counts.ndim != 2 or counts.shape != odds.shape or counts.shape[1] != 2:
            raise ValueError("a draw of sets takes counts and odds of two tests a group")
        if counts.size and not (counts.min() >= 0 and counts.max() <= self.cap):
            raise ValueError("a count of a draw of sets is out of range")
        if odds.size and not (odds.min() >= 0 and odds.max() <= ODDS_MAX):
            raise ValueError("odds of a draw of sets must be from 0 to 2^54")
        if words.shape != (self.words(odds),) or words.dtype != np.uint64:
            raise ValueError("a draw of sets takes uint64 words, as many as it says")
        uniform = int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
        weights = _table(self.rate, self._bits(odds), self.cap)
        weighed = WeighedSets.of(counts, odds, weights, self.doubt)
        return weighed.at((uniform * weighed.total) >> (_WORD_BITS * len(words)))

    def total_variation(self) -> Fraction:
        """Bound on the total variation of a draw from the ideal one.

        Proof. With A the public weight of all candidates, b bits have 2^b >= 2^128 A. Let X be the
        real weights times 2^b together, W what is left of them. Each unit of public weight loses
        less than 1, and some candidate has weight 2^b at least, so (X - W) / X <= A / 2^b <=
        2^-128. Each point of [0, W) gets floor or ceil of 2^n / W values of n uniform bits, which
        costs at most W / 2^n <= 2^-128, as W <= A 2^b and 2^n >= 2^128 A 2^b.
        """
        return Fraction(1, 1 << (_SPARE_BITS - 1))

    def _all(self, odds: Integers) -> int:
        """The public weight of all candidates."""
        return (1 + self.doubt) * _sets(odds, np.ones(odds.shape, dtype=np.bool_))

    def _bits(self, odds: Integers) -> int:
        return _SPARE_BITS + self._all(odds).bit_length()


@dataclass(frozen=True, slots=True, repr=False)
class WeighedSets:
    """All candidates with their weights, private.

    bottom: its weight. levels: the counts that occur, rising, with their steps and the weight of
    all sets of tests of at least so many.
    """

    counts: Integers
    odds: Integers
    bottom: int
    levels: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(
        cls, counts: Integers, odds: Integers, weights: tuple[int, ...], doubt: int
    ) -> "WeighedSets":
        """weights: of scores that are 0, 1, ... below the largest count, up to the last above 0."""
        offered = odds > 0
        found = np.unique(counts[offered]).tolist()
        top = found[-1] if found else 0

        def weight(count: int) -> int:
            return weights[top - count] if top - count < len(weights) else 0

        levels, lower = [], 0
        for level in found:
            step = weight(level) - lower
            lower += step
            if step:
                levels.append((level, step, _sets(odds, counts >= level)))
        everything = _sets(odds, offered) * max(doubt, int(not found))
        return cls(counts, odds, everything * weight(0), tuple(levels))

    @property
    def total(self) -> int:
        """The weight of all candidates, bottom included."""
        return self.bottom + sum(step * sets for _, step, sets in self.levels)

    def at(self, point: int) -> Drawn | None:
        """The candidate with this point of [0, total)."""
        point -= self.bottom
        if point < 0:
            return None
        for level, step, sets in self.levels:
            if point < step * sets:
                return self._numbered(level, point // step)
            point -= step * sets
        raise AssertionError("a point beyond the weight of all candidates")

    def _numbered(self, level: int, number: int) -> Drawn:
        """The set with this number among those of tests with counts of this level or more."""
        chosen = []
        for group, (odds, counts) in enumerate(
            zip(self.odds.tolist(), self.counts.tolist(), strict=True)
        ):
            first, second = (a if c >= level else 0 for a, c in zip(odds, counts, strict=True))
            number, part = divmod(number, NONE + first + second)
            if part >= NONE:
                chosen.append((group, int(part >= NONE + first)))
        return tuple(chosen)


def _sets(odds: Integers, eligible: NDArray[np.bool_]) -> int:
    """The weight of all sets of eligible tests."""
    return prod((NONE + np.where(eligible, odds, 0).sum(axis=1)).tolist())


@lru_cache(maxsize=32)
def _table(rate: Fraction, bits: int, cap: int) -> tuple[int, ...]:
    """floor(2^bits exp(-rate k)) for k = 0..cap, as far as it is not 0."""
    return tuple(islice(weight_floors(rate, bits), cap + 1))
