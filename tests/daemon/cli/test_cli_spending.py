"""What has been spent, as one number."""

from fractions import Fraction

import pytest

from littled.budget.conversion import guarantee, rho_of_epsilon
from littled.budget.price import Price
from littled.cli.spending import epsilon_spent

DELTA = Fraction(1, 10**6)


def status(spent: Price, caps: Price) -> dict[str, object]:
    return {"spent": spent.to_dict(), "caps": caps.to_dict(), "delta": 1e-6}


def price(pure: str = "0", rho: Fraction = Fraction(0), delta: Fraction = Fraction(0)) -> Price:
    return Price(Fraction(pure), rho, delta)


def test_nothing_costs_nothing() -> None:
    assert epsilon_spent(status(price(), price("1"))) == 0


def test_pure_charges_are_what_they_are() -> None:
    assert epsilon_spent(status(price("1/4"), price("1"))) == 0.25


@pytest.mark.parametrize("part", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_converted_charges_stay_within_the_budget(part: Fraction) -> None:
    delta_z = DELTA * Fraction(9, 10)
    rho = rho_of_epsilon(Fraction(9, 10), delta_z)
    caps = price("1/10", rho, DELTA / 20)
    spent = price("1/10", rho * part, DELTA / 20 * part)
    found = epsilon_spent(status(spent, caps))
    exact, _ = guarantee(spent, DELTA - caps.delta)
    assert found == float(exact)
    assert 0.1 < found <= 1.0
    whole = epsilon_spent(status(caps, caps))
    assert (found == whole) == (part == 1)
