"""The register of ways: what requests leave open or contradict, and which way a plan is of."""

from fractions import Fraction
from typing import Any, get_args

import pytest

from littled.classes.names import class_from_name
from littled.planner import OnlinePlan, OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.planner.online.ways.register import WAYS, allowed_ways, way_of
from littled.ways import Asked
from support.learner_cases import ONLINE, USERS, learner_plan


def test_every_way_has_a_word_that_asks_for_it() -> None:
    """Teachers are asked for by their number, with the word of sparse selection."""
    assert get_args(Asked) == ("auto", *(name for name in WAYS if name != "teachers"))


def asked(name: str, **options: Any) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name), **options)


@pytest.mark.parametrize(
    ("options", "ways"),
    [
        ({}, "dense fresh memory halving majority sparse closure histogram tally closure-tally"),
        ({"teachers": 9}, "teachers"),
        ({"selection": "sparse", "teachers": 9}, "teachers"),
        ({"selection": "sparse"}, "sparse"),
        ({"selection": "paper"}, "paper"),
    ],
)
def test_a_request_leaves_ways_open(options: Any, ways: str) -> None:
    assert [way.name for way in allowed_ways(asked("prefixes:8", **options))] == ways.split()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("affine:64:2", {"selection": "dense"}, "too many rules for dense selection"),
        ("affine:64:2", {"selection": "fresh"}, "too many rules for fresh selection"),
        ("affine:64:2", {"selection": "sparse"}, "needs a number of teachers"),
        ("affine:64:2", {"selection": "histogram"}, "no rules that are sets of ids"),
        ("points:8", {"selection": "closure"}, "no closures"),
        ("points:8", {"selection": "histogram", "teachers": 9}, "no teachers of its own"),
        ("points:8", {"selection": "paper", "teachers": 9}, "set paper.teachers instead"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(name: str, options: Any, said: str) -> None:
    with pytest.raises(PlanError, match=f"learner l: .*{said}"):
        allowed_ways(asked(name, **options))


@pytest.mark.parametrize("name", [*ONLINE, *USERS])
def test_parameters_are_of_one_way(name: str) -> None:
    selection = learner_plan(name).selection
    assert [way for way in WAYS.values() if way.is_of(selection)] == [way_of(selection)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("thresholds:64", {"selection": "dense"}),
        ("thresholds:64", {"selection": "fresh"}),
        ("thresholds:64", {"selection": "fresh", "adversary": "none"}),
        ("prefixes:16", {"selection": "sparse"}),
        ("affine:16:2", {"selection": "closure", "adversary": "none"}),
        ("points:32", {"selection": "histogram"}),
    ],
)
def test_a_plan_is_of_the_way_that_was_asked_for(name: str, options: Any) -> None:
    request = StreamRequest("s", Fraction(1), Fraction(1, 10**6), 10**5, (asked(name, **options),))
    (plan,) = plan_stream(request).of(OnlinePlan)
    assert way_of(plan.selection).name == options["selection"]


def test_plans_with_teachers_are_of_their_way() -> None:
    learner = asked("points:16", selection="sparse", teachers=300)
    request = StreamRequest("s", Fraction(6), Fraction(1, 10**4), 200_000, (learner,))
    (plan,) = plan_stream(request).of(OnlinePlan)
    assert way_of(plan.selection).name == "teachers"
