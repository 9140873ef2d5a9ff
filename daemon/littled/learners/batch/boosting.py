"""Boosting: a scorecard from one window, by a stump in each of a public number of rounds.

Source: Friedman, Hastie and Tibshirani, "Additive logistic regression"; with residuals that are
limited to 1/2, so that no example counts for more than one about which nothing is said yet. Stumps
are drawn by the exponential mechanism (PRIVACY.md, section 15).

The scorecard begins without points. In each round an example has a residual: with the sign of its
label, the chance that the scorecard so far gives to the other label, in steps of 1/32 and 1/2 at
the most. The score of a stump is the sum of the residuals of all examples that it says 1 to. One
stump is drawn, and is added with a public number of points, which falls from round to round. All of
it is exact integers.

Neighbouring relation: replace one example. Given the stumps before, the scores of a round change by
amounts in an interval of width 2 `RESIDUAL_STEPS`: with r and r' the residuals of the two, a change
is 0, -r, r' or r' - r, and any two of these are at most |r| + |r'| apart.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.classes.capabilities import AdditiveRules, Integers
from littled.learners.leader.features import FeatureMap
from littled.learners.leader.stumps import Stumps
from littled.mechanisms.powers import RATE_MIN
from littled_protocol.rules import ScorecardRule

# A residual of k steps stands for k / 32.
RESIDUAL_STEPS: Final = 16
# The least rate of a round: below, there is no table of weights for a step of a residual.
ROUND_RATE_MIN: Final = RATE_MIN * RESIDUAL_STEPS
# The greatest margins, in points, up to which a residual has at least 16, 15, ..., 1 steps: of k it
# is floor(100 ln((32.5 - k) / (k - 0.5))), as k is to be the integer nearest to
# 32 min(1/2, 1 - 1 / (1 + exp(-margin / 100))).
MARGINS: Final = np.array(
    [6, 18, 31, 44, 57, 71, 86, 101, 118, 136, 157, 181, 209, 246, 301, 414], dtype=np.int64
)
# Examples that are counted at once, which bounds the memory that counting takes.
PIECE: Final = 1 << 15
# The place of one of the candidates, from the number of the round and the scores int64 (m,).
DrawnStump = Callable[[int, Integers], int]


def points_of(step: int, number: int) -> int:
    """The points of a stump: floor(step / sqrt(k)) in the k-th round, `number` = k - 1."""
    return math.isqrt(step * step // (number + 1))


def residuals(scores: Integers, y: Labels) -> Integers:
    """Of examples with these points (n,) and labels (n,): int64 (n,), `RESIDUAL_STEPS` at most."""
    ones = y.astype(np.bool_)
    margins = np.where(ones, scores, -scores)
    steps = RESIDUAL_STEPS - np.searchsorted(MARGINS, margins, side="left")
    return np.where(ones, steps, -steps)


@dataclass(frozen=True)
class Booster:
    """Rounds of boosting for one class of scorecards."""

    rules: AdditiveRules
    rounds: int
    step: int

    @cached_property
    def stumps(self) -> Stumps:
        """Every cut of every column in both directions, "never" and "always"."""
        return Stumps(FeatureMap(self.rules, cosines=1))

    @property
    def candidates(self) -> int:
        """Stumps that a round draws from."""
        return len(self.stumps.drawn)

    def scorecard(self, x: Points, y: Labels, drawn: DrawnStump) -> ScorecardRule:
        """The scorecard of a window x (n,) or (n, columns), y (n,), drawn round by round."""
        cells = self.stumps.features.cells(x)
        points, constant = np.zeros(self.stumps.features.cell_count, dtype=np.int64), 0
        scores = np.zeros(len(y), dtype=np.int64)
        for number in range(self.rounds):
            sums = self._sums(cells, residuals(scores, y))
            chosen = int(self.stumps.drawn[drawn(number, self.stumps.scores(sums))])
            step = points_of(self.step, number)
            always, parts = self.stumps.points(chosen)
            constant, points = constant + step * always, points + step * parts
            column = self.stumps.column(chosen)
            scores += step * (always if column is None else parts.take(cells[column]))
        return self.rules.rule_of(constant, points)

    def _sums(self, cells: NDArray[np.uint32], residual: Integers) -> Integers:
        """For each cell the residuals of the examples that have it: int64 (cells,)."""
        found = np.zeros(self.stumps.features.cell_count, dtype=np.int64)
        for start in range(0, len(residual), PIECE):
            piece = slice(start, start + PIECE)
            found += self.stumps.sums(cells[:, piece], residual[piece])
        return found
