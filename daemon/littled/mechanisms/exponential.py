"""The exponential mechanism on integer scores, exact up to a tracked error.

Source: McSherry, Talwar, "Mechanism Design via Differential Privacy"; the bounded range from Dong,
Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"; its price in
zCDP from Cesar, Rogers, "Bounding, Concentrating, and Truncating".

Mechanism. P[i] proportional to exp(e * score_i) over a public, finite list of candidates.

Guarantee: a draw is (e^2 / 2)-zCDP and pure 2e-DP, up to a total variation of
`total_variation(candidates)`. The proof is in PRIVACY.md, section 4 (dense selection).

Neighbouring relation: replace one example (or one teacher).

Sensitivity: replacing one example changes each score by -1, 0 or 1. Only the width 2 of the
interval of changes matters. With n examples left out and n' others in their place it is n + n', and
the range (n + n') e.

Shapes: scores int64 (n,), words uint64 (`WORDS`,); the index of the drawn candidate is an int.

Edge cases: ties are equally likely; one candidate is drawn with certainty; any int64 scores are
accepted, however far apart; no candidates: ValueError. Errors never mention scores. The time taken
depends on the scores (how many differ) and is not part of the guarantee.

Method. With m the largest score, candidate i has the integer weight w_i = floor(2^127 *
exp(-e (m - score_i))), a table entry. With W their sum, r = floor(u * W / 2^256) for a 256-bit
uniform u picks a point of [0, W); candidates lie there in the order of falling scores, and of
indices among equal scores, each with its w_i points.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import check_rate, weight_floors
from littled.written import write_exactly

WEIGHT_BITS = 127
UNIFORM_BITS = 256
# Weights are summed in four limbs of 32 bits, each sum in a uint64.
LIMB_BITS = 32
LIMBS = 4
CANDIDATES_MAX = 1 << 31
# Weights are packed in pieces, as a list of a million Python integers takes 50 MB.
_PIECE = 1 << 14
# Scores are counted in pieces: counting keeps other threads from running, and a million take 2 ms.
_COUNTED_PIECE = 1 << 16

_INT64_MIN = -(1 << 63)


@dataclass(frozen=True)
class ExponentialMechanism:
    """Draws index i with probability proportional to exp(rate * score_i)."""

    rate: Fraction

    WORDS: ClassVar[int] = 4

    def __post_init__(self) -> None:
        """Take floats as they are written; refuse what is no rate."""
        write_exactly(self, "rate")
        check_rate(self.rate)

    def sample(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> int:
        """One index from scores int64 (n,), n >= 1, and `WORDS` uniform words.

        ValueError for other shapes or types.
        """
        return self.weighed(scores).draw(words)

    def weighed(self, scores: NDArray[np.int64]) -> "WeighedScores":
        """All that a draw needs of the scores, for several draws from the same ones.

        ValueError as for `sample`.
        """
        if scores.dtype != np.int64 or scores.ndim != 1:
            raise ValueError("the exponential mechanism takes scores of int64 in one dimension")
        if not 1 <= len(scores) <= CANDIDATES_MAX:
            raise ValueError(f"the exponential mechanism takes 1 to {CANDIDATES_MAX} candidates")
        limbs = _weight_limbs(self.rate)
        behind = _distances(scores, limbs.shape[1])
        distances, counts = _groups(behind, limbs.shape[1])
        sums = np.cumsum(limbs[:, distances] * counts, axis=1, dtype=np.uint64)
        return WeighedScores(behind, distances, limbs[:, distances], sums)

    def total_variation(self, candidate_count: int) -> Fraction:
        """Bound on the total variation of a draw from the ideal one, at most this many candidates.

        Proof. Let x_i be the real weights times 2^127, X and W the sums of x_i and w_i, n their
        number. x_i / X - w_i / W <= (x_i - w_i) / X as W <= X, so rounding costs at most
        (X - W) / X <= n / 2^127 as X >= 2^127. Each point of [0, W) gets floor or ceil of
        2^256 / W values of u, which costs at most W / 2^256 <= n / 2^129. Together below
        n / 2^126. ValueError if the count is out of range.
        """
        if candidate_count < 0:
            raise ValueError("a number of candidates cannot be negative")
        return Fraction(candidate_count, 1 << (WEIGHT_BITS - 1))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WeighedScores:
    """Candidates with their weights, private; made by `ExponentialMechanism.weighed`.

    behind: int64 (n,), how far each score is below the largest. distances: int64 (g,), those that
    have a weight, rising. limbs, sums: uint64 (LIMBS, g), each one's weight and the running sums of
    the weights of all candidates.
    """

    behind: NDArray[np.int64]
    distances: NDArray[np.int64]
    limbs: NDArray[np.uint64]
    sums: NDArray[np.uint64]

    def draw(self, words: NDArray[np.uint64]) -> int:
        """One index from `ExponentialMechanism.WORDS` uniform words; ValueError for others."""
        if words.shape != (ExponentialMechanism.WORDS,) or words.dtype != np.uint64:
            raise ValueError(
                f"the exponential mechanism takes {ExponentialMechanism.WORDS} uint64 words"
            )
        uniform = int.from_bytes(words.astype("<u8", copy=False).tobytes(), "little")
        point = (uniform * _joined(self.sums[:, -1])) >> UNIFORM_BITS
        group = _first_beyond(self.sums, point)
        before = _joined(self.sums[:, group - 1]) if group else 0
        member = (point - before) // _joined(self.limbs[:, group])
        return int(np.flatnonzero(self.behind == self.distances[group])[member])


def _distances(scores: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """How far each score is below the largest, `reach` standing for "so far or more": int64 (n,).

    Clipped before subtracting, so that no difference overflows.
    """
    highest = int(scores.max())
    distances = np.maximum(scores, max(highest - reach, _INT64_MIN))
    np.subtract(highest, distances, out=distances)
    return distances


def _groups(
    distances: NDArray[np.int64], reach: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The distances below `reach` that occur, rising, and how often each of them does."""
    # Counting is cheaper than sorting unless the table is much longer than the scores.
    if reach <= 4 * len(distances) + 1024:
        size = max(_COUNTED_PIECE, reach)
        counts = np.zeros(reach + 1, dtype=np.int64)
        for start in range(0, len(distances), size):
            counts += np.bincount(distances[start : start + size], minlength=reach + 1)
        counts = counts[:reach]
        found = np.flatnonzero(counts)
        return found, counts[found].astype(np.uint64)
    found, repeats = np.unique(distances, return_counts=True)
    kept = found < reach
    return found[kept], repeats[kept].astype(np.uint64)


def _joined(limbs: NDArray[np.uint64]) -> int:
    """The integer whose limbs (LIMBS,), lowest first, these are; limbs may exceed 32 bits."""
    return sum(int(limb) << (LIMB_BITS * place) for place, limb in enumerate(limbs))


def _first_beyond(sums: NDArray[np.uint64], point: int) -> int:
    """The first group whose running sum of weights (LIMBS, groups) exceeds `point`."""
    low, high = 0, sums.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if _joined(sums[:, middle]) > point:
            high = middle
        else:
            low = middle + 1
    return low


@lru_cache(maxsize=8)
def _weight_limbs(rate: Fraction) -> NDArray[np.uint64]:
    """All positive weights of this rate in limbs, lowest first: uint64 (LIMBS, reach), read-only.

    Column k is floor(2^127 * exp(-rate * k)), 1 <= reach <= 88.1 / rate + 1.
    """
    packed = np.concatenate(list(_packed_weights(weight_floors(rate, WEIGHT_BITS))), axis=0)
    limbs = np.ascontiguousarray(packed.T).astype(np.uint64)
    limbs.flags.writeable = False
    return limbs


def _packed_weights(weights: Iterator[int]) -> Iterator[NDArray[np.uint32]]:
    """Weights as rows of LIMBS uint32, in pieces of at most 2^14 rows."""
    size = LIMBS * LIMB_BITS // 8
    for first in weights:
        piece = chain((first,), islice(weights, _PIECE - 1))
        rows = b"".join(weight.to_bytes(size, "little") for weight in piece)
        yield np.frombuffer(rows, dtype="<u4").reshape(-1, LIMBS)
