"""The coin of two vote counts: thresholds against exact odds, privacy on all counts."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from littled.mechanisms.votes import PRECISION, VoteCoin

RATES = [Fraction(1), Fraction(1, 10), Fraction(7, 2), Fraction(1, 1000)]


def probability(rate: Fraction, ones: int, voters: int) -> Any:
    with mpmath.workprec(300):
        exponent = mpmath.mpf(rate.numerator) / rate.denominator
        return 1 / (1 + mpmath.exp(-exponent * (2 * ones - voters)))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("voters", [1, 2, 5, 200])
def test_thresholds_are_the_exact_odds_up_to_their_bound(rate: Fraction, voters: int) -> None:
    coin = VoteCoin(rate, voters)
    with mpmath.workprec(300):
        for ones in range(voters + 1):
            given_ = mpmath.mpf(coin.threshold(ones)) / 2**64
            assert abs(given_ - probability(rate, ones, voters)) <= mpmath.mpf(2) ** -63
    assert Fraction(1, 2**63) == PRECISION


@given(st.integers(1, 300), st.fractions(Fraction(1, 1000), 60))
def test_votes_exchanged_exchange_the_answers(voters: int, rate: Fraction) -> None:
    coin = VoteCoin(rate, voters)
    thresholds = [coin.threshold(ones) for ones in range(voters + 1)]
    assert thresholds == sorted(thresholds)
    for ones in range(voters + 1):
        both = thresholds[ones] + thresholds[voters - ones]
        assert both == (2**64 if 2 * ones == voters else 2**64 - 1)


@pytest.mark.parametrize("voters", [2, 9, 40])
def test_a_changed_vote_costs_twice_the_rate_and_no_less(voters: int) -> None:
    rate = Fraction(1, 2)
    laws = [float(probability(rate, ones, voters)) for ones in range(voters + 1)]
    pure = max(
        max(abs(math.log(p / r)), abs(math.log((1 - p) / (1 - r)))) for p, r in pairwise(laws)
    )
    odds = [math.log(p / (1 - p)) for p in laws]
    assert np.diff(odds) == pytest.approx(1.0)
    assert pure <= 1 + 1e-6
    assert pure > 0.99 or voters < 20


def test_answers_compare_each_word_with_its_threshold() -> None:
    coin = VoteCoin(Fraction(1, 2), 4)
    ones = np.array([0, 1, 2, 3, 4, 4], dtype=np.int64)
    at = [coin.threshold(int(each)) for each in ones]
    words = np.array(at, dtype=np.uint64)
    assert coin.answers(ones, words).tolist() == [0] * 6
    assert coin.answers(ones, words - np.uint64(1)).tolist() == [1] * 6
    assert coin.answers(ones[:0], words[:0]).shape == (0,)


def check_answers(answers: int, seed: int) -> None:
    coin, rng = VoteCoin(Fraction(1, 4), 7), np.random.default_rng(seed)
    for ones in range(8):
        said = 0
        for _ in range(answers // 10_000):
            words = rng.integers(0, 2**64, 10_000, dtype=np.uint64)
            said += int(coin.answers(np.full(10_000, ones), words).sum())
        for rate, fits in ((Fraction(1, 4), True), (Fraction(3, 8), False)):
            p = float(probability(rate, ones, 7))
            counts, expected = [said, answers - said], [p * answers, (1 - p) * answers]
            p_value = chisquare(counts, expected).pvalue
            assert p_value > 1e-4 if fits else p_value < 1e-4


def test_answers_follow_their_law_and_no_other() -> None:
    check_answers(40_000, seed=1)


@pytest.mark.campaign
def test_ten_million_answers_to_each_count_follow_their_law_and_no_other() -> None:
    check_answers(10_000_000, seed=2)


def test_far_ahead_is_nearly_certain_and_never_wraps() -> None:
    coin = VoteCoin(Fraction(10), 100)
    assert (coin.threshold(0), coin.threshold(100)) == (0, 2**64 - 1)


@pytest.mark.parametrize(
    ("ones", "words", "sentence"),
    [
        (np.zeros(1), np.zeros(1, dtype=np.uint64), "counts of int64"),
        (np.zeros(1, dtype=np.int64), np.zeros(1), "words of uint64"),
        (np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.uint64), "one word for each"),
        (np.array([5]), np.zeros(1, dtype=np.uint64), "number of voters"),
        (np.array([-1]), np.zeros(1, dtype=np.uint64), "number of voters"),
    ],
)
def test_other_votes_are_refused(ones: Any, words: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        VoteCoin(Fraction(1), 4).answers(ones, words)


def test_coins_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one voter"):
        VoteCoin(Fraction(1), 0)
    with pytest.raises(TypeError, match="Fraction"):
        VoteCoin("0.1", 3)  # type: ignore[arg-type]


def test_floats_are_rates_as_they_are_written_a() -> None:
    assert VoteCoin(0.1, 3) == VoteCoin(Fraction(1, 10), 3)  # type: ignore[arg-type]
