"""Numbers from a least one on: what cannot be, and the one form of each rule."""

from typing import Any

import numpy as np
import pytest

from littled_protocol.rules import AtLeastRule, RuleError, Words, rule_from_dict


@pytest.mark.parametrize(("bits", "least"), [(0, 0), (129, 0), (8, 256), (8, -1), (8, True)])
def test_numbers_that_the_points_do_not_have_are_refused(bits: int, least: Any) -> None:
    with pytest.raises(RuleError, match=r"bits needs|least needs"):
        AtLeastRule(bits, least)


def test_wide_points_are_compared_by_both_words() -> None:
    least = (5 << 64) | 7
    points = np.array([[5, 6], [5, 7], [4, 2**64 - 1], [6, 0]], dtype=np.uint64)
    assert AtLeastRule(128, least).evaluate(points).tolist() == [0, 1, 0, 1]


def test_a_time_is_said_as_a_time_and_compared_as_a_number() -> None:
    rule, words = AtLeastRule(32, 0), Words("time", "unix s", positive="late")
    assert rule.describe(words) == "always late"
    later = AtLeastRule(32, 1_709_251_200)
    assert later.describe(words) == "late if time >= 2024-03-01 00:00:00 UTC"
    assert later.to_sql(words, "t") == '("t" >= 1709251200)'
    assert rule_from_dict(later.to_dict()) == later
