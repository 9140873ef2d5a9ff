"""Ways of selection: what a plan expects and guarantees, against the learner itself."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.conversion import rho_of_epsilon
from littled.budget.events import HistogramSelection
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.names import class_from_name
from littled.learners.contract import (
    CallAdmitted,
    CallRequested,
    Examples,
    Place,
    SeasonOpened,
)
from littled.learners.online import OnlineLearner
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan, OnlineRequest, StreamRequest, compare_ways, plan_stream
from littled.planner.budgets import (
    DELTA_Z_SHARE,
    LIST_FAILURE_SHARE,
    Budget,
    rate_below,
)
from littled.planner.online.ways.base import Estimate, preference
from littled.planner.online.ways.register import WAYS

HORIZON = 40_000


def request(name: str, **options: Any) -> StreamRequest:
    learner = OnlineRequest("l", class_from_name(name), **options)
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), HORIZON, (learner,))


def budget(accounting: Any = "zcdp", trigger_share: float = 0.3) -> Budget:
    return Budget(Fraction(1), Fraction(1, 10**6), HORIZON, 1, accounting, trigger_share)


def estimate(name: str, way: Any, **options: Any) -> Estimate:
    asked = OnlineRequest("l", class_from_name(name), **options)
    found = WAYS[way].estimate(asked, budget())
    assert found is not None
    return found


def mistakes(learner: OnlineLearner, x: Any, y: Any, key: int) -> tuple[int, bool]:
    """Mistakes of a season whose calls are all admitted, and whether the learner halted."""
    noise = KeyedNoise(key.to_bytes(32, "big"))
    state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
    place, done, wrong = Place(b"\0" * 32, 0, 0), 0, 0
    while done < len(y):
        here = Place(place.chain_head, 0, done)
        rule = state.rule
        step = learner.step(state, Examples(here, x[done:], y[done:]), noise)
        wrong += int((rule.evaluate(x[done:][: step.consumed]) != y[done:][: step.consumed]).sum())
        state, done, effects = step.state, done + step.consumed, step.effects
        while calls := [each for each in effects if isinstance(each, CallRequested)]:
            step = learner.step(state, CallAdmitted(calls[0].place), noise)
            state, effects = step.state, step.effects
    return wrong, state.halted


def searched(size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Thresholds: every phase asks at the middle of what is left."""
    target, low, high, asked = int(rng.integers(size + 1)), 0, size, []
    while low < high:
        middle = (low + high) // 2
        asked.append(middle)
        low, high = (low, middle) if middle >= target else (middle + 1, high)
    x = np.repeat(np.array(asked), HORIZON // len(asked))
    return x, x >= target


def one_by_one(rng: np.random.Generator) -> tuple[Any, Any]:
    """Sets: members are revealed one after the other among other ids."""
    ids = rng.choice(2**32, 50, replace=False).astype(np.uint32)
    phase = np.arange(HORIZON) * 4 // HORIZON
    positive = rng.random(HORIZON) < 0.2
    x = np.where(positive, ids[phase], ids[rng.integers(4, 50, HORIZON)])
    return x, positive


@pytest.mark.long
@pytest.mark.parametrize("name", ["thresholds:256", "sparse_sets:32:4", "points:32"])
def test_a_proven_bound_holds(name: str) -> None:
    """Hard streams stay below what is guaranteed, and the learner does not halt early."""
    remembering: Any = "dense" if name.startswith("thresholds") else "auto"
    (chosen, *_) = compare_ways(request(name, selection=remembering))
    plan = plan_stream(request(name, selection=remembering)).of(OnlinePlan)[0]
    learner = plan.learner("s")
    assert chosen.guaranteed_mistakes is not None
    assert chosen.expected_mistakes is not None
    found = []
    for key in range(6):
        rng = np.random.default_rng(key)
        x, y = searched(256, rng) if name.startswith("thresholds") else one_by_one(rng)
        if name.startswith("points"):
            y = x == x[y][0]
        wrong, halted = mistakes(learner, x.astype(point_dtype(name)), y.astype(np.uint8), key)
        found.append(wrong)
        assert not halted
    assert max(found) <= chosen.guaranteed_mistakes
    assert np.median(found) <= 1.3 * chosen.expected_mistakes


def point_dtype(name: str) -> Any:
    return np.uint8 if name.startswith("thresholds") else np.uint32


def test_rates_are_on_the_grid_and_use_the_budget() -> None:
    assert rate_below(0.1) <= Fraction(1, 10) < rate_below(0.1) + Fraction(1, 1 << 16)
    pure = budget("pure")
    assert pure.selection_rate(4) * 8 + pure.trigger_rate <= 1
    assert pure.selection_rate(4) * 8 + pure.trigger_rate > Fraction(999, 1000)
    assert budget().selection_rate(1) > 3 * budget().selection_rate(10)
    assert budget(trigger_share=1.0).selection_rate(1) == 0


def test_bottom_hides_a_list() -> None:
    """L exp(e (1 - B)) over all draws is within delta's part, and B - 1 would not be."""
    rate, draws, cap = Fraction(1, 10), 7, 33
    bottom = budget().bottom_score(cap, rate, draws)
    allowed = float(Fraction(1, 10**6) * (1 - DELTA_Z_SHARE) * LIST_FAILURE_SHARE / draws)
    assert cap * np.exp(0.1 * (1 - bottom)) <= allowed < cap * np.exp(0.1 * (2 - bottom))


@pytest.mark.parametrize("change", [1, 2])
def test_a_histogram_uses_its_part_of_the_budget(change: int) -> None:
    """Both ways of accounting: one histogram at this rate fits, and B - 1 would show too much."""
    for each in (budget("pure"), budget("zcdp")):
        rate = each.histogram_rate(change)
        cost = price(HistogramSelection(rate, 9, change, each.accounting))
        left = Fraction(1) - each.trigger_rate
        if each.accounting == "pure":
            assert left - Fraction(1, 1 << 14) < cost.epsilon_pure <= left
        else:
            rho = rho_of_epsilon(left, Fraction(1, 10**6) * DELTA_Z_SHARE)
            assert Fraction(99, 100) * rho < cost.rho <= rho
        share = Fraction(9, 10) if each.accounting == "pure" else 1 - DELTA_Z_SHARE
        allowed = Fraction(1, 10**6) * share * LIST_FAILURE_SHARE
        threshold = each.histogram_threshold(rate)
        masses = [
            HistogramSelection(rate, threshold - less, change, each.accounting).failure
            for less in (0, 1)
        ]
        assert masses[0] <= allowed < masses[1]


def test_histograms_climb_a_ladder_to_where_something_is_found_for_sure() -> None:
    few, many = (estimate(f"sparse_sets:64:{n}", "histogram") for n in (2, 20))
    for found, members in ((few, 2), (many, 20)):
        parameters = found.plan.parameters
        heights = [settings.trigger_threshold for settings in parameters.all_settings]
        assert heights == sorted(heights)
        # Shared evenly by all members, so many mistakes find one of them.
        rate = float(parameters.selection_rate)
        gap = parameters.bottom_score - heights[-1] // members
        tail = np.exp(-rate * max(gap, 1 - gap)) / (1 + np.exp(-rate))
        found_alone = tail if gap > 0 else 1 - tail
        assert (1 - found_alone) ** members < 1e-3
        assert parameters.buffer == "mistakes"
        assert found.guaranteed_mistakes is not None
        assert found.expected_mistakes < found.guaranteed_mistakes
    assert few.expected_mistakes < many.expected_mistakes


@pytest.mark.parametrize("kind", ["one by one", "at once"])
def test_noisy_histograms_find_the_set_and_forget_nothing_that_counts(kind: str) -> None:
    (chosen, *_) = compare_ways(request("sparse_sets:32:4", noise_rate=Fraction(1, 50)))
    learner = (
        plan_stream(request("sparse_sets:32:4", noise_rate=Fraction(1, 50)))
        .of(OnlinePlan)[0]
        .learner("s")
    )
    assert learner.parameters.fresh
    for key in range(3):
        rng = np.random.default_rng(key)
        x, y = one_by_one(rng)
        if kind == "at once":
            order = rng.permutation(HORIZON)
            x, y = x[order], y[order]
        wrong = rng.random(HORIZON) < 1 / 50
        found, halted = mistakes(learner, x, (y ^ wrong).astype(np.uint8), key)
        assert not halted
        assert chosen.expected_mistakes is not None
        assert found - wrong.sum() < chosen.expected_mistakes


def test_adaptive_adversaries_cost_draws() -> None:
    oblivious = estimate("thresholds:16", "dense")
    adaptive = estimate("thresholds:16", "dense", adversary="adaptive")
    parameters = adaptive.plan.parameters
    assert oblivious.plan.parameters.draws == 1
    assert parameters.draws % 2 == 1
    assert parameters.draws > 10
    assert adaptive.guaranteed_mistakes is not None
    assert adaptive.expected_mistakes > oblivious.expected_mistakes


def test_points_need_no_majority_against_adaptive_adversaries() -> None:
    found = estimate("points:64", "histogram", adversary="adaptive")
    assert found.plan.parameters.draws == 1


def test_closures_climb_a_ladder() -> None:
    found = estimate("affine:64:8", "closure")
    parameters = found.plan.parameters
    assert parameters.selection == "closure"
    assert parameters.teachers is None
    assert all(settings.teachers for settings in parameters.ladder)
    heights = [parameters.trigger_threshold, *(r.trigger_threshold for r in parameters.ladder)]
    assert heights == sorted(heights)
    assert heights[-1] > 10 * heights[0]
    assert parameters.buffer == "mistakes"
    assert found.guaranteed_mistakes is None


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("affine:64:8", "closure"),
        ("sparse_sets:64:4", "histogram"),
        ("prefixes:128", "sparse"),
        ("points:64", "histogram"),
        ("thresholds:256", "fresh"),
    ],
)
def test_fresh_selections_are_paid_for_once(name: str, way: Any) -> None:
    """One selection takes what the trigger leaves of epsilon; calls run out only by precision."""
    found = WAYS[way].estimate(OnlineRequest("l", class_from_name(name)), budget("pure"))
    assert found is not None
    parameters = found.plan.parameters
    assert parameters.fresh
    assert parameters.calls_max == 10_000
    assert 2 * parameters.selection_rate + parameters.trigger_rate > Fraction(999, 1000)
    learner = found.plan.learner("s")
    assert price(learner.call_event()) == Price.zero()
    paid = [event for event in learner.season_events() if "selection" in event.name]
    assert len(paid) == 1


@pytest.mark.long
@pytest.mark.parametrize("kind", ["thresholds", "sets"])
def test_fresh_learners_make_few_mistakes_on_hard_streams(kind: str) -> None:
    name = "thresholds:256" if kind == "thresholds" else "sparse_sets:32:4"
    (chosen, *_) = compare_ways(request(name))
    learner = plan_stream(request(name)).of(OnlinePlan)[0].learner("s")
    assert learner.parameters.fresh
    found = []
    for key in range(6):
        rng = np.random.default_rng(key)
        x, y = searched(256, rng) if kind == "thresholds" else one_by_one(rng)
        wrong, halted = mistakes(learner, x.astype(point_dtype(name)), y.astype(np.uint8), key)
        found.append(wrong)
        assert not halted
    assert chosen.expected_mistakes is not None
    assert np.median(found) <= 1.3 * chosen.expected_mistakes


def test_noisy_streams_have_no_guarantee() -> None:
    for name, way in (("thresholds:256", "dense"), ("prefixes:64", "sparse")):
        found = estimate(name, way, noise_rate=Fraction(1, 50))
        assert found.guaranteed_mistakes is None
        assert found.plan.parameters.buffer == "examples"


def test_a_proven_plan_may_cost_a_little_more() -> None:
    proven = estimate("thresholds:16", "dense")
    unproven = estimate("affine:16:2", "closure")
    assert preference(proven) == proven.expected_mistakes
    assert preference(unproven) > unproven.expected_mistakes
