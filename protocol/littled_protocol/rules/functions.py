"""Rules as functions of a database, from values to whether the label is 1."""

from __future__ import annotations

from typing import Final, get_args

from littled_protocol.columns import point_type
from littled_protocol.encodings import AddressColumn, Column, Dialect, NumberColumn, TimeColumn
from littled_protocol.encodings.identities import IPV4_BITS
from littled_protocol.rules.base import Rule, RuleError, Words
from littled_protocol.rules.writing import identifier

DIALECTS: Final[tuple[Dialect, ...]] = get_args(Dialect)

_ARGUMENTS_MAX: Final = 100  # of a function in PostgreSQL, as it is built by default
_BIGINT_BITS: Final = 63


def sql_function(
    rule: Rule, words: Words, name: str, dialect: Dialect = "postgresql", column: str = "x"
) -> str:
    """Return the statement that makes a rule a function of this name, or puts it into its place.

    Its argument, named `column`, is the value that `words` are about, as in `Rule.to_sql`; rows of
    features have an argument `column`_i for each feature i. For NULL it says NULL or false.
    Where words have a reading the arguments are its columns.
    PostgreSQL takes bigint, numeric where values go beyond 63 bits, and text for u128 and for byte
    strings; DuckDB makes a macro, which takes what its expression takes. RuleError for SQLite,
    which has neither, for names that SQL cannot quote, and for more arguments than there may be.
    """
    expression = rule.to_sql(words, column, dialect)
    if dialect == "sqlite":
        raise RuleError("SQLite has no functions in SQL; use the expression itself")
    kind = _argument_type(rule, words)
    columns = {column: kind}
    if words.reading is not None:
        columns = {one.name: _column_type(one) for one in words.reading.columns}
    elif rule.x_type.startswith("u16x"):
        columns = {f"{column}_{i}": kind for i in range(point_type(rule.x_type).columns)}
    if dialect == "duckdb":
        arguments = ", ".join(map(identifier, columns))
        return f"CREATE OR REPLACE MACRO {identifier(name)}({arguments}) AS {expression};"
    if len(columns) > _ARGUMENTS_MAX:
        raise RuleError(
            f"a function of PostgreSQL has at most {_ARGUMENTS_MAX} arguments, not {len(columns)}; "
            "use the expression itself"
        )
    arguments = ", ".join(f"{identifier(name)} {kind}" for name, kind in columns.items())
    return (
        f"CREATE OR REPLACE FUNCTION {identifier(name)}({arguments}) RETURNS boolean "
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {expression};"
    )


def _column_type(column: Column) -> str:
    """Return the type of PostgreSQL that an argument for a column of a table has."""
    if isinstance(column, NumberColumn):
        return "double precision"
    if isinstance(column, TimeColumn):
        return "timestamp"
    is_number = isinstance(column, AddressColumn) and column.bits == IPV4_BITS
    return "bigint" if is_number else "text"


def _argument_type(rule: Rule, words: Words) -> str:
    """Return the type of PostgreSQL that holds every value, and every number of the expression."""
    if rule.x_type == "u128" or rule.x_type.startswith("bytes"):
        return "text"
    values = (words.offset, words.offset + point_type(rule.x_type).greatest)
    return "bigint" if all(-(2**_BIGINT_BITS) <= v < 2**_BIGINT_BITS for v in values) else "numeric"
