"""Examples from arrays of programs: what a step takes, and what is refused before it."""

from typing import Any

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.learners import Place, examples_of
from littled_protocol.columns import point_type

THRESHOLDS = class_from_name("thresholds:200")


@pytest.mark.parametrize("y", [[1, 0, 1], [True, False, True], np.array([1.0, 0.0, 1.0])])
@pytest.mark.parametrize("x", [[3, 0, 255], np.array([3, 0, 255], dtype=np.int64)])
def test_integers_and_zeros_and_ones_are_examples(x: Any, y: Any) -> None:
    found = examples_of(THRESHOLDS, x, y, position=7)
    assert found.x.tolist() == [3, 0, 255]
    assert found.y.tolist() == [1, 0, 1]
    assert found.x.dtype == found.y.dtype == np.uint8
    assert found.place == Place(bytes(32), 7, 7)


@pytest.mark.parametrize("name", ["stumps:3:16", "points:128"])
def test_rows_and_long_ids_have_columns(name: str) -> None:
    hypotheses = class_from_name(name)
    columns = point_type(hypotheses.point_type).columns
    x = np.arange(2 * columns).reshape(2, columns)
    assert examples_of(hypotheses, x, [0, 1]).x.shape == (2, columns)
    with pytest.raises(ValueError, match="points of"):
        examples_of(hypotheses, x[:, 0], [0, 1])


@pytest.mark.parametrize(
    "y", [[0, 2], ["0", "1"], [0, 0.5], [0, None], [[0, 1]], [0, float("nan")], [0, -1]]
)
def test_other_labels_are_refused(y: Any) -> None:
    with pytest.raises(ValueError, match="labels are True and False, or 1 and 0"):
        examples_of(THRESHOLDS, [1, 2], y)


@pytest.mark.parametrize("x", [[1, 256], [1, -1], [1, 0.5], ["a", "b"], [1], [[1], [2]], [1, None]])
def test_other_points_are_refused(x: Any) -> None:
    with pytest.raises(ValueError, match=r"thresholds:200 are integers from 0 to 255"):
        examples_of(THRESHOLDS, x, [0, 1])
