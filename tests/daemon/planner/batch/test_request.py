"""What may be asked of a window learner."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.classes.thresholds import Thresholds
from littled.planner.batch.request import BatchRequest, problem

GOOD = BatchRequest("l", Thresholds(16), window=300)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"alpha": Fraction(1, 20)}, "either window or alpha"),
        ({"window": None}, "either window or alpha"),
        ({"window": 0}, "window must be from 1"),
        ({"window": 1001}, "horizon of 1,000"),
        ({"window": None, "alpha": Fraction(1)}, "alpha must be"),
        ({"beta": Fraction(0)}, "beta must be"),
        ({"noise_rate": Fraction(1, 2)}, "below 0.5"),
        ({"positives": Fraction(1)}, "positives must be"),
    ],
)
def test_what_cannot_be_planned_is_said_in_a_sentence(changes: dict[str, Any], part: str) -> None:
    assert part in (problem(replace(GOOD, **changes), 1000) or "")


def test_a_window_or_an_error_can_be_asked_for() -> None:
    assert problem(GOOD, 1000) is None
    assert problem(replace(GOOD, window=None, alpha=Fraction(1, 20)), 1000) is None
