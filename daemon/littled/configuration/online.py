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

    calls: Constant = Field(default=Decimal(1), description="C in K = C d^3 calls.")
    teachers: Constant = Field(
        default=Decimal(1),
        description="C in k = C d^3.5 ln(T) ln(1/delta) / epsilon teachers.",
    )
    threshold: Constant = Field(default=Decimal(1), description="C in U = C d^3 ln(d ln T) k.")
    draws: Constant = Field(default=Decimal(1), description="C in R = C ln(T) draws.")
    trigger_share: Share = Field(
        default=Decimal("0.25"), description="The share of epsilon for the trigger."
    )
    stage_share: Share = Field(
        default=Decimal("0.25"), description="The share of epsilon for stage tests."
    )

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

    kind: Annotated[Literal["online"], BeforeValidator(known_kind)] = Field(
        default="online", description="Publishes one rule at a time."
    )
    selection: Asked = Field(
        default="auto", description="How the next rule is selected; the planner chooses."
    )
    teachers: int | None = Field(
        default=None,
        ge=2,
        le=TEACHERS_MAX,
        description="Teachers of sparse selection; without it each example is one.",
    )
    adversary: Literal["none", "oblivious", "adaptive"] = Field(
        default="oblivious",
        description="Whether nobody chose the order of the examples, somebody did beforehand, or "
        "somebody does after seeing rules; for the number of mistakes, never for privacy.",
    )
    failure_probability: Share = Field(
        default=Decimal("0.05"), description="The chance that a bound on mistakes does not hold."
    )
    paper: PaperConfiguration = Field(
        default=PaperConfiguration(), description='Constants of `selection = "paper"`.'
    )

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
