"""Charges of values of windows: the same as their learners ask for, from the stored parameters."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.charges import Charges, ChargesUnknown
from littled.budget.events import PrecisionLoss
from support.class_cases import STREAMS
from support.learner_cases import (
    ITEMS,
    LEARNERS,
    MINIMA,
    SEQUENCE_USERS,
    SEQUENCES,
    VALUE_USERS,
    learner_plan,
)


@pytest.mark.parametrize("name", [*MINIMA, *ITEMS, *VALUE_USERS, *SEQUENCES, *SEQUENCE_USERS])
def test_what_a_season_is_charged_follows_from_the_parameters(name: str) -> None:
    plan = learner_plan(name, STREAMS[LEARNERS[name][0]][0])
    learner = plan.learner("s")
    charges = Charges.of(plan.to_dict())
    *draws, loss = learner.season_events()
    assert isinstance(loss, PrecisionLoss)
    assert charges.selection == tuple(draws)
    assert charges.opening(learner.season_events()) == len(draws) + 1
    assert charges.call == learner.call_event()
    assert charges.calls_max == learner.calls_max == 3


def stored(name: str, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = learner_plan(name).to_dict()
    return {**values, "parameters": {**values["parameters"], **changes}}


@pytest.mark.parametrize("name", ["minimum", "most frequent", "sequence"])
@pytest.mark.parametrize(
    "changes",
    [{"method": "guess"}, {"window": 0}, {"window": "9"}, {"rate": None}, {"horizon": 1.5}],
)
def test_parameters_that_nobody_has_are_refused(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ChargesUnknown):
        Charges.of(stored(name, **changes))


@pytest.mark.parametrize("name", [*MINIMA, *ITEMS, *SEQUENCES])
def test_parameters_are_stored_and_read(name: str) -> None:
    parameters = LEARNERS[name][1]
    assert type(parameters).from_dict(parameters.to_dict()) == parameters


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("minimum", {"rank": 0}, "rank must be from 1 to the window"),
        ("minimum", {"rank": 11}, "rank must be from 1 to the window"),
        ("minimum", {"span": 2}, "exponential has no use for span"),
        ("minimum, stable", {"span": 0}, "stable needs span above 0"),
        ("minimum, stable", {"span": 8}, "span must leave its ranks within the window"),
        ("minimum, stable", {"least_count": 4}, "least_count must be below"),
        ("minimum", {"method": "guess"}, "method must be one of exponential, stable"),
        ("minimum", {"rate": 1}, "rate must be a Fraction|None"),
        ("most frequent", {"bottom_score": 2}, "exponential has no use for bottom_score"),
        ("most frequent, stable", {"bottom_score": 0}, "stable needs bottom_score above 0"),
        ("most frequent", {"window": 33}, "window must be at most the horizon"),
        ("most frequent", {"window": 1.5}, "window must be an integer"),
        ("sequence", {"rank": 0}, "rank must be from 1 to the window"),
        ("sequence", {"vote_rate": Fraction(0)}, "vote_rate must be above 0"),
        ("sequence", {"threshold": 0}, "threshold must be above 0"),
        ("sequence, stable", {"span": 0}, "stable needs span above 0"),
        ("most frequent", {"user_examples_max": 0}, "user_examples_max must be an integer"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(
    name: str, changes: dict[str, Any], sentence: str
) -> None:
    parameters: Any = LEARNERS[name][1]
    if changes == {"rate": 1}:  # which is taken as it is written
        assert replace(parameters, **changes) == parameters
        return
    with pytest.raises(ValueError, match=sentence):
        replace(parameters, **changes)
