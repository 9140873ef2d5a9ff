"""Version spaces by brute force: the rows of an explicit class that err little enough."""

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.base import ClassError, DataSet
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.littlestone import littlestone_dimension
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule
from oracle.classes.spaces import solved
from oracle.littlestone.dimension import standard_optimal_algorithm
from oracle.littlestone.essential import essential_hypotheses

Matrix = NDArray[np.bool_]
Part = list[tuple[int, int]]


def column(hypotheses: HypothesisClass, points: Sequence[int]) -> NDArray[Any]:
    """Points in the class's own column type."""
    return point_type(hypotheses.point_type).decode([int(p) for p in points], len(points))


def data_set(hypotheses: HypothesisClass, part: Part) -> DataSet:
    """Examples (point, label) as columns."""
    labels = np.array([label for _, label in part], dtype=np.uint8)
    return column(hypotheses, [point for point, _ in part]), labels


def says(hypotheses: HypothesisClass, rule: Rule, points: int) -> tuple[bool, ...]:
    """What a rule says to the points 0..points-1."""
    return tuple(map(bool, rule.evaluate(column(hypotheses, range(points)))))


def restricted(matrix: Matrix, parts: list[Part], tolerance: Fraction) -> Matrix:
    """Lyu, Algorithm 4, DefineClass: the rows that err little enough on every part."""
    good = np.ones(len(matrix), dtype=bool)
    for part in parts:
        wrong = np.zeros(len(matrix), dtype=int)
        for point, label in part:
            wrong += matrix[:, point] != bool(label)
        good &= wrong * tolerance.denominator <= tolerance.numerator * len(part)
    return matrix[good]


def all_sets(bits: int, most: int) -> Matrix:
    """All sets of at most `most` points of so many bits."""
    points = range(1 << bits)
    sizes = range(min(most, len(points)) + 1)
    chosen = [set(members) for size in sizes for members in combinations(points, size)]
    return np.array([[point in members for point in points] for members in chosen])


def all_blocks(bits: int) -> Matrix:
    """The constant 0 and every block of addresses of so many bits."""
    points = range(1 << bits)
    blocks = [(length, value) for length in range(bits + 1) for value in range(1 << length)]
    rows = [[x >> (bits - length) == value for x in points] for length, value in blocks]
    return np.array([[False] * len(points), *rows])


def span(points: Iterable[int]) -> frozenset[int]:
    """The smallest set around these points that holds the XOR of any three of its points."""
    found: set[int] = set()
    for point in points:
        if point not in found:
            found |= {x ^ point ^ min(found) for x in found} | {point}
    return frozenset(found)


def all_subspaces(bits: int, dimension: int) -> Matrix:
    """The constant 0 and every affine subspace of at most this dimension."""
    points = range(1 << bits)
    rules = {
        span(members) for size in range(dimension + 2) for members in combinations(points, size)
    }
    return np.array([[point in rule for point in points] for rule in sorted(rules, key=sorted)])


def a_part(points: int, sizes: int) -> st.SearchStrategy[Part]:
    """One data set of up to `sizes` examples, with labels as noisy as can be."""
    return st.lists(st.tuples(st.integers(0, points - 1), st.integers(0, 1)), max_size=sizes)


def parts_of(points: int, sizes: int = 6, count: int = 3) -> st.SearchStrategy[list[Part]]:
    """Up to `count` data sets of up to `sizes` examples."""
    return st.lists(a_part(points, sizes), max_size=count)


def tolerances() -> st.SearchStrategy[Fraction]:
    """No errors, and one to three of six."""
    return st.sampled_from([Fraction(n, 6) for n in (0, 0, 1, 2, 3)])


def check_dimension_and_soa(
    hypotheses: HypothesisClass, matrix: Matrix, parts: list[Part], tolerance: Fraction
) -> None:
    """The version space's dimension and SOA are those of the explicit matrix."""
    space = solved(hypotheses, [data_set(hypotheses, part) for part in parts], tolerance)
    rows = restricted(matrix, parts, tolerance)
    assert space.littlestone_dimension == littlestone_dimension(rows)
    if not len(rows):
        try:
            space.standard_optimal_rule()
        except ClassError:
            return
        raise AssertionError("an empty version space has an SOA")
    optimal = tuple(map(bool, standard_optimal_algorithm(rows)))
    assert says(hypotheses, space.standard_optimal_rule(), matrix.shape[1]) == optimal


def listed(
    hypotheses: HypothesisClass, parts: list[Part], tolerance: Fraction, points: int
) -> list[tuple[bool, ...]]:
    """What the rules on the essential list say, each once and sorted."""
    sets = [data_set(hypotheses, part) for part in parts]
    spaces = needed(hypotheses.version_spaces)
    keys: list[Hashable] = spaces.essential_list(sets, tolerance, 100_000)
    found = [says(hypotheses, spaces.essential_rule(key), points) for key in keys]
    assert len(set(found)) == len(set(keys)) == len(keys)
    return sorted(found)


def essential(rows: Matrix, p: int, d: int) -> list[tuple[bool, ...]]:
    """The (p, d)-essential hypotheses of an explicit class, by Definition 4.3."""
    return [tuple(map(bool, row)) for row in essential_hypotheses(rows, p, d)]
