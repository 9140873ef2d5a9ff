"""Planning of values of windows: margins against their proofs, windows, and what is refused."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.learners.batch.methods import Draw
from littled.learners.minimum.draws import draw_of
from littled.mechanisms.noise import Address, KeyedNoise
from littled.planner import PlanError, StreamPlan, StreamRequest, plan_stream
from littled.planner.minimum.plan import MinimumPlan, MinimumRequest
from littled.planner.minimum.search import MinimumPlanning, exponential_margin
from littled.planner.most_frequent.plan import MostFrequentRequest
from littled.planner.most_frequent.search import MostFrequentPlanning, stable_margin
from littled.planner.online.request import OnlineRequest
from littled.planner.search import budgets_of
from littled.planner.sequences.plan import SequencesPlan, SequencesRequest
from littled.planner.sequences.search import SequencesPlanning, rarely
from littled.planner.window_values import ValueRequest

F = Fraction


def stream(learner: ValueRequest, horizon: int = 1_000_000) -> StreamRequest:
    return StreamRequest("s", F(1), F(1, 10**6), horizon, (learner,))


def minimum(bits: int = 64, **asked: Any) -> MinimumRequest:
    return MinimumRequest("m", class_from_name(f"integers:{bits}"), **asked)


def frequent(name: str = "points:64", **asked: Any) -> MostFrequentRequest:
    return MostFrequentRequest("m", class_from_name(name), **asked)


def sequence(bits: int = 64, **asked: Any) -> SequencesRequest:
    return SequencesRequest("m", class_from_name(f"oneway:{bits}"), **asked)


def test_margins_are_the_least_of_their_proofs() -> None:
    for bits, rate, beta in ((8, F(1, 2), 0.1), (64, F(1, 2), 0.1), (128, F(3, 7), 0.01)):
        g = exponential_margin(bits, rate, beta)
        assert (2.0**bits + 1) * math.exp(-float(rate) * (g + 1)) <= beta
        assert (2.0**bits + 1) * math.exp(-float(rate) * g) > beta
    for n in (100, 10**6):
        gap = stable_margin(n, F(1, 2), 29, 0.1)
        chance = (n - gap) * math.exp(-gap / 2) + math.exp(-(gap - 29) / 2)
        assert chance <= 0.1
        less = gap - 1
        assert (n - less) * math.exp(-less / 2) + math.exp(-(less - 29) / 2) > 0.1


@pytest.mark.parametrize(
    "request_",
    [minimum(alpha=F(1, 20)), frequent(alpha=F(1, 50)), sequence(16, alpha=F(1, 10))],
)
def test_the_window_for_an_error_has_that_error(request_: Any) -> None:
    (plan,) = plan_stream(stream(request_)).publishing
    n = plan.parameters.window
    again: Any = replace(request_, alpha=None, window=n)
    planning: Any = MinimumPlanning() if isinstance(plan, MinimumPlan) else MostFrequentPlanning()
    planning = SequencesPlanning() if isinstance(plan, SequencesPlan) else planning
    best = min(planning.best(again, each).alpha for each in budgets_of(stream(again)))
    assert best <= float(request_.alpha)
    less: Any = replace(request_, alpha=None, window=n - 1)
    assert all(
        (found := planning.best(less, each)) is None or found.alpha > float(request_.alpha) * 0.999
        for each in budgets_of(stream(less))
    )


def test_stable_minima_need_fewer_examples_of_wide_numbers_only() -> None:
    methods = {
        bits: plan_stream(stream(minimum(bits, alpha=F(1, 20)))).publishing[0].parameters.method
        for bits in (32, 64, 128)
    }
    assert methods == {32: "exponential", 64: "exponential", 128: "stable"}


def test_sequences_need_few_examples_and_prefixes_from_long_indices_on() -> None:
    """What is proven, and which method finds an index; more bits cost "stable" next to nothing."""
    plans = {
        bits: plan_stream(stream(sequence(bits, alpha=F(1, 10)))).of(SequencesPlan)[0].parameters
        for bits in (16, 64, 128)
    }
    assert {bits: (p.window, p.method) for bits, p in plans.items()} == {
        16: (2122, "exponential"), 64: (4315, "exponential"), 128: (5829, "stable"),
    }  # fmt: skip


def test_what_a_sample_rarely_has_is_bounded_as_it_should_be() -> None:
    for n, share, most in ((100, 0.3, 12), (1000, 0.05, 20), (50, 0.5, 0)):
        exact = sum(math.comb(n, x) * share**x * (1 - share) ** (n - x) for x in range(most + 1))
        bound = math.exp(-n * relative_entropy(most / n, share))
        assert exact <= bound * (1 + 1e-9)
        assert rarely(n, F(share), most, bound * 1.0001)
        assert not rarely(n, F(share), most, bound * 0.9999)
    assert not rarely(10, F(1, 2), 5, 0.9)
    assert not rarely(10, F(1, 2), 10, 0.9)
    assert rarely(10, F(1), 9, 1e-9)


def relative_entropy(p: float, q: float) -> float:
    first = p * math.log(p / q) if p else 0.0
    return first + (1 - p) * math.log((1 - p) / (1 - q))


def test_plans_are_stored_and_read() -> None:
    for request in (
        sequence(16, window=3000),
        minimum(128, alpha=F(1, 20)),
        frequent("strings:64", window=900),
    ):
        found = plan_stream(stream(request))
        assert StreamPlan.from_dict(found.to_dict()) == found


@pytest.mark.parametrize("method", ["exponential", "stable"])
def test_the_promise_holds_in_nine_of_ten_windows(method: str) -> None:
    """At least alpha n up to the number and at most 2 alpha n below, for numbers close together."""
    (plan,) = plan_stream(stream(minimum(128, alpha=F(1, 5), method=method))).of(MinimumPlan)
    p, rng = plan.parameters, np.random.default_rng(1)
    chosen, missed, runs = draw_of(plan.hypotheses, p), 0, 60
    for run in range(runs):
        low = np.sort(rng.integers(0, 3000, p.window, dtype=np.uint64))
        numbers = np.stack([np.full(p.window, 7, dtype=np.uint64), low], axis=1)
        place = Draw(KeyedNoise(run.to_bytes(32, "big")), Address(bytes(32), "s/m", "select", 1))
        value = chosen.drawn(numbers, place) - (7 << 64)
        upto, below = int((low <= max(value, 0)).sum()), int((low < max(value, 0)).sum())
        missed += value < 0 or upto < 0.2 * p.window or below > 0.4 * p.window
    assert missed <= runs / 10


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (minimum(), "give either window or alpha"),
        (minimum(window=10, alpha=F(1, 10)), "give either window or alpha"),
        (minimum(window=2_000_000), "window must be from 1 to"),
        (minimum(alpha=F(3, 5)), "alpha must be above 0, at most 0.5"),
        (minimum(window=300), "a window of 300 examples is too small"),
        (minimum(alpha=F(1, 10**6)), "no window of a season"),
        (sequence(window=300), "a window of 300 examples is too small"),
        (
            SequencesRequest("m", class_from_name("points:8"), window=99),
            "points:8 has no rules that continue a string",
        ),
        (
            OnlineRequest("m", class_from_name("oneway:64"), noise_rate=F(0)),
            "oneway:64 cannot be learned online in practice: .*Proposition 7.*; take windows",
        ),
        (frequent(alpha=F(1, 10), beta=F(1)), "beta must be between 0 and 1"),
        (frequent("thresholds:8", window=99), "no rules that say 1 to one item"),
        (frequent("strings:128", window=99, method="exponential"), r"2\^1024 items, too many"),
        (
            MinimumRequest("m", class_from_name("points:8"), window=99),
            "no rules that say 1 from a number on",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(
    learner: ValueRequest, sentence: str
) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(stream(learner))
