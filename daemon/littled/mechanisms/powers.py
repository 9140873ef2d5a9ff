"""Exact integer tables of exp(-rate * k): what all mechanisms weigh and compare with.

Source: directed rounding; that the floors exist as stated rests on the Lindemann-Weierstrass
theorem (below).

Guarantee: every number a function here returns is the exact floor it names, or a lower bound
within the distance it names; where the precision would not prove that, ArithmeticError.

Neighbouring relation: none; only the public rate enters.

Sensitivity: none, for the same reason.

Shapes: Python integers, one at a time; callers pack them into tables.

Edge cases: rates are exact fractions from `RATE_MIN` to `RATE_MAX`; ValueError otherwise.

Method. Let a = exp(-rate) and P the working precision in bits. `scaled_exponential` gives A with
A <= 2^P * a < A + 2. From a lower bound s of S = 2^P * f * a^k with S < s + w, 0 < f <= 1, follows
the lower bound s' = floor(s * A / 2^P) of S' = S * a: S' - s' < (S - s) * a + s * 2 / 2^P + 1 <
w + 3, as s <= 2^P. So after k steps the width is w + 3k, a number of some 25 bits at the most,
while `guard` bits beyond the wanted ones are kept. If s and s + w have the same floor after the
shift, that is the floor of S. For rational rate > 0, a is transcendental, so f * a^k (f = 1 with
k > 0, or f = 1 / (1 + a)) is never a multiple of 2^-bits, and enough guard bits always suffice.
"""

from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

# Below, tables would need more than 100 MB; no budget leaves anything useful at such rates.
RATE_MIN = Fraction(1, 1 << 16)
# Above, all but the best candidate has weight 0 many times over.
RATE_MAX = Fraction(1 << 16)

NO_RATE = "a rate must be a number, such as 0.1 or a Fraction"

GUARD_BITS = 160


def check_rate(rate: Fraction) -> Fraction:
    """The rate itself. TypeError unless it is a Fraction, ValueError if it is out of range."""
    if not isinstance(rate, Fraction):
        raise TypeError(NO_RATE)
    if not RATE_MIN <= rate <= RATE_MAX:
        raise ValueError(f"a rate must be from {RATE_MIN} to {RATE_MAX}, not {rate}")
    return rate


def scaled_exponential(exponent: Fraction, bits: int) -> int:
    """An integer A >= 0 with A <= 2^bits * exp(-exponent) < A + 2, for exponent > 0.

    Proof. With D digits, the quotient x is off by at most x * 10^-D (relative), and `decimal`'s
    exp is correctly rounded, so the value v obtained satisfies |v - exp(-x)| <= exp(-x) *
    ((x + 1) * 10^(1 - D)) * 2 < 2 * 10^(1 - D), as (x + 1) * exp(-x) <= 1. D is chosen so that
    2^bits times this is below 1/2; scaling by 2^bits is exact on the fraction v. So
    floor(2^bits * v - 1/2) <= 2^bits * exp(-x) and the distance is below 1 + 1/2 + 1/2 = 2.
    """
    digits = bits * 31 // 100 + 10  # log10(2) < 0.31
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    quotient = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    numerator, denominator = context.exp(quotient).as_integer_ratio()
    return max(((numerator << (bits + 1)) - denominator) // (2 * denominator), 0)


def weight_floors(rate: Fraction, bits: int, guard: int = GUARD_BITS) -> Iterator[int]:
    """floor(2^bits * exp(-rate * k)) for k = 0, 1, ... as long as it is not 0."""
    precision = bits + guard
    factor = scaled_exponential(check_rate(rate), precision)
    return _floors(1 << precision, 0, factor, precision, guard)


def survival_floors(rate: Fraction, bits: int, guard: int = GUARD_BITS) -> Iterator[int]:
    """floor(2^bits * P[Z >= k]) for k = 1, 2, ... as long as it is not 0; Z discrete Laplace.

    P[Z >= k] = a^k / (1 + a) with a = exp(-rate), for P[Z = z] proportional to a^|z| and k >= 1.
    x / (1 + x) grows with slope at most 1, so the first value is within 2 + 1 of its bound.
    """
    precision = bits + guard
    factor = scaled_exponential(check_rate(rate), precision)
    first = (factor << precision) // ((1 << precision) + factor)
    return _floors(first, 3, factor, precision, guard)


def _floors(value: int, width: int, factor: int, precision: int, guard: int) -> Iterator[int]:
    """Floors of S * a^k / 2^guard where value <= S < value + max(width, 1), until the first 0."""
    while True:
        floor = value >> guard
        if floor != (value + width) >> guard:
            raise ArithmeticError("a table of noise needs more guard bits than it was given")
        if not floor:
            return
        yield floor
        value = (value * factor) >> precision
        width += 3
