"""Prices as the one number that people compare with their budget."""

from fractions import Fraction

from littled.budget.conversion import guarantee
from littled.budget.price import Price


def epsilon_of(spent: Price, delta_z: Fraction) -> float:
    """The epsilon of everything that was charged, at most that of the caps it was charged to.

    delta_z: what the stream's delta leaves for the conversion once the failure mass of the caps is
    set aside. Source: as `littled.budget.conversion.guarantee`.
    """
    return float(guarantee(spent, delta_z)[0])
