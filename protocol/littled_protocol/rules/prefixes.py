"""Prefixes of addresses: CIDR blocks."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.rules.base import (
    ALWAYS,
    NEVER,
    SQL_NEVER,
    Rule,
    RuleError,
    Words,
    masked_equal,
)
from littled_protocol.rules.fields import PrefixFields
from littled_protocol.rules.writing import (
    identifier,
    integer,
    literal,
    number_from_wire,
    number_to_wire,
    sql_always,
)

# The prefix ::ffff:0:0/96 under which 128-bit columns hold IPv4 addresses.
_IPV4_BITS: Final = 96
_IPV4_PREFIX: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class PrefixRule(Rule):
    """1 iff the first `length` of the `bits` bits of x are `value`.

    length: 0..bits, 0 says always 1; None (with value 0) says always 0. value: the integer of the
    first `length` bits.
    """

    kind: ClassVar[str] = "prefix"
    bits: int
    value: int
    length: int | None

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        if self.length is not None:
            integer(self.length, 0, self.bits, "length")
        integer(self.value, 0, 2 ** (self.length or 0) - 1, "value")

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest point with label 1, between which all have it; None: none."""
        if self.length is None:
            return None
        free = self.bits - self.length
        return self.value << free, (self.value << free) | (2**free - 1)

    def _condition(self, words: Words) -> str:
        """Return a CIDR block for 32 and 128 bits, else the range of points."""
        if self.bounds is None:
            return NEVER
        if self.length == 0:
            return ALWAYS
        least, greatest = self.bounds
        is_point = least == greatest and not self._is_block(words)
        return f"{words.x_name} {'is' if is_point else 'in'} {self.place(words)}"

    def place(self, words: Words) -> str:
        """Return where a point with label 1 is: a CIDR block, or "3" or "4..7".

        RuleError for the rule that is always 0.
        """
        if self.bounds is None or self._is_block(words):
            return self.block
        least, greatest = self.bounds
        shown = self._shown(least, words)
        return shown if least == greatest else f"{shown}..{self._shown(greatest, words)}"

    def _is_block(self, words: Words) -> bool:
        return self.bits == 128 or (self.bits == 32 and not words.offset)

    @property
    def block(self) -> str:
        """The CIDR block of a rule over 32 or 128 bits; IPv4 inside ::ffff:0:0/96.

        Raises RuleError for other widths and for the rule that is always 0.
        """
        if self.bounds is None or self.length is None or self.bits not in (32, 128):
            raise RuleError("only prefixes of 32 or 128 bits, and not the empty one, are blocks")
        least = self.bounds[0]
        if self.bits == 32:
            return str(IPv4Network((least, self.length)))
        if self.length >= _IPV4_BITS and least >> 32 == _IPV4_PREFIX:
            return str(IPv4Network((least & 0xFFFF_FFFF, self.length - _IPV4_BITS)))
        return str(IPv6Network((least, self.length)))

    def _sql(self, column: str, offset: int) -> str:
        """Return a comparison with both bounds."""
        if self.bounds is None or self.length == 0:
            return SQL_NEVER if self.bounds is None else sql_always(column)
        least, greatest = (literal(bound, self.x_type, offset) for bound in self.bounds)
        return f"({identifier(column)} BETWEEN {least} AND {greatest})"

    def _shown(self, point: int, words: Words) -> str:
        return words.value(point, self.x_type)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.bounds is None or self.length == 0:
            return np.full(len(points), self.length == 0)
        least, greatest = self.bounds
        if points.ndim == 1:
            # Below `least` the difference wraps around to more than the width of the range.
            wrapped: Points = points - points.dtype.type(least)
            return wrapped <= greatest - least
        return masked_equal(points, (2**128 - 1) ^ (greatest - least), least)

    def _fields(self) -> PrefixFields:
        value = number_to_wire(self.value, self.bits, self.length or 0)
        return {"kind": "prefix", "bits": self.bits, "value": value, "length": self.length}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, length = fields["bits"], fields["length"]
        integer(bits, 1, 128, "bits")
        if length is not None:
            integer(length, 0, bits, "length")
        return cls(bits, number_from_wire(fields["value"], bits, length or 0), length)
