"""Plans where nothing is told of a stream: public times, and what is expected of them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.learners.online.parameters import OnlineParameters
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.online.ways.register import WAYS, way_of
from littled.programs.research import plan_of, run

HORIZON = 100_000
NOTHING: dict[str, Any] = {"nothing_told": True}


def asked(name: str, horizon: int = HORIZON, unit: Unit = EXAMPLE, **how: Any) -> StreamRequest:
    users = how.pop("users_expected", None)
    learner = OnlineRequest("l", class_from_name(name), **how)
    return StreamRequest(
        "s", Fraction(1), Fraction(1, 10**6), horizon, (learner,), unit, users_expected=users
    )


def way(request: StreamRequest) -> str:
    (plan,) = plan_stream(request).of(OnlinePlan)
    return way_of(plan.selection).name


def parameters(request: StreamRequest) -> OnlineParameters:
    (plan,) = plan_stream(request).of(OnlinePlan)
    return plan.parameters


# -- when ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["thresholds:256", "stumps:9:64", "conjunctions:6", "thresholds:100000"]
)
def test_where_nothing_is_told_rules_that_can_be_weighed_come_at_public_times(name: str) -> None:
    assert way(asked(name, **NOTHING)) == "capped"
    assert way(asked(name)) != "capped"
    assert way(asked(name, noise_rate=Fraction(1, 10))) != "capped"


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("points:32", {}),
        ("prefixes:8", {}),
        ("prefixes:128", {}),
        ("sparse_sets:32:4", {}),
        ("affine:64:2", {}),
        ("conjunctions:40", {}),
        ("thresholds:256", {"adversary": "none"}),
        ("thresholds:256", {"adversary": "adaptive"}),
        ("thresholds:256", {"selection": "dense"}),
        ("thresholds:256", {"selection": "fresh"}),
    ],
)
def test_elsewhere_nothing_told_is_a_noise_rate_of_zero(name: str, how: Any) -> None:
    assert plan_stream(asked(name, **NOTHING, **how)) == plan_stream(asked(name, **how))


def test_it_can_be_asked_for_whatever_is_told() -> None:
    usual = parameters(asked("stumps:9:64", **NOTHING))
    assert parameters(asked("stumps:9:64", selection="capped")) == usual
    noisy = parameters(asked("stumps:9:64", selection="capped", noise_rate=Fraction(1, 10)))
    assert noisy.schedule_cap == usual.schedule_cap
    with pytest.raises(PlanError, match="too many rules for capped selection"):
        plan_stream(asked("points:32", selection="capped"))
    with pytest.raises(PlanError, match="an adaptive adversary knows when epochs end"):
        plan_stream(asked("stumps:9:64", selection="capped", adversary="adaptive"))


def test_other_ways_are_compared_for_a_stream_that_a_rule_fits() -> None:
    capped, *others = compare_ways(asked("thresholds:256", **NOTHING))
    assert (capped.way, capped.chosen) == ("capped", True)
    assert capped.remark == "chosen: noise_rate is not given"
    told = {each.way: each for each in compare_ways(asked("thresholds:256", noise_rate=Fraction()))}
    for other in others:
        assert other.expected_mistakes == told[other.way].expected_mistakes
        if other.way in ("dense", "fresh", "memory"):
            assert other.remark == "if a rule fits the stream: noise_rate = 0"
    assert told["capped"].expected_mistakes == capped.expected_mistakes
    assert "leave noise_rate out" in told["capped"].remark


# -- the schedule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [HORIZON, 1_000_000, 336_776])
def test_a_long_season_has_about_thirty_epochs_once_they_are_as_long_as_they_get(
    horizon: int,
) -> None:
    p = parameters(asked("stumps:9:64", horizon, **NOTHING))
    assert p.schedule_cap == -(-horizon // 30)
    assert p.schedule_first is not None
    assert 30 <= p.calls_max <= 45
    assert p.buffer == "examples"
    assert (p.fresh, p.background_max, p.trigger_rate) == (True, 0, Fraction(0))


@pytest.mark.parametrize("horizon", [2, 100, 3000])
def test_epochs_of_a_short_season_still_tell_rules_apart(horizon: int) -> None:
    p = parameters(asked("stumps:9:64", horizon, **NOTHING))
    assert p.schedule_cap is not None
    enough = 16 * (1 + np.log(2 * 9 * 63 + 2)) / float(p.selection_rate)
    assert min(horizon, enough) - 1 <= p.schedule_cap <= min(horizon, enough) + 1


def test_the_whole_budget_is_for_selections() -> None:
    stream = plan_stream(asked("stumps:9:64", **NOTHING))
    assert (
        stream.caps.epsilon_pure == 2 * parameters(asked("stumps:9:64", **NOTHING)).selection_rate
    )
    assert stream.caps.epsilon_pure > Fraction(99, 100)


# -- what is expected ------------------------------------------------------------------------------


def mistakes(horizon: int, labels: Any, seed: int) -> tuple[float, Any]:
    """Mistakes on independent uniform points of thresholds:64, and the plan's facts."""
    plan = plan_of("thresholds:64", epsilon=1, delta=1e-6, horizon=horizon)
    x = np.random.default_rng(seed).integers(0, 64, horizon).astype(np.uint8)
    return run(plan, [(x, labels(x))], seed=seed).mistakes, plan


@pytest.mark.long
def test_as_many_mistakes_are_made_as_are_expected_where_a_rule_fits() -> None:
    horizon = 20_000
    made = [mistakes(horizon, lambda x: (x >= 20).astype(np.uint8), seed)[0] for seed in range(12)]
    expected = compare_ways(asked("thresholds:64", horizon, **NOTHING))[0].expected_mistakes
    assert expected is not None
    assert expected / 3 <= np.mean(made) <= 1.5 * expected


@pytest.mark.long
def test_a_change_costs_about_what_is_expected() -> None:
    """Another threshold from some example on: half of the points have other labels then."""
    horizon, more = 20_000, []
    for seed in range(12):
        at = horizon // 2 + 71 * seed

        def labels(x: Any, at: int = at) -> Any:
            bounds = np.where(np.arange(len(x)) < at, 8, 40)
            return (x >= bounds).astype(np.uint8)

        changed, _ = mistakes(horizon, labels, seed)
        steady, _ = mistakes(horizon, lambda x: (x >= 8).astype(np.uint8), seed)
        more.append(changed - steady)
    expected = compare_ways(asked("thresholds:64", horizon, **NOTHING))[0].mistakes_a_change
    assert expected is not None
    assert expected / 2 <= np.mean(more) <= 2 * expected


# -- users -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "users"), [(1, 1000), (1, 50_000), (5, 1000), (3, None)])
def test_what_users_give_lasts_a_season(most: int, users: int | None) -> None:
    request = asked("stumps:9:64", 1_000_000, Unit(most), users_expected=users, **NOTHING)
    p = parameters(request)
    assert way(request) == "capped"
    assert p.user_examples_max == most
    assert 0 < p.calls_max * p.background_max <= most * (users or 1_000_000 // 50)
    assert p.schedule_cap is not None
    assert p.background_max <= p.schedule_cap


def test_every_way_but_this_one_is_left_to_those_who_tell() -> None:
    learner = OnlineRequest("l", class_from_name("thresholds:16"), nothing_told=True)
    assert [each.name for each in WAYS.values() if each.is_usual(learner)] == ["capped"]
