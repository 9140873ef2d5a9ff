"""The engine's steps in their plain form: slow, one by one, as the proofs speak of them."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes import numbered
from littled.classes.conjunction_rules import ConjunctionRules
from littled.classes.numbered import NumberedPoints
from littled.classes.stumps import Stumps
from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from support.tails import tail_of


def plain_gaps(gaps: Gaps) -> list[int]:
    """The gap of each step, in Python's integers."""
    found, count = [], 0
    for step, counted in enumerate(gaps.counted.tolist()):
        count += counted
        found.append(gaps.before - count + int((gaps.earlier + step + 1) * gaps.rate))
    return found


def plain_fire(test: Any, gaps: Gaps, words: NDArray[np.uint64]) -> int | None:
    """The first step whose word is below the survival of its gap, each looked at by itself."""
    for step, (gap, word) in enumerate(zip(plain_gaps(gaps), words.tolist(), strict=True)):
        if word < tail_of(test._noise.rate, gap):
            return step
    return None


def plain_points(_: Any, statistics: Any, x: Any, y: Any) -> Any:
    """Each example counted at its point, by itself."""
    counts = statistics.copy()
    for point, label in zip(x.tolist(), y.tolist(), strict=True):
        counts[label, point] += 1
    return counts


def plain_rows(_: Any, statistics: Any, x: Any, y: Any) -> Any:
    """Each example counted in the bucket of each feature, by itself."""
    counts = statistics.copy()
    for row, label in zip(x.tolist(), y.tolist(), strict=True):
        for feature, bucket in enumerate(row):
            counts[label, feature, bucket] += 1
    return counts


def use_plain_forms(patch: pytest.MonkeyPatch) -> None:
    """Let learners test and count in the plain form."""
    for kind in (AboveThreshold, CohenLyuTest):
        patch.setattr(kind, "first_fire", plain_fire)
    for rules in (NumberedPoints, ConjunctionRules):
        patch.setattr(rules, "add", plain_points)
    patch.setattr(Stumps, "add", plain_rows)
    patch.setattr(numbered, "counts_by_label", None)
