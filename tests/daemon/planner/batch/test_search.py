"""Plans of window learners: the least window or error by method, and prices within the budget."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.conversion import guarantee
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, Method
from littled.planner.batch.request import BATCH_METHODS, BatchRequest
from littled.planner.batch.search import (
    BatchComparison,
    BatchEstimate,
    best_batch,
    compare_batch,
    drafted,
    estimate,
)
from littled.planner.budgets import Budget
from littled.planner.requests import StreamRequest

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
ALPHA = Fraction(1, 20)


def budget(accounting: Any = "pure", users: int = 0, horizon: int = 100_000) -> Budget:
    return Budget(EPSILON, DELTA, horizon, 1, accounting, 0.0, 1, Unit(users or None))


def asked(name: str, **options: Any) -> BatchRequest:
    hypotheses = class_from_name(name)
    sizes = options if {"window", "alpha"} & set(options) else {"alpha": ALPHA, **options}
    return BatchRequest("l", hypotheses, **sizes)


def planned(name: str, **options: Any) -> BatchEstimate:
    found = best_batch(asked(name, **options), budget())
    assert found is not None
    return found


FIGURES: dict[str, tuple[dict[str, Any], Method, float | None, float]] = {
    # class: options, method, proven and expected least window
    "thresholds:256": ({}, "dense", 400, 118),
    "points:64": ({}, "histogram", 713, 713),
    "prefixes:128": ({}, "proposals", 1004, 503),
    "affine:64:8": ({"positives": Fraction(3, 10)}, "closure", None, 2166),
}


@pytest.mark.parametrize("name", FIGURES)
def test_each_class_has_the_method_that_needs_the_fewest_examples(name: str) -> None:
    options, method, proven, expected = FIGURES[name]
    found = planned(name, **options)
    assert (found.method, found.proven, found.expected) == (method, proven, expected)
    assert found.plan.parameters.window == (proven or expected)


@pytest.mark.parametrize("name", ["thresholds:256", "points:64", "prefixes:128"])
def test_the_least_error_of_a_window_leads_back_to_it(name: str) -> None:
    window = int(planned(name).proven or 0)
    found = planned(name, window=window)
    assert found.plan.parameters.window == window
    assert found.proven == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("users", [0, 1, 3])
@pytest.mark.parametrize("method", BATCH_METHODS)
def test_plans_keep_their_promise_and_use_it_up(
    method: Method, users: int, accounting: Any
) -> None:
    names = {
        "histogram": "points:64",
        "proposals": "prefixes:32",
        "closure": "affine:16:2",
        "boosted": "scorecard:12x7x24",
    }
    request = asked(names.get(method, "thresholds:64"), window=4000)
    chunks = 100 if method in ("closure", "teachers") else 0
    parameters = drafted(request, budget(accounting, users), method, 4000, 0.05, chunks)
    if parameters is None:
        # stage tests are pure, and with users there are always some
        assert (method, accounting) == ("teachers", "zcdp")
        return
    learner = BatchLearner("s/l", request.hypotheses, parameters)
    total = sum(map(price, learner.season_events()), Price.zero())
    delta_z = DELTA * Fraction(3, 4) if accounting == "zcdp" else Fraction(0)
    epsilon, delta = guarantee(total, delta_z)
    assert EPSILON * Fraction(99, 100) < epsilon <= EPSILON
    assert delta <= DELTA
    if method not in ("dense", "boosted"):
        less = replace(parameters, bottom_score=parameters.bottom_score - 1)
        events = BatchLearner("s/l", request.hypotheses, less).season_events()
        assert sum((price(each).delta for each in events), Fraction(0)) + delta_z > DELTA


def test_stage_tests_are_planned_where_chunks_are_large_enough_for_errors() -> None:
    request = asked("thresholds:64", window=10_000)
    few = drafted(request, budget(), "teachers", 10_000, 0.05, 100)
    many = drafted(request, budget(), "teachers", 10_000, 0.05, 1000)
    assert few is not None
    assert many is not None
    assert (few.stage_rate, few.tolerance) == (Fraction(1, 4), ALPHA)
    assert (many.stage_rate, many.tolerance) == (None, Fraction(0))


def rows(request: BatchRequest) -> dict[str, BatchComparison]:
    stream = StreamRequest("s", EPSILON, DELTA, 100_000, (request,))
    return {each.method: each for each in compare_batch(stream)}


def test_every_method_has_a_row_and_the_chosen_one_is_first() -> None:
    found = rows(asked("thresholds:256"))
    assert next(iter(found)) == "dense"
    assert found["dense"].remark == "chosen: least proven window"
    assert found["teachers"].estimate is not None
    assert "no sets of ids" in found["histogram"].remark
    assert rows(asked("affine:16:2", window=5000))["closure"].remark == (
        "chosen: least estimated error"
    )
    assert rows(asked("thresholds:256", method="teachers"))["teachers"].remark == (
        "chosen: asked for"
    )


def test_noise_leaves_the_methods_that_can_stand_it() -> None:
    found = rows(asked("thresholds:256", noise_rate=Fraction(1, 10)))
    assert "spoils a list" in found["teachers"].remark
    plan = planned("points:64", noise_rate=Fraction(1, 10))
    assert plan.method == "histogram"
    assert plan.plan.parameters.vetoes
    assert plan.proven is not None
    assert plan.proven > 713


def test_a_season_that_is_too_short_is_said() -> None:
    short = budget(horizon=50)
    assert estimate(asked("thresholds:256"), short, "dense") is None
    stream = StreamRequest("s", EPSILON, DELTA, 50, (asked("thresholds:256", method="dense"),))
    (first, *_) = compare_batch(stream)
    assert first.remark == "a season is too short for a window that is enough"
