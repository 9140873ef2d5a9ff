"""Charges of partition learners, derived again, against what the learner asks for."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.charges import AnswerWindows, Charges, ChargesUnknown
from littled.budget.events import CountsSeason
from littled.learners.partition import PartitionLearner, PartitionParameters
from support.class_cases import STREAMS
from support.learner_cases import PARTITIONS

LONG = PartitionParameters(
    epsilon=Fraction(1), horizon=1_000_000, rate=Fraction(1, 2), accounting="pure",
    schedule_first=4096, schedule_cap=31_250, decay=Fraction(7, 8), divided_from=4,
)  # fmt: skip


def stored(parameters: Any) -> dict[str, Any]:
    """A learner as a store keeps it."""
    return {"kind": "partition", "parameters": parameters.to_dict()}


@pytest.mark.parametrize("most", [None, 1, 5])
@pytest.mark.parametrize("parameters", [*(p for _, p in PARTITIONS.values()), LONG])
def test_the_derivation_comes_to_what_the_learner_asks_for(
    parameters: PartitionParameters, most: int | None
) -> None:
    of_users = replace(parameters, user_examples_max=most)
    learner = PartitionLearner("s/l", STREAMS["prefix sets"][0], of_users)
    charges, events = Charges.of(stored(of_users)), learner.season_events()
    assert isinstance(events[0], CountsSeason)
    assert charges.opening(events) == len(events) == 2
    assert (charges.call, charges.calls_max) == (learner.call_event(), learner.calls_max)
    assert charges.opening(events[1:]) is None
    assert charges.opening(events[:-1]) is None
    assert charges.opening((replace(events[0], rate=events[0].rate / 2), events[1])) is None


def test_the_number_of_epochs_is_the_learners() -> None:
    for first in (1, 2, 3, 8):
        for cap in range(first, 14):
            for horizon in (*range(1, 40), 1000):
                p = replace(LONG, schedule_first=first, schedule_cap=cap, horizon=horizon)
                assert Charges.of(stored(p)).calls_max == p.calls_max


@pytest.mark.parametrize(
    "changes",
    [
        *({"schedule_first": 0}, {"schedule_cap": "3"}, {"horizon": -1}, {"accounting": "x"}),
        *({"user_examples_max": 0}, {"rate": 1}),
    ],
)
def test_parameters_that_say_nothing_are_refused(changes: dict[str, Any]) -> None:
    values = {**LONG.to_dict(), **changes}
    with pytest.raises(ChargesUnknown):
        Charges.of({"kind": "partition", "parameters": values})


def test_no_requests_are_answered() -> None:
    assert AnswerWindows.of(stored(LONG)) is None
