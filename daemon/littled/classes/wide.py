"""Ids of up to 128 bits as rows (high, low) of two uint64: numpy has no wider integer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import DataSet, errors_allowed

Pairs = NDArray[np.uint64]
# Positive ids and negative ids, with repetitions, and errors allowed, of each data set.
Evidence: TypeAlias = tuple[tuple[list[int], ...], tuple[list[int], ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Tally:
    """The different ids among labelled examples, rising, and the counts of each, int64 (ids,).

    `ids` has the shape and dtype of the examples' column.
    """

    ids: NDArray[np.unsignedinteger[Any]]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]


def as_pairs(points: NDArray[np.unsignedinteger[Any]]) -> Pairs:
    """(n, 2) uint64 view or copy of scalar (n,) or wide (n, 2) columns."""
    if points.ndim == 2:
        return points.astype(np.uint64, copy=False)
    pairs = np.zeros((len(points), 2), dtype=np.uint64)
    pairs[:, 1] = points
    return pairs


def to_int(pair: NDArray[np.uint64]) -> int:
    """The integer behind one (high, low) pair."""
    return int(pair[0]) << 64 | int(pair[1])


def to_ints(points: NDArray[np.unsignedinteger[Any]]) -> list[int]:
    """The integers of a scalar (n,) or wide (n, 2) column."""
    if points.ndim == 1:
        narrow: list[int] = points.tolist()
        return narrow
    return [high << 64 | low for high, low in points.tolist()]


def evidence(data_sets: Sequence[DataSet], tolerance: Fraction) -> Evidence:
    """The positive ids and the negative ids of each data set, and the errors allowed on it.

    The quick way to few examples: most teachers have a dozen.
    """
    positives, negatives, allowed = [], [], []
    for x, y in data_sets:
        ids, labels = to_ints(x), y.tolist()
        positives.append(list(compress(ids, labels)))
        negatives.append([id_ for id_, label in zip(ids, labels, strict=True) if not label])
        allowed.append(errors_allowed(tolerance, len(ids)))
    return tuple(positives), tuple(negatives), tuple(allowed)


def tally(points: NDArray[np.unsignedinteger[Any]], y: NDArray[np.uint8]) -> Tally:
    """Count the labels 1 and 0 of every different id of a scalar (n,) or wide (n, 2) column.

    Sorting by words takes a tenth of the time that `numpy.unique` needs for rows.
    """
    order = rising(points)
    ordered = points.take(order, axis=0)
    starts = starts_of_runs(ordered)
    if not len(starts):
        return Tally(ordered, starts, starts)
    examples = np.diff(starts, append=len(ordered))
    # wide before the sum: one that widens on its way keeps other threads from running meanwhile
    positive = np.add.reduceat(y.take(order).astype(np.int64), starts)
    return Tally(ordered.take(starts, axis=0), positive, examples - positive)


def ranked(
    points: NDArray[np.unsignedinteger[Any]],
) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.int64]]:
    """The different ids of a scalar (n,) or wide (n, 2) column, rising; and all ranks, (n,)."""
    order = rising(points)
    ordered = points.take(order, axis=0)
    starts = starts_of_runs(ordered)
    ranks = np.empty(len(points), dtype=np.int64)
    ranks[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(points)))
    return ordered.take(starts, axis=0), ranks


def rising(points: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int64]:
    """An order in which a scalar or wide column rises.

    Few high words are equal, or few are different. So they are sorted alone, and only if some are
    equal also the low words, and then the ranks of both: faster than a stable sort by two keys.
    """
    if points.ndim == 1:
        return np.argsort(points)
    high, low = points.T.copy()
    order = np.argsort(high)
    ordered = high.take(order)
    new = ordered[1:] != ordered[:-1]
    if new.all():
        return order
    ranks = np.empty((2, len(points)), dtype=np.int64)
    ranks[0, order[:1]] = 0
    ranks[0, order[1:]] = np.cumsum(new)
    ranks[1, np.argsort(low)] = np.arange(len(points))
    return np.argsort(ranks[0] * len(points) + ranks[1])


def starts_of_runs(ordered: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each run of equal neighbours begins in a column (n,) or rows (n, words), (runs,)."""
    begins = np.zeros(len(ordered), dtype=np.bool_)
    begins[:1] = True
    for column in ordered.T if ordered.ndim == 2 else (ordered,):
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def fits_bits(points: NDArray[np.unsignedinteger[Any]], bits: int) -> bool:
    """Whether every id is below 2^bits."""
    if not len(points) or bits == 128:
        return True
    if points.ndim == 1:
        return bits >= 64 or int(points.max()) >> bits == 0
    high_bits = max(bits - 64, 0)
    if int(points[:, 0].max()) >> high_bits:
        return False
    return bits >= 64 or int(points[:, 1].max()) >> bits == 0


def bit_length(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Bit length of every word, by integer steps only."""
    words = words.copy()
    length = np.zeros(words.shape, dtype=np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        large = words >= np.uint64(1 << shift)
        length[large] += shift
        words[large] >>= np.uint64(shift)
    return length + (words > 0)
