"""The exponential mechanism: exact law of its draws, exact privacy on all tiny inputs."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.budget.conversion import guarantee
from littled.budget.events import ScorecardSeason
from littled.budget.price import Price
from littled.budget.prices import price
from littled.mechanisms.exponential import ExponentialMechanism
from support.tails import weight_of

RATES = [Fraction(1, 2), Fraction(1, 7), Fraction(3)]
INT64 = st.integers(-(2**63), 2**63 - 1)


def words_of(uniform: int) -> NDArray[np.uint64]:
    """The 256-bit integer as four words, lowest first."""
    return np.frombuffer(uniform.to_bytes(32, "little"), dtype="<u8").astype(np.uint64)


def boundaries(draw: Callable[[int], int], low: int, high: int) -> list[tuple[int, int]]:
    """(outcome, first u) of every run of equal outcomes on [low, high], each outcome one run."""
    runs = [(draw(low), low)]
    while runs[-1][0] != draw(high):
        outcome, inside, outside = runs[-1][0], runs[-1][1], high
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if draw(middle) == outcome else (inside, middle)
        runs.append((draw(outside), outside))
    return runs


def exact_law(draw: Callable[[int], int]) -> dict[int, Fraction]:
    """Probability of every outcome when u is uniform on 256 bits."""
    runs = boundaries(draw, 0, 2**256 - 1)
    ends = [start for _, start in runs[1:]] + [2**256]
    law = {
        outcome: Fraction(end - start, 2**256)
        for (outcome, start), end in zip(runs, ends, strict=True)
    }
    assert len(law) == len(runs)
    return law


def law_of(mechanism: ExponentialMechanism, scores: list[int]) -> dict[int, Fraction]:
    array = np.array(scores, dtype=np.int64)
    return exact_law(lambda uniform: mechanism.sample(array, words_of(uniform)))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "scores", [[0], [5, 5], [0, 1], [3, -2, 3], [0, 10, -10, 9, 10], [7, 6, 5, 4, 3, 3, 3, -400]]
)
def test_the_law_of_a_draw_is_the_ideal_one_up_to_its_bound(
    rate: Fraction, scores: list[int]
) -> None:
    mechanism = ExponentialMechanism(rate)
    law = law_of(mechanism, scores)
    with mpmath.workprec(400):
        exponent = mpmath.mpf(rate.numerator) / rate.denominator
        weights = [mpmath.exp(exponent * score) for score in scores]
        total = mpmath.fsum(weights)
        differences = [
            abs(mpmath.mpf(p.numerator) / p.denominator - weight / total)
            for p, weight in (
                (law.get(index, Fraction(0)), weight) for index, weight in enumerate(weights)
            )
        ]
        bound = mechanism.total_variation(len(scores))
        assert mpmath.fsum(differences) / 2 <= mpmath.mpf(bound.numerator) / bound.denominator
        assert bound < Fraction(1, 1 << 120)


@pytest.mark.parametrize("rate", RATES)
def test_the_law_is_that_of_the_integer_weights(rate: Fraction) -> None:
    mechanism, scores = ExponentialMechanism(rate), [2, 0, 2, -1, 1]
    weights = [weight_of(mechanism.rate, 2 - score) for score in scores]
    for index, probability in law_of(mechanism, scores).items():
        difference = probability - Fraction(weights[index], sum(weights))
        assert abs(difference) <= Fraction(1, 2**256)


def test_equal_scores_are_drawn_in_the_order_of_their_indices() -> None:
    mechanism = ExponentialMechanism(Fraction(1, 2))
    scores = np.array([1, 4, 1, 4, 4], dtype=np.int64)
    runs = boundaries(lambda u: mechanism.sample(scores, words_of(u)), 0, 2**256 - 1)
    assert [outcome for outcome, _ in runs] == [1, 3, 4, 0, 2]


@given(st.lists(INT64, min_size=1, max_size=6), st.integers(0, 2**256 - 1))
def test_any_scores_are_drawn_as_by_the_definition(scores: list[int], uniform: int) -> None:
    mechanism, highest = ExponentialMechanism(Fraction(1, 3)), max(scores)
    weights = [weight_of(mechanism.rate, highest - score) for score in scores]
    point = (uniform * sum(weights)) >> 256
    for index in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if point < weights[index]:
            break
        point -= weights[index]
    assert mechanism.sample(np.array(scores, dtype=np.int64), words_of(uniform)) == index


@pytest.mark.no_cover
@given(
    st.lists(st.integers(-40, 3) | st.just(-(10**9)), min_size=1, max_size=40),
    st.integers(0, 2**256 - 1),
    st.sampled_from([Fraction(1, 2), Fraction(1, 5000)]),
)
def test_counting_and_sorting_find_the_same(
    scores: list[int], uniform: int, rate: Fraction
) -> None:
    # rate 1/5000 has a table of 440,000 weights, where few scores are sorted and many are counted
    mechanism, words = ExponentialMechanism(rate), words_of(uniform)
    few = np.array(scores, dtype=np.int64)
    many = np.concatenate((few, np.full(120_000, -(2**40))))
    assert mechanism.sample(few, words) == mechanism.sample(many, words)


def test_scores_at_the_lower_end_of_int64_are_compared_without_overflow() -> None:
    mechanism = ExponentialMechanism(Fraction(1, 3))
    scores = np.array([-(2**63), -(2**63) + 9, -(2**63) + 1], dtype=np.int64)
    runs = boundaries(lambda u: mechanism.sample(scores, words_of(u)), 0, 2**256 - 1)
    assert [outcome for outcome, _ in runs] == [1, 2, 0]


def test_a_shift_of_all_scores_changes_nothing() -> None:
    mechanism, rng = ExponentialMechanism(Fraction(1, 20)), np.random.default_rng(3)
    scores = rng.integers(-30, 30, 1000)
    for _ in range(20):
        words = rng.integers(0, 2**64, 4, dtype=np.uint64)
        drawn = {mechanism.sample(scores + shift, words) for shift in (0, -(10**15), 2**62)}
        assert len(drawn) == 1


def test_scores_are_not_changed() -> None:
    scores = np.array([3, -(10**9), 4], dtype=np.int64)
    scores.flags.writeable = False
    assert ExponentialMechanism(Fraction(5)).sample(scores, np.zeros(4, dtype=np.uint64)) == 2


def test_a_million_candidates_of_one_score_are_reached_from_end_to_end() -> None:
    mechanism, scores = ExponentialMechanism(Fraction(1, 100)), np.zeros(1 << 20, dtype=np.int64)
    assert mechanism.sample(scores, words_of(0)) == 0
    assert mechanism.sample(scores, words_of(2**255)) == 1 << 19
    assert mechanism.sample(scores, words_of(2**256 - 1)) == (1 << 20) - 1


# -- privacy, by exact enumeration ---------------------------------------------------------------

CANDIDATES, EXAMPLES = 3, 2
# An example is the vector of rules it agrees with; a data set is the sum of two of them.
EXAMPLE_VECTORS = [np.array(each) for each in product((0, 1), repeat=CANDIDATES)]


def probabilities(mechanism: ExponentialMechanism, scores: NDArray[np.int64]) -> list[Fraction]:
    """The law of the integer weights, to which draws are equal up to 2^-256 (tested above)."""
    weights = [weight_of(mechanism.rate, int(scores.max() - score)) for score in scores]
    return [Fraction(weight, sum(weights)) for weight in weights]


def neighbours() -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Scores of all pairs of data sets that differ in the second example."""
    return [(a + b, a + c) for a, b, c in product(EXAMPLE_VECTORS, repeat=3)]


def log_ratios(here: list[Fraction], there: list[Fraction]) -> list[float]:
    return [math.log(p / q) for p, q in zip(here, there, strict=True)]


def divergence(order: float, here: list[Fraction], there: list[Fraction]) -> float:
    """Renyi divergence."""
    total = math.fsum(
        float(p) ** order * float(q) ** (1 - order) for p, q in zip(here, there, strict=True)
    )
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("rate", RATES)
def test_bounded_range_and_pure_privacy_are_twice_the_rate(rate: Fraction) -> None:
    mechanism = ExponentialMechanism(rate)
    ranges = []
    for one, other in neighbours():
        ratios = log_ratios(probabilities(mechanism, one), probabilities(mechanism, other))
        ranges.append(max(ratios) - min(ratios))
        assert min(ratios) <= 1e-12
        assert max(ratios) >= -1e-12
    assert max(ranges) == pytest.approx(2 * float(rate), abs=1e-12)


@pytest.mark.parametrize("rate", RATES)
def test_a_draw_is_half_the_squared_rate_in_zcdp(rate: Fraction) -> None:
    mechanism, rho = ExponentialMechanism(rate), float(rate) ** 2 / 2
    for one, other in neighbours():
        laws = probabilities(mechanism, one), probabilities(mechanism, other)
        for order in (1.01, 1.5, 2.0, 4.0, 16.0):
            assert divergence(order, *laws) <= order * rho + 1e-9


def test_the_zcdp_price_cannot_be_much_lower() -> None:
    # two groups, all of one up and all of the other down, at the worst odds: nearly r^2 / 8
    rate = Fraction(1, 7)
    mechanism = ExponentialMechanism(rate)
    laws = (probabilities(mechanism, np.array(each)) for each in ([1, 0], [0, 1]))
    assert divergence(1.01, *laws) > 0.99 * float(rate) ** 2 / 2


# -- Gaussian differential privacy, by exact enumeration -------------------------------------------


def gdp(rate: Fraction) -> mpmath.mpf:
    """mu of a draw of bounded range r = 2 rate, r sqrt(2 pi) / 4."""
    return mpmath.sqrt(2 * mpmath.pi) / 2 * rate.numerator / rate.denominator


def quantile(share: mpmath.mpf) -> mpmath.mpf:
    return -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * share)


@cache
def place(share: Fraction, digits: int) -> mpmath.mpf:
    """The quantile of a share, found once: many laws have the same."""
    with mpmath.workdps(digits):
        return quantile(mpmath.mpf(share.numerator) / share.denominator)


def apart(here: list[Fraction], there: list[Fraction]) -> mpmath.mpf:
    """The least mu for two laws: that of the best tests, between which a chance decides."""
    pairs = sorted(zip(here, there, strict=True), key=lambda pair: pair[0] / pair[1], reverse=True)
    p, q, most = Fraction(0), Fraction(0), mpmath.mpf(0)
    for one, other in pairs[:-1]:
        p, q = p + one, q + other
        most = max(most, place(p, mpmath.mp.dps) - place(q, mpmath.mp.dps))
    return most


@pytest.mark.parametrize("rate", RATES)
def test_a_draw_is_gdp_at_its_price(rate: Fraction) -> None:
    mechanism, most = ExponentialMechanism(rate), mpmath.mpf(0)
    with mpmath.workdps(60):
        for one, other in neighbours():
            laws = probabilities(mechanism, one), probabilities(mechanism, other)
            most = max(most, apart(*laws))
        # two groups at even odds, one up and the other down, are as far apart as that, nearly
        laws = (
            probabilities(mechanism, np.array([1, 0])),
            probabilities(mechanism, np.array([0, 1])),
        )
        worst = max(most, apart(*laws))
        assert worst <= gdp(rate)
        assert worst > gdp(rate) * (1 - mpmath.mpf(float(rate)) ** 2)
        # what it costs in zCDP, as mu^2 / 2, would not be enough
        if rate < 1:
            assert worst > mpmath.mpf(float(rate))


def test_the_normal_profile_is_above_a_parabola() -> None:
    """I(u) >= 4 u (1 - u) / sqrt(2 pi), with equality at 1/2: what the price of a draw rests on."""
    with mpmath.workdps(40):
        for k in range(1, 400):
            u = mpmath.mpf(k) / 400
            profile = mpmath.npdf(quantile(u))
            parabola = 4 * u * (1 - u) / mpmath.sqrt(2 * mpmath.pi)
            assert profile > parabola if k != 200 else mpmath.almosteq(profile, parabola)


@pytest.mark.no_cover
@pytest.mark.parametrize("rate", [rate for rate in RATES if rate < 2])
@pytest.mark.parametrize("mass", [Fraction(1, 10), Fraction(1, 10**4)])
def test_a_draw_beside_normal_noise_and_a_pure_bit_keeps_the_promise(
    rate: Fraction, mass: Fraction
) -> None:
    """The exact hockey-stick divergence of all three against what their prices come to."""
    mechanism, pure, amount = ExponentialMechanism(rate), Fraction(1, 4), Fraction(1, 50)
    zero = Fraction(0)
    drawn = price(ScorecardSeason(0, 0, 0, 1, 0, rate, "gaussian"))
    caps = Price(pure, zero, zero, amount) + drawn
    epsilon, delta = guarantee(caps, mass)
    mu, most = mpmath.sqrt(2 * mpmath.mpf(amount.numerator) / amount.denominator), mpmath.mpf(0)
    keep = 1 / (1 + mpmath.exp(-mpmath.mpf(1) / 4))

    @cache
    def beyond(loss: float, ratio: Fraction) -> mpmath.mpf:
        e = float(epsilon) - loss - math.log(ratio)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

    for one, other in [*neighbours(), (np.array([1, 0]), np.array([0, 1]))]:
        laws = probabilities(mechanism, one), probabilities(mechanism, other)
        found = mpmath.mpf(0)
        for p, q in zip(*laws, strict=True):
            for weight, loss in ((keep, 0.25), (1 - keep, -0.25)):
                found += weight * float(p) * beyond(loss, p / q)
        most = max(most, found)
    assert 0 < most <= mpmath.mpf(delta.numerator) / delta.denominator


# -- statistics ----------------------------------------------------------------------------------

SCORES = [4, 4, 3, 1, 0, -2, -9, 2]


def check_draws(draws: int, seed: int) -> None:
    mechanism, rng = ExponentialMechanism(Fraction(1, 2)), np.random.default_rng(seed)
    scores, counts = np.array(SCORES, dtype=np.int64), np.zeros(len(SCORES), dtype=np.int64)
    for _ in range(draws // 10_000):
        words = rng.integers(0, 2**64, (10_000, 4), dtype=np.uint64)
        drawn = np.fromiter((mechanism.sample(scores, each) for each in words), dtype=np.int64)
        counts += np.bincount(drawn, minlength=len(SCORES))
    for rate, fits in ((0.5, True), (0.5 * 2 / 3, False), (0.75, False), (0.25, False)):
        law = np.exp(rate * scores)
        p_value = chisquare(counts, law / law.sum() * draws).pvalue
        assert p_value > 1e-4 if fits else p_value < 1e-6


@pytest.mark.no_cover
def test_draws_follow_their_law_and_no_other() -> None:
    check_draws(10_000, seed=11)


@pytest.mark.campaign
def test_ten_million_draws_follow_their_law_and_no_other() -> None:
    check_draws(10_000_000, seed=12)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "words", "sentence"),
    [
        (np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.uint64), "1 to 2147483648 candidates"),
        (np.zeros((2, 2), dtype=np.int64), np.zeros(4, dtype=np.uint64), "one dimension"),
        (np.zeros(2), np.zeros(4, dtype=np.uint64), "scores of int64"),
        (np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.uint64), "4 uint64 words"),
        (np.zeros(2, dtype=np.int64), np.zeros(4, dtype=np.int64), "4 uint64 words"),
    ],
)
def test_other_arguments_are_refused(
    scores: NDArray[np.int64], words: NDArray[np.uint64], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        ExponentialMechanism(Fraction(1)).sample(scores, words)


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    assert ExponentialMechanism(0.1) == ExponentialMechanism(Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        ExponentialMechanism("0.1")  # type: ignore[arg-type]


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ExponentialMechanism(Fraction(1)).total_variation(-1)
