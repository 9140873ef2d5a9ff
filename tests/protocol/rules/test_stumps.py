"""Stumps on every row of a small domain."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from littled_protocol import limits
from littled_protocol.rules import RuleError, StumpRule, Words
from support.rules import labels_by_sql, labels_of

ROWS = list(product(range(4), repeat=2))


def all_stumps() -> list[StumpRule]:
    constants = [StumpRule(2, 4, 0, 0, at_least) for at_least in (True, False)]
    places = product(range(2), range(1, 4), (True, False))
    return constants + [StumpRule(2, 4, feature, t, at_least) for feature, t, at_least in places]


@pytest.mark.parametrize("rule", all_stumps(), ids=str)
def test_every_stump_on_every_row(rule: StumpRule) -> None:
    expected = [int((row[rule.feature] >= rule.threshold) == rule.at_least) for row in ROWS]
    assert labels_of(rule, ROWS) == expected
    assert labels_by_sql(rule, ROWS, 7) == expected


def test_different_stumps_are_different_functions() -> None:
    assert len({tuple(labels_of(rule, ROWS)) for rule in all_stumps()}) == len(all_stumps()) == 14


def test_stumps_are_said_and_written_by_their_feature() -> None:
    rule = StumpRule(16, 64, 3, 7, at_least=True)
    assert rule.x_type == "u16x16"
    assert rule.describe(Words()) == "1 if feature 3 of x >= 7"
    words = Words("the flight", "min", -5, "late", "on time")
    assert rule.describe(words) == "late if feature 3 of the flight >= 2 min"
    assert StumpRule(16, 64, 3, 7, at_least=False).condition() == "feature 3 of x < 7"
    assert rule.to_sql(words, "delay") == '("delay_3" >= 2)'
    assert StumpRule(2, 2, 0, 0, at_least=True).describe(words) == "always late"
    assert StumpRule(2, 2, 0, 0, at_least=False).describe(words) == "never late"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ((1, 4, 0, 1, True), "features needs an integer from 2"),
        ((limits.row_features_max + 1, 4, 0, 1, True), "features needs an integer from 2"),
        ((2, 1, 0, 0, True), "buckets needs an integer from 2 to 65536"),
        ((2, 65537, 0, 1, True), "buckets needs an integer from 2 to 65536"),
        ((2, 4, 2, 1, True), "feature needs an integer from 0 to 1"),
        ((2, 4, 0, 4, True), "threshold needs an integer from 0 to 3"),
        ((2, 4, 0, 1, 1), "at_least needs true or false"),
        ((2, 4, 1, 0, True), "needs feature 0 and threshold 0"),
    ],
)
def test_stumps_that_cannot_be(fields: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(RuleError, match=sentence):
        StumpRule(*fields)
