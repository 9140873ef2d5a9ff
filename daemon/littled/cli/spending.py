"""What has been spent, in the one number that people compare with their budget."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from littled.budget.price import Price
from littled.budget.spending import epsilon_of


def epsilon_spent(stream: Mapping[str, Any]) -> float:
    """The epsilon, at the stream's delta, of everything charged in the running season.

    `stream` is a stream's part of a status. Earlier daemons do not say it themselves, but "spent"
    and "caps" as prices, and "delta". What the caps set aside for failure mass is kept out of the
    conversion, so that spent never exceeds budget.
    """
    if "epsilon_spent" in stream:
        return float(stream["epsilon_spent"])
    spent, caps = Price.from_dict(stream["spent"]), Price.from_dict(stream["caps"])
    delta_z = max(Fraction(str(stream["delta"])) - caps.delta, Fraction(0))
    return epsilon_of(spent, delta_z)
