"""Scorecards: points for the bucket of each column, which are added up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.encodings import Dialect, Feature, Reading
from littled_protocol.encodings.base import only, runs
from littled_protocol.rules.base import (
    ALWAYS,
    NEVER,
    PLAIN,
    SQL_NEVER,
    Parts,
    Rule,
    RuleError,
    Words,
    as_points,
)
from littled_protocol.rules.explanations import Explanation, Share
from littled_protocol.rules.fields import ScorecardFields
from littled_protocol.rules.writing import identifier, integer, sql_always

POINTS_MAX: Final = 10**6
"""Most points of one bucket, and of the constant, in either direction."""
SAID_MAX: Final = 5
"""How many columns a sentence says."""


@dataclass(frozen=True, slots=True)
class ScorecardRule(Rule):
    """1 iff `constant` and the points of the bucket of each column sum above 0.

    tables: for each column the points of its buckets 0..size-1, two or more. Points (examples) are
    rows of buckets, or the buckets of the one column; a number beyond its column's last bucket
    counts as that one.
    """

    kind: ClassVar[str] = "scorecard"
    constant: int
    tables: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.constant, -POINTS_MAX, POINTS_MAX, "constant")
        if not isinstance(self.tables, tuple) or not (
            1 <= len(self.tables) <= limits.row_features_max
        ):
            raise RuleError(f"tables needs 1 to {limits.row_features_max} tables of points")
        for table in self.tables:
            if not isinstance(table, tuple) or not 2 <= len(table) <= 2**16:
                raise RuleError("tables needs the points of 2 to 65536 buckets for each column")
            if {*map(type, table)} != {int}:  # a truth value is no number of points
                raise RuleError("tables needs integers")
            integer(min(table), -POINTS_MAX, POINTS_MAX, "tables")
            integer(max(table), -POINTS_MAX, POINTS_MAX, "tables")

    @property
    def x_type(self) -> str:
        """u16x<columns>, or of one column the smallest type for its buckets."""
        if len(self.tables) > 1:
            return f"u16x{len(self.tables)}"
        return smallest_point_type((len(self.tables[0]) - 1).bit_length())

    def points(self, x: NDArray[Any]) -> NDArray[np.int64]:
        """Return the points of each column for n rows, int64 (n, columns), without the constant.

        What decided: `constant` and a row of these sum above 0 where the label is 1. RuleError for
        an array that has no rows of this rule.
        """
        rows = rows_of(as_points(x, self.x_type))
        found = np.empty((len(rows), len(self.tables)), dtype=np.int64)
        for place, table in enumerate(self.tables):
            found[:, place] = np.array(table, dtype=np.int64)[_buckets(rows, place, len(table))]
        return found

    def explain(self, x: NDArray[Any], words: Words = PLAIN) -> list[Explanation]:
        """Return why each of n rows has its label, n explanations; RuleError as `points` has it."""
        rows = rows_of(as_points(x, self.x_type))
        points, order = self.points(x), range(len(self.tables))
        say = lru_cache(maxsize=None)(partial(self._share, words))
        found = []
        for row, added, label in zip(rows, points.tolist(), self.evaluate(x).tolist(), strict=True):
            buckets = row.tolist()
            first = sorted(order, key=lambda i: -abs(added[i]))
            shares = tuple(say(i, min(buckets[i], len(self.tables[i]) - 1)) for i in first)
            found.append(Explanation(label, words.label(label), self.constant, shares))
        return found

    def _share(self, words: Words, place: int, bucket: int) -> Share:
        """Return what a bucket of a column adds."""
        points = self.tables[place][bucket]
        if words.reading is None:
            name = self._name(words, place)
            return Share(name, f"{name} = {words.value(bucket)}", points)
        feature = words.reading.features[place]
        return Share(feature.name, feature.condition(only(feature.size, bucket)), points)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        rows = rows_of(points)
        kind = np.dtype(np.int32 if self._is_small else np.int64)
        sums: NDArray[Any] = np.full(len(rows), self.constant, dtype=kind)
        for place, table in enumerate(self.tables):
            if any(table):
                values = np.array(table, dtype=kind)
                sums += values[_buckets(rows, place, len(table))]
        labels: NDArray[np.bool_] = sums > 0
        return labels

    @property
    def _is_small(self) -> bool:
        return (len(self.tables) + 1) * POINTS_MAX < 2**31

    # -- words -------------------------------------------------------------------------------

    def _condition(self, words: Words) -> str:
        return self._sentence(lambda place, bucket: self._share(words, place, bucket).text)

    def _name(self, words: Words, place: int) -> str:
        """Return how a sentence names a column that has no name of its own."""
        return f"feature {place} of {words.x_name}" if len(self.tables) > 1 else words.x_name

    def _parts(self, reading: Reading) -> Parts | None:
        return None

    def _read_condition(self, words: Words, reading: Reading) -> str:
        features = reading.features

        def said(place: int, bucket: int) -> str:
            table = np.array(self.tables[place])
            alike = table == table[bucket]
            return features[place].condition(_run_around(alike, bucket))

        return self._sentence(said)

    def _sentence(self, said: Any) -> str:
        """Return the columns that matter most, each with its best and its worst bucket."""
        spread = [max(table) - min(table) for table in self.tables]
        if not any(spread):
            total = self.constant + sum(table[0] for table in self.tables)
            return ALWAYS if total > 0 else NEVER
        order = sorted((i for i, one in enumerate(spread) if one), key=lambda i: (-spread[i], i))
        # what a column gives whatever its bucket is belongs to the constant
        constant = self.constant + sum(min(table) for table in self.tables)
        phrases = []
        for place in order[:SAID_MAX]:
            table = self.tables[place]
            most = table.index(max(table))
            phrases.append(f"up to +{spread[place]} if {said(place, most)}")
        rest = len(order) - SAID_MAX
        if rest > 0:
            phrases.append(f"{rest} more column{'s' * (rest > 1)}")
        return f"points are above {-constant}: {'; '.join(phrases)}"

    # -- SQL ---------------------------------------------------------------------------------

    def _sql(self, column: str, offset: int) -> str:
        several = len(self.tables) > 1
        names = [f"{column}_{i}" if several and column else column for i in range(len(self.tables))]
        sums = []
        for name, table in zip(names, self.tables, strict=True):
            quoted = identifier(name)
            if not any(table):
                continue
            # buckets of the same points that follow on each other, by the first number beyond
            cases = [
                f"WHEN {quoted} < {high + offset} THEN {table[low]}"
                for low, high in _stretches(table)[:-1]
            ]
            known = f"WHEN {quoted} IS NOT NULL THEN {table[-1]}"
            sums.append(f"CASE {' '.join([*cases, known])} END")
        return self._sum_sql(sums, sql_always(names[0]))

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        pairs = zip(reading.features, self.tables, strict=True)
        sums = [_case_sql(feature, table, dialect) for feature, table in pairs if any(table)]
        return self._sum_sql(sums, "(1 = 1)")

    def _sum_sql(self, sums: list[str], always: str) -> str:
        """Return that the sum is above 0; `always` is what is true of every row."""
        if not sums:
            return always if self.constant > 0 else SQL_NEVER
        return f"({self.constant} + {' + '.join(sums)} > 0)"

    def _fields(self) -> ScorecardFields:
        tables = [list(table) for table in self.tables]
        return {"kind": "scorecard", "constant": self.constant, "tables": tables}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        tables = fields["tables"]
        if not isinstance(tables, list) or not all(isinstance(table, list) for table in tables):
            raise RuleError("tables needs a list of lists of points")
        return cls(fields["constant"], tuple(map(tuple, tables)))


def rows_of(points: Points) -> Points:
    """Return points as rows, (n, columns): those of one column have one number each."""
    return points if points.ndim == 2 else points.reshape(-1, 1)


def _buckets(rows: Points, place: int, size: int) -> NDArray[Any]:
    """Return the buckets of one column; what lies beyond the last one counts as the last."""
    buckets: NDArray[Any] = np.minimum(rows[:, place], rows.dtype.type(size - 1))
    return buckets


def _stretches(table: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the runs of neighbouring buckets with the same points: first, and after the last."""
    starts = [0, *(i for i in range(1, len(table)) if table[i] != table[i - 1])]
    return list(zip(starts, [*starts[1:], len(table)], strict=True))


def _run_around(alike: NDArray[np.bool_], bucket: int) -> NDArray[np.bool_]:
    """Return the run of marked buckets that a marked bucket is in."""
    chosen = np.zeros_like(alike)
    for low, high in runs(alike):
        if low <= bucket < high:
            chosen[low:high] = True
    return chosen


def _case_sql(feature: Feature, table: tuple[int, ...], dialect: Dialect) -> str:
    """Return the points of a column as an expression of SQL, NULL where it holds nothing."""
    cases = []
    for low, high in _stretches(table):
        buckets = np.zeros(len(table), dtype=np.bool_)
        buckets[low:high] = True
        condition = "1 = 1" if buckets.all() else feature.to_sql(buckets, dialect)
        cases.append(f"WHEN {condition} THEN {table[low]}")
    return f"CASE {' '.join(cases)} END"
