"""What a learner that answers requests may be charged, derived from its stored parameters."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from littled.budget.charges import AnswerWindows, Charges, UnknownWay
from littled.budget.events import (
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PrepaidSelection,
    PrivacyEvent,
)
from littled.budget.rounding import from_text


class PredictionCharges:
    """How the parameters of learners that answer questions are read."""

    parameters: ClassVar[frozenset[str]] = frozenset(
        [
            "method",
            "epsilon",
            "window",
            "answers_max",
            "accounting",
            "rate",
            "subset_rate",
            "flip",
            "chunks",
            "vote_rate",
            "net",
        ]
    )

    def season(self, parameters: Mapping[str, Any]) -> Charges:
        """What opens a season: all answers of one window."""
        return Charges(
            trigger=(),
            segment=None,
            selection=(_answers(parameters),),
            epsilon=from_text(parameters["epsilon"]),
            call=PrepaidSelection(draws=0),
            calls_max=0,
        )

    def windows(self, parameters: Mapping[str, Any]) -> AnswerWindows:
        """The windows that requests are answered from."""
        return AnswerWindows(parameters["window"], parameters["answers_max"])


def _answers(parameters: Mapping[str, Any]) -> PrivacyEvent:
    """All answers of a window, as PRIVACY.md, section 3, lists them."""

    def rate(name: str) -> Fraction:
        return from_text(parameters[name])

    method, answers, accounting = (
        parameters[name] for name in ("method", "answers_max", "accounting")
    )
    if method == "dense":
        return PredictionAnswersDense(rate("rate"), answers, accounting)
    if method == "stability":
        return PredictionAnswersStability(
            rate("rate"), rate("subset_rate"), rate("flip"), answers, accounting
        )
    if method == "relabelling":
        return PredictionAnswersRelabelling(
            rate=rate("rate"),
            vote_rate=rate("vote_rate"),
            subset_rate=rate("subset_rate"),
            flip=rate("flip"),
            net=rate("net"),
            window=parameters["window"],
            labelings=Fraction(1),
            answers=answers,
            accounting=accounting,
        )
    if method == "realizable":
        return PredictionAnswersRealizable(rate("vote_rate"), answers, accounting)
    if method == "averaging":
        return PredictionAnswersAveraging(parameters["chunks"], rate("flip"), answers, accounting)
    if method != "majority":
        raise UnknownWay("method", method)
    return PredictionAnswersMajority(rate("vote_rate"), answers, accounting)
