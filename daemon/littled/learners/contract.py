"""What every kind of learner is for whoever runs it, and nothing else is known of a kind.

A learner that publishes rules (`Learner`) is run by the engine. A season of it is a pure state
machine, `step(state, event, noise)`: events of a stream in, effects out. The engine opens seasons,
hands over examples, and asks the filter of the budget before it admits a call of training.

A learner that answers requests (`AnsweringLearner`) is never stepped: it has no state, and makes
single answers from windows of examples. What one window costs is charged when a season opens.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import PrivacyEvent
from littled.classes.base import Labels, Points
from littled.learners.users import Users
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.facts import StateFacts
from littled_protocol.figures import Figure
from littled_protocol.rules import Rule, Words


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the durable history an event happens.

    `chain_head` is the journal's chain head at the record that holds `position`;
    `record_position` is the position of that record's first example.
    """

    chain_head: bytes
    record_position: int
    position: int


@dataclass(frozen=True, slots=True)
class SeasonOpened:
    """A new season begins at this position; nothing of its data has been seen."""

    season: int
    position: int


@dataclass(frozen=True, slots=True)
class Examples:
    """Consecutive examples, the first of them at position `place.position`.

    They are a slice of one journal record, or go on into `further` records: chain head and first
    position of each. What is learned from them is the same as from one record after the other.

    `users`: the 128-bit keyed hash of each example's user, uint64 (n, 2), on streams whose unit is
    a user; None on others.
    """

    place: Place
    x: Points
    y: Labels
    users: Users | None = None
    further: tuple[tuple[bytes, int], ...] = ()

    def place_of(self, index: int) -> Place:
        """The place of the example with this index."""
        position = self.place.position + index
        number = bisect_right(self.further, position, key=lambda record: record[1])
        if not number:
            return Place(self.place.chain_head, self.place.record_position, position)
        return Place(*self.further[number - 1], position)

    def rest(self, count: int) -> "Examples":
        """The examples after the first `count`, of which there is one at least."""
        place = self.place_of(count)
        further = tuple(record for record in self.further if record[1] > place.position)
        users = None if self.users is None else self.users[count:]
        return Examples(place, self.x[count:], self.y[count:], users, further)

    def take(self, chosen: slice | NDArray[np.bool_]) -> "Examples":
        """The chosen examples; `place` stays that of them all."""
        if isinstance(chosen, slice):
            if chosen.start is None and (chosen.stop or 0) >= len(self.y):
                return self
        else:  # many times as fast for rows as the flags themselves
            places = np.flatnonzero(chosen)
            users = None if self.users is None else self.users.take(places, axis=0)
            return replace(self, x=self.x.take(places, axis=0), y=self.y.take(places), users=users)
        users = None if self.users is None else self.users[chosen]
        return replace(self, x=self.x[chosen], y=self.y[chosen], users=users)


@dataclass(frozen=True, slots=True)
class CallAdmitted:
    """The call requested at this place is paid for and durable: train and publish."""

    place: Place


@dataclass(frozen=True, slots=True)
class CallRefused:
    """The budget does not allow the call requested at this place."""

    place: Place


Event = SeasonOpened | Examples | CallAdmitted | CallRefused


@dataclass(frozen=True, slots=True)
class SeasonPriced:
    """What the season costs whatever happens in it; charged before its first example."""

    events: tuple[PrivacyEvent, ...]


@dataclass(frozen=True, slots=True)
class CallRequested:
    """The trigger fired; a call would cost `event`.

    short: whether it needs no training, and takes no longer than an example: who makes it need not
    leave the thread of the engine.
    """

    place: Place
    event: PrivacyEvent
    short: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A public release: kind "rule", "season" or "halt"."""

    kind: str
    version: int
    season: int
    epoch: int
    position: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Measured:
    """A public release: how often the rules of a period were wrong."""

    figure: Figure


Effect = SeasonPriced | CallRequested | Published | Measured


# -- learners that publish rules -----------------------------------------------------------------


class LearnerState(Protocol):
    """What the engine reads of a state: public facts. All else in it is the learner's own."""

    @property
    def rule(self) -> Rule:
        """The rule that is published."""

    @property
    def version(self) -> int:
        """Number of the last release; 0 before the first."""

    @property
    def epoch(self) -> int:
        """Calls of training that were made, over all seasons."""

    @property
    def halted(self) -> bool:
        """Whether the learner does nothing more before the next season opens."""


State = TypeVar("State", bound=LearnerState)


@dataclass(frozen=True, slots=True)
class Step(Generic[State]):
    """Result of one step: the new state, the effects in order, and the examples consumed.

    wrong: bool (consumed,), private: where the rule that was published erred on these examples, if
    the step has looked at that; else None.
    """

    state: State
    effects: tuple[Effect, ...] = ()
    consumed: int = 0
    wrong: NDArray[np.bool_] | None = None


class Learner(Protocol[State]):
    """A learner that publishes rules, for one class with public parameters. Immutable.

    The engine sends states back as they are and changes none. Whatever a step draws follows from
    `noise` and the place of its event, so that a replay draws the same.
    """

    @property
    def name(self) -> str:
        """The name "stream/learner", which separates the noise of learners."""

    def initial(self) -> State:
        """The state before the first season opens."""

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What is charged when a season opens, in this order."""

    def call_event(self) -> PrivacyEvent:
        """What one call of training is charged."""

    @property
    def calls_max(self) -> int:
        """Calls of training that a season has at the most."""

    def calls_left(self, state: State) -> int:
        """Calls of training that may still come in this season; it changes with releases alone."""

    def step(self, state: State, event: Event, noise: NoiseSource) -> Step[State]:
        """One transition; pure, and total on every state that the learner itself reaches."""

    def quiet_until(self, state: State) -> int | None:
        """The first position whose example may have effects in this season; None if not public.

        It follows from public facts alone. Whoever steps over many records at once need not step
        over any of them twice then.
        """

    def settled(self, state: State) -> State:
        """The same state in a form that does not show how its examples came in batches."""

    def after_restore(self, state: State, version: int) -> State:
        """The state whose next version is above `version`, the last one that a store had lost."""

    def state_to_dict(self, state: State) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""

    def state_from_dict(self, values: dict[str, Any]) -> State:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""


def public_facts(state: LearnerState, words: Words) -> StateFacts:
    """What anybody may know about a learner that publishes rules, JSON-able; the rule in words."""
    return {
        "words": words.to_status(),
        "version": state.version,
        "epoch": state.epoch,
        "halted": state.halted,
        "rule": state.rule.describe(words),
    }


# -- learners that answer requests ---------------------------------------------------------------

Prepared = TypeVar("Prepared")


class AnsweringLearner(Protocol[Prepared]):
    """A learner that answers requests from windows of consecutive examples. Immutable."""

    @property
    def name(self) -> str:
        """The name "stream/learner", which separates the noise of learners."""

    @property
    def method(self) -> str:
        """The public word for how answers are made."""

    @property
    def window(self) -> int:
        """Examples in a window."""

    @property
    def answers_max(self) -> int:
        """Answers that a window is paid for."""

    def window_events(self) -> tuple[PrivacyEvent, ...]:
        """What one full window costs in all; an example is in one window."""

    def answers_event(self, count: int) -> PrivacyEvent:
        """What so many answers cost, whatever they are about."""

    def prepare(self, x: Points, y: Labels) -> Prepared:
        """The work on a window of points `x` (n,) with labels `y` (n,) that is done once."""

    def answer(
        self, prepared: Prepared, points: Points, noise: NoiseSource, address: Address
    ) -> Labels:
        """One answer for each of `points` (m,), uint8 (m,), with the noise at `address`."""
