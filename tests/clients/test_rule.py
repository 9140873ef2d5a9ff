"""A rule by itself: kept, sent, asked, and refused where nobody knows what it means."""

import json
import pickle
from dataclasses import FrozenInstanceError, replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from littled_client import ClientError, ExampleError, Published, Rule
from littled_protocol import rules
from littled_protocol.encodings import Reading, column_from_dict
from littled_protocol.rules import ScorecardRule, StumpRule, ThresholdRule, Words

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


TABLE = {"debt": [10, 60], "income": [1, 1]}
COLUMNS = tuple(
    column_from_dict({"name": name, "kind": "number", "from": 0, "to": 100, "steps": 4})
    for name in ("income", "debt")
)
DEBTS = Rule(
    StumpRule(2, 4, 1, 2, True),
    Words(positive="yes", negative="no", reading=Reading(COLUMNS, "row")),
)
FRAME = pd.DataFrame(TABLE)


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.DataFrame(TABLE), pa.table(TABLE), TABLE, FRAME.to_dict("records")],
    ids=["pandas", "polars", "arrow", "columns", "rows"],
)
def test_frames_of_every_kind_are_asked(table: object) -> None:
    assert DEBTS.predict(table).tolist() == ["no", "yes"]


SCORED = Rule(ScorecardRule(-3, ((0, 1, 5, 9), (4, 0, 0, -4))), DEBTS.words)


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.DataFrame(TABLE), pa.table(TABLE), TABLE, FRAME.to_dict("records")],
    ids=["pandas", "polars", "arrow", "columns", "rows"],
)
def test_labels_are_explained_by_points(table: object) -> None:
    first, second = SCORED.explain(table)
    assert (first.word, first.constant, first.total) == ("yes", -3, 1)
    assert [(s.column, s.text, s.points) for s in first.shares] == [
        ("debt", "debt < 25", 4),
        ("income", "income < 25", 0),
    ]
    assert [first.word, second.word] == SCORED.predict(table).tolist()


def test_what_has_no_points_or_is_no_value_is_not_explained() -> None:
    with pytest.raises(rules.RuleError, match="only a scorecard has points to explain, which a "):
        DEBTS.explain(TABLE)
    with pytest.raises(ExampleError, match="the table has no column 'income'"):
        SCORED.explain({"debt": [1]})


def test_it_is_a_fitted_classifier_of_scikit_learn() -> None:
    # imported here, as it takes every process that collects the tests seconds
    from sklearn.frozen import FrozenEstimator
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    many, labels = pd.concat([FRAME] * 4), ["no", "yes"] * 4
    for last in (DEBTS, FrozenEstimator(DEBTS)):
        steps = make_pipeline(FunctionTransformer(), last)
        assert steps.predict(FRAME).tolist() == ["no", "yes"]
        assert get_scorer("accuracy")(last, FRAME, ["no", "no"]) == 0.5
    assert DEBTS.fit(FRAME, ["yes", "no"]) is DEBTS
    # a pipeline writes on what it fits, and a rule is immutable: there it needs the wrapper
    frozen = FrozenEstimator(DEBTS)
    steps = make_pipeline(FunctionTransformer(), frozen)
    assert steps.fit(FRAME, ["yes", "no"]).predict(FRAME).tolist() == ["no", "yes"]
    assert cross_val_score(frozen, many, labels, cv=2, scoring="accuracy").tolist() == [1, 1]
    assert cross_val_predict(frozen, many, labels, cv=2).tolist() == labels
