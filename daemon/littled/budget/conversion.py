"""From caps to the (epsilon, delta) that people are promised, and back.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", Proposition 12
(the conversion of `dp_accounting`, which tests compare this one with); for the smallest rho the
inequality of Bretagnolle and Huber.

If for an order a > 1 the Renyi divergence is at most r, the mechanism is (epsilon, delta)-DP with
epsilon = r + ln((a - 1) / a) - (ln(delta) + ln(a)) / (a - 1). With r = a * rho any a may be taken.
A good one is searched for in floating point, alike on every processor (`littled.portable`); the
bound at that order is then computed from scratch with directed rounding. A poor order would make a
result larger, never wrong.

A divergence of order 1 of at most rho bounds the total variation by sqrt(1 - exp(-rho)): where that
is at most delta, epsilon is 0.

What is mu-GDP (Dong, Roth, Su, "Gaussian Differential Privacy") is (mu^2/2)-zCDP, but its epsilon
is known exactly, and is less (`littled.budget.normal`). A search begins at the epsilon of zCDP and
goes on by tangents to the logarithm of delta, which is concave, while the bound of delta allows it.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from littled.budget.normal import Pair
from littled.budget.price import Price
from littled.budget.rounding import ln_lower, ln_upper, round_down, round_up
from littled.portable import LN2, Floats, exps, log, log1ps, log2, logs

# Orders searched are 1 + 2^x for x from -6 to 80: from where
# dp_accounting's conversion is stable up to the best order for the smallest price there is.
EXPONENTS = (-6.0, 80.0)
GRID_STEPS = 344
ZOOM_STEPS = 32
ZOOMS = 4
# Arguments of the search only, kept where floating point can represent them.
RHO_SEARCH_MAX = Fraction(1 << 40)
DELTA_SEARCH_MIN = Fraction(1, 10**300)
# Tangents at the most, and by what part of itself a result has to change for one more.
TANGENTS = 40
TANGENT_PART = Fraction(1, 1 << 60)


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up, such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    ValueError for a negative rho, or for a delta that is not positive while rho is.
    """
    if rho < 0:
        raise ValueError("rho must not be negative")
    if rho == 0:
        return Fraction(0)
    if delta <= 0:
        raise ValueError("a zCDP price needs a positive delta to be converted with")
    if rho <= _rho_of_nothing(delta):
        return Fraction(0)
    searched = float(min(rho, RHO_SEARCH_MAX))
    target = _logarithm(delta)
    order = _best_order(lambda orders: searched * orders + _conversion(orders, target))
    return _epsilon_at(order, rho, delta)


@lru_cache(maxsize=1024)
def rho_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, whose `epsilon_of_rho` is at most epsilon; 0 if there is none.

    "Largest" up to a relative 10^-9; that `epsilon_of_rho(result, delta) <= epsilon` is exact.
    ValueError for a negative epsilon or a delta that is not positive.
    """
    if epsilon < 0 or delta <= 0:
        raise ValueError("a budget needs an epsilon of at least 0 and a positive delta")
    nothing = round_down(_rho_of_nothing(delta))
    target = _logarithm(min(delta, Fraction(1)))
    wanted = float(min(epsilon, RHO_SEARCH_MAX))
    order = _best_order(lambda orders: (_conversion(orders, target) - wanted) / orders)
    # epsilon at this order is (a * rho + a number), so the largest rho is a division away
    rest = _epsilon_at_order(order, Fraction(0), delta)
    rho = max(round_down((epsilon - rest) / order), Fraction(0))
    # the other direction searches an order of its own, which may be a little worse
    shrink = Fraction(1, 1 << 48)
    while epsilon_of_rho(rho, delta) > epsilon:
        rho = round_down(rho * (1 - shrink))
        shrink *= 2
    return max(rho, nothing)


@lru_cache(maxsize=1024)
def epsilon_of_gaussian(amount: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up, such that every mu-GDP mechanism is (epsilon, delta)-DP.

    amount: mu^2 / 2. Never more than `epsilon_of_rho` of the same amount, and ValueError as there.
    """
    epsilon = epsilon_of_rho(amount, delta)
    if epsilon == 0 or Pair.of(amount, Fraction(0)).delta <= delta:
        return Fraction(0)
    for _ in range(TANGENTS):
        pair = Pair.of(amount, epsilon)
        if not 0 < pair.delta < delta:
            break
        # the derivative of ln delta is -far / gap; a tangent of a concave function is above it
        less = round_up(epsilon - ln_lower(delta / pair.delta) * pair.gap / pair.far)
        if less >= epsilon or less < 0 or Pair.of(amount, less).delta > delta:
            break
        enough = epsilon - less <= epsilon * TANGENT_PART
        epsilon = less
        if enough:
            break
    return epsilon


@lru_cache(maxsize=1024)
def gaussian_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu^2 / 2, rounded down, whose `epsilon_of_gaussian` is at most epsilon.

    "Largest" as of `rho_of_epsilon`, than which it is never less; and ValueError as there.
    """
    least = amount = rho_of_epsilon(epsilon, delta)
    for _ in range(TANGENTS if amount else 0):
        pair = Pair.of(amount, epsilon)
        if not 0 < pair.delta < delta:
            break
        # the derivative of ln delta by mu is 1 / gap
        mu = pair.mu + ln_lower(delta / pair.delta) * pair.gap
        more = round_down(mu * mu / 2)
        enough = more - amount <= amount * TANGENT_PART
        amount = more
        if enough:
            break
    shrink = TANGENT_PART
    while amount > least and epsilon_of_gaussian(amount, delta) > epsilon:
        amount = max(least, round_down(amount * (1 - shrink)))
        shrink *= 2
    return amount


def guarantee(caps: Price, delta_z: Fraction) -> tuple[Fraction, Fraction]:
    """The (epsilon, delta) of everything that is ever admitted under these caps.

    For every order the Renyi divergence is at most epsilon_pure + a * rho, so the conversion gives
    epsilon_pure + epsilon_of_rho(rho, delta_z) with delta_z, and the failure mass d <= caps.delta
    is added to delta: P[S] <= (1 - d) P_1[S] + d <= (1 - d) (exp(epsilon) P'_1[S] + delta_z) + d <=
    exp(epsilon) P'[S] + delta_z + d. Where epsilon_of_rho is 0 because 1 - exp(-rho) <= delta_z^2,
    the inequality of Bretagnolle and Huber bounds the total variation by delta_z instead (section 4
    of PRIVACY.md).

    Where caps.rho is 0, it is epsilon_pure + epsilon_of_gaussian(gaussian, delta_z) in the same way
    ("Gaussian differential privacy" there; "Parts side by side" for an event with a
    conversion_delta, which is for a delta_z of at most that). Where it is not, gaussian counts as a
    part of rho, since mu-GDP is (mu^2/2)-zCDP.

    ValueError if caps.rho or caps.gaussian is above 0 and delta_z is not positive, or if delta_z is
    negative.
    """
    if delta_z < 0:
        raise ValueError("delta_z must not be negative")
    if caps.rho:
        epsilon = epsilon_of_rho(caps.rho + caps.gaussian, delta_z)
    else:
        epsilon = epsilon_of_gaussian(caps.gaussian, delta_z)
    return caps.epsilon_pure + epsilon, caps.delta + delta_z


def _rho_of_nothing(delta: Fraction) -> Fraction:
    """A rho, rounded down, that is (0, delta)-DP: 1 - exp(-rho) <= delta^2."""
    if delta >= 1:
        return RHO_SEARCH_MAX
    return max(ln_lower(1 / (1 - delta * delta)), Fraction(0))


def _epsilon_at(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Upper bound of epsilon at this order, at least 0, a multiple of 2^-80."""
    return max(round_up(_epsilon_at_order(order, rho, delta)), Fraction(0))


def _epsilon_at_order(order: Fraction, rho: Fraction, delta: Fraction) -> Fraction:
    """Upper bound of a * rho + ln((a - 1) / a) + ln(1 / (delta * a)) / (a - 1), a = order."""
    logarithms = ln_upper((order - 1) / order) + ln_upper(1 / (delta * order)) / (order - 1)
    return order * rho + logarithms


def _logarithm(delta: Fraction) -> float:
    """ln(1 / delta), for the search."""
    return -log(max(delta, DELTA_SEARCH_MIN))


def _conversion(orders: Floats, target: float) -> Floats:
    """What an epsilon at these orders has beside the divergence, in floating point."""
    return log1ps(-1 / orders) + (target - logs(orders)) / (orders - 1)


def _best_order(cost: Callable[[Floats], Floats]) -> Fraction:
    """The order of least cost on ever finer grids, geometric in order - 1; exact, of a float."""
    low, high = EXPONENTS
    steps = GRID_STEPS
    order = 2.0
    for _ in range(ZOOMS + 1):
        width = (high - low) / steps
        orders = 1 + exps((low + width * np.arange(steps + 1)) * LN2)
        order = float(orders[cost(orders).argmin()])
        centre = log2(order - 1)
        low, high = max(centre - width, EXPONENTS[0]), min(centre + width, EXPONENTS[1])
        steps = ZOOM_STEPS
    return Fraction(order)
