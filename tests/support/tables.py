"""Columns of tables for tests: one of each kind, cells for them, and their numbers by hand."""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from littled_protocol.encodings import (
    PARTS,
    AddressColumn,
    CategoryColumn,
    Column,
    IdColumn,
    NumberColumn,
    TimeColumn,
    column_from_dict,
)

INCOME = column_from_dict(
    {"kind": "number", "name": "income", "from": 0, "to": 200_000, "steps": 64, "unit": "EUR"}
)
AMOUNT = column_from_dict(
    {
        "kind": "number",
        "name": "amount",
        "from": 1,
        "to": 1_000_000,
        "steps": 6,
        "scale": "log",
        "missing": "bucket",
    }
)
SCORE = column_from_dict({"kind": "number", "name": "score", "edges": [-1, "0.5", 3]})
GRADE = column_from_dict({"kind": "category", "name": "grade", "values": ["A", "B", "C", "D"]})
OWNER = column_from_dict(
    {
        "kind": "category",
        "name": "owner's home",
        "values": ["rent", "own"],
        "other": "refuse",
        "missing": "bucket",
    }
)
OPENED = column_from_dict(
    {
        "kind": "time",
        "name": "opened",
        "parts": ["month", "weekday", "hour"],
        "zone": "Europe/Berlin",
    }
)
CLOSED = column_from_dict(
    {"kind": "time", "name": "closed", "parts": ["day", "minute"], "missing": "bucket"}
)
CARD = column_from_dict({"kind": "id", "name": "card"})
ADDRESS = column_from_dict({"kind": "address", "name": "address"})
HOST = column_from_dict({"kind": "address", "name": "host", "bits": 32})

BUCKETED: tuple[Column, ...] = (INCOME, AMOUNT, SCORE, GRADE, OWNER, OPENED, CLOSED)
COLUMNS: tuple[Column, ...] = (*BUCKETED, CARD, ADDRESS, HOST)

_HALVES = st.integers(-8, 420_000).map(lambda number: number / 2)
_EDGES = st.sampled_from([float(edge) for c in (INCOME, AMOUNT, SCORE) for edge in c.edges])  # type: ignore[attr-defined]


def cells_of(column: Column) -> st.SearchStrategy[Any]:
    """Values that a column takes, None where it takes what is missing."""
    if isinstance(column, NumberColumn):
        found: st.SearchStrategy[Any] = st.one_of(_HALVES, _EDGES)
    elif isinstance(column, CategoryColumn):
        others = ["Z", "a'b", "other"] if column.other == "bucket" else []
        found = st.sampled_from([*column.values, *others])
    elif isinstance(column, TimeColumn):
        found = st.datetimes(datetime.datetime(1969, 1, 1), datetime.datetime(2040, 1, 1)).map(
            lambda time: time.replace(microsecond=0)
        )
    elif isinstance(column, IdColumn):
        found = st.one_of(st.integers(0, 10**12), st.text("abcä-", min_size=1, max_size=5))
    else:
        assert isinstance(column, AddressColumn)
        found = st.ip_addresses(v=4 if column.bits == 32 else None).map(str)
    takes_missing = getattr(column, "missing", "refuse") == "bucket"
    return st.one_of(found, st.none()) if takes_missing else found


def true_in_sqlite(expression: str, column: str, cell: Any) -> bool:
    """Whether an expression over one column is true where the column has this value."""
    name = column.replace('"', '""')
    with closing(sqlite3.connect(":memory:")) as base:
        found = base.execute(f'SELECT {expression} FROM (SELECT ? AS "{name}")', (cell,))  # noqa: S608
        return bool(found.fetchone()[0])


def numbers_by_hand(column: Column, cell: Any) -> list[int]:
    """The numbers of a row for one cell, worked out one by one as the documentation says."""
    for kind, by_hand in _BY_HAND.items():
        if isinstance(column, kind):
            return by_hand(column, cell)
    raise AssertionError(column)


def _number(column: NumberColumn, cell: Any) -> list[int]:
    first = int(column.missing == "bucket")
    if cell is None:
        return [0]
    return [first + sum(Decimal(cell) >= Decimal(float(edge)) for edge in column.edges)]


def _category(column: CategoryColumn, cell: Any) -> list[int]:
    first = int(column.missing == "bucket")
    if cell is None:
        return [0]
    return [first + ([*column.values, cell].index(cell))]


def _time(column: TimeColumn, cell: datetime.datetime | None) -> list[int]:
    first = int(column.missing == "bucket")
    if cell is None:
        return [0] * len(column.parts)
    if cell.tzinfo is not None:
        cell = cell.astimezone(ZoneInfo(column.zone))
    numbers = {
        "month": cell.month - 1,
        "day": cell.day - 1,
        "weekday": cell.weekday(),
        "hour": cell.hour,
        "minute": cell.minute,
    }
    assert set(numbers) == set(PARTS)
    return [first + numbers[part] for part in column.parts]


def _words(number: int, count: int) -> list[int]:
    return [(number >> (16 * place)) & 0xFFFF for place in reversed(range(count))]


def _id(column: IdColumn, cell: Any) -> list[int]:
    digest = hashlib.sha256(str(cell).encode()).hexdigest()
    return _words(int(digest, 16) >> (256 - column.bits), column.words)


def _address(column: AddressColumn, cell: str) -> list[int]:
    address = ip_address(cell)
    mapped = 0xFFFF << 32 if address.version == 4 and column.bits == 128 else 0
    return _words(int(address) | mapped, column.words)


_BY_HAND: dict[type[Column], Callable[..., list[int]]] = {
    NumberColumn: _number,
    CategoryColumn: _category,
    TimeColumn: _time,
    IdColumn: _id,
    AddressColumn: _address,
}
