"""Bounds of tails of the normal distribution, against arbitrary precision and another library."""

from fractions import Fraction

import mpmath
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.normal import HALF_ROOT, LEAST, PEAK, PI_UPPER, Pair, mills, root_upper

DIGITS = 400


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def exact_ratio(x: Fraction) -> mpmath.mpf:
    """Q(x) / p(x)."""
    root = mpmath.sqrt(2)
    return mpmath.erfc(real(x) / root) * mpmath.exp(real(x) ** 2 / 2) * mpmath.sqrt(mpmath.pi / 2)


def exact_delta(amount: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Corollary 2.13 of Dong, Roth and Su."""
    mu, e = mpmath.sqrt(2 * real(amount)), real(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def test_constants_are_between_their_bounds() -> None:
    with mpmath.workdps(DIGITS):
        for (low, high), exact in (
            (HALF_ROOT, mpmath.sqrt(mpmath.pi / 2)),
            (PEAK, 1 / mpmath.sqrt(2 * mpmath.pi)),
            ((PI_UPPER - Fraction(1, 10**64), PI_UPPER), mpmath.pi),
        ):
            assert real(low) < exact < real(high)
            assert high - low == Fraction(1, 10**64)


PLACES = st.one_of(st.fractions(LEAST, 12), st.fractions(0, 10**9))


@given(PLACES)
def test_ratios_are_between_their_bounds(x: Fraction) -> None:
    low, high = mills(x)
    with mpmath.workdps(DIGITS):
        exact = exact_ratio(x) if x < 10**3 else None
    with mpmath.workdps(DIGITS):
        if exact is not None:
            assert real(low) < exact < real(high)
        # the bounds of Gordon, for all of them
        if x > 0:
            assert low > x / (x * x + 1) - Fraction(1, 10**50)
            assert high < 1 / x + Fraction(1, 10**50)
    assert high - low < Fraction(1, 10**50) * high


@pytest.mark.parametrize(
    "x", [Fraction(LEAST), Fraction(0), Fraction(4), Fraction(4) - Fraction(1, 10**99)]
)
def test_ratios_where_methods_meet(x: Fraction) -> None:
    low, high = mills(x)
    with mpmath.workdps(DIGITS):
        assert real(low) < exact_ratio(x) < real(high)


def test_ratios_of_nearly_everything_are_not_bounded() -> None:
    with pytest.raises(ValueError, match="from -12 on"):
        mills(Fraction(LEAST) - Fraction(1, 10**9))


@given(st.fractions(Fraction(1, 10**12), 50), st.fractions(0, 40))
def test_delta_is_rounded_up_and_by_next_to_nothing(amount: Fraction, epsilon: Fraction) -> None:
    found = Pair.of(amount, epsilon).delta
    with mpmath.workdps(DIGITS):
        exact = exact_delta(amount, epsilon)
        assert exact <= real(found)
        if exact > mpmath.mpf(10) ** -400:
            assert real(found) <= exact * (1 + mpmath.mpf(10) ** -40)


@pytest.mark.parametrize("mu", [0.05, 0.4, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_delta_is_what_the_library_says(mu: float, epsilon: float) -> None:
    theirs = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    ours = Pair.of(Fraction(mu) ** 2 / 2, Fraction(epsilon)).delta
    assert float(ours) == pytest.approx(theirs, rel=1e-6, abs=1e-14)


@given(st.fractions(Fraction(1, 10**40), 10**40))
def test_roots_are_rounded_up(value: Fraction) -> None:
    root = root_upper(value)
    assert root * root > value
    assert (root * (1 - Fraction(1, 1 << 300))) ** 2 < value


def test_the_largest_amounts_are_next_to_certain() -> None:
    assert Pair.of(Fraction(10**400), Fraction(1)).delta == 1
    assert Pair.of(Fraction(10**4), Fraction(0)).delta == 1
