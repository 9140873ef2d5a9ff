"""Classes for columns where nobody named one."""

from __future__ import annotations

import pytest

from littled.classes.base import ClassError
from littled.classes.choices import fitting_classes
from littled.classes.conjunction_rules import DENSE_BITS_MAX
from littled_protocol.encodings import Column, column_from_dict


def number(name: str, steps: int) -> Column:
    return column_from_dict({"name": name, "kind": "number", "from": 0, "to": 1, "steps": steps})


def category(name: str, values: int) -> Column:
    words = [f"v{value}" for value in range(values)]
    return column_from_dict({"name": name, "kind": "category", "values": words})


CARD = column_from_dict({"name": "card", "kind": "id"})
ADDRESS = column_from_dict({"name": "address", "kind": "address"})
HOURS = column_from_dict({"name": "at", "kind": "time", "parts": ["hour"]})


@pytest.mark.parametrize(
    ("columns", "classes"),
    [
        ([number("a", 64)], ["thresholds"]),
        ([number("a", DENSE_BITS_MAX + 1)], ["conjunctions", "thresholds"]),
        ([number("a", DENSE_BITS_MAX + 2)], ["thresholds"]),
        ([number("a", 64), category("b", 3)], ["scorecard", "stumps"]),
        ([number("a", 4), category("b", 3)], ["scorecard", "conjunctions", "stumps"]),
        ([category("b", 4)], ["conjunctions", "points"]),
        ([HOURS], ["scorecard", "sparse_sets:4", "points"]),
        (
            [category("b", 200)],
            ["scorecard", "sparse_sets:64", "sparse_sets:16", "sparse_sets:4", "points"],
        ),
        ([CARD], ["sparse_sets:64", "sparse_sets:16", "sparse_sets:4", "points"]),
        ([ADDRESS], ["prefix_sets:128", "prefixes"]),
    ],
)
def test_those_that_can_say_most_stand_first(columns: list[Column], classes: list[str]) -> None:
    found = list(fitting_classes(columns))
    assert found == classes


@pytest.mark.parametrize("columns", [[CARD, number("a", 4)], [CARD, ADDRESS]])
def test_an_id_is_read_alone(columns: list[Column]) -> None:
    with pytest.raises(ClassError, match="one id or address; name what the learner reads"):
        fitting_classes(columns)
