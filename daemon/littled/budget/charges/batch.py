"""What a window learner may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from littled.budget.charges import Charges, UnknownWay
from littled.budget.events import (
    DenseSelection,
    HistogramSelection,
    PrepaidSelection,
    PrivacyEvent,
    SparseSelection,
    StageTest,
)
from littled.budget.rounding import from_text


class BatchCharges:
    """How the parameters of window learners are read."""

    parameters: ClassVar[frozenset[str]] = frozenset(
        [
            "method",
            "epsilon",
            "horizon",
            "window",
            "rate",
            "accounting",
            "noise_rate",
            "bottom_score",
            "list_cap",
            "chunks",
            "tolerance",
            "stage_rate",
            "user_examples_max",
            "rounds",
            "step",
        ]
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """The tests and the draw of one window, or of as many as have examples of one user."""
        horizon, window = _count(parameters, "horizon"), _count(parameters, "window")
        windows = horizon // window
        most = parameters.get("user_examples_max")
        if most is not None and (type(most) is not int or most < 1):
            raise ValueError("user_examples_max")
        # positions alone decide what is learned from: c examples are in c windows at the most
        times = min(windows, most or 1)
        tests: tuple[PrivacyEvent, ...] = ()
        if parameters.get("stage_rate") is not None:
            tests = (StageTest(from_text(parameters["stage_rate"])),) * times
        return Charges(
            trigger=tests,
            segment=None,
            selection=(_draw(parameters, most or 0, times),),
            epsilon=from_text(parameters["epsilon"]),
            call=PrepaidSelection(draws=1),
            calls_max=windows,
        )

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: no requests are answered."""


def _count(parameters: Mapping[str, Any], name: str) -> int:
    value = parameters[name]
    if type(value) is not int or value < 1:
        raise TypeError(name)
    return value


def _draw(parameters: Mapping[str, Any], user_examples_max: int, times: int) -> PrivacyEvent:
    """All draws of a season, as PRIVACY.md, section 15, lists them."""
    rate: Fraction = from_text(parameters["rate"])
    method, accounting = parameters["method"], parameters["accounting"]
    if method == "dense":
        return DenseSelection(rate, 1, accounting, user_examples_max)
    if method == "boosted":
        return DenseSelection(rate, _count(parameters, "rounds"), accounting, user_examples_max)
    if method == "histogram":
        return HistogramSelection(
            rate=rate,
            threshold=parameters["bottom_score"],
            change=2 if from_text(parameters["noise_rate"]) else 1,
            accounting=accounting,
            user_examples_max=user_examples_max,
        )
    if method not in ("proposals", "closure", "teachers"):
        raise UnknownWay("method", method)
    of_examples = method == "proposals"
    return SparseSelection(
        rate=rate,
        list_cap=parameters["list_cap"],
        bottom_score=parameters["bottom_score"],
        draws=1 if of_examples else times,
        accounting=accounting,
        user_examples_max=user_examples_max if of_examples else 0,
    )
