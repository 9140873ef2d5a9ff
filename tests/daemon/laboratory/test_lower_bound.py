"""The lower bound as an audit, and the steps of its proof."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

from littled.laboratory import lower_bound as lower

TWO = Fraction(2)


@pytest.mark.parametrize(
    ("rate", "bound", "exact"), [(0.5, 0.24, 0.50), (1.0, 0.46, 1.00), (5.0, 1.58, 5.00)]
)
def test_identification_shows_less_than_there_is(rate: float, bound: float, exact: float) -> None:
    found = lower.identify(rate)
    assert (round(found.bound, 2), round(found.exact, 2)) == (bound, exact)
    assert found.samples == 254


def test_the_bound_is_that_of_randomised_response() -> None:
    """A guess that is right with e^eps / (e^eps + M - 1) shows eps itself."""
    right = math.exp(1.5) / (math.exp(1.5) + 9)
    assert lower.bound_of(right, 10) == pytest.approx(1.5)
    assert lower.bound_of(1.0, 10) == math.inf


def test_marginals_are_those_of_the_law() -> None:
    marginals = lower.marginals_of(3, TWO)
    law = lower.exponential_law(((0, 0), (2, 1)), 3, TWO)
    # t = 0: wrong at 0, right at 2; t = 1 and 2: right twice; t = 3: right at 0 only
    assert law == [Fraction(w, 12) for w in (2, 4, 4, 2)]
    assert list(marginals((0, 2))) == [Fraction(2, 12), Fraction(6, 12), Fraction(10, 12)]


def test_the_largest_homogeneous_set_is_that_of_brute_force() -> None:
    marginals = lower.marginals_of(5, TWO)
    found = lower.largest_homogeneous(marginals, 5, 2)
    largest = max(
        len(chosen)
        for count in range(2, 6)
        for chosen in combinations(range(5), count)
        if count == 2 or lower.probabilities(marginals, chosen, 2) is not None
    )
    assert len(found) == largest < 5
    p = [Fraction(0), Fraction(1, 2), Fraction(1)]
    assert lower.largest_homogeneous(lower.order_only(p, 5), 5, 2) == (0, 1, 2, 3, 4)
    assert lower.probabilities(lower.order_only(p, 5), (0, 1, 2, 3, 4), 2) == tuple(p)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_private_learner_of_two_examples_is_as_accurate_as_claim_22_asks(epsilon: float) -> None:
    base = Fraction(math.exp(epsilon / 2)).limit_denominator(10**6)
    accurate = float(lower.accuracy(lower.marginals_of(6, base), range(6), 2))
    assert accurate < lower.accuracy_max(epsilon) < 1
    assert lower.claim_22_gap(lower.accuracy_max(epsilon), epsilon, 2) < 0
    assert lower.accuracy_max(0.1) < 7 / 8


@pytest.mark.parametrize("m", [2, 4, 10, 100])
def test_claim_22_follows_at_the_accuracy_that_is_printed(m: int) -> None:
    assert lower.claim_22_gap(7 / 8, 0.1, m) >= 1 / (4 * m)


@pytest.mark.parametrize("p", ["1/8 5/8 7/8", "0 1/2 1", "1/3 1/3 2/3", "0 1/4 3/4 7/8 1"])
def test_lemma_20_holds_with_r_in_the_gap_and_not_as_printed(p: str) -> None:
    values = [Fraction(each) for each in p.split()]
    assert lower.lemma_20(values, 12, printed=False)
    assert not lower.lemma_20(values, 12, printed=True)


def test_lemma_20_needs_a_gap() -> None:
    flat = [Fraction(1, 2), Fraction(1, 2), Fraction(11, 20)]
    assert not lower.lemma_20(flat, 12, printed=False)


def test_lemma_21_as_printed_holds_for_no_sample_size() -> None:
    """D delta is 0.1 log T / log m, and T > m^2: above 0.2 always, where 1/6 is allowed."""
    found = [lower.lemma_21(m) for m in (2, 3, 4, 10, 10**3, 10**6, 10**9)]
    assert not any(each.printed for each in found)
    assert all(each.failure > 0.2 and each.contradicts for each in found)
    assert all(each.draws * each.delta_needed == pytest.approx(1 / 6) for each in found)
    assert lower.least_repaired() == 30
    assert not lower.lemma_21(28).repaired
    assert all(lower.lemma_21(m).repaired for m in (30, 32, 64, 10**6))


@pytest.mark.parametrize(("rate", "draws"), [(0.5, 1), (0.5, 3), (2.0, 3)])
def test_binary_search_is_right_more_often_than_chance_and_shows_no_more_than_there_is(
    rate: float, draws: int
) -> None:
    found = lower.binary_search(rate, 8, draws)
    assert 1 / found.samples < found.right < 1
    assert 0 < found.bound <= found.exact <= 2 * rate


def test_more_draws_are_told_apart_better() -> None:
    assert lower.binary_search(1.0, 8, 1).right < lower.binary_search(1.0, 8, 3).right


def test_lemma_17_asks_for_a_tower() -> None:
    assert lower.ramsey_points(2, 5) == "twr_3(2.8e+09)"
