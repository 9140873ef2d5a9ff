"""Numbers as people write them: a float is taken for the number that is written like it.

Whoever writes 0.1 means one tenth, and not the multiple of 2^-56 next to it that a computer keeps.
Prices and noise need the exact number, so it is found once, where a program hands it over.
"""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real


def as_written(number: float | Real | Decimal) -> Fraction:
    """The number exactly; a float, of any width, is the shortest decimal that is written like it.

    ValueError for infinity and for what is not a number, TypeError for what has another type.
    """
    if isinstance(number, Fraction):
        return number
    if isinstance(number, Rational):
        # integers of numpy, which overflow, become integers of Python
        return Fraction(int(number.numerator), int(number.denominator))
    if not isinstance(number, Real | Decimal):
        raise TypeError("a number is needed, such as 0.1 or a Fraction, and not text or an array")
    try:
        return Fraction(str(number))
    except ValueError:
        raise ValueError(f"a number has to be finite; {number} is no Fraction") from None


def write_exactly(values: object, *names: str) -> None:
    """Put exact fractions in place of numbers in these fields of a dataclass, frozen or not.

    What is no number stays as it is, for the checks of the dataclass. ValueError as `as_written`.
    """
    for name in names:
        given = getattr(values, name)
        if type(given) is Fraction:
            continue  # as nearly always, and what comes next takes far longer
        if isinstance(given, Real | Decimal) and not isinstance(given, bool):
            object.__setattr__(values, name, as_written(given))
