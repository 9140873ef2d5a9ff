"""Plans of partition learners: within the budget, using it, or refused with a reason."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.conversion import guarantee
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.learners.partition import PartitionParameters
from littled.planner import PlanError, StreamPlan, StreamRequest, plan_stream
from littled.planner.leader.request import LeaderRequest
from littled.planner.online.request import OnlineRequest
from littled.planner.partition.plan import PartitionPlan
from littled.planner.partition.request import PartitionRequest
from littled.planner.partition.search import PartitionPlanning

NAME = "prefix_sets:32:128"


def asked(name: str = NAME, **changes: Any) -> StreamRequest:
    request = StreamRequest(
        "s", Fraction(1), Fraction(1, 10**6), 100_000,
        (PartitionRequest("l", class_from_name(name)),),
    )  # fmt: skip
    return replace(request, **changes)


def parameters(**changes: Any) -> PartitionParameters:
    found: PartitionParameters = plan_stream(asked(**changes)).plans[0].parameters
    return found


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(16)])
@pytest.mark.parametrize("horizon", [2_000, 100_000, 10_000_000])
@pytest.mark.parametrize("unit", [EXAMPLE, Unit(3)])
def test_a_plan_keeps_its_promise_and_uses_it(epsilon: Fraction, horizon: int, unit: Unit) -> None:
    plan = plan_stream(asked(epsilon=epsilon, horizon=horizon, unit=unit))
    proven, delta = guarantee(plan.caps, plan.delta_z)
    assert proven <= epsilon
    assert delta <= Fraction(1, 10**6)
    p = plan.plans[0].parameters
    assert p.accounting == "pure"
    assert plan.caps.epsilon_pure > epsilon * Fraction(99, 100)
    assert p.user_examples_max == (3 if unit.is_user else None)
    assert StreamPlan.from_dict(plan.to_dict()) == plan


def test_more_budget_means_earlier_rules_and_finer_parts() -> None:
    usual, more = parameters(), parameters(epsilon=Fraction(4))
    assert (usual.rate, usual.divided_from, usual.schedule_first) == (Fraction(1, 2), 4, 4096)
    assert (more.rate, more.divided_from, more.schedule_first) == (Fraction(2), 1, 1024)
    assert parameters(horizon=10_000_000).schedule_cap == 312_500


def test_memory_is_bounded_by_a_public_number() -> None:
    planning = PartitionPlanning()
    for name in (NAME, "prefix_sets:128:1024"):
        (plan,) = plan_stream(asked(name, horizon=10_000_000)).of(PartitionPlan)
        assert planning.snapshot_bytes_max(plan) < 2_000_000
        assert planning.memory_bytes_max(plan) < 30_000_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": Fraction(1, 10**5)}, "epsilon 1e-05 is too small for counts of 100,000"),
        ({"horizon": 1 << 41}, "horizon may be at most 1,099,511,627,776"),
    ],
)
def test_what_no_budget_pays_for_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(asked(**changes))


def test_other_classes_are_refused() -> None:
    blocks = PartitionRequest("l", class_from_name("prefixes:32"))
    with pytest.raises(PlanError, match="kind partition needs the class prefix_sets, not prefixes"):
        plan_stream(asked(learners=(blocks,)))


def test_no_other_kind_of_rules_selects_among_sets_of_prefixes() -> None:
    for other in (OnlineRequest, LeaderRequest):
        with pytest.raises(PlanError, match="learner l: "):
            plan_stream(asked(learners=(other("l", class_from_name(NAME)),)))


def test_learners_of_several_kinds_share_a_budget() -> None:
    sets = PartitionRequest("sets", class_from_name(NAME))
    one = OnlineRequest("one", class_from_name("prefixes:32"))
    card = LeaderRequest("sets", class_from_name("scorecard:64x64"))
    plan = plan_stream(asked(learners=(sets, one)))
    assert [each.kind for each in plan.plans] == ["online", "partition"]
    assert plan.plans[1].parameters.rate < parameters().rate
    both = (replace(card, name="card"), PartitionRequest("l", class_from_name("prefix_sets:16:4")))
    with pytest.raises(PlanError, match="one type of x"):
        plan_stream(asked(learners=both))
    (zcdp,) = plan_stream(asked("prefix_sets:8:4", learners=(
        LeaderRequest("card", class_from_name("scorecard:64")),
        PartitionRequest("l", class_from_name("prefix_sets:8:4")),
    ))).of(PartitionPlan)  # fmt: skip
    assert zcdp.parameters.accounting == "zcdp"
