"""Relabelling against stability: choices that keep their price, and how many examples they need."""

import math
from fractions import Fraction

import pytest

from littled.budget.events import PredictionAnswersRelabelling, PredictionAnswersStability
from littled.budget.prices import price
from oracle.planner.relabelling import (
    RelabellingChoice,
    examples_needed,
    relabelling_parameters,
    stability_parameters,
)

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
LARGEST = 1 << 27


def line(n: int) -> int:
    """Labelings of n points by thresholds."""
    return n + 1


def priced(choice: RelabellingChoice, window: int) -> PredictionAnswersRelabelling:
    return PredictionAnswersRelabelling(
        choice.rate, choice.vote_rate, choice.subset_rate, Fraction(0), choice.net, window,
        Fraction(line(window - 1)), 1, "pure",
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
@pytest.mark.parametrize("window", [10**4, 10**6])
def test_stability_keeps_its_price_and_uses_it_up(epsilon: Fraction, window: int) -> None:
    choice = stability_parameters(epsilon, window, line)
    event = PredictionAnswersStability(
        choice.rate, choice.subset_rate, choice.flip, 1, "pure"
    )  # fmt: skip
    assert 0.99 * epsilon < price(event).epsilon_pure <= epsilon
    assert choice.flip < choice.error < 1


@pytest.mark.parametrize("window", [10**6, 10**7])
def test_relabelling_keeps_its_price_and_uses_it_up(window: int) -> None:
    choice = relabelling_parameters(EPSILON, DELTA, window, line)
    cost = price(priced(choice, window))
    assert 0.99 < cost.epsilon_pure <= 1
    assert 0.5 * DELTA < cost.delta <= DELTA + Fraction(1, 1 << 80)
    assert 1 < choice.chunks < window
    assert choice.error < 1


def test_its_rates_are_the_largest_for_the_price() -> None:
    window = 10**6
    best = relabelling_parameters(EPSILON, DELTA, window, line)
    for factor in (Fraction(1, 2), Fraction(2)):
        worse = price(
            priced(
                RelabellingChoice(
                    best.rate * factor, best.vote_rate * factor, best.subset_rate, best.net,
                    best.chunks, best.error,
                ),
                window,
            )
        )  # fmt: skip
        assert (worse.epsilon_pure > EPSILON) == (factor > 1)


def relabelling_error(window: int) -> float:
    """1 where no parameters err less than always."""
    try:
        return relabelling_parameters(EPSILON, DELTA, window, line).error
    except ValueError:
        return 1.0


@pytest.mark.long
@pytest.mark.parametrize(("error", "times"), [(0.1, 500), (0.02, 100)])
def test_relabelling_needs_many_more_examples_for_errors_of_this_size(
    error: float, times: int
) -> None:
    by_stability = examples_needed(
        error, lambda n: stability_parameters(EPSILON, n, line).error, LARGEST
    )
    assert by_stability is not None
    assert relabelling_error(by_stability * times) > error
    # but not without end
    assert relabelling_error(by_stability * times * 10) <= error


@pytest.mark.long
def test_its_disadvantage_shrinks_with_the_error() -> None:
    """d / x^2 against d^2 / x: the quotient of the windows falls about as the error does."""
    quotients = []
    for window in (2 * 10**6, 10**8):
        error = relabelling_parameters(EPSILON, DELTA, window, line).error
        by_stability = examples_needed(
            error, lambda n: stability_parameters(EPSILON, n, line).error, LARGEST
        )
        assert by_stability is not None
        quotients.append((error, window / by_stability))
    (large, more), (small, less) = quotients
    assert small < large / 10
    assert less < more / 5
    assert math.log(more / less) > 0.5 * math.log(large / small)


def test_windows_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match="by stability"):
        stability_parameters(Fraction(1, 100), 20, line)
    with pytest.raises(ValueError, match="by relabelling"):
        relabelling_parameters(EPSILON, DELTA, 1000, line)


def test_examples_needed_is_the_first_window_that_is_good_enough() -> None:
    found = examples_needed(0.01, lambda n: 10 / n, 10**6)
    assert found is not None
    assert 1000 <= found <= 1015
    assert examples_needed(0.01, lambda n: 1.0, 10**6) is None

    def refusing(window: int) -> float:
        if window < 300:
            raise ValueError("too small")
        return 0.0

    assert 300 <= (examples_needed(0.5, refusing, 10**6) or 0) <= 305
