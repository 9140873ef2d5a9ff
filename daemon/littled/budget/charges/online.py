"""What an online learner may be charged, derived from its parameters as a store keeps them."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from littled.budget.charges import Charges, UnknownWay
from littled.budget.events import (
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    HistogramSelection,
    PrepaidSelection,
    PrivacyEvent,
    SparseSelection,
    StageTest,
    TallySeason,
    TriggerSeason,
)
from littled.budget.rounding import from_text

# Ways of selection with a threshold for each candidate, and no trigger.
TALLIES = ("tally", "closure-tally")


class OnlineCharges:
    """How the parameters of online learners are read."""

    parameters: ClassVar[frozenset[str]] = frozenset(
        [
            "epsilon",
            "horizon",
            "noise_rate",
            "trigger_rate",
            "trigger_threshold",
            "selection",
            "selection_rate",
            "selection_accounting",
            "draws",
            "calls_max",
            "buffer",
            "background_max",
            "list_cap",
            "bottom_score",
            "teachers",
            "stage_rate",
            "ladder",
            "fresh",
            "tests",
            "tests_failure",
            "schedule_first",
            "mistakes_max",
            "user_examples_max",
            "memory",
            "threshold_rate",
            "pool",
            "groups",
            "schedule_cap",
            "published_score",
            "starts_over",
            "starts_over_together",
            "warmup_ends",
        ]
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """The charges of a season."""
        return _season(parameters)

    def windows(self, parameters: Mapping[str, Any]) -> None:
        """None: rules are published, and no requests are answered."""


def _season(parameters: Mapping[str, Any]) -> Charges:
    def rate(name: str) -> Fraction:
        return from_text(parameters[name])

    fresh = bool(parameters.get("fresh", False))
    calls_max = parameters["calls_max"]
    if type(calls_max) is not int or calls_max < 0:
        raise TypeError("calls_max")
    user_examples_max = _user_examples_max(parameters)
    # c examples on either side, in the same epochs if their positions alone decide what is kept
    sides = 1 if parameters["buffer"] == "examples" else 2
    epochs = max(1, min(calls_max, sides * user_examples_max)) if fresh else 1
    if parameters.get("warmup_ends") and not _may_warm_up(parameters):
        raise ValueError("warmup_ends")
    selection = _selection(parameters, rate("selection_rate"), user_examples_max, epochs)
    call = PrepaidSelection(draws=parameters["draws"]) if fresh else selection
    return Charges(
        trigger=tuple(_trigger(parameters)),
        segment=_segment(parameters),
        selection=(selection,) if fresh else (),
        epsilon=rate("epsilon"),
        call=call,
        calls_max=calls_max,
    )


def _may_warm_up(parameters: Mapping[str, Any]) -> bool:
    """Whether draws of a warm-up cost what the season's trigger and its selection cost together."""
    return (
        parameters["selection"] in ("dense", "chain")
        and parameters["selection_accounting"] == "pure"
        and parameters["draws"] == 1
        and bool(parameters.get("fresh"))
        and parameters.get("schedule_first") is None
        and parameters.get("user_examples_max") is None
        and not _has_fresh_noise(parameters)
    )


def _trigger(parameters: Mapping[str, Any]) -> Iterator[PrivacyEvent]:
    """The trigger's event; none where epochs end on a public schedule, or with a tally."""
    if parameters.get("schedule_first") is not None or parameters["selection"] in TALLIES:
        return
    rate = from_text(parameters["trigger_rate"])
    if _has_fresh_noise(parameters):
        yield CohenLyuTrigger(rate=rate, failure=from_text(parameters["tests_failure"]))
    else:
        threshold_rate = parameters.get("threshold_rate")
        yield TriggerSeason(
            rate=rate,
            user_examples_max=_user_examples_max(parameters),
            threshold_rate=Fraction(0) if threshold_rate is None else from_text(threshold_rate),
        )


def _user_examples_max(parameters: Mapping[str, Any]) -> int:
    """c of a plan that protects users, 0 of one that protects examples."""
    most = parameters.get("user_examples_max")
    if most is None:
        return 0
    if type(most) is not int or most < 1 or _has_fresh_noise(parameters):
        raise ValueError("user_examples_max")
    return most


def _segment(parameters: Mapping[str, Any]) -> PrivacyEvent | None:
    """The event of one segment of stage tests."""
    if parameters["stage_rate"] is None:
        return None
    rate = from_text(parameters["stage_rate"])
    if _has_fresh_noise(parameters):
        return CohenLyuStageTest(rate=rate, failure=from_text(parameters["tests_failure"]))
    return StageTest(rate=rate)


def _has_fresh_noise(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get("tests", "above_threshold") == "cohen_lyu")


def _selection(
    parameters: Mapping[str, Any], rate: Fraction, user_examples_max: int, epochs: int
) -> PrivacyEvent:
    """One selection, or the fresh ones of so many epochs, as PRIVACY.md, section 3, lists them."""
    draws, accounting = parameters["draws"], parameters["selection_accounting"]
    kind, apart = parameters["selection"], 1 if parameters["buffer"] == "examples" else epochs
    if kind in ("dense", "chain", "majority"):
        return DenseSelection(rate, draws, accounting, user_examples_max)
    if kind == "histogram":
        return HistogramSelection(
            rate=rate,
            threshold=parameters["bottom_score"],
            change=2 if from_text(parameters["noise_rate"]) else 1,
            accounting=accounting,
            user_examples_max=user_examples_max,
            epochs=apart,
        )
    if kind in TALLIES:
        if user_examples_max or accounting != "pure" or not parameters.get("fresh"):
            raise ValueError(kind)
        every = 1 if kind == "tally" else parameters["groups"]["tested_every"]
        return TallySeason(
            rate=rate,
            threshold_rate=from_text(parameters["threshold_rate"]),
            threshold=parameters["bottom_score"],
            steps=-(-parameters["horizon"] // every),
        )
    if kind not in ("sparse", "closure", "path", "lengths"):
        raise UnknownWay("selection", kind)
    if kind == "closure" or parameters["teachers"] is not None:
        # in each epoch the list of one teacher is another one
        draws, user_examples_max, apart = draws * epochs, 0, 1
    return SparseSelection(
        rate=rate,
        list_cap=parameters["list_cap"],
        bottom_score=parameters["bottom_score"],
        draws=draws,
        accounting=accounting,
        user_examples_max=user_examples_max,
        epochs=apart,
    )
