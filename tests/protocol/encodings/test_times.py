"""Times: parts by their names, and the same parts in SQL."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.encodings import PARTS, EncodingError, TimeColumn, column_from_dict
from support.tables import CLOSED, OPENED, true_in_sqlite

EVERY = TimeColumn("when", tuple(PARTS))


@pytest.mark.parametrize(
    ("place", "buckets", "sentence"),
    [
        (0, [0], "month of opened is January"),
        (0, [0, 5, 6, 7], "month of opened is January or June to August"),
        (1, range(5), "weekday of opened is Monday to Friday"),
        (2, [0, 12, 23], "hour of opened is 0, 12 or 23"),
    ],
)
def test_sentences(place: int, buckets: Any, sentence: str) -> None:
    feature = OPENED.features[place]
    assert feature.condition(np.isin(np.arange(feature.size), list(buckets))) == sentence


def test_what_is_missing_is_said() -> None:
    feature = CLOSED.features[0]
    assert feature.size == 32
    assert feature.condition(np.arange(32) < 3) == "day of closed is missing or 1 to 2"
    assert feature.condition(np.arange(32) < 1) == "day of closed is missing"


@pytest.mark.parametrize("part", list(PARTS))
@given(data=st.data())
def test_sql_is_true_for_the_values_of_the_buckets(part: str, data: st.DataObject) -> None:
    feature = EVERY.features[list(PARTS).index(part)]
    size = feature.size
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if chosen.all() or not chosen.any():
        return
    time = data.draw(st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2040, 1, 1)))
    numbers = {
        "month": time.month - 1,
        "day": time.day - 1,
        "weekday": time.weekday(),
        "hour": time.hour,
        "minute": time.minute,
    }
    written = time.isoformat(" ", "seconds")
    said = true_in_sqlite(feature.to_sql(chosen, "sqlite"), "when", written)
    assert said == chosen[numbers[part]]


def test_other_dialects_extract_parts() -> None:
    weekday = EVERY.features[list(PARTS).index("weekday")]
    monday = np.arange(7) == 0
    assert weekday.to_sql(monday, "postgresql") == 'EXTRACT(isodow FROM "when") = 1'
    assert weekday.to_sql(monday, "duckdb") == 'EXTRACT(isodow FROM "when") = 1'


def test_the_questions_of_a_part_are_whether_it_is_one_of_its_names() -> None:
    assert [len(feature.flags) for feature in OPENED.features] == [12, 7, 24]
    for feature in (*OPENED.features, *CLOSED.features):
        assert (np.sum(feature.flags, axis=0) == 1).all()


@pytest.mark.parametrize("column", [OPENED, CLOSED, EVERY], ids=["opened", "closed", "when"])
def test_a_map_and_back(column: Any) -> None:
    assert column_from_dict(column.to_dict()) == column


@pytest.mark.parametrize(
    ("keys", "key", "sentence"),
    [
        ({}, "parts", "must be a list of texts, at least one"),
        ({"parts": "hour"}, "parts", "must be a list of texts, at least one"),
        ({"parts": ["year"]}, "parts", "must be different words of month, day, weekday"),
        ({"parts": ["hour", "hour"]}, "parts", "must be different words of month"),
        ({"parts": ["hour"], "zone": "Mars"}, "zone", "must be a time zone such as Europe/Berlin"),
        ({"parts": ["hour"], "zone": "../x"}, "zone", "must be a time zone such as"),
        ({"parts": ["hour"], "missing": 1}, "missing", 'must be "refuse" or "bucket"'),
        ({"part": ["hour"]}, "part", "is not a known key; did you mean parts?"),
    ],
)
def test_times_that_cannot_be(keys: dict[str, Any], key: str, sentence: str) -> None:
    with pytest.raises(EncodingError) as raised:
        column_from_dict({"kind": "time", "name": "t", **keys})
    assert (raised.value.key, raised.value.sentence[: len(sentence)]) == (key, sentence)
