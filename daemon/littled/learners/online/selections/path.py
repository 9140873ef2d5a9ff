"""Selection among the blocks of a path, with a public memory of what was released.

Source: Lemmas M and B' and Theorem M of PRIVACY.md, section 4, "Public memory".

While the constant 0 is published, positive examples propose blocks from a public length on. The one
that is drawn makes a path: it, its ancestors, and "longer", for which the constant 0 is published.
From then on each call draws among these by the examples of its own epoch, with public offsets added
to the scores, and the offsets convict the candidates on the other side of the published one. If
"longer" is drawn the search goes on, for blocks that are longer than the convicted ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from littled.classes.base import DataSet
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.path_memory import (
    INHERITED,
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
        if memory.mode == SEARCHING:
            memory, rule = self._searched(hypotheses, memory, examples, place, noise)
        else:
            memory, rule = self._followed(hypotheses, state, examples, place, noise)
        return replace(state, memory=memory), rule

    def _searched(
        self,
        hypotheses: HypothesisClass,
        memory: PathMemory,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """One of the blocks that are proposed, of all lengths from the shortest on."""
        paths = needed(hypotheses.paths)
        proposals = paths.blocks_around(*examples, range(memory.shortest, paths.longest + 1))
        drawn = self._drawn(proposals.scores, place, noise)
        if not drawn:
            return memory.bottom(), None
        rule = paths.proposed_rule(proposals, drawn[0])
        value, length = needed(paths.block_of(rule))
        return memory.found(value, length, self._memory), rule

    def _followed(
        self,
        hypotheses: HypothesisClass,
        state: OnlineState,
        examples: DataSet,
        place: Place,
        noise: LearnerNoise,
    ) -> Found:
        """One of the candidates of the path."""
        paths, memory = needed(hypotheses.paths), _memory(state)
        value, length = value_of(memory.value), memory.length
        _, published = needed(paths.block_of(state.rule))
        agreements = paths.path_scores(*examples, value, length)
        drawn = self._moved(agreements + memory.bent(published, self._memory), place, noise)
        memory = memory.moved(published, drawn, paths.longest, self._memory)
        if drawn > length:
            return memory, hypotheses.first_rule()
        return memory, paths.block(value >> (length - drawn), drawn)

    def _on_path_max(self, hypotheses: HypothesisClass) -> int:
        """The blocks of a longest path, and "longer"."""
        return needed(hypotheses.paths).longest + 2

    @property
    def _memory(self) -> PathSettings:
        assert isinstance(self.parameters.memory, PathSettings)
        return self.parameters.memory


def _memory(state: OnlineState) -> PathMemory:
    assert isinstance(state.memory, PathMemory)
    return state.memory
