"""Laws that windows are drawn from: a target, independent examples, and exact errors of rules."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_protocol.rules import AffineRule, PointsRule, PrefixRule, Rule, ThresholdRule

Points = NDArray[Any]
Labels = NDArray[np.uint8]


@dataclass(frozen=True)
class Sample:
    """A window: points (n,) or (n, 2), labels uint8 (n,)."""

    x: Points
    y: Labels


class Law(ABC):
    """One law of examples of a class; `positives` is about the share with label 1."""

    class_name: str
    name: str
    positives: float

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> tuple[Any, Sample]:
        """A target and a window of n examples."""

    @abstractmethod
    def error(self, target: Any, rule: Rule) -> float:
        """The probability that the rule errs on one more example."""


class ThresholdLaw(Law):
    """Points 0..255, uniform, or half of them within four of the target."""

    class_name, positives = "thresholds:256", 0.5

    def __init__(self, *, close: bool) -> None:
        """With or without the half that is close."""
        self.name, self._close = ("close" if close else "uniform"), close

    def draw(self, rng: np.random.Generator, n: int) -> tuple[int, Sample]:
        """A threshold that is not near either end."""
        target = int(rng.integers(32, 225))
        x = rng.integers(0, 256, n)
        if self._close:
            near = np.clip(target - 4 + rng.integers(0, 8, n), 0, 255)
            x = np.where(rng.random(n) < 0.5, near, x)
        return target, Sample(x.astype(np.uint8), (x >= target).astype(np.uint8))

    def error(self, target: int, rule: Rule) -> float:
        """The mass between two thresholds."""
        assert isinstance(rule, ThresholdRule)
        between = np.arange(min(target, rule.threshold), max(target, rule.threshold))
        uniform = len(between) / 256
        if not self._close:
            return uniform
        near = float(np.count_nonzero((between >= target - 4) & (between < target + 4))) / 8
        return 0.5 * uniform + 0.5 * near


class PointLaw(Law):
    """One id with a share of the examples, all others different."""

    class_name = "points:64"

    def __init__(self, share: float) -> None:
        """The share of the id."""
        self.name, self.positives = f"{share:g}", share

    def draw(self, rng: np.random.Generator, n: int) -> tuple[int, Sample]:
        """A random id."""
        ids = rng.integers(0, 2**64, n + 1, dtype=np.uint64)
        y = rng.random(n) < self.positives
        x = np.where(y, ids[0], ids[1:])
        return int(ids[0]), Sample(x, y.astype(np.uint8))

    def error(self, target: int, rule: Rule) -> float:
        """The id's share unless it is the rule's; other ids have none."""
        assert isinstance(rule, PointsRule)
        return 0.0 if target in rule.members else self.positives


class PrefixLaw(Law):
    """A block of length 40; others leave it after a uniform number of bits."""

    class_name, length = "prefixes:128", 40

    def __init__(self, share: float) -> None:
        """The share of addresses in the block."""
        self.name, self.positives = f"{share:g}", share

    def draw(self, rng: np.random.Generator, n: int) -> tuple[int, Sample]:
        """A random block; the target is its first address."""
        high = rng.integers(0, 2**64, n, dtype=np.uint64)
        low = rng.integers(0, 2**64, n, dtype=np.uint64)
        block = int(rng.integers(0, 2**64, dtype=np.uint64)) >> 24 << 24
        y = rng.random(n) < self.positives
        common = np.where(y, self.length, rng.integers(0, self.length, n)).astype(np.uint64)
        rest = np.uint64(64) - common
        mine = np.uint64(block) >> rest << np.where(rest < 64, rest, 0).astype(np.uint64)
        mine = np.where(common == 0, np.uint64(0), mine)
        theirs = high & ((np.uint64(1) << (rest % np.uint64(64))) - np.uint64(1))
        theirs = np.where(common == 0, high, theirs)
        x = mine | theirs
        # the first bit after what they have in common is another one
        flipped = np.uint64(1) << (np.uint64(63) - np.minimum(common, np.uint64(63)))
        wrong = ((x ^ np.uint64(block)) & flipped) == 0
        x = np.where(~y & wrong, x ^ flipped, x)
        return block, Sample(np.stack((x, low), axis=1), y.astype(np.uint8))

    def error(self, target: int, rule: Rule) -> float:
        """By how long a block around or in the target the rule is."""
        assert isinstance(rule, PrefixRule)
        if rule.length is None:
            return self.positives
        around = min(rule.length, self.length)
        if rule.value >> (rule.length - around) != (target << 64) >> (128 - around):
            return self.positives
        if rule.length <= self.length:
            return (1 - self.positives) * (self.length - rule.length) / self.length
        return self.positives * (1 - 2.0 ** -(rule.length - self.length))


class AffineLaw(Law):
    """A subspace of dimension 8 of 64 bits; other vectors are uniform."""

    class_name, dimension = "affine:64:8", 8

    def __init__(self, share: float) -> None:
        """The share of vectors in the subspace."""
        self.name, self.positives = f"{share:g}", share

    def draw(self, rng: np.random.Generator, n: int) -> tuple[tuple[int, ...], Sample]:
        """Random vectors, which are independent except with probability 2^-55."""
        offset, *basis = rng.integers(0, 2**64, self.dimension + 1, dtype=np.uint64)
        y = rng.random(n) < self.positives
        inside = np.full(n, offset, dtype=np.uint64)
        for vector in basis:
            inside ^= np.where(rng.random(n) < 0.5, vector, np.uint64(0))
        x = np.where(y, inside, rng.integers(0, 2**64, n, dtype=np.uint64))
        return (int(offset), *map(int, basis)), Sample(x, y.astype(np.uint8))

    def error(self, target: tuple[int, ...], rule: Rule) -> float:
        """The share that a smaller subspace leaves out; others share next to nothing."""
        assert isinstance(rule, AffineRule)
        offset, *basis = target
        points = np.array([offset, *(offset ^ vector for vector in basis)], dtype=np.uint64)
        inside = bool(rule.evaluate(points).all())
        if inside and len(rule.basis) == self.dimension:
            return 0.0
        return self.positives


LAWS: dict[str, tuple[Law, ...]] = {
    "thresholds:256": (ThresholdLaw(close=False), ThresholdLaw(close=True)),
    "points:64": (PointLaw(0.06), PointLaw(0.2), PointLaw(0.5)),
    "prefixes:128": (PrefixLaw(0.1), PrefixLaw(0.3), PrefixLaw(0.5)),
    "affine:64:8": (AffineLaw(0.3), AffineLaw(0.5)),
}
