"""What a configuration asks of the planner."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, get_args

from littled.classes import HypothesisClass
from littled_protocol.rules import Words

Unit = Literal["example", "user"]
UNITS: tuple[Unit, ...] = get_args(Unit)


class PlanError(ValueError):
    """No plan exists for what was asked; one sentence with the reason and what would be right."""


class Request(Protocol):
    """What a configuration asks of one learner of any kind; each kind adds its own."""

    @property
    def kind(self) -> str:
        """The name of its kind in `littled.kinds`."""

    @property
    def name(self) -> str:
        """The learner's name, without the stream's."""

    @property
    def hypotheses(self) -> HypothesisClass:
        """The class of rules."""

    @property
    def noise_rate(self) -> Fraction:
        """Share of labels that may contradict the best rule."""

    @property
    def words(self) -> Words:
        """How points and labels are spoken about."""


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a configuration asks of one stream.

    `unit`: what (epsilon, delta) protects, one example, or one user with all of their examples of a
    season, of which each learner keeps `user_examples_max` at the most (PRIVACY.md, "User-level
    privacy"). It means nothing with unit "example".
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    horizon: int
    learners: tuple[Request, ...]
    unit: Unit = "example"
    user_examples_max: int = 1
