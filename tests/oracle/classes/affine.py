"""Dimensions and standard optimal rules of version spaces of affine subspaces."""

from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from littled.classes.affine_spaces import AffineVersionSpace, hull, is_inside
from littled.classes.base import ClassError
from littled.classes.set_spaces import errors_at
from littled.littlestone import CostExceeded, littlestone_dimension
from littled_protocol.rules import AffineRule, PointsRule
from oracle.classes.solved import Solved
from oracle.littlestone.dimension import standard_optimal_algorithm

# The width up to which all subspaces are listed (67 linear ones with 308 translates for 4 bits),
# and what an exact dimension of some of them may cost.
SMALL_BITS_MAX = 4
SUBCLASSES_MAX = 20_000


class SolvedSubspaces(AffineVersionSpace, Solved):
    """The version space of `AffineVersionSpace`, in whose notation all this is."""

    @property
    def littlestone_dimension(self) -> int:
        """Exact in the two cases below, else an upper bound; -1 when empty.

        *No errors allowed.* Let C be the hull of all positive points, c its dimension. The version
        space is empty if c > r or C contains a negative point. Otherwise its dimension is that of
        its largest subspace minus c. At most: say 1 inside the closure of the positive points; a
        mistake makes it larger. At least: points of a largest subspace that are affinely
        independent of C and of each other are shattered by the hulls of C and some of them, which
        lie in that subspace and so contain no negative point. With M different negative points that
        is r - c, exactly, if (M + 1) * 2^r < 2^n: the negative points in a random subspace of
        dimension r around C are less than one on average, as each lies in it with probability at
        most 2^(r - n). *At most SMALL_BITS_MAX bits*: exact, with errors within SUBCLASSES_MAX.

        Otherwise r - c, now for the hull C of those points that every consistent subspace must
        contain, because leaving one of them out alone is too many errors.
        """
        return self._solution[0]

    def standard_optimal_rule(self) -> AffineRule | PointsRule:
        """The SOA in the two cases above, else the hull C.

        If no errors are allowed it is the intersection of all largest subspaces of the version
        space: label 0 at x keeps the dimension exactly if one of them does not contain x. That is C
        if (M + 1) * 2^r < 2^n. With errors it may be no subspace, and is written as its points.
        """
        dimension, rule = self._solution
        if dimension < 0:
            raise ClassError("an empty version space has no standard optimal rule")
        return rule

    @cached_property
    def _solution(self) -> tuple[int, AffineRule | PointsRule]:
        """The dimension and the standard optimal rule."""
        positive: set[int] = set().union(*self.positives)
        negative: set[int] = set().union(*self.negatives)
        with_label = self.counts
        around = hull(x for x in positive if self.too_many(errors_at(with_label[0], x)))
        free = self.dimension - (-1 if around is None else len(around[1]))
        forbidden = (x for x in negative if self.too_many(errors_at(with_label[1], x)))
        rule = AffineRule(self.bits, (), None)
        if around is not None:
            if free < 0 or any(is_inside(x, around) for x in forbidden):
                return -1, rule
            rule = AffineRule(self.bits, around[1], around[0])
        few = not any(self.allowed) and (len(negative) + 1) << self.dimension < 1 << self.bits
        if self.bits > SMALL_BITS_MAX or few:
            return free, rule
        try:
            return self._small_solution(self.dimension - free)
        except CostExceeded:
            return free, rule

    def _small_solution(self, inside: int) -> tuple[int, AffineRule | PointsRule]:
        """The same from a list of all subspaces; `inside` is the dimension of their part C."""
        dimensions, rules = _all_subspaces(self.bits)
        good = dimensions <= self.dimension
        for positive, negative, most in zip(
            self.positives, self.negatives, self.allowed, strict=True
        ):
            missed, wrong = (
                np.bincount(np.array(points, dtype=np.int64), minlength=1 << self.bits)
                for points in (positive, negative)
            )
            good &= len(positive) + rules @ (wrong - missed) <= most
        dimensions, rules = dimensions[good], rules[good]
        if not len(rules):
            return -1, AffineRule(self.bits, (), None)
        if any(self.allowed):
            dimension = littlestone_dimension(rules, subclasses_max=SUBCLASSES_MAX)
            ones = standard_optimal_algorithm(rules, subclasses_max=SUBCLASSES_MAX)
        else:
            dimension = int(dimensions.max()) - inside
            ones = rules[dimensions == dimensions.max()].all(axis=0)
        members = np.flatnonzero(ones).tolist()
        around = hull(members)
        if around is None:
            return dimension, AffineRule(self.bits, (), None)
        if len(members) == 1 << len(around[1]):
            return dimension, AffineRule(self.bits, around[1], around[0])
        return dimension, PointsRule(self.bits, tuple(members))


@cache
def _all_subspaces(bits: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Dimension and values at all points of every subspace and of nothing, of few bits."""
    points = range(1 << bits)
    levels: list[set[frozenset[int]]] = [{frozenset()}, {frozenset({x}) for x in points}]
    for _ in range(bits):
        levels.append(
            {
                members | {x ^ point ^ min(members) for x in members}
                for members in levels[-1]
                for point in points
                if point not in members
            }
        )
    rules = [(i - 1, members) for i, level in enumerate(levels) for members in level]
    values = np.array([[x in members for x in points] for _, members in rules], dtype=np.bool_)
    return np.array([dimension for dimension, _ in rules], dtype=np.int64), values
