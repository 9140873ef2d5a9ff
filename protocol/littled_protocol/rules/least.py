"""Numbers from a least one on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.rules.base import ALWAYS, NEVER, SQL_NEVER, Rule, Words
from littled_protocol.rules.fields import AtLeastFields
from littled_protocol.rules.writing import (
    identifier,
    integer,
    literal,
    number_from_wire,
    number_to_wire,
    sql_always,
)


@dataclass(frozen=True, slots=True)
class AtLeastRule(Rule):
    """1 iff x >= least, for points of `bits` bits; None: always 0."""

    kind: ClassVar[str] = "at_least"
    bits: int
    least: int | None

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        if self.least is not None:
            integer(self.least, 0, 2**self.bits - 1, "least")

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    def _condition(self, words: Words) -> str:
        """Return for example "x >= 3"."""
        if not self.least:
            return NEVER if self.least is None else ALWAYS
        return f"{words.x_name} >= {words.value(self.least, self.x_type)}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a comparison."""
        if not self.least:
            return SQL_NEVER if self.least is None else sql_always(column)
        return f"({identifier(column)} >= {literal(self.least, self.x_type, offset)})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.least is None:
            return np.zeros(len(points), dtype=np.bool_)
        if points.ndim == 1:
            beyond: NDArray[np.bool_] = points >= self.least
            return beyond
        high, low = np.uint64(self.least >> 64), np.uint64(self.least & (2**64 - 1))
        beyond = points[:, 0] > high
        beyond |= (points[:, 0] == high) & (points[:, 1] >= low)
        return beyond

    def _fields(self) -> AtLeastFields:
        least = None if self.least is None else number_to_wire(self.least, self.bits, self.bits)
        return {"kind": "at_least", "bits": self.bits, "least": least}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, least = fields["bits"], fields["least"]
        integer(bits, 1, 128, "bits")
        return cls(bits, None if least is None else number_from_wire(least, bits, bits))
