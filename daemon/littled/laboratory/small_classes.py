"""Laboratory only: small classes as bit sets, and all of them up to symmetry.

A class is a set of rows, its hypotheses, over m points; a hypothesis is an integer whose bit x is
its label at point x. The standard optimal algorithm (SOA) is A, section 3.2, with ties to 0.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SubClasses

# Classes that can be told apart in reasonable time: 2^16 sets of rows over 4 points, and 5 points
# for at most 8 rows by way of one row more at a time.
POINTS_MAX = 5
ROWS_MAX = 8


class SmallClass:
    """A finite class; `hypotheses` are distinct integers below 2^points. ValueError otherwise.

    A version space is an integer too: bit i stands for `hypotheses[i]`.
    """

    def __init__(self, points: int, hypotheses: Iterable[int]) -> None:
        """Take the rows as they are ordered."""
        self.points = points
        self.hypotheses = tuple(hypotheses)
        distinct = set(self.hypotheses)
        if not distinct or len(distinct) < len(self.hypotheses):
            raise ValueError("a small class needs at least one row, and no row twice")
        if not 0 <= min(distinct) <= max(distinct) < 1 << points:
            raise ValueError(f"a row over {points} points is an integer below {1 << points}")
        rows = [[h >> x & 1 for x in range(points)] for h in self.hypotheses]
        self._subclasses = SubClasses(np.array(rows, dtype=bool).reshape(-1, points))
        self.everything = self._subclasses.everything
        self._soa: dict[int, int] = {}

    @property
    def dimension(self) -> int:
        """Littlestone dimension."""
        return self._subclasses.dimension(self.everything)

    def restricted(self, space: int, point: int, label: int) -> int:
        """The part of a version space that says `label` at `point`."""
        return self._subclasses.restricted(space, point, label)

    def soa(self, space: int) -> int:
        """The hypothesis of the SOA for a version space that is not empty; ties to 0."""
        if space not in self._soa:
            dimension = self._subclasses.dimension
            self._soa[space] = sum(
                1 << x
                for x in range(self.points)
                if dimension(self.restricted(space, x, 1)) > dimension(self.restricted(space, x, 0))
            )
        return self._soa[space]


def thresholds(size: int) -> SmallClass:
    """The rules x >= t over `size` points, t = 0..size."""
    everywhere = (1 << size) - 1
    return SmallClass(size, [everywhere >> t << t for t in range(size + 1)])


def points(count: int) -> SmallClass:
    """The rules "x is a" over so many points, and the rule that is 0 everywhere."""
    return SmallClass(count, [0, *(1 << a for a in range(count))])


def all_rules(size: int) -> SmallClass:
    """Every labelling of so many points."""
    return SmallClass(size, range(1 << size))


def all_classes(points: int, rows_max: int = ROWS_MAX) -> Iterator[SmallClass]:
    """Every class of at most `rows_max` rows over so many points, once up to symmetry.

    Symmetries rename points, and turn labels over at some points. A column may be constant or equal
    to another, so that classes over fewer points are among them. ValueError beyond `POINTS_MAX`
    points or `ROWS_MAX` rows: 6 points have 5.4 million classes of 8 rows up to 46,080 symmetries.
    """
    if not (0 < points <= POINTS_MAX and 0 < rows_max <= ROWS_MAX):
        raise ValueError(
            f"classes are listed for 1 to {POINTS_MAX} points and 1 to {ROWS_MAX} rows"
        )
    return (SmallClass(points, rows) for rows in _orbits(points, rows_max))


@cache
def _orbits(points: int, rows_max: int) -> tuple[tuple[int, ...], ...]:
    """Sets of rows, the least of each orbit; every orbit of k + 1 rows extends one of k."""
    images = _symmetries(points)
    found: list[tuple[int, ...]] = []
    orbits: list[tuple[int, ...]] = [()]
    for _ in range(min(rows_max, 1 << points)):
        larger = {
            (*orbit, row) for orbit in orbits for row in range(1 << points) if row not in orbit
        }
        orbits = sorted({_least(images, rows) for rows in larger})
        found += orbits
    return tuple(found)


def _symmetries(points: int) -> NDArray[np.uint64]:
    """The image of every row under every symmetry, as a bit: uint64 (symmetries, 2^m)."""
    rows = np.arange(1 << points)
    bits = rows[:, None] >> np.arange(points) & 1
    images = []
    for order in permutations(range(points)):
        moved = (bits[:, order] << np.arange(points)).sum(axis=1)
        images += [moved ^ flipped for flipped in range(1 << points)]
    return np.uint64(1) << np.array(images, dtype=np.uint64)


def _least(images: NDArray[np.uint64], rows: tuple[int, ...]) -> tuple[int, ...]:
    """The image of a set of rows that comes first, sorted."""
    sets = np.bitwise_or.reduce(images[:, list(rows)], axis=1)
    least = int(sets.min())
    return tuple(row for row in range(least.bit_length()) if least >> row & 1)


def supports(points: int) -> Iterator[tuple[int, ...]]:
    """Every set of points that is not empty, the smallest ones first."""
    for size in range(1, points + 1):
        yield from combinations(range(points), size)
