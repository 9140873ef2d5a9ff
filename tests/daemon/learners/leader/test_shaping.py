"""Shapes of published scorecards: monotone tables and few columns, worked out another way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from littled.learners.leader.shaping import (
    change_squared,
    monotone,
    narrow_columns,
    points_of_cells,
    pooled,
)
from littled_protocol.rules import ScorecardRule

POINTS = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40)


@given(points=POINTS)
def test_pooled_points_are_the_nearest_that_never_fall(points: list[int]) -> None:
    found = pooled(points)
    assert found == sorted(found)
    assert np.abs(np.array(found) - isotonic_regression(points)).max() <= 0.5 + 1e-6
    assert pooled(found) == found
    assert pooled(sorted(points)) == sorted(points)


def test_means_are_rounded_to_the_nearest() -> None:
    assert pooled([5, 2, 1]) == [3, 3, 3]
    assert pooled([1, 0]) == [1, 1]
    assert pooled([-1, -3, -4, 7]) == [-3, -3, -3, 7]


def test_tables_rise_and_fall_between_what_is_missing_and_other() -> None:
    card = ScorecardRule(-7, ((9, 1, 5, 3, 0), (3, 8, 2), (4, 1)))
    ordered = (range(1, 4), range(3), range(2))
    shaped = monotone(card, "rf-", ordered)
    assert shaped == ScorecardRule(-7, ((9, 1, 4, 4, 0), (6, 6, 2), (4, 1)))
    assert monotone(card, "", ordered) == card
    assert monotone(card, "---", ordered) == card
    with pytest.raises(ValueError, match="zip"):
        monotone(card, "r", ordered)


def test_the_columns_that_spread_least_are_left_out() -> None:
    card = ScorecardRule(0, ((0, 5), (-9, 0), (7, 7), (3, -2)))
    assert [narrow_columns(card, most) for most in (4, 3, 2, 1)] == [(), (2,), (2, 3), (0, 2, 3)]


CARDS = st.tuples(
    st.integers(-(10**6), 10**6),
    *(st.tuples(*[st.integers(-(10**6), 10**6)] * size) for size in (2, 5, 3)),
).map(lambda parts: ScorecardRule(parts[0], parts[1:]))


@given(old=CARDS, new=CARDS)
def test_a_change_is_the_mean_square_over_all_rows(old: ScorecardRule, new: ScorecardRule) -> None:
    rows = np.indices((2, 5, 3)).reshape(3, -1).T.astype(np.uint16)
    apart = (new.points(rows) - old.points(rows)).sum(axis=1) + new.constant - old.constant
    found = change_squared(old, new.constant, points_of_cells(new))
    assert found**0.5 == pytest.approx((apart.astype(float) ** 2).mean() ** 0.5, abs=2)
    assert change_squared(old, old.constant, points_of_cells(old)) == 0


def test_a_change_of_the_largest_tables_fits() -> None:
    sizes, most = (2**16,) * 8, 10**6
    old, new = (ScorecardRule(0, tuple((c,) * size for size in sizes)) for c in (-most, most))
    assert change_squared(old, 0, points_of_cells(new)) == (16 * most) ** 2
