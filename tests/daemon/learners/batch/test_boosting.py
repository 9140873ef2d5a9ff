"""Rounds of boosting: exact residuals, points that fall, and what a scorecard comes to."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.scorecard import Scorecards
from littled.learners.batch import boosting
from littled.learners.batch.boosting import MARGINS, RESIDUAL_STEPS, Booster, points_of, residuals
from littled_protocol.rules import ScorecardRule


def test_margins_are_where_the_nearest_number_of_steps_changes() -> None:
    with localcontext() as context:
        context.prec = 50
        for place, margin in enumerate(MARGINS.tolist()):
            steps = RESIDUAL_STEPS - place
            odds = Decimal(2 * RESIDUAL_STEPS - steps) + Decimal("0.5")
            exact = 100 * (odds / (Decimal(steps) - Decimal("0.5"))).ln()
            assert margin == math.floor(exact)


@pytest.mark.parametrize("label", [0, 1])
def test_residuals_are_the_chance_of_the_other_label_and_at_most_a_half(label: int) -> None:
    scores = np.arange(-2000, 2001)
    found = residuals(scores, np.full(len(scores), label, dtype=np.uint8))
    sign = 1 if label else -1
    exact = 32 * np.minimum(0.5, 1 / (1 + np.exp(sign * scores / 100)))
    assert found.dtype == np.int64
    assert np.abs(sign * found - exact).max() <= 0.51
    assert np.abs(found).max() == RESIDUAL_STEPS
    assert (sign * found >= 0).all()


def test_points_fall_with_the_root_of_the_round() -> None:
    assert [points_of(110, number) for number in range(5)] == [110, 77, 63, 55, 49]
    assert all(points_of(1000, k) == math.isqrt(10**6 // (k + 1)) for k in range(1000))


def best(scores: NDArray[np.int64]) -> int:
    """The first of the best, without noise."""
    return int(scores.argmax())


def test_rounds_find_what_no_stump_says() -> None:
    """Label 1 in the middle buckets: two cuts add up to it, and one cannot."""
    rules = Scorecards("9x2")
    x = np.stack([np.tile(np.arange(9), 40), np.tile([0, 1], 180)], axis=1).astype(np.uint16)
    y = ((x[:, 0] >= 3) & (x[:, 0] < 6)).astype(np.uint8)
    booster = Booster(rules, 12, 110)
    rule = booster.scorecard(x, y, lambda _, scores: best(scores))
    np.testing.assert_array_equal(rule.evaluate(x), y)
    assert rule.tables[1] == (0, 0)
    one = Booster(rules, 1, 110).scorecard(x, y, lambda _, scores: best(scores))
    assert (one.evaluate(x) != y).mean() > 0.2


def test_each_round_adds_its_points_for_the_stump_that_is_drawn() -> None:
    rules = Scorecards("3x2")
    booster = Booster(rules, 3, 100)
    assert booster.candidates == 2 * (2 + 1) + 2
    x, y = np.zeros((4, 2), dtype=np.uint16), np.ones(4, dtype=np.uint8)
    seen: list[list[int]] = []

    def drawn(number: int, scores: NDArray[np.int64]) -> int:
        seen.append(scores.tolist())
        return (1, 0, 7)[number]  # always; never; column 1 below 1

    order = booster.stumps.drawn.tolist()
    assert order[:2] == [6, 7]
    rule = booster.scorecard(x, y, drawn)
    assert seen[0][1] == 4 * RESIDUAL_STEPS
    assert seen[0][0] == 0
    assert rule == ScorecardRule(100 - 70, ((0, 0, 0), (57, -57)))


def test_pieces_and_the_order_of_examples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, (700, 3)).astype(np.uint16)
    y = (x[:, 0] + rng.integers(0, 3, 700) > 3).astype(np.uint8)
    booster = Booster(Scorecards("5x5x5"), 8, 110)

    def rule(chosen: NDArray[np.int64]) -> ScorecardRule:
        return booster.scorecard(x[chosen], y[chosen], lambda _, scores: best(scores))

    whole = rule(np.arange(700))
    assert rule(rng.permutation(700)) == whole
    monkeypatch.setattr(boosting, "PIECE", 64)
    assert rule(np.arange(700)) == whole
