"""What is proven and expected of a chain, against plain forms and simulated seasons."""

from math import fsum, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.planner.bounds import TriggerNoise
from littled.planner.online.chains import (
    CALLS_OF_A_DOUBLING,
    DIRECT_FACTOR,
    RULES_OF_GAME_MAX,
    Failure,
    direct_calls,
    drawn_calls,
    halving,
)

MILLION = 10**6


def game(most: int) -> list[float]:
    """E(n) by its definition."""
    calls = [0.0]
    for n in range(1, most + 1):
        calls.append(1 + sum(max(calls[n - i], calls[i - 1]) for i in range(1, n + 1)) / n)
    return calls


def test_the_calls_of_the_game_are_those_of_its_definition() -> None:
    """After the first rule, the middle, an adversary keeps the larger half."""
    calls = game(150)
    for rules in range(1, 300):
        assert drawn_calls(rules) == pytest.approx(1 + calls[(rules - 1) // 2])


def test_larger_chains_take_as_many_calls_more_for_each_doubling() -> None:
    most = RULES_OF_GAME_MAX
    assert drawn_calls(4 * most) == pytest.approx(drawn_calls(most) + 2 * CALLS_OF_A_DOUBLING)
    assert drawn_calls(most) - drawn_calls(most // 2) == pytest.approx(CALLS_OF_A_DOUBLING, abs=0.1)
    assert direct_calls(257) == int(DIRECT_FACTOR * drawn_calls(257)) == 21


@given(
    failure=st.floats(1e-6, 0.5),
    epochs=st.integers(1, 40),
    rates=st.tuples(st.floats(0.01, 4), st.floats(0.01, 4)),
)
def test_parts_of_a_failure_add_up(failure: float, epochs: int, rates: tuple[float, float]) -> None:
    parts = Failure.divided(failure, epochs, *rates)
    each = (parts.reach, parts.undershoot, parts.draws, parts.delays)
    assert fsum(each) == pytest.approx(failure)
    assert min(each) > 0


def test_the_bound_for_256_thresholds_and_what_no_other_division_improves() -> None:
    trigger, rate, epochs = TriggerNoise(0.6, MILLION), 0.2, 8
    found = halving(257, trigger, rate, 0.05)
    assert found.threshold == 71
    assert 8 * 71 < found.mistakes <= 620
    parts = 0.0125, 0.0125, 0.0125, 0.0125
    even = (
        log(MILLION / parts[0]) / 0.6 + log(epochs / parts[1]) / 0.6 + log(epochs / parts[2]) / rate
    )
    assert found.mistakes < epochs * even + trigger.delays(epochs, parts[3])


def test_direct_calls_are_added_with_their_delays() -> None:
    trigger = TriggerNoise(0.5, MILLION)
    alone, after = (halving(257, trigger, 0.25, 0.05, direct=31, calls=calls) for calls in (0, 21))
    assert after.threshold == alone.threshold
    assert after.mistakes == pytest.approx(alone.mistakes + 21 * 31 + 2 * 21 * log(3) / 0.5)


def season(rng: np.random.Generator, rules: int, threshold: int, e_t: float, e_s: float) -> int:
    """Mistakes of a season that halves, against who keeps the larger side and shows mistakes."""

    def noise() -> int:
        return int(rng.geometric(1 - np.exp(-e_t)) - rng.geometric(1 - np.exp(-e_t)))

    low, high, targets, mistakes = 0, rules - 1, (0, rules - 1), 0
    while True:
        rule = (low + high) // 2
        above, below = (
            targets[1] - max(rule, targets[0] - 1),
            min(rule, targets[1] + 1) - targets[0],
        )
        if above <= 0 and below <= 0:
            return mistakes
        too_low, limit, seen = above >= below, threshold + noise(), 0
        targets = (
            (max(targets[0], rule + 1), targets[1])
            if too_low
            else (targets[0], min(targets[1], rule - 1))
        )
        while True:
            seen += 1
            if seen + noise() >= limit:
                break
        mistakes += seen
        right = rng.random() < 1 / (1 + np.exp(-e_s * seen))
        if too_low == right:
            low = rule + 1
        else:
            high = rule - 1
        if low > high:
            low, high = 0, rules - 1


@pytest.mark.parametrize(("rules", "e_t", "e_s"), [(17, 0.6, 0.2), (257, 0.6, 0.2), (65, 1.0, 0.5)])
def test_no_season_against_an_evader_exceeds_the_bound(rules: int, e_t: float, e_s: float) -> None:
    found = halving(rules, TriggerNoise(e_t, MILLION), e_s, 0.05)
    rng = np.random.default_rng(rules)
    worst = [season(rng, rules, found.threshold, e_t, e_s) for _ in range(100)]
    assert sum(mistakes > found.mistakes for mistakes in worst) <= 5
    assert max(worst) > 0.8 * found.mistakes
