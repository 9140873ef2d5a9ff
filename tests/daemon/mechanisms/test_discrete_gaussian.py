"""The sampler of discrete Gaussian noise: its table against many digits, its law, its edges."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from littled.mechanisms import discrete_gaussian as gaussian
from littled.mechanisms.noise import Address, KeyedNoise

WORD = 1 << 64


def entries() -> list[int]:
    """The distribution function of a part in 128 bits."""
    high, low = gaussian.distribution()
    return [int(a) << 64 | int(b) for a, b in zip(high, low, strict=True)]


def test_the_table_is_the_distribution_function_of_a_discrete_gaussian() -> None:
    with localcontext() as context:
        context.prec = 80
        one = Decimal(-1) / (2 * gaussian.PART_VARIANCE)
        weights = [(one * k * k).exp() for k in range(gaussian.REACH + 1)]
        total = weights[0] + 2 * sum(weights[1:])
        running, exact = Decimal(0), []
        for weight in [*reversed(weights[1:]), *weights][:-1]:
            running += weight
            exact.append(running / total * 2**128)
        # rounded down, and each weight off by less than 2^30 units of 2^-256
        differences = [e - found for e, found in zip(exact, entries(), strict=True)]
    assert max(differences) < Decimal("1.000001")
    assert min(differences) > Decimal("-0.000001")


@pytest.mark.parametrize("variance", ["0.3", "1", "7.5", "400", "10000"])
def test_rounded_normal_noise_is_as_near_as_lemma_n_says(variance: str) -> None:
    """Both laws in full, entry by entry; the bound is that of Lemma N, and no wild one."""
    with mpmath.workdps(50):
        v = mpmath.mpf(variance)
        deviation, reach = mpmath.sqrt(v), int(12 * math.sqrt(float(v))) + 3
        ends = [mpmath.ncdf((x - 0.5) / deviation) for x in range(-reach, reach + 2)]
        weights = [mpmath.exp(-x * x / (2 * v)) for x in map(mpmath.mpf, range(-reach, reach + 1))]
        total = mpmath.fsum(weights)
        apart = mpmath.fsum(
            abs(high - low - weight / total)
            for low, high, weight in zip(ends, ends[1:], weights, strict=False)
        )
        assert apart / 2 <= 1 / (8 * v)
        assert apart / 2 > 1 / (80 * v) or v < 1
    more = gaussian.ROUNDED_VARIATION - gaussian.TOTAL_VARIATION
    assert more == Fraction(1, 8 * gaussian.VARIANCE) < Fraction(1, 1 << 74)


def test_parts_begin_and_end_where_the_table_does() -> None:
    lowest = np.zeros((1, gaussian.WORDS), dtype=np.uint64)
    highest = np.full((1, gaussian.WORDS), WORD - 1, dtype=np.uint64)
    times = sum(gaussian.FACTOR**part for part in range(gaussian.PARTS))
    # the first entries are rounded down to 0: what is so unlikely never occurs
    never = sum(1 for entry in entries() if not entry)
    assert 0 < never < 1024
    assert gaussian.sample(lowest).tolist() == [(never - gaussian.REACH) * times]
    assert gaussian.sample(highest).tolist() == [gaussian.REACH * times]
    assert gaussian.REACH * times < 2**40


@pytest.mark.parametrize("index", [1_000, 5_000, 13_311, 13_312, 20_000, 25_000])
def test_low_words_decide_where_high_words_are_equal(index: int) -> None:
    entry = entries()[index]
    words = np.zeros((3, gaussian.WORDS), dtype=np.uint64)
    for row, place in enumerate((entry - 1, entry)):
        words[row, 0], words[row, 1] = place >> 64, place % WORD
    below, at, nothing = gaussian.sample(words).tolist()
    never = sum(1 for one in entries() if not one)
    # a place below the entry number `index` counts those before it, and at it that one as well
    assert (below - nothing, at - nothing) == (index - never, index + 1 - never)


def test_the_noise_has_the_variance_that_prices_are_made_for() -> None:
    address = Address(bytes(32), "s/l", "scorecard", 7)
    count = 200_000
    words = KeyedNoise(bytes(32)).words(address, count * gaussian.WORDS)
    values = gaussian.sample(words.reshape(count, gaussian.WORDS)) / math.sqrt(gaussian.VARIANCE)
    assert abs(values.mean()) < 5 / math.sqrt(count)
    assert abs(values.std() - 1) < 5 / math.sqrt(2 * count)
    within = [np.count_nonzero(np.abs(values) < x) / count for x in (0.5, 1.0, 2.0, 3.0)]
    expected = [math.erf(x / math.sqrt(2)) for x in (0.5, 1.0, 2.0, 3.0)]
    assert np.allclose(within, expected, atol=0.006)


def test_sums_of_parts_are_close_to_a_discrete_gaussian() -> None:
    """The proof's step, X + M Y, in exact numbers with small parts: t^2 is about 1 here."""
    u, factor, reach = 4, 4, 60
    weights = {k: math.exp(-k * k / (2 * u * u)) for k in range(-reach, reach + 1)}
    whole = sum(weights.values())
    law: dict[int, float] = {}
    for x, first in weights.items():
        for y, second in weights.items():
            value = x + factor * y
            law[value] = law.get(value, 0.0) + first * second / whole**2
    variance = u * u * (1 + factor * factor)
    ideal = {v: math.exp(-v * v / (2 * variance)) for v in law}
    scale = sum(ideal.values())
    distance = sum(abs(law[v] - ideal[v] / scale) for v in law) / 2
    spread = u * u / (1 + factor * factor)
    bound = 2 * 2.1 * math.exp(-2 * math.pi**2 * spread)
    assert 0 < distance < max(bound, 1e-7)


def test_the_distance_from_the_ideal_law_is_what_the_proof_adds_up() -> None:
    cut = 2 * math.exp(-(13**2) / 2)
    rounded = (2 * gaussian.REACH + 1) / 2**128
    spread = gaussian.PART_VARIANCE / (1 + gaussian.FACTOR**2)
    added = 2 * 2.1 * math.exp(-2 * math.pi**2 * spread)
    assert spread > 6.5
    assert Fraction(4 * (cut + rounded) + 3 * added) < gaussian.TOTAL_VARIATION


@pytest.mark.parametrize("shape", [(3,), (2, 7), (2, 2, 8)])
def test_other_shapes_of_words_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"takes uint64 words of shape \(n, 8\)"):
        gaussian.sample(np.zeros(shape, dtype=np.uint64))


def test_no_values_need_no_words() -> None:
    assert gaussian.sample(np.zeros((0, gaussian.WORDS), dtype=np.uint64)).tolist() == []
