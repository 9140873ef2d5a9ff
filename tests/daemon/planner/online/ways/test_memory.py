"""The ways with a public memory: when they apply, what they plan, and what is proven of it."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.learners.online.chain_memory import ChainSettings
from littled.learners.online.length_search import LengthSettings
from littled.learners.online.path_memory import PathSettings
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.online.ways.memory import HalvingWay, MemoryWay
from littled.planner.online.ways.register import way_of


def asked(name: str, **options: Any) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name), **options)


def stream(learner: OnlineRequest, horizon: int = 10**6, epsilon: int = 1) -> StreamRequest:
    return StreamRequest("s", Fraction(epsilon), Fraction(1, 10**6), horizon, (learner,))


def planned(learner: OnlineRequest, **options: Any) -> OnlinePlan:
    (plan,) = plan_stream(stream(learner, **options)).of(OnlinePlan)
    return plan


@pytest.mark.parametrize(
    ("name", "options", "way", "settings"),
    [
        pytest.param("thresholds:256", {}, "memory", ChainSettings, marks=pytest.mark.long),
        ("thresholds:256", {"adversary": "adaptive"}, "halving", ChainSettings),
        ("thresholds:1", {}, "memory", ChainSettings),
        ("prefixes:128", {}, "memory", PathSettings),
        ("prefixes:128", {"adversary": "adaptive"}, "halving", LengthSettings),
        ("prefixes:1", {"selection": "memory"}, "memory", PathSettings),
        ("prefixes:1", {"selection": "halving"}, "halving", LengthSettings),
    ],
)
def test_plans_of_chains_and_paths(name: str, options: Any, way: str, settings: Any) -> None:
    plan = planned(asked(name, **options))
    assert way_of(plan.selection).name == way
    assert isinstance(plan.parameters.memory, settings)
    assert plan.parameters.fresh
    assert plan.parameters.draws == 1


@pytest.mark.parametrize(
    ("name", "adversary", "at_most"),
    [
        ("thresholds:256", "adaptive", 620),
        ("thresholds:65536", "adaptive", 1302),
        ("prefixes:128", "adaptive", 1720),
        ("thresholds:256", "oblivious", 1400),
    ],
)
def test_what_is_proven(name: str, adversary: Any, at_most: float) -> None:
    (chosen, *_) = compare_ways(stream(asked(name, adversary=adversary)))
    assert chosen.guaranteed_mistakes is not None
    assert chosen.mistakes_if_chosen is not None
    assert chosen.expected_mistakes is not None
    assert chosen.expected_mistakes <= chosen.mistakes_if_chosen < chosen.guaranteed_mistakes
    assert chosen.guaranteed_mistakes <= at_most


@pytest.mark.parametrize(
    ("name", "adversary", "way", "expected", "at_most"),
    [
        ("prefixes:128", "oblivious", "memory", 500, None),
        ("prefixes:128", "adaptive", "halving", 1400, 1450),
        ("thresholds:256", "oblivious", "memory", 245, 2200),
        ("thresholds:256", "adaptive", "halving", 910, 1000),
        ("thresholds:65536", "oblivious", "memory", 460, 4800),
        ("thresholds:65536", "adaptive", "halving", 1900, 2060),
    ],
)
def test_rules_are_remembered_for_users_too(
    name: str, adversary: Any, way: str, expected: float, at_most: float | None
) -> None:
    """They keep mistakes, or a background as well, so that users do not run out early."""
    request = replace(stream(asked(name, adversary=adversary)), unit=Unit(1))
    (chosen, *_) = compare_ways(request)
    assert chosen.way == way
    assert chosen.expected_mistakes is not None
    assert chosen.expected_mistakes < expected
    if at_most is None:
        assert chosen.guaranteed_mistakes is None
    else:
        assert chosen.guaranteed_mistakes is not None
        assert chosen.guaranteed_mistakes < at_most


@pytest.mark.long
def test_a_smaller_failure_probability_has_a_larger_bound() -> None:
    bounds = []
    for failure in (Fraction(1, 10), Fraction(1, 1000)):
        learner = asked("thresholds:64", adversary="adaptive", failure_probability=failure)
        bounds.append(compare_ways(stream(learner))[0].guaranteed_mistakes)
    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[0] < bounds[1]


@pytest.mark.parametrize("way", [MemoryWay(), HalvingWay()])
def test_when_they_do_not_apply(way: MemoryWay | HalvingWay) -> None:
    def why_not(name: str, *, users: bool = False, **options: Any) -> str | None:
        return way.why_not(asked(name, **options), users=users)

    assert why_not("thresholds:8") is why_not("prefixes:8") is None
    assert "form a chain" in str(why_not("stumps:2:4"))
    assert "labels are noisy" in str(why_not("thresholds:8", noise_rate=Fraction(1, 9)))
    assert "schedule" in str(why_not("thresholds:8", adversary="none"))
    assert why_not("thresholds:8", users=True) is why_not("prefixes:8", users=True) is None


def test_memory_gives_way_to_halving_where_rules_are_seen_unless_it_is_asked_for() -> None:
    seen = asked("thresholds:8", adversary="adaptive")
    assert "halving" in str(MemoryWay().why_not(seen, users=False))
    assert HalvingWay().why_not(seen, users=False) is None
    insisting = asked("thresholds:8", adversary="adaptive", selection="memory")
    assert MemoryWay().why_not(insisting, users=False) is None


@pytest.mark.parametrize("selection", ["memory", "halving"])
def test_classes_without_chains_are_refused_in_a_sentence(selection: Any) -> None:
    with pytest.raises(PlanError, match="the rules of points:8 are no chain"):
        planned(asked("points:8", selection=selection))


@pytest.mark.parametrize("horizon", [10_000, pytest.param(40_000, marks=pytest.mark.long), 300_000])
def test_a_chain_is_remembered_in_short_seasons_too(horizon: int) -> None:
    plan = planned(asked("thresholds:256"), horizon=horizon)
    assert way_of(plan.selection).name == "memory"
    assert len(plan.parameters.warmup_ends) == 2


@pytest.mark.parametrize("epsilon", [1, 4, 16])
def test_larger_budgets_have_plans_too(epsilon: int) -> None:
    for name in ("thresholds:256", "prefixes:32"):
        for selection in ("memory", "halving"):
            plan = planned(asked(name, selection=selection), epsilon=epsilon)
            assert way_of(plan.selection).name == selection
