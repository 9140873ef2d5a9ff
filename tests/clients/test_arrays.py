"""Columns as programs give them: nothing under a mask is taken, and memory is an array."""

from typing import Any

import numpy as np
import pytest

from littled_client.arrays import as_given
from littled_client.errors import ExampleError

ROWS = np.arange(6).reshape(3, 2)


@pytest.mark.parametrize(
    "values",
    [
        *([1, 2], (), [], "late", None, 5, range(3), ROWS, memoryview(b"late")),
        np.ma.masked_array(ROWS),
        np.ma.masked_array(ROWS, mask=np.zeros_like(ROWS, dtype=np.bool_)),
        [np.ma.masked_array([1, 2]), np.ma.masked_array([3, 4])],
    ],
)
def test_whatever_has_no_mask_is_left_as_it_is(values: Any) -> None:
    assert as_given("x", values) is values


@pytest.mark.parametrize(
    "values",
    [
        np.ma.masked_array(ROWS, mask=ROWS == 3),
        np.ma.masked_array(ROWS, mask=True),
        [np.ma.masked_array([1, 2]), np.ma.masked_array([3, 4], mask=[False, True])],
    ],
)
def test_a_column_of_which_something_is_masked_is_refused(values: Any) -> None:
    with pytest.raises(ExampleError, match=r"^some of x is masked; leave these rows out, or fill"):
        as_given("x", values)


def test_a_memory_of_several_dimensions_becomes_an_array() -> None:
    assert np.array_equal(as_given("x", ROWS.data), ROWS)
    assert as_given("x", np.zeros(()).data).shape == ()
