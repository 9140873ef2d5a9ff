"""What a configuration asks of the planner."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.hypothesis import HypothesisClass
from littled.written import as_written
from littled_protocol.encodings import TableSchema
from littled_protocol.rules import Words

# Of epsilon, what may say how good the rules are, at the most.
QUALITY_SHARE_MAX = Fraction(1, 2)


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
    """What a configuration asks of one stream; `unit` is what (epsilon, delta) protects.

    `users_expected`: about how many users a season will have, where users are protected and that is
    known. Prices do not depend on it; which plan is the best may. `quality`: the share of epsilon
    that says how good the rules are (`littled.planner.quality`); 0 for none, and None while that is
    not decided (`littled.planner.search.decided`), which is planned as none.
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    horizon: int
    learners: tuple[Request, ...]
    unit: Unit = EXAMPLE
    users_expected: int | None = None
    schema: TableSchema | None = None
    quality: Fraction | None = Fraction(0)

    def __post_init__(self) -> None:
        """Take floats, of programs, as they are written; ValueError for what is no share."""
        for name in ("epsilon", "delta", "quality"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_written(getattr(self, name)))
        if not 0 <= (self.quality or 0) <= QUALITY_SHARE_MAX:
            raise ValueError(f"quality must be from 0 to {float(QUALITY_SHARE_MAX):g}")
