"""Exact floors of exponentials against arbitrary precision."""

from fractions import Fraction
from itertools import islice

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.mechanisms.powers import (
    RATE_MAX,
    RATE_MIN,
    check_rate,
    scaled_exponential,
    survival_floors,
    weight_floors,
)

RATES = st.fractions(Fraction(1, 200), 50, max_denominator=10_000)


def exponential(exponent: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)


@given(st.fractions(RATE_MIN, RATE_MAX), st.sampled_from([8, 64, 256]))
def test_a_scaled_exponential_lies_less_than_two_below(exponent: Fraction, bits: int) -> None:
    with mpmath.workprec(bits + 200):
        real = exponential(exponent) * mpmath.mpf(2) ** bits
        bound = scaled_exponential(exponent, bits)
        assert bound <= real < bound + 2


@given(RATES, st.sampled_from([16, 64, 127]))
def test_weights_are_exact_floors(rate: Fraction, bits: int) -> None:
    with mpmath.workprec(600):
        floors = list(weight_floors(rate, bits))
        # every one near both ends, a sample between
        for k in {*range(20), *range(0, len(floors) + 3, 37), len(floors) - 1, len(floors)}:
            real = int(mpmath.floor(exponential(rate * k) * mpmath.mpf(2) ** bits))
            assert (floors[k] if k < len(floors) else 0) == real
    assert floors[0] == 1 << bits


@given(RATES)
def test_tails_are_exact_floors(rate: Fraction) -> None:
    with mpmath.workprec(600):
        floors = list(survival_floors(rate, 64))
        a = exponential(rate)
        end = max(len(floors), 1)
        for k in {*range(1, 20), *range(1, end, 37), end, end + 1}:
            real = int(mpmath.floor(a**k / (1 + a) * mpmath.mpf(2) ** 64))
            assert (floors[k - 1] if k <= len(floors) else 0) == real


@pytest.mark.campaign
def test_the_slowest_rate_is_exact_to_its_end() -> None:
    with mpmath.workprec(600):
        a = exponential(RATE_MIN)
        floors = dict(enumerate(survival_floors(RATE_MIN, 64), start=1))
        for k in (1, 65_536, 1_000_000, len(floors) - 1, len(floors)):
            assert floors[k] == int(mpmath.floor(a**k / (1 + a) * mpmath.mpf(2) ** 64))
        assert a ** (len(floors) + 1) / (1 + a) < mpmath.mpf(2) ** -64


def test_the_fastest_rate_has_one_weight() -> None:
    assert list(weight_floors(RATE_MAX, 127)) == [1 << 127]
    assert list(survival_floors(RATE_MAX, 64)) == []


def test_too_few_guard_bits_are_noticed() -> None:
    with pytest.raises(ArithmeticError, match="guard bits"):
        list(islice(weight_floors(Fraction(1, 100), 64, guard=2), 3000))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), RATE_MIN / 2, RATE_MAX + 1])
def test_rates_out_of_range_are_refused(rate: Fraction) -> None:
    with pytest.raises(ValueError, match="a rate must be from"):
        check_rate(rate)


@pytest.mark.parametrize("rate", [0.5, 1, "1/2", None])
def test_rates_that_are_not_exact_are_refused(rate: object) -> None:
    with pytest.raises(TypeError, match="Fraction"):
        check_rate(rate)  # type: ignore[arg-type]
