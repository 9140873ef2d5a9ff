"""Discrete Laplace noise: exact tails, exact law of the sampler, right and wrong scales."""

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.powers import RATE_MIN
from support.tails import tail_of

RATES = [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(22_937, 65_536), Fraction(7)]


def tail(rate: Fraction, gap: int) -> mpmath.mpf:
    """P[Z >= gap] at the working precision."""
    a = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    return a**gap / (1 + a) if gap > 0 else 1 - a ** (1 - gap) / (1 + a)


def words_of(uniform: int) -> NDArray[np.uint64]:
    """The 192-bit integer as three words, lowest first."""
    return np.frombuffer(uniform.to_bytes(24, "little"), dtype="<u8").astype(np.uint64)


def first_at_most(magnitude: int, sample: Callable[[int], int]) -> int:
    """The smallest 191-bit number whose magnitude is at most this; magnitudes fall as it grows."""
    low, high = 0, 1 << 191
    while low < high:
        middle = (low + high) // 2
        if sample(middle) <= magnitude:
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize("rate", RATES)
def test_tails_are_exact_floors_on_both_sides(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate)
    with mpmath.workprec(400):
        for gap in range(-noise.reach - 4, noise.reach + 5):
            assert tail_of(noise.rate, gap) == int(mpmath.floor(tail(rate, gap) * 2**64))
    assert tail_of(noise.rate, noise.reach) > 0
    assert tail_of(noise.rate, noise.reach + 1) == 0


@pytest.mark.parametrize("rate", RATES)
def test_the_table_holds_the_tails_and_its_ends_hold_beyond(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate)
    gaps = range(-noise.reach, noise.reach + 2)
    assert noise.survival_table.tolist() == [tail_of(noise.rate, gap) for gap in gaps]
    assert noise.survival_table.dtype == np.uint64
    assert tail_of(noise.rate, -noise.reach - 1) == noise.survival_table[0] == 2**64 - 1
    assert tail_of(noise.rate, noise.reach + 10**30) == noise.survival_table[-1] == 0
    with pytest.raises(ValueError, match="read-only"):
        noise.survival_table[0] = 1


@pytest.mark.parametrize("rate", RATES)
def test_one_step_costs_at_most_the_rate(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate)
    with mpmath.workprec(400):
        factor = mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator)
        for gap in range(-noise.reach, noise.reach):
            # (floor(2^64 G(g)) - 0) / 2^64 <= G(g) <= e^rate G(g + 1) < e^rate (floor + 1) / 2^64
            assert tail_of(noise.rate, gap) < factor * (tail_of(noise.rate, gap + 1) + 1)


@pytest.mark.parametrize("rate", RATES)
def test_the_law_of_a_sample_is_exact_up_to_its_bound(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate)

    def magnitude(uniform: int) -> int:
        positive, negative = (noise.sample(words_of(2 * uniform + sign)) for sign in (0, 1))
        assert positive == -negative >= 0
        return positive

    largest = magnitude(0)
    distance = Fraction(0)
    previous = 1 << 191
    with mpmath.workprec(600):
        for value in [*range(12), *range(12, min(largest, 600), 97)]:
            boundary = first_at_most(value, magnitude)
            got = Fraction(boundary, 1 << 191)  # P[|Z| > value]
            ideal = 2 * tail(rate, value + 1)
            distance = max(distance, abs(mpmath.mpf(got.numerator) / got.denominator - ideal))
            assert boundary <= previous
            previous = boundary
        assert distance <= mpmath.mpf(2) ** -188
        assert 2 * tail(rate, largest + 1) < mpmath.mpf(2) ** -180
    assert 2**-188 <= noise.total_variation < 2**-160


def test_the_slowest_rate_reaches_its_tail() -> None:
    noise = DiscreteLaplace(RATE_MIN)
    largest = noise.sample(np.zeros(3, dtype=np.uint64))
    assert 191 * 0.69 * 65_536 < largest < 1 << 24
    assert noise.total_variation < Fraction(1, 1 << 160)


def test_the_fastest_rate_is_always_zero() -> None:
    noise = DiscreteLaplace(Fraction(1000))
    assert noise.sample(np.zeros(3, dtype=np.uint64)) == 0
    assert noise.survival_table.tolist() == [2**64 - 1, 0]


@given(st.integers(2**10, 2**191 - 1), st.sampled_from(RATES))
def test_a_sample_is_the_inverse_of_the_tail(uniform: int, rate: Fraction) -> None:
    magnitude = DiscreteLaplace(rate).sample(words_of(2 * uniform))
    with mpmath.workprec(400):
        point = mpmath.mpf(uniform) / mpmath.mpf(2) ** 191
        assert 2 * tail(rate, magnitude + 1) <= point
        assert magnitude == 0 or point < 2 * tail(rate, magnitude)
    assert DiscreteLaplace(rate).sample(words_of(2 * uniform + 1)) == -magnitude


def histogram(rate: Fraction, draws: int, seed: int) -> NDArray[np.int64]:
    """Counts of -8 or less, -7, ..., 7, 8 or more."""
    noise, rng = DiscreteLaplace(rate), np.random.default_rng(seed)
    counts = np.zeros(17, dtype=np.int64)
    for start in range(0, draws, 100_000):
        words = rng.integers(0, 2**64, (min(100_000, draws - start), 3), dtype=np.uint64)
        values = np.fromiter((noise.sample(each) for each in words), dtype=np.int64)
        counts += np.bincount(np.clip(values, -8, 8) + 8, minlength=17)
    return counts


def expected(rate: float) -> NDArray[np.float64]:
    """Probabilities of the same classes, from the density."""
    values = np.arange(-2000, 2001)
    density = np.exp(-rate * np.abs(values))
    classes = np.clip(values, -8, 8) + 8
    return np.asarray(np.bincount(classes, weights=density / density.sum()), dtype=np.float64)


def check_scale(draws: int, seed: int, near: float) -> None:
    """Scales that are wrong by a factor of `near` or more would be seen."""
    counts = histogram(Fraction(2, 5), draws, seed)
    assert chisquare(counts, expected(0.4) * draws).pvalue > 1e-4
    for wrong in (0.4 * 2 / 3, 0.4 * 3 / 2, 0.4 * near):
        assert chisquare(counts, expected(wrong) * draws).pvalue < 1e-6


@pytest.mark.no_cover
def test_draws_have_the_right_scale_and_no_other() -> None:
    check_scale(100_000, seed=1, near=1.05)


@pytest.mark.campaign
def test_ten_million_draws_have_the_right_scale_and_no_other() -> None:
    check_scale(10_000_000, seed=2, near=1.01)


@pytest.mark.parametrize(
    "words",
    [np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.int64), np.zeros((3, 1), np.uint64)],
)
def test_other_words_are_refused(words: NDArray[np.uint64]) -> None:
    with pytest.raises(ValueError, match="3 uint64 words"):
        DiscreteLaplace(Fraction(1)).sample(words)


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    assert DiscreteLaplace(0.1) == DiscreteLaplace(Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        DiscreteLaplace("0.1")  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("rate", [*RATES, Fraction(20), Fraction(1, 2**16)])
def test_many_samples_are_those_of_single_ones(rate: Fraction) -> None:
    """Also where the highest word is next to an entry of the tail, or has no entry at all."""
    noise, generator = DiscreteLaplace(rate), np.random.default_rng(1)
    tails = [int(2**64 * 2 * tail(rate, gap)) for gap in (1, 2, 3, 5, 9)]
    near = [t + d for t in tails for d in range(-4, 5)]
    highest = [number % 2**64 for number in (*near, 0, 1, 2, 3, -1, -2)]
    words = generator.integers(0, 2**64, (200 + len(highest), 3), dtype=np.uint64)
    words[200:, 2] = highest
    words[200:, 1] = generator.choice(np.array([0, 2**64 - 1], np.uint64), len(highest))
    assert noise.samples(words).tolist() == [noise.sample(row) for row in words]
    assert noise.samples(words[:0]).shape == (0,)


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_other_shapes_of_many_samples_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows of 3 words"):
        DiscreteLaplace(Fraction(1)).samples(np.zeros(shape, dtype=np.uint64))
