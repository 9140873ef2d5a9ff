"""What every learner that the engine runs takes and gives: events of a stream in, effects out.

A season of such a learner is a pure state machine, `step(state, event, noise)`. The engine opens
seasons, hands over examples, and asks the filter of the budget before it admits a call of training;
it knows no kind of learner beyond this.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import PrivacyEvent
from littled.classes.base import Labels, Points
from littled.learners.users import Users
from littled_protocol.rules import Rule


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
            return replace(self.place, position=position)
        return Place(*self.further[number - 1], position)

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
    """The trigger fired; a call would cost `event`."""

    place: Place
    event: PrivacyEvent


@dataclass(frozen=True, slots=True)
class Published:
    """A public release: kind "rule", "season" or "halt"."""

    kind: str
    version: int
    season: int
    epoch: int
    position: int
    rule: Rule


Effect = SeasonPriced | CallRequested | Published
