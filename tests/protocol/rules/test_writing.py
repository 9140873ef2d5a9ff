"""Numbers in maps and in SQL, the latter as SQLite reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_protocol.rules import (
    PointsRule,
    PrefixRule,
    RuleError,
    StumpRule,
    ThresholdRule,
    Words,
)
from littled_protocol.rules.writing import (
    fixed_bits,
    hexadecimal,
    index_type,
    integer,
    number_from_wire,
    number_to_wire,
    parity_terms,
    sql_sum,
)


def sqlite_says(expression: str, bits: int, points: list[int], offset: int = 0) -> list[int]:
    """The values of an expression over a column x."""
    wide = bits > 64
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (number INTEGER, x)")
        values = [f"{point:032x}" if wide else point + offset for point in points]
        database.executemany("INSERT INTO t VALUES (?, ?)", enumerate(values))
        rows = database.execute(f"SELECT {expression} FROM t ORDER BY number").fetchall()  # noqa: S608
    return [int(value) for (value,) in rows]


@given(st.integers(1, 128), st.data())
def test_numbers_have_one_form(bits: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 2**bits - 1))
    written = number_to_wire(number, bits, bits)
    assert number_from_wire(written, bits, bits) == number
    assert isinstance(written, int if bits <= 32 else str)
    if isinstance(written, str):
        assert len(written) == (bits + 3) // 4
        for other in (number, "0" + written, written[1:], "g" + written[1:], written.upper() + " "):
            with pytest.raises(RuleError, match="small hexadecimal digits"):
                number_from_wire(other, bits, bits)
    else:
        others: list[Any] = [str(number), float(number), 2**bits, -1, None]
        for other in others:
            with pytest.raises(RuleError, match="needs an integer"):
                number_from_wire(other, bits, bits)


def test_integers_and_digits_are_checked() -> None:
    integer(3, 3, 3, "n")
    hexadecimal("", "digest")
    for wrong in (2, 4, True, 3.0, "3", None):
        with pytest.raises(RuleError, match="n needs an integer from 3 to 3"):
            integer(wrong, 3, 3, "n")
    for text in ("A", "g", 1, None, "0\n"):
        with pytest.raises(RuleError, match="digest needs small hexadecimal digits"):
            hexadecimal(text, "digest")


@pytest.mark.parametrize(
    ("size", "name"), [(1, "u8"), (256, "u8"), (257, "u16"), (65536, "u16"), (65537, "u32")]
)
def test_the_smallest_type_of_an_index(size: int, name: str) -> None:
    assert index_type(size) == name


def test_names_of_columns_cannot_end_the_expression() -> None:
    assert ThresholdRule(4, 1).to_sql(Words(), 'x" OR 1=1 --') == '("x"" OR 1=1 --" >= 1)'
    for name in ("", "a\nb", "a\x00"):
        for rule in (ThresholdRule(4, 1), StumpRule(2, 4, 1, 1, True)):
            with pytest.raises(RuleError, match="a column's name"):
                rule.to_sql(Words(), name)


def test_wide_points_have_no_offset_in_sql() -> None:
    for rule in (PointsRule(128, (1,)), PrefixRule(128, 1, 1)):
        with pytest.raises(RuleError, match="u128 have no offset"):
            rule._sql("x", 1)
        assert rule.to_sql(Words(offset=1)) == rule.to_sql(Words())
    ways: list[Callable[[], object]] = [
        lambda: fixed_bits("x", 65, 1, 1, 1),
        lambda: parity_terms("x", 128, 1, -1),
    ]
    for write in ways:
        with pytest.raises(RuleError, match="u128 have no offset"):
            write()


def test_sums_are_nested_like_a_balanced_tree() -> None:
    assert sql_sum(["1"]) == "1"
    assert sql_sum(["1", "2", "3"]) == "(1 + (2 + 3))"
    assert sqlite_says(sql_sum(["1"] * 1024), 8, [0]) == [1024]


@given(st.sampled_from([1, 7, 8, 33, 62, 65, 128]), st.integers(-99, 99), st.data())
def test_sqlite_finds_fixed_bits_and_parities(bits: int, offset: int, data: st.DataObject) -> None:
    numbers = st.integers(0, 2**bits - 1)
    mask, value = data.draw(numbers), data.draw(numbers)
    points = [*data.draw(st.lists(numbers, max_size=8)), value, value ^ mask, value & mask]
    shift = 0 if bits > 64 else offset
    conditions = fixed_bits("x", bits, mask, value & mask, shift)
    found = sqlite_says(" AND ".join([*conditions, "1 = 1"]), bits, points, shift)
    assert found == [int(point & mask == value & mask) for point in points]
    terms = parity_terms("x", bits, mask, shift)
    parities = sqlite_says(f"{sql_sum([*terms, '0'])} % 2", bits, points, shift)
    assert parities == [(point & mask).bit_count() % 2 for point in points]


def test_runs_of_bits_and_whole_digits_are_compared_at_once() -> None:
    assert fixed_bits("x", 8, 0b0110_0111, 0b0100_0101, 0) == [
        '"x" % 8 = 5',
        '"x" % 128 BETWEEN 64 AND 95',
    ]
    assert fixed_bits("x", 8, 0b1000_0000, 0, 3) == ['("x" - 3) BETWEEN 0 AND 127']
    assert fixed_bits("x", 128, (2**16 - 1) << 112 | 0b1001, 0xAB << 120 | 1, 0) == [
        "SUBSTR(\"x\", 1, 4) = 'ab00'",
        "SUBSTR(\"x\", 32, 1) IN ('1', '3', '5', '7')",
    ]
    assert fixed_bits("x", 8, 0, 0, 0) == []
