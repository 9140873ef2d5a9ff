"""Numbers in buckets: edges that are the same everywhere, sentences and SQL that mean the same."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.encodings import EncodingError, NumberColumn, column_from_dict
from support.tables import AMOUNT, INCOME, SCORE, true_in_sqlite


def column(**keys: Any) -> NumberColumn:
    found = column_from_dict({"kind": "number", "name": "n", **keys})
    assert isinstance(found, NumberColumn)
    return found


def ranged(least: Any, most: Any, steps: int, **keys: Any) -> NumberColumn:
    return column(**{"from": least, "to": most, "steps": steps}, **keys)


def shown(found: NumberColumn) -> list[str]:
    return [f"{edge:f}" for edge in found.edges]


@pytest.mark.parametrize(
    ("keys", "edges"),
    [
        ((0, 200_000, 64), [str(3125 * i) for i in range(1, 64)]),
        ((0, 1, 4), ["0.25", "0.50", "0.75"]),
        ((0, 1, 3), ["0.333", "0.667"]),
        (("-0.1", "0.1", 2), ["0.0"]),
        ((-30, 226, 256), [str(i) for i in range(-29, 226)]),
    ],
)
def test_even_edges(keys: tuple[Any, Any, int], edges: list[str]) -> None:
    found = ranged(*keys)
    assert [edge.normalize() for edge in found.edges] == [Decimal(e).normalize() for e in edges]
    assert found.features[0].size == keys[2]


def test_edges_on_a_scale_of_logarithms_are_short() -> None:
    found = ranged(1, 1_000_000, 6, scale="log")
    assert shown(found) == ["10.0", "100", "1000", "10000", "100000"]
    found = ranged(1, 1_000_000, 16, scale="log")
    assert shown(found)[:4] == ["2.37", "5.62", "13.3", "31.6"]
    assert shown(found)[-1] == "422000"


@given(
    st.decimals(-1000, 1000, places=3),
    st.decimals("0.001", 1_000_000, places=3),
    st.integers(2, 200),
    st.booleans(),
)
def test_edges_rise_and_cut_the_range_evenly(
    least: Decimal, width: Decimal, steps: int, logarithmic: bool
) -> None:
    if logarithmic:
        least = abs(least) + Decimal("0.001")
    found = ranged(least, least + width, steps, scale="log" if logarithmic else "linear")
    bounds = [float(b) for b in (least, *found.edges, least + width)]
    assert all(a < b for a, b in pairwise(bounds))
    assert len(bounds) == steps + 1
    scaled = [math.log(b) for b in bounds] if logarithmic else bounds
    wide = [b - a for a, b in pairwise(scaled)]
    assert max(wide) < 1.6 * min(wide)
    assert column_from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("keys", "key", "sentence"),
    [
        ({}, "", "needs from, to and steps, or edges"),
        ({"from": 0, "to": 1}, "", "needs from, to and steps, or edges"),
        ({"edges": []}, "edges", "must be a list of numbers, at least one"),
        ({"edges": 5}, "edges", "must be a list of numbers, at least one"),
        ({"edges": [1, 1]}, "edges", "must rise"),
        ({"edges": [2, 1]}, "edges", "must rise"),
        ({"edges": [1], "steps": 5}, "edges", "must not stand beside from, to and steps"),
        ({"from": 1, "to": 1, "steps": 2}, "to", "must be greater than from"),
        ({"from": 0, "to": 1, "steps": 2, "scale": "log"}, "from", "must be greater than 0 on"),
        ({"from": 0, "to": 1, "steps": 1}, "steps", "must be a whole number from 2 to 65536"),
        ({"from": 0, "to": 1, "steps": True}, "steps", "must be a whole number from 2"),
        ({"from": "x", "to": 1, "steps": 2}, "from", "must be a number"),
        ({"from": True, "to": 1, "steps": 2}, "from", "must be a number"),
        ({"from": "nan", "to": 1, "steps": 2}, "from", "must be a number from -2^53 to 2^53"),
        ({"from": 0, "to": 2**53 + 1, "steps": 2}, "to", "must be a number from -2^53 to 2^53"),
        ({"from": "1e-50", "to": 1, "steps": 2}, "from", "must be a number of at most 20 digits"),
        ({"from": 10**15, "to": 10**15 + 1, "steps": 60000}, "steps", "must be fewer"),
        ({"from": 0, "to": 1, "steps": 2, "scale": "cubic"}, "scale", 'must be "linear" or "log"'),
        (
            {"from": 0, "to": 1, "steps": 2, "missing": "x"},
            "missing",
            'must be "refuse" or "bucket"',
        ),
        ({"from": 0, "to": 1, "steps": 2, "outside": "x"}, "outside", 'must be "clip" or "refuse"'),
        ({"from": 0, "to": 1, "step": 2}, "step", "is not a known key; did you mean steps?"),
        ({"edges": [1], "unit": "\n"}, "unit", "must be a text of printable characters"),
    ],
)
def test_numbers_that_cannot_be(keys: dict[str, Any], key: str, sentence: str) -> None:
    with pytest.raises(EncodingError) as raised:
        column(**keys)
    assert raised.value.key == key
    assert raised.value.sentence.startswith(sentence)
    assert str(raised.value) == f"{key} {raised.value.sentence}".strip()


def test_too_many_buckets() -> None:
    with pytest.raises(EncodingError, match="steps must leave at most 65536 buckets"):
        ranged(0, 65536, 65536, missing="bucket")


@pytest.mark.parametrize(
    ("found", "buckets", "sentence"),
    [
        (INCOME, range(2, 64), "income >= 6250 EUR"),
        (INCOME, range(2), "income < 6250 EUR"),
        (INCOME, range(1, 3), "income >= 3125 EUR and income < 9375 EUR"),
        (INCOME, [0, 2], "income < 3125 EUR or (income >= 6250 EUR and income < 9375 EUR)"),
        (AMOUNT, [0], "amount is missing"),
        (AMOUNT, range(1, 7), "amount is known"),
        (AMOUNT, range(2), "amount is missing or amount < 10"),
        (SCORE, [1, 2], "score >= -1 and score < 3"),
    ],
)
def test_sentences(found: Any, buckets: Any, sentence: str) -> None:
    (feature,) = found.features
    chosen = np.isin(np.arange(feature.size), list(buckets))
    assert feature.condition(chosen) == sentence


@pytest.mark.parametrize("found", [INCOME, AMOUNT, SCORE], ids=lambda found: found.name)
@given(data=st.data())
def test_sql_is_true_for_the_values_of_the_buckets(found: Any, data: st.DataObject) -> None:
    (feature,) = found.features
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=feature.size, max_size=feature.size))
    )
    if chosen.all() or not chosen.any():
        return
    edges = [float(edge) for edge in found.edges]
    value = data.draw(st.one_of(st.sampled_from(edges), st.floats(-1e7, 1e7), st.integers(-5, 5)))
    cells: list[Any] = [value, *([None] if found.missing == "bucket" else [])]
    for cell in cells:
        first = int(found.missing == "bucket")
        bucket = 0 if cell is None else first + sum(cell >= edge for edge in edges)
        said = true_in_sqlite(feature.to_sql(chosen, "sqlite"), found.name, cell)
        assert said == chosen[bucket]


def test_the_questions_of_a_number_are_whether_it_reaches_an_edge() -> None:
    (feature,) = SCORE.features
    assert [flag.tolist() for flag in feature.flags] == [
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
    ]
