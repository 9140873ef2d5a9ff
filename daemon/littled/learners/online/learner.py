"""The private online learner.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithms 1 to 4.

A season of this learner is a pure state machine. Events come in, a new state and effects go out;
noise is a function of the durable history (`littled.mechanisms.noise`). The order of a call:

1. `Examples`: the published rule predicts, mistakes are counted, and at each position the
   trigger says fire or not (Algorithm 3, lines 9 to 15). At the first fire the rest of the batch
   is left unconsumed and `CallRequested` names the price of the call. With a schedule there is
   no trigger and nothing is tested: epochs end once the season has had `schedule_first`
   examples, twice as many, four times, and so on.
2. The engine asks the filter. `CallAdmitted`: the teachers are trained jointly and the selection
   is published. `CallRefused`: the learner halts; its last rule stays published.

What is released: the positions of fires, the selected rules, bottoms (a call that keeps the rule)
and halts. What each costs is in `season_events` and `call_event`; why is in PRIVACY.md. Every call
makes exactly one release, whether or not the rule changed: the ledger shows that a call took place,
so silence would only say "bottom" in another way, and every charge has the one release that it paid
for.

Where Algorithms 3 and 4 are silent:

- *The first call*, on no data: the first rule is a constant of the class, published for nothing; a
  later season begins with the rule of the one before, which is public.
- *No stage left* (j* > d + 1, after d + 1 Belows): no test, no draw; calls keep the rule and are
  charged as priced. Without stage tests the last stage stays.
- *Empty lists*, of one teacher or of all of them (a teacher without examples, data that contradict
  every hypothesis): whoever proposes nothing adds no score; with no candidate at all a draw is
  bottom, and uses up its noise all the same.
- *Bottoms among R draws*: a bottom has no vote. If most draws are bottom the call keeps the rule
  (and without stage tests counts as Below); else the majority of the others is published, which is
  0 where as many say 0 as 1.
- *No call left, or refused by the budget*: the learner halts at that fire, and its rule stays.

Where users are protected (`user_examples_max` = c) the trigger counts the first c mistakes of each
user and season, and c examples of each are kept: the first ones that would be, of mistakes when
they come, of the background at the end of its epoch. A user's examples are all one teacher's; where
every example is a teacher of its own closure, every user is. PRIVACY.md, "User-level privacy".
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import (
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    HistogramSelection,
    PrecisionLoss,
    PrepaidSelection,
    PrivacyEvent,
    SparseSelection,
    StageTest,
    TriggerSeason,
)
from littled.classes import HypothesisClass
from littled.classes.base import DataSet, Scores, errors_allowed
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Event,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
)
from littled.learners.online.buffer import Buffer
from littled.learners.online.parameters import OnlineParameters, Rung
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.state import OnlineState, Step
from littled.learners.users import UserCounts, user_numbers
from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address, NoiseSource, Purpose, words_of_records
from littled.mechanisms.sparse_sample import SparseSample
from littled.mechanisms.stable_histogram import StableHistogram
from littled_protocol.rules import MajorityRule, Rule

# Examples whose counting is put off until it is worth a pass over the statistics.
PENDING_EXAMPLES_MAX = 1 << 16
# And so many pieces, since each step looks at all of them.
PENDING_PIECES_MAX = 64
# What the secret word of a user is for, in the address of its noise.
USER_PURPOSE: Final = "user-teacher"


# The last essential list of each teacher, with the errors it allowed on each of its data sets.
_Lists = dict[int, tuple[tuple[int, ...], list[Hashable]]]


@dataclass(frozen=True)
class OnlineLearner:
    """Algorithm 3 for one class with public parameters.

    `name` is "stream/learner" and separates the noise of learners on one stream. ValueError, one
    sentence, for parameters that do not fit the class.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: OnlineParameters
    _trigger: AboveThreshold | CohenLyuTest | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters against the class, and build the noise tables once."""
        p = self.parameters
        for problem in _misfits(self.hypotheses, p):
            raise ValueError(problem)
        kind = AboveThreshold if p.tests == "above_threshold" else CohenLyuTest
        trigger = kind(p.trigger_rate) if p.schedule_first is None else None
        object.__setattr__(self, "_trigger", trigger)

    # -- public facts ------------------------------------------------------------------------

    def initial(self) -> OnlineState:
        """The state before the first season opens."""
        return OnlineState(rule=self.hypotheses.first_rule())

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Privacy events charged when a season opens: trigger, stage tests, finite precision."""
        p, fresh = self.parameters, self.parameters.tests == "cohen_lyu"
        trigger: list[PrivacyEvent] = []
        if p.schedule_first is None:
            trigger = [TriggerSeason(p.trigger_rate, p.user_examples_max or 0)]
        if fresh:
            trigger = [CohenLyuTrigger(rate=p.trigger_rate, failure=p.tests_failure)]
        segments: list[PrivacyEvent] = []
        if p.stage_rate is not None:
            segment: PrivacyEvent = StageTest(rate=p.stage_rate)
            if fresh:
                segment = CohenLyuStageTest(rate=p.stage_rate, failure=p.tests_failure)
            # one segment of the stage test ends at each Below; d + 1 segments at the most
            segments = [segment] * self._stages
        loss = PrecisionLoss(total_variation=self.precision_error(), epsilon=p.epsilon)
        # every example is in one epoch, so in one selection: all of them together cost one
        selections = [self._selection_event(p.user_epochs_max)] if p.fresh else []
        return (*trigger, *segments, *selections, loss)

    @property
    def calls_max(self) -> int:
        """Calls of joint training that a season has at the most."""
        return self.parameters.calls_max

    def call_event(self) -> PrivacyEvent:
        """Privacy event of one call of joint training."""
        if self.parameters.fresh:
            return PrepaidSelection(draws=self.parameters.draws)
        return self._selection_event()

    def _selection_event(self, epochs: int = 1) -> PrivacyEvent:
        """What one selection costs an example or user in it; or fresh ones of so many epochs.

        Where teachers propose, one teacher's list is replaced in each of these epochs. Elsewhere a
        user's examples are shared out to the epochs, and count together as they would in one; but
        lists fail to hide on either side, if these can be in different epochs.
        """
        p, user_examples_max = self.parameters, self.parameters.user_examples_max or 0
        apart = epochs if p.keeps_mistakes else 1
        if p.selection == "dense":
            return DenseSelection(
                p.selection_rate, p.draws, p.selection_accounting, user_examples_max
            )
        if p.selection == "histogram":
            return HistogramSelection(
                rate=p.selection_rate,
                threshold=p.bottom_score,
                change=2 if self._vetoes else 1,
                accounting=p.selection_accounting,
                user_examples_max=user_examples_max,
                epochs=apart,
            )
        teaching = p.selection == "closure" or p.teachers is not None
        return SparseSelection(
            rate=p.selection_rate,
            list_cap=p.list_cap,
            bottom_score=p.bottom_score,
            draws=p.draws * epochs if teaching else p.draws,
            accounting=p.selection_accounting,
            user_examples_max=0 if teaching else user_examples_max,
            epochs=1 if teaching else apart,
        )

    @property
    def mistakes_kept_max(self) -> int:
        """Mistakes that a season keeps at most: not far above its threshold the trigger must fire.

        The threshold's noise and a step's reach are each below this allowance but for a chance of
        about 2^-64. What the trigger does not count, by the public noise rate, is kept as well.
        With a schedule it is the longest epoch, or what `mistakes_max` comes to but for such a
        chance.
        """
        p = self.parameters
        if not p.keeps_mistakes:
            return 0
        if self._trigger is None:
            return self._scheduled_mistakes_max
        expected = p.horizon * p.noise_rate.numerator // p.noise_rate.denominator
        if p.fresh:
            highest = max(each.trigger_threshold for each in p.rungs)
            return expected + 3 * self._trigger.reach + max(highest, 0)
        return expected + p.calls_max * 3 * self._trigger.reach + self._thresholds_sum_max

    @property
    def mistakes_counted_max(self) -> int:
        """Mistakes that a trigger counts in a season at most, as far as `mistakes_kept_max` holds.

        The epoch after the last call comes to its threshold as well.
        """
        p = self.parameters
        if self._trigger is None:
            return 0
        expected = p.horizon * p.noise_rate.numerator // p.noise_rate.denominator
        highest = max(0, *(each.trigger_threshold for each in p.rungs))
        reaches = (p.calls_max + 1) * 3 * self._trigger.reach
        return expected + reaches + self._thresholds_sum_max + highest

    @property
    def _scheduled_mistakes_max(self) -> int:
        """Mistakes that the longest epoch of the schedule keeps at the most.

        The positions that may keep one are chosen independently, m = `mistakes_max` on average. By
        Chernoff's bound m + t or more are with probability at most exp(-t^2 / (2 m + 2 t / 3)).
        """
        p = self.parameters
        longest = p.epoch_length(p.calls_max - 1) or 0
        most = p.mistakes_max
        return min(longest, most + 10 * math.isqrt(most) + 100 if most else longest)

    @property
    def _thresholds_sum_max(self) -> int:
        """Largest sum of the thresholds of `calls_max` epochs, whatever the calls come to."""
        p = self.parameters
        thresholds = [max(0, rung.trigger_threshold) for rung in p.rungs]
        # most[j]: of the epochs that are left, with rung j in force; a call keeps, or changes
        most = [0] * len(thresholds)
        for _ in range(p.calls_max):
            most = [
                threshold + max(kept, most[0])
                for threshold, kept in zip(thresholds, [*most[1:], most[-1]], strict=True)
            ]
        return most[0]

    def precision_error(self) -> Fraction:
        """Bound on the total variation distance of a season from its ideal real-valued noise."""
        p = self.parameters
        # every example is one step of some epoch; every epoch draws a threshold noise of its own
        error = Fraction(0)
        if self._trigger is not None:
            error += self._trigger.precision_error(p.horizon)
            error += p.calls_max * self._trigger.precision_error(0)
        draws = p.calls_max * p.draws
        if p.selection == "dense":
            assert self.hypotheses.rule_count is not None
            error += draws * self._dense.total_variation(self.hypotheses.rule_count)
        elif p.selection == "histogram":
            # an example adds one candidate at the most to every histogram that it is in
            candidates = p.horizon if p.fresh else p.calls_max * p.horizon
            error += self._histogram.total_variation(candidates)
        else:
            error += draws * self._sparse.total_variation(self._candidates_max)
        if p.stage_rate is not None:
            error += self._stage_precision_error(p.calls_max + self._stages)
        return error

    def _stage_precision_error(self, tests: int) -> Fraction:
        if self.parameters.tests == "cohen_lyu":
            return self._fresh_stage_test.precision_error(tests)
        return tests * sum((each.total_variation for each in self._stage_noises), Fraction(0))

    # -- the state machine -------------------------------------------------------------------

    def step(self, state: OnlineState, event: Event, noise: NoiseSource) -> Step:
        """One transition; pure, and total on every state that the learner itself reaches."""
        match event:
            case SeasonOpened():
                return self._open(state, event)
            case Examples():
                return self._observe(state, event, noise)
            case CallAdmitted():
                return self._train(state, event.place, noise)
            case CallRefused():
                return self._halt(state, event.place)

    def _open(self, state: OnlineState, event: SeasonOpened) -> Step:
        opened = replace(
            self._without_data(state),
            version=state.version + 1,
            season=event.season,
            epoch_position=event.position,
            halted=False,
            calls=0,
            kept=0,
            stage=1,
            stage_noise=None,
        )
        kind = "season" if event.season else "rule"
        effects = (SeasonPriced(self.season_events()), _published(kind, opened, event.position))
        return Step(opened, effects)

    def _halt(self, state: OnlineState, place: Place) -> Step:
        """Algorithm 3, line 18: the last rule stays published and no more noise is drawn."""
        halted = replace(self._without_data(state), halted=True, version=state.version + 1)
        return Step(halted, (_published("halt", halted, place.position + 1),))

    def _without_data(self, state: OnlineState) -> OnlineState:
        """The state with every private field forgotten."""
        dense = self.parameters.selection == "dense"
        nobody = None if self.parameters.user_examples_max is None else UserCounts()
        same = self.parameters.buffer == "mistakes" and self._trigger is not None
        return replace(
            state,
            mistakes=0,
            threshold_noise=None,
            buffer=None,
            archive=(),
            statistics=self.hypotheses.empty_statistics() if dense else None,
            pending=(),
            users_counted=nobody,
            users_kept=None if same else nobody,
        )

    def _observe(self, state: OnlineState, event: Examples, noise: NoiseSource) -> Step:
        """Algorithm 3, lines 9 to 15, for a whole batch, up to and with the first fire."""
        count = len(event.y)
        if state.halted or not count:
            return Step(state, consumed=count)
        if (event.users is None) != (self.parameters.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        if self._trigger is None:
            return self._follow_schedule(state, event, noise)
        place = event.place
        mistake = state.rule.evaluate(event.x) != event.y
        counted = self._admitted(state.users_counted, event, mistake)
        rho = state.threshold_noise
        if rho is None:
            rho = self._threshold_noise(place, noise)
        words = self._words(noise, event, "trigger")
        gaps = Gaps(
            before=self._rung(state).trigger_threshold + rho - state.mistakes,
            counted=counted,
            rate=self.parameters.noise_rate,
            earlier=place.position - state.epoch_position,
        )
        fired = self._trigger.first_fire(gaps, words)
        consumed = count if fired is None else fired + 1
        event, keeping = (
            event.take(slice(consumed)),
            counted if state.users_kept is None else mistake,
        )
        state = replace(
            self._remember(state, event, keeping[:consumed], noise),
            mistakes=state.mistakes + int(np.count_nonzero(counted[:consumed])),
            threshold_noise=rho,
            users_counted=_plus(state.users_counted, event, counted[:consumed]),
        )
        if fired is None:
            return Step(state, consumed=consumed)
        at = event.place_of(consumed - 1)
        if state.calls >= self.parameters.calls_max:
            return replace(self._halt(state, at), consumed=consumed)
        return Step(state, (CallRequested(at, self.call_event()),), consumed)

    def _follow_schedule(self, state: OnlineState, event: Examples, noise: NoiseSource) -> Step:
        """A batch up to the public end of the epoch; nothing is tested and no noise drawn."""
        place, count = event.place, len(event.y)
        length = self.parameters.epoch_length(state.calls)
        if length is None:  # no call will see any of this
            return Step(state, consumed=count)
        left = length - (place.position - state.epoch_position)
        event = event.take(slice(left))
        mistake = state.rule.evaluate(event.x) != event.y
        state = self._remember(state, event, mistake, noise)
        if count < left:
            return Step(state, consumed=count)
        at = event.place_of(left - 1)
        return Step(state, (CallRequested(at, self.call_event()),), left)

    def _admitted(
        self, counts: UserCounts | None, event: Examples, wanted: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which of the wanted examples are among the first c of their users; all of them without c.

        This depends on the user's own examples and on public state: on nobody else's.
        """
        most = self.parameters.user_examples_max
        if counts is None or event.users is None or most is None:
            return wanted
        return counts.admitted(event.users, wanted, most)

    def _threshold_noise(self, place: Place, noise: NoiseSource) -> int:
        """The epoch's rho; tests with fresh noise have a plain threshold and draw nothing."""
        if not isinstance(self._trigger, AboveThreshold):
            return 0
        address = self._address(place, "trigger-threshold")
        return self._trigger.threshold_noise(noise.words(address, AboveThreshold.WORDS))

    def _remember(
        self,
        state: OnlineState,
        event: Examples,
        mistake: NDArray[np.bool_],
        noise: NoiseSource,
    ) -> OnlineState:
        """Keep what the next joint training may use; nothing where no call is left."""
        p = self.parameters
        if state.calls >= p.calls_max:
            return state
        if p.selection == "dense":
            if p.buffer == "mistakes":
                event = event.take(mistake)
            if not len(event.y):
                return state
            pending = (*state.pending, (event.x, event.y, event.users))
            return self._count(replace(state, pending=pending))
        count = len(event.y)
        priority = self._words(noise, event, "buffer")
        if p.mistakes_max:
            mistake = mistake & (priority <= self._mistakes_limit(state))
        if p.keeps_mistakes:
            mistake = self._admitted(state.users_kept, event, mistake)
            state = replace(state, users_kept=_plus(state.users_kept, event, mistake))
        arriving = Buffer(
            event.x,
            event.y,
            mistake,
            priority,
            self._words(noise, event, "teacher")
            if p.chooses_teachers and event.users is None  # a user's own word is drawn later
            else np.zeros(count, dtype=np.uint64),
            event.users,
        )
        buffer = Buffer.empty(event.x, event.users) if state.buffer is None else state.buffer
        buffer = buffer.extend(
            arriving, background_max=p.background_max, keep_mistakes=p.keeps_mistakes
        )
        return replace(state, buffer=buffer)

    def _mistakes_limit(self, state: OnlineState) -> np.uint64:
        """Highest priority of a position of this epoch that may keep a mistake; public.

        It is fixed before the epoch begins, so whether a position may keep one depends on nothing
        that was seen, and no mistake pushes out another.
        """
        p = self.parameters
        length = p.epoch_length(state.calls) or 1
        share = min(p.mistakes_max, length)
        return np.uint64((share << 64) // length - 1)

    def _count(self, state: OnlineState, *, now: bool = False) -> OnlineState:
        """Fold the pending examples into the statistics, now or when there are enough of them.

        Which of them are within their users' caps can wait until then: it depends on no release.
        """
        waiting = sum(len(y) for _, y, _ in state.pending)
        if not (now or waiting >= PENDING_EXAMPLES_MAX or len(state.pending) >= PENDING_PIECES_MAX):
            return state
        statistics, kept, most = (
            state.statistics,
            state.users_kept,
            self.parameters.user_examples_max,
        )
        assert statistics is not None
        if waiting:
            x = np.concatenate([x for x, _, _ in state.pending])
            y = np.concatenate([y for _, y, _ in state.pending])
            users = [each for _, _, each in state.pending if each is not None]
            if kept is not None and most is not None:
                whose = np.concatenate(users)
                chosen = kept.admitted(whose, np.ones(waiting, dtype=np.bool_), most)
                x, y, kept = x[chosen], y[chosen], kept.plus(whose[chosen])
            statistics = self.hypotheses.add(statistics, x, y)
        return replace(state, statistics=statistics, pending=(), users_kept=kept)

    def settled(self, state: OnlineState) -> OnlineState:
        """The same state in a form that does not show how its examples came in batches.

        A learner goes on from it as it would have otherwise.
        """
        if state.pending:
            return self._count(state, now=True)
        if state.buffer is None:
            return state
        p = self.parameters
        final = state.buffer.final(background_max=p.background_max, keep_mistakes=p.keeps_mistakes)
        return replace(state, buffer=final)

    def state_to_dict(self, state: OnlineState) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""
        return state_to_dict(state)

    def state_from_dict(self, values: dict[str, Any]) -> OnlineState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if its fields differ."""
        return state_from_dict(values)

    def after_restore(self, state: OnlineState, version: int) -> OnlineState:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, version=max(state.version, version))

    # -- joint training ----------------------------------------------------------------------

    def _train(self, state: OnlineState, place: Place, noise: NoiseSource) -> Step:
        """Algorithm 3, lines 16 to 22: select, publish, begin the next epoch."""
        state = self._with_user_words(self._close_epoch(state), noise)
        state, rule = self._select(state, place, noise)
        changed = rule is not None and rule != state.rule
        published = replace(
            state,
            rule=state.rule if rule is None else rule,
            version=state.version + 1,
            epoch=state.epoch + 1,
            epoch_position=place.position + 1,
            calls=state.calls + 1,
            kept=0 if changed else state.kept + 1,
            mistakes=0,
            threshold_noise=None,
        )
        if self.parameters.fresh:
            published = self._forgetful(published)
        return Step(published, (_published("rule", published, place.position + 1),))

    def _forgetful(self, state: OnlineState) -> OnlineState:
        """The state without anything that the epochs so far have kept."""
        dense = self.parameters.selection == "dense"
        statistics = self.hypotheses.empty_statistics() if dense else None
        return replace(state, archive=(), statistics=statistics, pending=())

    def _select(
        self, state: OnlineState, place: Place, noise: NoiseSource
    ) -> tuple[OnlineState, Rule | None]:
        """The rule of one call, None for bottom; only Algorithm 4 changes the state."""
        if self.parameters.selection == "dense":
            return state, self._select_dense(state, place, noise)
        if self.parameters.selection == "closure":
            return state, self._select_closure(state, place, noise)
        if self.parameters.selection == "histogram":
            return state, self._select_histogram(state, place, noise)
        if self.parameters.teachers is None:
            return state, self._select_proposed(state, place, noise)
        return self._joint_train(state, place, noise)

    def _close_epoch(self, state: OnlineState) -> OnlineState:
        """Move the epoch's buffer to the archive (line 20: S^(i) with A_i added)."""
        if self.parameters.selection == "dense":
            return self._count(state, now=True)
        if state.buffer is None:
            return state
        p = self.parameters
        final = state.buffer.final(background_max=p.background_max, keep_mistakes=p.keeps_mistakes)
        if final.users is not None and state.users_kept is not None and p.user_examples_max:
            # which positions are the background's was not known before; mistakes were admitted then
            mistakes = final.mistake & p.keeps_mistakes
            chosen = state.users_kept.admitted(final.users, ~mistakes, p.user_examples_max)
            state = replace(state, users_kept=state.users_kept.plus(final.users[chosen]))
            final = final.take(chosen | mistakes)
        return replace(state, buffer=None, archive=(*state.archive, final))

    def _with_user_words(self, state: OnlineState, noise: NoiseSource) -> OnlineState:
        """The secret word of each user in the epoch just closed, the same in the whole season.

        In its address the user stands in place of a record's head, as it has to be the same word
        for examples of different records.
        """
        if not state.archive or not self.parameters.chooses_teachers:
            return state
        last = state.archive[-1]
        if last.users is None:
            return state
        numbers = user_numbers(last.users)
        _, firsts = np.unique(numbers, return_index=True)
        words = [np.zeros(0, dtype=np.uint64)]
        for first in firsts.tolist():
            head = last.users[first].astype("<u8").tobytes()
            words.append(noise.words(Address(head, self.name, USER_PURPOSE, state.season), 1))
        last = replace(last, teacher=np.concatenate(words)[numbers])
        return replace(state, archive=(*state.archive[:-1], last))

    def _select_dense(self, state: OnlineState, place: Place, noise: NoiseSource) -> Rule:
        """The exponential mechanism over all rules, score = agreements; no bottom."""
        assert state.statistics is not None
        scores = self.hypotheses.scores(state.statistics)
        draws = [
            self._dense.sample(scores, noise.words(address, ExponentialMechanism.WORDS))
            for address in self._draws(place)
        ]
        rule = _majority([self.hypotheses.rule(index) for index in draws], len(draws))
        assert rule is not None
        return rule

    def _select_proposed(self, state: OnlineState, place: Place, noise: NoiseSource) -> Rule | None:
        """Sparse sampling with one example a teacher: proposals minus vetoes; None is bottom."""
        x, y = _columns(state.archive)
        proposals = self.hypotheses.proposals(x, y)
        drawn = self._draw_sparse(proposals.scores, place, noise)
        return self._majority([self.hypotheses.proposed_rule(proposals, i) for i in drawn])

    def _select_histogram(
        self, state: OnlineState, place: Place, noise: NoiseSource
    ) -> Rule | None:
        """Every id that passes is flipped at once; None if none does.

        The ids are in rising order, and each has one word of the call's one address. How many words
        are read depends on the examples, which nobody sees: no other draw has this address. That a
        neighbour may give an id another word is of no matter, see the mechanism.
        """
        x, y = _columns(state.archive)
        flips = self.hypotheses.flips(x, y, state.rule, vetoes=self._vetoes)
        (address,) = self._draws(place)
        words = noise.words(address, len(flips.scores))
        passing = self._histogram.passing(flips.scores, words)
        return self.hypotheses.flipped_rule(flips, passing, state.rule) if len(passing) else None

    def _select_closure(self, state: OnlineState, place: Place, noise: NoiseSource) -> Rule | None:
        """Sparse sampling over the closures that teachers propose; None is bottom.

        A position's secret word chooses its teacher anew for every number of teachers, whatever the
        examples are: in each call the data of one teacher differ between neighbours. So it is with
        the secret word of a user.
        """
        x, y = _columns(state.archive)
        numbers = _teachers(state.archive, self._rung(state).teachers)
        proposals = self.hypotheses.closures(x, y, numbers, state.rule)
        drawn = self._draw_sparse(proposals.scores, place, noise)
        return self._majority([self.hypotheses.closed_rule(proposals, index) for index in drawn])

    def _joint_train(
        self, state: OnlineState, place: Place, noise: NoiseSource
    ) -> tuple[OnlineState, Rule | None]:
        """Algorithm 4 with k teachers; the module's docstring says what it leaves open.

        Without a stage test, a call that ends in bottom is taken as Below: the stage advances for
        the next call, at no further cost.
        """
        dimension = self.hypotheses.littlestone_dimension
        known: _Lists = {}
        while state.stage <= dimension + 1:
            lists = self._teacher_lists(state, known)
            # no longer than its cap and no key twice, whatever the class says: Lemma B rests on it
            votes: Counter[Hashable] = Counter(
                key for each in lists for key in dict.fromkeys(each[: self.parameters.list_cap])
            )
            if self.parameters.stage_rate is not None:
                most = max(votes.values(), default=0)
                state, above = self._stage_test(state, most, place, noise)
                if not above:
                    state = replace(state, stage=state.stage + 1)
                    continue
            keys = sorted(votes, key=repr)
            scores = np.array([votes[key] for key in keys], dtype=np.int64)
            drawn = self._draw_sparse(scores, place, noise)
            rule = self._majority([self.hypotheses.essential_rule(keys[i]) for i in drawn])
            if rule is None and self.parameters.stage_rate is None:
                state = replace(state, stage=min(state.stage + 1, dimension + 1))
            return state, rule
        return state, None

    def _teacher_lists(self, state: OnlineState, known: _Lists) -> Iterator[list[Hashable]]:
        """Lists L_1..L_k of essential hypotheses at the present stage (Algorithm 4, lines 3-6).

        `known` holds those of the stage before in this call. A version space depends on the
        tolerance only through the errors that it allows on each data set; from one stage to the
        next these change for few teachers, and they never rise again.
        """
        p = self.parameters
        assert p.teachers is not None
        dimension = max(self.hypotheses.littlestone_dimension, 1)
        tolerance = Fraction(1, 10) * (1 - Fraction(1, 5 * dimension)) ** state.stage
        shares = [_split(epoch, p.teachers) for epoch in state.archive]
        for teacher, data_sets in enumerate(zip(*shares, strict=True)):
            allowed = tuple([errors_allowed(tolerance, len(y)) for _, y in data_sets])
            if teacher not in known or known[teacher][0] != allowed:
                found = self.hypotheses.essential_list(data_sets, tolerance, p.list_cap)
                known[teacher] = allowed, found
            yield known[teacher][1]

    def _stage_test(
        self, state: OnlineState, most: int, place: Place, noise: NoiseSource
    ) -> tuple[OnlineState, bool]:
        """Algorithm 4, line 8: is some hypothesis on more than 4k/5 lists? Halts on Below."""
        assert self.parameters.teachers is not None
        if self.parameters.tests == "cohen_lyu":
            gap = 4 * self.parameters.teachers // 5 + 1 - most
            words = noise.words(self._address(place, "stage-query", state.stage), 1)
            above = self._fresh_stage_test.first_above(np.array([gap], dtype=np.int64), words)
            return state, above is not None
        for_threshold, for_query = self._stage_noises
        rho = state.stage_noise
        if rho is None:
            address = self._address(place, "stage-threshold", state.stage)
            rho = for_threshold.sample(noise.words(address, DiscreteLaplace.WORDS))
        address = self._address(place, "stage-query", state.stage)
        nu = for_query.sample(noise.words(address, DiscreteLaplace.WORDS))
        above = 5 * (most + nu - rho) > 4 * self.parameters.teachers
        return replace(state, stage_noise=rho if above else None), above

    def _draw_sparse(self, scores: Scores, place: Place, noise: NoiseSource) -> list[int]:
        """The draws of one call that are not bottom."""
        draws = (
            self._sparse.sample(scores, noise.words(address, SparseSample.WORDS))
            for address in self._draws(place)
        )
        return [index for index in draws if index is not None]

    def _majority(self, rules: Sequence[Rule]) -> Rule | None:
        return _majority(rules, self.parameters.draws)

    # -- mechanisms and addresses ------------------------------------------------------------

    @cached_property
    def _dense(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.selection_rate)

    @cached_property
    def _sparse(self) -> SparseSample:
        p = self.parameters
        return SparseSample(p.selection_rate, list_cap=p.list_cap, bottom_score=p.bottom_score)

    @cached_property
    def _histogram(self) -> StableHistogram:
        return StableHistogram(self.parameters.selection_rate, self.parameters.bottom_score)

    @property
    def _vetoes(self) -> bool:
        """Whether an example on which the rule is right counts against flipping its id.

        Where some rule fits all examples, an id whose label is contradicted once has to be flipped.
        """
        return self.parameters.noise_rate > 0

    @cached_property
    def _stage_noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        assert self.parameters.stage_rate is not None
        rate = self.parameters.stage_rate
        return DiscreteLaplace(rate / 2), DiscreteLaplace(rate / 4)

    @cached_property
    def _fresh_stage_test(self) -> CohenLyuTest:
        assert self.parameters.stage_rate is not None
        return CohenLyuTest(self.parameters.stage_rate)

    def _rung(self, state: OnlineState) -> Rung:
        """The rung of the ladder in force; a public function of public state."""
        dense = self.parameters.selection == "dense"
        return self.parameters.rung(state.calls if dense else state.kept)

    @property
    def _stages(self) -> int:
        return self.hypotheses.littlestone_dimension + 1

    @property
    def _candidates_max(self) -> int:
        """Most candidates that a sparse selection of one season can have."""
        p = self.parameters
        rungs = p.rungs if p.selection == "closure" else p.rungs[:1]
        holders = max(p.horizon if each.teachers is None else each.teachers for each in rungs)
        return holders * p.list_cap

    def _address(self, place: Place, purpose: Purpose, draw: int = 0) -> Address:
        return Address(place.chain_head, self.name, purpose, place.position, draw)

    def _draws(self, place: Place) -> list[Address]:
        """Addresses of one call's draws; no two calls are at one position."""
        return [self._address(place, "select", draw) for draw in range(self.parameters.draws)]

    def _words(self, noise: NoiseSource, event: Examples, purpose: Purpose) -> NDArray[np.uint64]:
        """One word for each position, whichever slice of its record asks for it."""
        place, count = event.place, len(event.y)
        offset, end = place.position - place.record_position, place.position + count
        if not event.further or event.further[0][1] >= end:
            address = Address(place.chain_head, self.name, purpose, place.record_position)
            return noise.words(address, count, offset)
        last = bisect_left(event.further, end, key=lambda record: record[1])
        records = [(place.chain_head, place.record_position), *event.further[:last]]
        return words_of_records(noise, self.name, purpose, records, end, offset)


def _misfits(hypotheses: HypothesisClass, p: OnlineParameters) -> Iterator[str]:
    """What parameters may not be for this class."""
    name = hypotheses.name
    of_examples = p.selection == "sparse" and p.teachers is None
    most = hypotheses.proposals_per_example
    if p.selection == "dense" and hypotheses.rule_count is None:
        yield f"{name} has too many rules for dense selection; use sparse"
    if of_examples and most is None:
        yield f"{name} has no short lists of rules per example; use dense"
    if of_examples and most is not None and p.list_cap < most:
        yield f"an example of {name} proposes up to {most} rules, more than list_cap {p.list_cap}"
    if p.selection == "closure" and not hypotheses.has_closures:
        yield f"{name} is not closed under intersection; use dense or sparse"
    if p.selection == "histogram" and not hypotheses.has_flips:
        yield f"{name} has no rules that are sets of ids, which histogram selection needs"


def _plus(
    counts: UserCounts | None, event: Examples, chosen: NDArray[np.bool_]
) -> UserCounts | None:
    """The counts, where users are counted, with those of the chosen examples."""
    if counts is None or event.users is None:
        return None
    places = np.flatnonzero(chosen)  # many times as fast for rows as the flags themselves
    return counts.plus(event.users.take(places, axis=0)) if len(places) else counts


def _columns(archive: Sequence[Buffer]) -> DataSet:
    """Points and labels of all that a season has kept."""
    x, y = zip(*(epoch.data_set() for epoch in archive), strict=True)
    return np.concatenate(x), np.concatenate(y)


def _teachers(archive: Sequence[Buffer], teachers: int | None) -> NDArray[np.int64] | None:
    """The teacher of each example that a season has kept; None: each is one of its own.

    Without a number of teachers a user is a teacher with all of their examples.
    """
    if teachers is not None:
        return _numbers(np.concatenate([epoch.teacher for epoch in archive]), teachers)
    users = [epoch.users for epoch in archive if epoch.users is not None]
    return user_numbers(np.concatenate(users)) if users else None


def _numbers(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """The teacher of each position: its secret word modulo k (Algorithm 3, line 19).

    The paper splits E into equal parts; that would move other examples when one is added, so the
    teacher of a position is fixed by its word alone.
    """
    return (words % np.uint64(teachers)).astype(np.int64)


def _split(epoch: Buffer, teachers: int) -> list[DataSet]:
    """One data set a teacher, of an epoch's examples."""
    teacher = _numbers(epoch.teacher, teachers)
    order = np.argsort(teacher, kind="stable")
    cuts = np.searchsorted(teacher[order], np.arange(teachers + 1))
    x, y = epoch.x[order], epoch.y[order]
    return [(x[a:b], y[a:b]) for a, b in pairwise(cuts.tolist())]


def _majority(rules: Sequence[Rule], draws: int) -> Rule | None:
    """The majority vote of the rules that `draws` draws came to; None if most were bottom."""
    if 2 * len(rules) <= draws:
        return None
    return MajorityRule(members=tuple(rules)) if len(rules) > 1 else rules[0]


def _published(kind: str, state: OnlineState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
