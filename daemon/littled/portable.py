"""Floating point whose every bit is the same on every processor.

IEEE 754 fixes +, -, *, /, the square root and comparisons to the last bit. It does not fix exp and
log: C libraries and numpy have several versions of them and choose by what the processor can do. It
does not fix the order of a sum either: BLAS, numpy and Python's own `sum` each have another, which
changes with the processor, the number of threads or the version. What a plan depends on is
therefore computed with the functions of this module, which take fixed steps in a fixed order. No
step is a fused multiply-add: Python and numpy round after each operation.

Accuracy: a relative 2^-50, which tests hold against 40 digits. That is utility; prices are bounded
by `littled.budget.rounding`.

Names: a function of one number has its usual name, that of an array (any shape, float64) an `s`
more. Both take the same steps and give the same bits.
"""

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)

# ln 2 in two parts: a multiple of the first by up to 2^20 is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LN2 = LN2_HIGH + LN2_LOW
# Beyond these exp is infinite, or 0.
EXPONENT_MAX, EXPONENT_MIN = 709.0, -745.0
SQRT_HALF = math.sqrt(0.5)
# Up to here expm1 has a series of its own: beyond, the difference loses less than two bits.
SERIES_MAX = 0.35
# Taylor coefficients 1/13!, ..., 1/1! and of artanh(f) / f: 1/23, ..., 1/3, 1; highest power first.
EXPONENTIAL = tuple(1 / math.factorial(power) for power in range(13, 0, -1))
ARTANH = tuple(1 / power for power in range(23, 0, -2))
# Integers with more bits than this are shifted before they become floats.
INTEGER_BITS = 1000


def exp(x: float | Fraction) -> float:
    """e^x; 0 below -745, infinite above 709."""
    x = float(x)
    if x > EXPONENT_MAX:
        return math.inf
    if x < EXPONENT_MIN:
        return 0.0
    scale = round(x / LN2)
    return math.ldexp(1 + _grown((x - scale * LN2_HIGH) - scale * LN2_LOW), scale)


def expm1(x: float | Fraction) -> float:
    """e^x - 1, as accurate near 0 as elsewhere."""
    x = float(x)
    return _grown(x) if abs(x) <= SERIES_MAX else exp(x) - 1


def log(x: float | Fraction) -> float:
    """Natural logarithm of a positive number, however large an integer; -inf for 0."""
    if isinstance(x, int):
        shift = max(x.bit_length() - INTEGER_BITS, 0)
        if shift:
            return log(x >> shift) + shift * LN2
    mantissa, exponent = math.frexp(float(x))
    if mantissa == 0:
        return -math.inf
    if math.isinf(mantissa):
        return math.inf
    if mantissa < SQRT_HALF:
        mantissa, exponent = 2 * mantissa, exponent - 1
    return exponent * LN2_HIGH + (
        exponent * LN2_LOW + _twice_artanh((mantissa - 1) / (mantissa + 1))
    )


def log1p(x: float) -> float:
    """ln(1 + x), as accurate near 0 as elsewhere; -inf for -1."""
    return _twice_artanh(x / (2 + x)) if abs(x) < SERIES_MAX else log(1 + x)


def log2(x: float) -> float:
    """Logarithm to base 2 of a positive number."""
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa, exponent = 2 * mantissa, exponent - 1
    return exponent + _twice_artanh((mantissa - 1) / (mantissa + 1)) / LN2


def power(base: float, exponent: float) -> float:
    """base^exponent for a base that is not negative; 0^0 is 1."""
    if exponent == 0:
        return 1.0
    return exp(exponent * log(base)) if base > 0 else 0.0


def exps(x: ArrayLike) -> Floats:
    """`exp` of each number."""
    x = np.asarray(x, dtype=np.float64)
    within = np.minimum(np.maximum(x, EXPONENT_MIN), EXPONENT_MAX)
    scale = np.rint(within / LN2)
    grown = 1 + _grown((within - scale * LN2_HIGH) - scale * LN2_LOW)
    found: Floats = np.ldexp(grown, scale.astype(np.int32))
    return np.where(x > EXPONENT_MAX, math.inf, np.where(x < EXPONENT_MIN, 0.0, found))


def expm1s(x: ArrayLike) -> Floats:
    """`expm1` of each number."""
    x = np.asarray(x, dtype=np.float64)
    near = np.minimum(np.maximum(x, -SERIES_MAX), SERIES_MAX)
    return np.where(near == x, _grown(near), exps(x) - 1)


def logs(x: ArrayLike) -> Floats:
    """`log` of each number, none of which is infinite."""
    x = np.asarray(x, dtype=np.float64)
    mantissa, exponent = np.frexp(np.where(x > 0, x, 1.0))
    low = mantissa < SQRT_HALF
    mantissa, exponent = np.where(low, 2 * mantissa, mantissa), exponent - low
    fraction = _twice_artanh((mantissa - 1) / (mantissa + 1))
    return np.where(x > 0, exponent * LN2_HIGH + (exponent * LN2_LOW + fraction), -math.inf)


def log1ps(x: ArrayLike) -> Floats:
    """`log1p` of each number."""
    x = np.asarray(x, dtype=np.float64)
    near = np.abs(x) < SERIES_MAX
    small = np.where(near, x, 0.0)
    return np.where(near, _twice_artanh(small / (2 + small)), logs(1 + x))


def powers(base: ArrayLike, exponent: float) -> Floats:
    """`power` of each base, for an exponent above 0."""
    return exps(exponent * logs(base))


def total(values: ArrayLike, axis: int = -1) -> Floats:
    """Sums along one axis: its second half is added to the first one until a single number is left.

    Where the length is odd, the last number is added to the first. 0 for none.
    """
    found = np.asarray(values, dtype=np.float64)
    if axis % found.ndim:  # `moveaxis` takes as long as the sum of a short array
        axes = list(range(found.ndim))
        found = np.ascontiguousarray(found.transpose(axes.pop(axis), *axes))
    if not len(found):
        return np.zeros(found.shape[1:])
    while (length := len(found)) > 1:
        half, last = length // 2, found[-1]
        found = found[:half] + found[half : 2 * half]
        if length % 2:
            found[0] += last
    one: Floats = found[0]
    return one


def geometric(low: float, high: float, count: int) -> Floats:
    """So many numbers, two at the least, from `low` to `high` with one ratio between them."""
    step = log(high / low) / (count - 1)
    found = low * exps(step * np.arange(count))
    found[-1] = high
    return found


def interpolated(x: Floats, places: Floats, values: Floats) -> Floats:
    """Values at x on the line through rising places; beyond either end those of the end.

    `values` has its places along the first axis; what further axes it has are those of x.
    """
    if len(places) == 1:
        return np.broadcast_to(values[0], np.shape(x)).copy()
    after = np.clip(np.searchsorted(places, x, side="right"), 1, len(places) - 1)
    before = after - 1
    low, high = _taken(values, before), _taken(values, after)
    slope = (high - low) / (places[after] - places[before])
    within = np.minimum(np.maximum(x, places[0]), places[-1])
    found: Floats = low + slope * (within - places[before])
    return found


def _taken(values: Floats, places: NDArray[np.intp]) -> Floats:
    """The values at these places of the first axis."""
    if values.ndim == 1:
        return values[places]
    found: Floats = np.take_along_axis(
        np.broadcast_to(values, (len(values), *places.shape)), places[None], axis=0
    )[0]
    return found


def _grown(x: Number) -> Number:
    """e^x - 1 for |x| <= `SERIES_MAX`."""
    value = 0 * x
    for coefficient in EXPONENTIAL:
        value = (value + coefficient) * x
    return value


def _twice_artanh(x: Number) -> Number:
    """2 artanh(x) for |x| <= 0.22."""
    square, value = x * x, 0 * x
    for coefficient in ARTANH:
        value = value * square + coefficient
    return 2 * x * value
