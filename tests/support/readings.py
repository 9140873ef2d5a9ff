"""Rules of every class over columns of every kind, and their labels in databases."""

from __future__ import annotations

import sqlite3
from ipaddress import ip_address
from typing import Any

import duckdb
import numpy as np
from hypothesis import strategies as st

from littled_client import points_of
from littled_protocol.encodings import (
    AddressColumn,
    Column,
    Dialect,
    IdColumn,
    NumberColumn,
    Reading,
    TimeColumn,
)
from littled_protocol.encodings.base import sql_name, sql_text
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    MajorityRule,
    PointsRule,
    PrefixRule,
    PrefixSetRule,
    Rule,
    ScorecardRule,
    StumpRule,
    TableRule,
    ThresholdRule,
    Words,
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
        return "DOUBLE PRECISION"
    if isinstance(column, TimeColumn):
        return "TIMESTAMP"
    if isinstance(column, AddressColumn) and column.bits == 32:
        return "BIGINT"
    return "VARCHAR"


def drawn(data: st.DataObject, name: str, count: int) -> tuple[Rule, Words, dict[str, list[Any]]]:
    """A rule of a case, its words, and a table of so many rows."""
    reading, rules = CASES[name]
    cells = {c.name: st.lists(cells_of(c), min_size=count, max_size=count) for c in reading.columns}
    table = {column: data.draw(drawing) for column, drawing in cells.items()}
    if rules is None:
        rule: Rule = sets(reading.bits, reading, table[reading.columns[0].name])
    else:
        rule = data.draw(rules)
    words = Words.from_dict(Words(positive="yes", negative="no", reading=reading).to_dict())
    assert words.reading == reading
    return rule, words, table


def script(rule: Rule, words: Words, table: dict[str, list[Any]], dialect: Dialect) -> list[str]:
    """Statements that make a table, and ask for the labels of its rows in their order.

    The last one gives two for each row, by the expression and by the function (twice the expression
    where there are none). A true label is TRUE; FALSE and NULL are none.
    """
    assert words.reading is not None
    columns = words.reading.columns
    names = [sql_name(column.name) for column in columns]
    kinds = [f"{name} {sql_type(column)}" for name, column in zip(names, columns, strict=True)]
    rows = [
        ", ".join(_literal(stored(column, cell)) for column, cell in zip(columns, row, strict=True))
        for row in zip(*table.values(), strict=True)
    ]
    told = ", ".join(f"({number}, {row})" for number, row in enumerate(rows))
    expression = said = rule.to_sql(words, dialect=dialect)
    made, begun = [], ["DROP TABLE IF EXISTS t"]
    if dialect == "postgresql":  # where a function of another type is another function
        begun = ["DROP SCHEMA IF EXISTS s CASCADE", "CREATE SCHEMA s", "SET search_path = s"]
    if dialect != "sqlite":
        made = [sql_function(rule, words, 'a "strange" name', dialect)]
        said = f'"a ""strange"" name"({", ".join(names)})'
    return [
        *begun,
        f"CREATE TABLE t (number INTEGER, {', '.join(kinds)})",
        f"INSERT INTO t VALUES {told}",  # noqa: S608
        *made,
        f"SELECT {expression}, {said} FROM t ORDER BY number",  # noqa: S608
    ]


def _literal(cell: Any) -> str:
    if cell is None:
        return "NULL"
    return sql_text(cell) if isinstance(cell, str) else repr(cell)


def labels_of_answers(answers: list[Any]) -> list[int]:
    """The labels that a script has asked for, once both ways agree."""
    found = [[int(bool(label)) for label in row] for row in answers]
    assert all(first == second for first, second in found)
    return [first for first, _ in found]


def labels_by_sql(
    rule: Rule, words: Words, table: dict[str, list[Any]], dialect: Dialect
) -> list[int]:
    """The labels of a table by the expression and the function, in SQLite or DuckDB."""
    *before, query = script(rule, words, table, dialect)
    base: Any = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()
    try:
        for statement in before:
            base.execute(statement)
        return labels_of_answers(base.execute(query).fetchall())
    finally:
        base.close()
