"""The private online learner.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Algorithms 1 to 4.

A season of this learner is a pure state machine. Events come in, a new state and effects go out;
noise is a function of the durable history (`littled.mechanisms.noise`). When an epoch ends is up
to its `trigger`, what is remembered to `keeping`, what is published next to `selections`. The order
of a call:

1. `Examples`: the published rule predicts, mistakes are counted, and at each position the
   trigger says fire or not (Algorithm 3, lines 9 to 15). At the first fire the rest of the batch
   is left unconsumed and `CallRequested` names the price of the call. With a schedule there is
   no trigger and nothing is tested: epochs end once the season has had `schedule_first`
   examples, twice as many, four times, and so on; with a `schedule_cap`, once so many more have
   come from where that is less. In a *warm-up* (`warmup_ends`) the first epochs of a stream's
   first season end at public places too, before the trigger begins to look.
2. The engine asks the filter. `CallAdmitted`: the teachers are trained jointly and the selection
   is published. `CallRefused`: the learner halts; its last rule stays published.

What is released: the positions of fires, the selected rules, bottoms (a call that keeps the rule)
and halts. What each costs is in `season_events` and `call_event`; why is in PRIVACY.md. Every call
makes exactly one release, whether or not the rule changed: the ledger shows that a call took place,
so silence would only say "bottom" in another way, and every charge has the one release that it paid
for.

Where Algorithm 3 is silent (`selections.teachers` says it of Algorithm 4):

- *The first call*, on no data: the first rule is a constant of the class, published for nothing; a
  later season begins with the rule of the one before, which is public.
- *No call left, or refused by the budget*: the learner halts at that fire, and its rule stays.

Where users are protected (`user_examples_max` = c) the trigger counts the first c mistakes of each
user and season, and c examples of each are kept: the first ones that would be, of mistakes when
they come, of the background at the end of its epoch, of what a pool holds back when a call is
offered it. A user's examples are all one teacher's; where every example is a teacher of its own
closure, every user is. PRIVACY.md, "User-level privacy".
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from littled.budget.events import PrecisionLoss, PrepaidSelection, PrivacyEvent
from littled.classes.hypothesis import HypothesisClass
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
from littled.learners.online.keeping import Keeping
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.register import selection_of
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.state import OnlineState, Step
from littled.learners.online.trigger import Trigger, trigger_of
from littled.learners.users import UserCounts
from littled.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class OnlineLearner:
    """Algorithm 3 for one class with public parameters.

    `name` is "stream/learner" and separates the noise of learners on one stream. ValueError, one
    sentence, for parameters that do not fit the class.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: OnlineParameters

    def __post_init__(self) -> None:
        """Check the parameters against the class."""
        for problem in self._selection.misfits(self.hypotheses):
            raise ValueError(problem)
        _ = self._trigger.precision_error()  # which makes its tables of noise

    @cached_property
    def _selection(self) -> Selection:
        return selection_of(self.parameters)

    @cached_property
    def _keeping(self) -> Keeping:
        return self._selection.keeping(self.hypotheses)

    @cached_property
    def _trigger(self) -> Trigger:
        return trigger_of(self.parameters, self.hypotheses)

    # -- public facts ------------------------------------------------------------------------

    def initial(self) -> OnlineState:
        """The state before the first season opens."""
        return OnlineState(rule=self.hypotheses.first_rule())

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Privacy events charged when a season opens: trigger, stage tests, finite precision."""
        p, trigger = self.parameters, self._trigger.season_events()
        tests = self._selection.season_events(self.hypotheses)
        loss = PrecisionLoss(total_variation=self.precision_error(), epsilon=p.epsilon)
        # every example is in one epoch, so in one selection: all of them together cost one
        selections = [self._selection.event(p.user_epochs_max)] if p.fresh else []
        return (*trigger, *tests, *selections, loss)

    @property
    def calls_max(self) -> int:
        """Calls of joint training that a season has at the most."""
        return self.parameters.calls_max

    def calls_left(self, state: OnlineState) -> int:
        """Calls of joint training that may still come in this season."""
        return 0 if state.halted else self.calls_max - state.calls

    def call_event(self) -> PrivacyEvent:
        """Privacy event of one call of joint training."""
        if self.parameters.fresh:
            return PrepaidSelection(draws=self.parameters.draws)
        return self._selection.event()

    @property
    def mistakes_kept_max(self) -> int:
        """Mistakes that a season keeps at most, except with probability about 2^-64."""
        return self._trigger.mistakes_kept_max if self.parameters.keeps_mistakes else 0

    @property
    def mistakes_counted_max(self) -> int:
        """Mistakes that a trigger counts in a season at most, as far as `mistakes_kept_max` holds.

        The epoch after the last call comes to its threshold as well.
        """
        return self._trigger.mistakes_counted_max

    def precision_error(self) -> Fraction:
        """Bound on the total variation distance of a season from its ideal real-valued noise."""
        return self._trigger.precision_error() + self._selection.precision_error(self.hypotheses)

    # -- the state machine -------------------------------------------------------------------

    def step(self, state: OnlineState, event: Event, noise: NoiseSource) -> Step:
        """One transition; pure, and total on every state that the learner itself reaches."""
        match event:
            case SeasonOpened():
                return self._open(state, event)
            case Examples():
                return self._observe(state, event, LearnerNoise(self.name, noise))
            case CallAdmitted():
                return self._train(state, event.place, LearnerNoise(self.name, noise))
            case CallRefused():
                return self._halt(state, event.place)

    def quiet_until(self, state: OnlineState) -> None:
        """Where a trigger may fire is nobody's to know; schedules publish too seldom to matter."""

    def settled(self, state: OnlineState) -> OnlineState:
        """The same state in a form that does not show how its examples came in batches.

        A learner goes on from it as it would have otherwise.
        """
        return self._keeping.settled(state)

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
            memory=self._selection.opened(self.hypotheses, state.rule),
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
        nobody = None if self.parameters.user_examples_max is None else UserCounts()
        same = self.parameters.buffer == "mistakes" and self._trigger.counts_mistakes
        return replace(
            self._keeping.emptied(state),
            mistakes=0,
            threshold_noise=None,
            tallies=None,
            users_counted=nobody,
            users_kept=None if same else nobody,
        )

    def _observe(self, state: OnlineState, event: Examples, noise: LearnerNoise) -> Step:
        """Algorithm 3, lines 9 to 15, for a whole batch, up to and with the end of the epoch."""
        count = len(event.y)
        if state.halted or not count:
            return Step(state, consumed=count)
        if (event.users is None) != (self.parameters.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        part = self._trigger.part(state, event)
        if part is None:
            return Step(state, consumed=count)
        mistake = state.rule.evaluate(part.x) != part.y
        threshold = self._selection.settings(state).trigger_threshold
        looked = self._trigger.look(state, part, mistake, threshold, noise)
        wanted = looked.counted if state.users_kept is None else mistake
        part = part.take(slice(looked.consumed))
        if state.calls < self.parameters.calls_max:  # else no call will see any of this
            state = self._keeping.keep(state, part, wanted[: looked.consumed], noise)
        state = self._trigger.counted(state, part, looked)
        step = Step(state, consumed=looked.consumed, wrong=mistake[: looked.consumed])
        if not looked.fires:
            return step
        at = part.place_of(looked.consumed - 1)
        if state.calls >= self.parameters.calls_max:
            halted = self._halt(state, at)
            return replace(step, state=halted.state, effects=halted.effects)
        return replace(step, effects=(CallRequested(at, self.call_event()),))

    def state_to_dict(self, state: OnlineState) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""
        return state_to_dict(state)

    def state_from_dict(self, values: dict[str, Any]) -> OnlineState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if its fields differ."""
        return state_from_dict(values)

    def after_restore(self, state: OnlineState, version: int) -> OnlineState:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, version=max(state.version, version))

    def _train(self, state: OnlineState, place: Place, noise: LearnerNoise) -> Step:
        """Algorithm 3, lines 16 to 22: select, publish, begin the next epoch."""
        state = self._keeping.with_user_words(self._keeping.closed(state), noise)
        state = self._keeping.recalled(state, place)
        state, rule = self._selection.select(self.hypotheses, state, place, noise)
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
            published = self._keeping.next_epoch(published)
        return Step(published, (_published("rule", published, place.position + 1),))


def _published(kind: str, state: OnlineState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
