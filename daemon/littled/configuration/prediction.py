"""The table of a learner that answers questions in a configuration."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from littled.budget.unit import Unit
from littled.configuration.parts import LearnerPart, Number
from littled.planner.prediction.request import EXCESS_ERROR, PredictionRequest
from littled_protocol.rules import Words

WINDOW_MAX = 10**7  # a window is prepared in memory, with up to 80 bytes for each example
ANSWERS_MAX = 10**9  # of one window

LessThanHalf = Annotated[Number, Field(gt=0, lt=0.5)]


class PredictionConfiguration(LearnerPart):
    """One learner that answers questions from windows: its class, and what is wanted of answers."""

    kind: Literal["prediction"] = Field(description="Answers questions, and publishes no rule.")
    window: int = Field(ge=1, le=WINDOW_MAX, description="Examples of a window.")
    excess_error: LessThanHalf | None = Field(
        default=None,
        description="How much more often than the best rule an answer may err; 0.05 if neither "
        "this nor `answers` is given.",
    )
    answers: int | None = Field(
        default=None, ge=1, le=ANSWERS_MAX, description="Answers from a window; the error follows."
    )
    method: Literal[
        "auto", "dense", "stability", "relabelling", "realizable", "averaging", "majority"
    ] = Field(default="auto", description="How answers are made; the planner chooses.")

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        """Errors follow from the number of answers, and the other way round."""
        if self.excess_error is not None and self.answers is not None:
            raise ValueError("has both excess_error and answers; give one, the other follows")
        return self

    def request(self, name: str, words: Words) -> PredictionRequest:
        """What the planner is asked for."""
        wanted = EXCESS_ERROR if self.excess_error is None else Fraction(self.excess_error)
        return PredictionRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            window=self.window,
            noise_rate=Fraction(self.noise_rate or 0),
            excess_error=wanted if self.answers is None else None,
            answers=self.answers,
            method=self.method,
            words=words,
        )

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """Answers protect single examples only, and a window has to fill within a season."""
        if unit.is_user:
            yield (
                f'has unit = "user", but learners.{name} is of kind "{self.kind}", whose '
                "answers protect single examples only; give it a stream of its own"
            )
        if self.window > horizon:
            yield (
                f"has a horizon of {horizon}, so learners.{name}.window must be at most "
                f"{horizon}, not {self.window}"
            )
