"""The evader of thresholds: an interval of targets."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from benchmarks.evasion.game import SPREAD_ROWS, Choice, Game, Generator, Rows, column, goes_up
from benchmarks.evasion.policies import Style
from littled.classes.base import Points
from littled.classes.thresholds import Thresholds
from littled_protocol.rules import Rule, ThresholdRule


@dataclass(frozen=True)
class Interval:
    """The targets low..high fit."""

    low: int
    high: int


@dataclass(frozen=True)
class ThresholdGame(Game[Interval]):
    """Shows the point next to the published threshold, on which the other side's rules are right.

    The least that a mistake can say is that the target lies on one side of the published rule.
    """

    hypotheses: Thresholds

    def begin(self, rng: Generator, place: float | None = None) -> Interval:
        """Every threshold fits, or one."""
        if place is None:
            return Interval(0, self.hypotheses.size)
        target = round(place * self.hypotheses.size)
        return Interval(target, target)

    def choose(
        self, state: Interval, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Choice, Interval]:
        """A mistake on the side that is kept, if a target is left there."""
        at = self.threshold(rule)
        up = state.high - max(at + 1, state.low) + 1
        down = min(at - 1, state.high) - state.low + 1
        mistakes = self._rows([])
        if up > 0 or down > 0:
            if goes_up(style, up, down):
                state = Interval(max(state.low, at + 1), state.high)
                first, last, label = at, state.low - 1, 0
            else:
                state = Interval(state.low, min(state.high, at - 1))
                first, last, label = at - 1, state.high, 1
            points = [first]
            if style.spread:
                least, greatest = min(first, last), max(first, last)
                points = rng.integers(least, greatest + 1, SPREAD_ROWS).tolist()
            mistakes = self._rows([(point, label) for point in points])
        free, state = self._free(state, at, style, mistakes)
        return Choice(mistakes, free), state

    def fitting(self, state: Interval) -> ThresholdRule:
        """The least threshold."""
        return self.hypotheses.rule(state.low)

    def threshold(self, rule: Rule) -> int:
        """The least point to which the rule says 1; a majority of thresholds is a threshold."""
        if isinstance(rule, ThresholdRule):
            return rule.threshold
        size = self.hypotheses.size
        return bisect_left(
            range(size), 1, key=lambda point: int(rule.evaluate(self._x([point]))[0])
        )

    def _free(
        self, state: Interval, at: int, style: Style, mistakes: Rows
    ) -> tuple[Rows, Interval]:
        """Correct examples; far ones may cost the target at one end of the line."""
        if style.pace == 1 and len(mistakes):
            return self._rows([]), state
        size = self.hypotheses.size
        found: list[tuple[int, int]] = []
        if style.free == "ends":
            found += [(state.low - 1, 0)] * (state.low > 0) + [(state.high, 1)] * (
                state.high < size
            )
        elif style.free == "near" and len(mistakes):
            # on the other side of the published threshold, with the same label
            label = int(mistakes.y[0])
            found += [(at if label else at - 1, label)]
        found = [(point, label) for point, label in found if 0 <= point < size]
        if not found:
            if at < size and state.low < size:
                found, state = [(size - 1, 1)], Interval(state.low, min(state.high, size - 1))
            elif state.high > 0:
                found, state = [(0, 0)], Interval(max(state.low, 1), state.high)
        return self._rows(found), state

    def _x(self, points: list[int]) -> Points:
        return column(points, self.hypotheses.point_type)

    def _rows(self, examples: list[tuple[int, int]]) -> Rows:
        labels = np.array([label for _, label in examples], dtype=np.uint8)
        return Rows(self._x([point for point, _ in examples]), labels)
