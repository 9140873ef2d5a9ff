"""Bounds are bounds: against arbitrary precision, at all sizes."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.rounding import (
    GRID,
    exp_upper,
    from_text,
    in_words,
    ln_lower,
    ln_upper,
    round_down,
    round_up,
    to_text,
)

POSITIVE = st.one_of(
    st.fractions(Fraction(1, 10**9), 10**9),
    st.builds(lambda base, power: base * Fraction(10) ** power,
              st.fractions(1, 10), st.integers(-400, 400)),
)  # fmt: skip


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@given(st.fractions())
def test_rounding_stays_within_one_grid_step(value: Fraction) -> None:
    assert value <= round_up(value) < value + Fraction(1, GRID)
    assert value - Fraction(1, GRID) < round_down(value) <= value
    assert GRID % round_up(value).denominator == GRID % round_down(value).denominator == 0


@given(st.integers())
def test_what_lies_on_the_grid_stays(steps: int) -> None:
    value = Fraction(steps, GRID)
    assert round_up(value) == round_down(value) == value


def test_the_smallest_positive_amount_never_vanishes() -> None:
    assert round_up(Fraction(1, 10**400)) == Fraction(1, GRID)


@given(st.fractions(-900, 900))
def test_exp_upper_is_a_close_bound(exponent: Fraction) -> None:
    with mpmath.workprec(600):
        ideal, bound = mpmath.exp(real(exponent)), real(exp_upper(exponent))
        assert ideal < bound < ideal * (1 + mpmath.mpf(10) ** -50)


@pytest.mark.parametrize("exponent", [Fraction(-1001), Fraction(-(10**30)), Fraction(-1000)])
def test_exp_upper_of_the_hopelessly_small_is_one_tiny_number(exponent: Fraction) -> None:
    assert exp_upper(exponent) == exp_upper(Fraction(-1000)) > 0


@given(POSITIVE)
def test_logarithms_are_enclosed(value: Fraction) -> None:
    with mpmath.workprec(600):
        ideal = mpmath.log(real(value))
        low, high = real(ln_lower(value)), real(ln_upper(value))
        assert low <= ideal <= high
        assert high - low <= max(1, abs(ideal)) * mpmath.mpf(10) ** -50


@given(st.fractions())
def test_text_is_exact(value: Fraction) -> None:
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize(
    "text",
    ["", "1", "0.5", "2/4", "1/0", "01/2", "1/02", "+1/2", "-0/1", " 1/2", "1/2\n", 1, None, 0.5],
)
def test_other_text_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="numerator/denominator"):
        from_text(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1, 3), "0.333334"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(12), "12"),
        (Fraction(1, 3 * 10**400), "3.33334e-401"),
        (Fraction(10**400), "1e+400"),
    ],
)
def test_words_are_short_and_never_less(value: Fraction, words: str) -> None:
    assert in_words(value) == words
    assert Fraction(words) >= value
