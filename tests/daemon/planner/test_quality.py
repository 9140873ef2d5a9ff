"""What of a budget is for saying how good rules are, and what that leaves for learning."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.charges import Charges, wrong_charges
from littled.budget.codec import event_to_dict
from littled.budget.conversion import guarantee
from littled.budget.ledger import LedgerEntry
from littled.budget.prices import price
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.classes.scorecard import Scorecards
from littled.planner import (
    OnlineRequest,
    PlanError,
    StreamPlan,
    StreamRequest,
    decided,
    plan_stream,
    season_cost,
)
from littled.planner.batch.request import BatchRequest
from littled.planner.leader.request import LeaderRequest
from littled.planner.plans import PublishingPlan
from littled.planner.prediction.request import PredictionRequest
from littled.planner.quality import QUALITY_SHARE, noise_width, quality_cost, quality_of

DELTA = Fraction(1, 10**6)
THRESHOLDS = class_from_name("thresholds:64")
KINDS: dict[str, Any] = {
    "dense": OnlineRequest("l", THRESHOLDS, selection="dense"),
    "capped": OnlineRequest("l", THRESHOLDS, nothing_told=True),
    "halving": OnlineRequest("l", THRESHOLDS, selection="halving"),
    "histogram": OnlineRequest("l", class_from_name("points:32"), selection="histogram"),
    "tally": OnlineRequest("l", class_from_name("sparse_sets:32:4"), selection="tally"),
    "batch": BatchRequest("l", THRESHOLDS, window=5000),
    "leader": LeaderRequest("l", Scorecards("8x6")),
}


def request(
    learner: Any, share: Fraction = QUALITY_SHARE, horizon: int = 100_000, **more: Any
) -> StreamRequest:
    learners = learner if isinstance(learner, tuple) else (learner,)
    return StreamRequest("s", Fraction(1), DELTA, horizon, learners, quality=share, **more)


def entries(stream: StreamPlan) -> list[LedgerEntry]:
    """What opens a season."""
    found: list[LedgerEntry] = []
    for one in stream.publishing:
        for event in one.running("s").season_events():
            cost = price(event)
            found.append(LedgerEntry(len(found), "s", 0, one.name, 0, event_to_dict(event), cost))
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_pays_for_its_figures_within_the_budget(kind: str) -> None:
    stream = plan_stream(request(KINDS[kind]))
    without = plan_stream(request(KINDS[kind], Fraction(0)))
    (one,) = stream.publishing
    assert one.quality is not None
    assert one.quality.period * one.quality.periods <= 100_000
    assert quality_cost(one.quality, users=False) == one.quality.rate <= Fraction(1, 40)
    events = one.running("s").season_events()
    assert price(events[0]).epsilon_pure == one.quality.rate
    # what is left is for learning, and what was promised is the whole
    assert one.parameters.epsilon == without.publishing[0].parameters.epsilon == 1
    learning = season_cost(one.learner("s"))
    assert learning.epsilon_pure + one.quality.rate == stream.caps.epsilon_pure
    most, least = (guarantee(caps, stream.delta_z)[0] for caps in (without.caps, learning))
    assert Fraction(95, 100) < most <= 1
    assert most - Fraction(3, 100) < least < most - Fraction(1, 100)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_charged_is_derived_from_the_stored_plan_alone(kind: str) -> None:
    stream = plan_stream(request(KINDS[kind]))
    stored = stream.to_dict()["learners"]
    charges = {name: Charges.of(learner) for name, learner in stored.items()}
    booked = entries(stream)
    assert wrong_charges(booked, charges, stream.caps, stream.delta_z) == []
    # a charge that is left out, or another one, is found
    assert wrong_charges(booked[1:], charges, stream.caps, stream.delta_z)
    del stored["l"]["parameters"]["quality"]
    alone = {"l": Charges.of(stored["l"])}
    assert wrong_charges(booked, alone, stream.caps, stream.delta_z)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_stored_and_read_and_one_without_figures_as_it_always_was(kind: str) -> None:
    for share in (QUALITY_SHARE, Fraction(0)):
        stream = plan_stream(request(KINDS[kind], share))
        stored = stream.to_dict()
        assert StreamPlan.from_dict(stored) == stream
        parameters = stored["learners"]["l"]["parameters"]
        assert ("quality" in parameters) == bool(share)
        if share:  # versions that know nothing of it refuse the plan
            with pytest.raises(ValueError, match="quality"):
                type(stream.publishing[0]).parameters_class.from_dict(parameters)


def test_nothing_of_a_plan_changes_where_nothing_is_measured() -> None:
    plain = StreamRequest("s", Fraction(1), DELTA, 100_000, (KINDS["capped"],))
    assert plan_stream(plain) == plan_stream(request(KINDS["capped"], Fraction(0)))
    assert "quality" not in str(plan_stream(plain).to_dict())


@pytest.mark.long
def test_learners_that_publish_rules_each_pay_a_share() -> None:
    answers = PredictionRequest("answers", THRESHOLDS, window=5000)
    both = (KINDS["dense"], answers)
    stream = plan_stream(request(both, Fraction(1, 10)))
    (one,) = stream.publishing
    assert one.quality is not None
    assert Fraction(49, 1000) < one.quality.rate <= Fraction(1, 20)
    assert stream.caps.epsilon_pure <= 1
    alone = plan_stream(request(answers, Fraction(1, 10)))
    assert alone == plan_stream(request(answers, Fraction(0)))
    assert not any(isinstance(plan, PublishingPlan) for plan in alone.plans)


def test_users_are_counted_once_each_and_paid_for_twice() -> None:
    users: dict[str, Any] = {"unit": Unit(3), "users_expected": 30_000}
    stream = plan_stream(request(KINDS["capped"], horizon=1_000_000, **users))
    (one,) = stream.publishing
    assert one.quality is not None
    assert one.quality.rate <= Fraction(1, 80)
    assert quality_cost(one.quality, users=True) == 2 * one.quality.rate
    # as many users as make a figure worth something, and not as many examples
    expected = noise_width(one.quality, 30_000 // one.quality.periods)
    assert expected <= 0.02 or one.quality.periods == 2


@pytest.mark.parametrize(
    ("horizon", "share", "periods"),
    [
        (1_000_000, Fraction(1, 40), 24), (100_000, Fraction(1, 40), 16),
        (20_000, Fraction(1, 40), 3), (5_000, Fraction(1, 40), 2),
        (3_000, Fraction(1, 40), 1), (2_000, Fraction(1, 40), None),
        (1_000, Fraction(1, 2), 3), (1_000_000, Fraction(1, 10**9), None),
        (1_000_000, Fraction(0), None),
    ],
)  # fmt: skip
def test_periods_are_as_many_as_noise_leaves_something_to_see(
    horizon: int, share: Fraction, periods: int | None
) -> None:
    found = quality_of(request(KINDS["capped"], share, horizon), 1)
    assert (None if found is None else found.periods) == periods
    if found is not None:
        assert noise_width(found, found.period) <= 0.05
        assert found.period == horizon // found.periods


@pytest.mark.parametrize("share", [Fraction(-1, 10), Fraction(51, 100)])
def test_no_more_than_half_of_a_budget_is_for_this(share: Fraction) -> None:
    with pytest.raises(ValueError, match=r"quality must be from 0 to 0\.5"):
        request(KINDS["capped"], share)


def test_rules_are_measured_where_nothing_is_said_and_that_leaves_a_plan() -> None:
    open_ = replace(request(KINDS["batch"]), quality=None)
    assert plan_stream(open_).publishing[0].quality is None, "what a program plans is as it says"
    assert decided(open_) == request(KINDS["batch"])
    for share in (Fraction(0), Fraction(1, 10)):
        assert decided(request(KINDS["batch"], share)).quality == share
    # so little budget that all of it is needed for points that are finer than their noise
    scarce = replace(request(KINDS["leader"], horizon=10**7), epsilon=Fraction(44, 10_000))
    with pytest.raises(PlanError):
        plan_stream(scarce)
    assert decided(replace(scarce, quality=None)) == replace(scarce, quality=Fraction(0))
    assert plan_stream(replace(scarce, quality=Fraction(0)))
