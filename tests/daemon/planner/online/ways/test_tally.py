"""The plans of tallies: their thresholds, what is expected of them, and where there are none."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import TallySeason
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlinePlan, OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.planner.budgets import Budget
from littled.planner.online.ways.base import estimated
from littled.planner.online.ways.tally import (
    TallyWay,
    least_threshold,
    mistakes_of_one,
    published_threshold,
)

DELTA = Fraction(1, 10**6)


def asked(name: str = "points:64", **options: Any) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name), **options)


def request(*learners: OnlineRequest, horizon: int = 10**6, **more: Any) -> StreamRequest:
    return StreamRequest("s", Fraction(1), DELTA, horizon, learners, **more)


@pytest.mark.parametrize("adversary", ["oblivious", "adaptive", "none"])
def test_ids_are_watched_whoever_chooses_them(adversary: Any) -> None:
    (plan,) = plan_stream(request(asked("sparse_sets:64:4", adversary=adversary))).of(OnlinePlan)
    p = plan.parameters
    assert p.selection == "tally"
    assert p.threshold_rate is not None
    assert Fraction(99, 100) < p.threshold_rate + p.selection_rate <= 1


def test_the_threshold_is_the_least_that_hides_a_vote() -> None:
    budget = Budget(Fraction(1), DELTA, 10**6, 1, "pure", 0.1)
    for rate, own in ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 100), Fraction(1, 50))):
        bottom = least_threshold(rate, own, budget)
        event = TallySeason(rate, own, bottom, budget.horizon)
        assert event.failure <= budget.failure < replace(event, threshold=bottom - 1).failure


def test_mistakes_of_an_id_are_those_of_its_tests_one_by_one() -> None:
    rate, own, bottom, runs = 0.7, 0.3, 12, 20_000
    rng = np.random.default_rng(5)
    gaps = bottom + rng.geometric(1 - np.exp(-own), runs) - 1
    mistakes, waits = np.zeros(runs), np.ones(runs, dtype=bool)
    while waits.any():
        mistakes += waits
        gaps = gaps - 1
        waits &= rng.random(runs) >= np.exp(-rate * np.maximum(gaps, 0))
    assert abs(mistakes.mean() - mistakes_of_one(rate, own, bottom)) < 0.15


def test_noise_alone_takes_hardly_any_published_id_away() -> None:
    rate, own, members, steps = Fraction(4, 5), Fraction(1, 5), 4, 10**6
    falls, stays = np.exp(-float(rate)), np.exp(-float(own))
    rho = np.arange(400)

    def taken(threshold: int) -> float:
        """Expected number, in a season; each of them is tested at each step."""
        waits = -np.expm1(steps * np.log1p(-(falls ** (threshold + rho))))
        return float(members * ((1 - stays) * stays**rho * waits).sum())

    for failure in (0.05, 0.005):
        found = published_threshold(rate, own, members, steps, failure)
        assert taken(found) <= failure < taken(found - 1) * 1.01
    assert published_threshold(Fraction(20), own, 1, 1, 1.0) == 1


def test_a_change_costs_what_an_id_that_comes_and_one_that_goes_cost() -> None:
    (plan,) = plan_stream(request(asked("sparse_sets:64:4"))).of(OnlinePlan)
    p = plan.parameters
    assert p.published_score is not None
    assert p.published_score < p.bottom_score - 8
    rates = float(p.selection_rate), float(p.threshold_rate or 0)
    comes, goes = (mistakes_of_one(*rates, each) for each in (p.bottom_score, p.published_score))
    estimate = estimated(
        "tally", plan, 4 * comes, None, Budget(Fraction(1), DELTA, 10**6, 1, "pure", 0.1)
    )
    assert TallyWay().mistakes_a_change(estimate) == (comes + goes) / 2
    before = replace(plan, parameters=replace(p, published_score=None))
    assert TallyWay().mistakes_a_change(replace(estimate, plan=before)) == comes


def test_learners_share_a_budget_of_pure_sums() -> None:
    learners = [replace(asked(), name=name) for name in ("a", "b")]
    plan = plan_stream(request(*learners))
    assert plan.caps.rho == 0
    assert plan.caps.epsilon_pure <= 1
    assert {each.parameters.selection for each in plan.publishing} == {"tally"}


@pytest.mark.parametrize(
    ("learner", "users", "why"),
    [
        (asked("thresholds:16"), False, "no sets of ids"),
        (asked(noise_rate=Fraction(1, 10)), False, "noise_rate 0"),
        (asked(), True, "single examples only"),
    ],
)
def test_where_it_does_not_apply(learner: OnlineRequest, users: bool, why: str) -> None:
    found = TallyWay().why_not(learner, users=users)
    assert found is not None
    assert why in found


def test_what_cannot_be_asked_for_is_refused() -> None:
    for learner in (
        asked("thresholds:16", selection="tally"),
        asked(selection="tally", teachers=3),
    ):
        with pytest.raises(PlanError, match=r"no rules that are sets of ids|no teachers"):
            plan_stream(request(learner))
    with pytest.raises(PlanError, match="single examples only"):
        plan_stream(request(asked(selection="tally"), unit=Unit(1)))


def test_seasons_too_long_to_watch_all_ids_have_histograms() -> None:
    (plan,) = plan_stream(request(asked(), horizon=10**8)).of(OnlinePlan)
    assert plan.parameters.selection == "histogram"


def test_no_budget_has_no_plan() -> None:
    budget = Budget(Fraction(1, 1 << 20), DELTA, 10**6, 1, "pure", 0.1)
    assert TallyWay().estimates(asked(), budget) == []
    assert TallyWay().estimates(asked(), replace(budget, accounting="zcdp")) == []
