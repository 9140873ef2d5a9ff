"""Thresholds over numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points
from littled_protocol.rules.base import ALWAYS, NEVER, SQL_NEVER, Rule, Words
from littled_protocol.rules.fields import ThresholdFields
from littled_protocol.rules.writing import identifier, index_type, integer, sql_always


@dataclass(frozen=True, slots=True)
class ThresholdRule(Rule):
    """1 iff x >= threshold, for points 0..size-1 and a threshold of 0..size; size says never."""

    kind: ClassVar[str] = "threshold"
    size: int
    threshold: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.size, 1, 2**32, "size")
        integer(self.threshold, 0, self.size, "threshold")

    @property
    def x_type(self) -> str:
        """u8, u16 or u32, whichever holds size - 1."""
        return index_type(self.size)

    def _condition(self, words: Words) -> str:
        """Return for example "x >= 3"."""
        if self.threshold in (0, self.size):
            return NEVER if self.threshold else ALWAYS
        return f"{words.x_name} >= {words.value(self.threshold)}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a comparison."""
        if self.threshold in (0, self.size):
            return SQL_NEVER if self.threshold else sql_always(column)
        return f"({identifier(column)} >= {self.threshold + offset})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.threshold == self.size:
            return np.zeros(len(points), dtype=np.bool_)
        return points >= self.threshold

    def _fields(self) -> ThresholdFields:
        return {"kind": "threshold", "size": self.size, "threshold": self.threshold}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls(size=fields["size"], threshold=fields["threshold"])
