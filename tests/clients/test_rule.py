"""A rule by itself: kept, sent, asked, and refused where nobody knows what it means."""

import json
import pickle
from dataclasses import FrozenInstanceError, replace

import pandas as pd
import pytest

from littled_client import ClientError, ExampleError, Published, Rule
from littled_protocol import rules
from littled_protocol.encodings import Reading, column_from_dict
from littled_protocol.rules import StumpRule, ThresholdRule, Words

DELAYS = Rule(ThresholdRule(256, 53), Words("delay", "min", -30, "late", "on time"))
PUBLISHED = Published("flights/late", 3, "rule", 0, 1, 900, DELAYS.rule, DELAYS.words)


def test_it_answers_in_the_words_of_its_stream() -> None:
    assert DELAYS.predict([22, 23, 200]).tolist() == ["on time", "late", "late"]
    assert DELAYS.labels([22, 23, 200]).tolist() == [0, 1, 1]
    assert DELAYS.classes_.tolist() == ["on time", "late"]
    assert str(DELAYS) == DELAYS.describe() == "late if delay >= 23 min"
    assert DELAYS.__sklearn_is_fitted__()
    with pytest.raises(ExampleError):
        DELAYS.predict([1000])


def test_tables_are_asked_by_their_columns() -> None:
    table = {"kind": "number", "from": 0, "to": 100, "steps": 4}
    columns = tuple(column_from_dict({"name": name, **table}) for name in ("income", "debt"))
    words = Words(positive="yes", negative="no", reading=Reading(columns, "row"))
    rule = Rule(StumpRule(2, 4, 1, 2, True), words)
    assert rule.predict(pd.DataFrame({"debt": [10, 60], "income": [1, 1]})).tolist() == [
        "no",
        "yes",
    ]


def test_it_is_written_and_read() -> None:
    for values in (DELAYS.to_dict(), PUBLISHED.to_dict()):
        assert Rule.from_dict(json.loads(json.dumps(values))) == DELAYS
    assert pickle.loads(pickle.dumps(DELAYS)) == DELAYS  # noqa: S301 - our own
    assert Rule.of(PUBLISHED) == DELAYS
    assert hash(Rule.of(PUBLISHED)) == hash(DELAYS)
    with pytest.raises(FrozenInstanceError):
        DELAYS.words = Words()  # type: ignore[misc]


def test_without_words_it_means_nothing() -> None:
    wordless = {"rule": DELAYS.rule.to_dict(), "words": None}
    cases: list[object] = [None, [], {}, {"rule": 3}, wordless]
    for values in cases:
        with pytest.raises(rules.RuleError):
            Rule.from_dict(values)
    with pytest.raises(ClientError, match="not known"):
        Rule.of(replace(PUBLISHED, words=None))
    with pytest.raises(ClientError, match="carries no rule"):
        Rule.of(replace(PUBLISHED, rule=None))
