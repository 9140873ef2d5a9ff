"""Irreducible classes: those whose dimension survives any k labels of their own SOA hypothesis.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Definition 4.1, after Ghazi,
Golowich, Kumar and Manurangsi 2021.
"""

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, CostExceeded
from oracle.littlestone.subclasses import ListedSubClasses

# Points on one path of the search for fewest; each is one level of recursion.
SEARCH_DEPTH_MAX = 300


def reducibility(matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX) -> int | None:
    """The least k for which the class is k-reducible; None if it is k-irreducible for every k.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Lyu, Definition 4.1. None happens for dimension 0 (and for the empty class) only: the
    labels of the SOA hypothesis at all points leave at most one hypothesis.

    Raises CostExceeded after `subclasses_max` sub-classes.
    """
    classes = ListedSubClasses(matrix, subclasses_max)
    found = Reductions(classes).fewest(classes.everything)
    return None if found is None else len(found)


def is_irreducible(
    matrix: NDArray[np.bool_], k: int, *, subclasses_max: int = SUBCLASSES_MAX
) -> bool:
    """Whether any k examples that the SOA hypothesis agrees with keep the Littlestone dimension.

    Shapes: `matrix` is boolean, (hypotheses, points). Points may be repeated, so a k-irreducible
    class is irreducible for every smaller k too; every class is 0-irreducible.

    Source: Lyu, Definition 4.1.

    Raises ValueError for negative k, CostExceeded after `subclasses_max` sub-classes.
    """
    if k < 0:
        raise ValueError(f"irreducibility is defined for k of at least 0, not {k}")
    classes = ListedSubClasses(matrix, subclasses_max)
    return Reductions(classes).path(classes.everything, k) is None


class Reductions:
    """Points that witness reducibility of sub-classes, memoised."""

    def __init__(self, classes: ListedSubClasses) -> None:
        """Nothing is searched before it is asked for."""
        self._classes = classes
        self._searches: dict[int, _Search] = {}

    def path(self, rows: int, k: int) -> tuple[int, ...] | None:
        """At most k points that witness that `rows` is k-reducible, none of them superfluous.

        None where `rows` is k-irreducible.
        """
        if self._classes.dimension(rows) < 1:
            return None
        search = self._search(rows)
        while len(search.enough) > k:
            if not search.improve(k):
                return None
        return search.enough

    def fewest(self, rows: int) -> tuple[int, ...] | None:
        """As few points as possible; None where `rows` is irreducible for every k."""
        if self._classes.dimension(rows) < 1:
            return None
        search = self._search(rows)
        while search.improve(len(search.enough) - 1):
            pass
        return search.enough

    def _search(self, rows: int) -> "_Search":
        if rows not in self._searches:
            self._searches[rows] = _Search(self._classes, rows)
        return self._searches[rows]


class _Search:
    """The search for few points that reduce one sub-class of dimension at least 1.

    A point's *side* holds the rows that agree with the SOA hypothesis there. Points reduce the
    class when the sides' intersection has a smaller dimension, so only smallest sides matter.
    `enough` are the fewest points found so far that reduce it; none of them can be spared.
    """

    def __init__(self, classes: ListedSubClasses, rows: int) -> None:
        self._classes, self._rows = classes, rows
        self._dimension = classes.dimension(rows)
        self._point_of = self._smallest_sides()
        self._hopeless: dict[int, int] = {}  # sub-class -> so many more points do not reduce it
        self._refuted = 0
        self.enough = self._nothing_to_spare(list(self._point_of))

    def _smallest_sides(self) -> dict[int, int]:
        """The sides that contain no other side, each with its first point."""
        says_one = self._classes.standard_optimal(self._rows)
        point_of: dict[int, int] = {}
        for point in range(self._classes.points):
            side = self._classes.restricted(self._rows, point, says_one >> point & 1)
            if side != self._rows:
                point_of.setdefault(side, point)
        smallest: dict[int, int] = {}
        for side in sorted(point_of, key=int.bit_count):
            if not any(side & other == other for other in smallest):
                smallest[side] = point_of[side]
        return smallest

    def _reduces(self, rest: int) -> bool:
        return not self._classes.at_least(rest, self._dimension)

    def _nothing_to_spare(self, sides: list[int]) -> tuple[int, ...]:
        """The points of sides that reduce the class, without those that the others can do without.

        Large sides are left out first.
        """
        kept = sorted(sides, key=int.bit_count)
        for side in reversed(kept.copy()):
            rest = self._rows
            for other in kept:
                if other != side:
                    rest &= other
            if self._reduces(rest):
                kept.remove(side)
        return tuple(self._point_of[side] for side in kept)

    def improve(self, k: int) -> bool:
        """Whether at most k points reduce the class too; then `enough` becomes such points."""
        if k <= self._refuted:
            return False
        if k > SEARCH_DEPTH_MAX:
            raise CostExceeded(
                f"whether a class is reducible is not searched beyond {SEARCH_DEPTH_MAX} points"
            )
        found = self._reach(self._rows, k)
        if found is None:
            self._refuted = k
            return False
        self.enough = self._nothing_to_spare(found)
        return True

    def _reach(self, rest: int, points: int) -> list[int] | None:
        """At most so many sides that reduce `rest`, a part of the class; None if there are none.

        Some side of every answer must take away a leaf of any one tree that `rest` shatters, or
        that tree would still be shattered in the end. Order does not matter, so it can come first.
        """
        if self._reduces(rest):
            return []
        if points <= self._hopeless.get(rest, 0):
            return None
        leaves = self._classes.shattering_rows(rest, self._dimension)
        for side in self._point_of:
            if leaves & ~side:
                found = self._reach(rest & side, points - 1)
                if found is not None:
                    return [side, *found]
        if rest not in self._hopeless:
            self._classes.charge()
        self._hopeless[rest] = points
        return None
