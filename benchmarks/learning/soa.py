"""The standard optimal algorithm in closed form, class by class, without privacy.

    wrong = lazy_mistakes(stream)       # positions of the mistakes, at most d of them

Each learner here predicts, and corrects itself only after a mistake. Thresholds, stumps and tables
take the majority of the rules that are left (halving: at most log2 of their number); prefixes wait
for a first positive address and then halve the lengths; points, sets, subspaces and conjunctions
take the smallest rule around the positives seen, and each mistake makes it larger.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.streams import (
    ADDRESS_BITS,
    AffineTarget,
    ConjunctionTarget,
    Flags,
    MembersTarget,
    Points,
    PrefixTarget,
    Stream,
    Target,
    parsed,
    reduced_basis,
    table_matrix,
)

CHUNK = 1 << 16


class Learner(ABC):
    """Predicts points and learns from one mistake at a time."""

    @abstractmethod
    def labels(self, x: Points) -> Flags:
        """The present rule's labels."""

    @abstractmethod
    def correct(self, x: NDArray[Any], label: bool) -> None:
        """Learn from an example that the present rule got wrong; `x` is one row of the points."""


def lazy_mistakes(stream: Stream) -> list[int]:
    """Positions of the mistakes of the class's learner on the stream."""
    family, numbers = parsed(stream.class_name)
    learner = _LEARNERS[family](*numbers)
    wrong, at = [], 0
    while at < len(stream):
        part = slice(at, at + CHUNK)
        missed = learner.labels(stream.x[part]) != stream.y[part]
        if not missed.any():
            at += CHUNK
            continue
        at += int(missed.argmax())
        wrong.append(at)
        learner.correct(stream.x[at], bool(stream.y[at]))
        at += 1
    return wrong


class Halving(Learner):
    """The majority of a list of step functions "x >= t" that are left, on a line."""

    def __init__(self, size: int) -> None:
        """Thresholds 0..size are left."""
        self.low, self.high = 0, size

    def labels(self, x: Points) -> Flags:
        """1 from the middle threshold on."""
        return x.astype(np.int64) >= (self.low + self.high) // 2

    def correct(self, x: NDArray[Any], label: bool) -> None:
        """Thresholds up to x say 1, larger ones 0."""
        self.low, self.high = (self.low, int(x)) if label else (int(x) + 1, self.high)


class MajorityOfStumps(Learner):
    """The majority of the stumps that are left: votes add up feature by feature."""

    def __init__(self, features: int, buckets: int) -> None:
        """left[s, f, t]: whether "x[f] >= t" (s = 1) or its opposite (s = 0) fits, t = 1.."""
        self.left = np.ones((2, features, buckets - 1), dtype=bool)

    def labels(self, x: Points) -> Flags:
        """A feature has the votes of all thresholds up to it, less the opposites'."""
        votes = np.cumsum(self.left[1].astype(np.int64) - self.left[0], axis=1)
        total = np.full(len(x), self.left[0].sum())
        for feature, column in enumerate(votes):
            total += np.concatenate(([0], column))[x[:, feature]]
        majority: Flags = 2 * total > self.left.sum()
        return majority

    def correct(self, x: NDArray[Any], label: bool) -> None:
        """Keep the stumps that say `label`."""
        above = x[:, None] >= np.arange(1, self.left.shape[2] + 1)
        self.left &= np.stack((~above, above)) == label


class MajorityOfTable(Learner):
    """The majority of the rows that are left."""

    def __init__(self, rules: int, points: int) -> None:
        """All rows are left."""
        self.left = table_matrix(rules, points)

    def labels(self, x: Points) -> Flags:
        """A look-up of the vote."""
        votes: Flags = 2 * self.left.sum(axis=0) > len(self.left)
        says: Flags = votes[x]
        return says

    def correct(self, x: NDArray[Any], label: bool) -> None:
        """Keep the rows that say `label`."""
        self.left = self.left[self.left[:, int(x)] == label]


class Closure(Learner):
    """The smallest rule around the positives seen; the constant 0 before the first."""

    rule: Target | None = None

    def __init__(self, *numbers: int) -> None:
        """The class's numbers do not matter."""

    def labels(self, x: Points) -> Flags:
        """The rule's."""
        return np.zeros(len(x), dtype=bool) if self.rule is None else self.rule.labels(x)

    def correct(self, x: NDArray[Any], label: bool) -> None:
        """Only positives are missed, as the rule lies inside the target."""
        assert label
        self.rule = self.grown(x)

    @abstractmethod
    def grown(self, x: NDArray[Any]) -> Target:
        """The smallest rule around the present one and x."""


class GrowingSet(Closure):
    """Ids."""

    def grown(self, x: NDArray[Any]) -> Target:
        """One more member."""
        members = self.rule.members if isinstance(self.rule, MembersTarget) else ()
        return MembersTarget((*members, int(x)))


class GrowingSubspace(Closure):
    """Affine hulls."""

    def grown(self, x: NDArray[Any]) -> Target:
        """One dimension more."""
        if not isinstance(self.rule, AffineTarget):
            return AffineTarget(int(x), ())
        basis = reduced_basis([*self.rule.basis, self.rule.offset ^ int(x)])
        return AffineTarget(self.rule.offset, basis)


class GrowingConjunction(Closure):
    """Subcubes."""

    def grown(self, x: NDArray[Any]) -> Target:
        """Without the literals that x violates."""
        if not isinstance(self.rule, ConjunctionTarget):
            mask = int(np.iinfo(x.dtype).max)
            return ConjunctionTarget(mask, int(x))
        mask = self.rule.mask & ~(self.rule.values ^ int(x))
        return ConjunctionTarget(mask, self.rule.values & mask)


class HalvingPrefix(Learner):
    """Waits for a positive address, then halves the lengths of blocks around it."""

    def __init__(self, bits: int) -> None:
        """Nothing is known."""
        assert bits == ADDRESS_BITS
        self.anchor: tuple[int, int] | None = None
        self.low, self.high = 0, ADDRESS_BITS

    def labels(self, x: Points) -> Flags:
        """The block of the middle length."""
        if self.anchor is None:
            return np.zeros(len(x), dtype=bool)
        return PrefixTarget(self.anchor, (self.low + self.high) // 2).labels(x)

    def correct(self, x: NDArray[Any], label: bool) -> None:
        """An address that shares s bits is inside the blocks of length at most s."""
        address = int(x[0]) << 64 | int(x[1])
        if self.anchor is None:
            self.anchor = (int(x[0]), int(x[1]))
            return
        anchor = self.anchor[0] << 64 | self.anchor[1]
        shared = ADDRESS_BITS - (address ^ anchor).bit_length()
        self.low, self.high = (self.low, shared) if label else (shared + 1, self.high)


_LEARNERS: dict[str, type[Any]] = {
    "thresholds": Halving,
    "points": GrowingSet,
    "prefixes": HalvingPrefix,
    "sparse_sets": GrowingSet,
    "affine": GrowingSubspace,
    "stumps": MajorityOfStumps,
    "conjunctions": GrowingConjunction,
    "table": MajorityOfTable,
}
