"""A tiny class for predictions: rows of a table, representatives chosen as a test wants them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Candidates, Labelings, Labels, Points
from littled.classes.capabilities import NumberedRules, WindowLabelings
from littled.classes.hypothesis import HypothesisClass
from littled_protocol.rules import Rule, TableRule

Row = tuple[int, ...]
# Which of the rows with one labeling represents it: a function of T's points and of these rows.
Chooser = Callable[[frozenset[int], list[int]], int]


def first_row(points: frozenset[int], rows: list[int]) -> int:
    return rows[0]


def scattered_row(points: frozenset[int], rows: list[int]) -> int:
    """Another row for another set of points, nearly always."""
    return rows[sum(7 * point + 3 for point in points) % len(rows)]


@dataclass(frozen=True, eq=False)
class RowCandidates(Candidates):
    hypotheses: "Rows"

    def labels(self, point: Points) -> NDArray[np.bool_]:
        return np.array([self.hypotheses.rows[int(i)][int(point[0])] for i in self.keys], np.bool_)

    def rule(self, index: int) -> Rule:
        return self.hypotheses.rule(int(self.keys[index]))


@dataclass(frozen=True, eq=False)
class RowLabelings(Labelings):
    hypotheses: "Rows"
    x: Points
    y: Labels

    @cached_property
    def _known(self) -> dict[bytes, RowCandidates]:
        return {}

    def candidates(self, subset: NDArray[np.int64]) -> RowCandidates:
        key = subset.tobytes()
        if key not in self._known:
            points = frozenset(int(point) for point in self.x[subset])
            numbers = self.hypotheses.representatives(points)
            values = np.array([self.hypotheses.rows[i] for i in numbers])
            scores = (values[:, self.x.astype(np.int64)] == self.y).sum(axis=1).astype(np.int64)
            self._known[key] = RowCandidates(scores, np.array(numbers), self.hypotheses)
        return self._known[key]


@dataclass(frozen=True)
class Rows(HypothesisClass, NumberedRules, WindowLabelings):
    """Different rows over the points 0, 1, ...; a chunk is learned by the first best row."""

    rows: tuple[Row, ...]
    choose: Chooser = first_row

    @property
    def name(self) -> str:
        return f"rows:{len(self.rows)}"

    @property
    def point_type(self) -> str:
        return "u8"

    @property
    def littlestone_dimension(self) -> int:
        return len(self.rows).bit_length() - 1

    @property
    def point_count(self) -> int:
        return len(self.rows[0])

    def to_dict(self) -> dict[str, Any]:
        return {"class": "rows", "rows": [list(row) for row in self.rows]}

    def contains(self, points: Points) -> bool:
        return not len(points) or int(points.max()) < self.point_count

    def first_rule(self) -> Rule:
        return self.rule(0)

    @property
    def longest_rule(self) -> Rule:
        return self.rule(len(self.rows) - 1)

    @property
    def rule_count(self) -> int:
        return len(self.rows)

    def rule(self, index: int) -> Rule:
        values = np.packbits(np.array(self.rows[index], dtype=np.uint8)).tobytes()
        return TableRule(name=f"row {index}", digest="0", values=values, size=self.point_count)

    def empty_statistics(self) -> NDArray[np.int64]:
        return np.zeros(len(self.rows), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        values = np.array(self.rows)
        agreed: NDArray[np.int64] = (values[:, x.astype(np.int64)] == y).sum(axis=1)
        return statistics + agreed

    def scores(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        return statistics

    def representatives(self, points: frozenset[int]) -> list[int]:
        """One row for each labeling of these points; nothing else is looked at."""
        groups: dict[Row, list[int]] = {}
        for number, row in enumerate(self.rows):
            groups.setdefault(tuple(row[point] for point in sorted(points)), []).append(number)
        return [self.choose(points, group) for group in groups.values()]

    def labelings_max(self, n: int) -> int:
        return min(len(self.rows), 1 << min(n, 20))

    def window(self, x: Points, y: Labels) -> RowLabelings:
        return RowLabelings(self, x, y)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        values = np.array(self.rows)[:, x.astype(np.int64)]
        return self.rule(int((values != y).sum(axis=1).argmin()))


def all_rows(points: int) -> tuple[Row, ...]:
    """Every labeling of so many points."""
    return tuple(product((0, 1), repeat=points))
