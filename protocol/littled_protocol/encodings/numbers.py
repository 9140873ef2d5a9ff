"""Columns of numbers: cut into buckets by edges that are public."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, Self

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
    at_least,
    known_keys,
    one_of,
    runs,
    some_text,
    sql_any,
    sql_name,
    text,
    whole,
)
from littled_protocol.encodings.fields import NumberFields

Scale = Literal["linear", "log"]
Outside = Literal["clip", "refuse"]

# A float64 keeps whole numbers up to here, and SQL compares them exactly.
_VALUE_MAX: Final = Decimal(2**53)
_DIGITS_MIN, _DIGITS_MAX = 3, 15
# Digits of what is computed before it is rounded; Decimal's steps are the same everywhere.
_WORKING_DIGITS: Final = 40


@dataclass(frozen=True, slots=True)
class NumberColumn(Column):
    """Numbers, cut at public edges e_1 < ... < e_m: a value is in bucket i if e_i <= value < e_i+1.

    Edges are given (`edges`), or follow from `least`, `most`, `steps` and `scale`: steps - 1 edges
    that cut the range evenly, on a scale of logarithms where `scale` is "log". Where they
    are long they are rounded, to 3 digits or as many as keep buckets wide, so that rules name short
    numbers.

    unit: shown after a number. missing: with "bucket" values that are missing are in bucket 0 and
    all others follow. outside: whether values below `least` or above `most` are taken for the
    nearest bucket ("clip") or are errors; edges that are given have no outside.

    Values and edges are compared as float64. Edges must not be taken from private data: they are
    published with every rule.
    """

    kind: ClassVar[str] = "number"

    least: Decimal | None = None
    most: Decimal | None = None
    steps: int | None = None
    scale: Scale = "linear"
    given: tuple[Decimal, ...] = ()
    unit: str = ""
    missing: Policy = "refuse"
    outside: Outside = "clip"

    def __post_init__(self) -> None:
        """Check that there are edges, in order (EncodingError)."""
        ranged = (self.least, self.most, self.steps)
        if self.given:
            if any(part is not None for part in ranged):
                raise EncodingError("edges", "must not stand beside from, to and steps")
            if any(a >= b for a, b in pairwise(self.given)):
                raise EncodingError("edges", "must rise")
        elif any(part is None for part in ranged):
            raise EncodingError("", "needs from, to and steps, or edges")
        else:
            assert self.least is not None
            assert self.most is not None
            if self.least >= self.most:
                raise EncodingError("to", "must be greater than from")
            if self.scale == "log" and self.least <= 0:
                raise EncodingError("from", "must be greater than 0 on a log scale")
            _cut(self.least, self.most, self.steps or 0, self.scale)
        if self.features[0].size > SIZE_MAX:
            raise EncodingError("steps", f"must leave at most {SIZE_MAX} buckets")

    @property
    def edges(self) -> tuple[Decimal, ...]:
        """The edges between buckets, rising: exact decimal numbers."""
        if self.given:
            return self.given
        assert self.least is not None
        assert self.most is not None
        assert self.steps is not None
        return _cut(self.least, self.most, self.steps, self.scale)

    @property
    def features(self) -> tuple[Feature, ...]:
        """One, whose buckets are ranges of the number."""
        return (NumberFeature(self.name, self),)

    @property
    def words(self) -> int:
        """One number a value."""
        return 1

    def shown(self, number: Decimal) -> str:
        """Return a number as people read it, with its unit."""
        return f"{plain(number)}{' ' if self.unit else ''}{self.unit}"

    def to_dict(self) -> NumberFields:
        """Return the keys of a configuration; numbers as texts, which keep their digits."""
        values: NumberFields = {"kind": "number", "name": self.name}
        if self.given:
            values["edges"] = [plain(edge) for edge in self.given]
        else:
            assert self.least is not None
            assert self.most is not None
            assert self.steps is not None
            values |= {"from": plain(self.least), "to": plain(self.most), "steps": self.steps}
        if self.scale != "linear":
            values["scale"] = self.scale
        if self.unit:
            values["unit"] = self.unit
        if self.missing != "refuse":
            values["missing"] = self.missing
        if self.outside != "clip":
            values["outside"] = self.outside
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map; EncodingError for any other."""
        known_keys(values, keys_of(NumberFields))
        given = values.get("edges", [])
        if not isinstance(given, list | tuple) or ("edges" in values and not given):
            raise EncodingError("edges", "must be a list of numbers, at least one")
        if len(given) >= SIZE_MAX:
            raise EncodingError("edges", f"must be fewer than {SIZE_MAX}")
        steps = values.get("steps")
        return cls(
            name=some_text(values.get("name"), "name"),
            least=_optional(values, "from"),
            most=_optional(values, "to"),
            steps=None if steps is None else whole(steps, "steps", 2, SIZE_MAX),
            scale=_scale(one_of(values.get("scale", "linear"), "scale", ("linear", "log"))),
            given=tuple(_number(edge, "edges") for edge in given),
            unit=text(values.get("unit", ""), "unit"),
            missing=missing_policy(values),
            outside=_outside(one_of(values.get("outside", "clip"), "outside", ("clip", "refuse"))),
        )


@dataclass(frozen=True, slots=True)
class NumberFeature(Feature):
    """The ranges between the edges of a column; before them, where it has one, what is missing."""

    column: NumberColumn

    @property
    def size(self) -> int:
        """One more than there are edges, and one for what is missing."""
        return len(self.column.edges) + 1 + self._first

    @property
    def flags(self) -> tuple[NDArray[np.bool_], ...]:
        """Whether the number is at least each of the edges, after whether it is known at all."""
        return tuple(at_least(self.size, bucket) for bucket in range(1, self.size))

    def condition(self, buckets: NDArray[np.bool_]) -> str:
        """Return for example "income >= 3125 EUR and income < 6250 EUR"."""
        phrases = []
        for low, high in runs(buckets):
            if low < self._first:
                phrases.append(f"{self.name} is missing")
            if high > self._first:
                phrases.append(self._range(max(low, self._first), high, self.name, shown=True))
        joined = [f"({p})" if len(phrases) > 1 and " and " in p else p for p in phrases]
        return " or ".join(joined)

    def to_sql(self, buckets: NDArray[np.bool_], dialect: Dialect) -> str:
        """Return comparisons with the edges; a missing number is NULL."""
        name, conditions = sql_name(self.column.name), []
        for low, high in runs(buckets):
            if low < self._first:
                conditions.append(f"{name} IS NULL")
            if high > self._first:
                part = self._range(max(low, self._first), high, name, shown=False)
                conditions.append(f"({part})" if " AND " in part else part)
        return sql_any(conditions)

    @property
    def _first(self) -> int:
        """The first bucket of numbers."""
        return int(self.column.missing == "bucket")

    def _range(self, low: int, high: int, name: str, *, shown: bool) -> str:
        write = self.column.shown if shown else plain
        bounds = []
        if low > self._first:
            bounds.append(f"{name} >= {write(self.column.edges[low - self._first - 1])}")
        if high < self.size:
            bounds.append(f"{name} < {write(self.column.edges[high - self._first - 1])}")
        if not bounds:
            return f"{name} is known" if shown else f"{name} IS NOT NULL"
        return (" and " if shown else " AND ").join(bounds)


def plain(number: Decimal) -> str:
    """Return a number in digits, without an exponent and without zeros at its end."""
    whole_part, dot, rest = f"{number:f}".partition(".")
    rest = rest.rstrip("0")
    return f"{whole_part}{dot}{rest}" if rest else whole_part


def missing_policy(values: dict[str, Any]) -> Policy:
    """Return what a map says of values that are missing."""
    found = one_of(values.get("missing", "refuse"), "missing", ("refuse", "bucket"))
    return "bucket" if found == "bucket" else "refuse"


def _scale(word: str) -> Scale:
    return "log" if word == "log" else "linear"


def _outside(word: str) -> Outside:
    return "refuse" if word == "refuse" else "clip"


def _optional(values: dict[str, Any], key: str) -> Decimal | None:
    return _number(values[key], key) if key in values else None


def _number(value: object, key: str) -> Decimal:
    """Return a number as it was written; EncodingError for what is none, or beyond 2^53."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise EncodingError(key, "must be a number")
    try:
        number = Decimal(value)
    except ArithmeticError:
        raise EncodingError(key, "must be a number") from None
    if not number.is_finite() or abs(number) > _VALUE_MAX:
        raise EncodingError(key, "must be a number from -2^53 to 2^53")
    if (number and number.adjusted() < -_WORKING_DIGITS) or len(number.as_tuple().digits) > 20:
        raise EncodingError(key, "must be a number of at most 20 digits")
    return number


@lru_cache(maxsize=256)
def _cut(least: Decimal, most: Decimal, steps: int, scale: Scale) -> tuple[Decimal, ...]:
    """Return the steps - 1 edges inside a range, exact where they are short, else rounded.

    EncodingError where even many digits do not keep them apart.
    """
    with localcontext(Context(prec=_WORKING_DIGITS, rounding=ROUND_HALF_EVEN)):
        exact = [_between(least, most, Fraction(i, steps), scale) for i in range(1, steps)]
        # Each edge may move by a tenth of the bucket on its narrower side.
        gaps = [b - a for a, b in pairwise([least, *exact, most])]
        room = [min(pair) / 10 for pair in pairwise(gaps)]
    short = scale == "linear" and all(
        len(edge.normalize().as_tuple().digits) <= _DIGITS_MAX for edge in exact
    )
    for digits in range(_DIGITS_MAX if short else _DIGITS_MIN, _DIGITS_MAX + 1):
        context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
        edges = [context.plus(edge) for edge in exact]
        close = all(abs(a - b) <= most for a, b, most in zip(edges, exact, room, strict=True))
        if close and all(float(a) < float(b) for a, b in pairwise(edges)):
            return tuple(edges)
    raise EncodingError("steps", "must be fewer: the edges between them would fall together")


def _between(least: Decimal, most: Decimal, share: Fraction, scale: Scale) -> Decimal:
    if scale == "log":
        part = Decimal(share.numerator) / Decimal(share.denominator)
        return ((1 - part) * least.ln() + part * most.ln()).exp()
    return least + (most - least) * share.numerator / share.denominator
