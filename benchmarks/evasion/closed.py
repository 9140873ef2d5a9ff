"""The evader of classes that are learned from closures: subspaces, and many conjunctions.

Both are chains: a point, then one dimension or one free bit more at a time, up to a hidden largest
rule. The target is the smallest rule of the chain around the positives shown.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.evasion.game import SPREAD_ROWS, Choice, Game, Generator, Rows, column, labelled
from benchmarks.evasion.policies import Style
from benchmarks.learning.streams import canonical_subspace, reduced_basis
from littled.classes.affine import AffineSubspaces
from littled.classes.base import Points
from littled.classes.conjunctions import Conjunctions
from littled_protocol.rules import AffineRule, ConjunctionRule, Rule

# Literals that the largest conjunction has.
LITERALS_MIN = 2


@dataclass(frozen=True)
class Climb:
    """A chain: `offset`, and the span of more and more of `vectors`; `outside`: bits that leave it.

    level: how many vectors the positives shown need; -1 before there are any.
    """

    offset: int
    vectors: tuple[int, ...]
    outside: tuple[int, ...]
    level: int = -1


@dataclass(frozen=True)
class ClosedGame(Game[Climb]):
    """Shows positives of the first rule of the chain that the published one does not hold.

    Sides "smaller", "up" and "down" climb half of what is left of the chain at once. Spread
    positives are of the largest rule at once, so that hardly any two of them have one closure.
    """

    hypotheses: AffineSubspaces | Conjunctions

    @property
    def bits(self) -> int:
        """Bits of a point."""
        return self.hypotheses.bits

    def begin(self, rng: Generator, place: float | None = None) -> Climb:
        """A chain of its own for each seed."""
        offset = self._word(rng)
        if isinstance(self.hypotheses, Conjunctions):
            order = rng.permutation(self.bits).tolist()
            free = max(0, self.bits - LITERALS_MIN)
            vectors = tuple(1 << bit for bit in order[:free])
            return Climb(offset, vectors, tuple(1 << bit for bit in order[free:]))
        chosen: list[int] = []
        while len(chosen) < self.hypotheses.dimension:
            word = self._word(rng)
            if len(reduced_basis([*chosen, word])) > len(chosen):
                chosen.append(word)
        leading = {vector.bit_length() - 1 for vector in reduced_basis(chosen)}
        outside = tuple(1 << bit for bit in range(self.bits) if bit not in leading)
        return Climb(offset, tuple(chosen), outside)

    def choose(
        self, state: Climb, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Choice, Climb]:
        """Negatives of a published rule that is too large, else positives that it lacks."""
        beyond, far = self._outside(state, rng).split(rule)
        wrong, level = beyond, -1
        if not len(wrong):
            wrong, level = self._positives(state, rule, style, rng)
        state = replace(state, level=max(state.level, level))
        if style.pace == 1 and len(wrong):
            return Choice(wrong, self._rows([], 1)), state
        if style.free != "far" and state.level >= 0:
            inside = self._rows(self._spanned(state, state.level, rng), 1).split(rule)[1]
            far = inside if len(inside) else far
        return Choice(wrong, far), state

    def fitting(self, state: Climb) -> Rule:
        """The smallest rule around the positives, or the first point of the chain."""
        vectors = state.vectors[: max(state.level, 0)]
        if isinstance(self.hypotheses, Conjunctions):
            mask = ((1 << self.bits) - 1) ^ sum(vectors)
            return ConjunctionRule(self.bits, state.offset & mask, ~state.offset & mask)
        offset, basis = canonical_subspace(state.offset, reduced_basis(vectors))
        return AffineRule(self.bits, basis, offset)

    def _positives(
        self, state: Climb, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Rows, int]:
        """Positives that the rule lacks and the level that they need."""
        depth = len(state.vectors)
        corners = [state.offset, *(state.offset ^ vector for vector in state.vectors)]
        lacking = np.flatnonzero(rule.evaluate(self._column(corners)) == 0)
        if not len(lacking):
            return self._rows([], 1), -1
        level = int(lacking[0])
        if style.spread:
            level = depth
        elif style.side in ("smaller", "up", "down"):
            level = max(level, (level + depth + 1) // 2)
        found = self._rows(self._spanned(state, level, rng), 1).split(rule)[0]
        if len(found):
            return found, level
        return self._rows([corners[int(lacking[0])]], 1), int(lacking[0])

    def _spanned(self, state: Climb, level: int, rng: Generator) -> list[int]:
        """Random points of the chain's rule of this level."""
        used: NDArray[np.bool_] = rng.random((SPREAD_ROWS, level)) < 0.5
        found = []
        for row in used:
            point = state.offset
            for vector, wanted in zip(state.vectors, row, strict=False):
                point ^= vector if wanted else 0
            found.append(point)
        return found

    def _outside(self, state: Climb, rng: Generator) -> Rows:
        """Points next to the largest rule of the chain, and outside."""
        points = self._spanned(state, len(state.vectors), rng)
        flips = rng.integers(0, len(state.outside), len(points)).tolist()
        pairs = zip(points, flips, strict=True)
        return self._rows([point ^ state.outside[flip] for point, flip in pairs], 0)

    def _word(self, rng: Generator) -> int:
        return int.from_bytes(rng.bytes(16), "big") >> (128 - self.bits)

    def _rows(self, points: list[int], label: int) -> Rows:
        return labelled(self._column(points), label)

    def _column(self, points: list[int]) -> Points:
        return column(points, self.hypotheses.point_type)
