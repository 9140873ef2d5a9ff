"""One byte string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points, text_of_bytes
from littled_protocol.encodings.base import sql_text
from littled_protocol.rules.base import NEVER, SQL_NEVER, Rule, RuleError, Words
from littled_protocol.rules.fields import StringFields
from littled_protocol.rules.writing import hexadecimal, identifier, integer


@dataclass(frozen=True, slots=True)
class StringRule(Rule):
    """1 iff x is `value`, for points of `size` bytes; None: always 0."""

    kind: ClassVar[str] = "string"
    size: int
    value: bytes | None

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.size, 2, limits.string_bytes_max, "size")
        if self.value is not None and (
            type(self.value) is not bytes or len(self.value) != self.size
        ):
            raise RuleError(f"value needs {self.size} bytes")

    @property
    def x_type(self) -> str:
        """The byte strings of this size."""
        return f"bytes{self.size}"

    def _condition(self, words: Words) -> str:
        """Return for example "domain is example.com"."""
        return NEVER if self.value is None else f"{words.x_name} is {text_of_bytes(self.value)}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a comparison with the text that `text_of_bytes` writes."""
        if self.value is None:
            return SQL_NEVER
        return f"({identifier(column)} = {sql_text(text_of_bytes(self.value))})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.value is None:
            return np.zeros(len(points), dtype=np.bool_)
        same: NDArray[np.bool_] = (points == np.frombuffer(self.value, dtype=np.uint8)).all(axis=1)
        return same

    def _fields(self) -> StringFields:
        value = None if self.value is None else self.value.hex()
        return {"kind": "string", "size": self.size, "value": value}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        size, value = fields["size"], fields["value"]
        integer(size, 2, limits.string_bytes_max, "size")
        if value is None:
            return cls(size, None)
        hexadecimal(value, "value")
        if len(value) != 2 * size:
            raise RuleError(f"value needs {2 * size} small hexadecimal digits")
        return cls(size, bytes.fromhex(value))
