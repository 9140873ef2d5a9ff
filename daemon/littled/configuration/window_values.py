"""What the configurations of learners that publish a value of each window have in common."""

from abc import ABC
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from littled.budget.unit import Unit
from littled.configuration.batch import WINDOW_MAX
from littled.configuration.parts import LearnerPart, Share
from littled.planner.window_values import BETA
from littled_protocol.rules import Words


class ValueConfiguration(LearnerPart, ABC):
    """A window or an error, and how sure its value has to be."""

    window: int | None = Field(
        default=None, ge=1, le=WINDOW_MAX, description="Examples of a window; or give `alpha`."
    )
    alpha: Share | None = Field(
        default=None,
        description="The share of examples that a value may be wrong about; the window follows.",
    )
    beta: Share = Field(
        default=Decimal(BETA.numerator) / BETA.denominator,
        description="The chance that it is wrong about more.",
    )
    method: Literal["auto", "exponential", "stable"] = Field(
        default="auto", description="How a window's value is drawn; the planner chooses."
    )

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        """The error alpha follows from the window, and the other way round."""
        if (self.window is None) == (self.alpha is None):
            raise ValueError("needs either window or alpha; the planner finds the other")
        if self.noise_rate is not None:
            raise ValueError("has no use for noise_rate: examples with label 1 count as they are")
        return self

    def asked(self, name: str, words: Words) -> dict[str, Any]:
        """The fields of the request."""
        return {
            "name": name,
            "hypotheses": self.hypothesis_class,
            "window": self.window,
            "alpha": None if self.alpha is None else Fraction(self.alpha),
            "beta": Fraction(self.beta),
            "method": self.method,
            "words": words,
        }

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """A window has to fill within a season."""
        if self.window is not None and self.window > horizon:
            yield (
                f"has a horizon of {horizon}, so learners.{name}.window must be at most "
                f"{horizon}, not {self.window}"
            )
