"""All windows of n examples over few points, up to symmetry, and what neighbours may differ in.

What symmetries leave of (2 * points)^n windows and 2^n subsets, each for its own reason:

- *Order.* Example i is in chunk i modulo k. What a class learns from a chunk does not depend on the
  order of its examples, and of the chunks' rules only the votes count: examples may change places
  within their chunk, and chunks of one size with one another. Subsets hold each index with one
  probability and scores count agreements, so there the order of all examples does not matter: this
  is the case of one chunk. Relabelling has both, and chunks in the same way.
- *Subsets.* Candidates are a function of the set of the subset's points. A point is in that set iff
  any of its examples is in the subset, which is independent for different points.
- *Neighbours.* Windows that share n - 1 examples at their places are neighbours of one another, and
  any two neighbours are two of such a family. What is measured (`littled`'s claims are about
  differences, ratios, odds, Renyi divergences, failures) grows with the greater of two
  probabilities of 1 and falls with the smaller one, so the worst of a family is its pair of
  extremes, at each point on its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations_with_replacement, islice, product
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Points
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from support.answer_laws import (
    Law,
    Window,
    chunk_votes,
    coin_law,
    columns,
    mixture,
    stable_given,
    weights,
)

Votes = list[int]
Number = TypeVar("Number", int, Fraction)
# The chunks of a window, each in rising order, the longer ones first, those of one length rising.
Chunked = tuple[Window, ...]


def chunked(window: Window, chunks: int) -> Chunked:
    """The one window that stands for all that differ from this one in their order only."""
    return _in_order(window[i::chunks] for i in range(chunks))


def unchunked(window: Chunked) -> Window:
    """The examples at their places: example i is in chunk i modulo k."""
    return tuple(chunk[at] for at in range(len(window[0])) for chunk in window if at < len(chunk))


def families(examples: int, chunks: int, points: int, step: int = 1) -> Iterator[list[Chunked]]:
    """Every family of windows that share all examples but one; only each `step`-th of them."""
    cells = list(product(range(points), (0, 1)))
    for shared in islice(_shared(examples, chunks, cells), 0, None, step):
        *rest, part = shared
        yield [_in_order((*rest, (*part, cell))) for cell in cells]


def _shared(examples: int, chunks: int, cells: Sequence[tuple[int, int]]) -> Iterator[Chunked]:
    """The chunks of the other examples, the one that lacks an example last."""
    sizes = Counter(len(range(i, examples, chunks)) for i in range(chunks))
    for size in sizes:
        others = (
            combinations_with_replacement(
                combinations_with_replacement(cells, each), count - (each == size)
            )
            for each, count in sizes.items()
        )
        for rest in product(*others):
            for part in combinations_with_replacement(cells, size - 1):
                yield (*chain(*rest), part)


def _in_order(chunks: Iterable[Window]) -> Chunked:
    return tuple(sorted((tuple(sorted(each)) for each in chunks), key=lambda c: (-len(c), c)))


def point_subsets(window: Window, q: Fraction) -> Iterator[tuple[NDArray[np.int64], Fraction]]:
    """One subset of the indices for each set of points, and the probability of that set."""
    first = {x: at for at, (x, _) in reversed(list(enumerate(window)))}
    counts = Counter(x for x, _ in window)
    for members in product((False, True), repeat=len(counts)):
        missing = [(1 - q) ** count for count in counts.values()]
        share = prod(1 - m if member else m for m, member in zip(missing, members, strict=True))
        subset = sorted(first[x] for x, member in zip(counts, members, strict=True) if member)
        yield np.array(subset, dtype=np.int64), Fraction(share)


# -- laws of whole windows from what symmetries leave ----------------------------------------------


def stable_law_by_points(
    hypotheses: HypothesisClass, asked: Points, k: Fraction, q: Fraction
) -> Callable[[Chunked], Law]:
    def law(window: Chunked) -> Law:
        examples = unchunked(window)
        labelings = needed(hypotheses.window_labelings).window(*columns(examples, asked.dtype.type))
        return mixture(
            (share, stable_given(labelings, subset, asked, k))
            for subset, share in point_subsets(examples, q)
        )

    return law


def voting(hypotheses: HypothesisClass, asked: Points) -> Callable[[Chunked], Votes]:
    """How many of a window's chunks say 1 to each point; equal chunks are learned once."""

    @cache
    def says(chunk: Window) -> list[int]:
        return chunk_votes(hypotheses, *columns(chunk, asked.dtype.type), asked, 1)

    return lambda window: [sum(each) for each in zip(*map(says, window), strict=True)]


def relabelled_law_by_points(
    hypotheses: HypothesisClass, asked: Points, k: Fraction, q: Fraction,
    chunks: int, k_vote: Fraction,
) -> Callable[[Chunked], Law]:  # fmt: skip
    votes, coin = voting(hypotheses, asked), coin_law(range(chunks + 1), chunks, k_vote)

    def law(window: Chunked) -> Law:
        x, y = columns(unchunked(window), asked.dtype.type)
        labelings, places = needed(hypotheses.window_labelings).window(x, y), x.tolist()
        shares: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for subset, share in point_subsets(unchunked(window), q):
            candidates = labelings.candidates(subset)
            for index, part in enumerate(weights(candidates.scores.tolist(), k)):
                shares[tuple(candidates.rule(index).evaluate(x).tolist())] += share * part
        # rules that label the window alike are learned from alike, whatever subset they are from
        return mixture(
            (
                share,
                [
                    coin[ones]
                    for ones in votes(chunked(tuple(zip(places, labels, strict=True)), chunks))
                ],
            )
            for labels, share in shares.items()
        )

    return law


# -- what is compared --------------------------------------------------------------------------


def extremes(values: Iterable[Sequence[Number]]) -> tuple[list[Number], list[Number]]:
    """The least and the greatest value at each point."""
    points = list(zip(*values, strict=True))
    return [min(each) for each in points], [max(each) for each in points]


def extreme_pairs(
    value: Callable[[Chunked], Sequence[Number]], of: Iterable[Iterable[Chunked]]
) -> Iterator[tuple[list[Number], list[Number]]]:
    """The extremes of every family, each different pair once; each window is looked at once."""
    known = cache(value)
    pairs = (extremes(map(known, family)) for family in of)
    different = {(tuple(low), tuple(high)): (low, high) for low, high in pairs}
    return iter(different.values())
