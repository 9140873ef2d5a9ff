"""The table of a learner of windows in a configuration."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Self

from pydantic import Field, model_validator

from littled.budget.unit import Unit
from littled.configuration.parts import LearnerPart, Share
from littled.planner.batch.request import BETA, POSITIVES, BatchRequest
from littled_protocol.rules import Words

WINDOW_MAX = 10**7  # a window is kept in memory, with up to 80 bytes for each example


class BatchConfiguration(LearnerPart):
    """One learner that publishes a rule from each window: its class, and what is wanted of it."""

    kind: Literal["batch"] = Field(description="Publishes a rule from each window.")
    window: int | None = Field(
        default=None, ge=1, le=WINDOW_MAX, description="Examples of a window; or give `alpha`."
    )
    alpha: Share | None = Field(
        default=None, description="The error of a rule beyond the best one; the window follows."
    )
    beta: Share = Field(
        default=Decimal(BETA.numerator) / BETA.denominator,
        description="The chance that a rule has a greater error.",
    )
    method: Literal["auto", "dense", "histogram", "proposals", "closure", "teachers", "boosted"] = (
        Field(default="auto", description="How a window's rule is drawn; the planner chooses.")
    )
    positives: Share = Field(
        default=Decimal(POSITIVES.numerator) / POSITIVES.denominator,
        description="About the share of examples with label 1, for estimates.",
    )

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        """The error alpha follows from the window, and the other way round."""
        if (self.window is None) == (self.alpha is None):
            raise ValueError("needs either window or alpha; the planner finds the other")
        return self

    def request(self, name: str, words: Words) -> BatchRequest:
        """What the planner is asked for."""
        return BatchRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            window=self.window,
            alpha=None if self.alpha is None else Fraction(self.alpha),
            beta=Fraction(self.beta),
            method=self.method,
            noise_rate=Fraction(self.noise_rate or 0),
            positives=Fraction(self.positives),
            words=words,
        )

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """A window has to fill within a season."""
        if self.window is not None and self.window > horizon:
            yield (
                f"has a horizon of {horizon}, so learners.{name}.window must be at most "
                f"{horizon}, not {self.window}"
            )
