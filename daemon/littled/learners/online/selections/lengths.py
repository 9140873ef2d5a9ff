"""Selection of a block by a search for its length, with a public memory of what was released.

Source: Lemmas M and B' and Theorem M of PRIVACY.md, section 4, "Public memory".

While the constant 0 is published its mistakes propose blocks of a few public lengths, longer ones
preferred by public offsets; after a bottom only shorter lengths are left. A block that is drawn is
published. One draw between two candidates, its false positives and its false negatives, then says
whether the right block is longer, for which the search goes on, or shorter: an ancestor, whose
length is found by halving, with one such draw a call. If no length is left, what was drawn before
is contradicted, and the search begins anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from littled.classes.base import DataSet
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.length_search import (
    INHERITED,
    SEARCHING,
    LengthMemory,
    LengthSettings,
)
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.path_memory import value_of
from littled.learners.online.selections.base import columns
from littled.learners.online.selections.blocks import BlockSearch
from littled.learners.online.state import OnlineState
from littled.learners.online.values import EpochSettings, Keep
from littled_protocol.rules import Rule

Found = tuple[LengthMemory, Rule | None]


@dataclass(frozen=True)
class Lengths(BlockSearch):
    """Blocks of a few lengths at once, then halving.

    The first threshold is for the constant 0, the ladder's for blocks.
    """

    keeps: ClassVar[Keep] = "mistakes"
    settings_class: ClassVar[type[LengthSettings]] = LengthSettings

    @property
    def words(self) -> str:
        """In a few words."""
        return "search for the length"

    def wrong(self) -> Iterator[str]:
        """Thresholds and lists that are not those of the search."""
        p = self.parameters
        yield from super().wrong()
        if len(p.ladder) != 1:
            yield "a ladder of lengths selection has one threshold, for blocks"
        if isinstance(p.memory, LengthSettings) and p.list_cap < (most := p.memory.at_once):
            yield f"{most} lengths are proposed at once, more than list_cap {p.list_cap}"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class whose rules are no blocks, or have other lengths."""
        if hypotheses.paths is None:
            yield from super().misfits(hypotheses)
        elif (count := hypotheses.paths.longest + 1) != len(self._memory.cuts) - 1:
            yield f"{hypotheses.name} has {count} lengths of blocks, and cuts are for others"

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> LengthMemory:
        """All lengths are left, and nothing is known of a block that is published."""
        paths = needed(hypotheses.paths)
        mode = SEARCHING if paths.block_of(published) is None else INHERITED
        return LengthMemory.empty(paths.longest, mode)

    def settings(self, state: OnlineState) -> EpochSettings:
        """By what is published, the constant 0 or a block."""
        return self.parameters.settings(int(_memory(state).mode != SEARCHING))

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The block drawn, or that of the middle length, or the constant 0; None for bottom."""
        memory = _memory(state)
        if memory.mode == INHERITED:
            memory, rule = replace(memory, mode=SEARCHING), hypotheses.first_rule()
            return replace(state, memory=memory), rule
        examples = columns(state.archive)
        if memory.mode == SEARCHING:
            memory, found = self._searched(hypotheses, memory, examples, place, noise)
        else:
            memory, found = self._inferred(hypotheses, state, examples, place, noise)
        return replace(state, memory=memory), found

    def _searched(
        self,
        hypotheses: HypothesisClass,
        memory: LengthMemory,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """One of the blocks that the mistakes propose, all of which are positive examples."""
        paths, settings = needed(hypotheses.paths), self._memory
        lengths = memory.proposed(settings)
        proposals = paths.blocks_around(*examples, lengths)
        longer = len(lengths) - 1 - np.searchsorted(lengths, paths.block_lengths(proposals))
        offsets = -settings.step * longer.astype(np.int64)
        assert (offsets <= 0).all()
        drawn = self._drawn(proposals.scores + offsets, place, noise)
        if not drawn:
            return memory.bottom(paths.longest, settings), None
        rule = paths.proposed_rule(proposals, drawn[0])
        value, length = needed(paths.block_of(rule))
        return memory.found(value, length, settings), rule

    def _inferred(
        self,
        hypotheses: HypothesisClass,
        state: OnlineState,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """Which side of the published block is left, drawn by its mistakes of either label."""
        paths, memory = needed(hypotheses.paths), _memory(state)
        value, length = value_of(memory.value), memory.length
        _, published = needed(paths.block_of(state.rule))
        _, labels = examples
        mistakes = np.bincount(labels, minlength=2)  # false positives, and false negatives
        side = self._moved(mistakes, place, noise)
        memory = memory.inferred(published, paths.longest, longer=side == 0)
        if memory.mode == SEARCHING:
            return memory, hypotheses.first_rule()
        return memory, paths.block(value >> (length - memory.middle), memory.middle)

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """As many as all examples propose at once."""
        return examples * self._memory.at_once

    @property
    def _memory(self) -> LengthSettings:
        assert isinstance(self.parameters.memory, LengthSettings)
        return self.parameters.memory


def _memory(state: OnlineState) -> LengthMemory:
    assert isinstance(state.memory, LengthMemory)
    return state.memory
