"""Tail bounds: against simulation of the worst case, and against closed forms where there are."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from littled.planner.bounds import (
    TriggerNoise,
    adaptive_lowering,
    calls_expected,
    calls_needed,
    draws_for_majority,
    fires_beyond,
    poisson_quantile,
)


def worst_case_fires(rules: int, rate: float, mistakes: int, rng: np.random.Generator) -> int:
    """Fires of a sampled rule when the adversary rules rules out one after the other.

    Rule 0 is right. The others are attacked in a fixed order, several times round: the next of them
    in turn makes all mistakes, so whenever the rule in force is reached it fires after `mistakes`.
    """
    errors = np.zeros(rules)
    fires = 0
    current = int(rng.integers(rules))
    for attacked in [*range(rules - 1, 0, -1)] * 5:
        errors[attacked] += mistakes
        if attacked == current:
            fires += 1
            weight = np.exp(-rate * errors)
            current = int(rng.choice(rules, p=weight / weight.sum()))
    return fires


@pytest.mark.parametrize(
    ("rules", "rate", "mistakes"),
    [(64, 0.05, 80), pytest.param(300, 0.03, 60, marks=pytest.mark.long)],
)
def test_simulated_fires_stay_within_the_tail(rules: int, rate: float, mistakes: int) -> None:
    rng = np.random.default_rng(1)
    found = np.array([worst_case_fires(rules, rate, mistakes, rng) for _ in range(2000)])
    tails = fires_beyond(math.log(rules), rate, mistakes, 10.0)
    # fires after the first call: the first rule here is drawn as well, so it is one of them
    for count, tail in enumerate(tails, 1):
        assert np.mean(found >= count) <= tail + 3 * math.sqrt(tail / len(found)) + 1e-3
    # the adversary of this test is not far from the worst: the bound is not idle
    assert found.mean() > 0.5 * sum(tails)


def test_without_limits_the_fires_are_poisson() -> None:
    """Uncapped, X is exponential, so the number of fires is Poisson with mean ln N."""
    tails = fires_beyond(math.log(100), 5.0, 100.0, 5.0)
    mean = math.log(100)
    exact = 1 - np.cumsum([math.exp(-mean) * mean**n / math.factorial(n) for n in range(12)])
    for tail, poisson in zip(tails, exact, strict=False):
        assert poisson <= tail + 1e-9  # rounded against us
        assert tail <= poisson + 0.08
    assert calls_expected(tails) == pytest.approx(1 + mean, rel=0.05)


def test_tails_fall_and_a_single_rule_needs_one_call() -> None:
    tails = fires_beyond(math.log(1000), 0.03, 50.0, 0.3)
    assert all(a >= b for a, b in pairwise(tails))
    needed = calls_needed(tails, 0.01)
    assert needed is not None
    assert tails[needed - 2] > 0.01 >= tails[needed - 1]
    assert fires_beyond(0.0, 0.03, 50.0, 0.3) == ()
    assert calls_needed((), 0.01) == 1
    assert calls_expected(()) == 1.0
    # what is followed less far is the beginning, and as many calls suffice
    short = fires_beyond(math.log(1000), 0.03, 50.0, 0.3, 0.01)
    assert short == tails[: len(short)]
    assert len(short) < len(tails)
    assert calls_needed(short, 0.01) == needed


def test_thresholds_that_see_nothing_never_suffice() -> None:
    assert calls_needed(fires_beyond(math.log(1000), 0.01, -1000.0, 0.3), 0.01) is None


def test_poisson_quantile() -> None:
    assert poisson_quantile(0.01, 0.02) == 0
    assert poisson_quantile(1.0, 0.02) == 3  # P[> 3] = 0.0190
    assert poisson_quantile(1.0, 0.0189) == 4


def test_trigger_noise_against_its_own_law() -> None:
    noise, horizon = TriggerNoise(0.25, 10_000), 10_000
    x = noise.reach(0.5)
    a = math.exp(-0.25)
    assert horizon * a ** math.ceil(x) / (1 + a) <= 0.5
    rng = np.random.default_rng(2)
    rho = rng.geometric(1 - a, (4000, 6)) - rng.geometric(1 - a, (4000, 6))
    assert np.mean(rho.max(axis=1) > noise.overshoot(6, 0.05) / 2) <= 0.05
    assert np.mean(rho.min(axis=1) < -noise.undershoot(6, 0.05)) <= 0.05
    assert TriggerNoise(0.25, 1).reach(3.0) == 0.0


@pytest.mark.parametrize(("steps", "own"), [(0.5, 0.125), (0.125, 0.5), (0.25, 0.25)])
def test_noise_of_two_rates_against_its_own_law(steps: float, own: float) -> None:
    noise, rng, size = TriggerNoise(steps, 10_000, own), np.random.default_rng(4), (4000, 6)
    assert noise.reach(0.5) == TriggerNoise(steps, 10_000).reach(0.5)
    assert noise.undershoot(6, 0.05) == TriggerNoise(own, 10_000).undershoot(6, 0.05)
    high, low = -math.expm1(-own), -math.expm1(-steps)
    rho = rng.geometric(high, size) - rng.geometric(high, size)
    # an epoch waits for rho, and at a mistake beyond U + rho for noise of the step that is as low
    late = rng.geometric(low, size) - 1
    assert np.mean((np.maximum(rho, 0) + late).max(axis=1) > noise.overshoot(6, 0.05)) <= 0.05
    assert np.mean((np.maximum(rho, 0) + late).sum(axis=1) > noise.delays(6, 0.05)) <= 0.05
    assert np.mean(rho.min(axis=1) < -noise.undershoot(6, 0.05)) <= 0.05


@pytest.mark.parametrize("deviation", [1 / 8, 1 / 4])
def test_majorities_of_thresholds_are_uniformly_close(deviation: float) -> None:
    """Draws from a law over 100 thresholds: the vote at every point, against the bound."""
    points, failure = 100, 0.05
    draws = draws_for_majority(math.log(points), 1, deviation, failure)
    assert draws % 2 == 1
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.full(points, 0.3))
    exact = np.cumsum(law)
    worst = [
        np.abs(np.cumsum(rng.multinomial(draws, law)) / draws - exact).max() for _ in range(400)
    ]
    assert np.mean(np.array(worst) > deviation) <= failure


def test_endless_domains_use_the_dual_dimension() -> None:
    assert draws_for_majority(math.inf, 1, 1 / 4, 0.05) > draws_for_majority(
        math.log(100), 1, 1 / 4, 0.05
    )
    assert draws_for_majority(math.inf, 3, 1 / 4, 0.05) > draws_for_majority(
        math.inf, 1, 1 / 4, 0.05
    )


def test_adaptive_lowering_follows_reverse_markov() -> None:
    # with endless mistakes and no deviation, c near 0: almost half of the weight goes
    assert adaptive_lowering(1.0, 1e6, 0.0) == pytest.approx(-math.log(1 - 0.49 / 0.99), rel=0.02)
    assert adaptive_lowering(1.0, 0.0, 0.1) == 0.0
    assert adaptive_lowering(0.1, 20, 0.1) == pytest.approx(adaptive_lowering(0.2, 10, 0.1))


@pytest.mark.parametrize("own", [None, 0.2, 1.5])
def test_no_epoch_of_a_season_fires_so_early(own: float | None) -> None:
    """Whatever the epochs are: of one step each, so that each has a threshold of its own."""
    noise, rng, failure = TriggerNoise(0.5, 1000, own), np.random.default_rng(8), 0.1

    def laplace(rate: float, shape: tuple[int, int]) -> Any:
        geometric = [rng.geometric(1 - np.exp(-rate), shape) for _ in range(2)]
        return geometric[0] - geometric[1]

    shape = (4000, noise.horizon)
    early = (laplace(noise.rate, shape) - laplace(noise.threshold_rate, shape)).max(axis=1)
    margin = noise.early(failure)
    assert np.mean(early >= margin) <= failure + 0.015
    assert np.mean(early >= margin - 3) > failure
    if own is None:  # less than each of the two at its worst
        assert margin < noise.undershoot(1, failure / 2) + noise.reach(failure / 2)
    assert noise.early(failure / 100) > margin
