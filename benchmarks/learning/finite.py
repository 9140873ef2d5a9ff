"""Finite classes for baselines that weigh every rule: losses of all rules, and their labels.

A baseline needs of a class of N rules: ln N; the number of errors of every rule on a slice of
examples; and the labels of one rule on a slice. Rules that cannot differ on a stream's points form
one *group*, so even the 2^64 point functions take a thousand numbers. Grouping is arithmetic, not
an algorithm: what is drawn has exactly the distribution that N separate rules would give.

Points are encoded once a stream (`cells`); slices of cells are then handed back.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.streams import Flags, Numbers, Points, Stream, parsed, table_matrix

Cells = NDArray[np.integer[Any]]
Labels = NDArray[np.uint8]

# Conjunctions of more bits have too many rules to list.
CONJUNCTION_BITS_MAX = 12


class HasPoints(Protocol):
    """Whatever has points: a stream of this benchmark or of another one."""

    @property
    def x(self) -> Points:
        """Points, (n,) or (n, features)."""


class FiniteClass(ABC):
    """All rules of a class as groups of equal rules.

    log_count: ln N. cells: the encoded points of the stream, (n,) or (n, features).
    log_sizes: ln of the number of rules of each group, None where each group is one rule.
    """

    log_count: float
    cells: Cells
    log_sizes: NDArray[np.float64] | None = None

    @abstractmethod
    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """Errors of every group on these examples, (groups,)."""

    @abstractmethod
    def labels(self, group: int, cells: Cells) -> Flags:
        """Labels of the rules of a group."""

    def chances(self, losses: Numbers, rate: float) -> NDArray[np.float64]:
        """Cumulative weights of the groups, (rules in it) * exp(-rate * losses) each."""
        exponents = -rate * (losses - losses.min())
        if self.log_sizes is not None:
            exponents += self.log_sizes
            exponents -= exponents.max()
        # a relative error of 10^-7 in a weight does not show, and single precision is fast
        return np.cumsum(np.exp(exponents.astype(np.float32)), dtype=np.float64)

    def drawn(self, losses: Numbers, rate: float, rng: np.random.Generator) -> int:
        """A group, drawn with weights (rules in it) * exp(-rate * losses)."""
        return drawn_from(self.chances(losses, rate), rng)


def drawn_from(chances: NDArray[np.float64], rng: np.random.Generator) -> int:
    """An index, drawn with these cumulative weights."""
    return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))


def _step_losses(ones: Numbers, zeros: Numbers) -> Numbers:
    """Errors of "x >= t", t = 0..size, from counts of labels by x, (..., size + 1)."""
    pad = [(0, 0)] * (ones.ndim - 1) + [(1, 0)]
    missed = np.cumsum(np.pad(ones, pad), axis=-1)
    below = np.cumsum(np.pad(zeros, pad), axis=-1)
    return missed + below[..., -1:] - below


def _counts(cells: Cells, y: Labels, size: int) -> tuple[Numbers, Numbers]:
    """Number of labels 1 and 0 in each cell."""
    every = np.bincount(cells, minlength=size)
    ones = np.bincount(cells[y == 1], minlength=size)
    return ones, every - ones


class FiniteThresholds(FiniteClass):
    """The size + 1 thresholds."""

    def __init__(self, stream: Stream, size: int) -> None:
        """Points are their own cells."""
        self.log_count, self.size = math.log(size + 1), size
        self.cells = stream.x.astype(np.int64)

    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """Cumulative sums of the counts."""
        return _step_losses(*_counts(cells, y, self.size))

    def labels(self, group: int, cells: Cells) -> Flags:
        """One comparison."""
        above: Flags = cells >= group
        return above


class FinitePoints(FiniteClass):
    """All 2^bits point functions and the constant 0.

    Groups: the ids that the stream has, and all others together, which say 0 throughout.
    """

    def __init__(self, stream: Stream, bits: int) -> None:
        """Cells are the numbers of the ids in rising order."""
        ids, cells = np.unique(stream.x, return_inverse=True)
        self.cells, self.ids = cells, len(ids)
        self.log_count = bits * math.log(2)
        self.log_sizes = np.zeros(self.ids + 1)
        self.log_sizes[-1] = math.log(2**bits - self.ids + 1)

    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """An id errs on the other ids' ones and on its own zeros."""
        ones, zeros = _counts(cells, y, self.ids)
        total = ones.sum()
        return np.append(total - ones + zeros, total)

    def labels(self, group: int, cells: Cells) -> Flags:
        """One comparison; the last group has no cell."""
        same: Flags = cells == group
        return same


class FiniteStumps(FiniteClass):
    """x[feature] >= t for every feature and t = 1..buckets-1, the opposites, and both constants.

    Groups: feature * (buckets - 1) + t - 1; all opposites in the same order; always 1; always 0.
    """

    def __init__(self, stream: HasPoints, features: int, buckets: int) -> None:
        """Cells are the rows with each feature moved to a range of its own."""
        self.features, self.buckets = features, buckets
        self.stumps = features * (buckets - 1)
        self.log_count = math.log(2 * self.stumps + 2)
        self.cells = stream.x + np.arange(features, dtype=np.uint16) * np.uint16(buckets)

    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """Cumulative sums of the counts of each feature."""
        labels = np.repeat(y, self.features)
        ones, zeros = _counts(cells.ravel(), labels, self.features * self.buckets)
        shape = (self.features, self.buckets)
        losses = _step_losses(ones.reshape(shape), zeros.reshape(shape))[:, 1:-1].ravel()
        positive = int(y.sum())
        constants = [len(y) - positive, positive]
        every: Numbers = np.concatenate((losses, len(y) - losses, constants))
        return every

    def labels(self, group: int, cells: Cells) -> Flags:
        """One comparison in one column."""
        if group >= 2 * self.stumps:
            return np.full(len(cells), group == 2 * self.stumps)
        opposite, stump = divmod(group, self.stumps)
        feature, threshold = divmod(stump, self.buckets - 1)
        above: Flags = cells[:, feature] >= feature * self.buckets + threshold + 1
        says: Flags = above != bool(opposite)
        return says


class FiniteConjunctions(FiniteClass):
    """All 3^bits conjunctions and the constant 0, which is the last group.

    The other groups are numbers in base 3: digit 0 or 1 asks for that bit, 2 does not look at it.
    """

    def __init__(self, stream: Stream, bits: int) -> None:
        """Points are their own cells."""
        self.bits, self.low = bits, bits // 2
        self.log_count = math.log(3**bits + 1)
        self.cells = stream.x.astype(np.int64)
        self.covers = [_cover(bits - self.low), _cover(self.low)]

    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """Ones that a rule does not cover and zeros that it does.

        The upper and the lower bits are covered one after the other, by two products; floats hold
        such counts exactly.
        """
        ones, zeros = _counts(cells, y, 1 << self.bits)
        counts = (zeros - ones).astype(np.float64).reshape(-1, 1 << self.low)
        covered = (self.covers[0] @ counts) @ self.covers[1].T
        losses: Numbers = np.append(covered.ravel().astype(np.int64), 0) + ones.sum()
        return losses

    def labels(self, group: int, cells: Cells) -> Flags:
        """Mask and compare."""
        if group == 3**self.bits:
            return np.zeros(len(cells), dtype=bool)
        mask = values = 0
        for bit in range(self.bits):
            group, digit = divmod(group, 3)
            mask |= (digit < 2) << bit
            values |= (digit == 1) << bit
        covered: Flags = (cells & mask) == values
        return covered


def _cover(bits: int) -> NDArray[np.float64]:
    """Which conjunctions (in base 3) cover which points, (3^bits, 2^bits) of 0 and 1."""
    cover = np.ones((1, 1))
    for _ in range(bits):
        cover = np.kron(cover, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    return cover


class FiniteTable(FiniteClass):
    """The rows of a table."""

    def __init__(self, stream: Stream, rules: int, points: int) -> None:
        """Points are their own cells."""
        self.matrix = table_matrix(rules, points)
        self.ones = self.matrix.astype(np.int32)
        self.log_count = math.log(rules)
        self.cells = stream.x.astype(np.int64)

    def losses(self, cells: Cells, y: Labels) -> Numbers:
        """Zeros where a row says 1 and ones where it does not."""
        ones, zeros = _counts(cells, y, self.matrix.shape[1])
        covered = (self.ones @ (zeros - ones).astype(np.int32)).astype(np.int64)
        losses: Numbers = covered + ones.sum()
        return losses

    def labels(self, group: int, cells: Cells) -> Flags:
        """A look-up."""
        found: Flags = self.matrix[group, cells]
        return found


def finite_refusal(class_name: str) -> str | None:
    """Why a class is not weighed rule by rule here; None if it is."""
    family, numbers = parsed(class_name)
    if family in ("thresholds", "points", "stumps", "table"):
        return None
    if family == "conjunctions" and numbers[0] <= CONJUNCTION_BITS_MAX:
        return None
    return "the class is too large to weigh every rule"


def finite_class(stream: Stream) -> FiniteClass:
    """The stream's class; only where `finite_refusal` is None."""
    family, numbers = parsed(stream.class_name)
    kinds: dict[str, type[Any]] = {
        "thresholds": FiniteThresholds,
        "points": FinitePoints,
        "stumps": FiniteStumps,
        "conjunctions": FiniteConjunctions,
        "table": FiniteTable,
    }
    made: FiniteClass = kinds[family](stream, *numbers)
    return made
