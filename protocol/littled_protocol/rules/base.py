"""What every kind of published rule answers, the words of people for it, and its points."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Labels, Points, point_type

ALWAYS, NEVER = "always", "never"
# How many points, bits or members a sentence lists before it only counts them.
LISTED_MAX: Final = 5
_WORD: Final = 2**64 - 1


class RuleError(ValueError):
    """A rule, a map of a rule, or points that cannot be; one sentence."""


@dataclass(frozen=True, slots=True)
class Words:
    """How people name the points and labels of a stream.

    x_name, unit: of a point, "departure delay" and "min". offset: added to a point before it is
    shown or compared in SQL, so that 0 stands for `offset`. positive, negative: the labels 1 and 0.
    """

    x_name: str = "x"
    unit: str = ""
    offset: int = 0
    positive: str = "1"
    negative: str = "0"

    def __post_init__(self) -> None:
        """Refuse words that would break a line (RuleError)."""
        for text in (self.x_name, self.unit, self.positive, self.negative):
            if not isinstance(text, str) or not text.isprintable():
                raise RuleError("words need texts of printable characters")
        if type(self.offset) is not int:
            raise RuleError("the offset of words needs an integer")

    def to_dict(self) -> dict[str, Any]:
        """Return a map of texts and an integer from which `from_dict` makes the words."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the words of a map, in which defaults may be left out; RuleError for any other."""
        names = [field.name for field in fields(cls)]
        if not isinstance(values, dict) or not values.keys() <= set(names):
            raise RuleError(f"words need a map with no keys but {', '.join(names)}")
        return cls(**values)

    def label(self, label: int) -> str:
        """Return the word for a label, 0 or 1."""
        return self.positive if label else self.negative

    def value(self, point: int) -> str:
        """Return a point as people read it: shifted by the offset, with its unit."""
        return f"{point + self.offset}{' ' if self.unit else ''}{self.unit}"

    def offset_of(self, x_type: str) -> int:
        """Return what is added to points of a type: the offset, which those of u128 do not have."""
        return 0 if x_type == "u128" else self.offset

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
    def condition(self, words: Words = PLAIN) -> str:
        """Return when the label is 1, as a phrase: "x >= 3", "always" or "never"."""

    @abstractmethod
    def _sql(self, column: str, offset: int) -> str:
        """Return `to_sql` of a column whose values are points plus this offset."""

    @abstractmethod
    def _labels(self, points: Points) -> NDArray[np.bool_] | Labels:
        """Return the labels of points that have the type's dtype and shape."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
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

    def describe(self, words: Words) -> str:
        """Return the rule in one line: "late if departure delay >= 24 min", "never late"."""
        condition = self.condition(words)
        if condition in (ALWAYS, NEVER):
            return f"{condition} {words.positive}"
        return f"{words.positive} if {condition}"

    def to_sql(self, words: Words, column: str = "x") -> str:
        """Return a boolean expression of standard SQL that is true where the label is 1.

        column: name, quoted here, of the column with the values that `words` are about; of rows of
        features, feature i is the column `column`_i. Values of type u128 are text of 32 small
        hexadecimal digits; columns of u64 need a numeric type of 20 digits once values reach 2^63.
        NULL has no label: the expression is NULL or false for it, and never true. RuleError for a
        name that SQL cannot quote.
        """
        return self._sql(column, words.offset_of(self.x_type))

    def to_dict(self) -> dict[str, Any]:
        """Return a map of texts, integers, lists and maps from which `rule_from_dict` makes it."""
        return {"kind": self.kind, **self._fields()}

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
