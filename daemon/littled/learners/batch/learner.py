"""The window learner: one rule from each window of n consecutive examples, for ever.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Theorem 3 (teachers); Alon, Bun,
Livni, Malliaris, Moran, "Private and Online Learnability are Equivalent", Lemma 29 (dense) and
Theorem 30 (one rule a chunk: closure).

Windows are at public positions: the examples 0..n-1, n..2n-1, ... of a season; what is left over at
a season's end is in none. A window's rule is drawn from its own examples alone. So an example is in
one draw at the most, and all windows of a season together cost it what one of them does: the price
is charged when the season opens, and a window's call costs nothing more (PRIVACY.md, section 15).

What is the same for all that may be drawn from windows is in `WindowLearner`; `BatchLearner` draws
rules of a class.

A season is a pure state machine, `step(state, event, noise)`, with the events and effects of
`littled.learners.contract`. Every full window makes exactly one release; bottom, where a window
does not say enough, releases the rule that is published already. There is no trigger: nothing is
tested and no noise is drawn before a window is full.

Where users are protected (`user_examples_max` = c) the first c examples of each user and season are
learned from, the others leave their places in the windows empty, and all examples of a user are in
one chunk, which the user's secret word chooses.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from littled.budget.events import PrecisionLoss, PrepaidSelection, PrivacyEvent
from littled.classes.base import Labels, Points
from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch.methods import Draw, Selection, Window, selection_of
from littled.learners.batch.parameters import BatchParameters
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
    Step,
)
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled.learners.users import UserCounts, Users, user_words
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.rules import Rule, rule_from_dict

# Consecutive examples of a window: points, labels and, where users are protected, users.
Piece = tuple[Points, Labels, Users | None]


@dataclass(frozen=True, slots=True)
class BatchState:
    """Everything the learner knows. Public: the fields up to `calls`; the rest never leaves.

    `epoch` counts all windows so far that made a release, `calls` those of the season;
    `epoch_position` is where the present window begins. `pieces` are the examples of this window so
    far that are learned from; `users_kept` counts those of each user and season, None where
    examples are protected.
    """

    rule: Rule
    version: int = 0
    season: int = -1
    epoch: int = 0
    epoch_position: int = 0
    halted: bool = False
    calls: int = 0
    pieces: tuple[Piece, ...] = ()
    users_kept: UserCounts | None = None


class WindowParameters(Protocol):
    """What any learner of windows needs of its public parameters."""

    @property
    def epsilon(self) -> Fraction:
        """What is promised for all that is released about an example."""

    @property
    def window(self) -> int:
        """Examples in a window."""

    @property
    def windows(self) -> int:
        """Windows of a season."""

    @property
    def user_examples_max(self) -> int | None:
        """c of "User-level privacy", None where one example is protected."""


class WindowDraw(Protocol):
    """What is drawn from one full window, and what that costs."""

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What all windows of a season cost together; finite precision is not in it."""

    def precision_error(self) -> Fraction:
        """Bound on the total variation of one window's release from the ideal one."""

    def select(self, window: Window, draw: Draw) -> Rule | None:
        """What one window releases; None for bottom, after which the published rule stays."""


@dataclass(frozen=True)
class WindowLearner(ABC):
    """What every learner of windows does, whatever it draws from them.

    `name` is "stream/learner" and separates the noise of learners on one stream. ValueError, one
    sentence, for parameters that do not fit the class.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: WindowParameters

    def __post_init__(self) -> None:
        """Check the parameters against the class, and the rates against the mechanisms."""
        _ = self.precision_error()

    @property
    @abstractmethod
    def _selection(self) -> WindowDraw:
        """What is drawn from a full window."""

    @property
    def _chunks(self) -> int:
        """Chunks of a window; 0 where its examples are taken together."""
        return 0

    # -- public facts ------------------------------------------------------------------------

    def initial(self) -> BatchState:
        """The state before the first season opens."""
        return BatchState(rule=self.hypotheses.first_rule())

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Privacy events charged when a season opens: one window's, and finite precision."""
        loss = PrecisionLoss(self.precision_error(), self.parameters.epsilon)
        return (*self._selection.season_events(), loss)

    def call_event(self) -> PrivacyEvent:
        """Privacy event of one window's call."""
        return PrepaidSelection(draws=1)

    @property
    def calls_max(self) -> int:
        """Calls of training that a season has at the most: one for each full window."""
        return self.parameters.windows

    def calls_left(self, state: BatchState) -> int:
        """Windows that may still make a release in this season."""
        return 0 if state.halted else self.calls_max - state.calls

    def precision_error(self) -> Fraction:
        """Bound on the total variation distance of a season from its ideal real-valued noise."""
        return min(Fraction(1), self.parameters.windows * self._selection.precision_error())

    # -- the state machine -------------------------------------------------------------------

    def step(self, state: BatchState, event: Event, noise: NoiseSource) -> Step[BatchState]:
        """One transition; pure, and total on every state that the learner itself reaches."""
        match event:
            case SeasonOpened():
                return self._open(state, event)
            case Examples():
                return self._observe(state, event)
            case CallAdmitted():
                return self._train(state, event.place, noise)
            case CallRefused():
                return self._halt(state, event.place)

    def _open(self, state: BatchState, event: SeasonOpened) -> Step[BatchState]:
        opened = replace(
            state,
            version=state.version + 1,
            season=event.season,
            epoch_position=event.position,
            halted=False,
            calls=0,
            pieces=(),
            users_kept=None if self.parameters.user_examples_max is None else UserCounts(),
        )
        kind = "season" if event.season else "rule"
        effects = (SeasonPriced(self.season_events()), _published(kind, opened, event.position))
        return Step(opened, effects)

    def _halt(self, state: BatchState, place: Place) -> Step[BatchState]:
        """The last rule stays published, and nothing is learned until the next season."""
        halted = replace(state, halted=True, version=state.version + 1, pieces=())
        return Step(halted, (_published("halt", halted, place.position + 1),))

    def _observe(self, state: BatchState, event: Examples) -> Step[BatchState]:
        """A batch up to the public end of the window."""
        count = len(event.y)
        if state.halted or not count:
            return Step(state, consumed=count)
        if (event.users is None) != (self.parameters.user_examples_max is None):
            raise ValueError("examples come with their users where users are protected, only there")
        if state.calls >= self.parameters.windows:  # left over at the season's end
            return Step(state, consumed=count)
        left = self.parameters.window - (event.place.position - state.epoch_position)
        event = event.take(slice(left))
        state = self._keep(state, event)
        if count < left:
            return Step(state, consumed=count)
        at = event.place_of(left - 1)
        return Step(state, (CallRequested(at, self.call_event()),), left)

    def _keep(self, state: BatchState, event: Examples) -> BatchState:
        """The examples, or of each user the first c of the season: its own decide, nobody else's.

        Pieces are joined so that each is more than twice as long as the next: of n examples, one by
        one, there are about log n, and each is copied about log n times.
        """
        x, y, users = event.x, event.y, event.users
        counts, most = state.users_kept, self.parameters.user_examples_max
        if users is not None and counts is not None and most is not None:
            chosen = counts.admitted(users, np.ones(len(y), dtype=np.bool_), most)
            x, y, users = x[chosen], y[chosen], users[chosen]
            state = replace(state, users_kept=counts.plus(users))
        pieces = [*state.pieces, (x, y, users)]
        while len(pieces) > 1 and len(pieces[-2][1]) <= 2 * len(pieces[-1][1]):
            last = pieces.pop()
            pieces[-1] = _joined((pieces[-1], last))
        return replace(state, pieces=tuple(pieces))

    def quiet_until(self, state: BatchState) -> int:
        """The last example of the window."""
        return state.epoch_position + self.parameters.window - 1

    def settled(self, state: BatchState) -> BatchState:
        """The same state in a form that does not show how its examples came in batches.

        A learner goes on from it as it would have otherwise.
        """
        return replace(state, pieces=(_joined(state.pieces),)) if state.pieces else state

    def after_restore(self, state: BatchState, version: int) -> BatchState:
        """The state whose next version is above `version`, the last one that a store had lost."""
        return replace(state, version=max(state.version, version))

    def state_to_dict(self, state: BatchState) -> dict[str, Any]:
        """Plain values and arrays of a state, for a snapshot."""
        values = {field.name: getattr(state, field.name) for field in fields(state)}
        return {
            **values,
            "rule": state.rule.to_dict(),
            "pieces": [list(piece) for piece in state.pieces],
            "users_kept": counts_to_dict(state.users_kept),
        }

    def state_from_dict(self, values: dict[str, Any]) -> BatchState:
        """The state that `state_to_dict` wrote; SnapshotUnusable if it is of another version."""
        if set(values) != {field.name for field in fields(BatchState)}:
            raise SnapshotUnusable("the snapshot has the fields of another version")
        read = {
            **values,
            "rule": rule_from_dict(values["rule"]),
            "pieces": tuple((x, y, users) for x, y, users in values["pieces"]),
            "users_kept": counts_from_dict(values["users_kept"]),
        }
        return BatchState(**read)

    def _train(self, state: BatchState, place: Place, noise: NoiseSource) -> Step[BatchState]:
        """Draw the window's rule, publish, forget the window and begin the next one."""
        # also from a window without a single example, all its users having given enough: whether
        # there is one may depend on one user alone
        draw = Draw(noise, Address(place.chain_head, self.name, "select", place.position))
        rule = self._selection.select(self._window(state, noise), draw)
        published = replace(
            state,
            rule=state.rule if rule is None else rule,
            version=state.version + 1,
            epoch=state.epoch + 1,
            epoch_position=place.position + 1,
            calls=state.calls + 1,
            pieces=(),
        )
        return Step(published, (_published("rule", published, place.position + 1),))

    def _window(self, state: BatchState, noise: NoiseSource) -> Window:
        """The window's examples with their chunks: of example i, or of its user's secret word."""
        x, y, users = _joined(state.pieces)
        chunks = self._chunks
        if not chunks:
            return Window(x, y, np.zeros(len(y), dtype=np.int64))
        if users is None:
            return Window(x, y, np.arange(len(y), dtype=np.int64) % chunks)
        words = user_words(users, self.name, state.season, noise)
        return Window(x, y, (words % np.uint64(chunks)).astype(np.int64))


@dataclass(frozen=True)
class BatchLearner(WindowLearner):
    """The window learner for one class with public parameters: a rule from each window."""

    parameters: BatchParameters

    @cached_property
    def _selection(self) -> Selection:
        return selection_of(self.hypotheses, self.parameters)

    @property
    def _chunks(self) -> int:
        return self.parameters.chunks


def _joined(pieces: tuple[Piece, ...]) -> Piece:
    """Consecutive pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    users = [whose for _, _, whose in pieces if whose is not None]
    return (
        np.concatenate([x for x, _, _ in pieces]),
        np.concatenate([y for _, y, _ in pieces]),
        np.concatenate(users) if users else None,
    )


def _published(kind: str, state: BatchState, position: int) -> Published:
    return Published(kind, state.version, state.season, state.epoch, position, state.rule)
