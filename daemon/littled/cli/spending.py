"""What has been spent, in the one number that people compare with their budget."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from littled.budget.conversion import guarantee
from littled.budget.price import Price


def epsilon_spent(stream: Mapping[str, Any]) -> float:
    """The epsilon, at the stream's delta, of everything charged in the running season.

    `stream` is a stream's part of a status: "spent" and "caps" as prices, "delta". What the caps
    set aside for failure mass is kept out of the conversion, so that spent never exceeds budget.
    """
    spent, caps = Price.from_dict(stream["spent"]), Price.from_dict(stream["caps"])
    delta_z = max(Fraction(str(stream["delta"])) - caps.delta, Fraction(0))
    epsilon, _ = guarantee(spent, delta_z)
    return float(epsilon)
