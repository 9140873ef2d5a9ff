"""What a figure says: the exact law behind its interval, and how often the interval holds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from littled.engine import quality
from littled.engine.quality import LEVEL, error_rate, figure_facts, quality_facts
from littled.learners.measured import QualitySettings
from littled_protocol.figures import Figure

SETTINGS = QualitySettings(Fraction(1, 40), 2000, 10)


def figure(wrong: int, right: int | None = None, examples: int = 2000) -> Figure:
    return Figure(1, 0, 0, examples, 1, 2, wrong, right)


def laplace(z: int, rate: float) -> float:
    b = math.exp(-rate)
    return (1 - b) / (1 + b) * b ** abs(z)


def reached(noisy: int, count: int, p: float, rate: float) -> float:
    """P[M + Z >= noisy] by the definition."""
    binomial = [math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
    most = 60 + int(60 / rate)
    return sum(
        binomial[k] * laplace(z, rate)
        for k in range(count + 1)
        for z in range(max(noisy - k, -most), most)
    )


@pytest.mark.parametrize("noisy", [-3, 0, 2, 9, 14])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_the_chance_of_a_noisy_count_is_that_of_the_definition(
    noisy: int, p: float, rate: float
) -> None:
    expected = reached(noisy, 12, p, rate)
    assert quality._reached(noisy, 12, p, rate) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("noisy", [1, 4, 11])
def test_ends_are_where_the_chance_comes_to_the_level(noisy: int) -> None:
    lower = quality._lower(noisy, 12, 2.0, 0.025)
    assert reached(noisy, 12, lower, 2.0) <= 0.025 if lower else True
    assert reached(noisy, 12, lower + 1e-6, 2.0) > 0.025


@pytest.mark.parametrize("miss", [0.3, 0.05, 0.01])
def test_noise_on_how_many_are_counted_is_within_its_bound(miss: float) -> None:
    rate = 0.7
    reach = quality._both_noises(rate, miss)
    noise = {z: laplace(z, rate) for z in range(-60, 61)}
    sums: dict[int, float] = {}
    for z, p in noise.items():
        for w, q in noise.items():
            sums[abs(z + w)] = sums.get(abs(z + w), 0.0) + p * q
    beyond = sum(p for size, p in sums.items() if size > reach)
    assert beyond <= miss < beyond + sums[reach]


def test_ends_are_in_order_and_within_what_a_share_may_be() -> None:
    for wrong in (-500, -1, 0, 1, 100, 1999, 2000, 2001, 9000):
        rate, lower, upper = error_rate(SETTINGS, figure(wrong))
        assert 0 <= lower <= rate <= upper <= 1
    assert error_rate(SETTINGS, figure(-500))[0] == 0
    assert error_rate(SETTINGS, figure(9000))[0] == 1
    assert error_rate(SETTINGS, figure(-500)) == error_rate(SETTINGS, figure(0))


def test_mistakes_and_what_is_right_are_treated_alike() -> None:
    for wrong in (0, 17, 800):
        rate, lower, upper = error_rate(SETTINGS, figure(wrong))
        other = error_rate(SETTINGS, figure(2000 - wrong))
        assert other == pytest.approx((1 - rate, 1 - upper, 1 - lower), abs=2e-6)


def test_a_figure_that_counts_nobody_says_nothing() -> None:
    rate, lower, upper = error_rate(SETTINGS, figure(-4, 3))
    assert (lower, upper) == (0.0, 1.0)
    assert 0 <= rate <= 1
    assert figure_facts(SETTINGS, figure(-4, 3))["examples_counted"] == 0


def test_more_examples_than_are_added_up_have_an_interval_all_the_same() -> None:
    many = quality.COUNTED_MAX + 1
    _, low, high = error_rate(SETTINGS, figure(many // 10, examples=many))
    _, lower, upper = error_rate(SETTINGS, figure(many // 10 - 1, examples=many - 1))
    assert low < lower < 0.1 < upper < high  # Hoeffding's bound is wider
    assert high - low < 0.01


def test_a_status_says_when_the_next_figure_comes() -> None:
    assert quality_facts(SETTINGS, None, 0, 0) == {"period_examples": 2000, "next_position": 2000}
    assert quality_facts(SETTINGS, None, 0, 1999)["next_position"] == 2000
    assert quality_facts(SETTINGS, None, 0, 2000)["next_position"] == 4000
    assert quality_facts(SETTINGS, None, 50_000, 50_001)["next_position"] == 52_000
    assert quality_facts(SETTINGS, None, 0, 20_000)["next_position"] is None
    facts = quality_facts(SETTINGS, figure(100), 0, 2000)
    assert (facts["error_rate"], facts["level"], facts["position"]) == (0.05, LEVEL, 2000)


def exact_coverage(p: float, count: int, rate: float) -> float:
    """The chance that the interval holds p: of all noisy counts for which it does."""
    miss = (1 - LEVEL) / 2
    reach = int(12 * math.sqrt(count * p * (1 - p)) + 20 / rate) + 20
    centre = int(count * p)
    # P[S >= s] falls with s
    chances = {
        s: quality._reached(s, count, p, rate) for s in range(centre - reach, centre + reach)
    }
    held = [
        s for s, above in chances.items() if above > miss and 1 - chances.get(s + 1, 0.0) > miss
    ]
    return chances[held[0]] - chances[held[-1] + 1]


@pytest.mark.no_cover
@pytest.mark.parametrize("p", [0.001, 0.03, 0.2, 0.5, 0.97])
@pytest.mark.parametrize(("count", "rate"), [(2500, 0.025), (300, 0.1), (40, 2.0)])
def test_intervals_hold_the_error_rate_at_least_as_often_as_they_say(
    p: float, count: int, rate: float
) -> None:
    found = exact_coverage(p, count, rate)
    assert found + 1e-9 >= LEVEL
    assert found < LEVEL + 0.03 or rate > 1, "it says more than it needs to"


@pytest.mark.no_cover
@pytest.mark.parametrize("users", [pytest.param(False, marks=pytest.mark.long), True])
def test_intervals_of_simulated_figures_hold_it(users: bool) -> None:
    p, count, settings = 0.2, 400, QualitySettings(Fraction(1, 10), 400, 1)
    random, runs = np.random.default_rng(5), 200
    b = math.exp(-0.1)
    wrong = random.binomial(count, p, runs)
    one, other = (random.geometric(1 - b, runs) - random.geometric(1 - b, runs) for _ in range(2))
    held = 0
    for m, z, w in zip(wrong.tolist(), one.tolist(), other.tolist(), strict=True):
        found = figure(m + z, count - m + w, 10 * count) if users else figure(m + z, None, count)
        _, lower, upper = error_rate(settings, found)
        held += lower <= p <= upper
    # six deviations below the level would not happen in 10^8 tries
    assert held / runs >= LEVEL - 6 * math.sqrt(LEVEL * (1 - LEVEL) / runs)
