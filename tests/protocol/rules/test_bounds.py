"""Points against rising bounds, of 128 bits and of fewer."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.rules.bounds import Bounds


def test_narrow_points_find_their_place_among_bounds() -> None:
    found = Bounds([3, 7, 200], "u8").below(np.arange(256, dtype=np.uint8))
    assert found.tolist() == [0] * 3 + [1] * 4 + [2] * 193 + [3] * 56
    assert len(Bounds([], "u32")) == 0
    assert Bounds([], "u32").below(np.zeros(2, dtype=np.uint32)).tolist() == [0, 0]


@given(
    st.sets(st.integers(0, 2**128 - 1) | st.integers(2**64 - 3, 2**64 + 3), max_size=12),
    st.lists(st.integers(0, 2**128 - 1) | st.integers(2**64 - 4, 2**64 + 4), max_size=20),
)
def test_wide_points_find_their_place_among_bounds(bounds: set[int], points: list[int]) -> None:
    rising = sorted(bounds)
    points = [*points, *rising, *(bound ^ (1 << 64) for bound in rising)]
    found = Bounds(rising, "u128").below(
        np.array([[p >> 64, p % 2**64] for p in points], dtype=np.uint64).reshape(-1, 2)
    )
    assert found.tolist() == [sum(bound <= point for bound in rising) for point in points]
    assert found.dtype == np.int64
