"""What is proven of a window's rule: against exact sums, runs of the worst law, known figures."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from littled.planner.batch.bounds import (
    binomial,
    bottom_chance,
    dense_failure,
    histogram_failure,
    lists_failure,
    missed,
    proposals_failure,
    weight_loss,
)

HALF, NONE, TENTH = Fraction(1, 2), Fraction(0), Fraction(1, 10)


def least(good: list[bool]) -> int:
    """The first number that is good, all later ones being so."""
    first = good.index(True)
    assert all(good[first:])
    return first


def test_a_window_of_400_is_enough_for_256_thresholds() -> None:
    """N exp(-(1 - exp(-e)) alpha n), at alpha = 0.05 and beta = 0.1."""
    assert least([dense_failure(257, n, 0.05, HALF, NONE) <= 0.1 for n in range(1000)]) == 400
    by_hand = 257 * math.exp(-(1 - math.exp(-0.5)) * 0.05 * 400)
    assert dense_failure(257, 400, 0.05, HALF, NONE) == pytest.approx(by_hand)


def test_weight_is_lost_to_noise_and_never_gained() -> None:
    assert weight_loss(HALF, NONE) == pytest.approx(1 - math.exp(-0.5))
    losses = [weight_loss(HALF, Fraction(k, 20)) for k in range(1, 9)]
    assert all(0 < b < a < 0.4 for a, b in pairwise(losses))
    # beyond the best exponent a greater rate is of no use
    assert weight_loss(Fraction(3), TENTH) == weight_loss(Fraction(9), TENTH)


@pytest.mark.parametrize(("n", "share"), [(10, 0.3), (700, 0.05), (3, 0.0), (4, 1.0)])
def test_binomial_chances_are_exact(n: int, share: float) -> None:
    exact = [math.comb(n, x) * share**x * (1 - share) ** (n - x) for x in range(n + 1)]
    assert list(binomial(n, share, n)) == pytest.approx(exact, abs=1e-13)


def test_the_chance_to_miss_an_id_is_that_of_its_sum_with_noise() -> None:
    n, share, rate, threshold = 60, 0.3, 0.5, 9
    noise = {z: math.exp(-rate * abs(z)) for z in range(-200, 201)}
    whole = sum(noise.values())
    exact = sum(
        p * sum(mass for z, mass in noise.items() if x + z < threshold) / whole
        for x, p in enumerate(binomial(n, share, n))
    )
    assert missed(n, share, rate, threshold) == pytest.approx(exact)
    assert histogram_failure(1, n, share, HALF, threshold, NONE) == pytest.approx(exact)
    assert histogram_failure(2, n, 2 * share, HALF, threshold, NONE) == pytest.approx(2 * exact)


@pytest.mark.parametrize("noise", [NONE, TENTH])
def test_bounds_hold_in_runs_of_the_worst_law(noise: Fraction) -> None:
    """Wrong rules that differ from the target at one point each, all alike."""
    rng, n, alpha, rules, runs = np.random.default_rng(1), 200, 0.08, 40, 4000
    share = alpha / (1 - 2 * float(noise))
    differ = rng.binomial(n, share, (runs, rules))
    errors = differ - 2 * rng.binomial(differ, float(noise))  # D of each wrong rule
    weights = np.exp(-0.5 * errors)
    worse = float(np.mean(weights.sum(axis=1) / (1 + weights.sum(axis=1))))
    assert worse <= dense_failure(rules, n, alpha, HALF, noise) + 0.02
    # one id with a share of alpha, and ids that should not pass
    score = rng.binomial(n, share, runs)
    score = score - 2 * rng.binomial(score, float(noise))
    laplace = rng.geometric(1 - math.exp(-0.5), (2, runs))
    missing = float(np.mean(score + laplace[0] - laplace[1] < 10))
    assert missing <= histogram_failure(1, n, alpha, HALF, 10, noise) + 0.02


def test_bottom_is_drawn_at_most_as_often_as_the_weights_say() -> None:
    chance = bottom_chance(100, 0.3, 0.5, 20)
    exact = sum(
        p * min(1.0, math.exp(0.5 * (20 - x))) for x, p in enumerate(binomial(100, 0.3, 100))
    )
    assert chance == pytest.approx(exact)
    assert proposals_failure(129, 1004, 0.05, HALF, 39, NONE) <= 0.1
    assert proposals_failure(129, 990, 0.05, HALF, 39, NONE) > 0.1
    assert proposals_failure(129, 1004, 0.05, HALF, 39, TENTH) > 0.1


def test_lists_of_chunks_of_one_example_are_nearly_the_dense_case() -> None:
    """The same exponent, and bottom besides."""
    dense = 257 * (1 - (1 - math.exp(-0.5)) * 0.05) ** 500
    assert lists_failure(257, 500, 1, 0.05, HALF, 40) == pytest.approx(dense)
    assert lists_failure(257, 40, 10, 0.05, HALF, 40) == 1.0
