"""Rules in databases, as expressions and as functions, over values as people have them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled_protocol.columns import text_of_bytes
from littled_protocol.rules import (
    DIALECTS,
    AffineRule,
    AtLeastRule,
    ConjunctionRule,
    MajorityRule,
    PointsRule,
    PrefixRule,
    PrefixSetRule,
    Rule,
    RuleError,
    StringRule,
    StumpRule,
    TableRule,
    ThresholdRule,
    Words,
    sql_function,
)
from support.databases import NO_POSTGRESQL, Postgres, Value, duckdb_labels, sqlite_labels
from support.rules import Point, cases, cases_with_points, labels_of

DELAY = Words("delay", "min", -30, "late", "not late")
# Beyond this SQLite has no integers.
SQLITE_MOST = 2**63 - 1000


def value_of(rule: Rule, words: Words, point: Point) -> Value:
    """The value that a column holds for a point."""
    if isinstance(point, tuple) and rule.x_type.startswith("bytes"):
        return text_of_bytes(bytes(point))
    if isinstance(point, tuple):
        return tuple(feature + words.offset for feature in point)
    return f"{point:032x}" if rule.x_type == "u128" else point + words.offset


def held(rule: Rule, words: Words, points: Sequence[Point]) -> list[Value]:
    return [value_of(rule, words, point) for point in points]


@pytest.mark.long
@pytest.mark.no_cover
@given(cases_with_points(cases), st.integers(-999, 999))
@settings(max_examples=100, deadline=None)
def test_sqlite_and_duckdb_label_values_as_the_rule_labels_points(
    case: tuple[Rule, Callable[[Any], bool], list[Point]], offset: int
) -> None:
    rule, _, points = case
    words = Words(offset=offset)
    assert duckdb_labels(rule, words, held(rule, words, points)) == labels_of(rule, points)
    if rule.x_type == "u64":
        points = [p for p in points if isinstance(p, int) and p < SQLITE_MOST] or [0]
        expression = rule.to_sql(words).replace("(", " ").replace(")", " ").split()
        if any(part.isdigit() and int(part) >= SQLITE_MOST for part in expression):
            return
    assert sqlite_labels(rule, words, held(rule, words, points)) == labels_of(rule, points)


@pytest.fixture(scope="module")
def server(postgresql: Postgres | None) -> Postgres:
    if postgresql is None:
        pytest.skip(NO_POSTGRESQL)
    return postgresql


ONES = 2**64 - 1
RULES: list[Rule] = [
    ThresholdRule(256, 54),
    ThresholdRule(256, 0),
    ThresholdRule(2**32, 2**31),
    PointsRule(16, (3, 500)),
    PointsRule(64, (3, ONES)),
    PointsRule(128, (3, 1 << 100)),
    PrefixRule(32, 10, 8),
    PrefixRule(64, 1, 1),
    PrefixRule(128, 0x20010DB8, 32),
    PrefixSetRule(32, ((0, 29), (11, 8), (12, 8))),
    PrefixSetRule(64, ((0, 62), (1, 1))),
    PrefixSetRule(128, ((1, 28), (0x20010DB8, 32))),
    PrefixSetRule(8, tuple((value, 8) for value in range(0, 256, 2))),
    TableRule("odd", "00", b"\x55\x50", 12),
    StumpRule(3, 64, 1, 7, False),
    StumpRule(3, 64, 0, 0, True),
    AffineRule(8, (8, 2), 5),
    AffineRule(8, (0b10000001, 0b1000001, 0b100001, 0b10001, 0b1001, 0b101, 0b11), 0),
    AffineRule(64, (2**63 + 1, 2**62 + 1), 2),
    AffineRule(128, (2**127 + 1, 2**64), 6),
    ConjunctionRule(8, 9, 32),
    ConjunctionRule(64, 2**63, 1),
    ConjunctionRule(128, 2**127, 5),
    AtLeastRule(16, 500),
    AtLeastRule(64, 1 << 63),
    AtLeastRule(128, 1 << 100),
    StringRule(3, b"o'k"),
    StringRule(3, b"\x00\x01\x00"),
    MajorityRule((ThresholdRule(256, 3), ThresholdRule(256, 9), ThresholdRule(256, 200))),
]


def some_points(rule: Rule) -> list[Point]:
    """Points of every kind, many of them with neighbours of which the rule may think otherwise."""
    chosen = random.Random(1)
    if isinstance(rule, StringRule):
        return [tuple(each) for each in (b"o'k", b"o'\0", b"ok\0", b"\0\1\0", bytes(3))]
    if isinstance(rule, StumpRule):
        return [tuple(chosen.choices([0, 6, 7, 63], k=rule.features)) for _ in range(40)]
    greatest = 11 if isinstance(rule, TableRule) else 255
    bits = getattr(rule, "bits", 0)
    size = getattr(rule, "size", 0)
    most = 2**bits - 1 if bits else (size - 1 if size else greatest)
    near = [0, 2, 3, 5, 53, 54, 500, 1 << 31, 1 << 63, 1 << 100, 0x20010DB8 << 96, 0x0A000001]
    points = near + [point ^ 1 for point in near] + [chosen.randint(0, most) for _ in range(40)]
    return [point for point in [*points, most] if point <= most]


@pytest.mark.no_cover
@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("words", [Words(), DELAY, Words(offset=40_000)], ids=["0", "-30", "+"])
def test_postgresql_labels_values_as_the_rule_labels_points(
    server: Postgres, rule: Rule, words: Words
) -> None:
    points = some_points(rule)
    expected = labels_of(rule, points)
    assert server.labels(rule, words, held(rule, words, points)) == expected
    assert duckdb_labels(rule, words, held(rule, words, points)) == expected


def test_functions_are_written_for_each_database() -> None:
    late = ThresholdRule(256, 54)
    assert sql_function(late, DELAY, "late", column="delay") == (
        'CREATE OR REPLACE FUNCTION "late"("delay" bigint) RETURNS boolean '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN ("delay" >= 24);'
    )
    assert sql_function(late, DELAY, 'a"b', "duckdb") == (
        'CREATE OR REPLACE MACRO "a""b"("x") AS ("x" >= 24);'
    )
    stump = sql_function(StumpRule(2, 4, 1, 1, True), Words(), "s")
    assert '"s"("x_0" bigint, "x_1" bigint)' in stump
    assert '("x" text)' in sql_function(PrefixRule(128, 1, 1), Words(offset=3), "p")
    for rule, words in ((PointsRule(64, (1,)), Words()), (late, Words(offset=2**63))):
        assert '("x" numeric)' in sql_function(rule, words, "n")


def test_functions_that_cannot_be() -> None:
    late = ThresholdRule(256, 54)
    with pytest.raises(RuleError, match="SQLite has no functions in SQL; use the expression"):
        sql_function(late, DELAY, "late", "sqlite")
    wide = StumpRule(101, 4, 1, 1, True)
    with pytest.raises(RuleError, match="at most 100 arguments, not 101; use the expression"):
        sql_function(wide, Words(), "late")
    assert sql_function(wide, Words(), "late", "duckdb")
    for dialect in DIALECTS[:2]:
        for name in ("", "a\nb"):
            with pytest.raises(RuleError, match="name needs printable characters"):
                sql_function(late, DELAY, name, dialect)
