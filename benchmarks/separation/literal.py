"""Bun's Algorithm 1 as printed, pure: what its step 5 needs when it draws among all strings.

Utility only, in floating point: on honest positives all votes agree, and what is published follows
from indices and labels. Freq_pure is the exponential mechanism over the 2^bits pairs (sigma, b).
"""

import math

import numpy as np

EPSILON, ALPHA = 1.0, 0.1
RUNS = 40
STEP = 1.1


def succeeds(index_bits: int, pair_bits: int, n: int, run: int) -> bool:
    """Whether one run of n examples with evenly spread indices errs on at most alpha of others."""
    rng = np.random.default_rng([n, run])
    indices = rng.integers(0, 1 << index_bits, n)
    positive = np.sort(indices[rng.random(n) < 0.45])
    counted = len(positive) + rng.laplace(0, 3 / EPSILON)
    if counted <= ALPHA * n / 3:
        return False
    share = ALPHA * n / (6 * counted)
    first, last = math.ceil(share * len(positive)) - 1, math.floor(2 * share * len(positive))
    within = positive[max(first, 0) : max(last, 1)]
    ends = np.array([0, *within, 1 << index_bits])
    sizes, ranks = np.diff(ends), np.arange(len(within) + 1)
    depths = np.minimum(ranks, len(within) - ranks)
    weights = np.where(sizes > 0, np.log(np.maximum(sizes, 1)) + EPSILON / 6 * depths, -np.inf)
    chances = np.exp(weights - weights.max())
    cell = rng.choice(len(sizes), p=chances / chances.sum())
    index = int(ends[cell] + rng.integers(0, sizes[cell]))
    votes = int((positive <= index).sum())
    lost = pair_bits * math.log(2) - EPSILON / 6 * votes
    found = rng.random() < 1 / (1 + math.exp(min(lost, 700.0)))
    return bool(found and 0.45 * index / (1 << index_bits) <= ALPHA)


def least(index_bits: int, pair_bits: int, runs: int = RUNS) -> int:
    """The least size, in steps of a tenth, at which nine of ten runs succeed."""
    size = 60.0
    while True:
        n = math.ceil(size)
        failed = sum(not succeeds(index_bits, pair_bits, n, run) for run in range(runs))
        if 10 * failed <= runs:
            return n
        size *= STEP
