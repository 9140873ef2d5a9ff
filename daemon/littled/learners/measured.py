"""A learner whose published rules are measured: how often they were wrong, at public positions.

Source: ours; the mechanism is `littled.mechanisms.noisy_counts`. Price and proof: PRIVACY.md,
section 19.

The first `periods * period` examples of a season are cut into periods of `period` examples at
public positions. Each example is judged by the rule that was in force when it came, whatever the
learner makes of it, and counted in its own period. At the end of a period the number of mistakes is
released with noise, and forgotten. A learner that has halted is measured on, as its last rule stays
published. What is left over at a season's end is in no period, and so is a period that a restore
breaks off.

Where users are protected, each of them is counted once in a season: the first of their examples in
the one period that their keyed hash names. How many that are is not public either, so that mistakes
and other examples are released, each with noise.

A season is a pure state machine, around that of the learner. What the learner does, draws and
publishes is what it does unmeasured; its examples come in shorter batches, which changes nothing.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import MistakeCounts, PrecisionLoss, PrivacyEvent
from littled.budget.rounding import from_text, to_text
from littled.learners.contract import (
    Event,
    Examples,
    Learner,
    LearnerState,
    Measured,
    Place,
    SeasonOpened,
    SeasonPriced,
    Step,
)
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled.learners.users import UserCounts
from littled.mechanisms.noise import Address, NoiseSource
from littled.mechanisms.noisy_counts import NoisyCounts
from littled.written import write_exactly
from littled_protocol.figures import Figure
from littled_protocol.rules import Rule

State = TypeVar("State", bound=LearnerState)
Flags = NDArray[np.bool_]

# Examples of one user and season that are counted.
USER_EXAMPLES: Final = 1


@dataclass(frozen=True, slots=True)
class QualitySettings:
    """How the rules of a learner are measured: public, and stored with its parameters.

    rate: e of the noise on each count. period: examples in each of the `periods` of a season.
    ValueError, one sentence, for what cannot be.
    """

    rate: Fraction
    period: int
    periods: int

    def __post_init__(self) -> None:
        """Refuse what is no rate, and periods without examples."""
        write_exactly(self, "rate")
        _ = NoisyCounts(self.rate)
        for name in ("period", "periods"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"quality needs a {name} of at least 1")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; the rate as "numerator/denominator"."""
        return {"rate": to_text(self.rate), "period": self.period, "periods": self.periods}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The settings that `to_dict` wrote; ValueError for anything else."""
        if not isinstance(values, dict) or set(values) != {one.name for one in fields(cls)}:
            raise ValueError("stored settings of quality must have a rate, a period and periods")
        return cls(from_text(values["rate"]), values["period"], values["periods"])


@dataclass(frozen=True, slots=True)
class Counting:
    """The present period so far. Private, but for `first_version`.

    first_version: of the rule at its first example, None before that. wrong: mistakes. right: other
    examples, and users: whose were counted, where users are protected; else 0 and None.
    """

    first_version: int | None = None
    wrong: int = 0
    right: int = 0
    users: UserCounts | None = None


@dataclass(frozen=True, slots=True)
class MeasuredState(Generic[State]):
    """The state of the learner, and what is counted.

    season, season_position: the present season and where it began. figures: number of the last
    figure, and `last` the figure itself; all of these are public.
    """

    learner: State
    season: int = -1
    season_position: int = 0
    figures: int = 0
    last: Figure | None = None
    counting: Counting = Counting()

    @property
    def rule(self) -> Rule:
        """The rule that is published."""
        return self.learner.rule

    @property
    def version(self) -> int:
        """Number of the learner's last release."""
        return self.learner.version

    @property
    def epoch(self) -> int:
        """Calls of training that were made."""
        return self.learner.epoch

    @property
    def halted(self) -> bool:
        """Whether the learner does nothing more; its last rule is measured on."""
        return self.learner.halted


@dataclass(frozen=True)
class MeasuredLearner(Generic[State]):
    """A learner that publishes rules, measured; `users`: whether users are protected."""

    learner: Learner[State]
    quality: QualitySettings
    users: bool

    # -- public facts ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name "stream/learner"."""
        return self.learner.name

    @property
    def calls_max(self) -> int:
        """Calls of training that a season has at the most."""
        return self.learner.calls_max

    def calls_left(self, state: MeasuredState[State]) -> int:
        """Calls of training that may still come in this season."""
        return self.learner.calls_left(state.learner)

    def initial(self) -> MeasuredState[State]:
        """The state before the first season opens."""
        return MeasuredState(self.learner.initial())

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What is charged when a season opens: all counts first, then what the learner is."""
        *events, loss = self.learner.season_events()
        assert isinstance(loss, PrecisionLoss), "a season's events end with its precision"
        counts = self.quality.periods * (2 if self.users else 1)
        distance = loss.total_variation + self._noise.precision_error(counts)
        own = MistakeCounts(self.quality.rate, USER_EXAMPLES if self.users else 0)
        return (own, *events, replace(loss, total_variation=min(Fraction(1), distance)))

    def call_event(self) -> PrivacyEvent:
        """What one call of training is charged."""
        return self.learner.call_event()

    # -- the state machine -------------------------------------------------------------------

    def step(
        self, state: MeasuredState[State], event: Event, noise: NoiseSource
    ) -> Step[MeasuredState[State]]:
        """One transition; pure, and total on every state that the learner itself reaches."""
        if isinstance(event, Examples):
            return self._observe(state, event, noise)
        step = self.learner.step(state.learner, event, noise)
        state = replace(state, learner=step.state)
        if not isinstance(event, SeasonOpened):
            return Step(state, step.effects, step.consumed)
        opened = replace(
            state, season=event.season, season_position=event.position, counting=self._nothing
        )
        priced = SeasonPriced(self.season_events())
        effects = (priced if isinstance(each, SeasonPriced) else each for each in step.effects)
        return Step(opened, tuple(effects))

    def quiet_until(self, state: MeasuredState[State]) -> int | None:
        """As the learner says it; a figure comes seldom enough to be found on the way."""
        return self.learner.quiet_until(state.learner)

    def _observe(
        self, state: MeasuredState[State], event: Examples, noise: NoiseSource
    ) -> Step[MeasuredState[State]]:
        """A batch up to the end of its period, or to where the learner stops."""
        length = self.quality.period
        period, before = divmod(event.place.position - state.season_position, length)
        measured = period < self.quality.periods
        part = event.take(slice(length - before)) if measured else event
        step = self.learner.step(state.learner, part, noise)
        done, after = step.consumed, replace(state, learner=step.state)
        if not measured or not done:
            return Step(after, step.effects, done)
        seen = part.take(slice(done))
        counting = self._counted(state, period, seen, step.wrong)
        if before + done < length:
            return Step(replace(after, counting=counting), step.effects, done)
        figure = self._figure(state, counting, part.place_of(done - 1), noise)
        after = replace(after, figures=figure.number, last=figure, counting=self._nothing)
        return Step(after, (Measured(figure), *step.effects), done)

    def _counted(
        self, state: MeasuredState[State], period: int, seen: Examples, wrong: Flags | None
    ) -> Counting:
        """The period's counts with these examples, judged by the rule that is in force."""
        now, rule = state.counting, state.learner.rule
        first = state.learner.version if now.first_version is None else now.first_version
        if now.users is None:
            if wrong is None:
                wrong = rule.evaluate(seen.x) != seen.y
            return replace(now, first_version=first, wrong=now.wrong + int(np.count_nonzero(wrong)))
        assert seen.users is not None, "where users are protected, examples come with them"
        own = seen.users[:, 1] % np.uint64(self.quality.periods) == period
        chosen = now.users.admitted(seen.users, own, USER_EXAMPLES)
        if wrong is None:
            counted = seen.take(chosen)
            mistakes = int(np.count_nonzero(rule.evaluate(counted.x) != counted.y))
        else:
            mistakes = int(np.count_nonzero(wrong & chosen))
        return Counting(
            first,
            now.wrong + mistakes,
            now.right + int(np.count_nonzero(chosen)) - mistakes,
            now.users.plus(seen.users[chosen]),
        )

    def _figure(
        self, state: MeasuredState[State], counting: Counting, place: Place, noise: NoiseSource
    ) -> Figure:
        """What is released of a whole period, whose last example is at this place."""
        counts = (counting.wrong, counting.right) if self.users else (counting.wrong,)
        address = Address(place.chain_head, self.name, "quality", place.position)
        words = noise.words(address, len(counts) * NoisyCounts.WORDS)
        noisy = self._noise.released(counts, words.reshape(len(counts), NoisyCounts.WORDS))
        assert counting.first_version is not None, "a period has examples"
        end = place.position + 1
        return Figure(
            number=state.figures + 1,
            season=state.season,
            first=end - self.quality.period,
            end=end,
            first_version=counting.first_version,
            last_version=state.learner.version,
            wrong=noisy[0],
            right=noisy[1] if self.users else None,
        )

    # -- snapshots and restores --------------------------------------------------------------

    def settled(self, state: MeasuredState[State]) -> MeasuredState[State]:
        """The same state in a form that does not show how its examples came in batches."""
        return replace(state, learner=self.learner.settled(state.learner))

    def after_restore(self, state: MeasuredState[State], version: int) -> MeasuredState[State]:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, learner=self.learner.after_restore(state.learner, version))

    def with_figures(self, state: MeasuredState[State], number: int) -> MeasuredState[State]:
        """The state whose next figure's number is above `number`, the last that was lost."""
        return replace(state, figures=max(state.figures, number))

    def state_to_dict(self, state: MeasuredState[State]) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""
        counting = state.counting
        return {
            "learner": self.learner.state_to_dict(state.learner),
            "season": state.season,
            "season_position": state.season_position,
            "figures": state.figures,
            "last": None if state.last is None else state.last.to_bytes(),
            "counting": {
                "first_version": counting.first_version,
                "wrong": counting.wrong,
                "right": counting.right,
                "users": counts_to_dict(counting.users),
            },
        }

    def state_from_dict(self, values: dict[str, Any]) -> MeasuredState[State]:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
        counting = values.get("counting", {})
        if set(values) != {one.name for one in fields(MeasuredState)} or set(counting) != {
            one.name for one in fields(Counting)
        }:
            raise SnapshotUnusable("the snapshot has the fields of another version")
        last = values["last"]
        read = {
            **values,
            "learner": self.learner.state_from_dict(values["learner"]),
            "last": None if last is None else Figure.from_bytes(last),
            "counting": Counting(**{**counting, "users": counts_from_dict(counting["users"])}),
        }
        return MeasuredState(**read)

    # -- parts -------------------------------------------------------------------------------

    @cached_property
    def _noise(self) -> NoisyCounts:
        return NoisyCounts(self.quality.rate)

    @property
    def _nothing(self) -> Counting:
        """A period before its first example."""
        return Counting(users=UserCounts() if self.users else None)
