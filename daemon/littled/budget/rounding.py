"""Rounding with a direction: bounds stay bounds.

Amounts are exact fractions. What is irrational is bounded by a fraction on the safe side: `decimal`
computes exp and ln correctly rounded to `DIGITS` digits, and the next number up or down is then a
bound whatever the rounding was. Nothing here is computed with floats.
"""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

# Prices are multiples of this; what a rounding adds is far below anything a budget can notice.
GRID = 1 << 80
DIGITS = 60
# exp is bounded by its value here for anything smaller; a price is rounded up to 2^-80 anyhow.
EXPONENT_MIN = -1000

# The number next to 0, which bounds ln(1), is 10^-5059: small enough, and quick to compute with.
_UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=-5000, Emax=10**6)
_DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emin=-5000, Emax=10**6)
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)/[1-9][0-9]*")
_AMOUNT_SENTENCE = "an amount must be text of the form numerator/denominator in lowest terms"


def round_up(value: Fraction) -> Fraction:
    """The smallest multiple of 2^-80 that is at least `value`."""
    return Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def round_down(value: Fraction) -> Fraction:
    """The largest multiple of 2^-80 that is at most `value`."""
    return Fraction(value.numerator * GRID // value.denominator, GRID)


def exp_upper(exponent: Fraction) -> Fraction:
    """A fraction above exp(exponent), by at most one part in 10^50, for exponents up to 10^6.

    The quotient is rounded up, exp grows, and its correctly rounded value is below the next number.
    """
    quotient = _quotient(_UP, max(exponent, Fraction(EXPONENT_MIN)))
    return Fraction(_UP.next_plus(_UP.exp(quotient)))


def ln_upper(value: Fraction) -> Fraction:
    """A fraction above ln(value), for value > 0, by at most one part in 10^50 of max(1, |ln|)."""
    return Fraction(_UP.next_plus(_UP.ln(_quotient(_UP, value))))


def ln_lower(value: Fraction) -> Fraction:
    """A fraction below ln(value), for value > 0, by at most one part in 10^50 of max(1, |ln|)."""
    return Fraction(_DOWN.next_minus(_DOWN.ln(_quotient(_DOWN, value))))


def to_text(value: Fraction) -> str:
    """The exact "numerator/denominator", in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def from_text(text: object) -> Fraction:
    """The fraction that `to_text` wrote; ValueError for anything it would not have written."""
    if not isinstance(text, str):
        raise ValueError(_AMOUNT_SENTENCE)
    return _fraction(text)


@lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    """As `from_text`; a ledger says the same few prices again and again."""
    if _FRACTION.fullmatch(text):
        value = Fraction(text)
        if to_text(value) == text:
            return value
    raise ValueError(_AMOUNT_SENTENCE)


def in_words(value: Fraction) -> str:
    """About six digits for people, never less than the value; works at any size."""
    context = Context(prec=6, rounding=ROUND_CEILING, Emin=-(10**6), Emax=10**6)
    return format(_quotient(context, value).normalize(context), "g")


def _quotient(context: Context, value: Fraction) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
