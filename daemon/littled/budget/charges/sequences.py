"""What a learner of one-way sequences may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from littled.budget.charges import Charges
from littled.budget.charges.minimum import MinimumCharges
from littled.budget.events import HistogramSelection
from littled.budget.rounding import from_text


class SequencesCharges:
    """How the parameters of learners of one-way sequences are read."""

    parameters: ClassVar[frozenset[str]] = MinimumCharges.parameters | {"vote_rate", "threshold"}

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """The draws of an index, and a histogram of strings."""
        histogram = HistogramSelection(
            rate=from_text(parameters["vote_rate"]),
            threshold=parameters["threshold"],
            change=1,
            accounting=parameters["accounting"],
            user_examples_max=parameters["user_examples_max"] or 0,
        )
        index = MinimumCharges().season(parameters)
        return replace(index, selection=(*index.selection, histogram))

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""
