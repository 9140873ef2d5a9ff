"""Noisy majorities: the concentrated law and its proof, privacy by enumeration, draws by law."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import islice, pairwise, takewhile

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from littled.mechanisms.noisy_majority import (
    ODDS_BITS,
    RATE_MIN,
    ConcentratedLead,
    Noise,
    NoisyMajority,
    _losing_odds,
)
from littled.mechanisms.votes import VoteCoin

ONE = 1 << ODDS_BITS
RATES = [RATE_MIN, Fraction(1, 16_384), Fraction(1, 181), Fraction(2, 7), Fraction(3)]
REACH = 200
Z = np.arange(-REACH, REACH + 1)


def table(rate: Fraction, odd: bool, count: int) -> list[tuple[int, int]]:
    """Log-odds and odds of the first leads, as long as odds are above 2^-64."""
    rows = takewhile(lambda row: row[1] << 64 > ONE, _losing_odds(rate, odd))
    return list(islice(rows, count))


def k_of(odds: mpmath.mpf) -> mpmath.mpf:
    """K(l) of the module's text."""
    return mpmath.tanh(odds / 2) / (4 * odds) if odds else mpmath.mpf(1) / 8


def difference(weigh: Callable[[float], float], ahead: int) -> float:
    """P[Z_1 - Z_0 > -ahead] for noises with these weights: of 1 where it is ahead by so many."""
    noise = np.array([weigh(float(z)) for z in Z])
    noise /= noise.sum()
    return float(np.convolve(noise, noise[::-1])[2 * REACH - ahead + 1 :].sum())


def laplace(rate: float, ahead: int) -> float:
    return difference(lambda z: math.exp(-rate * abs(z)), ahead)


def gaussian(rate: float, ahead: int) -> float:
    return difference(lambda z: math.exp(-((rate * z) ** 2) / 2), ahead)


def concentrated(rate: Fraction, ahead: int) -> float:
    return ConcentratedLead(rate, abs(ahead) % 2 + 1000).threshold(ahead) / 2**64


# -- the concentrated law --------------------------------------------------------------------------


@given(odds=st.floats(-40, 40), t=st.floats(-60, 60))
def test_the_inequality_of_the_proof_holds_and_cannot_be_improved(odds: float, t: float) -> None:
    with mpmath.workprec(400):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(odds)))

        def left(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log((1 - p) * mpmath.exp(-t * p) + p * mpmath.exp(t * (1 - p)))

        slack = mpmath.mpf(2) ** -300
        assert left(mpmath.mpf(t)) <= k_of(mpmath.mpf(odds)) * t * t + slack
        touching = -2 * mpmath.mpf(odds)
        assert abs(left(touching) - k_of(mpmath.mpf(odds)) * touching**2) <= slack


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_every_step_costs_at_most_its_price_and_hardly_less(rate: Fraction, odd: bool) -> None:
    with mpmath.workprec(500):
        price = (mpmath.mpf(rate.numerator) / rate.denominator) ** 2
        levels = [mpmath.mpf(each) / ONE for each, _ in table(rate, odd, 1000)]
        if odd:
            assert 0.999 * price < (2 * levels[0]) ** 2 / 8 <= price
        else:
            assert levels[0] == 0
        for low, high in pairwise(levels):
            assert 0.98 * price < (high - low) ** 2 * k_of(low) <= price


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_odds_are_lower_bounds_as_near_as_said(rate: Fraction, odd: bool) -> None:
    with mpmath.workprec(500):
        for level, odds in table(rate, odd, 60_000)[::97]:
            assert 0 <= ONE * mpmath.exp(-mpmath.mpf(level) / ONE) - odds < 1 << 18


@pytest.mark.parametrize("voters", [1, 2, 12, 13])
@pytest.mark.parametrize("rate", RATES)
def test_probabilities_are_as_precise_as_said(rate: Fraction, voters: int) -> None:
    law = ConcentratedLead(rate, voters)
    levels = [level for level, _ in islice(_losing_odds(rate, voters % 2 == 1), voters // 2 + 1)]
    with mpmath.workprec(500):
        for ones in range(voters + 1):
            lead = 2 * ones - voters
            size = mpmath.mpf(levels[abs(lead) // 2]) / ONE
            ideal = 1 / (1 + mpmath.exp(-size if lead > 0 else size))
            bound = mpmath.mpf(law.total_variation.numerator) / law.total_variation.denominator
            assert abs(mpmath.mpf(law.threshold(lead)) / 2**64 - ideal) <= bound
    assert voters % 2 or law.threshold(0) == 1 << 63


def test_leads_beyond_the_table_are_certain_up_to_their_precision() -> None:
    law = ConcentratedLead(Fraction(1, 2), 10**6)
    assert (law.threshold(-(10**5)), law.threshold(10**5)) == (0, 2**64 - 1)
    assert law.threshold(-20) > 0


# -- privacy, and what it is good for --------------------------------------------------------------


def worst(chance: Callable[[int], float], leads: range) -> tuple[float, float]:
    """The largest log-ratio, and the largest Renyi divergence by its order, of a changed vote."""
    pure = rho = 0.0
    for ahead in leads:
        p, r = chance(ahead), chance(ahead - 2)
        pure = max(pure, math.log(p / r), math.log((1 - r) / (1 - p)))
        for a in 1 + np.geomspace(0.01, 3000, 60):
            for u, w in ((p, r), (r, p)):
                one = a * math.log(u) + (1 - a) * math.log(w)
                zero = a * math.log1p(-u) + (1 - a) * math.log1p(-w)
                rho = max(rho, float(np.logaddexp(one, zero)) / (a - 1) / a)
    return pure, rho


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1)])
def test_laplace_noise_costs_at_most_its_price(rate: Fraction) -> None:
    pure, rho = worst(lambda ahead: laplace(float(rate), ahead), range(-9, 10))
    assert rate < pure <= 2 * rate
    assert rho <= rate**2


@pytest.mark.parametrize(
    ("rate", "leads", "near"),
    [
        (Fraction(1, 30), range(-180, 181), 0.99),
        (Fraction(1, 30), range(-181, 182, 2), 0.99),
        (Fraction(1, 3), range(-20, 21, 2), 0.95),
        (Fraction(1), range(-7, 8, 2), 0.8),
    ],
)
def test_the_concentrated_law_costs_at_most_its_price_and_hardly_less(
    rate: Fraction, leads: range, near: float
) -> None:
    _, rho = worst(lambda ahead: concentrated(rate, ahead), leads)
    assert near * rate**2 < rho <= rate**2 * (1 + Fraction(1, 10**6))
    # where votes are equal, and where they are not, alike
    for lead in (1 + leads[-1] % 2, leads[-1] // 2):
        _, there = worst(lambda ahead: concentrated(rate, ahead), range(lead, lead + 1))
        assert there > 0.7 * near * rate**2


@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(1, 4), Fraction(1, 2)])
def test_gaussian_noise_and_the_coin_err_more_at_the_same_price(rate: Fraction) -> None:
    coin = VoteCoin(rate * 1414 / 1000, 1000)  # v^2 / 2 each
    for ahead in range(2, min(int(6 / rate), 190), 2):
        wrong = 1 - concentrated(rate, ahead)
        assert wrong < 1 - gaussian(float(rate), ahead)
        assert wrong < 1 - coin.threshold(500 + ahead // 2) / 2**64
    # by a quarter where it matters
    lead = round(2 / rate) // 2 * 2
    assert 1 - concentrated(rate, lead) < 0.75 * (1 - gaussian(float(rate), lead))


# -- answers ---------------------------------------------------------------------------------------


def check_answers(noise: Noise, answers: int, other: Fraction | None = None) -> None:
    """Answers at three leads have the probability of their law, not that of rate `other`."""
    rng, rate = np.random.default_rng(9), Fraction(1, 3)
    for ahead in (-3, 0, 2):
        majority = NoisyMajority(rate, 10 + ahead, noise)
        words = rng.integers(0, 2**64, (answers, majority.words), dtype=np.uint64)
        ones = sum(majority.answer(5 + ahead, 5, each) for each in words)
        assert fit(ones, answers, probability_of_1(noise, rate, ahead)) > 1e-4
        if other is not None and ahead:
            assert fit(ones, answers, probability_of_1(noise, other, ahead)) < 1e-4


def probability_of_1(noise: Noise, rate: Fraction, ahead: int) -> float:
    return laplace(float(rate), ahead) if noise == "laplace" else concentrated(rate, ahead)


def fit(ones: int, answers: int, p: float) -> float:
    return float(chisquare([ones, answers - ones], [p * answers, (1 - p) * answers]).pvalue)


@pytest.mark.parametrize("noise", ["laplace", "concentrated"])
def test_answers_follow_their_law(noise: Noise) -> None:
    check_answers(noise, 2000)


@pytest.mark.campaign
@pytest.mark.parametrize("noise", ["laplace", "concentrated"])
def test_ten_million_answers_follow_their_law_and_no_other(noise: Noise) -> None:
    check_answers(noise, 3_333_334, other=Fraction(1, 3) * Fraction(51, 50))


def test_equal_noisy_counts_are_answered_by_0() -> None:
    # magnitude 0 needs a high word; with all ones both noises are 0
    even, odd = (NoisyMajority(Fraction(60), voters, "laplace") for voters in (6, 7))
    words = np.full(even.words, 2**64 - 1, dtype=np.uint64)
    assert even.answer(3, 3, words) == 0
    assert odd.answer(4, 3, words) == 1


def test_one_word_decides_at_its_threshold() -> None:
    majority = NoisyMajority(Fraction(1, 5000), 100_001, "concentrated")
    majority.prepare()
    threshold = ConcentratedLead(Fraction(1, 5000), 100_001).threshold(-301)
    for word, answer in ((threshold - 1, 1), (threshold, 0)):
        words = np.array([word], dtype=np.uint64)
        assert majority.answer(49_850, 50_151, words) == answer


@pytest.mark.parametrize("noise", ["laplace", "concentrated"])
def test_other_arguments_are_refused(noise: Noise) -> None:
    majority = NoisyMajority(Fraction(1), 2, noise)
    with pytest.raises(ValueError, match="words"):
        majority.answer(1, 1, np.zeros(3, dtype=np.uint64))
    for ones, zeros in ((1, 2), (-1, 3), (3, -1)):
        with pytest.raises(ValueError, match="those of all voters"):
            majority.answer(ones, zeros, np.zeros(majority.words, dtype=np.uint64))
    for rate in (Fraction(1, 2**21), Fraction(1 << 17)):
        with pytest.raises(ValueError, match="a rate must be from"):
            NoisyMajority(rate, 2, noise)
    with pytest.raises(TypeError, match="Fraction"):
        NoisyMajority("0.1", 2, noise)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one voter"):
        NoisyMajority(Fraction(1), 0, noise)
