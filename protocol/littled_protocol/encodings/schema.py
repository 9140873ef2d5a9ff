"""The columns of a stream's tables: those that are learned from, labels, and users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from littled_protocol import limits
from littled_protocol.columns import Points, point_type, smallest_point_type
from littled_protocol.described import keys_of
from littled_protocol.encodings.base import Column, EncodingError, known_keys, some_text
from littled_protocol.encodings.fields import ColumnFields, SchemaFields
from littled_protocol.encodings.identities import WORD_BITS
from littled_protocol.encodings.reading import as_rows, column_from_dict
from littled_protocol.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class TableSchema:
    """What a stream takes of a table. Public; EncodingError for columns that cannot be together.

    columns: in the order of a row. label: name of the column with the labels. positive, negative:
    its words for 1 and 0; 1, 0, true and false are labels besides. user: name of the column with
    the users, where the stream protects users and the column is known.
    """

    columns: tuple[Column, ...]
    label: str
    positive: str = "1"
    negative: str = "0"
    user: str | None = None

    def __post_init__(self) -> None:
        """Check that names differ, and that a row is not too long (EncodingError)."""
        names = [*self.names, self.label, *([] if self.user is None else [self.user])]
        if not self.columns or len(set(names)) != len(names):
            raise EncodingError("columns", "must be different from each other and from the label")
        if self.positive == self.negative:
            raise EncodingError("label", "must name the labels 1 and 0 differently")
        try:
            point_type(self.x_type)
        except ProtocolError:
            most = limits.row_features_max
            raise EncodingError("columns", f"are too many for one row of {most} numbers") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are learned from."""
        return tuple(column.name for column in self.columns)

    @property
    def x_type(self) -> str:
        """The type of the stream's points: rows of uint16, or one number."""
        width = sum(column.words for column in self.columns)
        if width > 1:
            return f"u16x{width}"
        features = self.columns[0].features
        bits = (features[0].size - 1).bit_length() if features else WORD_BITS
        return smallest_point_type(bits)

    def contains(self, points: Points) -> bool:
        """Return whether every number of these points of the stream is one of its column's."""
        return bool((as_rows(points) <= np.array(self._greatest, dtype=np.uint16)).all())

    @property
    def _greatest(self) -> list[int]:
        """The greatest number in each place of a row."""
        greatest: list[int] = []
        for column in self.columns:
            sizes = [feature.size - 1 for feature in column.features]
            greatest += sizes or [2**WORD_BITS - 1] * column.words
        return greatest

    def to_dict(self) -> SchemaFields:
        """Return the map from which `from_dict` makes it."""
        columns = cast("list[ColumnFields]", [column.to_dict() for column in self.columns])
        values: SchemaFields = {
            "columns": columns,
            "label": self.label,
            "positive": self.positive,
            "negative": self.negative,
        }
        if self.user is not None:
            values["user"] = self.user
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the schema of a map; EncodingError for any other."""
        known_keys(values, keys_of(SchemaFields))
        columns = values.get("columns")
        if not isinstance(columns, list):
            raise EncodingError("columns", "must be a list of columns")
        user = values.get("user")
        return cls(
            tuple(column_from_dict(column) for column in columns),
            some_text(values.get("label"), "label"),
            some_text(values.get("positive", "1"), "positive"),
            some_text(values.get("negative", "0"), "negative"),
            None if user is None else some_text(user, "user"),
        )


def chosen_columns(schema: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of these names, in the order of the names; EncodingError for no column."""
    known = {column.name: column for column in schema}
    for name in names:
        if name not in known:
            raise EncodingError("columns", f"must be among {', '.join(known)}")
    return tuple(known[name] for name in names)
