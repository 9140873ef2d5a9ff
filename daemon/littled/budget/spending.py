"""Prices as the one number that people compare with their budget."""

from fractions import Fraction
from typing import Any

from littled.budget.conversion import guarantee
from littled.budget.price import Price


def epsilon_of(spent: Price, delta_z: Fraction) -> float:
    """The epsilon of everything that was charged, at most that of the caps it was charged to.

    delta_z: what the stream's delta leaves for the conversion once the failure mass of the caps is
    set aside. Source: as `littled.budget.conversion.guarantee`.
    """
    return float(guarantee(spent, delta_z)[0])


def next_call(spent: Price, call: Price, caps: Price, delta_z: Fraction) -> dict[str, Any]:
    """What one more call adds to the epsilon of a season, and whether its budget has that left.

    spent: so far; call: the price of one; caps: of the season. JSON-able.
    """
    after = spent + call
    added = epsilon_of(after, delta_z) - epsilon_of(spent, delta_z)
    return {"epsilon": max(0.0, added), "fits": after.fits_in(caps)}
