"""Round ranges and edges for numbers: such as somebody writes who has not seen the data."""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS_AIMED = 40
STEPS_MAX = 64
LOG_STEPS_MAX = 40
# Numbers beyond these shares of all of them do not widen the range by much: they are clipped.
TAIL = 0.005
# From so many times its smallest to its greatest number a column is one of sizes, not of places.
LOG_RATIO = 100
_NICE = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


@dataclass(frozen=True, slots=True)
class Range:
    """Where a column of numbers is cut: evenly from `least` to `most`, or at `edges`."""

    least: Decimal = Decimal(0)
    most: Decimal = Decimal(0)
    steps: int = 0
    log: bool = False
    edges: tuple[Decimal, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of a column in a configuration."""
        if self.edges:
            return {"edges": self.edges}
        scale = {"scale": "log"} if self.log else {}
        return {"from": self.least, "to": self.most, "steps": self.steps, **scale}


def round_range(numbers: NDArray[np.float64], *, whole: bool) -> Range:
    """The range for some numbers (n,), rising, two or more of them different.

    A bucket for each number if they are few. Else, where numbers differ by magnitudes, steps that
    are even in ratio, or edges of 1, 2 and 5 where 0 is among them; else even steps.
    """
    few = _few(numbers, whole=whole)
    if few is not None:
        return few
    low, middle, high = (float(numbers[int(share * (len(numbers) - 1))]) for share in _shares())
    if low == high:
        low, high = float(numbers[0]), float(numbers[-1])
    positive = numbers[numbers > 0]
    smallest = float(positive[int(TAIL * (len(positive) - 1))]) if len(positive) else 0.0
    by_magnitude = low >= 0 and high >= LOG_RATIO * smallest
    if by_magnitude and low > 0 and middle - low < (high - low) / 5:
        return _in_ratio(low, high)
    if by_magnitude and low == 0 and middle < high / 20:
        return Range(edges=_magnitudes(smallest, high))
    return _even(low, high)


def _shares() -> tuple[float, float, float]:
    return TAIL, 0.5, 1 - TAIL


def _few(numbers: NDArray[np.float64], *, whole: bool) -> Range | None:
    """A bucket for each number, if they are few steps of one length."""
    least, most = _short(float(numbers[0])), _short(float(numbers[-1]))
    if whole:
        step = Decimal(1)
    else:
        different = [_short(number) for number in np.unique(numbers)[: STEPS_MAX + 1].tolist()]
        step = min(b - a for a, b in pairwise(different))
        if (most - least) / step >= STEPS_MAX:
            return None
        if any((number - least) % step for number in different):
            return None
    steps = (most - least) / step + 1
    if not 2 <= steps <= STEPS_MAX:
        return None
    return Range(least, most + step, int(steps))


def _even(low: float, high: float) -> Range:
    """Steps of 1, 2 or 5, from a multiple of five steps to another."""
    step = _nice_above((_short(high) - _short(low)) / STEPS_AIMED)
    first, last = _floor(_short(low) / (5 * step)), -_floor(-_short(high) / (5 * step))
    return Range(5 * first * step, 5 * last * step, 5 * (last - first))


def _floor(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_FLOOR))


def _in_ratio(low: float, high: float) -> Range:
    least, most = _nice_below(_short(low)), _nice_above(_short(high))
    steps = min(LOG_STEPS_MAX, 8 * max(1, round(float((most / least).log10()))))
    return Range(least, most, steps, log=True)


def _magnitudes(smallest: float, high: float) -> tuple[Decimal, ...]:
    """1, 2, 5, 10, 20 and so on from below the smallest number above 0 to above the greatest."""
    edges = [_nice_below(_short(smallest))]
    while edges[-1] < _short(high) and len(edges) < STEPS_MAX:
        edges.append(_nice_above(edges[-1] * Decimal("1.5")))
    return tuple(edges)


def _nice_above(number: Decimal) -> Decimal:
    """The least of 1, 2 and 5 times a power of ten that is no less than a number above 0."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(nice * power for nice in _NICE if nice * power >= number)


def _nice_below(number: Decimal) -> Decimal:
    """The greatest of 1, 2 and 5 times a power of ten that is no more than a number above 0."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(nice * power for nice in reversed(_NICE) if nice * power <= number)


def _short(number: float) -> Decimal:
    """A number with the digits that people see."""
    return Decimal(repr(number))
