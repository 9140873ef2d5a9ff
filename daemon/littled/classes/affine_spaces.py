"""Version spaces of affine subspaces.

A subspace is a pair (offset, basis) in canonical form: the basis is in falling order, the highest
bit of each vector is set in no other vector and not in the offset. So `min(x, x ^ vector)` clears
the highest bit of a vector from x, and reduces x modulo a basis vector by vector.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import gt, le
from typing import NamedTuple, Self, TypeAlias

from littled.classes.base import DataSet, VersionSpace, evenly_cut
from littled.classes.set_spaces import Errors, errors_at, minus
from littled.classes.wide import evidence

Subspace: TypeAlias = tuple[int, tuple[int, ...]]

NOWHERE: Hashable = None

# What one teacher's list may cost: points compared with a subspace.
SEARCH_STEPS_MAX = 20_000


def reduced(vector: int, basis: Iterable[int]) -> int:
    """The vector modulo the span of a basis, whose vectors have different highest bits.

    They come in falling order, or each was itself reduced modulo those before it.
    """
    for other in basis:
        vector = min(vector, vector ^ other)
    return vector


def canonical(offset: int, basis: Iterable[int]) -> Subspace:
    """The canonical form; the vectors have different highest bits."""
    rising: list[int] = []
    for vector in sorted(basis):
        rising.append(reduced(vector, rising[::-1]))
    return reduced(offset, rising[::-1]), tuple(rising[::-1])


def is_inside(point: int, subspace: Subspace) -> bool:
    """Whether the subspace contains the point."""
    offset, basis = subspace
    return not reduced(point ^ offset, basis)


def hull(points: Iterable[int], start: Subspace | None = None) -> Subspace | None:
    """The smallest affine subspace around all points and `start`; None for none at all."""
    if start is None:
        points = iter(points)
        first = next(points, None)
        if first is None:
            return None
        start = (first, ())
    offset, (*basis,) = start
    for point in points:
        if vector := reduced(point ^ offset, basis):
            basis.append(vector)
    return canonical(offset, basis)


@dataclass(frozen=True, eq=False)
class AffineVersionSpace(VersionSpace):
    """The subspaces of at most `dimension`, and nothing, that err at most `allowed[i]` times on i.

    `positives[i]` and `negatives[i]` are the points of the examples of data set i, with
    repetitions. The constant 0 counts as the subspace of dimension -1; n stands for `bits` and r
    for `dimension`.
    """

    bits: int
    dimension: int
    positives: tuple[list[int], ...]
    negatives: tuple[list[int], ...]
    allowed: tuple[int, ...]

    @classmethod
    def of(
        cls, bits: int, dimension: int, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> Self:
        """The version space of these data sets."""
        return cls(bits, dimension, *evidence(data_sets, tolerance))

    def essential(self, cap: int) -> list[Hashable]:
        """The consistent subspaces of least dimension m, evenly cut to `cap`.

        Let S be the points of all data sets. A consistent subspace W has the trace W & S, and the
        hull of a trace is consistent too. These hulls of dimension m are the (p, d)-essential
        hypotheses, for d >= r + 1 and t = r - m, whenever

        - p is at least the number of points of S on which traces disagree, or m is -1; and
        - (|S| + p * 2^(d - t + 1)) * 2^r < 2^n, unless t is 0.

        Proof. Let B be a trace, b the dimension of its hull, t(B) = r - b. The subspaces with trace
        B have dimension t(B) and the hull of B as SOA, also after labels 0 at further points
        outside the hull, as long as these and S are less than 2^(n - r) points: some subspace of
        dimension r around B then avoids those outside, and t(B) further independent points of it
        are shattered. *Dimension t or more remains*: let b = m. A valid tree, followed along the
        labels of the hull, cannot reach dimension below t: the node where it would is at most one
        deeper than p * (2^(d - t + 1) - 1), the most for its parent. So the path ends in a leaf of
        dimension at least t; if it is t, then its SOA is the hull, since one more label of the hull
        would not lower it either. *Dimension t is enough*: if m >= 0, split at the points where
        traces disagree, at most p. No node is too deep, and a leaf belongs to one trace B, so it
        may be p * (2^(d - t(B)) - 1) >= p deep. It has dimension t(B) <= t, and if t(B) = t it is
        irreducible and its SOA is the hull; other leaves that are reducible can be split further
        (Claim 4.1). If m = -1 the root alone is such a tree, of dimension t = r + 1, that of the
        class. So t is the decomposition dimension, and the essential hypotheses are these hulls.

        Hulls of least dimension are hulls of positive points. If no errors are allowed there is one
        at most. Otherwise the search takes each positive point outside the hull so far in, or
        leaves it out as long as that is few errors, in at most SEARCH_STEPS_MAX steps; when that
        limit is reached, these are the hulls of least dimension found so far. All this depends on
        this teacher's data only.
        """
        if all(map(le, map(len, self.positives), self.allowed)):
            return [NOWHERE][:cap]
        if any(self.allowed):
            least = _Search(self).least()
            return [least[i] for i in evenly_cut(len(least), cap).tolist()]
        around = hull(set().union(*self.positives))
        assert around is not None
        if len(around[1]) > self.dimension:
            return []
        contradicted = any(is_inside(x, around) for x in set().union(*self.negatives))
        found: list[Hashable] = [] if contradicted else [around]
        return found[:cap]

    @cached_property
    def counts(self) -> tuple[list[Counter[int]], list[Counter[int]]]:
        """Positive and negative examples of every point on each data set."""
        return list(map(Counter, self.positives)), list(map(Counter, self.negatives))

    def too_many(self, errors: Errors) -> bool:
        """Whether these are more errors than allowed on some data set."""
        return any(map(gt, errors, self.allowed))


class _Search:
    """The search for the consistent hulls of least dimension, where some errors are allowed.

    The first point that is taken in is the offset; the others are looked at in turn. One that is
    outside the hull so far is taken in, and left out later if that is few enough errors.
    """

    def __init__(self, space: AffineVersionSpace) -> None:
        positives, negatives = space.counts
        points = [(x, errors_at(positives, x)) for x in sorted(set().union(*positives))]
        # points that must be taken in come first, so that nothing is decided without them
        points.sort(key=lambda point: not space.too_many(point[1]))
        self.points = [x for x, _ in points]
        self.missed = [errors for _, errors in points]
        self.negatives = {x: errors_at(negatives, x) for x in set().union(*negatives)}
        self.slack = space.allowed
        self.best = space.dimension
        self.found: list[Subspace] = []
        self.waiting: list[_Branch] = []

    def least(self) -> list[Subspace]:
        """The hulls in canonical form, sorted."""
        steps = 0
        for beginning in self._beginnings():
            self.waiting = [beginning]
            while self.waiting and steps < SEARCH_STEPS_MAX:
                branch: _Branch | None = self.waiting.pop()
                while branch is not None and any(branch.points):
                    steps += len(branch.points)
                    branch = self._next(branch)
                if branch is not None:
                    if len(branch.basis) < self.best:
                        self.best, self.found = len(branch.basis), []
                    self.found.append((branch.offset, branch.basis))
            steps += len(self.points)
            if steps >= SEARCH_STEPS_MAX:
                break
        return sorted([canonical(offset, basis) for offset, basis in self.found])

    def _beginnings(self) -> Iterator["_Branch"]:
        """One for each point that can be the first to be taken in."""
        slack = self.slack
        for i, (offset, errors) in enumerate(zip(self.points, self.missed, strict=True)):
            points = [x ^ offset for x in self.points[i + 1 :]]
            left = [x ^ offset for x in self.points[:i]]
            negatives, wrong = [x ^ offset for x in self.negatives], list(self.negatives.values())
            beginning = _without_inner_negatives(
                _Branch(offset, (), i + 1, points, left, negatives, wrong, slack)
            )
            if beginning is not None:
                yield beginning
            slack = minus(slack, errors)
            if min(slack) < 0:
                break

    def _next(self, branch: "_Branch") -> "_Branch | None":
        """Take in the first point outside, None where that cannot be; to leave it out is later."""
        offset, basis, done, points, left, negatives, wrong, slack = branch
        vector = next(filter(None, points))
        at = points.index(vector) + 1
        done, points = done + at, points[at:]
        rest = minus(slack, self.missed[done - 1])
        if min(rest) >= 0:
            outside = [*left, vector]
            self.waiting.append(
                _Branch(offset, basis, done, points, outside, negatives, wrong, rest)
            )
        left = [y if (y := x ^ vector) < x else x for x in left]
        if len(basis) == self.best or not all(left):
            return None
        points = [y if (y := x ^ vector) < x else x for x in points]
        negatives = [y if (y := x ^ vector) < x else x for x in negatives]
        basis = (*basis, vector)
        return _without_inner_negatives(
            _Branch(offset, basis, done, points, left, negatives, wrong, slack)
        )


class _Branch(NamedTuple):
    """A hull so far, and what is left to do; points are offsets from it, modulo the basis.

    `points` are those from number `done` on, 0 inside the hull; `left` and `negatives` are all
    outside, and `wrong` the errors at the negative ones.
    """

    offset: int
    basis: tuple[int, ...]
    done: int
    points: list[int]
    left: list[int]
    negatives: list[int]
    wrong: list[Errors]
    slack: Errors


def _without_inner_negatives(branch: _Branch) -> _Branch | None:
    """The branch after the errors at negative points that came inside; None for too many."""
    if all(branch.negatives):
        return branch
    negatives, wrong, slack = [], [], branch.slack
    for x, errors in zip(branch.negatives, branch.wrong, strict=True):
        if x:
            negatives.append(x)
            wrong.append(errors)
        else:
            slack = minus(slack, errors)
    if min(slack) < 0:
        return None
    return branch._replace(negatives=negatives, wrong=wrong, slack=slack)
