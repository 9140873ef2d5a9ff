"""Plans for independent examples: their estimates against simulated learners, and what they use."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.conversion import guarantee
from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.learners.contract import Published
from littled.learners.online import OnlineLearner
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PlanError,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.budgets import Budget
from littled.planner.online.schedules import (
    epochs,
    outweighs,
    planned,
    season_mistakes,
    spanning,
    spread_error,
)
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.planner.online.ways import histogram
from littled.planner.online.ways.base import Estimate
from littled.planner.online.ways.register import WAYS
from littled.planner.online.ways.scheduled import ScheduledDraft, ScheduledWay
from littled_protocol.rules import Rule
from support.learning import Runner
from support.tape import TapeNoise

HORIZON = 20_000
DELTA = Fraction(1, 10**6)


def learner(name: str, title: str = "l", **options: Any) -> OnlineRequest:
    options.setdefault("adversary", "none")
    return OnlineRequest(title, class_from_name(name), **options)


def request(*learners: OnlineRequest, horizon: int = HORIZON) -> StreamRequest:
    return StreamRequest("s", Fraction(1), DELTA, horizon, learners)


def scheduled(asked: OnlineRequest, budget: Budget, name: str) -> Estimate | None:
    """The best plan of a way with a schedule."""
    way = WAYS[name]
    assert isinstance(way, ScheduledWay)
    draft = ScheduledDraft(asked, budget, way.name, way.selection)
    return way.scheduled(draft) if draft.rate > 0 else None


def estimate(name: str, way: Any, accounting: Any = "pure", **options: Any) -> Estimate:
    budget = Budget(Fraction(1), DELTA, HORIZON, 1, accounting, 0.3)
    found = scheduled(learner(name, **options), budget, way)
    assert found is not None
    return found


def mistakes(learner: OnlineLearner, x: Any, y: Any, key: int) -> int:
    """Mistakes of one season."""
    runner = Runner(learner, TapeNoise(key))
    out = [each for each in runner.open() if isinstance(each, Published)]
    out += [each for each in runner.feed(x, y, 0) if isinstance(each, Published)]
    ends = [*(each.position for each in out[1:]), len(y)]
    wrong = 0
    for published, end in zip(out, ends, strict=True):
        part = slice(published.position, end)
        wrong += int((published.rule.evaluate(x[part]) != y[part]).sum())
    return wrong


def independent(name: str, rng: np.random.Generator) -> tuple[Any, Rule]:
    """Uniform points, and a rule that says 1 to half of them or so."""
    hypotheses = class_from_name(name)
    if name == "thresholds:256":
        return rng.integers(0, 256, HORIZON).astype(np.uint8), needed(hypotheses.dense).rule(
            int(rng.integers(64, 193))
        )
    if name == "stumps:4:16":
        return rng.integers(0, 16, (HORIZON, 4)).astype(np.uint8), needed(hypotheses.dense).rule(20)
    assert name == "points:32"
    ids = rng.integers(2, 2**32, HORIZON).astype(np.uint32)
    one = type(hypotheses.first_rule())(bits=32, members=(1,))  # type: ignore[call-arg]
    return np.where(rng.random(HORIZON) < 0.5, np.uint32(1), ids), one


# --- estimates against the learner itself ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "way"),
    [("thresholds:256", "fresh"), ("stumps:4:16", "fresh"), ("points:32", "histogram")],
)
@pytest.mark.parametrize("noise", [0, 1])
def test_learners_make_about_as_many_mistakes_as_expected(name: str, way: Any, noise: int) -> None:
    rate = Fraction(noise, 10)
    found = estimate(name, way, noise_rate=rate)
    built = found.plan.learner("s")
    beyond = []
    for key in range(6):
        rng = np.random.default_rng(key)
        x, rule = independent(name, rng)
        flipped = rng.random(HORIZON) < float(rate)
        y = rule.evaluate(x) ^ flipped.astype(np.uint8)
        beyond.append(mistakes(built, x, y, key) - int(flipped.sum()))
    assert 0.25 * found.expected_mistakes < np.mean(beyond) < 1.6 * found.expected_mistakes


def test_closures_are_found_when_the_model_says_so() -> None:
    """Shares of closures that are the whole subcube, half of whose bits are open."""
    hypotheses = class_from_name("conjunctions:16")
    rng = np.random.default_rng(0)
    for load in (8.0, 11.0, 15.0):
        whole = 0
        for count in rng.poisson(load, 2000):
            x = rng.integers(0, 2**8, count).astype(np.uint16)
            varied = np.bitwise_or.reduce(x) ^ np.bitwise_and.reduce(x) if count else 0
            whole += int(varied) == 2**8 - 1
        enough = needed(hypotheses.intersection_closed).closure_examples
        assert abs(whole / 2000 - spanning(load, enough)) < 0.05


def test_the_proven_error_holds_for_rules_of_any_errors() -> None:
    """E of a drawn rule's error, exactly as a mean over samples, against (1 + ln N) / (c n)."""
    rng, rate = np.random.default_rng(1), 0.5
    decay = 1 - math.exp(-rate)
    for shares in (np.full(300, 0.05), np.linspace(0, 1, 300), np.geomspace(1e-4, 1, 300)):
        for count in (20, 100, 500, 3000):
            errors = rng.binomial(count, shares, (400, 300))
            weights = np.exp(-rate * errors)
            mean = (weights @ shares) / (1 + weights.sum(axis=1))
            assert mean.mean() <= (1 + math.log(301)) / (decay * count)


def test_spread_errors_are_those_of_thresholds() -> None:
    rng, rate, rules = np.random.default_rng(1), 0.5, 512
    shares = np.arange(rules) / rules
    for count in (30, 200, 1000):
        errors = rng.binomial(count, shares, (2000, rules))
        weights = np.exp(-rate * errors)
        mean = float(((weights @ shares) / weights.sum(axis=1)).mean())
        assert mean == pytest.approx(spread_error(rules, 1 - math.exp(-rate), count), rel=0.5)


def test_a_score_outweighs_bottom_as_often_as_it_does() -> None:
    rng = np.random.default_rng(1)
    for share in (0.2, 0.3, 0.4):
        scores = rng.binomial(100, share, 20_000)
        chance = float((1 / (1 + np.exp(0.5 * (30 - scores)))).mean())
        assert outweighs(100, share, 0.5, 30) == pytest.approx(chance, abs=0.02)


# --- the schedule ---------------------------------------------------------------------------------


def test_epochs_see_half_of_all_examples_and_cover_the_season() -> None:
    assert list(epochs(10, 100)) == [(10, 10), (10, 20), (20, 40), (40, 20)]
    assert list(epochs(10, 10)) == []
    assert 10 + sum(following for _, following in epochs(10, 12_345)) == 12_345


def test_the_first_end_is_where_something_is_found() -> None:
    def law(n: int) -> float:
        return float(n >= 700)

    # an end at 700 is best; after one at 600 it takes until 2,400
    early, right, late = (
        season_mistakes(each, 10**6, 0.5, law, lambda _: 0.0) for each in (600, 700, 900)
    )
    assert (early, right, late) == (1200.0, 350.0, 450.0)
    # ids that need about 36 mistakes, half of the examples at the usual share
    first, expected = planned(10**6, histogram._laws, (1.0, 0.5, 30.0, 1e6))
    assert 60 < first < 90
    # a bad stream has a share that just misses the end of an epoch
    assert first / 2 < expected < 4 * first


@pytest.mark.parametrize(
    ("name", "noise_rate"),
    [
        ("thresholds:256", Fraction(0)),
        ("thresholds:256", Fraction(1, 10)),
        ("prefixes:128", Fraction(0)),
        ("prefixes:128", Fraction(1, 20)),
        ("affine:64:8", Fraction(0)),
        ("conjunctions:64", Fraction(0)),
        ("points:64", Fraction(1, 10)),
    ],
)
def test_a_schedule_spends_the_whole_budget_on_one_selection(
    name: str, noise_rate: Fraction
) -> None:
    plan = plan_stream(request(learner(name, noise_rate=noise_rate)))
    parameters = plan.of(OnlinePlan)[0].parameters
    assert parameters.schedule_first is not None
    assert parameters.fresh
    assert parameters.trigger_rate == 0
    epsilon, delta = guarantee(plan.caps, plan.delta_z)
    assert Fraction(99, 100) < epsilon <= 1
    assert delta <= DELTA
    proposing = plan.of(OnlinePlan)[0].hypotheses.proposing
    per_example = 1 if proposing is None else proposing.proposals_per_example
    kept = plan.of(OnlinePlan)[0].learner("s").mistakes_kept_max + parameters.background_max
    assert parameters.selection == "dense" or kept * per_example <= CANDIDATES_MAX


@pytest.mark.long
def test_independent_examples_cost_fewer_mistakes() -> None:
    for name in ("thresholds:256", "conjunctions:8", "conjunctions:64", "prefixes:128"):
        none, some = (
            compare_ways(request(learner(name, adversary=adversary)))[0]
            for adversary in ("none", "oblivious")
        )
        assert none.expected_mistakes is not None
        assert some.expected_mistakes is not None
        assert none.expected_mistakes < 0.8 * some.expected_mistakes
        assert none.guaranteed_mistakes is None


def test_ids_may_keep_their_trigger_with_its_proof() -> None:
    asked = learner("points:64", selection="histogram")
    (chosen, *_) = compare_ways(request(asked))
    assert chosen.way == "histogram"
    assert chosen.guaranteed_mistakes is not None
    (plan,) = plan_stream(request(asked)).of(OnlinePlan)
    assert plan.parameters.schedule_first is None


@pytest.mark.long
def test_learners_with_and_without_a_schedule_share_a_budget() -> None:
    for adversary in ("none", "oblivious"):
        asked = request(
            learner("thresholds:64", "a"), learner("thresholds:64", "b", adversary=adversary)
        )
        plan = plan_stream(asked)
        schedules = [each.parameters.schedule_first is not None for each in plan.publishing]
        assert schedules == [True, adversary == "none"]
        epsilon, delta = guarantee(plan.caps, plan.delta_z)
        assert Fraction(9, 10) < epsilon <= 1
        assert delta <= DELTA


def test_converted_budgets_leave_the_share_of_other_learners_triggers_alone() -> None:
    budget = Budget(Fraction(1), DELTA, HORIZON, 2, "zcdp", 0.3)
    found = scheduled(learner("thresholds:64"), budget, "fresh")
    assert found is not None
    assert found.plan.parameters.selection_rate == budget.selection_rate(1)


def test_short_seasons_have_short_schedules() -> None:
    for horizon, calls in ((1, 0), (2, 1), (40, 2)):
        parameters = plan_stream(request(learner("thresholds:8"), horizon=horizon)).of(OnlinePlan)[
            0
        ]
        assert parameters.parameters.calls_max >= calls


def test_a_memory_is_refused_where_it_is_of_no_use() -> None:
    ways = {each.way: each.remark for each in compare_ways(request(learner("thresholds:256")))}
    assert "fresh knows as much at a lower price" in ways["dense"]
    with pytest.raises(PlanError, match="fresh knows as much"):
        plan_stream(request(learner("thresholds:256", selection="dense")))
