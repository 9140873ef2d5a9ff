"""Values as people have them become points of every type; the rest is refused by its number."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from littled_client.errors import ExampleError
from littled_client.values import value_points
from littled_protocol.columns import point_type
from littled_protocol.rules import Words

DELAY = Words("delay", "min", -30)
WIDE = [[0, 1], [0xFFFF, 0]]


def masked(values: Any, dtype: Any = np.int64) -> Any:
    """An array of which the last value is masked."""
    array = np.ma.masked_array(values, dtype=dtype)
    array[-1] = np.ma.masked
    return array


@pytest.mark.parametrize(
    ("x_type", "words", "values", "points"),
    [
        ("u8", DELAY, [-30, 225], [0, 255]),
        ("u8", DELAY, (value for value in (-30, 5)), [0, 35]),
        ("u8", DELAY, np.array([-30, 225], dtype=np.int16), [0, 255]),
        ("u8", DELAY, ["-30", "24.0", 24.0, np.int64(24)], [0, 54, 54, 54]),
        ("u8", DELAY, np.array([-30.0, 24.0]), [0, 54]),
        ("u8", DELAY, np.array(["-30", 24], dtype=object), [0, 54]),
        ("u8", DELAY, [], []),
        ("u32", Words(), ["10.0.0.1", 7], [0x0A000001, 7]),
        ("u64", Words(offset=2), [2, 2**64 + 1], [0, 2**64 - 1]),
        ("u128", Words(offset=5), [1, 0xFFFF << 64], WIDE),
        ("u128", Words(), ["::1", str(UUID(int=0xFFFF << 64))], WIDE),
        ("u128", Words(), np.array(WIDE, dtype=np.uint64), WIDE),
        ("u128", Words(), [], []),
        ("u16x2", Words(offset=-1), [[-1, 0], ["1", 2]], [[0, 1], [2, 3]]),
        ("u16x2", Words(offset=-1), np.array([[-1, 0], [1, 2]]), [[0, 1], [2, 3]]),
        ("u16x2", Words(offset=-1), [], []),
        ("u16x2", Words(), np.ma.masked_array([[1, 0], [1, 2]], mask=False), [[1, 0], [1, 2]]),
        ("u128", Words(), memoryview(np.array(WIDE, dtype=np.uint64).data), WIDE),
    ],
)
def test_values_become_points(x_type: str, words: Words, values: Any, points: list[Any]) -> None:
    found = value_points(x_type, words, values)
    kind = point_type(x_type)
    assert found.tolist() == points
    assert found.dtype == kind.dtype
    assert found.shape == ((len(points), kind.columns) if kind.columns > 1 else (len(points),))


@pytest.mark.parametrize(
    ("x_type", "values", "sentence"),
    [
        ("u8", [0, 226], "value 2 less the offset -30 is outside 0 to 255"),
        ("u8", [0.5], "value 1 does not hold an integer"),
        ("u8", [0, None], "value 2 is empty"),
        ("u8", [True], "value 1 does not hold an integer"),
        ("u8", np.array([True]), "value 1 does not hold an integer"),
        ("u8", np.array([[1]]), "values of type u8 need one dimension"),
        ("u8", np.array(1), "values of type u8 need one dimension"),
        ("u8", 90, "values need an array or a sequence"),
        ("u8", "90", "values need an array or a sequence"),
        ("u8", {"a": 1}, "values need an array or a sequence"),
        ("u8", masked([1, 2]), "^some of values is masked"),
        ("u16x2", masked([[1, 2]]), "^some of values is masked"),
        ("u128", masked(WIDE, np.uint64), "^some of values is masked"),
        ("u128", ["late"], "value 1 does not hold an address"),
        ("u128", np.array([[1, 2]]), r"values of type u128 need an array \(n, 2\) of uint64"),
        ("u16x2", [[1, 2], [1]], "value 2 holds no row of 2 features"),
        ("u16x2", np.array([[1, 2, 3]]), "points of type u16x2 need 1 or 2 columns, not 3"),
    ],
)
def test_what_is_no_value_is_refused_by_its_number(x_type: str, values: Any, sentence: str) -> None:
    with pytest.raises(ExampleError, match=sentence):
        value_points(x_type, DELAY, values)
