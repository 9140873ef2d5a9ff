"""What a learner of robust minima may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from typing import Any, ClassVar

from littled.budget.charges import Charges
from littled.budget.charges.window_values import VALUE_PARAMETERS, season_of
from littled.budget.events import DenseSelection, SparseSelection
from littled.budget.rounding import from_text


class MinimumCharges:
    """How the parameters of learners of robust minima are read."""

    parameters: ClassVar[frozenset[str]] = VALUE_PARAMETERS | frozenset(
        {"rank", "span", "length_rate", "prefix_rate", "bottom_score", "least_count"}
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """One draw of a number, or those of a length, of a prefix and of a number."""
        accounting, users = parameters["accounting"], parameters["user_examples_max"] or 0
        number = DenseSelection(from_text(parameters["rate"]), 1, accounting, users)
        if parameters["method"] == "exponential":
            return season_of(parameters, (number,))
        if parameters["method"] != "stable":
            raise ValueError(parameters["method"])
        length = DenseSelection(from_text(parameters["length_rate"]), 1, accounting, users)
        prefix = SparseSelection(
            rate=from_text(parameters["prefix_rate"]),
            list_cap=1,
            bottom_score=parameters["bottom_score"],
            draws=1,
            accounting=accounting,
            user_examples_max=users,
        )
        return season_of(parameters, (length, prefix, number))

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""
