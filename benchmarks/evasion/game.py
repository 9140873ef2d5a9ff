"""What an evader of any class is: a set of rules that fit, and what it shows against a rule.

A game is a pure value. It is asked once for every release; what it says then is shown until the
next one, however often, so the rules that fit are narrowed when it is said.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from benchmarks.evasion.policies import Style
from littled.classes.base import Labels, Points
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule

Generator = np.random.Generator
State = TypeVar("State")

# Different mistakes that are shown at once, where mistakes are spread.
SPREAD_ROWS = 64


@dataclass(frozen=True)
class Rows:
    """Points (n,) or (n, m) of the class's type with labels (n,); there may be none."""

    x: Points
    y: Labels

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.y)

    def __add__(self, other: "Rows") -> "Rows":
        """These, then the others."""
        return Rows(np.concatenate((self.x, other.x)), np.concatenate((self.y, other.y)))

    def split(self, rule: Rule) -> tuple["Rows", "Rows"]:
        """Those on which the rule errs, and those on which it is right."""
        wrong = rule.evaluate(self.x) != self.y
        return Rows(self.x[wrong], self.y[wrong]), Rows(self.x[~wrong], self.y[~wrong])


def column(values: list[int], x_type: str) -> Points:
    """Numbers as points of a type of up to 128 bits."""
    kind = point_type(x_type)
    if kind.columns == 1:
        return np.array(values, dtype=kind.dtype)
    words = [(value >> 64, value & (2**64 - 1)) for value in values]
    return np.array(words, dtype=kind.dtype).reshape(-1, kind.columns)


def labelled(x: Points, label: int) -> Rows:
    """Points that have one label."""
    return Rows(x, np.full(len(x), label, dtype=np.uint8))


@dataclass(frozen=True)
class Choice:
    """Mistakes of the published rule, and examples that come between; one of them has some."""

    mistakes: Rows
    free: Rows

    def examples(self, pace: int, position: int, count: int) -> Rows:
        """The examples from this position on: one in `pace` is a mistake, if there are both."""
        places = position + np.arange(count)
        if not len(self.free) or not len(self.mistakes):
            rows = self.mistakes if len(self.mistakes) else self.free
            places %= len(rows)
            return Rows(rows.x.take(places, axis=0), rows.y.take(places))
        turn, behind = np.divmod(places, pace)
        free = (places - turn - 1) % len(self.free) + len(self.mistakes)
        places = np.where(behind == 0, turn % len(self.mistakes), free)
        rows = self.mistakes + self.free
        return Rows(rows.x.take(places, axis=0), rows.y.take(places))


class Game(ABC, Generic[State]):
    """The evader of one class. A state holds the rules that fit everything shown so far."""

    @abstractmethod
    def begin(self, rng: Generator, place: float | None = None) -> State:
        """Nothing has been shown; `rng` chooses what is hidden.

        place: of all rules in their order, 0..1, the one that is the target, if that is not to be
        left open; ignored where the target follows from what is hidden.
        """

    @abstractmethod
    def choose(
        self, state: State, rule: Rule, style: Style, rng: Generator
    ) -> tuple[Choice, State]:
        """What is shown while `rule` is published, and the state in which all of it is shown."""

    @abstractmethod
    def fitting(self, state: State) -> Rule:
        """A rule of the class that fits everything shown so far."""


def goes_up(style: Style, up: int, down: int) -> bool:
    """Whether the target is kept above the published rule, where so many rules are left."""
    if up <= 0 or down <= 0 or style.side in ("up", "down"):
        return up > 0 and (down <= 0 or style.side == "up")
    return (up < down) if style.side == "smaller" else (up >= down)
