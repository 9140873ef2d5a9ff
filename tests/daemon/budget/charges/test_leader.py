"""Charges of scorecard learners, derived again, against what the learner asks for."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.charges import AnswerWindows, Charges, ChargesUnknown
from littled.budget.events import PrecisionLoss, ScorecardSeason
from littled.learners.leader import LeaderLearner, LeaderParameters
from support.class_cases import STREAMS
from support.learner_cases import SCORECARDS

LONG = LeaderParameters(
    epsilon=Fraction(1), horizon=500_000, batch_examples=125, decay=Fraction(7999, 8000),
    learning_rate=Fraction(1, 25), scale=930, warmup=7, warmup_scale=950, moments_scale=10**6,
)  # fmt: skip


def stored(parameters: Any) -> dict[str, Any]:
    """A learner as a store keeps it."""
    return {"kind": "leader", "parameters": parameters.to_dict()}


@pytest.mark.parametrize(
    ("parameters", "most"),
    [
        (parameters, most)
        for parameters in (*(p for _, p in SCORECARDS.values()), LONG)
        for most in (None, 1, 5)
        if most is None or not parameters.trial_batches
    ],
)
def test_the_derivation_comes_to_what_the_learner_asks_for(
    parameters: LeaderParameters, most: int | None
) -> None:
    of_users = replace(parameters, user_examples_max=most)
    learner = LeaderLearner("s/l", STREAMS["scorecard"][0], of_users)
    charges, events = Charges.of(stored(of_users)), learner.season_events()
    assert isinstance(events[0], ScorecardSeason)
    assert charges.opening(events) == len(events) == 2
    assert (charges.call, charges.calls_max) == (learner.call_event(), learner.calls_max)
    assert charges.opening(events[1:]) is None
    assert charges.opening(events[:-1]) is None
    assert charges.opening((replace(events[0], rest=events[0].rest - 1), events[1])) is None


def test_normal_noise_is_charged_for_its_distance_from_what_is_drawn() -> None:
    gaussian = replace(LONG, accounting="gaussian")
    learner = LeaderLearner("s/l", STREAMS["scorecard"][0], gaussian)
    charges, (season, loss) = Charges.of(stored(gaussian)), learner.season_events()
    assert isinstance(loss, PrecisionLoss)
    assert 0 < charges.precision <= loss.total_variation
    least = replace(loss, total_variation=charges.precision)
    assert charges.opening((season, least)) == 2
    assert charges.opening((season, replace(loss, total_variation=Fraction(0)))) is None
    assert Charges.of(stored(LONG)).precision == 0


@pytest.mark.parametrize(
    "changes",
    [
        *({"batch_examples": 0}, {"batch_examples": "3"}, {"scale": 0}, {"warmup": -1}),
        *({"user_examples_max": 0}, {"decay": 1}),
    ],
)
def test_parameters_that_say_nothing_are_refused(changes: dict[str, Any]) -> None:
    values = {**LONG.to_dict(), **changes}
    with pytest.raises(ChargesUnknown):
        Charges.of({"kind": "leader", "parameters": values})


def test_no_requests_are_answered() -> None:
    assert AnswerWindows.of(stored(LONG)) is None
