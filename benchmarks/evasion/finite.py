"""The evader of classes whose rules can be listed: stumps, few conjunctions, tables.

It knows what every rule says to every point of a pool, and which rules fit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.evasion.game import SPREAD_ROWS, Choice, Game, Generator, Rows
from benchmarks.evasion.policies import Style
from littled.classes.base import Points
from littled.classes.capabilities import needed
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import RepresentedRules
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule

# Of larger classes a sample of the rules is followed, and of larger domains one of the points.
RULES_MAX = 1 << 16
POINTS_MAX = 4096
POOL_SEED = 2027


@dataclass(frozen=True, eq=False)
class Fitting:
    """Numbers of the rules that fit, rising, and how many of them say 1 to each point of the pool.

    shown: places in the pool that were shown, and their labels.
    """

    rules: NDArray[np.int64]
    ones: NDArray[np.int64]
    shown: dict[int, int]


@dataclass(frozen=True, eq=False)
class FiniteGame(Game[Fitting]):
    """Shows the point on which the published rule errs and that most rules that fit are right on.

    A point about whose label all of them agree costs nothing. The pool of points is the domain; of
    stumps it is rows with one feature anywhere and all others at one end, and random rows.
    """

    hypotheses: HypothesisClass

    @cached_property
    def pool(self) -> Points:
        """The points (m,) or (m, features)."""
        dtype = point_type(self.hypotheses.point_type).dtype
        rng = np.random.default_rng(POOL_SEED)
        if isinstance(self.hypotheses, Stumps):
            features, buckets = self.hypotheses.features, self.hypotheses.buckets
            one = np.repeat(np.eye(features, dtype=bool), buckets, axis=0)
            value = np.tile(np.arange(buckets), features)[:, None]
            axes = [np.where(one, value, end) for end in (0, buckets - 1)]
            rows = rng.integers(0, buckets, (POINTS_MAX // 2, features))
            pool: Points = np.concatenate((*axes, rows)).astype(dtype)
            return pool
        domain = 1 << self.hypotheses.bits if isinstance(self.hypotheses, Conjunctions) else 0
        domain = self.hypotheses.points if isinstance(self.hypotheses, Table) else domain
        if domain <= POINTS_MAX:
            return np.arange(domain, dtype=dtype)
        return rng.choice(domain, POINTS_MAX, replace=False).astype(dtype)

    @cached_property
    def followed(self) -> NDArray[np.int64]:
        """Numbers of the rules that are followed."""
        count = needed(self.hypotheses.dense).rule_count
        if count <= RULES_MAX:
            return np.arange(count)
        rng = np.random.default_rng(POOL_SEED)
        return np.sort(rng.choice(count, RULES_MAX, replace=False))

    @cached_property
    def says(self) -> NDArray[np.bool_]:
        """What every rule that is followed says to every point, (rules, points)."""
        rules = self.hypotheses.window_labelings
        assert isinstance(rules, RepresentedRules)
        found = np.empty((len(self.followed), len(self.pool)), dtype=np.bool_)
        for place in range(len(self.pool)):
            found[:, place] = rules.labels_of(self.followed, self.pool[place : place + 1])
        return found

    def begin(self, rng: Generator, place: float | None = None) -> Fitting:
        """Every rule fits, or one."""
        rules = np.arange(len(self.followed))
        if place is not None:
            rules = rules[[round(place * (len(rules) - 1))]]
        return Fitting(rules, self.says[rules].sum(axis=0), {})

    def choose(
        self, state: Fitting, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Choice, Fitting]:
        """The best mistake, or many that cost no more once it was shown."""
        published = rule.evaluate(self.pool) == 1
        left = self._left(state, published)
        wrong = self._best(left, published, style, rng)
        if wrong is not None:
            state = self._narrowed(state, {wrong: int(not published[wrong])})
        places = [] if wrong is None else [wrong]
        if style.spread and wrong is not None:
            # what all that are left agree on, and the rule errs on
            agreed = np.flatnonzero(self._left(state, published) == len(state.rules))
            places = rng.choice(agreed, min(SPREAD_ROWS, len(agreed)), replace=False).tolist()
        labels = {place: int(not published[place]) for place in places}
        state = Fitting(state.rules, state.ones, {**state.shown, **labels})
        if style.pace == 1 and labels:
            return Choice(self._rows(labels), self._rows({})), state
        free, state = self._free(state, published, style, rng)
        return Choice(self._rows(labels), free), state

    def fitting(self, state: Fitting) -> Rule:
        """The first rule that fits."""
        return needed(self.hypotheses.dense).rule(int(self.followed[state.rules[0]]))

    def _left(self, state: Fitting, published: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many rules fit still if the published rule errs on a point, for each (points,)."""
        return np.where(published, len(state.rules) - state.ones, state.ones)

    def _best(
        self,
        left: NDArray[np.int64],
        published: NDArray[np.bool_],
        style: Style,
        rng: Generator,
    ) -> int | None:
        """The place of a mistake that is possible; None if there is none.

        Most rules are left, or as few as can be; "up" and "down" prefer points to which the
        published rule says 1, or 0.
        """
        possible = left > 0
        if not possible.any():
            return None
        if style.side in ("up", "down"):
            preferred = possible & (published == (style.side == "up"))
            possible = preferred if preferred.any() else possible
        counts = left[possible]
        wanted = counts.min() if style.side == "smaller" else counts.max()
        return int(rng.choice(np.flatnonzero(possible & (left == wanted))))

    def _free(
        self, state: Fitting, published: NDArray[np.bool_], style: Style, rng: Generator
    ) -> tuple[Rows, Fitting]:
        """Points on whose label all agree with the published rule, shown before or any.

        Where there is none, the point that costs the fewest rules.
        """
        right = np.where(published, state.ones, len(state.rules) - state.ones)
        agreed = np.flatnonzero(right == len(state.rules))
        if style.free != "far":
            again = np.array([place for place in agreed if int(place) in state.shown], dtype=int)
            agreed = again if len(again) else agreed
        if not len(agreed):
            place = int(right.argmax())
            state = self._narrowed(state, {place: int(published[place])})
            agreed = np.array([place])
        places = rng.choice(agreed, min(SPREAD_ROWS, len(agreed)), replace=False).tolist()
        labels = {place: int(published[place]) for place in places}
        state = Fitting(state.rules, state.ones, {**state.shown, **labels})
        return self._rows(labels), state

    def _narrowed(self, state: Fitting, labels: dict[int, int]) -> Fitting:
        """The rules that say these labels as well."""
        ((place, label),) = labels.items()
        agree = self.says[state.rules, place] == label
        if agree.all():
            return state
        rules = state.rules[agree]
        assert len(rules)
        dropped = state.rules[~agree]
        if len(dropped) < len(rules):
            ones = state.ones - self.says[dropped].sum(axis=0)
        else:
            ones = self.says[rules].sum(axis=0)
        return Fitting(rules, ones, state.shown)

    def _rows(self, labels: dict[int, int]) -> Rows:
        x = self.pool.take(np.array(list(labels), dtype=int), axis=0)
        return Rows(x, np.array(list(labels.values()), dtype=np.uint8))
