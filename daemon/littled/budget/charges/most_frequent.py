"""What a learner of most frequent items may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from typing import Any, ClassVar

from littled.budget.charges import Charges
from littled.budget.charges.window_values import VALUE_PARAMETERS, season_of
from littled.budget.events import DenseSelection, SparseSelection
from littled.budget.rounding import from_text


class MostFrequentCharges:
    """How the parameters of learners of most frequent items are read."""

    parameters: ClassVar[frozenset[str]] = VALUE_PARAMETERS | frozenset({"bottom_score"})

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """One draw, among all items or among those that are reported."""
        accounting, users = parameters["accounting"], parameters["user_examples_max"] or 0
        rate = from_text(parameters["rate"])
        if parameters["method"] == "exponential":
            return season_of(parameters, (DenseSelection(rate, 1, accounting, users),))
        if parameters["method"] != "stable":
            raise ValueError(parameters["method"])
        draw = SparseSelection(rate, 1, parameters["bottom_score"], 1, accounting, users)
        return season_of(parameters, (draw,))

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""
