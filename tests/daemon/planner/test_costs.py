"""Models of time and memory grow with what they model."""

from dataclasses import replace
from fractions import Fraction

from littled.classes import class_from_name
from littled.planner import LearnerPlan, LearnerRequest, StreamRequest, plan_stream
from littled.planner.costs import retrain_memory_bytes, retrain_seconds


def plan(name: str, teachers: int | None = None) -> LearnerPlan:
    learner = LearnerRequest("l", class_from_name(name), teachers=teachers)
    asked = StreamRequest("s", Fraction(2), Fraction(1, 10**6), 10**5, (learner,))
    return plan_stream(asked).plans[0]


def test_costs_grow_with_rules_teachers_and_candidates() -> None:
    for small, large in (
        (plan("thresholds:8"), plan("thresholds:50000")),
        (plan("points:16", 30), plan("points:16", 300)),
        (plan("prefixes:8"), plan("prefixes:64")),
    ):
        assert retrain_seconds(small) < retrain_seconds(large)
        assert retrain_memory_bytes(small) < retrain_memory_bytes(large)


def test_examples_kept_are_counted() -> None:
    found = plan("points:32")
    more = replace(found.parameters, background_max=2 * found.parameters.background_max)
    assert retrain_memory_bytes(replace(found, parameters=more)) > retrain_memory_bytes(found)
