"""Which class is taken where nobody named one: the one that says most and still costs little."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, best_class, compare_ways
from littled.planner.batch.request import BatchRequest
from littled.planner.leader.request import LeaderRequest
from littled.planner.prediction.request import PredictionRequest

pytestmark = pytest.mark.long

SETS = ("sparse_sets:64:64", "sparse_sets:64:16", "sparse_sets:64:4", "points:64")


def streams(
    names: tuple[str, ...],
    horizon: int,
    epsilon: Fraction = Fraction(1),
    kind: Any = OnlineRequest,
    **asked: Any,
) -> list[StreamRequest]:
    """A request for each class, alone on its stream."""
    return [
        StreamRequest(
            "s",
            epsilon,
            Fraction(1, 10**6),
            horizon,
            (kind("rule", class_from_name(name), **asked),),
        )
        for name in names
    ]


def chosen(streams: list[StreamRequest]) -> int:
    """Where nobody else is on the stream."""
    return best_class("rule", streams, None)


@pytest.mark.parametrize(("horizon", "place"), [(10**6, 0), (50_000, 1), (2_000, 3)])
def test_longer_seasons_have_richer_classes(horizon: int, place: int) -> None:
    asked = streams(SETS, horizon)
    assert chosen(asked) == place
    expected = [compare_ways(one)[0].expected_mistakes or 0 for one in asked]
    assert expected[place] * 50 <= horizon
    assert all(mistakes * 50 > horizon for mistakes in expected[:place])


def test_the_last_that_has_a_plan_is_taken_where_all_lose_much() -> None:
    assert chosen(streams(("conjunctions:10", "stumps:4:8"), 2_000, Fraction(1, 10))) == 1
    # affine subspaces are no chain, so they have no such plan
    few = streams(("thresholds:64", "affine:64:8"), 2_000, Fraction(1, 10), selection="memory")
    assert chosen(few) == 0


def test_where_nothing_has_a_plan_the_last_one_says_why() -> None:
    assert chosen(streams(SETS, 2_000, Fraction(1, 10**6))) == 3


def test_one_class_is_no_choice() -> None:
    assert chosen(streams(("thresholds:2",), 10, Fraction(1, 10**6))) == 0


@pytest.mark.parametrize(
    ("horizon", "epsilon", "user_examples", "place"),
    [
        (5_000, 1, None, 0),
        (4_999, 1, None, 1),
        (50_000, "0.1", None, 0),
        (40_000, "0.1", None, 1),
        (1_250, 4, None, 0),
        (20_000, 1, 4, 0),
        (19_000, 1, 4, 1),
    ],
)
def test_scorecards_need_examples_by_the_budget_of_each(
    horizon: int, epsilon: int | str, user_examples: int | None, place: int
) -> None:
    """As measured: ahead of stumps from 5,000 examples on at epsilon 1, 50,000 at 0.1."""
    unit = Unit.of("example" if user_examples is None else "user", user_examples)
    card = LeaderRequest("rule", class_from_name("scorecard:8x8"))
    stump = OnlineRequest("rule", class_from_name("stumps:2:8"), nothing_told=True)
    asked = [
        StreamRequest("s", Fraction(epsilon), Fraction(1, 10**6), horizon, (learner,), unit)
        for learner in (card, stump)
    ]
    assert chosen(asked) == place


@pytest.mark.parametrize(
    ("kind", "asked", "place"),
    [
        (BatchRequest, {"window": 10_000}, 0),
        (BatchRequest, {"window": 400}, 1),
        (BatchRequest, {"alpha": Fraction(1, 20), "window": None}, 0),
        (BatchRequest, {"alpha": Fraction(1, 500), "window": None}, 1),
        (PredictionRequest, {"window": 10_000}, 0),
        (PredictionRequest, {"window": 10_000, "answers": 3_000, "excess_error": None}, 1),
    ],
)
def test_other_kinds_go_by_their_errors(kind: Any, asked: dict[str, Any], place: int) -> None:
    names = ("conjunctions:12", "points:4")
    assert chosen(streams(names, 100_000, kind=kind, **asked)) == place
