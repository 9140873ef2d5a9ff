"""What window learners take: snapshots of full states, and limits that grow with the window."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, BatchParameters
from littled.learners.contract import Examples, Place, SeasonOpened
from littled.learners.snapshot import pack
from littled.planner.batch.costs import (
    candidates_max,
    draw_seconds,
    memory_bytes_max,
    snapshot_bytes_max,
)
from littled.planner.batch.plan import BatchPlan
from littled_protocol import limits
from littled_protocol.rules import Words
from support.tape import TapeNoise

DENSE = BatchParameters("dense", Fraction(1), 20_000, 10_000, Fraction(1, 2))


def plan_of(parameters: BatchParameters, name: str = "thresholds:256") -> BatchPlan:
    return BatchPlan("l", class_from_name(name), parameters, Words())


@pytest.mark.parametrize("most", [None, 3])
def test_a_snapshot_of_a_full_window_is_within_its_bound(most: int | None) -> None:
    plan, noise = plan_of(replace(DENSE, user_examples_max=most)), TapeNoise()
    learner: BatchLearner = plan.learner("s")
    state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, 9_999).astype(np.uint8), np.zeros(9_999, dtype=np.uint8)
    users = rng.integers(0, 2**63, (9_999, 2)).astype(np.uint64) if most else None
    state = learner.step(state, Examples(Place(bytes(32), 0, 0), x, y, users), noise).state
    found = len(pack(learner.state_to_dict(learner.settled(state))))
    bound = snapshot_bytes_max(plan) - limits.frame_bytes_max
    assert found <= bound <= 4 * found
    assert learner.state_from_dict(learner.state_to_dict(state)).calls == 0


def test_costs_grow_with_what_a_draw_looks_at() -> None:
    lists = replace(
        DENSE, method="teachers", bottom_score=40, list_cap=257, chunks=100, rate=Fraction(1, 2)
    )
    proposals = replace(DENSE, method="proposals", bottom_score=40, list_cap=33)
    assert candidates_max(plan_of(DENSE)) == 0
    assert candidates_max(plan_of(lists)) == 25_700
    assert candidates_max(plan_of(proposals, "prefixes:32")) == 330_000
    assert draw_seconds(plan_of(DENSE)) < draw_seconds(plan_of(lists))
    assert memory_bytes_max(plan_of(DENSE)) > snapshot_bytes_max(plan_of(DENSE))
    assert not plan_of(DENSE).needs_process
    assert plan_of(lists).needs_process


def test_boosting_takes_cells_of_a_window_and_a_table_of_weights() -> None:
    boosted = replace(DENSE, method="boosted", rounds=16, step=110)
    narrow, wide = (plan_of(boosted, f"scorecard:{'x'.join(['8'] * n)}") for n in (2, 20))
    rare = plan_of(replace(boosted, rate=Fraction(1, 500)), "scorecard:8x8")
    more = plan_of(replace(boosted, rounds=64), "scorecard:8x8")
    assert memory_bytes_max(wide) - memory_bytes_max(narrow) >= 18 * 10 * DENSE.window
    assert memory_bytes_max(rare) - memory_bytes_max(narrow) > 40_000_000
    assert draw_seconds(narrow) < min(draw_seconds(wide), draw_seconds(more))
    assert not narrow.needs_process
