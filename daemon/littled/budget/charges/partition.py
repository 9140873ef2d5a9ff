"""What a partition learner may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from typing import Any, ClassVar

from littled.budget.charges import Charges
from littled.budget.events import CountsSeason, PrepaidSelection
from littled.budget.rounding import from_text


class PartitionCharges:
    """How the parameters of partition learners are read."""

    parameters: ClassVar[frozenset[str]] = frozenset(
        [
            "epsilon",
            "horizon",
            "rate",
            "accounting",
            "schedule_first",
            "schedule_cap",
            "decay",
            "divided_from",
            "block_cost",
            "parts_max",
            "user_examples_max",
        ]
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """The counts of all epochs of a season, and rules that cost nothing more."""
        first, cap = _count(parameters, "schedule_first"), _count(parameters, "schedule_cap")
        most = parameters.get("user_examples_max")
        if most is not None and (type(most) is not int or most < 1):
            raise ValueError("user_examples_max")
        season = CountsSeason(from_text(parameters["rate"]), parameters["accounting"], most or 0)
        return Charges(
            trigger=(season,),
            segment=None,
            selection=(),
            epsilon=from_text(parameters["epsilon"]),
            call=PrepaidSelection(draws=1),
            calls_max=_epochs(first, cap, _count(parameters, "horizon")),
        )

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""


def _epochs(first: int, cap: int, horizon: int) -> int:
    """Epochs that end before a season does: after F, 2F, 4F, ..., then every `cap` examples."""
    found, end = 0, first
    while end < horizon:
        found += 1
        length = min(first << (found - 1), cap)
        if length == cap:
            return found + (horizon - 1 - end) // cap
        end += length
    return found


def _count(parameters: Mapping[str, Any], name: str) -> int:
    value = parameters[name]
    if type(value) is not int or value < 1:
        raise TypeError(name)
    return value
