"""The ideal law of an answer, from its definition: every subset and candidate, exact fractions.

All take k, the fraction that stands for exp(e) of a rate e, and so what they give is exact: it is
the law for the rate ln k.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labelings, Labels, Points
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.mechanisms.noisy_majority import ConcentratedLead
from littled_protocol.rules import Rule

# One or more examples: (point, label).
Window = tuple[tuple[int, int], ...]
# P[1] at each of the points asked about.
Law = list[Fraction]


def columns(window: Window, dtype: type[np.unsignedinteger] = np.uint8) -> tuple[Points, Labels]:
    x, y = zip(*window, strict=True)
    return np.array(x, dtype=dtype), np.array(y, dtype=np.uint8)


def neighbours(window: Window, points: int) -> Iterator[Window]:
    for at, other in product(range(len(window)), product(range(points), (0, 1))):
        if other != window[at]:
            yield (*window[:at], other, *window[at + 1 :])


def subsets(count: int, q: Fraction) -> Iterator[tuple[NDArray[np.int64], Fraction]]:
    """Every subset of the indices and its probability."""
    for size in range(count + 1):
        share = q**size * (1 - q) ** (count - size)
        if share:
            for chosen in combinations(range(count), size):
                yield np.array(chosen, dtype=np.int64), share


def weights(scores: Sequence[int], k: Fraction) -> list[Fraction]:
    """Shares proportional to k^score."""
    raw = [k ** int(score) for score in scores]
    total = sum(raw)
    return [mass / total for mass in raw]


def flipped(law: Law, flip: Fraction) -> Law:
    return [flip + (1 - 2 * flip) * p for p in law]


def mixture(parts: Iterator[tuple[Fraction, Law]]) -> Law:
    total: Law = []
    for share, law in parts:
        total = total or [Fraction(0)] * len(law)
        total = [t + share * p for t, p in zip(total, law, strict=True)]
    return total


def stable_given(
    labelings: Labelings, subset: NDArray[np.int64], asked: Points, k: Fraction
) -> Law:
    """Of the answer h(x) for one subset."""
    candidates = labelings.candidates(subset)
    shares = weights(candidates.scores.tolist(), k)
    says = [candidates.labels(asked[j : j + 1]) for j in range(len(asked))]
    return [
        sum((share for share, one in zip(shares, labels, strict=True) if one), Fraction(0))
        for labels in says
    ]


def stable_law(
    hypotheses: HypothesisClass, window: Window, asked: Points, k: Fraction, q: Fraction
) -> Law:
    labelings = needed(hypotheses.window_labelings).window(*columns(window, asked.dtype.type))
    return mixture(
        (share, stable_given(labelings, subset, asked, k))
        for subset, share in subsets(len(window), q)
    )


def chunk_votes(
    hypotheses: HypothesisClass, x: Points, y: Labels, asked: Points, chunks: int
) -> list[int]:
    """How many of the chunks' rules, one example in each k-th place, say 1 to each point."""
    rules: list[Rule] = [
        hypotheses.empirical_rule(x[i::chunks], y[i::chunks]) for i in range(chunks)
    ]
    return [
        sum(int(rule.evaluate(asked[j : j + 1])[0]) for rule in rules) for j in range(len(asked))
    ]


def coin_law(ones: Sequence[int], chunks: int, k: Fraction) -> Law:
    return [weights((chunks - positives, positives), k)[1] for positives in ones]


def realizable_law(
    hypotheses: HypothesisClass, window: Window, asked: Points, chunks: int, k: Fraction
) -> Law:
    x, y = columns(window, asked.dtype.type)
    return coin_law(chunk_votes(hypotheses, x, y, asked, chunks), chunks, k)


def averaging_law(
    hypotheses: HypothesisClass, window: Window, asked: Points, chunks: int, flip: Fraction
) -> Law:
    x, y = columns(window, asked.dtype.type)
    votes = chunk_votes(hypotheses, x, y, asked, chunks)
    return flipped([Fraction(ones, chunks) for ones in votes], flip)


def laplace_beyond(k: Fraction, d: int) -> Fraction:
    """P[Z - Z' >= d] for two noises with P[z] proportional to k^-|z|.

    With s = 1/k, P[Z - Z' = j] = ((1 - s) / (1 + s))^2 s^j (j + (1 + s^2) / (1 - s^2)) for j >= 0:
    j + 1 of the z from 0 to j, and the geometric series on either side of them. The sum over
    j >= d is that of two geometric series.
    """
    if d <= 0:
        return 1 - laplace_beyond(k, 1 - d)
    s = 1 / k
    centre = (1 + s * s) / (1 - s * s)
    return ((1 - s) / (1 + s)) ** 2 * s**d * ((d + centre) / (1 - s) + s / (1 - s) ** 2)


def majority_law(ones: Sequence[int], chunks: int, k: Fraction) -> Law:
    """Of the larger of two counts with discrete Laplace noise on each."""
    return [laplace_beyond(k, chunks - 2 * positives + 1) for positives in ones]


def concentrated_law(ones: Sequence[int], chunks: int, rate: Fraction) -> Law:
    """Of a majority in zCDP as it runs, finite precision and all."""
    law = ConcentratedLead(rate, chunks)
    return [Fraction(law.threshold(2 * positives - chunks), 1 << 64) for positives in ones]


def dense_law(rows: Sequence[Sequence[int]], window: Window, asked: Points, k: Fraction) -> Law:
    shares = weights([sum(row[x] == y for x, y in window) for row in rows], k)
    return [
        sum((share for share, row in zip(shares, rows, strict=True) if row[int(x)]), Fraction(0))
        for x in asked
    ]


def relabelled_given(
    hypotheses: HypothesisClass, window: Window, subset: NDArray[np.int64], asked: Points,
    k: Fraction, chunks: int, k_vote: Fraction,
) -> Law:  # fmt: skip
    """Of the answer by relabelling for one subset."""
    x, y = columns(window, asked.dtype.type)
    candidates = needed(hypotheses.window_labelings).window(x, y).candidates(subset)
    shares = weights(candidates.scores.tolist(), k)

    def given(index: int) -> Law:
        labels = candidates.rule(index).evaluate(x)
        return coin_law(chunk_votes(hypotheses, x, labels, asked, chunks), chunks, k_vote)

    return mixture((share, given(index)) for index, share in enumerate(shares))


def relabelled_law(
    hypotheses: HypothesisClass, window: Window, asked: Points, k: Fraction, q: Fraction,
    chunks: int, k_vote: Fraction,
) -> Law:  # fmt: skip
    return mixture(
        (share, relabelled_given(hypotheses, window, subset, asked, k, chunks, k_vote))
        for subset, share in subsets(len(window), q)
    )


# -- what is compared --------------------------------------------------------------------------


def difference(here: Law, there: Law) -> Fraction:
    """The largest change of an answer's probability."""
    return max(abs(p - r) for p, r in zip(here, there, strict=True))


def failure(here: Law, there: Law, ratio: Fraction) -> Fraction:
    """The least d with P[y] <= ratio P'[y] + d for both answers, both ways."""
    pairs = [(p, r) for p, r in zip(here, there, strict=True)]
    pairs += [(r, p) for p, r in pairs]
    return max(max(p - ratio * r, (1 - p) - ratio * (1 - r)) for p, r in pairs)


def ratio(here: Law, there: Law) -> Fraction:
    """The largest quotient of an answer's probabilities, both ways."""
    return max(
        max(p / r, r / p, (1 - p) / (1 - r), (1 - r) / (1 - p))
        for p, r in zip(here, there, strict=True)
    )


def odds_ratio(here: Law, there: Law) -> Fraction:
    return max(
        max(ratio, 1 / ratio)
        for ratio in (p * (1 - r) / ((1 - p) * r) for p, r in zip(here, there, strict=True))
    )
