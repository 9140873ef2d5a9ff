"""Selection among the blocks of a path, with a public memory of what was released.

Source: Lemmas M and B' and Theorem M of PRIVACY.md, section 4, "Public memory".

While the constant 0 is published, positive examples propose blocks from a public length on. The one
that is drawn makes a path: it, its ancestors, and "longer", for which the constant 0 is published.
On a path a long epoch proposes blocks anew, with the public offsets of their lengths; after a
bottom the next call does not. A short one draws between two sides, the published block's false
positives and its false negatives; the offsets convict the candidates on the other side, and their
median is published. If that is "longer", the search goes on, for blocks that are longer than the
convicted ones.

A target that jumps may be on no path of the old one, and then the published block has mistakes of
both kinds. That is a third side; where it is drawn all blocks are searched for, and what was known
of the path comes back if the search leads to it. And a long epoch may have begun before the jump,
so that the old block seems to be right; so its draw offers sides beside blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from littled.classes.base import DataSet, Scores
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.chain_memory import Weights
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.path_memory import (
    INHERITED,
    ON_PATH,
    SEARCHING,
    PathMemory,
    PathSettings,
    value_of,
)
from littled.learners.online.selections.base import columns
from littled.learners.online.selections.blocks import BlockSearch
from littled.learners.online.state import OnlineState
from littled.learners.online.values import EpochSettings, Keep
from littled_protocol.rules import Rule

# What is convicted by false positives, by false negatives, and by both: blocks up to the published
# one, blocks from it on, and all of its path.
LONGER, SHORTER, ELSEWHERE = range(3)
SIDES = 3

Found = tuple[PathMemory, Rule | None]


@dataclass(frozen=True)
class Path(BlockSearch):
    """Blocks of a path, weighed by one epoch and by what was released.

    The ladder's first threshold is for blocks, the first ones of all for the constant 0; after a
    bottom the second of the ladder is for it, after two in a row the third, and so on to the last.
    """

    keeps: ClassVar[Keep] = "both"
    settings_class: ClassVar[type[PathSettings]] = PathSettings

    @property
    def words(self) -> str:
        """In a few words."""
        return "path with public memory"

    def wrong(self) -> Iterator[str]:
        """A threshold for blocks."""
        yield from super().wrong()
        if not self.parameters.ladder:
            yield "a ladder of path selection has a threshold for blocks, and those after bottoms"

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> PathMemory:
        """Nothing is known, not even of a block that is published."""
        of_block = needed(hypotheses.paths).block_of(published)
        return PathMemory(SEARCHING if of_block is None else INHERITED)

    def settings(self, state: OnlineState) -> EpochSettings:
        """By what is published, and by the bottoms in a row while it is the constant 0."""
        memory = _memory(state)
        if memory.mode != SEARCHING:
            return self.parameters.settings(1)
        bottoms = min(memory.bottoms, len(self.parameters.ladder) - 1)
        return self.parameters.settings(bottoms + 1 if bottoms else 0)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The block drawn, or the constant 0 for a longer one; None for bottom."""
        memory = _memory(state)
        if memory.mode == INHERITED:
            return replace(state, memory=PathMemory(SEARCHING)), hypotheses.first_rule()
        examples = columns(state.archive)
        if memory.proposes(place.position - state.epoch_position + 1, self._memory):
            memory, rule = self._searched(hypotheses, state, examples, place, noise)
        else:
            memory, rule = self._followed(hypotheses, state, examples, place, noise)
        return replace(state, memory=memory), rule

    def _searched(
        self,
        hypotheses: HypothesisClass,
        state: OnlineState,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """One of the blocks that are proposed, of all lengths from the shortest on.

        On a path a side may be drawn as well. It is scored like a block: as one that holds all
        positive examples that are kept, but for what its convictions do not explain.
        """
        paths, memory = needed(hypotheses.paths), _memory(state)
        proposals = paths.blocks_around(*examples, range(memory.shortest, paths.longest + 1))
        offsets = memory.of_lengths(paths.block_lengths(proposals))
        assert not len(offsets) or offsets.max() <= 0  # Lemma B' needs it
        scores = proposals.scores + offsets
        if memory.mode == ON_PATH and self._memory.elsewhere:
            mistakes = _mistakes(state, examples)
            holding = np.count_nonzero(examples[1]) - mistakes.sum()
            sides = _sides(mistakes, self._memory.longer) + holding - self._memory.elsewhere
            scores = np.append(scores, sides)
        drawn = self._drawn(scores, place, noise)
        if not drawn:
            return memory.bottom(), None
        if drawn[0] >= len(offsets):
            return self._convicted(hypotheses, state, drawn[0] - len(offsets))
        rule = paths.proposed_rule(proposals, drawn[0])
        value, length = needed(paths.block_of(rule))
        published = paths.block_of(state.rule)
        if published is None:
            return memory.found(value, length, self._memory), rule
        return memory.found_again(published[1], value, length, self._memory), rule

    def _followed(
        self,
        hypotheses: HypothesisClass,
        state: OnlineState,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """What follows from the side that is drawn."""
        scores = _mistakes(state, examples)
        if self._memory.elsewhere:
            scores = _sides(scores, self._memory.elsewhere)
        return self._convicted(hypotheses, state, self._moved(scores, place, noise))

    def _convicted(self, hypotheses: HypothesisClass, state: OnlineState, side: int) -> Found:
        """The median of what is left of the path; where nothing is, the constant 0."""
        paths, memory = needed(hypotheses.paths), _memory(state)
        if side == ELSEWHERE:
            return memory.left(), hypotheses.first_rule()
        value, length = value_of(memory.value), memory.length
        _, published = needed(paths.block_of(state.rule))
        memory, following = memory.moved(
            published,
            longer=side == LONGER,
            longest=paths.longest,
            settings=self._memory,
            weights=self._weights,
        )
        if following is None:
            return memory, hypotheses.first_rule()
        return memory, paths.block(value >> (length - following), following)

    @property
    def _offered_max(self) -> int:
        """Sides are offered beside what is proposed."""
        return super()._offered_max + (SIDES if self._memory.elsewhere else 0)

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.parameters.selection_rate)

    @property
    def _memory(self) -> PathSettings:
        assert isinstance(self.parameters.memory, PathSettings)
        return self.parameters.memory


def _mistakes(state: OnlineState, examples: DataSet) -> Scores:
    """The published block's false positives and false negatives, int64 (2,)."""
    x, y = examples
    return np.bincount(y[state.rule.evaluate(x) != y], minlength=2)


def _sides(mistakes: Scores, elsewhere: int) -> Scores:
    """The mistakes that longer blocks explain, shorter ones, and others, int64 (3,).

    One that is elsewhere explains all, and is given so many less.
    """
    return np.append(mistakes, mistakes.sum() - elsewhere)


def _memory(state: OnlineState) -> PathMemory:
    assert isinstance(state.memory, PathMemory)
    return state.memory
