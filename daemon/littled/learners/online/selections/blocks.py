"""What selections among blocks of points have in common: a public memory of a path.

Source: Lemmas M and B' and Theorem M of PRIVACY.md, section 4, "Public memory".

The constant 0 is published until a block is drawn, among those that positive examples propose, by
sparse sampling with a bottom; then the blocks around the published one are a chain, and a draw of
the exponential mechanism between two sides moves on it. Every call makes one draw, from the
examples of its own epoch, at one rate e. A draw between sides has no failure mass and, as one from
proposals, is pure 2e-DP and (e^2 / 2)-zCDP; so the charge of one sparse selection covers the fresh
selections of a season, whichever of the two each of them is. So does its loss of precision: two
sides are no more candidates than one proposed block and bottom.

What is added to a score, relative to bottom's, is public and never positive: then all that one
example proposes weighs no more than `list_cap` candidates without offsets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from littled.classes.base import Scores
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.memory import MemorySettings
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.proposals import Proposing
from littled.learners.online.values import Keep
from littled.mechanisms.exponential import ExponentialMechanism


@dataclass(frozen=True)
class BlockSearch(Proposing):
    """Blocks that are proposed, and then the path of one of them."""

    # What its epochs keep, and the settings of its memory.
    keeps: ClassVar[Keep]
    settings_class: ClassVar[type[MemorySettings]]

    def wrong(self) -> Iterator[str]:
        """What a function of releases goes with: one fresh draw a call, no teachers, no noise."""
        p = self.parameters
        word = p.selection
        if p.teachers is not None:
            yield f"{word} selection has no teachers; use sparse or closure"
        yield from super().wrong()
        if not p.fresh or p.draws != 1 or p.buffer != self.keeps:
            yield f"{word} selection is fresh, with one draw, and keeps {self.keeps}"
        if p.noise_rate or p.schedule_first is not None:
            yield f"{word} selection needs a trigger, and a noise_rate of 0"

    def _wrong_memory(self) -> Iterator[str]:
        word = self.parameters.selection
        if not isinstance(self.parameters.memory, self.settings_class):
            yield f"{word} selection needs a memory with the settings of {word} selection"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class whose rules are no blocks."""
        if hypotheses.paths is None:
            yield f"the rules of {hypotheses.name} are no blocks, one inside the other"
        else:
            yield from super().misfits(hypotheses)

    def _moved(self, scores: Scores, place: Place, noise: LearnerNoise) -> int:
        """The draw of one call between two sides."""
        (address,) = noise.draws(place, 1)
        return self._on_path.sample(scores, noise.source.words(address, ExponentialMechanism.WORDS))

    @cached_property
    def _on_path(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.selection_rate)
