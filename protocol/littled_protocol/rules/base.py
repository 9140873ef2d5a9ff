"""What every kind of published rule answers, the words of people for it, and its points."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Labels, Points, point_type
from littled_protocol.described import keys_of
from littled_protocol.encodings import (
    AddressColumn,
    Dialect,
    EncodingError,
    Feature,
    IdColumn,
    Reading,
    TableSchema,
    chosen_columns,
    flag_masks,
)
from littled_protocol.rules.explanations import Explanation
from littled_protocol.rules.fields import WordsFacts, WordsFields

ALWAYS, NEVER = "always", "never"
SQL_NEVER: Final = "(1 = 0)"
# How many points, bits or members a sentence lists before it only counts them.
LISTED_MAX: Final = 5
Parts = list[tuple[Feature, NDArray[np.bool_]]]
"""Features with the buckets (size,) in which each has to be."""

_IPV4_PREFIX: Final = 0xFFFF  # of the addresses ::ffff:0:0/96
_WORD: Final = 2**64 - 1
# Units of times since 1970, with the decimal digits of a second that they count.
_UNITS_OF_A_SECOND: Final = {"unix s": 0, "unix ms": 3, "unix us": 6, "unix ns": 9}
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999


class RuleError(ValueError):
    """A rule, a map of a rule, or points that cannot be; one sentence."""


@dataclass(frozen=True, slots=True)
class Words:
    """How people name the points and labels of a stream.

    x_name, unit: of a point, "departure delay" and "min". offset: added to a point before it is
    shown or compared in SQL, so that 0 stands for `offset`. The units "unix s", "unix ms",
    "unix us" and "unix ns" count from 1970 on: such points are shown as times of UTC. positive,
    negative: the labels 1 and 0.
    reading: the columns that points are made from, which then speak for themselves.
    """

    x_name: str = "x"
    unit: str = ""
    offset: int = 0
    positive: str = "1"
    negative: str = "0"
    reading: Reading | None = None

    def __post_init__(self) -> None:
        """Refuse words that would break a line (RuleError)."""
        for text in (self.x_name, self.unit, self.positive, self.negative):
            if not isinstance(text, str) or not text.isprintable():
                raise RuleError("words need texts of printable characters")
        if type(self.offset) is not int:
            raise RuleError("the offset of words needs an integer")

    def to_dict(self) -> WordsFields:
        """Return a map from which `from_dict` makes the words."""
        values: WordsFields = {
            "x_name": self.x_name,
            "unit": self.unit,
            "offset": self.offset,
            "positive": self.positive,
            "negative": self.negative,
        }
        if self.reading is not None:
            values["reading"] = self.reading.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the words of a map, in which defaults may be left out; RuleError for any other."""
        names = keys_of(WordsFields)
        if not isinstance(values, dict) or not values.keys() <= set(names):
            raise RuleError(f"words need a map with no keys but {', '.join(names)}")
        reading = values.get("reading")
        if reading is None:
            return cls(**values)
        try:
            return cls(**{**values, "reading": Reading.from_dict(reading)})
        except EncodingError as error:
            raise RuleError(f"words need a reading as they are written: {error}") from None

    def to_status(self) -> WordsFacts:
        """Return the map of a status, where the columns of a reading are only named.

        Their stream's schema has them; a frame may not nest deep enough to say them twice.
        """
        values: WordsFacts = {
            "x_name": self.x_name,
            "unit": self.unit,
            "offset": self.offset,
            "positive": self.positive,
            "negative": self.negative,
        }
        if self.reading is not None:
            values["form"], values["reads"] = self.reading.form, list(self.reading.names)
        return values

    @classmethod
    def from_status(cls, values: object, schema: TableSchema | None) -> Self:
        """Return the words that `to_status` wrote of a learner of a stream with this schema.

        RuleError or EncodingError for any other map.
        """
        if schema is None or not isinstance(values, dict) or "form" not in values:
            return cls.from_dict(values)
        plain = {key: value for key, value in values.items() if key not in ("form", "reads")}
        reads = values.get("reads")
        if not isinstance(reads, list):
            raise RuleError("words need a list of the columns that are read")
        columns = [one.to_dict() for one in chosen_columns(schema.columns, reads)]
        return cls.from_dict({**plain, "reading": {"form": values["form"], "columns": columns}})

    def label(self, label: int) -> str:
        """Return the word for a label, 0 or 1."""
        return self.positive if label else self.negative

    def value(self, point: int, x_type: str = "") -> str:
        """Return a point as people read it: an address, digits, or a number with its unit."""
        if self.reading is not None and isinstance(self.reading.columns[0], AddressColumn):
            return shown_address(point, self.reading.bits)
        if self.unit in _UNITS_OF_A_SECOND and (moment := self._moment(point)) is not None:
            return moment
        if x_type == "u128":
            return f"{point:032x}"
        return f"{point + self.offset}{' ' if self.unit else ''}{self.unit}"

    def _moment(self, point: int) -> str | None:
        """Return a point that counts from 1970 on as a time of UTC; None beyond the year 9999."""
        digits = _UNITS_OF_A_SECOND[self.unit]
        seconds, part = divmod(point + self.offset, 10**digits)
        if not 0 <= seconds <= _LAST_SECOND:
            return None
        days, second = divmod(seconds, 86_400)
        date = shown_date(days)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        return f"{date} {clock}{f'.{part:0{digits}}' if digits else ''} UTC"

    def x_type_of(self, stream: str) -> str:
        """Return the type of a learner's points, those of whose stream have the type `stream`."""
        return stream if self.reading is None else self.reading.x_type

    def offset_of(self, x_type: str) -> int:
        """Return what is added to points of a type: the offset, if they are such numbers."""
        return 0 if x_type == "u128" or x_type.startswith("bytes") else self.offset

    def number(self, x_type: str) -> str:
        """Return the name of the point itself, without the offset: "x", or "(x - 5)"."""
        return shifted(self.x_name, self.offset_of(x_type))


PLAIN: Final = Words()
"""Points and labels by the names x, 1 and 0."""


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """What every kind of rule answers; `kind` is its name on the wire."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def x_type(self) -> str:
        """Name of the type of the points (`columns`)."""

    @abstractmethod
    def _condition(self, words: Words) -> str:
        """Return `condition` of points that are numbers, without columns."""

    @abstractmethod
    def _sql(self, column: str, offset: int) -> str:
        """Return `to_sql` of a column whose values are points plus this offset."""

    @abstractmethod
    def _labels(self, points: Points) -> NDArray[np.bool_] | Labels:
        """Return the labels of points that have the type's dtype and shape."""

    @abstractmethod
    def _fields(self) -> Mapping[str, Any]:
        """Return the fields of the map, without the kind."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return the rule of exactly these fields; RuleError or KeyError otherwise."""

    def evaluate(self, x: NDArray[Any]) -> Labels:
        """Return the labels, uint8 (n,), of n points of type `x_type`.

        Arrays of other integers are converted; RuleError when a value is outside the type's range
        or the shape is wrong.
        """
        labels = self._labels(as_points(x, self.x_type))
        return labels.view(np.uint8)

    def condition(self, words: Words = PLAIN) -> str:
        """Return when the label is 1, as a phrase: "x >= 3", "always" or "never"."""
        if words.reading is None:
            return self._condition(words)
        parts = self._parts(words.reading)
        return self._read_condition(words, words.reading) if parts is None else said(parts)

    def _parts(self, reading: Reading) -> Parts | None:
        """Return for which buckets of which features the label is 1, all of them together.

        None where points are no buckets, or the rule cannot be said in this way.
        """
        if reading.form != "value":
            return None
        feature = reading.features[0]
        return [(feature, self.evaluate(np.arange(feature.size)).view(np.bool_))]

    def _read_condition(self, words: Words, reading: Reading) -> str:
        """Return `condition` of points of a reading, where there are no parts."""
        return self._condition(replace(words, x_name=_number_name(reading), offset=0))

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        """Return `to_sql` of points of a reading, where there are no parts."""
        (column,) = reading.columns
        if isinstance(column, IdColumn):
            raise RuleError(f"the numbers of {column.name} are hashes, which no SQL compares so")
        return self._sql(column.name, 0)

    def describe(self, words: Words = PLAIN) -> str:
        """Return the rule in one line: "late if departure delay >= 24 min", "never late"."""
        condition = self.condition(words)
        if condition in (ALWAYS, NEVER):
            return f"{condition} {words.positive}"
        return f"{words.positive} if {condition}"

    def explain(self, x: NDArray[Any], words: Words = PLAIN) -> list[Explanation]:
        """Return for n points of type `x_type` the points that each column adds, n explanations.

        RuleError for a rule that adds up nothing, and for arrays that `evaluate` refuses.
        """
        raise RuleError(f"only a scorecard has points to explain, which a {self.kind} rule is not")

    def to_sql(self, words: Words, column: str = "x", dialect: Dialect = "postgresql") -> str:
        """Return a boolean expression of standard SQL that is true where the label is 1.

        column: name, quoted here, of the column with the values that `words` are about; of rows of
        features, feature i is the column `column`_i. Values of type u128 are text of 32 small
        hexadecimal digits, byte strings text as `columns.text_of_bytes` writes them; columns of u64
        need a numeric type of 20 digits once values reach 2^63.
        NULL has no label: the expression is NULL or false for it, and never true. RuleError for a
        name that SQL cannot quote.

        Where words have a reading its columns are named, and `column` is not: numbers as numbers,
        categories as text, times as local timestamps of their zone, addresses as text of 32 small
        hexadecimal digits (of 32 bits: as numbers), ids as text or whole numbers. What is missing
        is NULL, which then has a label where the column has a bucket for it. `dialect` says how
        parts of times, and hashes of ids, are written; SQLite has no hashes (RuleError).
        """
        reading = words.reading
        if reading is None:
            return self._sql(column, words.offset_of(self.x_type))
        parts = self._parts(reading)
        if parts is None:
            return self._read_sql(words, reading, dialect)
        return sql_of_parts(parts, dialect)

    def to_dict(self) -> dict[str, Any]:
        """Return a map of texts, integers, lists and maps from which `rule_from_dict` makes it."""
        return dict(self._fields())

    def to_json(self) -> str:
        """Return `to_dict` as JSON in one line, always the same for equal rules."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)


def as_points(x: NDArray[Any], name: str) -> Points:
    """Return an array of integers as points of the type of this name, (n,) or (n, columns)."""
    kind = point_type(name)
    array = np.asarray(x)
    if not array.ndim or array.shape[1:] != (() if kind.columns == 1 else (kind.columns,)):
        shape = "(n,)" if kind.columns == 1 else f"(n, {kind.columns})"
        raise RuleError(f"points of type {name} need an array {shape}")
    if array.dtype == kind.dtype:
        return array
    if not array.size:
        return array.astype(kind.dtype)
    if array.dtype.kind not in "ui" or array.min() < 0 or array.max() > np.iinfo(kind.dtype).max:
        raise RuleError(f"points of type {name} need integers in the range of the type")
    return array.astype(kind.dtype)


def masked_equal(points: Points, mask: int, value: int) -> NDArray[np.bool_]:
    """Return which points (n,), or (n, 2) of u128, have the bits `value` at the bits of `mask`."""
    if points.ndim == 1:
        kind = points.dtype.type
        narrow: NDArray[np.bool_] = (points & kind(mask)) == kind(value)
        return narrow
    labels = np.ones(len(points), dtype=np.bool_)
    for column, shift in ((0, 64), (1, 0)):
        word = np.uint64((mask >> shift) & _WORD)
        if word:
            labels &= (points[:, column] & word) == np.uint64((value >> shift) & _WORD)
    return labels


def listed(parts: Sequence[str], last: str) -> str:
    """Return "a", "a or b" or "a, b or c", with `last` before the last part."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def shifted(name: str, offset: int) -> str:
    """Return the name of a number less the offset, in brackets where there is one to subtract."""
    if not offset:
        return name
    return f"({name} {'-' if offset > 0 else '+'} {abs(offset)})"


def said(parts: Parts) -> str:
    """Return that each feature is in its buckets: "income >= 3125 EUR and grade is A or B"."""
    phrases = []
    for feature, buckets in parts:
        if not buckets.any():
            return NEVER
        if not buckets.all():
            phrases.append(feature.condition(buckets))
    if not phrases:
        return ALWAYS
    several = len(phrases) > 1
    return " and ".join(f"({p})" if several and " or " in p else p for p in phrases)


def sql_of_parts(parts: Parts, dialect: Dialect) -> str:
    """Return an expression that is true where each feature is in its buckets."""
    conditions = []
    for feature, buckets in parts:
        if not buckets.any():
            return SQL_NEVER
        if not buckets.all():
            conditions.append(feature.to_sql(buckets, dialect))
    if not conditions:
        return "(1 = 1)"
    return f"({' AND '.join(conditions)})"


def flagged_parts(reading: Reading, ones: int, zeros: int) -> Parts:
    """Return the buckets whose bits are 1 in `ones` and 0 in `zeros`, of a reading of bits."""
    parts, first = [], 0
    for feature in reading.features:
        every = 2 ** len(feature.flags) - 1
        yes, no = (ones >> first) & every, (zeros >> first) & every
        allowed = [not (yes & ~flags or no & flags) for flags in flag_masks(feature)]
        parts.append((feature, np.array(allowed, dtype=np.bool_)))
        first += len(feature.flags)
    return parts


def shown_date(days: int) -> str:
    """Return the date so many days after 1970-01-01, days >= 0: "2024-03-01".

    Counted from 0000-03-01 on, so that the day of a leap year comes last, in 400 years of 146,097
    days.
    """
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    number = month + 3 if month < 10 else month - 9
    return (
        f"{400 * era + year + (number <= 2):04}-{number:02}-{day - (153 * month + 2) // 5 + 1:02}"
    )


def shown_address(number: int, bits: int) -> str:
    """Return the address of a number of 32 or 128 bits, IPv4 where it is inside ::ffff:0:0/96."""
    if bits == 32 or number >> 32 == _IPV4_PREFIX:
        return str(IPv4Address(number & 0xFFFF_FFFF))
    return str(IPv6Address(number))


def _number_name(reading: Reading) -> str:
    """Return how sentences name the number of an id or address, or the columns of a cell."""
    names = reading.names
    if isinstance(reading.columns[0], IdColumn):
        return f"hash of {names[0]}"
    return listed(names, "and")
