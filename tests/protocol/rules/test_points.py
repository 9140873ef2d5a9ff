"""Sets of points, large ones too."""

from __future__ import annotations

import numpy as np
import pytest

from littled_protocol import limits
from littled_protocol.rules import PointsRule
from support.rules import labels_of


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("count", [0, 1, 2, limits.rule_members_max])
def test_many_members_among_many_points(bits: int, count: int) -> None:
    generator = np.random.default_rng(count + bits)
    # Few different high and low words, so that points often share one of the two with a member.
    words = generator.integers(0, 2**64, size=200, dtype=np.uint64)
    pairs = generator.choice(words, size=(60_000, 2))
    wide = [(int(h) << 64 if bits == 128 else 0) | int(low) for h, low in pairs[: 2 * count]]
    members = tuple(sorted(set(wide))[:count])
    rule = PointsRule(bits, members)
    points = [(int(h) << 64 if bits == 128 else 0) | int(low) for h, low in pairs[:20_000]]
    chosen = set(members)
    assert labels_of(rule, points) == [int(point in chosen) for point in points]


def test_members_whose_search_keys_collide_are_told_apart() -> None:
    # With keys high * M + low mod 2^64 these two collide under the first multiplier M.
    multiplier = 0x9E3779B97F4A7C15
    first, second = multiplier, 1 << 64
    other = (2 << 64) | ((-multiplier) % 2**64)
    rule = PointsRule(128, tuple(sorted((first, second))))
    points = [first, second, other, 0, first + 1]
    assert labels_of(rule, points) == [1, 1, 0, 0, 0]
    assert labels_of(PointsRule(128, (5, second)), points) == [0, 1, 0, 0, 0]


def test_few_members_are_listed_and_many_are_counted() -> None:
    assert PointsRule(8, (1, 5, 9)).condition() == "x is 1, 5 or 9"
    assert PointsRule(8, tuple(range(6))).condition() == "x is one of 6: 0, 1, 2, 3, 4, ..."
    assert PointsRule(65, (7,)).condition() == f"x is {7:032x}"
