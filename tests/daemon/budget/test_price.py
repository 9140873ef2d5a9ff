"""Prices: exact, componentwise, never negative, never floats."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.price import Price

AMOUNTS = st.one_of(
    st.fractions(0, 100),
    st.sampled_from([Fraction(0), Fraction(5, 10**324), Fraction(1, 10**400), Fraction(10**400)]),
)
PRICES = st.builds(Price, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)


@given(PRICES, st.integers(0, 30))
def test_n_times_a_price_is_the_sum_of_a_list_of_n(price: Price, times: int) -> None:
    assert price * times == times * price == sum([price] * times, Price.zero())


@given(
    st.lists(PRICES, max_size=6).flatmap(
        lambda all_: st.tuples(st.just(all_), st.permutations(all_))
    )
)
def test_order_does_not_matter(lists: tuple[list[Price], list[Price]]) -> None:
    assert sum(lists[0], Price.zero()) == sum(lists[1], Price.zero())


@given(PRICES, PRICES, PRICES)
def test_sums_are_associative_and_grow(one: Price, two: Price, three: Price) -> None:
    assert (one + two) + three == one + (two + three)
    assert one.fits_in(one + two)
    assert (one + two).fits_in(one) == (two == Price.zero())


@given(PRICES)
def test_zero_costs_nothing(price: Price) -> None:
    assert price + Price.zero() == price
    assert price * 0 == Price.zero()


@given(PRICES, PRICES)
def test_fitting_is_componentwise(one: Price, two: Price) -> None:
    expected = (
        one.epsilon_pure <= two.epsilon_pure
        and one.rho <= two.rho
        and one.delta <= two.delta
        and one.gaussian <= two.gaussian
    )
    assert one.fits_in(two) == (one <= two) == expected


def test_prices_may_be_incomparable() -> None:
    pure, zcdp = (
        Price(Fraction(1), Fraction(0), Fraction(0)),
        Price(Fraction(0), Fraction(1), Fraction(0)),
    )
    assert not pure <= zcdp
    assert not zcdp <= pure


@given(PRICES)
def test_written_prices_are_read_again(price: Price) -> None:
    assert Price.from_dict(price.to_dict()) == price


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"epsilon_pure": "1/1", "rho": "0/1"},
        {"epsilon_pure": "1/1", "rho": "0/1", "delta": "0/1", "more": "0/1"},
        {"epsilon_pure": "1/1", "rho": "0/1", "delta": 0},
        {"epsilon_pure": "-1/1", "rho": "0/1", "delta": "0/1"},
        {"epsilon_pure": "2/2", "rho": "0/1", "delta": "0/1"},
        {"epsilon_pure": "1/1", "rho": "0/1", "delta": "0/1", "gaussian": "0/1"},
        {"epsilon_pure": "1/1", "rho": "0/1", "gaussian": "1/2"},
    ],
)
def test_what_is_no_price_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"price|amount"):
        Price.from_dict(values)


@pytest.mark.parametrize("amount", [0.5, float("nan"), float("inf"), "1/2", None, True])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_amounts_that_are_not_exact_are_refused(amount: Any, place: int) -> None:
    amounts: list[Any] = [Fraction(0)] * 4
    amounts[place] = amount
    with pytest.raises(TypeError, match="must be a Fraction"):
        Price(*amounts)


def test_negative_amounts_and_multiples_are_refused() -> None:
    with pytest.raises(ValueError, match="rho of a price must not be negative"):
        Price(Fraction(0), Fraction(-1, 10**400), Fraction(0))
    with pytest.raises(ValueError, match="negative"):
        Price(Fraction(1), Fraction(0), Fraction(0)) * -1
    for times in (0.5, True, Fraction(2)):
        with pytest.raises(TypeError):
            Price.zero() * times  # type: ignore[operator]


def test_integers_become_fractions() -> None:
    price = Price(1, 0, 0)  # type: ignore[arg-type]
    assert price.to_dict() == {"epsilon_pure": "1/1", "rho": "0/1", "delta": "0/1"}


def test_words_name_every_amount() -> None:
    assert (
        Price(Fraction(1, 3), Fraction(0), Fraction(1, 10**6)).in_words()
        == "epsilon_pure 0.333334, rho 0, delta 0.000001"
    )
    gaussian = Price(Fraction(0), Fraction(0), Fraction(0), Fraction(1, 3))
    assert gaussian.in_words() == "epsilon_pure 0, rho 0, delta 0, gaussian 0.333334"


def test_prices_without_a_gaussian_part_are_written_as_before_there_was_one() -> None:
    half = Fraction(1, 2)
    before = {"epsilon_pure": "1/2", "rho": "1/2", "delta": "1/2"}
    assert Price(half, half, half).to_dict() == before
    assert Price(half, half, half, half).to_dict() == before | {"gaussian": "1/2"}
