"""Paper mode: the paper's formulas, prices within the budget, and refusals with the numbers."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.conversion import guarantee
from littled.budget.events import price
from littled.classes import class_from_name
from littled.planner import (
    LearnerRequest,
    PaperConstants,
    PlanError,
    StreamRequest,
    plan_stream,
)
from littled.planner.online.paper import paper_budget, paper_estimate

ENOUGH = PaperConstants(teachers=Fraction(60))


def request(
    name: str = "points:64", horizon: int = 10**6, constants: PaperConstants = ENOUGH, **more: Any
) -> StreamRequest:
    learner = LearnerRequest("l", class_from_name(name), selection="paper", paper=constants, **more)
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), horizon, (learner,))


def test_parameters_are_the_papers() -> None:
    """d = 1: K = 1, k = 60 ln(T) ln(1/delta), U = ln(ln T) k, R = ln(T) made odd, B = k / 10."""
    parameters = plan_stream(request()).online[0].parameters
    logarithm = math.log(10**6)
    assert parameters.calls_max == 1
    assert parameters.teachers == math.ceil(60 * logarithm**2)
    assert parameters.trigger_threshold == math.ceil(
        Fraction(math.log(logarithm)) * parameters.teachers
    )
    assert parameters.draws == 15
    assert parameters.bottom_score == parameters.teachers // 10
    # p = 2^2 at the second stage of d = 1: p^1 2^1 = 8
    assert parameters.list_cap == 8
    assert parameters.tests == "cohen_lyu"
    assert parameters.buffer == "mistakes"


def test_the_plan_keeps_its_promise_with_the_proven_prices() -> None:
    plan = plan_stream(request())
    learner = plan.online[0].learner("s")
    kinds = [event.name for event in learner.season_events()]
    assert kinds == ["cohen_lyu_trigger", "cohen_lyu_stage_test", "cohen_lyu_stage_test",
                     "precision_loss"]  # fmt: skip
    epsilon, delta = guarantee(plan.caps, plan.delta_z)
    assert Fraction(9, 10) < epsilon <= 1
    assert delta <= Fraction(1, 10**6)
    trigger = price(learner.season_events()[0]).epsilon_pure
    assert Fraction(24, 100) < trigger <= Fraction(1, 4)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (request("thresholds:256"), "U = about 10.* beyond the horizon of 1,000,000"),
        (request(constants=PaperConstants()), "B = k / 10 = 19 does not hide .*takes B >="),
        (request(constants=replace(ENOUGH, draws=Fraction(100))), "R = 1,38. draws"),
        (request("thresholds:3", 10**12), "more than 131,072"),
        (request(constants=replace(ENOUGH, trigger_share=Fraction(1, 10**6))), "raise epsilon"),
        (request(teachers=30), "paper.teachers instead"),
    ],
)  # fmt: skip
def test_infeasible_constants_are_refused_with_the_numbers(
    asked: StreamRequest, sentence: str
) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(asked)


def test_the_number_that_a_refusal_names_suffices() -> None:
    with pytest.raises(PlanError) as refusal:
        plan_stream(request(constants=PaperConstants()))
    named = int(str(refusal.value).rsplit("paper.teachers = ", 1)[1].split()[0])
    assert plan_stream(request(constants=PaperConstants(teachers=Fraction(named))))


def test_paper_mode_divides_a_whole_budget() -> None:
    (learner,) = request().learners
    both = (learner, replace(learner, name="other", selection="auto"))
    with pytest.raises(PlanError, match="give it a stream alone"):
        plan_stream(replace(request(), learners=both))


def test_the_estimate_is_the_papers_bound() -> None:
    (learner,) = request().learners
    found = paper_estimate(learner, paper_budget(request()))
    assert found.expected_mistakes == 2 * found.plan.parameters.trigger_threshold
    assert found.guaranteed_mistakes is None
