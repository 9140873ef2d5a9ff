"""The plans of closure tallies: their thresholds, what is expected, and where there are none."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.events import TallySeason
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlinePlan, OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.planner.budgets import Budget
from littled.planner.online.ways.closure_tally import ClosureTallyWay
from littled.planner.search import budgets_of

DELTA = Fraction(1, 10**6)


def asked(name: str = "affine:64:8", **options: Any) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name), **options)


def request(*learners: OnlineRequest, horizon: int = 10**6, **more: Any) -> StreamRequest:
    return StreamRequest("s", Fraction(1), DELTA, horizon, learners, **more)


@pytest.mark.parametrize("name", ["affine:64:8", "conjunctions:64", "conjunctions:128"])
def test_closures_are_tested_one_by_one_by_default(name: str) -> None:
    (plan,) = plan_stream(request(asked(name))).of(OnlinePlan)
    p = plan.parameters
    assert p.selection == "closure-tally"
    assert p.threshold_rate is not None
    assert Fraction(99, 100) < p.threshold_rate + p.selection_rate <= 1
    event = plan.selection.event()
    assert isinstance(event, TallySeason)
    assert event.failure <= DELTA < 2 * replace(event, threshold=event.threshold - 1).failure


def test_rules_that_come_next_have_a_lower_threshold() -> None:
    (conjunctions,) = plan_stream(request(asked("conjunctions:64"))).of(OnlinePlan)
    (spaces,) = plan_stream(request(asked())).of(OnlinePlan)
    for plan, lower in ((conjunctions, True), (spaces, False)):
        assert plan.parameters.groups is not None
        next_score = plan.parameters.groups.next_score
        assert (1 < next_score < plan.parameters.bottom_score) == lower


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_tests_and_groups_go_by_epsilon(epsilon: Fraction) -> None:
    stream = StreamRequest("s", epsilon, DELTA, 10**6, (asked(selection="closure-tally"),))
    (plan,) = plan_stream(stream).of(OnlinePlan)
    groups = plan.parameters.groups
    assert groups is not None
    assert groups.tested_every <= 8 / epsilon < 2 * max(groups.tested_every, 4)
    assert plan.parameters.bottom_score < groups.groups < 2 * plan.parameters.bottom_score


def test_a_change_costs_one_rule_and_the_votes_to_start_over() -> None:
    way, amounts = ClosureTallyWay(), (Fraction(1), DELTA, 10**6)
    (estimate,) = [
        found
        for budget in budgets_of(StreamRequest("s", *amounts, (asked(),)))
        for found in way.estimates(asked(), budget)[:1]
        if found.plan.parameters.starts_over
    ][:1]
    change = way.mistakes_a_change(estimate)
    assert change is not None
    assert estimate.expected_mistakes + estimate.plan.parameters.bottom_score < change
    before = replace(
        estimate,
        plan=replace(
            estimate.plan, parameters=replace(estimate.plan.parameters, starts_over=False)
        ),
    )
    assert way.mistakes_a_change(before) == 10**6


def test_learners_share_a_budget_of_pure_sums() -> None:
    plan = plan_stream(request(*[replace(asked(), name=name) for name in "abcd"]))
    assert plan.caps.rho == 0
    assert plan.caps.epsilon_pure <= 1
    assert {each.parameters.selection for each in plan.publishing} == {"closure-tally"}


@pytest.mark.parametrize(
    ("learner", "users", "why"),
    [
        (asked("thresholds:16"), False, "not closed under intersection"),
        (asked(noise_rate=Fraction(1, 10)), False, "noise_rate 0"),
        (asked(adversary="adaptive"), False, "keep votes apart"),
        (asked(adversary="none"), False, "independent examples need no tests"),
        (asked(), True, "single examples only"),
    ],
)
def test_where_it_does_not_apply(learner: OnlineRequest, users: bool, why: str) -> None:
    found = ClosureTallyWay().why_not(learner, users=users)
    assert found is not None
    assert why in found


def test_independent_examples_may_ask_for_it() -> None:
    (plan,) = plan_stream(request(asked(selection="closure-tally", adversary="none"))).of(
        OnlinePlan
    )
    assert plan.parameters.selection == "closure-tally"


def test_what_cannot_be_asked_for_is_refused() -> None:
    for learner in (
        asked("thresholds:16", selection="closure-tally"),
        asked(selection="closure-tally", teachers=3),
    ):
        with pytest.raises(PlanError, match=r"has no closures|no teachers"):
            plan_stream(request(learner))
    with pytest.raises(PlanError, match="single examples only"):
        plan_stream(request(asked(selection="closure-tally"), unit=Unit(1)))


def test_no_budget_has_no_plan() -> None:
    budget = Budget(Fraction(1, 1 << 30), DELTA, 10**6, 1, "pure", 0.1)
    assert ClosureTallyWay().estimates(asked(), budget) == []
    assert ClosureTallyWay().estimates(asked(), replace(budget, accounting="zcdp")) == []
