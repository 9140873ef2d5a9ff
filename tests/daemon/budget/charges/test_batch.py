"""Charges of window learners, derived from stored parameters, against what the learner asks for."""

from dataclasses import replace
from typing import Any

import pytest

from littled.budget.charges import AnswerWindows, Charges, ChargesUnknown
from littled.budget.events import PrecisionLoss, StageTest
from littled.learners.batch import BatchLearner
from support.class_cases import STREAMS
from support.learner_cases import BATCH


def stored(parameters: Any) -> dict[str, Any]:
    """A learner as a store keeps it."""
    return {"kind": "batch", "parameters": parameters.to_dict()}


@pytest.mark.parametrize("most", [None, 1, 2, 9])
@pytest.mark.parametrize("name", BATCH)
def test_the_derivation_comes_to_what_the_learner_asks_for(name: str, most: int | None) -> None:
    of_class, parameters = BATCH[name]
    of_users = replace(parameters, user_examples_max=most)
    learner = BatchLearner("s/l", STREAMS[of_class][0], of_users)
    charges, events = Charges.of(stored(of_users)), learner.season_events()
    assert charges.opening(events) == len(events)
    assert (charges.call, charges.calls_max) == (learner.call_event(), learner.calls_max)
    assert charges.opening(events[1:]) is None
    assert charges.opening(events[:-1]) is None


def test_stage_tests_are_counted_exactly() -> None:
    of_class, parameters = BATCH["windows, stages"]
    of_users = replace(parameters, user_examples_max=2)
    events = BatchLearner("s/l", STREAMS[of_class][0], of_users).season_events()
    assert [isinstance(each, StageTest) for each in events] == [True, True, False, False]
    assert isinstance(events[-1], PrecisionLoss)
    charges = Charges.of(stored(of_users))
    assert charges.opening(events) == 4
    assert charges.opening((events[0], *events)) is None


@pytest.mark.parametrize(
    "changes",
    [{"window": 0}, {"window": "3"}, {"method": "closest"}, {"user_examples_max": 0}, {"rate": 1}],
)
def test_parameters_that_say_nothing_are_refused(changes: dict[str, Any]) -> None:
    _, parameters = BATCH["windows, dense"]
    values = {**parameters.to_dict(), **changes}
    with pytest.raises(ChargesUnknown):
        Charges.of({"kind": "batch", "parameters": values})


def test_no_requests_are_answered_from_windows_of_rules() -> None:
    _, parameters = BATCH["windows, dense"]
    assert AnswerWindows.of(stored(parameters)) is None
