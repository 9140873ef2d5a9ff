"""Plans keep their promise exactly, survive storage, and say why when there is none."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.conversion import guarantee
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.names import class_from_name
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamPlan,
    StreamRequest,
    plan_stream,
)
from littled.planner.online.sizes import CANDIDATES_MAX
from littled_protocol.rules import Words

pytestmark = pytest.mark.long

TINY = Fraction(1, 10**6)


def request(*learners: OnlineRequest, epsilon: Any = 1, delta: Any = TINY) -> StreamRequest:
    return StreamRequest("s", Fraction(epsilon), Fraction(delta), 100_000, learners)


def learner(name: str, title: str = "l", **options: Any) -> OnlineRequest:
    return OnlineRequest(title, class_from_name(name), **options)


WAYS = [
    learner("thresholds:256"),
    learner("thresholds:256", noise_rate=Fraction(1, 10)),
    learner("thresholds:16", selection="sparse", teachers=50),
    learner("points:64"),
    learner("prefixes:128"),
    learner("prefixes:128", noise_rate=Fraction(1, 20)),
    learner("points:8", teachers=30),
]


@pytest.mark.parametrize("ask", WAYS, ids=lambda a: f"{a.hypotheses.name}-{a.teachers}")
@settings(max_examples=5)
@given(
    epsilon=st.fractions("1/4", 4, max_denominator=1000),
    exponent=st.integers(4, 10),
    share=st.integers(1, 3),
)
def test_no_plan_can_exceed_its_budget(
    ask: OnlineRequest, epsilon: Fraction, exponent: int, share: int
) -> None:
    """Whatever happens in a season, its prices sum to at most (epsilon, delta)."""
    learners = tuple(replace(ask, name=f"l{i}") for i in range(share))
    plan = plan_stream(request(*learners, epsilon=epsilon, delta=Fraction(1, 10**exponent)))
    worst = Price.zero()
    for each in plan.publishing:
        built = each.learner("s")
        worst += sum((price(event) for event in built.season_events()), Price.zero())
        worst += price(built.call_event()) * each.parameters.calls_max
    assert worst.fits_in(plan.caps)
    total_epsilon, total_delta = guarantee(plan.caps, plan.delta_z)
    assert total_epsilon <= epsilon
    assert total_delta <= Fraction(1, 10**exponent)
    assert total_epsilon >= epsilon * Fraction(9, 10)  # and little is left unused


@pytest.mark.parametrize("ask", WAYS, ids=lambda a: f"{a.hypotheses.name}-{a.teachers}")
def test_plans_survive_storage(ask: OnlineRequest) -> None:
    words = Words(x_name="delay", unit="min", offset=-30, positive="late", negative="on time")
    plan = plan_stream(request(replace(ask, words=words)))
    again = StreamPlan.from_dict(plan.to_dict())
    assert again == plan
    assert again.words == {"l": words}
    assert again.learners == ("l",)


def test_plans_are_reproducible() -> None:
    asks = (learner("thresholds:99", "b"), learner("thresholds:50", "a"))
    assert plan_stream(request(*asks)) == plan_stream(request(*reversed(asks)))


def test_streams_that_differ_in_their_names_are_planned_once() -> None:
    asked = request(learner("thresholds:37"))
    plans = [plan_stream(replace(asked, name=name)) for name in ("one", "two")]
    assert [plan.stream for plan in plans] == ["one", "two"]
    assert plans[0].plans is plans[1].plans
    assert plans[1] == replace(plans[0], stream="two")


def test_way_of_selection() -> None:
    def chosen(ask: OnlineRequest) -> str:
        return plan_stream(request(ask)).of(OnlinePlan)[0].parameters.selection

    assert chosen(learner("thresholds:256")) == "chain"
    assert chosen(learner("stumps:4:16")) == "dense"
    assert chosen(learner("thresholds:256", teachers=100)) == "sparse"
    assert chosen(learner("prefixes:64")) == "path"
    assert chosen(learner("prefixes:64", adversary="adaptive")) == "lengths"
    assert chosen(learner("prefixes:64", noise_rate=Fraction(1, 50))) == "sparse"
    assert chosen(learner("points:64")) == "tally"
    assert chosen(learner("points:64", noise_rate=Fraction(1, 50))) == "histogram"
    assert chosen(learner("sparse_sets:64:4", noise_rate=Fraction(1, 50))) == "histogram"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (request(learner("points:64", selection="dense")), "too many rules for dense"),
        (request(learner("thresholds:8", selection="sparse")), "teachers = "),
        (request(learner("points:64", selection="sparse")), "teachers = "),
        (request(learner("prefixes:64", selection="histogram")), "no rules that are sets of ids"),
        (request(learner("points:64", selection="histogram", teachers=3)), "has no teachers"),
        (request(learner("thresholds:8", selection="dense", teachers=3)), "has no teachers"),
        (request(learner("points:64", "a"), learner("points:8", "b")), "one type of x"),
        (request(learner("thresholds:8"), epsilon=Fraction(1, 10**6)), "raise epsilon or delta"),
        (request(learner("thresholds:8"), delta=Fraction(1, 10**16)), "raise delta"),
        (request(learner("thresholds:8", noise_rate=Fraction(1, 10**9 + 7))), "9 decimal places"),
    ],
)
def test_impossible_requests_get_a_sentence(asked: StreamRequest, sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(asked)


@pytest.mark.parametrize("noise_rate", [Fraction(0), Fraction(1, 100)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), 1, 4])
def test_memory_of_a_selection_is_bounded_by_the_plan(noise_rate: Fraction, epsilon: Any) -> None:
    """However many distinct positive addresses are kept, their prefixes fit."""
    ask = learner("prefixes:128", noise_rate=noise_rate)
    plan = plan_stream(request(ask, epsilon=epsilon)).of(OnlinePlan)[0]
    parameters, most = plan.parameters, plan.learner("s").mistakes_kept_max
    # a fresh learner keeps one epoch, one that remembers keeps a season
    epochs = 1 if parameters.fresh else parameters.calls_max
    assert parameters.fresh != bool(noise_rate)
    assert (most >= epochs * parameters.trigger_threshold) != bool(noise_rate)
    kept = epochs * parameters.background_max + most
    assert parameters.background_max > 1000
    assert kept * 129 <= CANDIDATES_MAX


def test_a_budget_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(PlanError, match="raise epsilon"):
        plan_stream(request(learner("prefixes:128", selection="sparse"), epsilon=Fraction(1, 500)))


def test_stored_plan_of_unknown_kind_is_refused() -> None:
    values = plan_stream(request(learner("points:8"))).to_dict()
    values["learners"]["l"]["kind"] = "oracle"
    with pytest.raises(PlanError, match="unknown kind"):
        StreamPlan.from_dict(values)
