"""Places of least numbers against a plain search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.range_minima import RangeMinima


def check(numbers: NDArray[np.uint8], left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    found = RangeMinima(numbers).places(left, right)
    expected = [a + int(numbers[a:b].argmin()) for a, b in zip(left, right, strict=True)]
    assert found.tolist() == expected


@given(numbers=st.lists(st.integers(0, 255) | st.integers(0, 3), max_size=80))
def test_all_runs_of_short_columns(numbers: list[int]) -> None:
    runs = [(a, b) for b in range(len(numbers) + 1) for a in range(b)]
    left, right = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    check(np.array(numbers, dtype=np.uint8), left, right)


@pytest.mark.parametrize("size", [31, 32, 33, 511, 512, 513, 20_000])
@pytest.mark.parametrize("greatest", [2, 255])
def test_runs_of_longer_columns(size: int, greatest: int) -> None:
    generator = np.random.default_rng(size)
    ends = np.sort(generator.integers(0, size + 1, size=(3000, 2)), axis=1)
    ends = np.concatenate((ends[ends[:, 0] < ends[:, 1]], [[0, size], [0, 1], [size - 1, size]]))
    numbers = generator.integers(0, greatest, size=size).astype(np.uint8)
    check(numbers, ends[:, 0], ends[:, 1])


def test_no_runs() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert RangeMinima(np.zeros(0, dtype=np.uint8)).places(nothing, nothing).tolist() == []
