"""Discrete Laplace noise by exact integer arithmetic.

Source: Ghosh, Roughgarden, Sundararajan, "Universally Utility-maximizing Privacy Mechanisms"
(the two-sided geometric distribution). Sampling is by inversion.

Guarantee: none by itself; the mechanisms that add this noise state theirs. The sampler's total
variation distance from the ideal distribution is at most `total_variation`.

Neighbouring relation: none; only words and the public rate enter.

Sensitivity: adding this noise to an integer of sensitivity 1 is pure `rate`-DP, as
P[Z = z + 1] >= exp(-rate) * P[Z = z] and P[Z >= g + 1] >= exp(-rate) * P[Z >= g] for all integers.

Shapes: `sample` takes uint64 (`WORDS`,) and gives a Python int; `survival_table` is uint64.

Edge cases: the same work for every outcome; rates outside `powers.RATE_MIN` to `RATE_MAX` are
refused; magnitudes from 2^levels on, whose probability is below 2^-191, never occur.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, scaled_exponential, survival_floors
from littled.written import write_exactly

SURVIVAL_BITS = 64
# Precision of the products that a sample is compared with.
PRODUCT_BITS = 256
# Three words: one bit for the sign, the others for the magnitude.
MAGNITUDE_BITS = 191
_LAST_WORD = np.uint64(2**64 - 1)
# 134 > 193 * ln 2: a magnitude with rate * magnitude >= 134 has probability below 2^-191.
EXPONENT_MAX = 134


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise Z with P[Z = z] proportional to exp(-rate * |z|), z any integer."""

    rate: Fraction

    WORDS: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
        check_rate(self.rate)

    # -- tails -------------------------------------------------------------------------------

    @property
    def reach(self) -> int:
        """The largest gap g with P[Z >= g] >= 2^-64; beyond it the tail rounds down to 0."""
        return len(_upper_tail(self.rate))

    @cached_property
    def survival_table(self) -> NDArray[np.uint64]:
        """floor(2^64 * P[Z >= g]), exact: uint64 (2 * reach + 2,), g = -reach, ..., reach + 1.

        The first entry holds for all smaller gaps as well (2^64 - 1 - 0 at g = -reach), the last
        one (0) for all larger ones. Read-only.
        """
        # P[Z >= g] = 1 - P[Z >= 1 - g], and 2^64 times the latter is never an integer
        tail = np.append(_upper_tail(self.rate), np.uint64(0))
        table = np.concatenate((~tail[::-1], tail))
        table.flags.writeable = False
        return table

    def survival_word(self, gap: int) -> np.uint64:
        """The table's entry for any gap: what a word has to be below for noise to reach the gap."""
        table = self.survival_table
        reach = len(table) // 2 - 1
        word: np.uint64 = table[min(max(gap, -reach), reach + 1) + reach]
        return word

    # -- sampling ----------------------------------------------------------------------------

    def sample(self, words: NDArray[np.uint64]) -> int:
        """One value of Z from `WORDS` uniform words, by inversion; ValueError for another shape.

        The sign is a bit of its own and the magnitude M has P[M >= g] = 2 a^g / (1 + a) for g >= 1,
        a = exp(-rate). With V uniform on [0, 1) the largest g with V < P[M >= g] (0 if there is
        none) has the law of M; its binary digits are found from the highest on, each with one
        product and one comparison.
        """
        if words.shape != (self.WORDS,) or words.dtype != np.uint64:
            raise ValueError(f"a sample of discrete Laplace noise takes {self.WORDS} uint64 words")
        uniform = int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
        negative, uniform = uniform & 1, uniform >> 1
        compared = uniform << (PRODUCT_BITS - MAGNITUDE_BITS)
        current, factors = self._products
        magnitude = 0
        for factor in factors:
            candidate = (current * factor) >> PRODUCT_BITS
            below = compared < candidate
            current = candidate if below else current
            magnitude = 2 * magnitude + below
        return -magnitude if negative else magnitude

    def samples(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """n values of Z from uniform words (n, `WORDS`): that of `sample` for each row, int64 (n,).

        The last word has the highest 64 bits of V. It decides, by a table of the magnitudes' tail,
        unless it is within a unit or two of an entry, which is twice a number rounded down; of
        those few rows the whole of V is looked at. ValueError for another shape.
        """
        if words.ndim != 2 or words.shape[1] != self.WORDS or words.dtype != np.uint64:
            raise ValueError(f"samples of discrete Laplace noise take rows of {self.WORDS} words")
        high, falling = words[:, 2], self._magnitude_tail
        # entries that the word is surely below, and those that it may be below
        surely = np.searchsorted(falling, high + np.uint64(1), side="right")
        maybe = np.searchsorted(falling, high - np.minimum(high, np.uint64(2)), side="left")
        magnitudes = len(falling) - surely
        found: NDArray[np.int64] = np.where(words[:, 0] % 2 == 1, -magnitudes, magnitudes)
        for row in np.flatnonzero((maybe < surely) | (high < 3) | (high == _LAST_WORD)).tolist():
            found[row] = self.sample(words[row])
        return found

    @cached_property
    def _magnitude_tail(self) -> NDArray[np.uint64]:
        """2 floor(2^64 P[Z >= g]), the largest g first: rising, by up to 2 below 2^64 P[M >= g]."""
        tail: NDArray[np.uint64] = _upper_tail(self.rate)[::-1] * np.uint64(2)
        return tail

    @cached_property
    def _levels(self) -> int:
        """The smallest K with rate * 2^K >= 134: magnitudes have K binary digits."""
        levels = 0
        while self.rate * (1 << levels) < EXPONENT_MAX:
            levels += 1
        return levels

    @cached_property
    def _products(self) -> tuple[int, tuple[int, ...]]:
        """2 / (1 + a) and a^(2^i) for i = K - 1, ..., 0, each rounded down to 2^-256."""
        a = scaled_exponential(self.rate, PRODUCT_BITS)
        # a < (A + 2) / 2^256, so this is a lower bound of 2 / (1 + a)
        first = (1 << (2 * PRODUCT_BITS + 1)) // ((1 << PRODUCT_BITS) + a + 2)
        powers = (
            scaled_exponential(self.rate * (1 << level), PRODUCT_BITS)
            for level in reversed(range(self._levels))
        )
        return first, tuple(powers)

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation distance between `sample` and Z: 2^(K - 189).

        Proof. Couple V with its first 191 bits. At each of the at most 2^K - 1 nodes of the binary
        search, the comparison with an integer product may differ from the one with the real tail
        only if V lies near that tail: the first factor is off by less than 6 units of 2^-256 and
        each of the at most 24 products adds less than 2 * 2 + 1 + 1 units, so together less than
        2^8 units; truncating V moves it by less than 2^-191. That is a set of V of measure below
        2^-191 + 2^-247 < 2^-190 a node, and below 2^(K - 190) for all nodes. Magnitudes from 2^K on
        are lost with probability 2 a^(2^K) / (1 + a) < 2 exp(-134) < 2^-191 < 2^(K - 190).
        """
        return Fraction(1 << self._levels, 1 << 189)


@lru_cache(maxsize=16)
def _upper_tail(rate: Fraction) -> NDArray[np.uint64]:
    """floor(2^64 * P[Z >= g]) for g = 1, 2, ... as long as it is not 0: uint64 (reach,)."""
    tail = np.fromiter(survival_floors(rate, SURVIVAL_BITS), dtype=np.uint64)
    tail.flags.writeable = False
    return tail
