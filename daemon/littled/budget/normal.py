"""Tails of the normal distribution, between fractions that bound them.

Source: Mills, "Table of the Ratio: Area to Bounding Ordinate" (1926); the continued fraction is
Laplace's, the series is that of Abramowitz and Stegun, 26.2.11.

With the density p and the upper tail Q of the standard normal distribution, R(x) = Q(x) / p(x) is
the integral of exp(-t^2 / 2 - x t) over t >= 0. R falls, and p(x) R(x) is the tail.

- *Where x is large.* Let J_k be the integral of t^k exp(-t^2 / 2 - x t). Integrated by parts, x J_0
  + J_1 = 1 and x J_k + J_(k+1) = k J_(k-1). So R = J_0 = 1 / (x + 1 / v_1), v_k = k J_(k-1) / J_k,
  and v_k = x + (k + 1) / v_(k+1). All J are positive, so v_k is between x and x + (k + 1) / x:
  with these bounds of one of the v as a beginning, each step bounds the one before it.
- *Elsewhere* R(x) = exp(x^2 / 2) sqrt(pi / 2) - (x + x^3 / 3 + x^5 / 15 + ...). After a term with
  x^2 less than half of the next divisor all later terms sum to less than it.

All of it is arithmetic of integers, multiples of 2^-`BITS`, rounded outward, and `exp_upper`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from littled.budget.rounding import exp_upper

BITS = 320
UNIT = 1 << BITS
# From here on the continued fraction is taken; its bounds are then apart by less than 2^-200.
FAR, STEPS = 4, 400
# Below this less than 2^-100 is missing from a tail of 1.
LEAST = -12
# sqrt(pi / 2) and 1 / sqrt(2 pi), between these.
_DIGITS = 10**64
HALF_ROOT = (
    Fraction(12533141373155002512078826424055226265034933703049691583149617881, _DIGITS),
    Fraction(12533141373155002512078826424055226265034933703049691583149617882, _DIGITS),
)
PEAK = (
    Fraction(3989422804014326779399460599343818684758586311649346576659258296, _DIGITS),
    Fraction(3989422804014326779399460599343818684758586311649346576659258297, _DIGITS),
)
PI_UPPER = Fraction(31415926535897932384626433832795028841971693993751058209749445924, _DIGITS)


def mills(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of R(x) from below and from above; ValueError for x below `LEAST`."""
    if x < LEAST:
        raise ValueError(f"the ratio of Mills is bounded from {LEAST} on")
    if x >= FAR:
        return _far(_floor(x) + 1)[0], _far(_floor(x))[1]
    return _near(_floor(x) + 1)[0], _near(_floor(x))[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """N(0, 1) and N(mu, 1) at one epsilon, in bounds: mu^2 / 2 = `amount`, which is above 0.

    The delta at which mu-GDP is (epsilon, delta)-DP, Phi(-epsilon / mu + mu / 2) - exp(epsilon)
    Phi(-epsilon / mu - mu / 2), is p(a) (R(a) - R(b)) with a = epsilon / mu - mu / 2 and b = a +
    mu, since exp(epsilon) p(b) = p(a). It grows with mu, which is rounded up. Source: Dong, Roth,
    Su, "Gaussian Differential Privacy", Corollary 2.13; Balle and Wang (2018), Theorem 8.

    mu: rounded up. delta: at least that delta, 1 where it is next to 1. gap, far: about R(a) - R(b)
    and R(b), whose quotient is what a search goes by.
    """

    mu: Fraction
    delta: Fraction
    gap: Fraction
    far: Fraction

    @classmethod
    def of(cls, amount: Fraction, epsilon: Fraction) -> Self:
        """The pair for an amount above 0 and an epsilon of at least 0."""
        mu = root_upper(2 * amount)
        a = epsilon / mu - mu / 2
        if a < LEAST:
            return cls(mu, Fraction(1), Fraction(1), Fraction(1))
        far = mills(a + mu)[0]
        gap = mills(a)[1] - far
        delta = PEAK[1] * exp_upper(-a * a / 2) * gap
        return cls(mu, min(Fraction(1), delta), gap, far)


def root_upper(value: Fraction) -> Fraction:
    """A fraction above the square root of a positive one, by at most one part in 2^`BITS`."""
    size = value.denominator.bit_length() - value.numerator.bit_length()
    shift = max(0, size // 2 + 1) + BITS + 1
    return Fraction(math.isqrt((value.numerator << 2 * shift) // value.denominator) + 1, 1 << shift)


def _floor(x: Fraction) -> int:
    return (x.numerator << BITS) // x.denominator


def _far(x: int) -> tuple[Fraction, Fraction]:
    """Bounds of R at a multiple of the unit."""
    low, high = x, x + -(-(STEPS + 1) * UNIT * UNIT // x)
    for k in range(STEPS, 0, -1):
        square = k * UNIT * UNIT
        low, high = x + square // high, x + -(-square // low)
    return Fraction(UNIT, high), Fraction(UNIT, low)


def _near(x: int) -> tuple[Fraction, Fraction]:
    """The same by the series."""
    square, size = x * x, abs(x)
    low = high = added_low = added_high = size
    divisor = 3
    while added_high > 1 or 2 * square >= divisor * UNIT * UNIT:
        added_low = added_low * square // (divisor * UNIT * UNIT)
        added_high = -(-added_high * square // (divisor * UNIT * UNIT))
        low, high, divisor = low + added_low, high + added_high, divisor + 2
    high += added_high
    exponent = Fraction(square, 2 * UNIT * UNIT)
    first = HALF_ROOT[0] / exp_upper(-exponent), HALF_ROOT[1] * exp_upper(exponent)
    if x < 0:
        return first[0] + Fraction(low, UNIT), first[1] + Fraction(high, UNIT)
    return first[0] - Fraction(high, UNIT), first[1] - Fraction(low, UNIT)
