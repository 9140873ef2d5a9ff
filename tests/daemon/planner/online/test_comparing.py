"""Every way beside the one that was chosen: what is said of changes of the best rule."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.planner import Comparison, OnlineRequest, StreamRequest, compare_ways
from littled.planner.online.comparing import FEWEST, LASTING, PROVEN, TOGETHER, compared
from littled.planner.online.ways.base import Estimate
from littled.planner.search import best_estimates, budgets_of

pytestmark = pytest.mark.long

HORIZON = 1_000_000


def chosen(name: str, unit: Unit = EXAMPLE, **options: Any) -> Comparison:
    learner = OnlineRequest("l", class_from_name(name), **options)
    amounts = Fraction(1), Fraction(1, 10**6), HORIZON
    return compare_ways(StreamRequest("s", *amounts, (learner,), unit))[0]


@pytest.mark.parametrize(
    ("name", "changes", "measured"),
    [
        # the worst of all orders of the learning benchmark is a drift of eight changes, each of
        # which replaces a whole rule, or one id of a set
        ("thresholds:256", 8, 839),
        ("thresholds:65536", 8, 681),
        ("points:64", 16, 408),
        ("prefixes:128", 8, 980),
        ("sparse_sets:64:4", 16, 544),
        ("stumps:16:64", 8, 851),
        ("conjunctions:10", 8, 1238),
        ("affine:64:8", 8, 9071),
        ("conjunctions:64", 8, 9086),
    ],
)
def test_what_is_said_of_changes_is_within_a_factor_of_two(
    name: str, changes: int, measured: float
) -> None:
    found = chosen(name)
    assert found.expected_mistakes is not None
    assert found.mistakes_a_change is not None
    said = found.expected_mistakes + changes * found.mistakes_a_change
    assert measured / 2 <= said <= measured * 2


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("thresholds:256", {"selection": "dense"}),
        ("thresholds:256", {"selection": "dense", "noise_rate": Fraction(1, 10)}),
    ],
)
def test_what_never_forgets_may_err_until_the_season_ends(
    name: str, options: dict[str, Any]
) -> None:
    assert chosen(name, **options).mistakes_a_change == HORIZON


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("thresholds:256", {"adversary": "none"}),
        ("thresholds:256", {"selection": "halving"}),
        ("prefixes:128", {"selection": "sparse"}),
        ("thresholds:256", {"unit": Unit(1)}),
    ],
)
def test_nothing_is_said_of_what_was_not_measured(name: str, options: dict[str, Any]) -> None:
    assert chosen(name, **options).mistakes_a_change is None


def asked(name: str, unit: Unit = EXAMPLE, **options: Any) -> StreamRequest:
    learner = OnlineRequest("l", class_from_name(name), noise_rate=Fraction(0), **options)
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), HORIZON, (learner,), unit)


@pytest.mark.parametrize(
    "name",
    # capped is expected to make fewer, but of independent examples, and has to be asked for
    ["prefixes:128", "points:64", "conjunctions:8"],
)
def test_a_plan_with_the_fewest_mistakes_is_chosen_for_these(name: str) -> None:
    assert compare_ways(asked(name))[0].remark == FEWEST
    assert compare_ways(asked(name, selection="auto"))[0].remark == FEWEST


@pytest.mark.parametrize(
    ("name", "way", "unit", "proven", "remark"),
    [
        ("points:64", "histogram", EXAMPLE, True, PROVEN),
        ("points:64", "histogram", EXAMPLE, False, TOGETHER),
        ("points:64", "tally", EXAMPLE, False, FEWEST),
        ("thresholds:16", "dense", Unit(1), False, LASTING),
    ],
)
def test_a_plan_that_is_expected_to_make_more_has_another_reason(
    name: str, way: str, unit: Unit, proven: bool, remark: str
) -> None:
    (best,) = best_estimates(asked(name, unit, selection=way))
    assert isinstance(best, Estimate)
    best = replace(best, guaranteed_mistakes=best.expected_mistakes * 2 if proven else None)
    request = asked(name, unit)
    (learner,) = request.learners
    assert isinstance(learner, OnlineRequest)
    rows = compared(request, learner, best, tuple(budgets_of(request)))
    assert [row.remark for row in rows if row.chosen] == [remark]
