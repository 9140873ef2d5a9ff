"""How rules write their numbers: in maps, and as expressions of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from littled_protocol.columns import smallest_point_type
from littled_protocol.rules.base import RuleError, shifted

# Numbers of more bits are written as hexadecimal text: JSON readers keep 53 bits, msgpack 64.
_NUMBER_BITS_MAX: Final = 32
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]*")
_WIDE_DIGITS: Final = 32
_NO_OFFSET: Final = "points of type u128 have no offset"

# --- In maps --------------------------------------------------------------------------------------


def integer(value: object, least: int, greatest: int, name: str) -> None:
    """Raise RuleError unless `value` is an integer, no boolean, of this range."""
    if type(value) is not int or not least <= value <= greatest:
        raise RuleError(f"{name} needs an integer from {least} to {greatest}")


def hexadecimal(value: object, name: str) -> None:
    """Raise RuleError unless `value` is a text of small hexadecimal digits."""
    if not isinstance(value, str) or not _HEXADECIMAL.fullmatch(value):
        raise RuleError(f"{name} needs small hexadecimal digits")


def index_type(size: int) -> str:
    """Return u8, u16 or u32: the smallest type for the points 0..size-1."""
    return smallest_point_type(max(1, (size - 1).bit_length()))


def number_to_wire(number: int, bits: int, digits_bits: int) -> int | str:
    """Return a number as it is, or as hexadecimal text of fixed length when `bits` are many."""
    if bits <= _NUMBER_BITS_MAX:
        return number
    return f"{number:0{max(1, (digits_bits + 3) // 4)}x}"


def number_from_wire(value: object, bits: int, digits_bits: int) -> int:
    """Return the number that `_number_to_wire` wrote; RuleError for any other form."""
    if bits <= _NUMBER_BITS_MAX:
        integer(value, 0, 2**digits_bits - 1, "a number of the rule")
        assert isinstance(value, int)
        return value
    digits = max(1, (digits_bits + 3) // 4)
    if not isinstance(value, str) or len(value) != digits or not _HEXADECIMAL.fullmatch(value):
        raise RuleError(f"a number of the rule needs {digits} small hexadecimal digits")
    return int(value, 16)


# --- In SQL ---------------------------------------------------------------------------------------


def identifier(column: str) -> str:
    """Return a column's name quoted for SQL; RuleError for a name that SQL cannot quote."""
    if not column or not column.isprintable():
        raise RuleError("a column's name needs printable characters")
    return '"' + column.replace('"', '""') + '"'


def is_known(column: str) -> str:
    """Return that a column holds something: NULL is no point, and has no label."""
    return f"{identifier(column)} IS NOT NULL"


def sql_always(column: str) -> str:
    """Return what is true of every point."""
    return f"({is_known(column)})"


def literal(point: int, x_type: str, offset: int) -> str:
    """Return a point as a literal of SQL."""
    if x_type != "u128":
        return str(point + offset)
    if offset:
        raise RuleError(_NO_OFFSET)
    return f"'{point:032x}'"


def sql_sum(terms: Sequence[str]) -> str:
    """Return the sum of the terms, nested like a balanced tree: engines limit the depth."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({sql_sum(terms[:half])} + {sql_sum(terms[half:])})"


def sql_any(conditions: Sequence[str]) -> str:
    """Return that one of the conditions holds, nested like a balanced tree, as `sql_sum` is."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    first, last = (sql_any(part) for part in (conditions[:half], conditions[half:]))
    return f"{_grouped(first, half)} OR {_grouped(last, len(conditions) - half)}"


def _grouped(condition: str, count: int) -> str:
    return f"({condition})" if count > 1 else condition


def fixed_bits(column: str, bits: int, mask: int, value: int, offset: int) -> list[str]:
    """Return conditions that all hold exactly when the bits of a point at `mask` are `value`.

    There is one for each run of neighbouring bits: the remainder by the power of two above the run
    lies between two bounds. Points of type u128 are compared digit by digit.
    """
    if _is_wide(bits, offset):
        return _fixed_digits(column, mask, value)
    conditions = []
    for low, high in _runs(mask):
        least = value & (2**high - 2**low)
        bounds = f"BETWEEN {least} AND {least + 2**low - 1}" if low else f"= {least}"
        conditions.append(f"{_remainder(column, bits, high, offset)} {bounds}")
    return conditions


def parity_terms(column: str, bits: int, mask: int, offset: int) -> list[str]:
    """Return numbers whose sum is odd exactly when a point has an odd number of bits of `mask`."""
    if _is_wide(bits, offset):
        conditions = [
            f"{digit} IN ({_digits(d for d in range(16) if (d & part).bit_count() % 2)})"
            for digit, _, part in _digit_parts(column, mask)
        ]
    else:
        conditions = [
            f"{_remainder(column, bits, bit + 1, offset)} >= {2**bit}"
            for bit in range(bits)
            if (mask >> bit) & 1
        ]
    return [f"CASE WHEN {condition} THEN 1 ELSE 0 END" for condition in conditions]


def _is_wide(bits: int, offset: int) -> bool:
    """Return whether points of `bits` bits are text; RuleError if they are and have an offset."""
    wide = smallest_point_type(bits) == "u128"
    if wide and offset:
        raise RuleError(_NO_OFFSET)
    return wide


def _runs(mask: int) -> list[tuple[int, int]]:
    """Return the runs of neighbouring ones in a mask: the lowest bit, and the one above."""
    edges = [bit for bit in range(mask.bit_length() + 1) if ((mask ^ (mask << 1)) >> bit) & 1]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _fixed_digits(column: str, mask: int, value: int) -> list[str]:
    """Return `fixed_bits` of text: digits that are fixed as a whole stand together."""
    whole = sum(15 << shift for _, shift, part in _digit_parts(column, mask) if part == 15)
    conditions = []
    for low, high in reversed(_runs(whole)):
        digits = (high - low) // 4
        text = f"{(value >> low) & (2 ** (high - low) - 1):0{digits}x}"
        start = _WIDE_DIGITS + 1 - high // 4
        conditions.append(f"SUBSTR({identifier(column)}, {start}, {digits}) = '{text}'")
    for digit, shift, part in _digit_parts(column, mask & ~whole):
        wanted = (value >> shift) & part
        conditions.append(f"{digit} IN ({_digits(d for d in range(16) if d & part == wanted)})")
    return conditions


def _remainder(column: str, bits: int, low_bits: int, offset: int) -> str:
    """Return the number that the lowest bits of a point make."""
    number = shifted(identifier(column), offset)
    return number if low_bits == bits else f"{number} % {2**low_bits}"


def _digit_parts(column: str, mask: int) -> list[tuple[str, int, int]]:
    """Return each digit that has bits of a mask: its expression, its lowest bit, its mask."""
    name = identifier(column)
    parts = [(place, 4 * (_WIDE_DIGITS - place)) for place in range(1, _WIDE_DIGITS + 1)]
    return [
        (f"SUBSTR({name}, {place}, 1)", shift, (mask >> shift) & 15)
        for place, shift in parts
        if (mask >> shift) & 15
    ]


def _digits(values: Iterable[int]) -> str:
    return ", ".join(f"'{value:x}'" for value in values)
