"""The exponential mechanism over a huge domain, given as few ranges of equal scores.

Source: McSherry, Talwar, "Mechanism Design via Differential Privacy"; that it can be sampled by
ranges from Smith, "Privacy-preserving statistical estimation with optimal convergence rates", as
Bun, "A Computational Separation between Private Learning and Online Learning", uses it in the proof
of Theorem 13.

Mechanism. The domain has N candidates, cut into ranges; all candidates of a range are equally far
behind the best score. P[candidate] is proportional to exp(-e * distance).

Guarantee: as `littled.mechanisms.exponential`, which this is for more candidates than can be
listed: a draw is (e^2 / 2)-zCDP and pure 2e-DP, up to a total variation of `total_variation`.

Neighbouring relation: replace one example.

Sensitivity: replacing one example changes each score by -1, 0 or 1. How the domain is cut may
depend on the data, as only the scores of candidates matter.

Shapes: sizes and distances are lists of Python integers, one of each for a range; words uint64
(`words`,); the result is the index of a range and that of a candidate in it.

Edge cases: a range of size 0 is never drawn; sizes have to sum to the domain (ValueError), and a
best candidate has distance 0 (ValueError without one). The time taken depends on how many distances
there are and is not part of the guarantee.

Method. A range of size s and distance d has the weight s A(d), with A(0) = 2^P and 0 <= 2^P
exp(-e d) - A(d) < 2; P is 128 bits more than N has. A uniform number picks a point below their sum
W, so a range, and what is left of the point the candidate in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, scaled_exponential
from littled.written import write_exactly

PRECISION_BITS = 128
WORD_BITS = 64
# Beyond, a draw would compute with numbers of more than 200 bytes for each range.
DOMAIN_BITS_MAX = 1 << 10


@dataclass(frozen=True)
class RangeDraw:
    """Draws one of `candidates` with probability proportional to exp(-rate * distance)."""

    rate: Fraction
    candidates: int

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate or no domain."""
        write_exactly(self, "rate")
        check_rate(self.rate)
        if not 1 <= self.candidates <= 1 << DOMAIN_BITS_MAX:
            raise ValueError(f"a draw has from 1 to 2^{DOMAIN_BITS_MAX} candidates")

    @property
    def words(self) -> int:
        """Uniform words of a draw: W < 2^(P + bits), and 128 bits more."""
        bits = self.candidates.bit_length()
        return -(-(self.weight_bits + bits + PRECISION_BITS) // WORD_BITS)

    @property
    def weight_bits(self) -> int:
        """P."""
        return self.candidates.bit_length() + PRECISION_BITS

    def weight(self, distance: int) -> int:
        """A(d) of a distance d >= 0."""
        return _weight(self.rate * distance, self.weight_bits)

    @property
    def reach(self) -> int:
        """No candidate that is further behind has a weight; for callers, to leave ranges out."""
        return int(self.weight_bits / self.rate) + 1

    def weights(self, sizes: Sequence[int], distances: Sequence[int]) -> list[int]:
        """The weight of each range; ValueError for what is no domain."""
        if len(sizes) != len(distances) or sum(sizes) > self.candidates:
            raise ValueError("ranges need a distance each, and together no more than the domain")
        if not any(size and not distance for size, distance in zip(sizes, distances, strict=True)):
            raise ValueError("the best candidate of a draw has the distance 0")
        known = {distance: self.weight(distance) for distance in set(distances)}
        return [size * known[d] for size, d in zip(sizes, distances, strict=True)]

    def sample(
        self, sizes: Sequence[int], distances: Sequence[int], words: NDArray[np.uint64]
    ) -> tuple[int, int]:
        """The range, and the number of the candidate in it, from `words` uniform words.

        Ranges that are further behind than `reach` may be left out. ValueError for words of another
        number or type.
        """
        if words.shape != (self.words,) or words.dtype != np.uint64:
            raise ValueError(f"this draw takes {self.words} uint64 words")
        masses = self.weights(sizes, distances)
        uniform = int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
        point = (uniform * sum(masses)) >> (WORD_BITS * self.words)
        for index, upto in enumerate(accumulate(masses)):
            if point < upto:
                return index, (point - upto + masses[index]) // self.weight(distances[index])
        raise AssertionError("a point lies below the sum of all weights")

    def total_variation(self) -> Fraction:
        """Bound on the total variation of a draw from the ideal one: 2^-126.

        Proof. Let X and W be the sums of the real weights (times 2^P) and of the integer ones. Each
        candidate loses less than 2, also one that is left out, as A is 0 there; so X - W < 2 N, and
        X >= 2^P > 2^128 N. As in `exponential`, rounding costs at most (X - W) / X < 2^-127.
        Each point of [0, W) gets floor or ceil of 2^U / W values of the uniform number, U >= P +
        bits + 128, which costs at most W / 2^U <= 2^-128. Together below 2^-126.
        """
        return Fraction(1, 1 << 126)


@lru_cache(maxsize=1 << 12)
def _weight(exponent: Fraction, bits: int) -> int:
    """A lower bound of 2^bits exp(-exponent) by less than 2: 4096 of 1,200 bits take 1 MB."""
    return scaled_exponential(exponent, bits) if exponent else 1 << bits
