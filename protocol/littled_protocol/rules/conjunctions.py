"""Conjunctions: some bits are 1 and some are 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.encodings import Reading
from littled_protocol.rules.base import (
    ALWAYS,
    LISTED_MAX,
    NEVER,
    SQL_NEVER,
    Parts,
    Rule,
    RuleError,
    Words,
    flagged_parts,
    listed,
    masked_equal,
)
from littled_protocol.rules.fields import ConjunctionFields
from littled_protocol.rules.writing import (
    fixed_bits,
    integer,
    number_from_wire,
    number_to_wire,
    sql_always,
)


@dataclass(frozen=True, slots=True)
class ConjunctionRule(Rule):
    """1 iff all bits of `ones` are 1 in x and all bits of `zeros` are 0, of `bits` bits.

    Bit 0 is the lowest. No bit is in both masks, except for the one form of the rule that is always
    0: all bits in both.
    """

    kind: ClassVar[str] = "conjunction"
    bits: int
    ones: int
    zeros: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        integer(self.ones, 0, 2**self.bits - 1, "ones")
        integer(self.zeros, 0, 2**self.bits - 1, "zeros")
        if self.ones & self.zeros and not self._is_never:
            raise RuleError("a bit needs to be in one of ones and zeros, or all bits in both")

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    def _condition(self, words: Words) -> str:
        """Return for example "bits 0 and 3 of x are 1 and bit 5 of x is 0"."""
        if self._is_never:
            return NEVER
        name = words.number(self.x_type)
        return said_bits(self.ones | self.zeros, self.ones, name) or ALWAYS

    def _sql(self, column: str, offset: int) -> str:
        """Return bounds of remainders, or lists of digits, joined by AND."""
        if self._is_never:
            return SQL_NEVER
        fixed = fixed_bits(column, self.bits, self.ones | self.zeros, self.ones, offset)
        return f"({' AND '.join(fixed)})" if fixed else sql_always(column)

    def _parts(self, reading: Reading) -> Parts | None:
        if reading.form != "bits":
            return Rule._parts(self, reading)
        return flagged_parts(reading, self.ones, self.zeros)

    @property
    def _is_never(self) -> bool:
        return (self.ones, self.zeros) == (2**self.bits - 1,) * 2

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self._is_never:
            return np.zeros(len(points), dtype=np.bool_)
        return masked_equal(points, self.ones | self.zeros, self.ones)

    def _fields(self) -> ConjunctionFields:
        ones, zeros = (number_to_wire(n, self.bits, self.bits) for n in (self.ones, self.zeros))
        return {"kind": "conjunction", "bits": self.bits, "ones": ones, "zeros": zeros}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits = fields["bits"]
        integer(bits, 1, 128, "bits")
        ones, zeros = (number_from_wire(fields[name], bits, bits) for name in ("ones", "zeros"))
        return cls(bits, ones, zeros)


def said_bits(mask: int, value: int, name: str) -> str:
    """Return that a point has the bits `value` at the bits of `mask`, "" for an empty mask."""
    clauses = []
    for bit, part in ((1, mask & value), (0, mask & ~value)):
        if part:
            verb = "is" if part.bit_count() == 1 else "are"
            clauses.append(f"{named_bits(part, name)} {verb} {bit}")
    return " and ".join(clauses)


def named_bits(mask: int, name: str) -> str:
    """Return the bits of a mask by their places: "bits 0 and 3 of x"; only some of very many."""
    places = [str(place) for place in range(mask.bit_length()) if (mask >> place) & 1]
    if len(places) > LISTED_MAX:
        return f"{len(places)} bits of {name} ({', '.join(places[:LISTED_MAX])}, ...)"
    return f"bit{'s'[: len(places) - 1]} {listed(places, 'and')} of {name}"
