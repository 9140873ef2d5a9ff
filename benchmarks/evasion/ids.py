"""The evader of points and sparse sets: members that are chosen one after the other."""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.evasion.game import Choice, Game, Generator, Rows, column, labelled
from benchmarks.evasion.policies import Style
from littled.classes.hypothesis import HypothesisClass
from littled_protocol.rules import PointsRule, Rule


@dataclass(frozen=True)
class Members:
    """Ids that may be members, as many as a set has, and those that were shown to be."""

    pool: tuple[int, ...]
    shown: frozenset[int] = frozenset()


@dataclass(frozen=True)
class IdGame(Game[Members]):
    """Shows published ids that are no members, and members that the published set lacks.

    hypotheses: ids of `bits` bits, sets of up to `members`. Mistakes are of one id at a time, or of
    all together where they are spread. Whether an id is a member cannot be left open once it was
    shown, so there is nothing else to win.
    """

    hypotheses: HypothesisClass
    bits: int
    members: int

    def begin(self, rng: Generator, place: float | None = None) -> Members:
        """Members are any ids."""
        drawn: set[int] = set()
        while len(drawn) < min(self.members, 1 << self.bits):
            drawn.add(int.from_bytes(rng.bytes(16), "big") >> (128 - self.bits))
        return Members(tuple(sorted(drawn)))

    def choose(
        self, state: Members, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Choice, Members]:
        """Ids to take away, then ids to add."""
        published = rule.members if isinstance(rule, PointsRule) else ()
        extra = [name for name in published if name not in state.pool]
        has = rule.evaluate(self._rows(list(state.pool), 1).x)
        missing = [name for name, label in zip(state.pool, has, strict=True) if not label]
        wrong = [(name, 0) for name in extra] + [(name, 1) for name in missing]
        if not style.spread:
            wrong = wrong[:1]
        shown = state.shown | {name for name, label in wrong if label}
        state = replace(state, shown=shown)
        mistakes = self._of(wrong)
        if style.pace == 1 and wrong:
            return Choice(mistakes, self._of([])), state
        return Choice(mistakes, self._free(state, rule, style)), state

    def fitting(self, state: Members) -> PointsRule:
        """The members that were shown."""
        return PointsRule(self.bits, tuple(sorted(state.shown)))

    def _free(self, state: Members, rule: Rule, style: Style) -> Rows:
        """Members that are published too, or ids that are none: any, or next to members."""
        if style.free == "ends" and state.shown:
            found = self._rows(sorted(state.shown), 1).split(rule)[1]
            if len(found):
                return found
        flip = 1 if style.free == "near" else 1 << (self.bits - 1)
        others = [name ^ flip for name in state.pool if name ^ flip not in state.pool]
        free = self._rows(others, 0).split(rule)[1]
        return free if len(free) else self._rows(others, 0)

    def _rows(self, names: list[int], label: int) -> Rows:
        return labelled(column(names, self.hypotheses.point_type), label)

    def _of(self, examples: list[tuple[int, int]]) -> Rows:
        names = self._rows([name for name, _ in examples], 0)
        return Rows(names.x, np.array([label for _, label in examples], dtype=np.uint8))
