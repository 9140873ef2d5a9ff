"""How a robust minimum is drawn from one window: two methods with one interface.

With c(r) the examples with label 1 up to a number r, and b(r) those below it, the *distance* of r
is max(0, T - c(r), b(r) - T): by so many ranks r misses the T-th least example, whatever is equal
to it. The number 2^bits, "never", has all examples up to it. Some number always has distance 0: the
T-th least example, or "never" where fewer than T have label 1. One example replaced changes c and b
of each r by at most 1, and so each distance. The proofs are in PRIVACY.md, section 18.
"""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import DenseSelection, PrivacyEvent, SparseSelection
from littled.classes.base import Points
from littled.classes.capabilities import OrderedNumbers, needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.wide import rising, starts_of_runs, to_ints
from littled.learners.batch.methods import Draw, Window
from littled.learners.minimum.parameters import MinimumMethod, MinimumParameters
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.ranges import RangeDraw
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class MinimumDraw(ABC):
    """One method for one class with public parameters."""

    hypotheses: HypothesisClass
    parameters: MinimumParameters

    @abstractmethod
    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What all windows of a season cost together; finite precision is not in it."""

    @abstractmethod
    def precision_error(self) -> Fraction:
        """Bound on the total variation of one window's release from the ideal one."""

    @abstractmethod
    def drawn(self, numbers: Points, draw: Draw) -> int:
        """A number up to 2^bits from those of the examples with label 1, rising."""

    def select(self, window: Window, draw: Draw) -> Rule:
        """The rule that says 1 from the drawn number on."""
        positive = window.x[window.y == 1]
        return self._numbers.rule_from(self.drawn(positive.take(rising(positive), axis=0), draw))

    @cached_property
    def _numbers(self) -> OrderedNumbers:
        return needed(self.hypotheses.least_numbers)

    @property
    def _never(self) -> int:
        return 1 << self._numbers.number_bits

    def _dense(self, rate: Fraction) -> DenseSelection:
        p = self.parameters
        return DenseSelection(rate, 1, p.accounting, p.user_examples_max or 0)


class Exponential(MinimumDraw):
    """The exponential mechanism over all numbers: between two examples all are alike."""

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw."""
        return (self._dense(self.parameters.rate),)

    def precision_error(self) -> Fraction:
        """That of one draw."""
        return self._mechanism.total_variation()

    def drawn(self, numbers: Points, draw: Draw) -> int:
        """A number of the range that is drawn."""
        starts, sizes, distances = self._ranges(numbers)
        words = draw.words("select", self._mechanism.words)
        index, place = self._mechanism.sample(sizes, distances, words)
        return starts[index] + place

    def _ranges(self, numbers: Points) -> tuple[list[int], list[int], list[int]]:
        """First number, size and distance of each range, but those that are never drawn.

        Every example's number is a range of its own, and what lies between two of them is one.
        """
        target, reach = self.parameters.rank, self._mechanism.reach
        first = starts_of_runs(numbers)
        upto = np.append(first[1:], len(numbers)).astype(np.int64)
        near = (first <= target + reach) & (upto >= target - reach)
        values = to_ints(numbers.take(first[near], axis=0))
        below, up = first[near].tolist(), upto[near].tolist()
        starts, sizes, distances = list[int](), list[int](), list[int]()

        def add(start: int, end: int, distance: int) -> None:
            starts.append(start)
            sizes.append(end - start)
            distances.append(distance)

        # what is before the first of them, unless ranges have been left out there
        if not near.any() or near[0]:
            add(0, values[0] if values else self._never, target)
        ends = [*values[1:], self._never][: len(values)]
        for value, end, b, c in zip(values, ends, below, up, strict=True):
            add(value, value + 1, max(0, target - c, b - target))
            if end < self._never or c == len(numbers):
                add(value + 1, end, abs(target - c))
        add(self._never, self._never + 1, max(0, len(numbers) - target))
        return starts, sizes, distances

    @cached_property
    def _mechanism(self) -> RangeDraw:
        return RangeDraw(self.parameters.rate, self._never + 1)


class Stable(MinimumDraw):
    """A length, a prefix of it that enough examples share, and one of the ends of its block.

    Looked at are the 2w examples of ranks T - w + 1 to T + w; "never" stands for those that are
    missing. m(l) is the most of them that share their first l bits, of bits + 1. A length is wanted
    with many in m(l), and not all in m(l + 1): then whatever prefix is drawn, its first number, its
    last one or its middle lies among these examples.
    """

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Draws of a length, of a prefix, and of a number."""
        p = self.parameters
        prefix = SparseSelection(
            p.prefix_rate, 1, p.bottom_score, 1, p.accounting, p.user_examples_max or 0
        )
        return (self._dense(p.length_rate), prefix, self._dense(p.rate))

    def precision_error(self) -> Fraction:
        """That of the three draws."""
        lengths = self._bits + 1
        return (
            ExponentialMechanism(self.parameters.length_rate).total_variation(lengths)
            + self._prefixes.total_variation(2 * self.parameters.span)
            + ExponentialMechanism(self.parameters.rate).total_variation(_ENDS_MAX)
        )

    def drawn(self, numbers: Points, draw: Draw) -> int:
        """One of the ends of a block; "never" where no prefix is common enough."""
        span = self._span(numbers)
        lengths = ExponentialMechanism(self.parameters.length_rate)
        length = lengths.sample(self._scores(span), draw.words("select", lengths.WORDS, 0))
        votes = Counter(value >> (self._bits - length) for value in span)
        prefixes = sorted(votes)
        scores = np.array([votes[prefix] for prefix in prefixes], dtype=np.int64)
        index = self._prefixes.sample(scores, draw.words("select", SparseSample.WORDS, 1))
        if index is None:
            return self._never
        ends = self._ends(prefixes[index], length)
        near = np.array([-self._distance(numbers, end) for end in ends], dtype=np.int64)
        numbers_of = ExponentialMechanism(self.parameters.rate)
        return ends[numbers_of.sample(near, draw.words("select", numbers_of.WORDS, 2))]

    def _span(self, numbers: Points) -> list[int]:
        """The numbers of ranks T - w + 1 to T + w, "never" for those that are missing."""
        p = self.parameters
        found = to_ints(numbers[p.rank - p.span : p.rank + p.span])
        return found + [self._never] * (2 * p.span - len(found))

    def _scores(self, span: list[int]) -> NDArray[np.int64]:
        """min(m(l) - least_count, 2w - m(l + 1)) of each length l, int64 (bits + 1,)."""
        most = [
            max(Counter(value >> (self._bits - length) for value in span).values())
            for length in range(self._bits + 1)
        ]
        least, every = self.parameters.least_count, len(span)
        last = most[-1] - least
        scores = [min(m - least, every - n) for m, n in pairwise(most)]
        return np.array([*scores, last], dtype=np.int64)

    def _ends(self, prefix: int, length: int) -> list[int]:
        """First, middle and last number of a block, each once, and "never", rising."""
        free = self._bits - length
        first = prefix << free
        ends = {first, first + (1 << free) // 2, first + (1 << free) - 1, self._never}
        return sorted({min(end, self._never) for end in ends})

    def _distance(self, numbers: Points, value: int) -> int:
        """The distance of one number."""
        target, never = self.parameters.rank, value == self._never
        upto = self.parameters.window if never else _count(numbers, value + 1)
        below = len(numbers) if never else _count(numbers, value)
        return max(0, target - upto, below - target)

    @property
    def _bits(self) -> int:
        """Of numbers with "never" among them."""
        return self._numbers.number_bits + 1

    @cached_property
    def _prefixes(self) -> SparseSample:
        p = self.parameters
        return SparseSample(p.prefix_rate, list_cap=1, bottom_score=p.bottom_score)


# Ends of a block, and "never".
_ENDS_MAX = 4


def _count(numbers: Points, below: int) -> int:
    """How many of the rising numbers are below this one."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        smaller = to_ints(numbers[middle : middle + 1])[0] < below
        low, high = (middle + 1, high) if smaller else (low, middle)
    return low


_METHODS: dict[MinimumMethod, type[MinimumDraw]] = {"exponential": Exponential, "stable": Stable}


def draw_of(hypotheses: HypothesisClass, parameters: MinimumParameters) -> MinimumDraw:
    """The method that the parameters name; ValueError, one sentence, for what does not fit."""
    if hypotheses.least_numbers is None:
        raise ValueError(f"{hypotheses.name} has no rules that say 1 from a number on")
    return next(made for name, made in _METHODS.items() if name == parameters.method)(
        hypotheses, parameters
    )
