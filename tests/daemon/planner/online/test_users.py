"""How many users a plan needs: about as many as it takes to give what its epochs keep."""

from fractions import Fraction

import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlinePlan, OnlineRequest, StreamRequest, plan_stream
from littled.planner.online.request import Adversary
from littled.planner.online.users import users_needed
from littled.ways import Asked

HORIZON = 1_000_000


def plan(
    name: str, most: int | None, selection: Asked = "auto", adversary: Adversary = "oblivious"
) -> OnlinePlan:
    """The plan for one learner that protects users with so many examples of each."""
    hypotheses = class_from_name(name)
    learner = OnlineRequest("l", hypotheses, selection=selection, adversary=adversary)
    request = StreamRequest(
        "s", Fraction(2), Fraction(1, 10**6), HORIZON, (learner,), unit=Unit(most)
    )
    (found,) = plan_stream(request).of(OnlinePlan)
    return found


def test_epochs_that_keep_mistakes_need_their_users_only() -> None:
    found = plan("points:64", 1)
    assert found.parameters.background_max == 0
    assert users_needed(found, 123) == 123
    assert users_needed(plan("points:64", 4), 123) == 31


@pytest.mark.long
def test_each_epoch_needs_users_for_its_background() -> None:
    found = plan("thresholds:256", 1)
    p = found.parameters
    assert users_needed(found, 1) == 1 + p.background_max
    mistakes = 5 * p.trigger_threshold
    assert users_needed(found, mistakes) == mistakes + 5 * p.background_max
    more = plan("thresholds:256", 2)
    mistakes = 6 * more.parameters.trigger_threshold
    assert users_needed(more, mistakes) == (mistakes + 6 * more.parameters.background_max) // 2


def test_epochs_of_a_schedule_need_users_however_few_mistakes_there_are() -> None:
    found = plan("prefixes:32", 1, adversary="none")
    p = found.parameters
    assert p.schedule_first is not None
    assert users_needed(found, 100) == min(HORIZON, 100 + p.calls_max * p.background_max)


def test_a_learner_that_counts_every_example_needs_a_user_for_each() -> None:
    found = plan("thresholds:256", 1, "fresh", "none")
    assert found.parameters.background_max == 0
    assert users_needed(found, 10) == HORIZON


def test_no_plan_needs_more_users_than_examples() -> None:
    assert users_needed(plan("points:64", 1), 10 * HORIZON) == HORIZON


def test_a_plan_that_protects_examples_needs_none() -> None:
    with pytest.raises(ValueError, match="needs no users"):
        users_needed(plan("points:64", None), 10)
