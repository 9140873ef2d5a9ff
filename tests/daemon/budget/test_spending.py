"""What was spent as one number: never more than the budget, and all of it in the end."""

from fractions import Fraction

import pytest

from littled.budget.conversion import guarantee
from littled.budget.price import Price
from littled.budget.spending import epsilon_of

DELTA_Z = Fraction(1, 10**6)


def test_pure_prices_are_their_epsilon() -> None:
    assert epsilon_of(Price(Fraction(1, 4), Fraction(0), Fraction(0)), DELTA_Z) == 0.25
    assert epsilon_of(Price.zero(), DELTA_Z) == 0


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10)])
def test_other_prices_are_converted(rho: Fraction) -> None:
    price = Price(Fraction(1, 8), rho, Fraction(1, 10**9))
    assert epsilon_of(price, DELTA_Z) == float(guarantee(price, DELTA_Z)[0])
    assert epsilon_of(price, DELTA_Z) > 0.125
