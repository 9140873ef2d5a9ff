"""Scorecards as rules: labels, points, words, SQL, and what a map may not be."""

import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.encodings import Reading, column_from_dict
from littled_protocol.rules import RuleError, ScorecardRule, Words, rule_from_dict
from littled_protocol.rules.scorecards import POINTS_MAX

CARD = ScorecardRule(-10, ((0, 5, 5, 30), (-4, 8)))
INCOME = {"kind": "number", "name": "income", "from": 0, "to": 400, "steps": 4, "unit": "EUR"}
GRADE = {"kind": "category", "name": "grade", "values": ["A", "B"], "other": "refuse"}
READING = Reading((column_from_dict(INCOME), column_from_dict(GRADE)), "row")
WORDS = Words(positive="yes", negative="no", reading=READING)
POINTS = st.integers(-POINTS_MAX, POINTS_MAX)


@st.composite
def cards(draw: Any) -> ScorecardRule:
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=4))
    tables = tuple(tuple(draw(POINTS) for _ in range(size)) for size in sizes)
    return ScorecardRule(draw(POINTS), tables)


def rows_for(card: ScorecardRule, seed: int = 1) -> Any:
    generator = np.random.default_rng(seed)
    columns = [generator.integers(len(table), size=50) for table in card.tables]
    if len(columns) == 1:
        return columns[0].astype(np.uint8)
    return np.stack(columns, axis=1).astype(np.uint16)


@given(card=cards())
def test_a_label_is_whether_the_points_sum_above_zero(card: ScorecardRule) -> None:
    x = rows_for(card)
    for row, label in zip(x, card.evaluate(x).tolist(), strict=True):
        buckets = np.atleast_1d(row).tolist()
        total = card.constant + sum(t[b] for t, b in zip(card.tables, buckets, strict=True))
        assert label == int(total > 0)
    assert ((card.points(x).sum(axis=1) + card.constant > 0) == card.evaluate(x)).all()
    assert rule_from_dict(card.to_dict()) == card


def test_sums_of_many_columns_do_not_overflow() -> None:
    card = ScorecardRule(-1, ((0, POINTS_MAX),) * 1024)
    x = np.zeros((3, 1024), dtype=np.uint16)
    x[1] = 1
    x[2, 0] = 1
    assert card.evaluate(x).tolist() == [0, 1, 1]


def test_a_bucket_beyond_the_last_counts_as_the_last() -> None:
    assert CARD.evaluate(np.array([[3, 0], [9, 0], [2, 7]])).tolist() == [1, 1, 1]
    assert CARD.points(np.array([[9, 7]])).tolist() == [[30, 8]]


def test_one_column_has_points_of_one_number() -> None:
    card = ScorecardRule(0, ((-1, 1, -1),))
    assert card.x_type == "u8"
    assert card.evaluate(np.array([0, 1, 2])).tolist() == [0, 1, 0]
    assert card.to_sql(column="age", words=Words(x_name="age")).count('"age"') > 0


def test_it_is_said_by_the_columns_that_matter_most() -> None:
    assert CARD.describe(WORDS) == (
        "yes if points are above 14: up to +30 if income >= 300 EUR; up to +12 if grade is B"
    )
    assert CARD.describe() == (
        "1 if points are above 14: up to +30 if feature 0 of x = 3; up to +12 if feature 1 of x = 1"
    )
    many = ScorecardRule(-1, ((0, 1), (0, 7), (0, 5), (0, 6), (0, 3), (0, 2), (4, 4), (0, 9)))
    said = many.describe()
    places = [said.index(f"feature {i}") for i in (7, 1, 3, 2, 4)]
    assert places == sorted(places)
    assert said.endswith("; 2 more columns")


@given(card=cards())
def test_explanations_sum_to_the_decision(card: ScorecardRule) -> None:
    x = rows_for(card)
    words = Words(x_name="host", offset=-3)
    for row, label, found in zip(x, card.evaluate(x).tolist(), card.explain(x, words), strict=True):
        buckets = np.atleast_1d(row).tolist()
        names = [
            f"feature {i} of host" if len(buckets) > 1 else "host" for i in range(len(buckets))
        ]
        assert (found.label, found.total > 0) == (label, bool(label))
        assert {share.column: (share.text, share.points) for share in found.shares} == {
            name: (f"{name} = {bucket - 3}", table[bucket])
            for name, bucket, table in zip(names, buckets, card.tables, strict=True)
        }


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (ScorecardRule(0, ((0, 0), (0, 0))), "never yes"),
        (ScorecardRule(1, ((0, 0), (0, 0))), "always yes"),
        (ScorecardRule(-5, ((3, 3), (3, 3))), "always yes"),
    ],
)
def test_points_that_are_the_same_everywhere_are_always_or_never(
    card: ScorecardRule, words: str
) -> None:
    assert card.describe(Words(positive="yes", negative="no")) == words


def test_sql_agrees_on_values_of_columns() -> None:
    values = [(v, g) for v in (-5, 0, 50, 99.9, 100, 250, 300, 399, 1000) for g in ("A", "B")]
    buckets = [(min(3, max(0, int(v // 100))), "AB".index(g)) for v, g in values]
    labels = CARD.evaluate(np.array(buckets)).tolist()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (income REAL, grade TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", values)
        sql = CARD.to_sql(WORDS, dialect="sqlite")
        found = connection.execute(f"SELECT {sql} FROM t")  # noqa: S608 - what is tested
        assert [label for (label,) in found] == labels
        connection.execute("DELETE FROM t")
        connection.execute("INSERT INTO t VALUES (300, NULL)")
        count = connection.execute(f"SELECT count(*) FROM t WHERE {sql}")  # noqa: S608
        assert count.fetchone() == (0,)


@given(card=cards())
def test_sql_agrees_on_buckets(card: ScorecardRule) -> None:
    x = rows_for(card)
    count = len(card.tables)
    names = [f'"x_{i}"' for i in range(count)] if count > 1 else ['"x"']
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in names)})")
        marks = ", ".join("?" * count)
        rows = [[b - 7 for b in np.atleast_1d(row).tolist()] for row in x]
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)  # noqa: S608
        sql = card.to_sql(Words(offset=-7))
        found = connection.execute(f"SELECT {sql} FROM t")  # noqa: S608 - what is tested
        assert [label for (label,) in found] == card.evaluate(x).tolist()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"constant": 0}, "exactly the fields constant, tables"),
        ({"constant": 0.0, "tables": [[0, 1]]}, "constant needs an integer"),
        ({"constant": True, "tables": [[0, 1]]}, "constant needs an integer"),
        ({"constant": POINTS_MAX + 1, "tables": [[0, 1]]}, "constant needs an integer from"),
        ({"constant": 0, "tables": []}, "tables needs 1 to 1024 tables"),
        ({"constant": 0, "tables": [[0, 1]] * 1025}, "tables needs 1 to 1024 tables"),
        ({"constant": 0, "tables": [[0]]}, "points of 2 to 65536 buckets"),
        ({"constant": 0, "tables": [[0] * 65537]}, "points of 2 to 65536 buckets"),
        ({"constant": 0, "tables": {"0": [0, 1]}}, "a list of lists of points"),
        ({"constant": 0, "tables": [(0, 1)]}, "a list of lists of points"),
        ({"constant": 0, "tables": [[0, "1"]]}, "tables needs integers"),
        ({"constant": 0, "tables": [[0, True]]}, "tables needs integers"),
        ({"constant": 0, "tables": [[0, -POINTS_MAX - 1]]}, "tables needs an integer from"),
        ({"constant": 0, "tables": [[0, POINTS_MAX + 1]]}, "tables needs an integer from"),
    ],
)
def test_a_map_that_is_no_scorecard_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RuleError, match=sentence):
        rule_from_dict({"kind": "scorecard", **fields})


def test_other_points_are_refused() -> None:
    with pytest.raises(RuleError, match=r"u16x2 need an array \(n, 2\)"):
        CARD.points(np.zeros((3, 3), dtype=np.uint16))
