"""Thresholds on every point of small domains."""

from __future__ import annotations

import pytest

from littled_protocol.rules import ThresholdRule, Words
from support.rules import labels_of


@pytest.mark.parametrize("size", [1, 2, 5, 256])
def test_every_threshold_on_every_point(size: int) -> None:
    points = list(range(size))
    for threshold in range(size + 1):
        rule = ThresholdRule(size, threshold)
        assert labels_of(rule, points) == [int(x >= threshold) for x in points]


def test_constant_thresholds_are_said_as_such() -> None:
    words = Words(positive="late")
    assert ThresholdRule(4, 0).describe(words) == "always late"
    assert ThresholdRule(4, 4).describe(words) == "never late"
    assert ThresholdRule(4, 3).describe(words) == "late if x >= 3"
