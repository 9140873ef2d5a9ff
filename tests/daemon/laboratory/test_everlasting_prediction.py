"""Everlasting prediction: how many examples it begins with, and its errors."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from littled.budget.conversion import epsilon_of_rho
from littled.laboratory import everlasting_prediction as everlasting


def test_windows_give_what_the_planner_says() -> None:
    assert everlasting.answers("thresholds:65536", 92_000, "dense") == 1_004_144
    assert everlasting.answers("thresholds:65536", 10, "dense") == 0


def test_the_least_window_pays_for_the_next_one_and_a_smaller_one_does_not() -> None:
    least = everlasting.least_window("thresholds:65536", "dense")
    assert least is not None
    assert 16_500 < least < 17_500
    assert everlasting.answers("thresholds:65536", least, "dense") >= 2 * least
    below = math.floor(least / 1.02)
    assert everlasting.answers("thresholds:65536", below, "dense") < 2 * below
    # two windows later it still pays: answers grow with the square of the window
    assert everlasting.answers("thresholds:65536", 4 * least, "dense") >= 8 * least


def test_without_a_window_that_pays_there_is_none() -> None:
    assert everlasting.least_window("thresholds:65536", "dense", most=10_000) is None
    votes = everlasting.least_window("thresholds:65536", "majority", Fraction(1, 20), 60_000)
    assert votes is not None
    assert 50_000 < votes < 54_000


def test_all_draws_of_a_phase_are_within_the_budget() -> None:
    for window in (1_000, 20_000):
        rate = everlasting.draw_rate(window)
        rho = Fraction(rate * rate / 2 * everlasting.GROWTH * window)
        assert abs(epsilon_of_rho(rho, everlasting.DELTA) - 1) < Fraction(1, 10**6)


def test_the_law_is_the_exponential_mechanism() -> None:
    x, y = np.array([0, 2, 2]), np.array([False, True, True])
    law = np.diff(everlasting._law(3, x, y, math.log(2)), prepend=0.0)
    # agreements of t = 0..3: 2, 3, 3, 1
    assert law == pytest.approx(np.array([4, 8, 8, 2]) / 22)


def test_windows_double_and_errors_fall() -> None:
    found = list(everlasting.phases(1024, 5_000, 4, seed=1))
    assert [phase.window for phase in found] == [5_000, 10_000, 20_000, 40_000]
    assert found[-1].error < found[0].error < 0.2
    assert all(a.rate > b.rate for a, b in pairwise(found))
