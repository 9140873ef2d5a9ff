"""The way of majorities: when it applies, and what it plans."""

from fractions import Fraction
from typing import Any

import pytest

from littled.classes.names import class_from_name
from littled.learners.online.majority_memory import MajoritySettings
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.online.ways.register import way_of


def stream(name: str, **options: Any) -> StreamRequest:
    learner = OnlineRequest("l", class_from_name(name), **options)
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), 10**6, (learner,))


@pytest.mark.parametrize(
    ("name", "options", "way"),
    [
        ("stumps:16:64", {"adversary": "adaptive"}, "majority"),
        ("stumps:16:64", {"selection": "majority"}, "majority"),
        ("stumps:16:64", {}, "fresh"),
    ],
)
def test_plans_of_stumps(name: str, options: Any, way: str) -> None:
    (plan,) = plan_stream(stream(name, **options)).of(OnlinePlan)
    assert way_of(plan.selection).name == way
    assert isinstance(plan.parameters.memory, MajoritySettings) == (way == "majority")


def test_what_is_expected_of_an_evader_is_said() -> None:
    (chosen, *_) = compare_ways(stream("stumps:16:64", adversary="adaptive"))
    assert chosen.way == "majority"
    assert chosen.mistakes_if_chosen == chosen.expected_mistakes
    assert chosen.expected_mistakes == pytest.approx(1_534, abs=100)
    assert chosen.guaranteed_mistakes is None


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("thresholds:8", {}, "are no stumps, so majority does not apply"),
        ("stumps:3:4", {"noise_rate": Fraction(1, 10)}, "convict the right rules as well"),
        ("stumps:3:4", {"adversary": "none"}, "a schedule needs no memory"),
        ("stumps:2:65536", {}, "is longer than a frame"),
    ],
)
def test_a_majority_that_does_not_apply_is_refused(name: str, options: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        plan_stream(stream(name, selection="majority", **options))
