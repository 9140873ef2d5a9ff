"""The stumps that a scorecard learner compares: their labels, points and scores."""

from itertools import product

import numpy as np
import pytest

from littled.classes.scorecard import Scorecards
from littled.learners.leader.features import FeatureMap
from littled.learners.leader.stumps import NOTHING_DRAWN, Stumps, labelled

CLASS = Scorecards("4x3cox2")
ROWS = np.array(list(product(*map(range, CLASS.sizes))), dtype=np.uint16)
FEATURES = FeatureMap(CLASS, 4)
STUMPS = Stumps(FEATURES)
CELLS = FEATURES.cells(ROWS)


def by_hand(number: int) -> list[bool]:
    """Labels of a stump on all rows."""
    cuts = [(c, b) for c, size in enumerate(CLASS.sizes) for b in range(1, size)]
    if number >= 2 * len(cuts):
        return [number == 2 * len(cuts) + 1] * len(ROWS)
    column, bucket = cuts[number // 2]
    return [bool((row[column] >= bucket) != number % 2) for row in ROWS]


@pytest.mark.parametrize("number", range(14))
def test_labels_and_points_are_those_of_the_cut(number: int) -> None:
    assert STUMPS.never == 12
    assert STUMPS.labels(number, CELLS).tolist() == by_hand(number)
    constant, points = STUMPS.points(number)
    assert labelled(constant, points, CELLS).tolist() == by_hand(number)
    assert {abs(int(points[CELLS[:, i]].sum()) + constant) for i in range(len(ROWS))} == {1}
    rule = CLASS.rule_of(100 * constant, 100 * points)
    assert rule.evaluate(ROWS).tolist() == by_hand(number)


def test_nothing_drawn_says_no() -> None:
    assert not STUMPS.labels(NOTHING_DRAWN, CELLS).any()
    assert STUMPS.column(NOTHING_DRAWN) is STUMPS.column(12) is None
    assert [STUMPS.column(number) for number in (0, 5, 6, 11)] == [0, 0, 1, 2]


def test_scores_are_right_answers_less_those_of_never() -> None:
    y = np.random.default_rng(1).integers(2, size=len(ROWS)).astype(np.uint8)
    y[:9] = 1
    sums = STUMPS.sums(CELLS, np.where(y, 1, -1))
    right = [int((np.array(by_hand(number)) == y).sum()) for number in range(14)]
    found = dict(zip(STUMPS.drawn.tolist(), STUMPS.scores(sums).tolist(), strict=True))
    assert found == {number: right[number] - right[12] for number in range(14)}


def test_an_example_changes_right_answers_by_one_at_the_most() -> None:
    """Of any two stumps by 2 against each other: the range that a draw is priced for."""
    for i, label in product(range(len(ROWS)), (-1, 1)):
        scores = STUMPS.scores(STUMPS.sums(CELLS[:, i : i + 1], np.array([label])))
        assert scores.max() - scores.min() <= 1


def test_only_stumps_are_drawn_that_rise_and_fall_as_they_have_to() -> None:
    shaped = Stumps(FEATURES, "rf-")
    assert sorted(shaped.drawn.tolist()) == [0, 2, 4, 7, 9, 10, 11, 12, 13]
