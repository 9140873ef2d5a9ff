"""Dense selection: the exponential mechanism over all rules of a class, score = agreements."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from littled.budget.events import DenseSelection, PrivacyEvent
from littled.classes.base import Scores
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import RULE_BYTES
from littled.learners.contract import Place
from littled.learners.online.keeping import Buffers, Counts, Keeping, PooledBuffers, PooledCounts
from littled.learners.online.memory import Memory
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Selection, Work, columns
from littled.learners.online.standing_memory import (
    NOTHING_STANDS,
    StandingMemory,
    StandingSettings,
)
from littled.learners.online.state import OnlineState
from littled.learners.online.values import EpochSettings
from littled.mechanisms.exponential import ExponentialMechanism
from littled_protocol.rules import Rule

# A pool is held, copied when it changes, and written to a snapshot or a pipe.
POOL_COPIES = 4


@dataclass(frozen=True)
class Weighing(Selection):
    """What all selections among numbered rules have in common: each rule has a weight.

    There is no bottom: every call publishes a rule.
    """

    @property
    def keeps_rows(self) -> bool:
        """With a background only; otherwise examples are counted."""
        return self.parameters.background_max > 0

    def wrong(self) -> Iterator[str]:
        """No teachers."""
        if self.parameters.teachers is not None:
            word = self.parameters.selection
            yield f"{word} selection has no teachers; use sparse or closure"
        yield from super().wrong()

    def wrong_warmup(self) -> Iterator[str]:
        """Anything but fresh pure draws, one a call, of single examples, beside a usual trigger."""
        p = self.parameters
        if not p.warmup_ends:
            return
        if not p.fresh or p.draws != 1 or p.selection_accounting != "pure":
            yield "a warm-up is for fresh selections with one draw each, accounted as pure"
        if p.schedule_first is not None or p.tests != "above_threshold":
            yield "a warm-up is for epochs that above_threshold tests end, once it is over"
        if p.user_examples_max is not None:
            yield "a warm-up is where single examples are protected, not users"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """The draws of the exponential mechanism."""
        p = self.parameters
        return DenseSelection(
            p.selection_rate, p.draws, p.selection_accounting, self._user_examples_max
        )

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of all draws of a season."""
        p, rules = self.parameters, needed(hypotheses.dense).rule_count
        found = p.calls_max * p.draws * self._mechanism.total_variation(rules)
        if p.warmup_ends:
            found += len(p.warmup_ends) * self._warmup_mechanism.total_variation(rules)
        return found

    def keeping(self, hypotheses: HypothesisClass) -> Keeping:
        """Counts, or examples."""
        if self.keeps_rows:
            return Buffers(hypotheses, self.parameters)
        return Counts(hypotheses, self.parameters, needed(hypotheses.dense))

    def _drawn(
        self, scores: Scores, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> list[int]:
        """The draws of one call; in a warm-up no trigger has looked at what they see."""
        mechanism = self._warmup_mechanism if self._is_warmup(state) else self._mechanism
        return [
            mechanism.sample(scores, noise.source.words(address, ExponentialMechanism.WORDS))
            for address in noise.draws(place, self.parameters.draws)
        ]

    def _is_warmup(self, state: OnlineState) -> bool:
        """Whether the call of this state ends an epoch of the warm-up; public."""
        return self.parameters.warmup_length(state.season, state.calls) is not None

    @cached_property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.selection_rate)

    @cached_property
    def _warmup_mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.warmup_rate)

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """None beside the rules of the class."""
        return 0

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """All rules."""
        rules = needed(hypotheses.dense)
        return Work(rules=rules.rule_count, cells=rules.cells)

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of all rules, and of the examples that are kept."""
        rows = self._rows_bytes(hypotheses, load.rows) if self.keeps_rows else 0
        return RULE_BYTES * needed(hypotheses.dense).rule_count + rows


@dataclass(frozen=True)
class Dense(Weighing):
    """Weights are those of the examples alone; the ladder counts all calls of the season.

    All examples are counted, or all mistakes; with a background, its examples are kept, and the
    mistakes if asked for, and scores are of these.
    """

    @property
    def words(self) -> str:
        """With what it remembers."""
        return "fresh dense" if self.parameters.fresh else "dense"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class that is too large."""
        if hypotheses.dense is None:
            yield f"{hypotheses.name} has too many rules for dense selection; use sparse"

    def wrong_pool(self) -> Iterator[str]:
        """Anything but fresh counts of all examples between fires of a trigger."""
        p = self.parameters
        if p.pool is None:
            return
        if not p.fresh:
            yield "a pool is for fresh selections"
        if p.schedule_first is not None:
            yield "a schedule has no pool; its epochs are as long as all before them"
        if p.user_examples_max is None:
            if p.buffer != "examples" or p.background_max:
                yield (
                    "a pool counts all examples; it goes with neither mistakes alone nor a "
                    "background"
                )
            if p.pool.most:
                yield "a pool that counts examples has no most for its slots"
            return
        if not p.background_max:
            yield "a pool of users is beside a background, for calls of their own epochs"
        if not p.pool.most:
            yield "a pool of users needs a most, of at least 1, for each slot"

    def _wrong_memory(self) -> Iterator[str]:
        """Anything but one draw each at public times, for the rule that stands."""
        p = self.parameters
        if p.memory is None:
            return
        if not isinstance(p.memory, StandingSettings):
            yield "dense selection has no memory of releases but which rule stands"
        if p.schedule_first is None or p.draws != 1:
            yield "a rule that stands is for schedules with one draw each"

    def opened(self, hypotheses: HypothesisClass, published: Rule) -> Memory | None:
        """No rule of this season stands."""
        return None if self.parameters.memory is None else StandingMemory()

    def settings(self, state: OnlineState) -> EpochSettings:
        """By all calls of the season, as hardly any keeps the rule."""
        return self.parameters.settings(state.calls)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The majority of all draws."""
        rules = needed(hypotheses.dense)
        if self.keeps_rows:
            scores = rules.agreements(*columns(state.archive))
        else:
            assert state.statistics is not None
            scores = rules.scores(state.statistics)
        drawn = self._drawn(self._with_offset(scores, state), state, place, noise)
        if state.memory is not None:
            state = replace(state, memory=StandingMemory(drawn[0]))
        return state, self._majority([rules.rule(index) for index in drawn])

    def _with_offset(self, scores: Scores, state: OnlineState) -> Scores:
        """The scores (rule_count,), with the public offset of the rule that stands, if one does."""
        settings, memory = self.parameters.memory, state.memory
        if not isinstance(settings, StandingSettings) or not isinstance(memory, StandingMemory):
            return scores
        if memory.number == NOTHING_STANDS:
            return scores
        offsets = np.zeros_like(scores)
        offsets[memory.number] = settings.offset
        return scores + offsets

    def keeping(self, hypotheses: HypothesisClass) -> Keeping:
        """With a pool, if there is one."""
        p = self.parameters
        if p.pool is None:
            return super().keeping(hypotheses)
        if self.keeps_rows:
            return PooledBuffers(hypotheses, p, p.pool)
        return PooledCounts(hypotheses, p, needed(hypotheses.dense), p.pool)

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """And of the pool of those held back."""
        found, pool = super().memory_bytes(hypotheses, load), self.parameters.pool
        if pool is None:
            return found
        if self.keeps_rows:
            return found + self._rows_bytes(hypotheses, pool.rows_max)
        return found + POOL_COPIES * pool.slots * needed(hypotheses.dense).empty_statistics().nbytes
