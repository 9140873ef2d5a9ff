"""One run: the engine's learner against an evader, or on a stream that is fixed beforehand."""

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.evasion.fixed import FixedStream
from benchmarks.evasion.game import Choice, Game, Rows
from benchmarks.evasion.policies import Policy
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner
from littled.mechanisms.noise import KeyedNoise
from littled_protocol.rules import Rule

# Examples that are handed over at once: at first after a release, and at the most.
BATCH_FIRST, BATCH_MAX = 1024, 16_384


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    mistakes: of the published rules, where they count; examples: how many were learned; epochs: how
    many calls of training were made. stopped: whether it ended at the most mistakes of a run.
    """

    mistakes: int
    examples: int
    epochs: int
    halted: bool
    stopped: bool


class Opponent(Protocol):
    """Who writes a stream; it is told every release."""

    counted: int

    def released(self, rule: Rule) -> None:
        """This rule is published from now on, anew or still."""

    def examples(self, position: int, count: int) -> Rows:
        """The examples from this position on, if nothing is released meanwhile."""


class Evader:
    """A game that is played by a policy."""

    counted = 0

    def __init__(self, game: Game[Any], policy: Policy, seed: int) -> None:
        """Begin; what is hidden, and every choice, follows from the seed."""
        self.game, self._policy, self._seed = game, policy, seed
        self.state = game.begin(np.random.default_rng([seed, 0]), policy.place)
        self._releases = 0
        self._pace = 1
        self._choice: Choice | None = None

    def released(self, rule: Rule) -> None:
        """Choose what to show against it."""
        self._releases += 1
        style = self._policy.style(self._releases)
        rng = np.random.default_rng([self._seed, self._releases])
        self._choice, self.state = self.game.choose(self.state, rule, style, rng)
        self._pace = style.pace

    def examples(self, position: int, count: int) -> Rows:
        """What was chosen, again and again."""
        assert self._choice is not None
        return self._choice.examples(self._pace, position, count)


class Prepared:
    """A fixed stream, whatever is released."""

    def __init__(self, stream: FixedStream) -> None:
        """The stream."""
        self._rows, self.counted = stream.rows, stream.counted

    def released(self, rule: Rule) -> None:
        """Do nothing."""

    def examples(self, position: int, count: int) -> Rows:
        """The examples at these positions."""
        part = slice(position, position + count)
        return Rows(self._rows.x[part], self._rows.y[part])


def users_from(position: int, count: int) -> NDArray[np.uint64]:
    """A user of its own for each of so many positions, (count, 2).

    They differ in the first word, as keyed hashes do: users who share it are looked up one by one.
    """
    numbers = np.arange(position, position + count, dtype=np.uint64)
    return np.stack((numbers, np.zeros_like(numbers)), axis=1)


def play(learner: OnlineLearner, opponent: Opponent, horizon: int, seed: int, most: int) -> Outcome:
    """A season of `horizon` examples, or up to so many mistakes; every call is admitted.

    Where users are protected each example is one of another user.
    """
    protects_users = learner.parameters.user_examples_max is not None
    noise = KeyedNoise(hashlib.blake2b(f"{seed}".encode(), digest_size=32).digest())
    state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
    opponent.released(state.rule)
    position = mistakes = records = epochs = 0
    size = BATCH_FIRST
    while position < horizon and mistakes < most:
        rows = opponent.examples(position, min(size, horizon - position))
        head = hashlib.blake2b(f"{seed}/{records}".encode(), digest_size=32).digest()
        records += 1
        wrong = state.rule.evaluate(rows.x) != rows.y
        wrong[: max(0, opponent.counted - position)] = False
        users = users_from(position, len(rows)) if protects_users else None
        place = Place(head, position, position)
        step = learner.step(state, Examples(place, rows.x, rows.y, users), noise)
        mistakes += int(np.count_nonzero(wrong[: step.consumed]))
        position += step.consumed
        version, state = state.version, step.state
        size = min(2 * size, BATCH_MAX)
        for effect in step.effects:
            if isinstance(effect, CallRequested):
                state = learner.step(state, CallAdmitted(effect.place), noise).state
                epochs += 1
        if state.version != version:
            opponent.released(state.rule)
            size = BATCH_FIRST
    return Outcome(mistakes, position, epochs, state.halted, position < horizon)
