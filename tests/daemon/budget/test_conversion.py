"""The conversion against the library, arbitrary precision, and the exact Gaussian."""

import math
from fractions import Fraction

import dp_accounting
import mpmath
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from littled.budget.conversion import (
    epsilon_of_gaussian,
    epsilon_of_rho,
    gaussian_of_epsilon,
    guarantee,
    rho_of_epsilon,
)
from littled.budget.price import Price
from littled.budget.rounding import exp_upper

RHOS = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 41), Fraction(1, 2), Fraction(7)]
DELTAS = [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)]
PAIRS = [(rho, delta) for rho in RHOS for delta in DELTAS]


def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def epsilon_at(order: mpmath.mpf, rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """Proposition 12 of Canonne, Kamath, Steinke at one order."""
    r, d = (mpmath.mpf(each.numerator) / each.denominator for each in (rho, delta))
    return order * r + mpmath.log1p(-1 / order) - (mpmath.log(d) + mpmath.log(order)) / (order - 1)


def smallest_epsilon(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """The infimum over all orders, by numeric minimisation in arbitrary precision."""
    with mpmath.workprec(200):
        found = minimize_scalar(
            lambda x: float(epsilon_at(1 + mpmath.exp(x), rho, delta)),
            bounds=(-4, 40),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return max(epsilon_at(1 + mpmath.exp(found.x), rho, delta), mpmath.mpf(0))


@pytest.mark.parametrize(("rho", "delta"), PAIRS)
def test_epsilon_is_the_best_over_all_orders(rho: Fraction, delta: Fraction) -> None:
    epsilon, best = epsilon_of_rho(rho, delta), smallest_epsilon(rho, delta)
    if epsilon == 0:
        assert delta**2 >= rho * Fraction(99, 100)  # total variation alone suffices
        return
    assert float(epsilon) == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize(("rho", "delta"), PAIRS)
def test_epsilon_is_what_the_library_says(rho: Fraction, delta: Fraction) -> None:
    accountant = RdpAccountant(orders=[1 + 2 ** (step / 200) for step in range(-1000, 6000)])
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    theirs = accountant.get_epsilon(float(delta))
    assert float(epsilon_of_rho(rho, delta)) == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize(("rho", "delta"), PAIRS)
def test_the_gaussian_mechanism_keeps_the_promise(rho: Fraction, delta: Fraction) -> None:
    """A Gaussian of mean shift s = sqrt(2 rho) is rho-zCDP; its delta is known exactly."""
    with mpmath.workprec(300):
        shift = mpmath.sqrt(2 * mpmath.mpf(rho.numerator) / rho.denominator)
        epsilon = epsilon_of_rho(rho, delta)
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        exact = mpmath.ncdf(shift / 2 - e / shift) - mpmath.exp(e) * mpmath.ncdf(
            -shift / 2 - e / shift
        )
        assert exact <= mpmath.mpf(delta.numerator) / delta.denominator


@given(st.fractions(Fraction(1, 10**9), 20), st.fractions(Fraction(1, 10**15), Fraction(1, 100)))
def test_some_order_proves_every_epsilon(rho: Fraction, delta: Fraction) -> None:
    """The bound holds in arbitrary precision at some order near the best: it was rounded up."""
    epsilon = epsilon_of_rho(rho, delta)
    with mpmath.workprec(300):
        best = smallest_epsilon(rho, delta)
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        nothing = -mpmath.log1p(-((mpmath.mpf(delta.numerator) / delta.denominator) ** 2))
        if e == 0:
            assert best == 0 or mpmath.mpf(rho.numerator) / rho.denominator <= nothing
        else:
            assert e >= best * (1 - mpmath.mpf(10) ** -12)
    assert (1 << 80) % epsilon.denominator == 0


def test_more_rho_costs_more_and_more_delta_less() -> None:
    rhos = [Fraction(2) ** power for power in range(-40, 10)]
    for delta in DELTAS:
        epsilons = [epsilon_of_rho(rho, delta) for rho in rhos]
        assert epsilons == sorted(epsilons)
    for rho in RHOS:
        falling = [epsilon_of_rho(rho, delta) for delta in DELTAS]
        assert falling == sorted(falling)


@given(st.fractions(0, 12), st.sampled_from([*DELTAS, Fraction(9, 10)]))
def test_rho_of_epsilon_is_the_largest_that_converts_back(
    epsilon: Fraction, delta: Fraction
) -> None:
    rho = rho_of_epsilon(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon
    more = max(rho * (1 + Fraction(1, 10**7)), rho + Fraction(1, 10**20))
    assert epsilon_of_rho(more, delta) > epsilon
    assert (1 << 80) % rho.denominator == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (Fraction(1, 10**9), Fraction(1, 10**6)),
        (Fraction(10**4), Fraction(1, 10**6)),
        (Fraction(1), Fraction(1, 10**400)),
        (Fraction(1), Fraction(1, 10**40)),
        (Fraction(10**400), Fraction(1, 10**6)),
    ],
)
def test_extreme_budgets_convert_on_the_safe_side(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_of_epsilon(epsilon, delta)
    assert 0 < rho < epsilon
    assert epsilon_of_rho(rho, delta) <= epsilon


@pytest.mark.parametrize("rho", [Fraction(10**6), Fraction(10**40), Fraction(10**400)])
def test_huge_prices_have_a_finite_honest_epsilon(rho: Fraction) -> None:
    assert rho < epsilon_of_rho(rho, Fraction(1, 10**6)) < rho * Fraction(11, 10)


def test_the_smallest_prices_are_covered_by_total_variation() -> None:
    delta = Fraction(1, 1000)
    limit = -math.log1p(-1e-6)
    assert epsilon_of_rho(Fraction(limit * 0.999999), delta) == 0
    assert epsilon_of_rho(Fraction(1, 1 << 80), Fraction(1, 10**6)) == 0
    assert epsilon_of_rho(Fraction(3), Fraction(1)) == 0


def test_no_rho_needs_no_delta() -> None:
    assert epsilon_of_rho(Fraction(0), Fraction(0)) == 0
    assert guarantee(Price(Fraction(1, 3), Fraction(0), Fraction(1, 7)), Fraction(0)) == (
        Fraction(1, 3),
        Fraction(1, 7),
    )


def test_a_guarantee_adds_the_pure_part_and_the_failures() -> None:
    caps = Price(Fraction(1, 3), Fraction(1, 50), Fraction(1, 10**7))
    delta_z = Fraction(9, 10**7)
    epsilon, delta = guarantee(caps, delta_z)
    assert epsilon == Fraction(1, 3) + epsilon_of_rho(Fraction(1, 50), delta_z)
    assert delta == Fraction(1, 10**6)


def test_a_guarantee_covers_a_mixture_of_all_three_kinds() -> None:
    """Randomised response and a Gaussian, on a common failure: its exact delta is within.

    With probability d everything is revealed; else a bit flipped with odds exp(p) and a Gaussian
    of shift s. The exact curve is a mixture over the two values of the bit's loss.
    """
    p, rho, d = Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)
    epsilon, delta = guarantee(Price(p, rho, d), Fraction(1, 10**4))
    shift = math.sqrt(2 * float(rho))
    keep = math.exp(float(p)) / (1 + math.exp(float(p)))
    exact = 0.0
    for weight, loss in ((keep, float(p)), (1 - keep, -float(p))):
        e = float(epsilon) - loss
        exact += weight * (
            normal_cdf(shift / 2 - e / shift) - math.exp(e) * normal_cdf(-shift / 2 - e / shift)
        )
    assert float(d) + (1 - float(d)) * exact <= float(delta)


@pytest.mark.parametrize(
    ("rho", "delta"),
    [(Fraction(-1), Fraction(1, 2)), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(-1))],
)
def test_impossible_prices_are_refused(rho: Fraction, delta: Fraction) -> None:
    with pytest.raises(ValueError, match=r"negative|positive"):
        epsilon_of_rho(rho, delta)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(-1), Fraction(1, 2)), (Fraction(1), Fraction(0))]
)
def test_impossible_budgets_are_refused(epsilon: Fraction, delta: Fraction) -> None:
    with pytest.raises(ValueError, match="at least 0 and a positive delta"):
        rho_of_epsilon(epsilon, delta)


@pytest.mark.parametrize("delta_z", [Fraction(-1, 10), Fraction(0)])
def test_impossible_shares_of_delta_are_refused(delta_z: Fraction) -> None:
    with pytest.raises(ValueError, match=r"negative|positive"):
        guarantee(Price(Fraction(0), Fraction(1), Fraction(0)), delta_z)


def test_exponentials_of_the_largest_priced_epsilon_exist() -> None:
    assert exp_upper(Fraction(1000)) > 10**434


# -- Gaussian differential privacy ---------------------------------------------------------------


def exact_delta(amount: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The delta of N(0, 1) and N(mu, 1) at an epsilon: Corollary 2.13 of Dong, Roth and Su."""
    mu = mpmath.sqrt(2 * mpmath.mpf(amount.numerator) / amount.denominator)
    e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize(("amount", "delta"), PAIRS)
def test_the_epsilon_of_gdp_is_exact_and_rounded_up(amount: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_of_gaussian(amount, delta)
    with mpmath.workdps(100):
        wanted = mpmath.mpf(delta.numerator) / delta.denominator
        assert exact_delta(amount, epsilon) <= wanted
        if epsilon:
            assert epsilon < epsilon_of_rho(amount, delta)
            assert exact_delta(amount, epsilon * (1 - Fraction(1, 10**12))) > wanted
    assert (1 << 80) % epsilon.denominator == 0


@given(st.fractions(Fraction(1, 10**12), 40), st.fractions(Fraction(1, 10**30), Fraction(1, 2)))
def test_no_epsilon_of_gdp_promises_too_much(amount: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_of_gaussian(amount, delta)
    assert 0 <= epsilon <= epsilon_of_rho(amount, delta)
    with mpmath.workdps(100):
        wanted = mpmath.mpf(delta.numerator) / delta.denominator
        assert exact_delta(amount, epsilon) <= wanted
        if epsilon > Fraction(1, 10**9):
            assert exact_delta(amount, epsilon * (1 - Fraction(1, 10**9))) > wanted


@given(st.fractions(0, 12), st.sampled_from([*DELTAS, Fraction(9, 10)]))
def test_gaussian_of_epsilon_is_the_largest_that_converts_back(
    epsilon: Fraction, delta: Fraction
) -> None:
    amount = gaussian_of_epsilon(epsilon, delta)
    assert epsilon_of_gaussian(amount, delta) <= epsilon
    assert amount >= rho_of_epsilon(epsilon, delta)
    more = max(amount * (1 + Fraction(1, 10**7)), amount + Fraction(1, 10**20))
    assert epsilon_of_gaussian(more, delta) > epsilon


@pytest.mark.parametrize(
    ("epsilon", "least", "most"),
    [(Fraction(1, 10), 1.086, 1.088), (Fraction(1), 1.072, 1.073), (Fraction(4), 1.062, 1.063)],
)
def test_gdp_needs_so_much_less_noise(epsilon: Fraction, least: float, most: float) -> None:
    delta = Fraction(1, 10**6)
    ratio = gaussian_of_epsilon(epsilon, delta) / rho_of_epsilon(epsilon, delta)
    assert least < float(ratio) ** 0.5 < most


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(Fraction(10**4), Fraction(1, 10**500)), (Fraction(10**400), Fraction(1, 10**6))],
)
def test_where_tails_cannot_be_computed_gdp_counts_as_zcdp(
    epsilon: Fraction, delta: Fraction
) -> None:
    assert gaussian_of_epsilon(epsilon, delta) == rho_of_epsilon(epsilon, delta)


def test_gdp_beside_zcdp_counts_as_zcdp_and_beside_pure_parts_as_itself() -> None:
    zero, half, delta = Fraction(0), Fraction(1, 2), Fraction(1, 10**6)
    alone = guarantee(Price(half, zero, delta, half), delta)
    assert alone == (half + epsilon_of_gaussian(half, delta), 2 * delta)
    mixed = guarantee(Price(half, Fraction(1, 100), zero, half), delta)
    assert mixed == (half + epsilon_of_rho(half + Fraction(1, 100), delta), delta)
    # each of the two converted for itself, at the same delta, would promise too much
    both = epsilon_of_rho(Fraction(1, 100), delta) + epsilon_of_gaussian(half, delta)
    assert mixed[0] - half != both
    with pytest.raises(ValueError, match="positive delta"):
        guarantee(Price(zero, zero, zero, half), zero)


@pytest.mark.parametrize("split", [1, 3])
@pytest.mark.parametrize("pure", [Fraction(1, 10), Fraction(1)])
def test_gdp_and_pure_parts_together_keep_the_promise(split: int, pure: Fraction) -> None:
    """A bit flipped with odds exp(p), and N(0, 1) or N(mu, 1) `split` times: the exact curve."""
    amount, failure = Fraction(1, 20), Fraction(1, 1000)
    caps = Price(pure, Fraction(0), failure) + Price(
        Fraction(0), Fraction(0), Fraction(0), amount / split
    ) * split  # fmt: skip
    epsilon, delta = guarantee(caps, Fraction(1, 10**4))
    keep, most = math.exp(pure) / (1 + math.exp(pure)), 0.0
    for weight, loss in ((keep, pure), (1 - keep, -pure)):
        most += weight * float(exact_delta(amount, epsilon - loss))
    exact = float(failure) + (1 - float(failure)) * most
    assert float(delta) / 40 < exact <= float(delta)
