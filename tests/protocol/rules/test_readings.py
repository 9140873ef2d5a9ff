"""Rules over columns of tables: the label of a row is the same by the encoder and by SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from littled_client import points_of
from littled_protocol.encodings import (
    CategoryColumn,
    Dialect,
    EncodingError,
    IdColumn,
    Reading,
    TableSchema,
)
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    PointsRule,
    PrefixRule,
    PrefixSetRule,
    Rule,
    RuleError,
    ScorecardRule,
    StumpRule,
    TableRule,
    ThresholdRule,
    Words,
    rule_from_dict,
    sql_function,
)
from support.databases import NO_POSTGRESQL, Postgres
from support.readings import (
    BITS,
    CASES,
    CELL,
    ROW,
    drawn,
    labels_by_sql,
    labels_of_answers,
    script,
)
from support.tables import (
    ADDRESS,
    CARD,
    GRADE,
    HOST,
    INCOME,
    OPENED,
    SCORE,
    cells_of,
    numbers_by_hand,
)


@pytest.mark.long
@pytest.mark.no_cover
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_row_has_one_label(name: str, dialect: Dialect, data: st.DataObject) -> None:
    rule, words, table = drawn(data, name, 4)
    assert words.reading is not None
    labels = rule_from_dict(rule.to_dict()).evaluate(points_of(table, words.reading)).tolist()
    assert rule.describe(words).endswith("yes") or rule.describe(words).startswith("yes if ")
    if name == "ids" and dialect == "sqlite":
        with pytest.raises(RuleError, match="which SQLite does not compute"):
            rule.to_sql(words, dialect=dialect)
        return
    assert labels_by_sql(rule, words, table, dialect) == labels
    if dialect == "duckdb":
        names = ", ".join(f'"{column.name}"' for column in words.reading.columns)
        assert f'MACRO "labelled"({names})' in sql_function(rule, words, "labelled", "duckdb")


@pytest.fixture(scope="module")
def server(postgresql: Postgres | None) -> Postgres:
    if postgresql is None:
        pytest.skip(NO_POSTGRESQL)
    return postgresql


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_a_row_has_the_same_label_in_postgresql(
    server: Postgres, name: str, data: st.DataObject
) -> None:
    rule, words, table = drawn(data, name, 12)
    assert words.reading is not None
    labels = rule.evaluate(points_of(table, words.reading)).tolist()
    assert labels_of_answers(server.ask(script(rule, words, table, "postgresql"))) == labels


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_points_explain_a_label_and_only_scorecards_have_them(
    name: str, data: st.DataObject
) -> None:
    reading, rules = CASES[name]
    cells = {c.name: data.draw(cells_of(c)) for c in reading.columns}
    rule = data.draw(st.just(ThresholdRule(4, 2)) if rules is None else rules)
    words = Words(positive="yes", negative="no", reading=reading)
    points = points_of([cells], reading)
    if not isinstance(rule, ScorecardRule):
        with pytest.raises(RuleError, match=f"which a {rule.kind} rule is not"):
            rule.explain(points, words)
        return
    (found,) = rule.explain(points, words)
    buckets = [b for c in reading.columns for b in numbers_by_hand(c, cells[c.name])]
    expected = {
        (feature.name, feature.condition(np.arange(feature.size) == bucket)): table[bucket]
        for feature, table, bucket in zip(reading.features, rule.tables, buckets, strict=True)
    }
    assert {(share.column, share.text): share.points for share in found.shares} == expected
    amounts = [abs(share.points) for share in found.shares]
    assert amounts == sorted(amounts, reverse=True)
    assert found.total == rule.constant + sum(expected.values())
    assert [found.label] == rule.evaluate(points).tolist() == [int(found.total > 0)]
    assert found.word == words.label(found.label)


@pytest.mark.parametrize(
    ("rule", "reading", "sentence"),
    [
        (ThresholdRule(64, 14), Reading((INCOME,), "value"), "yes if income >= 43750 EUR"),
        (ThresholdRule(64, 64), Reading((INCOME,), "value"), "never yes"),
        (StumpRule(7, 64, 1, 2, at_least=True), ROW, "yes if grade is none of A, B"),
        (StumpRule(7, 64, 1, 9, at_least=True), ROW, "never yes"),
        (
            ConjunctionRule(BITS.bits, 0b10000, 0b10),
            BITS,
            "yes if grade is not B and amount is known",
        ),
        (ConjunctionRule(BITS.bits, 0b11, 0), BITS, "never yes"),
        (
            PointsRule(128, (0xFFFF01020304, 1 << 64)),
            Reading((ADDRESS,), "number"),
            "yes if address is 1.2.3.4 or 0:0:0:1::",
        ),
        (PrefixRule(32, 10, 8), Reading((HOST,), "number"), "yes if host in 10.0.0.0/8"),
        (
            PrefixSetRule(32, ((10 << 8, 16), (12, 8))),
            Reading((HOST,), "number"),
            "yes if host in 12.0.0.0/8 or 10.0.0.0/16",
        ),
        (
            PrefixSetRule(128, ((0xFFFF0A, 104), (0x20010DB8, 32))),
            Reading((ADDRESS,), "number"),
            "yes if address in 2001:db8::/32 or 10.0.0.0/8",
        ),
        (PointsRule(64, (17,)), Reading((CARD,), "number"), "yes if hash of card is 17"),
        (
            TableRule("t", "ab", b"\x80\x00\x00", 20),
            CELL,
            "yes if rule t says so of grade and score",
        ),
        (
            AffineRule(3, (2,), 0),
            Reading((CategoryColumn("c", ("a", "b", "d")),), "bits"),
            "yes if c is b or other",
        ),
    ],
)
def test_sentences(rule: Rule, reading: Reading, sentence: str) -> None:
    assert rule.describe(Words(positive="yes", negative="no", reading=reading)) == sentence


def test_functions_of_postgresql_take_the_types_of_the_columns() -> None:
    words = Words(reading=Reading((INCOME, GRADE, OPENED), "row"))
    made = sql_function(StumpRule(5, 64, 0, 14, at_least=True), words, "rich")
    assert '("income" double precision, "grade" text, "opened" timestamp)' in made
    hosts = Words(reading=Reading((HOST,), "number"))
    assert '("host" bigint)' in sql_function(PrefixRule(32, 10, 8), hosts, "inside")
    short = Words(reading=Reading((IdColumn("card", 32),), "number"))
    assert '("card" text)' in sql_function(PointsRule(32, (5,)), short, "listed")


@pytest.mark.parametrize(
    "values",
    [
        {"reading": 5},
        {"reading": {"form": "row"}},
        {"reading": {"form": "value", "columns": []}},
        {"reads": ["income"]},
    ],
)
def test_words_with_a_reading_that_is_none(values: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="words need"):
        Words.from_dict(values)


def test_words_of_a_status_name_columns_of_the_schema() -> None:
    schema = TableSchema((CARD, *ROW.columns), "y", "yes", "no")
    words = Words(positive="yes", negative="no", reading=ROW)
    said = words.to_status()
    assert (said["form"], said["reads"]) == ("row", list(ROW.names))
    assert "reading" not in said
    assert Words.from_status(said, schema) == words
    plain = Words("delay", "min", -5)
    assert plain.to_status() == plain.to_dict()
    assert (
        Words.from_status(plain.to_dict(), schema)
        == Words.from_status(plain.to_dict(), None)
        == plain
    )
    assert (words.x_type_of("u16x9"), plain.x_type_of("u8")) == (ROW.x_type, "u8")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"form": "row", "reads": "income"}, "words need a list of the columns"),
        ({"form": "rows", "reads": ["income"]}, "words need a reading"),
        ({"form": "row", "reads": ["nothing"]}, "columns must be among"),
        (5, "words need a map"),
    ],
)
def test_words_of_a_status_that_are_none(values: Any, sentence: str) -> None:
    with pytest.raises((RuleError, EncodingError), match=sentence):
        Words.from_status(values, TableSchema(ROW.columns, "y"))


FLAGS = Reading((CategoryColumn("c", ("a", "b", "d")),), "bits")


@pytest.mark.parametrize(
    ("rule", "reading", "sentence", "sql"),
    [
        (AffineRule(3, (), None), FLAGS, "never yes", "(1 = 0)"),
        (AffineRule(3, (4, 2, 1), 0), FLAGS, "always yes", "((1 = 1))"),
        (AffineRule(3, (4, 2), 1), FLAGS, "yes if c is a", None),
        (AffineRule(3, (), 7), FLAGS, "never yes", None),
        (AffineRule(64, (), 5), Reading((CARD,), "number"), "yes if hash of card is 5", None),
        (
            TableRule("t", "ab", bytes(3), 20),
            CELL,
            "yes if rule t says so of grade and score",
            "(1 = 0)",
        ),
        (PointsRule(64, ()), Reading((CARD,), "number"), "never yes", "(1 = 0)"),
        (ConjunctionRule(2, 1, 0), Reading((SCORE,), "value"), None, None),
        (StumpRule(7, 64, 0, 0, at_least=True), ROW, "always yes", "(1 = 1)"),
    ],
)
def test_rules_at_their_ends(
    rule: Rule, reading: Reading, sentence: str | None, sql: str | None
) -> None:
    words = Words(positive="yes", negative="no", reading=reading)
    if sentence is not None:
        assert rule.describe(words) == sentence
    if sql is not None:
        assert rule.to_sql(words) == sql
    if reading.form == "value":
        assert rule.describe(words) == "yes if (score >= -1 and score < 0.5) or score >= 3"


@pytest.mark.parametrize(
    ("rule", "bits", "sentence"),
    [
        (PrefixRule(64, 1, 3), 64, "are hashes, which no SQL compares so"),
        (AffineRule(64, (), 5), 64, "are hashes, which no SQL compares so"),
        (PointsRule(30, (5,)), 30, "in steps of 4 bits alone"),
    ],
)
def test_hashes_that_no_sql_compares(rule: Rule, bits: int, sentence: str) -> None:
    words = Words(reading=Reading((IdColumn("card", bits),), "number"))
    with pytest.raises(RuleError, match=sentence):
        rule.to_sql(words)


def test_hashes_in_postgresql() -> None:
    words = Words(reading=Reading((IdColumn("card", 16),), "number"))
    assert PointsRule(16, (5, 0xABC)).to_sql(words) == (
        "(SUBSTR(ENCODE(SHA256(CONVERT_TO(CAST(\"card\" AS TEXT), 'UTF8')), 'hex'), 1, 4) "
        "IN ('0005', '0abc'))"
    )
