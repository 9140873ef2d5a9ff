"""The evader of stumps: it knows how much each feature says for a row, and which stumps fit.

Whatever is published (a stump, a majority of stumps, a scorecard) adds up points of a row's
features. So a row on which it errs, and on which as many stumps as possible are right, is found
feature by feature: of each the bucket with the most stumps that are right, less a price for the
points that speak for the label. The price is raised until the sum of points errs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.evasion.game import Choice, Game, Generator, Rows
from benchmarks.evasion.policies import Style
from littled.classes.stumps import Stumps
from littled_protocol.rules import MajorityRule, Rule, ScorecardRule, StumpRule

Stumped = NDArray[np.bool_]
Points = NDArray[np.int64]
# Prices that are tried, in stumps for all points of the greatest feature.
PRICES = np.concatenate(([0.0], np.geomspace(1e-3, 1e6, 60)))
# Rows of both labels that are shown at once, where mistakes are spread.
SPREAD_OF_A_LABEL = 3


@dataclass(frozen=True, eq=False)
class Left:
    """The stumps that fit: bool (features, 2, buckets + 1), "at least t" and "below t"."""

    stumps: Stumped


@dataclass(frozen=True, eq=False)
class StumpGame(Game[Left]):
    """Shows rows on which what is published errs and that most stumps that fit are right on."""

    hypotheses: Stumps

    @cached_property
    def says(self) -> Stumped:
        """What stumps say to a bucket of their feature, (2, buckets + 1, buckets)."""
        buckets = self.hypotheses.buckets
        at_least = np.arange(buckets) >= np.arange(buckets + 1)[:, None]
        found: Stumped = np.stack((at_least, ~at_least))
        return found

    def begin(self, rng: Generator, place: float | None = None) -> Left:
        """Every stump fits."""
        shape = (self.hypotheses.features, 2, self.hypotheses.buckets + 1)
        return Left(np.ones(shape, dtype=np.bool_))

    def choose(self, state: Left, rule: Rule, style: Style, rng: Generator) -> tuple[Choice, Left]:
        """The best mistakes, and between them rows on which it is right."""
        constant, points = self._points(rule)
        rows: list[tuple[NDArray[np.int64], int]] = []
        for wanted in self._order(state, constant, points, style, rng):
            found = self._row(state, constant, points, wanted, style, rng, errs=True)
            if found is not None:
                rows.append((found, wanted))
                state = self._narrowed(state, *rows[-1])
        if style.pace == 1 and rows:
            return Choice(self._rows(rows), self._rows([])), state
        free = []
        for wanted in (1, 0):
            found = self._row(state, constant, points, wanted, style, rng, errs=False)
            if found is not None:
                free.append((self._left(state, found, wanted).sum(), found, wanted))
        _, found, wanted = max(free, key=lambda one: int(one[0]))
        state = self._narrowed(state, found, wanted)
        return Choice(self._rows(rows), self._rows([(found, wanted)])), state

    def fitting(self, state: Left) -> Rule:
        """The first stump that fits."""
        feature, below, threshold = (int(place) for place in np.argwhere(state.stumps)[0])
        features, buckets = self.hypotheses.features, self.hypotheses.buckets
        if threshold == buckets:  # a constant
            feature, threshold, below = 0, 0, 1 - below
        return StumpRule(features, buckets, feature, threshold, at_least=not below)

    def _order(
        self, state: Left, constant: int, points: Points, style: Style, rng: Generator
    ) -> list[int]:
        """The labels of the mistakes that are looked for, one after the other."""
        left = {
            label: 0 if row is None else int(self._left(state, row, label).sum())
            for label in (0, 1)
            for row in [self._row(state, constant, points, label, style, rng, errs=True)]
        }
        better = max(left, key=lambda label: left[label])
        if style.side in ("up", "down") and left[int(style.side == "down")]:
            better = int(style.side == "down")
        if style.side == "smaller":
            possible = {label: count for label, count in left.items() if count}
            better = min(possible, key=lambda label: possible[label], default=better)
        return [better, 1 - better] * SPREAD_OF_A_LABEL if style.spread else [better]

    def _row(
        self, state: Left, constant: int, points: Points, label: int, style: Style, rng: Generator,
        *, errs: bool,
    ) -> NDArray[np.int64] | None:  # fmt: skip
        """A row with this label on which what is published errs, or is right; None if none fits."""
        value = state.stumps.astype(np.float64)
        if style.side == "costly":  # features of which few are left count as much as others
            value /= np.maximum(value.sum(axis=2, keepdims=True), 1)
        right = self.says == bool(label)
        kept = np.einsum("fdt,dtb->fb", value, right)
        kept *= 1 + 1e-6 * rng.random(kept.shape)
        for_label = points if label else -points
        scale = max(int(np.abs(points).max()), 1)
        places = np.arange(self.hypotheses.features)
        for price in PRICES if errs else -PRICES:
            row = (kept - price * for_label / scale).argmax(axis=1)
            says = int(constant + points[places, row].sum() > 0)
            if (says != label) == errs and self._left(state, row, label).any():
                found: NDArray[np.int64] = row
                return found
        return None

    def _left(self, state: Left, row: NDArray[np.int64], label: int) -> Stumped:
        """Which of the stumps that fit say this label to a row."""
        says = self.says[:, :, row].transpose(2, 0, 1)
        found: Stumped = state.stumps & (says == bool(label))
        return found

    def _narrowed(self, state: Left, row: NDArray[np.int64], label: int) -> Left:
        return Left(self._left(state, row, label))

    def _points(self, rule: Rule) -> tuple[int, Points]:
        """A constant, and the points of each bucket, int64 (features, buckets): 1 above 0."""
        if isinstance(rule, ScorecardRule):
            return rule.constant, np.array(rule.tables, dtype=np.int64)
        members = rule.members if isinstance(rule, MajorityRule) else (rule,)
        points = np.zeros((self.hypotheses.features, self.hypotheses.buckets), dtype=np.int64)
        for stump in members:
            assert isinstance(stump, StumpRule)
            at_least = np.arange(self.hypotheses.buckets) >= stump.threshold
            points[stump.feature] += np.where(at_least == stump.at_least, 1, -1)
        return 0, points

    def _rows(self, rows: list[tuple[NDArray[np.int64], int]]) -> Rows:
        x = np.array([row for row, _ in rows], dtype=np.uint16)
        labels = np.array([label for _, label in rows], dtype=np.uint8)
        return Rows(x.reshape(len(rows), self.hypotheses.features), labels)
