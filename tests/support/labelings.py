"""Classes small enough to list their labelings by brute force, and how such are made."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule
from support.small_classes import Cubes, Sets

Matrix = NDArray[np.bool_]
Pairs = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Small:
    """A class, some of its points, and what its rules say to them, each labeling once."""

    hypotheses: HypothesisClass
    points: list[Any]
    matrix: Matrix

    def column(self, places: Any) -> NDArray[Any]:
        """The points with these numbers in the class's own column type."""
        kind = point_type(self.hypotheses.point_type)
        return kind.decode([self.points[place] for place in places], len(places))

    def says(self, rule: Rule) -> tuple[bool, ...]:
        """What a rule says to all points."""
        return tuple(map(bool, rule.evaluate(self.column(range(len(self.points))))))

    def agreements(self, places: Any, y: Labels) -> NDArray[np.int64]:
        """With how many of these examples each row of the matrix agrees."""
        found: NDArray[np.int64] = (self.matrix[:, list(places)] == (y == 1)).sum(axis=1)
        return found


def dense(hypotheses: HypothesisClass, points: list[Any]) -> Small:
    """A class whose rules have numbers."""
    kind = point_type(hypotheses.point_type)
    column = kind.decode(points, len(points))
    few = needed(hypotheses.dense)
    rules = [few.rule(number).evaluate(column) for number in range(few.rule_count)]
    return Small(hypotheses, points, np.unique(np.array(rules, dtype=bool), axis=0))


def spread(hypotheses: HypothesisClass, matrix: Matrix, shift: int = 0) -> Small:
    """A class that treats p << shift as a class of few bits treats p."""
    return Small(hypotheses, [p << shift for p in range(matrix.shape[1])], matrix)


def rows(stumps: Stumps) -> list[tuple[int, ...]]:
    """Every row of features."""
    return list(product(range(stumps.buckets), repeat=stumps.features))


def table(rules: int, points: int) -> Table:
    """A table of rows that are alike at many points."""
    matrix = np.array([[(r * p * p >> 3) & 1 for p in range(points)] for r in range(1, rules + 1)])
    matrix[:, :7] = np.arange(rules)[:, None] >> np.arange(7) & 1
    return Table.from_matrix([f"r{i}" for i in range(rules)], matrix.astype(bool))


def by_sets(hypotheses: Cubes | Sets) -> Small:
    """A class that lists its rules as sets."""
    points = range(1 << hypotheses.bits)
    matrix = np.array([[p in rule for p in points] for rule in hypotheses.all()])
    return Small(hypotheses, list(points), matrix)


def examples(small: Small, pairs: Pairs) -> tuple[list[int], NDArray[Any], NDArray[np.uint8]]:
    """Numbers of points, their column, and labels, of pairs (number of a point, label)."""
    places = [place % len(small.points) for place, _ in pairs]
    y = np.array([label for _, label in pairs], dtype=np.uint8)
    return places, small.column(places), y
