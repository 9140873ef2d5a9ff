"""When an epoch ends: once a trigger fires, or at a public time.

Source: Lyu, Algorithm 3, lines 9 to 15; for schedules PRIVACY.md, "Schedules".

A trigger looks at a part of an epoch, one flag for each example saying whether the published rule
errs on it, and says up to which example the epoch goes on, and whether it ends there.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import CohenLyuTrigger, PrivacyEvent, TriggerSeason
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.wide import as_pairs, to_int
from littled.learners.contract import Examples, Place
from littled.learners.online.closure_tallies import ClosureTallies
from littled.learners.online.closure_votes import ClosureVotes
from littled.learners.online.keeping import admitted, plus
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.state import OnlineState
from littled.learners.online.tallies import (
    Tallies,
    Watched,
    passes_after,
    published_spells,
    tests_of,
)
from littled.learners.online.values import ParameterValues
from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.tallies import TallyTests

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a trigger made of a part of an epoch.

    `counted` (n,): the mistakes that count, of all n examples of the part; `consumed`: how many of
    these examples belong to the epoch; `fires`: whether it ends with the last of them. `tallies`:
    those after these examples, where each candidate is tested by itself.
    """

    counted: Flags
    consumed: int
    fires: bool
    threshold_noise: int | None = None
    tallies: Tallies | ClosureTallies | None = None


@dataclass(frozen=True)
class Trigger(ABC):
    """What ends the epochs of a season."""

    parameters: ParameterValues

    # For people, in a few words.
    words: ClassVar[str]

    @abstractmethod
    def season_events(self) -> list[PrivacyEvent]:
        """What is charged for it when a season opens."""

    @abstractmethod
    def precision_error(self) -> Fraction:
        """Its part of the total variation distance of a season from ideal real-valued noise."""

    @property
    @abstractmethod
    def counts_mistakes(self) -> bool:
        """Whether it counts mistakes, so that one count can serve for what is kept as well."""

    @property
    @abstractmethod
    def mistakes_kept_max(self) -> int:
        """Mistakes that a season keeps at the most, where mistakes are kept."""

    @property
    @abstractmethod
    def mistakes_counted_max(self) -> int:
        """Mistakes that a trigger counts in a season at most, as far as `mistakes_kept_max` holds.

        The epoch after the last call comes to its threshold as well.
        """

    @abstractmethod
    def part(self, state: OnlineState, event: Examples) -> Examples | None:
        """The first of these examples that can be in one epoch; None if no call will see them."""

    @abstractmethod
    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """Whether and where the epoch ends; `mistake` (n,), and the `threshold` U in force."""

    @abstractmethod
    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """The state after the examples that `look` has consumed."""


@dataclass(frozen=True)
class NoisyTests(Trigger):
    """A test after each example whether the epoch's mistakes are above a threshold.

    Not far above its threshold it must fire. The threshold's noise and a step's reach are each
    below this allowance except with probability about 2^-64. What is not counted, by the public
    noise rate, is kept as well.
    """

    @property
    @abstractmethod
    def test(self) -> AboveThreshold | CohenLyuTest:
        """The mechanism, with its tables of noise."""

    @abstractmethod
    def threshold_noise(self, place: Place, noise: LearnerNoise) -> int:
        """The noise of an epoch's threshold, which begins at this place."""

    @property
    def counts_mistakes(self) -> bool:
        """It does."""
        return True

    def precision_error(self) -> Fraction:
        """Every example is a step of some epoch; every epoch draws a threshold of its own."""
        p = self.parameters
        return self.test.precision_error(p.horizon) + p.calls_max * self.test.precision_error(0)

    @property
    def noise_max(self) -> int:
        """No noise of a step or a threshold is above this, but for a chance of about 2^-64."""
        return self.test.reach

    @property
    def mistakes_kept_max(self) -> int:
        """Those of all epochs, or of the longest one where calls see their own epoch only."""
        p = self.parameters
        if p.fresh:
            highest = max(settings.trigger_threshold for settings in p.all_settings)
            return self._not_counted + 3 * self.noise_max + max(highest, 0)
        return self._not_counted + p.calls_max * 3 * self.noise_max + self._thresholds_sum_max

    @property
    def mistakes_counted_max(self) -> int:
        """Those of all epochs, with the one after the last call."""
        p = self.parameters
        highest = max(0, *(settings.trigger_threshold for settings in p.all_settings))
        reaches = (p.calls_max + 1) * 3 * self.noise_max
        return self._not_counted + reaches + self._thresholds_sum_max + highest

    @property
    def _not_counted(self) -> int:
        """Mistakes of a season that the noise rate explains."""
        p = self.parameters
        return p.horizon * p.noise_rate.numerator // p.noise_rate.denominator

    @property
    def _thresholds_sum_max(self) -> int:
        """Largest sum of the thresholds of `calls_max` epochs, whatever the calls come to."""
        p = self.parameters
        thresholds = [max(0, settings.trigger_threshold) for settings in p.all_settings]
        if len(thresholds) == 1:
            return p.calls_max * thresholds[0]
        # most[j]: of the epochs that are left, with settings j in force; a call keeps, or changes
        most = [0] * len(thresholds)
        for _ in range(p.calls_max):
            most = [
                threshold + max(kept, most[0])
                for threshold, kept in zip(thresholds, [*most[1:], most[-1]], strict=True)
            ]
        return most[0]

    def part(self, state: OnlineState, event: Examples) -> Examples:
        """All of them: nobody knows before where it fires."""
        return event

    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """Test after each example, up to and with the first fire."""
        place = part.place
        counts = admitted(state.users_counted, part, mistake, self.parameters.user_examples_max)
        rho = state.threshold_noise
        if rho is None:
            rho = self.threshold_noise(place, noise)
        words = noise.of_positions(part, "trigger")
        gaps = Gaps(
            before=threshold + rho - state.mistakes,
            counted=counts,
            rate=self.parameters.noise_rate,
            earlier=place.position - state.epoch_position,
        )
        fired = self.test.first_fire(gaps, words)
        consumed = len(part.y) if fired is None else fired + 1
        return Looked(counts, consumed, fired is not None, rho)

    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """Count the mistakes, and those of each user; hold the threshold's noise."""
        counts = looked.counted[: looked.consumed]
        return replace(
            state,
            mistakes=state.mistakes + int(np.count_nonzero(counts)),
            threshold_noise=looked.threshold_noise,
            users_counted=plus(state.users_counted, consumed, counts),
        )


@dataclass(frozen=True)
class AboveThresholdTrigger(NoisyTests):
    """Lemmas A and U: noise on the threshold once an epoch, and on every step."""

    words: ClassVar[str] = "AboveThreshold"

    @cached_property
    def test(self) -> AboveThreshold:
        """The mechanism of both."""
        return AboveThreshold(self.parameters.trigger_rate, self.parameters.threshold_rate)

    @property
    def noise_max(self) -> int:
        """The larger of the two: noise of the lower rate goes further."""
        return self.test.noise_max

    def season_events(self) -> list[PrivacyEvent]:
        """One price for all epochs of a season."""
        p = self.parameters
        return [
            TriggerSeason(p.trigger_rate, p.user_examples_max or 0, p.threshold_rate or Fraction(0))
        ]

    def threshold_noise(self, place: Place, noise: LearnerNoise) -> int:
        """The epoch's rho."""
        address = noise.address(place, "trigger-threshold")
        return self.test.threshold_noise(noise.source.words(address, AboveThreshold.WORDS))


@dataclass(frozen=True)
class FreshNoiseTrigger(NoisyTests):
    """Lemma D: noise on every step, and a plain threshold."""

    words: ClassVar[str] = "fresh tests"

    @cached_property
    def test(self) -> CohenLyuTest:
        """The mechanism of Lemma D."""
        return CohenLyuTest(self.parameters.trigger_rate)

    def season_events(self) -> list[PrivacyEvent]:
        """One price for all epochs of a season, with its failure mass."""
        p = self.parameters
        return [CohenLyuTrigger(rate=p.trigger_rate, failure=p.tests_failure)]

    def threshold_noise(self, place: Place, noise: LearnerNoise) -> int:
        """None, and nothing is drawn."""
        return 0


@dataclass(frozen=True)
class Schedule(Trigger):
    """Public times: nothing is tested, no noise is drawn, and it costs nothing."""

    words: ClassVar[str] = "schedule"

    def season_events(self) -> list[PrivacyEvent]:
        """Nothing."""
        return []

    def precision_error(self) -> Fraction:
        """None."""
        return Fraction(0)

    @property
    def counts_mistakes(self) -> bool:
        """It does not."""
        return False

    @property
    def mistakes_kept_max(self) -> int:
        """Mistakes that the longest epoch keeps at the most.

        The positions that may keep one are chosen independently, m = `mistakes_max` on average. By
        Chernoff's bound m + t or more are with probability at most exp(-t^2 / (2 m + 2 t / 3)),
        which is about 2^-64 here.
        """
        p = self.parameters
        longest = p.epoch_length(p.calls_max - 1) or 0
        most = p.mistakes_max
        return min(longest, most + 10 * math.isqrt(most) + 100 if most else longest)

    @property
    def mistakes_counted_max(self) -> int:
        """None."""
        return 0

    def part(self, state: OnlineState, event: Examples) -> Examples | None:
        """Those up to the public end of the epoch."""
        left = self._left(state, event)
        return None if left is None else event.take(slice(left))

    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """All examples of the part, and the end if they come up to it."""
        return Looked(mistake, len(part.y), len(part.y) == self._left(state, part))

    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """The same state."""
        return state

    def _left(self, state: OnlineState, event: Examples) -> int | None:
        """Examples from the first of these to the end of the epoch; None: it has no end."""
        length = self.length(state)
        return None if length is None else length - (event.place.position - state.epoch_position)

    def length(self, state: OnlineState) -> int | None:
        """Examples of the epoch; None: it has no public end. Public."""
        return self.parameters.epoch_length(state.calls)


@dataclass(frozen=True)
class Warmup(Schedule):
    """The public times of a warm-up."""

    words: ClassVar[str] = "warm-up"

    @property
    def mistakes_kept_max(self) -> int:
        """All its examples."""
        return self.parameters.warmup_ends[-1]

    def length(self, state: OnlineState) -> int | None:
        """Examples of the epoch; None behind the warm-up. Public."""
        return self.parameters.warmup_length(state.season, state.calls)


@dataclass(frozen=True)
class WarmedUp(Trigger):
    """A warm-up, whose epochs end at public places, and a trigger behind it.

    PRIVACY.md, "Warm-up". An example of the warm-up is in no test, and so in a draw that may cost
    what the trigger would have.
    """

    behind: Trigger

    words: ClassVar[str] = "warm-up and AboveThreshold"

    def season_events(self) -> list[PrivacyEvent]:
        """Those of the trigger, which an example of the warm-up leaves to its draw."""
        return self.behind.season_events()

    def precision_error(self) -> Fraction:
        """That of the trigger."""
        return self.behind.precision_error()

    @property
    def counts_mistakes(self) -> bool:
        """As the trigger does."""
        return self.behind.counts_mistakes

    @property
    def mistakes_kept_max(self) -> int:
        """Those of the warm-up and of the trigger."""
        return self._warmup.mistakes_kept_max + self.behind.mistakes_kept_max

    @property
    def mistakes_counted_max(self) -> int:
        """Those of the trigger; it counts none before."""
        return self.behind.mistakes_counted_max

    def part(self, state: OnlineState, event: Examples) -> Examples | None:
        """As whichever is in force says."""
        return self._in_force(state).part(state, event)

    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """As whichever is in force does."""
        return self._in_force(state).look(state, part, mistake, threshold, noise)

    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """As whichever is in force does."""
        return self._in_force(state).counted(state, consumed, looked)

    @cached_property
    def _warmup(self) -> Warmup:
        return Warmup(self.parameters)

    def _in_force(self, state: OnlineState) -> Trigger:
        """The warm-up in its epochs, then the trigger; public."""
        return self.behind if self._warmup.length(state) is None else self._warmup


@dataclass(frozen=True)
class Tallied(Trigger):
    """Every candidate is tested by itself; an epoch ends after the example after which one passes.

    The others are tested on.
    """

    words: ClassVar[str] = "tallies"

    def season_events(self) -> list[PrivacyEvent]:
        """None beside what the selection is charged when a season opens."""
        return []

    def precision_error(self) -> Fraction:
        """None beside the selection's, which is that of all votes."""
        return Fraction(0)

    @property
    def counts_mistakes(self) -> bool:
        """Of each candidate."""
        return True

    @property
    def mistakes_kept_max(self) -> int:
        """No example is kept."""
        return 0

    @property
    def mistakes_counted_max(self) -> int:
        """Mistakes on what never passes may be as many as there are examples."""
        return self.parameters.horizon

    def part(self, state: OnlineState, event: Examples) -> Examples:
        """All of them: nobody knows before when a candidate passes."""
        return event

    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """With the tallies after these examples."""
        tallies = looked.tallies
        return replace(state, tallies=tallies if tallies and tallies.watched else None)


@dataclass(frozen=True)
class Tallying(Tallied):
    """Every id on which the published rule errs is watched by itself: Lemma T.

    With a `published_score` every published id is, from when it is published.
    """

    hypotheses: HypothesisClass

    @cached_property
    def _tests(self) -> TallyTests:
        return tests_of(self.parameters)

    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """Count each mistake for its id, up to and with the first example after which any passes.

        The noise of a vote is drawn at its own position, from one address.
        """
        tallies = state.tallies or self._begun(state, part.place, noise)
        assert isinstance(tallies, Tallies)
        first = part.place.position
        watched, passes = dict(tallies.watched), tallies.first
        places = np.flatnonzero(mistake)
        ids = as_pairs(part.x[places])
        for index, pair in zip(places.tolist(), ids, strict=True):
            if passes < first + index:
                break
            id_ = to_int(pair)
            before = watched.get(id_)
            after = watched[id_] = self._voted(before, part.place_of(index), noise)
            passes = min(passes, after.passes)
            if before is not None and before.passes == passes < after.passes:
                passes = min(one.passes for one in watched.values())
        fires = passes < first + len(part.y)
        consumed = passes + 1 - first if fires else len(part.y)
        return Looked(mistake, consumed, fires, tallies=Tallies(watched, passes))

    def _begun(self, state: OnlineState, place: Place, noise: LearnerNoise) -> Tallies:
        """The tallies where nothing is watched: at a season's first example, or of an empty rule.

        For what a call publishes is watched from then on (`Tally.select`).
        """
        ids = needed(self.hypotheses.id_sets).ids_of(state.rule)
        spells = published_spells(self.parameters, ids, place.position, place, noise)
        return Tallies.of(spells)

    def _voted(self, watched: Watched | None, place: Place, noise: LearnerNoise) -> Watched:
        """The id with one vote more, given by the example at this place."""
        words = noise.source.words(noise.address(place, "tally"), self._tests.words)
        if watched is None:
            gap = self.parameters.bottom_score + self._tests.threshold_noise(words)
        else:
            gap = watched.gap
        gap -= 1
        wait = self._tests.wait(gap, words)
        return Watched(gap, passes_after(wait, place.position))


@dataclass(frozen=True)
class ClosureTallying(Tallied):
    """Every closure that examples vote for is tested by itself: Lemma J."""

    hypotheses: HypothesisClass

    @cached_property
    def _votes(self) -> ClosureVotes:
        return ClosureVotes(self.parameters, self.hypotheses)

    @property
    def _forgets_after(self) -> int:
        assert self.parameters.groups is not None
        return self.parameters.groups.forgets_after

    def look(
        self,
        state: OnlineState,
        part: Examples,
        mistake: Flags,
        threshold: int,
        noise: LearnerNoise,
    ) -> Looked:
        """Count the votes of mistakes, up to and with the first test that is passed.

        Stretch by stretch, with a vote of each rule forgotten in between.
        """
        voting = self._votes.voting(state.rule, part.y, mistake)
        words = noise.of_positions(part, "teacher")
        tallies, start = state.tallies, 0
        assert not isinstance(tallies, Tallies)
        while True:
            place = part.place_of(start)
            before = place.position % self._forgets_after
            if tallies is None:
                tallies = self._votes.begun(state.rule, {}, place, noise, place.position)
            elif not before:
                tallies = self._votes.forgotten(tallies, state.rule, place, noise)
            stop = min(start + self._forgets_after - before, len(part.y))
            places = voting[np.searchsorted(voting, start) : np.searchsorted(voting, stop)]
            tallies = self._votes.counted(state, tallies, part, places, words, noise)
            passed = tallies.first + 1 - part.place.position
            if passed <= stop or stop == len(part.y):
                return Looked(mistake, min(passed, stop), passed <= stop, tallies=tallies)
            start = stop

    def counted(self, state: OnlineState, consumed: Examples, looked: Looked) -> OnlineState:
        """With the tallies after these examples, also where nothing is tested."""
        return replace(state, tallies=looked.tallies)


def trigger_of(parameters: ParameterValues, hypotheses: HypothesisClass) -> Trigger:
    """What ends the epochs of a learner with these parameters, for this class."""
    if parameters.groups is not None:
        return ClosureTallying(parameters, hypotheses)
    if parameters.has_tallies:
        return Tallying(parameters, hypotheses)
    if parameters.schedule_first is not None:
        return Schedule(parameters)
    if parameters.tests == "cohen_lyu":
        return FreshNoiseTrigger(parameters)
    trigger = AboveThresholdTrigger(parameters)
    return WarmedUp(parameters, trigger) if parameters.warmup_ends else trigger
