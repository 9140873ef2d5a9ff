"""The way fresh: its pool, its thresholds, and what is expected of it."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.engine import Runner, progressive
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.online.costs import counts_max, retrain_memory_bytes, row_bytes
from littled.planner.online.sizes import snapshot_bytes_max
from littled.planner.online.users import users_needed
from littled.planner.online.ways.fresh import POOL_BYTES_MAX, pool_calls, pool_slots


def asked(name: str, **options: Any) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name), **options)


def stream(learner: OnlineRequest, **options: Any) -> StreamRequest:
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), 1_000_000, (learner,), **options)


def planned(learner: OnlineRequest, **options: Any) -> OnlinePlan:
    (plan,) = plan_stream(stream(learner, **options)).of(OnlinePlan)
    return plan


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "ends", "later", "expected"),
    [
        ("conjunctions:10", (64, 192, 576), 30, 268),
        ("stumps:16:64", (45, 135, 405), 30, 195),
        ("conjunctions:8", (54, 162, 486), 30, 220),
    ],
)
def test_a_warm_up_and_later_epochs_are_planned(
    name: str, ends: tuple[int, ...], later: int, expected: int
) -> None:
    learner = asked(name)
    p = planned(learner).parameters
    assert (p.selection, p.fresh, p.buffer) == ("dense", True, "examples")
    rules = learner.hypotheses.dense
    assert rules is not None
    assert p.warmup_ends == ends
    thresholds = [settings.trigger_threshold for settings in p.all_settings]
    calls = math.log2(rules.rule_count) / 2
    usual = 1 + int(1 + calls) + len(ends)
    assert set(thresholds[:usual]) == {later}
    assert thresholds[usual:] == [math.ceil(later * (1 + n / 16)) for n in range(1, 65)]
    (found,) = (row for row in compare_ways(stream(learner)) if row.way == "fresh")
    assert found.expected_mistakes == pytest.approx((1 + calls) * later)
    assert found.expected_mistakes == pytest.approx(expected, abs=1)


def test_in_a_chain_it_takes_more_calls() -> None:
    assert pool_calls(class_from_name("thresholds:255")) == pytest.approx(1 + math.log(256))
    halved, nested = class_from_name("stumps:2:33"), class_from_name("thresholds:129")
    assert pool_calls(halved) < pool_calls(nested)


@pytest.mark.long
def test_the_pool_is_public_and_has_room() -> None:
    p = planned(asked("conjunctions:10")).parameters
    assert p.pool is not None
    assert p.pool.to_dict() == {"slots": 16, "own": 480, "one_in": 8, "calls": 12}
    assert pool_slots(class_from_name("conjunctions:10")) == 16
    assert pool_slots(class_from_name("thresholds:200000")) == 8
    assert pool_slots(class_from_name("thresholds:1000000")) == 0


def test_no_pool_takes_more_than_its_bytes() -> None:
    plans = [planned(asked(f"thresholds:{size}", selection="fresh")) for size in (200_000, 10**6)]
    assert [plan.parameters.pool is None for plan in plans] == [False, True]
    for plan in plans:
        rules = plan.hypotheses.dense
        assert rules is not None
        slots = 0 if plan.parameters.pool is None else plan.parameters.pool.slots
        held = slots * rules.empty_statistics().nbytes
        assert held <= POOL_BYTES_MAX
        assert snapshot_bytes_max(plan) > held
        assert retrain_memory_bytes(plan) > 4 * held


def test_schedules_have_no_pool() -> None:
    plan = planned(asked("stumps:16:64", adversary="none"))
    assert plan.parameters.schedule_first is not None
    assert plan.parameters.pool is None
    assert "pool" not in plan.parameters.to_dict()


def test_users_have_a_pool_where_there_are_enough_of_them() -> None:
    learner = asked("stumps:16:64")
    plan = planned(learner, unit=Unit(1))
    p = plan.parameters
    assert p.pool is not None
    own = 16 * p.ladder[0].trigger_threshold
    assert p.pool.to_dict() == {"slots": 16, "own": own, "one_in": 4, "calls": 9, "most": 512}
    # it is the plan without a pool otherwise, which fewer users do for
    fewer = planned(learner, unit=Unit(1), users_expected=10_000).parameters
    assert fewer.fresh
    assert fewer == replace(p, pool=None)
    assert users_needed(plan, 200) > users_needed(replace(plan, parameters=fewer), 200)
    assert planned(learner, unit=Unit(1), users_expected=1_000).parameters.buffer == "mistakes"


def test_a_pool_of_users_counts_in_what_a_plan_may_hold() -> None:
    plan = planned(asked("stumps:16:64"), unit=Unit(1))
    without = replace(plan, parameters=replace(plan.parameters, pool=None))
    rows = 2 * 16 * 512
    assert snapshot_bytes_max(plan) > snapshot_bytes_max(without) + rows * row_bytes(plan)
    assert retrain_memory_bytes(plan) > retrain_memory_bytes(without) + rows * row_bytes(plan)
    assert counts_max(plan) == counts_max(without) + plan.parameters.calls_max * 512


def three_points() -> Table:
    """A rule that is always 1, and 128 that err on one of the first three points each."""
    rows = [np.ones(11, dtype=bool)]
    for point, count in ((0, 48), (1, 40), (2, 40)):
        for number in range(count):
            row = np.ones(11, dtype=bool)
            row[point] = False
            row[3:9] = [(number + 7 * point) >> bit & 1 for bit in range(6)]
            row[9:] = point == 1, point == 2
            rows.append(row)
    rules = np.unique(np.array(rows), axis=0)
    return Table.from_matrix([f"r{number}" for number in range(len(rules))], rules)


@pytest.mark.parametrize(
    ("turn", "least", "most"),
    [pytest.param(500, 1_000, 50_000, marks=pytest.mark.long), (5_000, 0, 300)],
)
def test_turns_of_one_length_are_forgotten(turn: int, least: int, most: int) -> None:
    """docs/planning.md, "Where nothing is proven": it depends on the length of the turns alone."""
    hypotheses = three_points()
    assert len(hypotheses.packed) == 129
    plan = plan_stream(stream(OnlineRequest("l", hypotheses)))
    runner, count = Runner(plan, bytes([2]) * 32), 1_000_000
    points = np.repeat(np.arange(3, dtype=np.uint8), turn)
    x = np.resize(points, count)
    batches = [(part, np.ones(len(part), dtype=np.uint8)) for part in np.split(x, 20)]
    mistakes = progressive(runner, batches)["l"].mistakes
    assert least <= mistakes <= most
