"""The filter against an exact oracle, with adaptive, tiny, huge and impossible requests."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.filter import BudgetRefused, PrivacyFilter
from littled.budget.price import Price

ZERO = Fraction(0)
CAPS = Price(Fraction(1), Fraction(1, 10), Fraction(1, 10**6))

TINY = st.sampled_from([Fraction(5, 10**324), Fraction(1, 10**400), Fraction(1, 1 << 80)])
HUGE = st.sampled_from([Fraction(10**308), Fraction(10**400)])


def amounts(cap: Fraction) -> st.SearchStrategy[Fraction]:
    near = st.sampled_from([ZERO, cap, cap / 2, cap / 3, cap * 2])
    return st.one_of(near, st.fractions(0, 1).map(lambda share: share * cap), TINY, HUGE)


REQUESTS = st.builds(Price, amounts(CAPS.epsilon_pure), amounts(CAPS.rho), amounts(CAPS.delta))


@given(st.lists(REQUESTS, max_size=30))
def test_admissions_agree_with_exact_sums(requests: list[Price]) -> None:
    state, sums = PrivacyFilter(CAPS, Price.zero()), [ZERO, ZERO, ZERO]
    for asked in requests:
        parts = [asked.epsilon_pure, asked.rho, asked.delta]
        caps = [CAPS.epsilon_pure, CAPS.rho, CAPS.delta]
        fits = all(s + part <= cap for s, part, cap in zip(sums, parts, caps, strict=True))
        if fits:
            sums = [s + part for s, part in zip(sums, parts, strict=True)]
            state = state.admit(asked)
        else:
            before = state
            with pytest.raises(BudgetRefused) as refused:
                state.admit(asked)
            assert state == before
            assert (refused.value.spent, refused.value.asked) == (state.spent, asked)
            assert refused.value.left == state.left
        assert state.spent == Price(*sums)
        assert state.spent + state.left == CAPS
        assert state.caps == CAPS


@given(st.lists(st.integers(0, 2), max_size=60))
def test_who_asks_by_what_is_left_never_gets_more(choices: list[int]) -> None:
    """An adaptive asker: everything that is left, half of it, or one grain more than is left."""
    state, grain = PrivacyFilter(CAPS, Price.zero()), Price(Fraction(1, 10**400), ZERO, ZERO)
    for choice in choices:
        left = state.left
        if choice == 0:
            state = state.admit(left)
            assert state.left == Price.zero()
        elif choice == 1:
            state = state.admit(Price(left.epsilon_pure / 2, left.rho / 2, left.delta / 2))
        else:
            with pytest.raises(BudgetRefused):
                state.admit(left + grain)
    assert state.spent.fits_in(CAPS)


def test_exhaustion_refuses_the_smallest_amount_but_not_nothing() -> None:
    full = PrivacyFilter(CAPS, CAPS)
    for grain in (
        Price(Fraction(1, 10**400), ZERO, ZERO),
        Price(ZERO, Fraction(1, 10**400), ZERO),
        Price(ZERO, ZERO, Fraction(1, 10**400)),
        Price(ZERO, ZERO, ZERO, Fraction(1, 10**400)),
    ):
        with pytest.raises(BudgetRefused):
            full.admit(grain)
    assert full.admit(Price.zero()) == full


def test_after_a_refusal_a_smaller_request_passes() -> None:
    state = PrivacyFilter(CAPS, Price(Fraction(9, 10), ZERO, ZERO))
    with pytest.raises(BudgetRefused):
        state.admit(Price(Fraction(2, 10), ZERO, ZERO))
    assert state.admit(Price(Fraction(1, 10), ZERO, ZERO)).left.epsilon_pure == 0


def test_one_full_cap_does_not_lend_from_another() -> None:
    state = PrivacyFilter(CAPS, Price(CAPS.epsilon_pure, ZERO, ZERO))
    with pytest.raises(BudgetRefused):
        state.admit(Price(Fraction(1, 100), ZERO, ZERO))
    assert state.admit(Price(ZERO, CAPS.rho, ZERO)).spent.rho == CAPS.rho
    with pytest.raises(BudgetRefused):  # not even zCDP to what it would count as
        state.admit(Price(ZERO, ZERO, ZERO, CAPS.rho / 2))
    gaussian = PrivacyFilter(Price(ZERO, ZERO, ZERO, CAPS.rho), Price.zero())
    with pytest.raises(BudgetRefused):
        gaussian.admit(Price(ZERO, CAPS.rho / 2, ZERO))
    half = gaussian.admit(Price(ZERO, ZERO, ZERO, CAPS.rho / 2))
    assert half.left == half.spent


def test_a_refusal_says_what_was_spent_asked_and_left() -> None:
    state = PrivacyFilter(CAPS, Price(Fraction(3, 4), ZERO, ZERO))
    with pytest.raises(BudgetRefused) as refused:
        state.admit(Price(Fraction(1, 2), ZERO, ZERO))
    assert str(refused.value) == (
        "the budget does not allow an action of (epsilon_pure 0.5, rho 0, delta 0): "
        "(epsilon_pure 0.25, rho 0.1, delta 0.000001) is left after spending "
        "(epsilon_pure 0.75, rho 0, delta 0)"
    )
    copy = pickle.loads(pickle.dumps(refused.value))  # noqa: S301 -- made in the line itself
    assert (str(copy), copy.left) == (str(refused.value), refused.value.left)


def test_a_state_beyond_its_caps_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="more privacy budget is spent than its caps allow"):
        PrivacyFilter(CAPS, CAPS + Price(ZERO, ZERO, Fraction(1, 10**400)))
