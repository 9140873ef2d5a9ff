"""What a configuration wants of published scorecards: few columns, and tables that rise or fall.

All of it is computed from what is public already, so nothing is paid for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from littled_protocol.rules import ScorecardRule

# Of each column, in the parameters: the points of its values rise, fall, or do as they like.
RISING, FALLING, FREE = "rf-"


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
