"""Small classes by brute force: cubes, which are closed under intersection, and sets."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DataSet,
    Labels,
    Points,
    Proposals,
    VersionSpace,
    errors_allowed,
    evenly_cut,
)
from littled.classes.capabilities import IdSets, IntersectionClosed, VersionSpaces
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import RepresentedRules
from littled_protocol.rules import PointsRule, Rule

Members = frozenset[int]


@dataclass(frozen=True)
class _Small(HypothesisClass, RepresentedRules):
    """Rules are sets of the points of a few bits, published as lists of members."""

    bits: int = 3

    @property
    def name(self) -> str:
        return f"{type(self).__name__.lower()}:{self.bits}"

    @property
    def point_type(self) -> str:
        return "u8"

    @property
    def littlestone_dimension(self) -> int:
        return self.bits + 1

    def to_dict(self) -> dict[str, Any]:
        return {"class": type(self).__name__.lower(), "bits": self.bits}

    def contains(self, points: Points) -> bool:
        return not len(points) or int(points.max()) < 1 << self.bits

    def first_rule(self) -> PointsRule:
        return PointsRule(bits=self.bits, members=())

    @property
    def longest_rule(self) -> PointsRule:
        return PointsRule(bits=self.bits, members=tuple(range(1 << self.bits)))

    def published(self, members: Members) -> Rule:
        """A set as a rule."""
        return PointsRule(bits=self.bits, members=tuple(sorted(members)))

    @abstractmethod
    def all(self) -> list[Members]:
        """Every rule, the empty set first."""

    def rule(self, index: int) -> Rule:
        return self.published(self.all()[index])

    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        rules = self.all()
        return np.array([int(point[0]) in rules[number] for number in numbers.tolist()])

    def representatives(self, points: Points) -> NDArray[np.int64]:
        """The first rule with each labeling."""
        seen = frozenset(points.tolist())
        first: dict[Members, int] = {}
        for number, rule in enumerate(self.all()):
            first.setdefault(rule & seen, number)
        return np.array(sorted(first.values()), dtype=np.int64)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The first rule with the fewest errors."""
        return self.rule(int(self.agreements(x, y).argmax()))

    def agreements(self, x: Points, y: Labels) -> NDArray[np.int64]:
        pairs = list(zip(x.tolist(), y.tolist(), strict=True))
        return np.array([sum((p in rule) == label for p, label in pairs) for rule in self.all()])


def _members(rule: Rule) -> set[int]:
    assert isinstance(rule, PointsRule)
    return set(rule.members)


@dataclass(frozen=True)
class Cubes(_Small, IntersectionClosed, VersionSpaces):
    """All subcubes of {0, 1}^bits, and the empty set."""

    def smallest(self, points: Iterable[int]) -> Members:
        """The smallest cube around these points."""
        held = list(points)
        if not held:
            return frozenset()
        free = 0
        for point in held:
            free |= point ^ held[0]
        return frozenset(p for p in range(1 << self.bits) if not (p ^ held[0]) & ~free)

    def all(self) -> list[Members]:
        points = range(1 << self.bits)
        cubes = {self.smallest((a, b)) for a in points for b in points}
        return [frozenset(), *sorted(cubes, key=sorted)]

    @property
    def closure_examples(self) -> int:
        return self.bits + 1

    def closures(
        self, x: Points, y: Labels, teachers: NDArray[np.int64] | None, published: Rule
    ) -> Proposals:
        assert isinstance(published, PointsRule)
        numbers = np.arange(len(x)) if teachers is None else teachers
        votes: Counter[int] = Counter()
        for teacher in np.unique(numbers):
            mine = numbers == teacher
            positive = {int(p) for p in x[mine & (y == 1)]}
            negative = {int(p) for p in x[mine & (y == 0)]}
            closure = self.smallest(sorted(positive | set(published.members)))
            if positive - set(published.members) and not negative & closure:
                votes[sum(1 << point for point in closure)] += 1
        keys = sorted(votes)
        scores = np.array([votes[key] for key in keys], dtype=np.int64)
        return Proposals(scores, np.array(keys, dtype=np.uint64).reshape(-1, 1))

    def closed_rule(self, proposals: Proposals, index: int) -> Rule:
        mask = int(proposals.keys[index, 0])
        members = (point for point in range(1 << self.bits) if mask >> point & 1)
        return PointsRule(bits=self.bits, members=tuple(members))

    def around(self, published: Rule, point: int) -> Rule:
        return self._cube(_members(published) | {point})

    def joined(self, first: Rule, second: Rule) -> Rule:
        return self._cube(_members(first) | _members(second))

    def _cube(self, points: Iterable[int]) -> Rule:
        return PointsRule(bits=self.bits, members=tuple(sorted(self.smallest(points))))

    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> "CubeSpace":
        """Every approximately consistent cube."""
        good = tuple(
            cube
            for cube in self.all()
            if all(
                sum((int(p) in cube) != label for p, label in zip(x, y, strict=True))
                <= errors_allowed(tolerance, len(y))
                for x, y in data_sets
            )
        )
        return CubeSpace(good)

    def essential_rule(self, key: Hashable) -> Rule:
        assert isinstance(key, frozenset)
        return self.published(key)

    def space_bytes(self, examples: int, epochs: int) -> int:
        return 1000 * len(self.all()) + 100 * examples


@dataclass(frozen=True)
class CubeSpace(VersionSpace):
    """Some cubes."""

    cubes: tuple[Members, ...]

    def essential(self, cap: int) -> list[Hashable]:
        return [self.cubes[i] for i in evenly_cut(len(self.cubes), cap)]


@dataclass(frozen=True)
class Sets(_Small, IdSets):
    """All sets of points; a selection flips points."""

    def all(self) -> list[Members]:
        points = range(1 << self.bits)
        return [
            frozenset(members)
            for n in range(len(points) + 1)
            for members in combinations(points, n)
        ]

    @property
    def vc_dimension(self) -> int:
        return 1 << self.bits

    def flips(self, x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
        assert isinstance(published, PointsRule)
        pairs = list(zip(x.tolist(), y.tolist(), strict=True))
        wrong = Counter(p for p, label in pairs if (p in published.members) != label)
        right = Counter(p for p, label in pairs if (p in published.members) == label)
        found = sorted(wrong)
        scores = np.array([wrong[p] - right[p] * vetoes for p in found], dtype=np.int64)
        return Proposals(scores, np.array(found, dtype=np.uint64).reshape(-1, 1))

    def flipped_rule(self, flips: Proposals, passing: NDArray[np.int64], published: Rule) -> Rule:
        assert isinstance(published, PointsRule)
        passed = {int(key) for key in flips.keys[passing, 0]}
        return self.published(frozenset(published.members) ^ passed)

    def ids_of(self, published: Rule) -> tuple[int, ...]:
        assert isinstance(published, PointsRule)
        return published.members
