"""The table of an online learner in a configuration."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from littled.configuration.parts import LearnerPart, Number, Part, Share, known_kind
from littled.kinds import KINDS, kind_for, load
from littled.planner import OnlineRequest, PaperConstants
from littled.ways import Asked
from littled_protocol.rules import Words

TEACHERS_MAX = 100_000  # each teacher has a data set of its own
PAPER_CONSTANT_MAX = 10**6  # far beyond any number of teachers that a machine can train

# What a learner without a class may say and still be of any kind.
_SAID_BY_ALL = {"columns", "adversary"}

Constant = Annotated[Number, Field(gt=0, le=PAPER_CONSTANT_MAX)]


class PaperConfiguration(Part):
    """The constants of paper mode (`littled.planner.PaperConstants`) and its split of epsilon."""

    calls: Constant = Decimal(1)
    teachers: Constant = Decimal(1)
    threshold: Constant = Decimal(1)
    draws: Constant = Decimal(1)
    trigger_share: Share = Decimal("0.25")
    stage_share: Share = Decimal("0.25")

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        """The draws need a part of epsilon as well."""
        if self.trigger_share + self.stage_share >= 1:
            raise ValueError("must leave a part of epsilon to the draws: its shares add up to 1")
        return self

    def constants(self) -> PaperConstants:
        """What the planner is told."""
        return PaperConstants(*(Fraction(getattr(self, name)) for name in type(self).model_fields))


class LearnerConfiguration(LearnerPart):
    """One online learner of a stream: its class of rules and its public parameters."""

    kind: Annotated[Literal["online"], BeforeValidator(known_kind)] = "online"
    selection: Asked = "auto"
    teachers: int | None = Field(default=None, ge=2, le=TEACHERS_MAX)
    adversary: Literal["none", "oblivious", "adaptive"] = "oblivious"
    failure_probability: Share = Decimal("0.05")
    paper: PaperConfiguration = PaperConfiguration()

    def with_class(self, name: str, columns: tuple[str, ...]) -> LearnerPart | None:
        """A learner of the kind that has this class for itself, where no kind was asked for.

        Such kinds are told nothing of a stream, and do not reckon with somebody who chooses it by
        what is published. So a learner that says more is one of one rule.
        """
        kind = kind_for(name)
        if kind == self.kind:
            return super().with_class(name, columns)
        if self.model_fields_set - _SAID_BY_ALL or self.adversary == "adaptive":
            return None
        table: type[LearnerPart] = load(KINDS[kind].configuration)
        return table.model_validate({"class": name, "columns": columns})

    def request(self, name: str, words: Words) -> OnlineRequest:
        """What the planner is asked for."""
        return OnlineRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            noise_rate=Fraction(self.noise_rate or 0),
            nothing_told=self.noise_rate is None,
            selection=self.selection,
            teachers=self.teachers,
            adversary=self.adversary,
            failure_probability=Fraction(self.failure_probability),
            paper=self.paper.constants(),
            words=words,
        )
