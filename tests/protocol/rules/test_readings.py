"""Rules over columns of tables: the label of a row is the same by the encoder and by SQL."""

from __future__ import annotations

import sqlite3
from ipaddress import ip_address
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled_client import points_of
from littled_protocol.encodings import (
    AddressColumn,
    CategoryColumn,
    Column,
    Dialect,
    EncodingError,
    IdColumn,
    NumberColumn,
    Reading,
    TableSchema,
    TimeColumn,
)
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    MajorityRule,
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
from support.tables import (
    ADDRESS,
    AMOUNT,
    CARD,
    CLOSED,
    GRADE,
    HOST,
    INCOME,
    OPENED,
    OWNER,
    SCORE,
    cells_of,
    numbers_by_hand,
)

ROW = Reading((INCOME, GRADE, OPENED, AMOUNT, CLOSED), "row")
BITS = Reading((GRADE, AMOUNT, OWNER, SCORE), "bits")
CELL = Reading((GRADE, SCORE), "cell")


def numbers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**bits - 1)


def thresholds(reading: Reading) -> st.SearchStrategy[Rule]:
    return st.integers(0, reading.size).map(lambda t: ThresholdRule(reading.size, t))


def stumps() -> st.SearchStrategy[Rule]:
    count, size = len(ROW.features), ROW.size
    found = st.tuples(st.integers(0, count - 1), st.integers(1, size - 1), st.booleans())
    return found.map(lambda parts: StumpRule(count, size, *parts))


def conjunctions() -> st.SearchStrategy[Rule]:
    def rule(masks: tuple[int, int, int]) -> Rule:
        looked, value, also = masks
        looked &= also  # few of the bits, or no row would fit
        return ConjunctionRule(BITS.bits, looked & value, looked & ~value)

    return st.tuples(*[numbers(BITS.bits)] * 3).map(rule)


def affine(bits: int) -> st.SearchStrategy[Rule]:
    """Half of all points: those with an even number, or an odd one, of some bits."""

    def rule(mask: int, odd: bool) -> Rule:
        low = mask & -mask
        basis = sorted(
            (1 << b) | (low if mask >> b & 1 else 0) for b in range(bits) if 1 << b != low
        )
        high_first = tuple(reversed(basis))
        highest = sum(2 ** (v.bit_length() - 1) for v in high_first)
        assert all(v & highest == 2 ** (v.bit_length() - 1) for v in high_first)
        return AffineRule(bits, high_first, low if odd else 0)

    masks = st.integers(0, 3).map(lambda part: (part << (bits - 3)) | 1)  # 1 is the lowest bit
    return st.builds(rule, masks, st.booleans())


def tables() -> st.SearchStrategy[Rule]:
    flags = st.lists(st.booleans(), min_size=CELL.size, max_size=CELL.size)
    return flags.map(
        lambda found: TableRule("t", "ab", np.packbits(np.array(found)).tobytes(), CELL.size)
    )


def sets(bits: int, reading: Reading, cells: list[Any]) -> Rule:
    """A set with the number of one of the cells in it, and another one."""
    points = points_of({reading.columns[0].name: cells[:1]}, reading)
    wide = points.ndim == 2
    found = (int(points[0, 0]) << 64 | int(points[0, 1])) if wide else int(points[0])
    return PointsRule(bits, tuple(sorted({found, 5})))


def scorecards(reading: Reading) -> st.SearchStrategy[Rule]:
    points = st.integers(-50, 50)
    of_each = [st.tuples(*[points] * feature.size) for feature in reading.features]
    return st.builds(ScorecardRule, points, st.tuples(*of_each))


def majority(members: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    return st.lists(members, min_size=1, max_size=3).map(lambda m: MajorityRule(tuple(m)))


CASES: dict[str, tuple[Reading, Any]] = {
    "thresholds": (Reading((AMOUNT,), "value"), thresholds(Reading((AMOUNT,), "value"))),
    "categories": (Reading((OWNER,), "value"), thresholds(Reading((OWNER,), "value"))),
    "points of buckets": (
        Reading((GRADE,), "value"),
        st.sets(numbers(3)).map(lambda found: PointsRule(3, tuple(sorted(found)))),
    ),
    "prefixes of buckets": (
        Reading((INCOME,), "value"),
        st.integers(1, 6).flatmap(
            lambda length: numbers(length).map(lambda value: PrefixRule(6, value, length))
        ),
    ),
    "stumps": (ROW, stumps()),
    "scorecards": (ROW, scorecards(ROW)),
    "scorecards of one column": (
        Reading((GRADE,), "value"),
        scorecards(Reading((GRADE,), "value")),
    ),
    "majority of stumps": (ROW, majority(stumps())),
    "conjunctions": (BITS, conjunctions()),
    "majority of conjunctions": (BITS, majority(conjunctions())),
    "affine": (BITS, affine(BITS.bits)),
    "tables": (CELL, tables()),
    "ids": (Reading((CARD,), "number"), None),
    "addresses": (Reading((ADDRESS,), "number"), None),
    "hosts": (Reading((HOST,), "number"), None),
    "blocks": (
        Reading((HOST,), "number"),
        st.integers(0, 3).flatmap(
            lambda length: numbers(length).map(lambda value: PrefixRule(32, value, length))
        ),
    ),
    "sets of blocks": (
        Reading((HOST,), "number"),
        st.sampled_from([(), ((0, 3), (5, 3)), ((0, 0),), ((10, 8), (192, 8))]).map(
            lambda prefixes: PrefixSetRule(32, prefixes)
        ),
    ),
    "sets of prefixes of buckets": (
        Reading((INCOME,), "value"),
        st.sampled_from([(), ((0, 3), (5, 3)), ((0, 0),)]).map(
            lambda prefixes: PrefixSetRule(6, prefixes)
        ),
    ),
}


def stored(column: Column, cell: Any) -> Any:
    """A cell as a database holds it."""
    if cell is None:
        return None
    if isinstance(column, TimeColumn):
        return cell.isoformat(" ", "seconds")
    if isinstance(column, IdColumn):
        return str(cell)
    if isinstance(column, AddressColumn):
        address = ip_address(cell)
        mapped = 0xFFFF << 32 if address.version == 4 and column.bits == 128 else 0
        number = int(address) | mapped
        return number if column.bits == 32 else f"{number:032x}"
    return float(cell) if isinstance(column, NumberColumn) else cell


def sql_type(column: Column) -> str:
    if isinstance(column, NumberColumn):
        return "DOUBLE"
    if isinstance(column, TimeColumn):
        return "TIMESTAMP"
    if isinstance(column, AddressColumn) and column.bits == 32:
        return "BIGINT"
    return "VARCHAR"


def labels_by_sql(
    expression: str, reading: Reading, rows: list[list[Any]], dialect: Dialect
) -> list[bool]:
    """The labels of rows by an expression, in a real database."""
    names = [f'"{column.name}"' for column in reading.columns]
    types = [sql_type(column) for column in reading.columns]
    declared = ", ".join(f"{n} {t}" for n, t in zip(names, types, strict=True))
    marks = ", ".join("?" for _ in names)
    base: Any = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()
    try:
        base.execute(f"CREATE TABLE t (number INTEGER, {declared})")
        for number, row in enumerate(rows):
            base.execute(f"INSERT INTO t VALUES (?, {marks})", [number, *row])  # noqa: S608
        found = base.execute(f"SELECT {expression} FROM t ORDER BY number").fetchall()  # noqa: S608
    finally:
        base.close()
    return [bool(label) for (label,) in found]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_row_has_one_label(name: str, dialect: Dialect, data: st.DataObject) -> None:
    reading, rules = CASES[name]
    table = {
        c.name: data.draw(st.lists(cells_of(c), min_size=4, max_size=4)) for c in reading.columns
    }
    if rules is None:
        rule: Rule = sets(reading.bits, reading, table[reading.columns[0].name])
    else:
        rule = data.draw(rules)
    words = Words.from_dict(Words(positive="yes", negative="no", reading=reading).to_dict())
    assert words.reading == reading
    labels = rule_from_dict(rule.to_dict()).evaluate(points_of(table, reading)).astype(bool)
    assert rule.describe(words).endswith("yes") or rule.describe(words).startswith("yes if ")
    if name == "ids" and dialect == "sqlite":
        with pytest.raises(RuleError, match="which SQLite does not compute"):
            rule.to_sql(words, dialect=dialect)
        return
    rows = [
        [stored(column, cell) for column, cell in zip(reading.columns, row, strict=True)]
        for row in zip(*table.values(), strict=True)
    ]
    expression = rule.to_sql(words, dialect=dialect)
    assert labels_by_sql(expression, reading, rows, dialect) == labels.tolist()
    if dialect == "duckdb":
        made = sql_function(rule, words, "labelled", "duckdb")
        names = ", ".join(f'"{column.name}"' for column in reading.columns)
        with_macro = duckdb.connect()
        try:
            with_macro.execute(made)
        finally:
            with_macro.close()
        assert f'MACRO "labelled"({names})' in made


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
