"""What is wanted of published scorecards: few columns, tables that rise or fall, few releases.

All of it is computed from what is public already, so nothing is paid for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from littled.classes.capabilities import Integers
from littled_protocol.rules import ScorecardRule

# Of each column, in the parameters: the points of its values rise, fall, or do as they like.
RISING, FALLING, FREE = "rf-"
# Changes of points count as far as their squares, summed over 2^16 buckets, fit into 64 bits.
_CHANGE_MAX, _MEAN_BITS = 1 << 21, 6


def pooled(points: Iterable[int]) -> list[int]:
    """The sequence that never falls and is nearest to `points` in squares, rounded to integers.

    By pooling adjacent violators (Ayer, Brunk, Ewing, Reid, Silverman 1955); exact until the means
    of blocks are rounded, which keeps their order.
    """
    blocks: list[tuple[int, int]] = []
    for one in points:
        total, count = one, 1
        while blocks and blocks[-1][0] * count >= total * blocks[-1][1]:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    return [(2 * total + count) // (2 * count) for total, count in blocks for _ in range(count)]


def monotone(rule: ScorecardRule, ways: str, ordered: Sequence[range]) -> ScorecardRule:
    """The scorecard whose tables rise and fall as `ways` says; "" leaves all as they are.

    ways: "r", "f" or "-" for each column. ordered: the buckets of each that have an order.
    """
    if not ways:
        return rule
    tables = []
    for table, way, inner in zip(rule.tables, ways, ordered, strict=True):
        values = table[inner.start : inner.stop]
        if way == RISING:
            values = tuple(pooled(values))
        elif way == FALLING:
            values = tuple(pooled(values[::-1])[::-1])
        tables.append((*table[: inner.start], *values, *table[inner.stop :]))
    return replace(rule, tables=tuple(tables))


def narrow_columns(rule: ScorecardRule, most: int) -> tuple[int, ...]:
    """The places of all but the `most` columns whose points spread most, the first of equals."""
    spread = [max(table) - min(table) for table in rule.tables]
    order = sorted(range(len(spread)), key=lambda place: -spread[place])
    return tuple(sorted(order[most:]))


@lru_cache(maxsize=64)
def points_of_cells(rule: ScorecardRule) -> Integers:
    """The points of the buckets of all columns in a row, int64 (cells,), not to be changed.

    They are kept for some rules, as a learner asks for the same ones at each step.
    """
    return np.concatenate([np.array(table, dtype=np.int64) for table in rule.tables])


def change_squared(old: ScorecardRule, constant: int, points: Integers) -> int:
    """By how much rows score differently, in points: the mean square over all rows of buckets.

    Each bucket of a column counts the same; rounded, by less than a point and a column.
    constant, points: of another scorecard over the same columns, int64 (cells,).
    """
    sizes = tuple(map(len, old.tables))
    starts, counts = _starts(sizes), np.array(sizes, dtype=np.int64)
    change = points - points_of_cells(old)
    change = np.minimum(np.maximum(change, -_CHANGE_MAX), _CHANGE_MAX)
    means = (np.add.reduceat(change, starts) << _MEAN_BITS) // counts
    squares = np.add.reduceat(change * change, starts) // counts
    mean = ((constant - old.constant) << _MEAN_BITS) + int(means.sum())
    spread = int(squares.sum()) - int((means * means >> 2 * _MEAN_BITS).sum())
    return (mean * mean >> 2 * _MEAN_BITS) + max(0, spread)


@lru_cache(maxsize=16)
def _starts(sizes: tuple[int, ...]) -> Integers:
    """The first cell of each column."""
    return np.cumsum([0, *sizes[:-1]], dtype=np.int64)
