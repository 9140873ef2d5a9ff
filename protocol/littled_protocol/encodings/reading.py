"""Which numbers of a row a learner reads, and the points that they make for its class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points, point_type, smallest_point_type
from littled_protocol.described import keys_of
from littled_protocol.encodings.base import (
    Column,
    Dialect,
    EncodingError,
    Feature,
    known_keys,
    only,
)
from littled_protocol.encodings.categories import CategoryColumn
from littled_protocol.encodings.fields import ColumnFields, ReadingFields
from littled_protocol.encodings.identities import WORD_BITS, AddressColumn, IdColumn, WideColumn
from littled_protocol.encodings.numbers import NumberColumn
from littled_protocol.encodings.times import TimeColumn

Form = Literal["value", "row", "bits", "cell", "number"]
"""What a point is: one bucket; a row of buckets; bits; the number of a cell; a wide number."""

Rows = NDArray[np.uint16]
BITS_MAX: Final = 128

_KINDS: Final[dict[str, type[Column]]] = {
    column.kind: column
    for column in (NumberColumn, CategoryColumn, TimeColumn, IdColumn, AddressColumn)
}


def column_from_dict(values: Mapping[str, Any]) -> Column:
    """Return the column of a map as `Column.to_dict` writes it; EncodingError for any other."""
    kind = values.get("kind") if isinstance(values, dict) else None
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        *first, last = (f'"{name}"' for name in _KINDS)
        raise EncodingError("kind", f"must be {', '.join(first)} or {last}")
    return found.from_dict({key: value for key, value in values.items() if key != "kind"})


@dataclass(frozen=True, slots=True)
class Reading:
    """The columns that a learner reads, in their order, and the form of its points.

    `value`: the bucket of the one feature. `row`: the buckets of all features, two or more.
    `bits`: the answers to the features' yes-or-no questions, the first in the lowest bit. `cell`:
    the buckets of all features as the digits of one number, the last feature's running fastest.
    `number`: the number of one id or address. EncodingError for columns without that form.
    """

    columns: tuple[Column, ...]
    form: Form

    def __post_init__(self) -> None:
        """Check that these columns have this form (EncodingError)."""
        names = [column.name for column in self.columns]
        if not names or len(set(names)) != len(names):
            raise EncodingError("columns", "must be different, at least one")
        if problem := self._problem():
            raise EncodingError("columns", problem)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of all columns, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def flags(self) -> tuple[tuple[Feature, NDArray[np.bool_]], ...]:
        """The questions that make the bits, the lowest first: a feature, and the buckets of yes."""
        return tuple((feature, flag) for feature in self.features for flag in feature.flags)

    @property
    def size(self) -> int:
        """Points of the forms `value` and `cell`; of a row, buckets of the largest feature."""
        sizes = [feature.size for feature in self.features]
        return max(sizes) if self.form == "row" else math.prod(sizes)

    @property
    def bits(self) -> int:
        """How many bits a point has, except for rows."""
        if self.form == "bits":
            return sum(len(feature.flags) for feature in self.features)
        if self.form == "number":
            return self._wide.bits
        return max(1, (self.size - 1).bit_length())

    @property
    def x_type(self) -> str:
        """The type of its points."""
        if self.form == "row":
            return f"u16x{len(self.features)}"
        return smallest_point_type(self.bits)

    def points(self, rows: Rows) -> Points:
        """Return the points of n rows (n, width): (n,), (n, 2) of 128 bits, or (n, features)."""
        if self.form == "row":
            return rows
        if self.form == "number":
            return _wide_points(rows, self.bits)
        if self.form == "bits":
            return self._packed(rows)
        points = np.zeros(len(rows), dtype=np.uint32)
        for place, feature in enumerate(self.features):
            points *= np.uint32(feature.size)
            points += _bucket(rows, place, feature)
        return points.astype(point_type(self.x_type).dtype)

    def view(self, stream: Sequence[Column]) -> Callable[[Points], Points]:
        """Return the function from points of a stream with these columns to points of this one."""
        places = places_of(self.columns, stream)
        width = sum(column.words for column in stream)
        if places == list(range(width)):
            return lambda points: self.points(as_rows(points))
        return lambda points: self.points(as_rows(points)[:, places])

    def cell_sql(self, dialect: Dialect) -> str:
        """Return the number of a row's cell as an expression of SQL, for the form `cell`."""
        number = ""
        for feature in self.features:
            cases = [
                f"WHEN {feature.to_sql(only(feature.size, bucket), dialect)} THEN {bucket}"
                for bucket in range(feature.size)
            ]
            bucket_sql = f"CASE {' '.join(cases)} END"
            number = f"({number} * {feature.size} + {bucket_sql})" if number else f"({bucket_sql})"
        return number

    def to_dict(self) -> ReadingFields:
        """Return the map from which `from_dict` makes it."""
        columns = cast("list[ColumnFields]", [column.to_dict() for column in self.columns])
        return {"form": self.form, "columns": columns}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the reading of a map; EncodingError for any other."""
        known_keys(values, keys_of(ReadingFields))
        columns = values.get("columns")
        forms: tuple[Form, ...] = get_args(Form)
        form = next((form for form in forms if form == values.get("form")), None)
        if form is None:
            raise EncodingError("form", f"must be one of {', '.join(forms)}")
        if not isinstance(columns, list):
            raise EncodingError("columns", "must be a list of columns")
        return cls(tuple(column_from_dict(column) for column in columns), form)

    @property
    def _wide(self) -> WideColumn:
        column = self.columns[0]
        assert isinstance(column, WideColumn)
        return column

    def _problem(self) -> str | None:
        """Return what is wrong with the columns for the form, None for nothing."""
        wide = [column.name for column in self.columns if not column.features]
        if self.form == "number":
            fits = bool(wide) and len(self.columns) == 1
            return None if fits else "must be one column of ids or addresses"
        if wide:
            return f"must be numbers, categories or times, which {wide[0]} is not"
        count, most = len(self.features), limits.row_features_max
        return {
            "value": "must be one number, one category or one part of a time" * (count != 1),
            "row": f"must have 2 to {most} features together" * (not 2 <= count <= most),
            "bits": self._too_many("bits", BITS_MAX),
            "cell": self._too_many("cells", limits.table_points_max),
        }[self.form] or None

    def _too_many(self, what: str, most: int) -> str:
        """Return that there are too many bits or cells, "" if there are not."""
        count = self.size if what == "cells" else sum(len(f.flags) for f in self.features)
        return f"must make at most {most:,} {what} together, not {count:,}" * (count > most)

    def _packed(self, rows: Rows) -> Points:
        """Return bits packed into points: each feature's flags are looked up by its bucket."""
        both = np.zeros((2, len(rows)), dtype=np.uint64)  # high and low 64 bits
        first = 0
        for place, feature in enumerate(self.features):
            masks = flag_masks(feature)
            for word, shift in ((0, 64), (1, 0)):
                part = [((mask << first) >> shift) & (2**64 - 1) for mask in masks]
                if any(part):
                    both[word] |= np.array(part, dtype=np.uint64)[_bucket(rows, place, feature)]
            first += len(feature.flags)
        if self.x_type == "u128":
            wide: Points = both.T.copy()
            return wide
        narrow: Points = both[1].astype(point_type(self.x_type).dtype)
        return narrow


def flag_masks(feature: Feature) -> list[int]:
    """Return for each bucket of a feature the answers to its questions, the first lowest."""
    masks = [0] * feature.size
    for bit, buckets in enumerate(feature.flags):
        for bucket in np.flatnonzero(buckets).tolist():
            masks[bucket] |= 1 << bit
    return masks


def as_rows(points: Points) -> Rows:
    """Return points of a stream as rows (n, width) of uint16."""
    if points.ndim == 2:
        return points
    return points.astype(np.uint16, copy=False).reshape(-1, 1)


def places_of(columns: Sequence[Column], stream: Sequence[Column]) -> list[int]:
    """Return the places in a row of the stream where the numbers of some of its columns stand."""
    starts, start = {}, 0
    for column in stream:
        starts[column.name] = start
        start += column.words
    return [starts[c.name] + word for c in columns for word in range(c.words)]


def _bucket(rows: Rows, place: int, feature: Feature) -> Rows:
    """Return the buckets (n,) of one feature; what no encoder wrote counts as the last of them."""
    buckets: Rows = np.minimum(rows[:, place], np.uint16(feature.size - 1))
    return buckets


def _wide_points(rows: Rows, bits: int) -> Points:
    """Return numbers of `bits` bits, in words of 16, the highest first, as points."""
    both = np.zeros((2, len(rows)), dtype=np.uint64)  # high and low 64 bits
    for word, places in enumerate((range(rows.shape[1] - 4), range(rows.shape[1])[-4:])):
        for place in places:
            both[word] = (both[word] << np.uint64(WORD_BITS)) | rows[:, place]
    kind = point_type(smallest_point_type(bits))
    if kind.name == "u128":
        both[0] &= np.uint64(2 ** (bits - 64) - 1)
        wide: Points = both.T.copy()
        return wide
    both[1] &= np.uint64(2**bits - 1)
    narrow: Points = both[1].astype(kind.dtype)
    return narrow
