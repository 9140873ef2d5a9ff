"""Discrete Gaussian noise of one fixed, large variance, by exact integer arithmetic.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", Definition 1
and Theorem 4; sums of discrete Gaussians as in Peikert, "An Efficient and Parallel Gaussian Sampler
for Lattices", Theorem 3.1. The proof for the numbers here is in PRIVACY.md, "Lemma K".

Guarantee: none by itself; whoever adds this noise states it. The sampler's total variation distance
from the ideal distribution is at most `TOTAL_VARIATION` a value.

Neighbouring relation: none; only words enter.

Sensitivity: adding independent noise to each entry of a vector of integers that changes by at most
D in Euclidean length is (D^2 / (2 `VARIANCE`))-zCDP (Theorem 14 of the source), also where what is
added next depends on what was released before. With normal noise, rounded, it would be
(D / sqrt(`VARIANCE`))-GDP, and this noise is within `ROUNDED_VARIATION` of that.

Shapes: `sample` takes uint64 (n, `WORDS`) and gives int64 (n,).

Edge cases: the same work for every outcome but where 64 bits of a word equal an entry of the table,
which happens with probability below 2^-48; magnitudes beyond 13 standard deviations of a part,
whose probability is below 2^-120, never occur.

Method. X = X_0 + M X_1 + M^2 X_2 + M^3 X_3, each X_i discrete Gaussian of standard deviation S
from a table of floors of its distribution function in 128 bits, M = 400, S = 1024.
"""

from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.powers import scaled_exponential

# Standard deviation of each part, the factor between parts, and how many there are.
PART_DEVIATION, FACTOR, PARTS = 1024, 400, 4
PART_VARIANCE = PART_DEVIATION**2
VARIANCE = PART_VARIANCE * sum(FACTOR ** (2 * part) for part in range(PARTS))
# Two words a part: its place in the distribution in 128 bits.
WORDS = 2 * PARTS
# Beyond 13 standard deviations lies less than exp(-84).
REACH = 13 * PART_DEVIATION
PRODUCT_BITS, ENTRY_BITS = 256, 128
# Of one value; see `PRIVACY.md`, "Lemma K": four tables and three sums.
TOTAL_VARIATION = Fraction(1, 1 << 108)
# Of one value, from a normal one of the same variance that is rounded to an integer ("Lemma N").
ROUNDED_VARIATION = TOTAL_VARIATION + Fraction(1, 8 * VARIANCE)

_WORD = (1 << 64) - 1


def sample(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Independent values, int64 (n,), from uniform words, uint64 (n, `WORDS`).

    ValueError for another shape. |value| < 2^40.
    """
    if words.ndim != 2 or words.shape[1] != WORDS or words.dtype != np.uint64:
        raise ValueError(f"discrete Gaussian noise takes uint64 words of shape (n, {WORDS})")
    parts = _from_table(words.reshape(-1, 2)).reshape(-1, PARTS)
    values = np.zeros(len(words), dtype=np.int64)
    for part in range(PARTS - 1, -1, -1):
        values = values * FACTOR + parts[:, part]
    return values


def _from_table(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """One part for each place in 128 bits, high word first: uint64 (n, 2) to int64 (n,)."""
    high, low = distribution()
    wanted = words[:, 0]
    found = np.searchsorted(high, wanted, side="left").astype(np.int64)
    same = high.take(found, mode="clip") == wanted
    for index in np.flatnonzero(same):  # as good as never: compare the low words too
        upper = int(np.searchsorted(high, wanted[index], side="right"))
        while found[index] < upper and low[found[index]] <= words[index, 1]:
            found[index] += 1
    return found - REACH


@cache
def distribution() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """floor(2^128 P[X < k]) for k = 1 - REACH, ..., REACH as high and low words, read-only.

    X is a part, cut off beyond `REACH`. A place is the value REACH places below the number of
    entries that are not above it.
    """
    weights = _weights()
    total = weights[0] + 2 * sum(weights[1:])
    both_sides = [*reversed(weights[1:]), *weights]
    entries, running = [], 0
    for weight in both_sides[:-1]:
        running += weight
        entries.append((running << ENTRY_BITS) // total)
    high = np.array([entry >> 64 for entry in entries], dtype=np.uint64)
    low = np.array([entry & _WORD for entry in entries], dtype=np.uint64)
    high.flags.writeable = low.flags.writeable = False
    return high, low


def _weights() -> list[int]:
    """About 2^256 exp(-k^2 / (2 S^2)) for k = 0, ..., REACH.

    exp(-(k+1)^2 / (2 S^2)) is the one before times q_k, and q_(k+1) is q_k times one constant. Each
    product is below the real one by less than 3 units more than its factors are, so entry k is off
    by less than 3 k^2 + 3 k < 2^30 units of 2^-256.
    """
    constant = scaled_exponential(Fraction(1, PART_VARIANCE), PRODUCT_BITS)
    ratio = scaled_exponential(Fraction(1, 2 * PART_VARIANCE), PRODUCT_BITS)
    weights = [1 << PRODUCT_BITS]
    for _ in range(REACH):
        weights.append(weights[-1] * ratio >> PRODUCT_BITS)
        ratio = ratio * constant >> PRODUCT_BITS
    return weights
