"""Selection of a weighted majority of stumps, with a public memory of what was convicted.

Source: Lemma S and Theorem M of PRIVACY.md, section 4, "Public memory"; weights that fall with
mistakes are those of Littlestone, Warmuth, "The Weighted Majority Algorithm".

What is published is no rule of the class but a scorecard, which follows from the memory alone. A
call draws twice, from what its epoch's mistakes of either label say: a set of tests that err on
many of them, or bottom. Each test is the median of the stumps of one feature in one direction. The
tests that were drawn are convicted, with all stumps beyond them, and the next medians are
published.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.majority_memory import MajorityMemory, MajoritySettings, Votes
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.dense import Weighing
from littled.learners.online.state import OnlineState
from littled.mechanisms.set_sample import SetSample
from littled_protocol.rules import Rule

LABELS = (0, 1)


@dataclass(frozen=True)
class WeightedMajority(Weighing):
    """Stumps, weighed by what was released."""

    @property
    def words(self) -> str:
        """In a few words."""
        return "weighted majority with public memory"

    def wrong(self) -> Iterator[str]:
        """What a function of releases goes with: fresh draws, no teachers, users or noise."""
        p = self.parameters
        yield from super().wrong()
        if not p.fresh or p.draws != 1 or p.buffer != "mistakes" or p.background_max:
            yield "majority selection is fresh, with one draw of a label, and counts mistakes"
        if p.noise_rate or p.schedule_first is not None:
            yield "majority selection needs a trigger, and a noise_rate of 0"
        if p.user_examples_max is not None:
            yield "majority selection protects single examples only, not users"

    def wrong_warmup(self) -> Iterator[str]:
        """Every call convicts stumps of what is published."""
        return Selection.wrong_warmup(self)

    def _wrong_memory(self) -> Iterator[str]:
        if not isinstance(self.parameters.memory, MajoritySettings):
            yield "majority selection needs a memory with the settings of a majority"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class whose rules are no stumps."""
        if hypotheses.cuts is None:
            yield f"the rules of {hypotheses.name} are no thresholds of single features; use dense"

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of the draws of a season, one for each label in a call."""
        return self.parameters.calls_max * len(LABELS) * self._sets.total_variation()

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> MajorityMemory:
        """Nothing is known of any stump."""
        return MajorityMemory.empty(needed(hypotheses.cuts).features)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The majority after what was drawn; None if that was nothing."""
        rules, settings, memory = needed(hypotheses.cuts), self._memory, state.memory
        assert isinstance(memory, MajorityMemory)
        assert state.statistics is not None
        votes = Votes.of(memory, rules.buckets, settings)
        errors = np.minimum(rules.cut_errors(state.statistics, votes.cuts), settings.cap)
        odds = votes.odds(settings.slack)
        found = []
        for label, address in zip(LABELS, noise.draws(place, len(LABELS)), strict=True):
            words = noise.source.words(address, self._sets.words(odds))
            if drawn := self._sets.sample(errors[label], odds, words):
                found.append((label, drawn))
        if not found:
            return state, None
        memory = memory.convicted(votes.cuts, found, rules.buckets, settings.levels)
        rule = Votes.of(memory, rules.buckets, settings).rule()
        return replace(state, memory=memory), rule

    @cached_property
    def _sets(self) -> SetSample:
        settings = self._memory
        return SetSample(self.parameters.selection_rate, settings.cap, settings.doubt)

    @property
    def _memory(self) -> MajoritySettings:
        assert isinstance(self.parameters.memory, MajoritySettings)
        return self.parameters.memory
