"""Columns of categories: one of a list of words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.described import keys_of
from littled_protocol.encodings.base import (
    SIZE_MAX,
    Column,
    Dialect,
    EncodingError,
    Feature,
    Policy,
    known_keys,
    one_of,
    only,
    some_text,
    sql_any,
    sql_name,
    sql_text,
)
from littled_protocol.encodings.fields import CategoryFields
from littled_protocol.encodings.numbers import missing_policy

OTHER, MISSING = "other", "missing"
LISTED_MAX: Final = 8
# Numbers of so many digits are written without an exponent by whatever holds them as a float.
_WHOLE: Final = re.compile(r"(-?(?:0|[1-9][0-9]{0,14}))(?:\.0)?")


@dataclass(frozen=True, slots=True)
class CategoryColumn(Column):
    """One of `values`, texts in an order of their own, or something else.

    Buckets: what is missing, if `missing` is "bucket"; then each value; then everything else, if
    `other` is "bucket". What has no bucket is an error. Numbers and truth values are compared as
    text, however tables and databases write them: see `spellings`.
    """

    kind: ClassVar[str] = "category"

    values: tuple[str, ...]
    other: Policy = "bucket"
    missing: Policy = "refuse"

    def __post_init__(self) -> None:
        """Check that values differ and are enough (EncodingError)."""
        if len(set(self.values)) != len(self.values):
            raise EncodingError("values", "must be different")
        if not 2 <= self.features[0].size <= SIZE_MAX:
            raise EncodingError("values", f"must make 2 to {SIZE_MAX} buckets, others counted")

    @property
    def features(self) -> tuple[Feature, ...]:
        """One, whose buckets are the values."""
        return (CategoryFeature(self.name, self),)

    @property
    def spellings(self) -> Mapping[str, int]:
        """For each text that means one of the values the place of it in `values`, from 0."""
        return spellings(self.values)

    @property
    def words(self) -> int:
        """One number a value."""
        return 1

    def to_dict(self) -> CategoryFields:
        """Return the keys of a configuration."""
        values: CategoryFields = {
            "kind": "category",
            "name": self.name,
            "values": list(self.values),
        }
        if self.other != "bucket":
            values["other"] = self.other
        if self.missing != "refuse":
            values["missing"] = self.missing
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map; EncodingError for any other."""
        known_keys(values, keys_of(CategoryFields))
        listed = values.get("values")
        if not isinstance(listed, list | tuple) or not listed:
            raise EncodingError("values", "must be a list of texts, at least one")
        other = one_of(values.get("other", "bucket"), "other", ("bucket", "refuse"))
        return cls(
            name=some_text(values.get("name"), "name"),
            values=tuple(some_text(value, "values") for value in listed),
            other="refuse" if other == "refuse" else "bucket",
            missing=missing_policy(values),
        )


@dataclass(frozen=True, slots=True)
class CategoryFeature(Feature):
    """The values of a column, with what is missing before them and what is other behind."""

    column: CategoryColumn

    @property
    def size(self) -> int:
        """As many as there are values, and one each for what is missing and other."""
        return self.first + len(self.column.values) + (self.column.other == "bucket")

    @property
    def first(self) -> int:
        """The bucket of the first value."""
        return int(self.column.missing == "bucket")

    @property
    def flags(self) -> tuple[NDArray[np.bool_], ...]:
        """Whether the value is each of those that are listed; one question if two are possible."""
        if self.size == 2:
            return (only(2, self.first),)
        listed = range(self.first + len(self.column.values))
        return tuple(only(self.size, bucket) for bucket in listed)

    def condition(self, buckets: NDArray[np.bool_]) -> str:
        """Return for example "grade is C, D or other", or "grade is not A"."""
        inside, outside = self._names(buckets), self._names(~buckets)
        if len(inside) > len(outside):
            return f"{self.name} is {_not(outside)}"
        return f"{self.name} is {_listed(inside)}"

    def to_sql(self, buckets: NDArray[np.bool_], dialect: Dialect) -> str:
        """Return comparisons of text; what is missing is NULL."""
        name = sql_name(self.column.name)
        as_text = f"CAST({name} AS TEXT)"
        inside = buckets[self.first : self.first + len(self.column.values)]
        texts = self.column.spellings.items()
        conditions = []
        if self.first and buckets[0]:
            conditions.append(f"{name} IS NULL")
        if self.column.other == "bucket" and buckets[-1]:
            others = [sql_text(text) for text, place in texts if not inside[place]]
            listed = f" AND {as_text} NOT IN ({', '.join(others)})" if others else ""
            conditions.append(f"({name} IS NOT NULL{listed})")
        elif inside.any():
            named = [sql_text(text) for text, place in texts if inside[place]]
            conditions.append(f"({name} IS NOT NULL AND {as_text} IN ({', '.join(named)}))")
        return sql_any(conditions)

    def _names(self, buckets: NDArray[np.bool_]) -> list[str]:
        names = [MISSING] * self.first + list(self.column.values)
        names += [OTHER] * (self.size - len(names))
        return [name for name, is_in in zip(names, buckets, strict=True) if is_in]


@lru_cache(maxsize=256)
def spellings(values: Sequence[str]) -> Mapping[str, int]:
    """Return for each text that means one of some words the place of it among them, from 0.

    Besides the words themselves: true and false as true, True and TRUE, and a whole number with and
    without ".0", where these are no words of their own. The same truth value or number is written
    in these ways by frames, by files that they are written to, and by databases.
    """
    found = {value: place for place, value in enumerate(values)}
    for place, value in enumerate(values):
        for other in _other_spellings(value):
            found.setdefault(other, place)
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: item[1])))


def _other_spellings(value: str) -> tuple[str, ...]:
    if value in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return value.lower(), value.capitalize(), value.upper()
    number = _WHOLE.fullmatch(value)
    return () if number is None else (number[1], f"{number[1]}.0")


def _not(names: list[str]) -> str:
    if len(names) == 1:
        return f"not {names[0]}"
    return f"none of {', '.join(names)}"


def _listed(names: list[str]) -> str:
    if len(names) > LISTED_MAX:
        return f"one of {len(names)}: {', '.join(names[:LISTED_MAX])}, ..."
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
