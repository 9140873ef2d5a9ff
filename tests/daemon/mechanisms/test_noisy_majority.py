"""Noisy majorities: the discrete Gaussian's law, privacy by enumeration, draws by their law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noisy_majority import DiscreteGaussian, Noise, NoisyMajority

REACH = 200
Z = np.arange(-REACH, REACH + 1)


def law(rate: float, noise: Noise) -> NDArray[np.float64]:
    exponents = rate * np.abs(Z) if noise == "laplace" else (rate * Z) ** 2 / 2
    weights = np.exp(-exponents)
    return weights / weights.sum()


def chance(rate: float, noise: Noise, ahead: int) -> float:
    """P[Z_1 - Z_0 > -ahead]: of the answer 1 where it is so many votes ahead."""
    both = np.convolve(law(rate, noise), law(rate, noise)[::-1])
    return float(both[2 * REACH - ahead + 1 :].sum())


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1)])
def test_a_changed_vote_costs_at_most_the_price(noise: Noise, rate: Fraction) -> None:
    v, worst_pure, worst_rho = float(rate), 0.0, 0.0
    for ahead in range(-9, 10):
        p, r = chance(v, noise, ahead), chance(v, noise, ahead - 2)
        worst_pure = max(worst_pure, math.log(p / r), math.log((1 - r) / (1 - p)))
        for a in (1.01, 2.0, 5.0, 20.0):
            for u, w in ((p, r), (r, p)):
                total = u**a * w ** (1 - a) + (1 - u) ** a * (1 - w) ** (1 - a)
                worst_rho = max(worst_rho, math.log(total) / (a - 1) / a)
    if noise == "laplace":
        assert v < worst_pure <= 2 * v
    assert worst_rho <= v**2
    # Gaussian noise is priced closely
    assert noise == "laplace" or worst_rho > 0.4 * v**2


def test_the_gaussian_has_its_law() -> None:
    gaussian, rng = DiscreteGaussian(Fraction(1, 2)), np.random.default_rng(1)
    words = rng.integers(0, 2**64, (6000, 4), dtype=np.uint64)
    drawn = np.array([gaussian.sample(each) for each in words])
    ideal = law(0.5, "gaussian")[REACH - 7 : REACH + 8]
    counts = np.bincount(np.clip(drawn, -7, 7) + 7, minlength=15)
    expected = np.array([*ideal[:-1], 0]) * len(drawn)
    expected[-1] = len(drawn) - expected.sum()
    expected[0] = expected[-1] = (expected[0] + expected[-1]) / 2
    assert chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 50), Fraction(5)])
def test_what_lies_beyond_the_reach_has_no_weight(rate: Fraction) -> None:
    gaussian = DiscreteGaussian(rate)
    mechanism = ExponentialMechanism(rate * rate / 2)
    assert mechanism.weight(gaussian.reach**2) == 0
    assert float(rate) ** 2 * gaussian.reach**2 / 2 >= 89
    assert gaussian.total_variation < Fraction(1, 1 << 112)


def check_answers(noise: Noise, answers: int) -> None:
    majority, rng = NoisyMajority(Fraction(1, 3), noise), np.random.default_rng(9)
    for ahead in (-3, 0, 2):
        p = chance(1 / 3, noise, ahead)
        words = rng.integers(0, 2**64, (answers, majority.words), dtype=np.uint64)
        ones = sum(majority.answer(5 + ahead, 5, each) for each in words)
        assert chisquare([ones, answers - ones], [p * answers, (1 - p) * answers]).pvalue > 1e-4


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_answers_follow_their_law(noise: Noise) -> None:
    check_answers(noise, 2000)


@pytest.mark.campaign
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_million_answers_follow_their_law(noise: Noise) -> None:
    check_answers(noise, 333_333)


def test_equal_noisy_counts_are_answered_by_0() -> None:
    # magnitude 0 needs a high word; with all ones both noises are 0
    majority = NoisyMajority(Fraction(60), "laplace")
    words = np.full(majority.words, 2**64 - 1, dtype=np.uint64)
    assert majority.answer(3, 3, words) == 0
    assert majority.answer(4, 3, words) == 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_other_arguments_are_refused(noise: Noise) -> None:
    with pytest.raises(ValueError, match="words"):
        NoisyMajority(Fraction(1), noise).answer(1, 1, np.zeros(3, dtype=np.uint64))
    with pytest.raises(ValueError, match="rate"):
        NoisyMajority(Fraction(1, 2**20), noise)
