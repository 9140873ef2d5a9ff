"""The public memory of a weighted majority: how often releases have convicted each stump.

For each feature and either direction the stumps are a chain of thresholds 0..buckets, both
constants included. A stump's weight falls with every conviction. What is published follows from the
weights alone: in each chain the median speaks for all of it, with its weight, and the majority
decides. Which medians err is drawn from an epoch; then they are convicted, with all stumps beyond
them, as these err on the same examples.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.learners.online.memory import Memory, MemorySettings
from littled.mechanisms.set_sample import CAP_MAX, DOUBT_MAX, NONE, Drawn
from littled_protocol.rules import ScorecardRule

Integers = NDArray[np.int64]
# Where runs of thresholds begin, and how often those were convicted.
Runs = list[tuple[int, int]]
# Both directions of a feature: "at least t" and "below t".
AT_LEAST, BELOW = range(2)
# Examples that can count against a test.
COUNTED_MAX = CAP_MAX
STEP_MAX, LEVELS_MAX, SLACK_MAX = 16, 64, 1 << 12
# Points of the heaviest chain; two of one feature add up.
POINTS = 1 << 18
# How odds grow with a chain's share of all weight, in eighths of a bit: the first that suits.
SPREADS = (1280, 896, 640, 448, 320, 224, 160, 112, 80)
# 256 times 2^(k / 8), rounded down.
ROOTS = (256, 279, 304, 331, 362, 394, 430, 469)
# Beyond, a test is in every set anyway.
EIGHTHS_MAX = 45 * 8


@dataclass(frozen=True, slots=True)
class MajoritySettings(MemorySettings):
    """How stumps are convicted.

    - `step`: bits of weight that a conviction takes; `levels`: how many of them are counted.
    - `cap`: most examples that count against a test in a draw.
    - `doubt`: the weight of bottom, in multiples of all sets' together.
    - `slack`: in bits, by how much the sets of all tests may outweigh those of the tests that err,
      where these have half of the weight.
    """

    word: ClassVar[str] = "majority"

    step: int
    levels: int
    cap: int
    doubt: int
    slack: int

    def wrong(self) -> str | None:
        """The first value out of its range."""
        if not (1 <= self.step <= STEP_MAX and 1 <= self.levels <= LEVELS_MAX):
            return "step and levels of a majority must be from 1 to 16, and from 1 to 64"
        if not (1 <= self.cap <= COUNTED_MAX and 0 <= self.doubt <= DOUBT_MAX):
            return "cap and doubt of a majority must be from 1 to 65,536, and from 0 to 2^32"
        if not 0 <= self.slack <= SLACK_MAX:
            return "slack of a majority must be from 0 to 4,096 bits"
        return None


@dataclass(frozen=True, slots=True)
class MajorityMemory(Memory):
    """Convictions of each chain's thresholds, in runs of equal ones.

    Chain 2i + d is that of feature i in direction d. Its run r holds the thresholds from starts[r]
    on, with levels[r] convictions more than the stump that has fewest.
    """

    word: ClassVar[str] = "majority"

    starts: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]

    @classmethod
    def empty(cls, features: int) -> "MajorityMemory":
        """Nothing is known of any stump."""
        return cls(((0,),) * (2 * features), ((0,),) * (2 * features))

    def convicted(
        self, cuts: Integers, errors: Sequence[tuple[int, Drawn]], buckets: int, levels_max: int
    ) -> "MajorityMemory":
        """After draws: of each label (0 or 1) the tests that err on examples with it.

        cuts: int64 (features, 2), where each chain's test is.
        """
        found: list[Runs] = [
            [*zip(*chain, strict=True)] for chain in zip(self.starts, self.levels, strict=True)
        ]
        for label, tests in errors:
            for feature, direction in tests:
                cut, chain = int(cuts[feature, direction]), 2 * feature + direction
                # "at least t" misses ones that lie below t, and so do all with greater thresholds
                upper = (direction == AT_LEAST) == (label == 1)
                low, high = (cut, buckets + 1) if upper else (0, cut + 1)
                found[chain] = _raised(found[chain], low, high, buckets + 1)
        least = min(level for runs in found for _, level in runs)
        kept = [_joined((s, min(level - least, levels_max)) for s, level in runs) for runs in found]
        return MajorityMemory(
            tuple(tuple(start for start, _ in runs) for runs in kept),
            tuple(tuple(level for _, level in runs) for runs in kept),
        )


@dataclass(frozen=True)
class Votes:
    """What the stumps of a memory say: each chain's weight and its median.

    weights: of each chain, integers; cuts: int64 (features, 2), the medians.
    """

    weights: tuple[int, ...]
    cuts: Integers
    buckets: int

    @classmethod
    def of(cls, memory: MajorityMemory, buckets: int, settings: MajoritySettings) -> "Votes":
        """Of a memory of stumps with so many buckets."""
        weights, cuts = [], []
        for starts, levels in zip(memory.starts, memory.levels, strict=True):
            sizes = [end - start for start, end in pairwise((*starts, buckets + 1))]
            each = [1 << (settings.step * (settings.levels - level)) for level in levels]
            weights.append(sum(size * one for size, one in zip(sizes, each, strict=True)))
            cuts.append(_median(starts, sizes, each, weights[-1]))
        return cls(tuple(weights), np.array(cuts, dtype=np.int64).reshape(-1, 2), buckets)

    def odds(self, slack: int) -> Integers:
        """The odds of every chain's test in a draw of sets, int64 (features, 2).

        Heavy chains have greater odds: 2^(spread * share / 8), less 1, up to 2^45. So tests that
        have half of the weight, as those have on which the published rule errs, are a set of spread
        / 16 bits at least, less what is cut off. The spread is the largest at which all sets
        together have at most `slack` bits more, or the last.
        """
        total = sum(self.weights)
        for spread in SPREADS:
            eighths = [spread * weight // total for weight in self.weights]
            cut_off = sum(max(0, one - EIGHTHS_MAX) for one in eighths)
            odds = [_power(min(one, EIGHTHS_MAX)) - NONE for one in eighths]
            found = np.array(odds, dtype=np.int64).reshape(-1, 2)
            all_sets = prod((NONE + found.sum(axis=1)).tolist())
            if all_sets <= NONE ** len(found) << (max(0, spread // 2 - cut_off) // 8 + slack):
                break
        return found

    def rule(self) -> ScorecardRule:
        """The majority of the medians, as points for the buckets of each feature."""
        most = max(self.weights)
        points = np.array([weight * POINTS // most for weight in self.weights], dtype=np.int64)
        bucket = np.arange(self.buckets)
        tables = []
        for (at_least, below), (first, second) in zip(
            points.reshape(-1, 2).tolist(), self.cuts.tolist(), strict=True
        ):
            votes = np.where(bucket >= first, at_least, -at_least)
            votes += np.where(bucket < second, below, -below)
            tables.append(tuple(votes.tolist()))
        return ScorecardRule(0, tuple(tables))


def _raised(runs: Runs, low: int, high: int, end: int) -> Runs:
    """With one conviction more of the thresholds low..high - 1, of those below `end`."""
    cut = sorted({start for start, _ in runs} | {low, high} - {end})
    starts = [start for start, _ in runs]
    return [
        (start, runs[bisect_right(starts, start) - 1][1] + (low <= start < high)) for start in cut
    ]


def _joined(runs: Iterable[tuple[int, int]]) -> Runs:
    """With neighbouring runs of as many convictions as one."""
    return [next(equal) for _, equal in groupby(runs, key=lambda run: run[1])]


def _median(starts: Sequence[int], sizes: Sequence[int], each: Sequence[int], total: int) -> int:
    """The least threshold up to which half of a chain's weight lies."""
    half = (total + 1) // 2
    for start, size, weight in zip(starts, sizes, each, strict=True):
        if size * weight >= half:
            return start - (-half // weight) - 1
        half -= size * weight
    raise AssertionError("the weights up to the last threshold are all of the weight")


def _power(eighths: int) -> int:
    """NONE times 2^(eighths / 8), rounded down."""
    doublings, rest = divmod(eighths, 8)
    return ROOTS[rest] << doublings
