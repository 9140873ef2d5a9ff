"""Tallies: Lemma T on all short runs of votes, its constants reached, and waiting times."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, isclose
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.events import TallySeason
from littled.budget.prices import price
from littled.mechanisms.powers import RATE_MAX
from littled.mechanisms.tallies import DRAW_BITS, STEPS_MAX, TallyTests, waiting_law

STEPS = 4
# What the example at one step does: a vote for one of two candidates, or nothing.
VOTES = (None, 0, 1)
# When each of the two candidates passes for the first time.
Outcome = tuple[int | None, int | None]


def chance(rate: float, gap: int) -> float:
    """That a test of this gap passes."""
    return min(1.0, exp(-rate * gap))


@cache
def law_of_one(
    votes: tuple[bool, ...], rate: float, threshold_rate: float, threshold: int
) -> dict[int | None, float]:
    """When a candidate with votes at these steps passes, test by test."""
    found: dict[int | None, float] = dict.fromkeys((*range(len(votes)), None), 0.0)
    for noise in range(200):
        left = (1 - exp(-threshold_rate)) * exp(-threshold_rate * noise)
        count = 0
        for step, vote in enumerate(votes):
            count += vote
            passes = chance(rate, threshold + noise - count) if count else 0.0
            found[step] += left * passes
            left *= 1 - passes
        found[None] += left
    return found


def law(stream: tuple[int | None, ...], *mechanism: float) -> dict[Outcome, float]:
    """When both candidates pass; they are independent."""
    ones = [
        law_of_one(tuple(vote == candidate for vote in stream), *mechanism) for candidate in (0, 1)
    ]
    return {
        (first, second): p * q
        for (first, p), (second, q) in product(ones[0].items(), ones[1].items())
    }


def neighbours(stream: tuple[int | None, ...]) -> Iterator[tuple[int | None, ...]]:
    """All streams that differ at one step."""
    for step, vote in product(range(len(stream)), VOTES):
        if vote != stream[step]:
            yield (*stream[:step], vote, *stream[step + 1 :])


def divergence(epsilon: float, *mechanism: float) -> float:
    """The largest P[A] - exp(epsilon) P'[A] of neighbouring streams of votes."""
    worst = 0.0
    for stream in product(VOTES, repeat=STEPS):
        here = law(stream, *mechanism)
        for other in neighbours(stream):
            there = law(other, *mechanism)
            beyond = sum(max(0.0, p - exp(epsilon) * there[said]) for said, p in here.items())
            worst = max(worst, beyond)
    return worst


@pytest.mark.parametrize(
    ("rate", "threshold_rate", "threshold"),
    [(1.0, 1.0, 3), (2.0, 0.5, 2), (0.5, 2.0, 3), (1.5, 1.0, 2)],
)
def test_no_neighbours_differ_by_more_than_is_charged(
    rate: float, threshold_rate: float, threshold: int
) -> None:
    event = TallySeason(Fraction(rate), Fraction(threshold_rate), threshold, STEPS)
    cost = price(event)
    assert cost.epsilon_pure == Fraction(rate + threshold_rate)
    assert cost.delta == event.failure
    assert cost.rho == 0
    assert divergence(rate + threshold_rate, rate, threshold_rate, threshold) <= float(cost.delta)


def test_both_rates_are_paid_for() -> None:
    """One candidate gets a vote and another loses one: neither rate alone covers it."""
    rate, threshold_rate, threshold = 1.0, 1.0, 6
    delta = float(TallySeason(Fraction(1), Fraction(1), threshold, STEPS).failure)
    assert divergence(1.2, rate, threshold_rate, 3) > delta


@pytest.mark.parametrize("threshold", [2, 3, 5, 12])
def test_the_failure_is_that_of_its_formula(threshold: int) -> None:
    for rate, own in ((0.75, 0.25), (1.0, 1.0), (2.0, 0.125)):
        found = TallySeason(Fraction(rate), Fraction(own), threshold, 1000).failure
        mean = (1 - exp(-own)) / (1 - exp(-own - rate))
        exact = 1000 * mean * (1 + exp(-rate)) * exp(-rate * (threshold - 1))
        assert isclose(float(found), min(1.0, exact), rel_tol=1e-9)
        assert found >= Fraction(min(1.0, exact)) * (1 - Fraction(1, 10**12))


def test_a_threshold_that_hides_nothing_fails_for_sure() -> None:
    for threshold in (0, 1):
        assert TallySeason(Fraction(1), Fraction(1), threshold, 9).failure == 1
    # rates so low that no spread can be told from 0
    assert TallySeason(Fraction(1, 10**70), Fraction(1, 10**70), 9, 9).failure == 1


@pytest.mark.parametrize("rates", [(0, 1), (1, 0), (1000, 1)])
def test_events_that_no_lemma_covers_are_refused(rates: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="tally_season"):
        TallySeason(Fraction(rates[0]), Fraction(rates[1]), 5, 5)


# -- how it is drawn -------------------------------------------------------------------------------

TESTS = TallyTests(Fraction(1, 2), Fraction(1, 3), 1000)


def words(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The words of one vote that make these numbers of 128 bits, and zeros after them."""
    halves = [half for number in numbers for half in (number >> 64, number % (1 << 64))]
    column = np.zeros(TESTS.words, dtype=np.uint64)
    column[: len(halves)] = halves
    return column


def test_the_noise_of_a_spell_is_geometric() -> None:
    whole, last = 1 << DRAW_BITS, (1 << DRAW_BITS) - 1
    assert TESTS.threshold_noise(words(last)) == 0
    for noise in range(1, 40):
        edge = int(Fraction(exp(-noise / 3)) * whole)
        # a float's worth to either side of P[rho >= noise]
        near, far = (edge * (10**12 + sign) // 10**12 for sign in (-1, 1))
        assert TESTS.threshold_noise(words(near)) >= noise
        assert TESTS.threshold_noise(words(far)) == noise - 1
    assert TESTS.threshold_noise(words(0)) > 250


@pytest.mark.parametrize("gap", [1, 2, 7, 30])
def test_waiting_times_follow_the_tests_one_by_one(gap: int) -> None:
    """The digits' law is P[W = w] = (1 - p)^(w - 1) p, and what never passes has the rest."""
    rate, digits = Fraction(1, 2), 5
    never, ones = waiting_law(rate, gap, digits)
    whole, p = 1 << DRAW_BITS, exp(-gap / 2)
    assert isclose(never / whole, (1 - p) ** 32, rel_tol=1e-9)
    for before in range(32):
        mass = 1 - never / whole
        for digit, one in enumerate(ones):
            mass *= one / whole if before >> digit & 1 else 1 - one / whole
        assert isclose(mass, (1 - p) ** before * p, rel_tol=1e-9)


def test_the_words_of_a_wait_are_its_digits() -> None:
    never, ones = waiting_law(TESTS.rate, 6, TESTS.digits)
    last = (1 << DRAW_BITS) - 1
    assert TESTS.wait(6, words(0, never - 1)) is None
    high = [last] * TESTS.digits
    assert TESTS.wait(6, words(0, never, *high)) == 1
    for digit, one in enumerate(ones[:9]):
        for number, expected in ((one - 1, 1 + (1 << digit)), (one, 1)):
            numbers = [*high[:digit], number, *high[digit + 1 :]]
            assert TESTS.wait(6, words(0, never, *numbers)) == expected


def test_what_would_wait_longer_than_all_steps_never_passes() -> None:
    never, _ = waiting_law(TESTS.rate, 6, TESTS.digits)
    # 1,023 steps before it passes, of 1,000
    assert TESTS.wait(6, words(0, never)) is None


@pytest.mark.parametrize("gap", [0, -1, -(10**30)])
def test_who_is_at_the_threshold_passes_at_once(gap: int) -> None:
    assert TESTS.wait(gap, words(0, 0)) == 1


def test_a_far_gap_never_passes() -> None:
    assert TESTS.wait(10**6, words(0, (1 << DRAW_BITS) - 2)) is None


def test_the_total_variation_counts_every_draw_of_every_vote() -> None:
    of_one = TESTS.total_variation(1)
    assert TESTS.total_variation(0) == 0
    assert TESTS.total_variation(7) == 7 * of_one
    assert Fraction(1, 1 << DRAW_BITS) < of_one < Fraction(1, 1 << 115)
    with pytest.raises(ValueError, match="negative"):
        TESTS.total_variation(-1)


@pytest.mark.parametrize("steps", [0, STEPS_MAX + 1])
def test_numbers_of_steps_that_make_no_sense_are_refused(steps: int) -> None:
    with pytest.raises(ValueError, match="steps"):
        TallyTests(Fraction(1), Fraction(1), steps)


def test_rates_that_are_out_of_range_are_refused() -> None:
    for rates in ((RATE_MAX + 1, Fraction(1)), (Fraction(1), RATE_MAX + 1)):
        with pytest.raises(ValueError, match="rate"):
            TallyTests(*rates, 9)


def test_other_shapes_and_types_of_words_are_refused() -> None:
    others: list[NDArray[Any]] = [words()[1:], words().astype(np.int64)]
    for wrong in others:
        with pytest.raises(ValueError, match="words"):
            TESTS.wait(1, wrong)
        with pytest.raises(ValueError, match="words"):
            TESTS.threshold_noise(wrong)
