"""Rows of public tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from littled_protocol import limits
from littled_protocol.columns import Labels, Points
from littled_protocol.encodings import Dialect, Reading
from littled_protocol.rules.base import SQL_NEVER, Rule, RuleError, Words
from littled_protocol.rules.fields import TableFields
from littled_protocol.rules.writing import hexadecimal, identifier, index_type, integer


@dataclass(frozen=True, slots=True)
class TableRule(Rule):
    """1 iff the bit of x is set in `values`; one row of a public table of rules.

    name: of the rule in its table. digest: hexadecimal fingerprint of the table. values: the bits
    of the points 0..size-1 as by numpy.packbits, the rest of the last byte zero.
    """

    kind: ClassVar[str] = "table"
    name: str
    digest: str
    values: bytes
    size: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.size, 1, limits.table_points_max, "size")
        if not isinstance(self.name, str) or not self.name.isprintable() or not self.name:
            raise RuleError("name needs a text of printable characters")
        if len(self.name.encode()) > limits.rule_name_bytes_max:
            raise RuleError(f"name needs at most {limits.rule_name_bytes_max} bytes")
        hexadecimal(self.digest, "digest")
        if not 1 <= len(self.digest) <= limits.digest_characters_max:
            raise RuleError(f"digest needs 1 to {limits.digest_characters_max} digits")
        if type(self.values) is not bytes or len(self.values) != (self.size + 7) // 8:
            raise RuleError("values needs one bit for each point, packed into bytes")
        if self.values[-1] & ((1 << (-self.size % 8)) - 1):
            raise RuleError("values needs zeros after the last point")

    @property
    def x_type(self) -> str:
        """u8, u16 or u32, whichever holds size - 1."""
        return index_type(self.size)

    def _condition(self, words: Words) -> str:
        """Return the name of the rule."""
        return f"rule {self.name} says so of {words.x_name}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a list of the points with label 1."""
        ones = np.flatnonzero(self._bits())
        if not len(ones):
            return SQL_NEVER
        listed = ", ".join(str(point + offset) for point in ones.tolist())
        return f"({identifier(column)} IN ({listed}))"

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        ones = np.flatnonzero(self._bits())
        if not len(ones):
            return SQL_NEVER
        return f"({reading.cell_sql(dialect)} IN ({', '.join(map(str, ones.tolist()))}))"

    def _bits(self) -> Labels:
        return np.unpackbits(np.frombuffer(self.values, dtype=np.uint8), count=self.size)

    def _labels(self, points: Points) -> Labels:
        bits = 8 * points.itemsize
        if bits > 16:
            # One more entry, 0, stands for every number beyond the table.
            lookup = np.append(self._bits(), np.uint8(0))
            return lookup[np.minimum(points, self.size)]
        lookup = np.zeros(1 << bits, dtype=np.uint8)
        lookup[: self.size] = self._bits()
        return lookup[points]

    def _fields(self) -> TableFields:
        return {
            "kind": "table",
            "name": self.name,
            "digest": self.digest,
            "size": self.size,
            "values": self.values.hex(),
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        hexadecimal(fields["values"], "values")
        if len(fields["values"]) % 2:
            raise RuleError("values needs whole bytes")
        values = bytes.fromhex(fields["values"])
        return cls(fields["name"], fields["digest"], values, fields["size"])
