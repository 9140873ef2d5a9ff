"""Selection among the rules of a chain, with a public memory of what was released.

Source: Lemma M and Theorem M of PRIVACY.md, section 4, "Public memory".

In the first J calls of a memory ("direct") a rule is drawn among all of them by the examples of its
own epoch, as in fresh dense selection, but with public offsets added to the scores. Then the
offsets convict the rules on the other side of the published rule. From call J on ("halving") the
middle of a public interval is published, and one draw between two candidates, the epoch's false
positives and its false negatives, says which half is left. An interval that is empty contradicts
what was drawn before; then the memory begins anew.

Where single examples are protected all of an epoch's examples are counted. Where users are, what is
kept of them would be used up by that; so an epoch may keep its mistakes and a background, or, as a
draw between two counts looks at nothing else, its mistakes alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from littled.classes.base import Scores
from littled.classes.capabilities import NestedRules, needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.chain_memory import ChainMemory, ChainSettings, Weights
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import columns
from littled.learners.online.selections.dense import Weighing
from littled.learners.online.state import OnlineState
from littled.learners.online.values import EpochSettings
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class Chain(Weighing):
    """Rules of a chain, weighed by one epoch and by what was released."""

    @property
    def words(self) -> str:
        """Whether rules are drawn before an interval is halved."""
        return "chain with public memory" if self.draws_rules else "halving of a chain"

    def wrong(self) -> Iterator[str]:
        """What a function of releases goes with: one fresh draw a call, no teachers, no noise."""
        p = self.parameters
        yield from super().wrong()
        counts_all = p.buffer == "examples" and not p.background_max
        if not p.fresh or p.draws != 1 or not (counts_all or p.user_examples_max):
            yield (
                "chain selection is fresh, with one draw, and counts all examples, unless users "
                "are protected"
            )
        if p.noise_rate or p.schedule_first is not None:
            yield "chain selection needs a trigger, and a noise_rate of 0"
        if isinstance(p.memory, ChainSettings) and len(p.ladder) != min(p.memory.direct_calls, 1):
            yield "a ladder of chain selection has one threshold, for halving after direct calls"

    def wrong_warmup(self) -> Iterator[str]:
        """No halving, which publishes middles."""
        yield from super().wrong_warmup()
        if self.parameters.warmup_ends and not self.draws_rules:
            yield "halving of a chain has no warm-up; leave out warmup_ends"

    def _wrong_memory(self) -> Iterator[str]:
        if not isinstance(self.parameters.memory, ChainSettings):
            yield "chain selection needs a memory with the settings of a chain"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class whose rules are no chain."""
        if hypotheses.nested is None:
            yield f"the rules of {hypotheses.name} are no chain, one inside the other; use dense"

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> ChainMemory:
        """Nothing is known of any rule."""
        return ChainMemory.empty(needed(hypotheses.nested).rule_count)

    def settings(self, state: OnlineState) -> EpochSettings:
        """By how the next rule is found: the first ones for direct calls, then the ladder's."""
        return self.parameters.settings(int(_memory(state).fires >= self._memory.direct_calls))

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The rule that was drawn, or the middle of what is left."""
        rules = needed(hypotheses.nested)
        if self._is_warmup(state):  # no fire, which would have said that the published rule errs
            assert state.statistics is not None
            [drawn] = self._drawn(rules.scores(state.statistics), state, place, noise)
            return state, rules.rule(drawn)
        memory = _memory(state).fired()
        if self.keeps_rows:
            found = rules.add(rules.empty_statistics(), *columns(state.archive))
            state = replace(state, statistics=found)  # which the next epoch forgets
        published, direct_calls = rules.number(state.rule), self._memory.direct_calls
        if memory.fires < direct_calls:
            memory, rule = self._direct(rules, published, memory, state, place, noise)
        elif memory.fires == direct_calls:
            rule = memory.middle  # of all rules: nothing that is proven rests on direct calls
        else:
            too_low = self._is_too_low(rules, published, state, place, noise)
            memory = memory.halved(published, too_low=too_low)
            if memory.low > memory.high:
                memory = ChainMemory.empty(rules.rule_count)
                rule = published if direct_calls else memory.middle
            else:
                rule = memory.middle
        return replace(state, memory=memory), rules.rule(rule)

    def _direct(
        self,
        rules: NestedRules,
        published: int,
        memory: ChainMemory,
        state: OnlineState,
        place: Place,
        noise: LearnerNoise,
    ) -> tuple[ChainMemory, int]:
        """The memory after a direct call, and the rule that it publishes.

        Beside the draw both depend on public values alone, such as how long the epoch was.
        """
        settings, count = self._memory, rules.rule_count
        length = place.position - state.epoch_position + 1
        evidence = settings.evidence_after(length)
        if settings.is_median(memory.fires, length):
            too_low = self._is_too_low(rules, published, state, place, noise)
            memory = memory.convicted(
                published, evidence, count, too_low=too_low, floor=settings.floor
            )
            return memory, memory.median(self._weights, count)
        [drawn] = self._drawn(self._weighed(rules, state, memory), state, place, noise)
        if drawn != published:
            conviction = memory.likelihood(published, drawn, count, evidence, self._weights)
            memory = memory.convicted(
                published, conviction, count, too_low=drawn > published, floor=settings.floor
            )
        return memory, drawn

    def _weighed(self, rules: NestedRules, state: OnlineState, memory: ChainMemory) -> Scores:
        """Agreements of all rules in this epoch, with their offsets: (rule_count,)."""
        assert state.statistics is not None
        return rules.scores(state.statistics) + memory.of_each(rules.rule_count)

    def _is_too_low(
        self,
        rules: NestedRules,
        published: int,
        state: OnlineState,
        place: Place,
        noise: LearnerNoise,
    ) -> bool:
        """A draw between the epoch's false positives and false negatives of the published rule."""
        assert state.statistics is not None
        mistakes = np.array(rules.mistakes(state.statistics, published), dtype=np.int64)
        [side] = self._drawn(mistakes, state, place, noise)
        return side == 0

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.parameters.selection_rate)

    @property
    def draws_rules(self) -> bool:
        """Whether there are direct calls, which draw among all rules."""
        return self._memory.direct_calls > 0

    @property
    def _memory(self) -> ChainSettings:
        assert isinstance(self.parameters.memory, ChainSettings)
        return self.parameters.memory


def _memory(state: OnlineState) -> ChainMemory:
    assert isinstance(state.memory, ChainMemory)
    return state.memory
