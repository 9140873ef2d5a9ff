"""Columns of times: their hour, their day of the week, their month."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from littled_protocol.described import keys_of
from littled_protocol.encodings.base import (
    Column,
    Dialect,
    EncodingError,
    Feature,
    Policy,
    known_keys,
    only,
    runs,
    some_text,
    sql_any,
    sql_name,
)
from littled_protocol.encodings.fields import Part, TimeFields
from littled_protocol.encodings.numbers import missing_policy

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip

PARTS: Final[dict[str, tuple[str, ...]]] = {
    "month": _MONTHS,
    "day": tuple(str(day) for day in range(1, 32)),
    "weekday": _WEEKDAYS,
    "hour": tuple(str(hour) for hour in range(24)),
    "minute": tuple(str(minute) for minute in range(60)),
}
"""The parts of a time, and the name of each of their buckets in order."""

# The number that SQL gives for the first bucket of a part.
_SQL_FIRST: Final = {"month": 1, "day": 1, "weekday": 1, "hour": 0, "minute": 0}
_SQLITE_FORMATS: Final = {"month": "%m", "day": "%d", "weekday": "%w", "hour": "%H", "minute": "%M"}


@dataclass(frozen=True, slots=True)
class TimeColumn(Column):
    """Points in time, of which some parts are read, each a feature of its own.

    parts: of "month", "day" (of the month), "weekday", "hour", "minute". zone: in which time zone
    parts are meant, as "Europe/Berlin"; a time that is written without a zone is in it.
    missing: with "bucket" what is missing is in bucket 0 of each part.
    """

    kind: ClassVar[str] = "time"

    parts: tuple[str, ...]
    zone: str = "UTC"
    missing: Policy = "refuse"

    def __post_init__(self) -> None:
        """Check the parts and the zone (EncodingError)."""
        if len(set(self.parts)) != len(self.parts) or not set(self.parts) <= set(PARTS):
            raise EncodingError("parts", f"must be different words of {', '.join(PARTS)}")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise EncodingError("zone", "must be a time zone such as Europe/Berlin") from None

    @property
    def features(self) -> tuple[Feature, ...]:
        """One for each part, in their order."""
        return tuple(TimeFeature(f"{part} of {self.name}", self, part) for part in self.parts)

    @property
    def words(self) -> int:
        """One number for each part."""
        return len(self.parts)

    def to_dict(self) -> TimeFields:
        """Return the keys of a configuration."""
        values: TimeFields = {
            "kind": "time",
            "name": self.name,
            "parts": cast("list[Part]", list(self.parts)),
        }
        if self.zone != "UTC":
            values["zone"] = self.zone
        if self.missing != "refuse":
            values["missing"] = self.missing
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map; EncodingError for any other."""
        known_keys(values, keys_of(TimeFields))
        parts = values.get("parts")
        if not isinstance(parts, list | tuple) or not parts:
            raise EncodingError("parts", "must be a list of texts, at least one")
        return cls(
            name=some_text(values.get("name"), "name"),
            parts=tuple(some_text(part, "parts") for part in parts),
            zone=some_text(values.get("zone", "UTC"), "zone"),
            missing=missing_policy(values),
        )


@dataclass(frozen=True, slots=True)
class TimeFeature(Feature):
    """One part of a time; before its buckets, where the column has one, what is missing."""

    column: TimeColumn
    part: str

    @property
    def size(self) -> int:
        """As many as the part has names, and one for what is missing."""
        return len(PARTS[self.part]) + self.first

    @property
    def first(self) -> int:
        """The bucket of the part's first name."""
        return int(self.column.missing == "bucket")

    @property
    def flags(self) -> tuple[NDArray[np.bool_], ...]:
        """Whether it is each of the names."""
        return tuple(only(self.size, bucket) for bucket in range(self.size))

    def condition(self, buckets: NDArray[np.bool_]) -> str:
        """Return for example "month of opened is January or June to August"."""
        names = ("missing",) * self.first + PARTS[self.part]
        said = []
        for low, high in runs(buckets):
            if low < self.first:
                said.append(names[0])
            start = max(low, self.first)
            if high - start == 1:
                said.append(names[start])
            elif high > start:
                said.append(f"{names[start]} to {names[high - 1]}")
        listed = " or ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said)
        return f"{self.name} is {listed}"

    def to_sql(self, buckets: NDArray[np.bool_], dialect: Dialect) -> str:
        """Return comparisons of the part; the column holds local times of the zone."""
        name, conditions = sql_name(self.column.name), []
        number = _SQL_PARTS[dialect](name, self.part)
        shift = _SQL_FIRST[self.part] - self.first
        for low, high in runs(buckets):
            if low < self.first:
                conditions.append(f"{name} IS NULL")
            start = max(low, self.first)
            if high > start:
                least, greatest = start + shift, high - 1 + shift
                one = least == greatest
                conditions.append(
                    f"{number} = {least}" if one else f"{number} BETWEEN {least} AND {greatest}"
                )
        return sql_any(conditions)


def _extracted(name: str, part: str) -> str:
    return f"EXTRACT({'isodow' if part == 'weekday' else part} FROM {name})"


def _formatted(name: str, part: str) -> str:
    number = f"CAST(strftime('{_SQLITE_FORMATS[part]}', {name}) AS INTEGER)"
    return f"(({number} + 6) % 7 + 1)" if part == "weekday" else number


_SQL_PARTS: Final[dict[Dialect, Callable[[str, str], str]]] = {
    "sqlite": _formatted,
    "duckdb": _extracted,
    "postgresql": _extracted,
}
