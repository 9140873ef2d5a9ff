"""From the values of a file's columns to points and labels, whole columns at a time.

Values arrive as text (CSV), as JSON values or as Arrow columns. Columns without surprises are
converted by numpy; anything else is converted value by value, exactly, so that the first row that
holds no example can be named. Values never appear in a message.

A point is written in the digits 0 to 9. `true` is a label and no point. Files may hold 24.0 for 24,
as a column of a table does once one of its cells is empty; who asks a question may not.
"""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_client.users import UserDigests, user_text
from littled_protocol.columns import (
    Labels,
    Points,
    PointType,
    Users,
    bytes_of_text,
    point_type,
)

Batch = tuple[Points, Labels] | tuple[Points, Labels, Users]
"""Points, labels and, where each example has a user, their digests (n, 2)."""
Column = list[Any] | NDArray[Any]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_FLOAT_EXACT_MAX = 2.0**53
_DECIMAL_DIGITS_MAX = 40
# Of rows with many features; each step of numpy holds the interpreter, which a server shares.
_CELLS_AT_A_TIME = 1 << 16
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})
# Of pandas, which need not be installed: what its columns hold where there is no value.
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
_LABEL_TEXTS = {"0": 0, "1": 1, "false": 0, "true": 1, "0.0": 0, "1.0": 1}
_LABELS: dict[Any, int] = {0: 0, 1: 1} | _LABEL_TEXTS  # False and 0.0 equal 0 as keys
_IPV4_INSIDE_IPV6 = bytes(10) + b"\xff\xff"
# Python's own `int` and `Decimal` would take "1_0" and the digits of every script.
_DECIMAL_INTEGER = re.compile(r"[+-]?[0-9]+")
_HEXADECIMAL_INTEGER = re.compile(r"0[xX][0-9A-Fa-f]+")
_DECIMAL_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns hold the examples, and how their values become points and labels.

    x: name of the column with the points; for feature rows, the names of the features in order, or
       one name whose column holds whole rows (JSON lines, Parquet).
    y: name of the column with the labels: 0 or 1, true or false, or the words below.
    offset: subtracted from every x, so that the point 0 stands for `offset`.
    clip: least and greatest x; values beyond are moved to the nearer end before `offset` applies.
    positive: the text that means label 1, beside 1 and true.
    negative: the text that means label 0, beside 0 and false, or several such texts. Every other
       text is an error, so that a word that was mistyped labels nothing.
    skip_incomplete: leave out rows where a named column is empty, "NA" or not a number; such a row
       is an error otherwise.
    user: name of the column with the user of each example, texts or integers; None for a stream
       that protects single examples.
    Raises ValueError when there is no x column or `clip` is empty or beyond 64 bits.
    """

    x: str | tuple[str, ...]
    y: str
    offset: int = 0
    clip: tuple[int, int] | None = None
    positive: str | None = None
    skip_incomplete: bool = False
    user: str | None = None
    negative: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse values that no column could satisfy."""
        if not self.x or not self.y:
            raise ValueError("fields need the name of at least one x column and of the y column")
        if self.user == "":
            raise ValueError("the user column needs a name")
        if self.negatives and (self.positive is None or self.positive in self.negatives):
            raise ValueError("a text for label 0 needs another one for label 1")
        if self.clip is not None:
            least, most = self.clip
            if not _INT64_MIN <= least <= most <= _INT64_MAX:
                raise ValueError("clip needs a least and a greatest value in order, within 64 bits")
        if not _INT64_MIN <= self.offset <= _INT64_MAX:
            raise ValueError("offset must fit into 64 bits")

    @property
    def negatives(self) -> tuple[str, ...]:
        """The texts that mean label 0, none or more."""
        if self.negative is None:
            return ()
        return (self.negative,) if isinstance(self.negative, str) else self.negative

    @property
    def x_names(self) -> tuple[str, ...]:
        """The names of the x columns, one or more."""
        return (self.x,) if isinstance(self.x, str) else self.x

    @property
    def names(self) -> tuple[str, ...]:
        """All column names: those of x, then that of y, then that of the users if there is one."""
        return (*self.x_names, self.y, *(() if self.user is None else (self.user,)))


class BadRow(Exception):
    """Row `index` of a batch (0-based) holds no example; `reason` says why, without the value."""

    def __init__(self, index: int, reason: str) -> None:
        """Keep the place and the reason."""
        super().__init__(reason)
        self.index = index
        self.reason = reason


class Converter:
    """Turns batches of raw columns into points of one type and labels.

    `exact` refuses integers that are written with a fraction or an exponent, such as 24.0.
    `greatest`: of a point or a feature, where a stream takes fewer than its type has. Raises
    ValueError when the fields do not suit the point type.
    """

    def __init__(
        self, x_type: str, fields: Fields, *, exact: bool = False, greatest: int | None = None
    ) -> None:
        """Prepare for points of type `x_type` from the columns that `fields` names."""
        self.point_type: PointType = point_type(x_type)
        self._fields = fields
        self._exact = exact
        most = self.point_type.greatest
        self._greatest = most if greatest is None else min(greatest, most)
        self._digests = UserDigests()
        names = fields.x_names
        self._width = self.point_type.columns if x_type.startswith("u16x") else 1
        if len(names) not in (1, self._width):
            wanted = "1 column" if self._width == 1 else f"1 or {self._width} columns"
            raise ValueError(f"points of type {x_type} need {wanted}, not {len(names)}")
        numbers = self.point_type.name != "u128" and not self.point_type.is_string
        if not numbers and (fields.offset or fields.clip is not None):
            raise ValueError(f"offset and clip do not apply to points of type {x_type}")

    @property
    def x_names(self) -> tuple[str, ...]:
        """The names of the x columns."""
        return self._fields.x_names

    def convert(self, columns: Sequence[Column], y: Column, users: Column | None = None) -> Batch:
        """Return the points and the labels (n,) of n rows given as columns in the fields' order.

        With a column of users also their digests (n, 2). Raises BadRow at the first row of the
        first column that holds no point, label or user.
        """
        points, labels = self.points(columns), self._labels(y)
        return (points, labels) if users is None else (points, labels, self._users(users))

    def points(self, columns: Sequence[Column]) -> Points:
        """Return the points of n rows alone; raises BadRow as `convert` does."""
        kind, names = self.point_type, self._fields.x_names
        if kind.name == "u128":
            return self._wide_integers(columns[0], names[0])
        if kind.is_string:
            return self._strings(columns[0], names[0])
        if self._width == 1:
            return self._scalars(columns[0], names[0])
        if len(columns) == self._width:
            features = [self._scalars(c, n) for c, n in zip(columns, names, strict=True)]
            return np.stack(features, axis=1)
        return self._rows(columns[0], names[0])

    def _scalars(self, column: Column, name: str) -> Points:
        """Return integers (n,) of the point type, clipped and shifted."""
        greatest = self._greatest
        values = _fast_integers(column, exact=self._exact)
        if values is not None and len(values):
            if self._fields.clip is not None and values.dtype == np.int64:
                values = np.clip(values, *self._fields.clip)
            offset = self._fields.offset
            inside = int(values.min()) >= offset and int(values.max()) <= offset + greatest
            if inside and (self._fields.clip is None or values.dtype == np.int64):
                # Inside the range, arithmetic modulo 2**64 gives the exact difference.
                shifted = values.astype(np.uint64) - np.uint64(offset % 2**64)
                return shifted.astype(self.point_type.dtype)
        slow = [self._scalar(value, i, name, greatest) for i, value in enumerate(column)]
        return np.array(slow, dtype=self.point_type.dtype)

    def _scalar(self, value: Any, index: int, name: str, greatest: int) -> int:
        number = ipv4_number(value) if self.point_type.name == "u32" else None
        if number is None:
            number = _integer(value, exact=self._exact)
        if number is None:
            raise BadRow(index, _why_no(value, name, f"an integer{self._spelling}"))
        if self._fields.clip is not None:
            least, most = self._fields.clip
            number = min(max(number, least), most)
        number -= self._fields.offset
        if not 0 <= number <= greatest:
            after = f" less the offset {self._fields.offset}" if self._fields.offset else ""
            raise BadRow(index, f"column {name!r}{after} is outside 0 to {greatest}")
        return number

    def _wide_integers(self, column: Column, name: str) -> Points:
        """Return 128-bit points (n, 2) from addresses, UUIDs, integers or 16 bytes each."""
        packed = bytearray()
        for index, value in enumerate(column):
            wide = sixteen_bytes(value, exact=self._exact)
            if wide is None:
                wanted = f"an address, a UUID or an integer of at most 128 bits{self._spelling}"
                raise BadRow(index, _why_no(value, name, wanted))
            packed += wide
        return np.frombuffer(packed, dtype=">u8").reshape(-1, 2).astype(np.uint64)

    def _strings(self, column: Column, name: str) -> Points:
        """Return byte strings (n, m) from texts, or from binaries of exactly m bytes."""
        size, packed = self.point_type.itemsize_bytes, bytearray()
        for index, value in enumerate(column):
            found = bytes_of_text(value, size) if isinstance(value, str) else value
            if not isinstance(found, bytes) or len(found) != size:
                wanted = f"a text of at most {size} bytes, or 0x and {2 * size} hexadecimal digits"
                raise BadRow(index, _why_no(value, name, wanted))
            packed += found
        return self.point_type.decode(bytes(packed), len(column))

    @property
    def _spelling(self) -> str:
        """How an integer may be written, where not every way will do."""
        return " (digits 0 to 9, without a fraction)" * self._exact

    def _rows(self, column: Column, name: str) -> Points:
        """Return feature rows (n, m) from a column whose every value is a whole row."""
        width = self._width
        for index, row in enumerate(column):
            sized = isinstance(row, list | tuple | np.ndarray)
            if not sized or len(row) != width:
                raise BadRow(index, f"column {name!r} holds no row of {width} features")
        parts = [np.empty((0, width), dtype=self.point_type.dtype)]
        some = max(1, _CELLS_AT_A_TIME // width)
        for first in range(0, len(column), some):
            flat = [value for row in column[first : first + some] for value in row]
            try:
                parts.append(self._scalars(flat, name).reshape(-1, width))
            except BadRow as bad:
                raise BadRow(first + bad.index // width, bad.reason) from None
        return np.concatenate(parts)

    def _labels(self, column: Column) -> Labels:
        """Return labels (n,) of 0 and 1."""
        positive, name = self._fields.positive, self._fields.y
        if isinstance(column, np.ndarray) and positive is None and column.dtype.kind in "bui":
            wrong = (column != 0) & (column != 1)
            if wrong.any():
                raise BadRow(int(wrong.argmax()), f"column {name!r} holds a label other than 0, 1")
            return column.astype(np.uint8)
        if positive is None:
            labels = ready_labels(column)
            if labels is not None:
                return labels
        return self._slow_labels(column, name)

    def _slow_labels(self, column: Column, name: str) -> Labels:
        positive = self._fields.positive
        negatives = self._fields.negatives
        label = label_of if positive is None else _label_by_text(positive, negatives)
        wanted = "a label (0, 1, true or false)"
        if negatives:
            wanted = f"a label ({', '.join(map(repr, (positive, *negatives)))}, 1 or 0)"
        elif positive is not None:
            wanted = f"a label ({positive!r}, 1 or 0); name the word that means 0 as well"
        labels = bytearray(len(column))
        for index, value in enumerate(column):
            found = label(value)
            if found is None:
                raise BadRow(index, _why_no(value, name, wanted))
            labels[index] = found
        return np.frombuffer(labels, dtype=np.uint8)

    def _users(self, column: Column) -> Users:
        """Return the digests of users (n, 2)."""
        for index, value in enumerate(column):
            if is_missing(value) or user_text(value) is None:
                name = str(self._fields.user)
                wanted = "a user (a text or an integer)"
                # What a table leaves empty arrives as NaN, and a user is no number.
                raise BadRow(index, _why_no(None if is_missing(value) else value, name, wanted))
        return self._digests.array(column)


def incomplete_rows(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which of the n rows (n,) lack a value in at least one of the columns."""
    missing = np.zeros(len(columns[0]), dtype=np.bool_)
    for column in columns:
        if isinstance(column, np.ndarray):
            if column.dtype.kind == "f":
                missing |= np.isnan(column)
            continue
        missing |= np.fromiter(map(is_missing, column), dtype=np.bool_, count=len(column))
    return missing


def is_number_text(text: str) -> bool:
    """Return whether a cell of CSV is empty or writes a number, and so can be no column's name."""
    return text.strip() == "" or _DECIMAL_NUMBER.fullmatch(text.strip()) is not None


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or a text such as "" and "NA"."""
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, float | np.floating | Decimal):
        return math.isnan(value)
    return value is None or type(value).__name__ in _MISSING_TYPES


def how_missing(value: Any) -> str:
    """Return what is wrong with a cell that holds nothing, as the end of a sentence."""
    if isinstance(value, str):
        return "is NaN, not a number" if value.strip().lower() == "nan" else "is empty"
    is_nan = isinstance(value, float | np.floating | Decimal)
    return "is NaN, not a number" if is_nan else "is empty"


def _why_no(value: Any, name: str, wanted: str) -> str:
    if is_missing(value):
        return f"column {name!r} {how_missing(value)}; give a value or skip incomplete rows"
    return f"column {name!r} does not hold {wanted}"


def _fast_integers(column: Column, *, exact: bool) -> NDArray[Any] | None:
    """Return the column as int64 or uint64 (n,), or None when it needs a closer look."""
    if isinstance(column, np.ndarray):
        return _exact_integers(column)
    kinds = set(map(type, column))
    if kinds == {str}:
        together = "".join(column)
        if "_" in together or not together.isascii():
            return None
    elif not kinds <= {int, float} or (exact and float in kinds):
        return None
    for dtype in (np.int64,) if exact else (np.int64, np.float64):
        try:
            array = np.array(column, dtype=dtype if kinds == {str} else None)
        except (ValueError, OverflowError):
            continue
        return _exact_integers(array)
    return None


def _exact_integers(array: NDArray[Any]) -> NDArray[Any] | None:
    if array.dtype.kind == "u":
        return array.astype(np.uint64) if array.dtype == np.uint64 else array.astype(np.int64)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    if array.dtype.kind == "f" and bool(np.all(np.abs(array) < _FLOAT_EXACT_MAX)):
        whole = array.astype(np.int64)
        return whole if np.array_equal(whole, array) else None
    return None


def _integer(value: Any, *, exact: bool) -> int | None:
    """Return the integer that a value is or writes, exactly; None when it is none.

    `exact` refuses what is written with a fraction or an exponent.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating | Decimal) and not exact:
        return whole_number(value)
    if not isinstance(value, str):
        return None
    return _written_integer(value.strip(), exact=exact)


def whole_number(value: float | np.floating[Any] | Decimal) -> int | None:
    """Return the integer that a number is; None for a fraction, and what is not finite."""
    if isinstance(value, Decimal):
        is_short = value.is_finite() and value.adjusted() < _DECIMAL_DIGITS_MAX
        return int(value) if is_short and value == value.to_integral_value() else None
    return int(value) if float(value).is_integer() else None


def exact_integer(value: Any) -> int | None:
    """Return the integer that a value is, or writes in digits; None when it is none."""
    return _integer(value, exact=True)


def _written_integer(text: str, *, exact: bool) -> int | None:
    try:
        if _DECIMAL_INTEGER.fullmatch(text):
            return int(text)
        if _HEXADECIMAL_INTEGER.fullmatch(text):
            return int(text, 16)
    except ValueError:  # more digits than Python reads, and than a point has
        return None
    if exact or not _DECIMAL_NUMBER.fullmatch(text):
        return None
    return whole_number(Decimal(text))


def ipv4_number(value: Any) -> int | None:
    """Return the number of an IPv4 address in dotted text, None for anything else."""
    packed = _packed_address(value) if isinstance(value, str) else None
    if packed is None or len(packed) != 4:
        return None
    return int.from_bytes(packed)


def _packed_address(text: str) -> bytes | None:
    """Return the 4 or 16 bytes of an address in text, None when the text is none."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        return socket.inet_pton(family, text.strip())
    except (OSError, ValueError):
        return None


def sixteen_bytes(value: Any, *, exact: bool = False) -> bytes | None:
    """Return the 16 bytes (big-endian) of one 128-bit point, None when the value is none.

    A point may be given as 16 bytes, an integer, its text, a UUID's text, or an IPv4 or IPv6
    address (IPv4 inside ::ffff:0:0/96); see `Converter` for `exact`.
    """
    if isinstance(value, bytes):
        return value if len(value) == 16 else None
    if isinstance(value, IPv4Address | IPv6Address):
        value = str(value)
    if isinstance(value, str):
        address = _packed_address(value)
        if address is not None:
            return address if len(address) == 16 else _IPV4_INSIDE_IPV6 + address
        if len(value) == 36 and value.count("-") == 4:
            return _hexadecimal(value.replace("-", ""))
    number = _integer(value, exact=exact)
    if number is None or not 0 <= number < 2**128:
        return None
    return number.to_bytes(16)


def _hexadecimal(text: str) -> bytes | None:
    try:
        wide = bytes.fromhex(text)
    except ValueError:
        return None
    return wide if len(wide) == 16 else None


def ready_labels(column: Column) -> Labels | None:
    """Return labels (n,) of values in their usual spelling, None when one needs a closer look."""
    try:
        return np.frombuffer(bytes(map(_LABELS.__getitem__, column)), dtype=np.uint8)
    except (KeyError, TypeError):
        return None


def label_of(value: Any) -> int | None:
    """Return the label that a cell is in its usual spelling, None when it is none."""
    if isinstance(value, str):
        return _LABEL_TEXTS.get(value.strip().lower())
    return _LABELS.get(value) if isinstance(value, int | float | np.generic) else None


def _label_by_text(positive: str, negatives: Sequence[str]) -> Callable[[Any], int | None]:
    words = {positive: 1} | dict.fromkeys(negatives, 0)
    # Where 0 or false is the word for the label 1, the usual spelling would say the opposite.
    is_usual = label_of(positive) != 0 and 1 not in map(label_of, negatives)

    def label(value: Any) -> int | None:
        found = words.get(str(value).strip())  # a word such as "NA" may be one of them
        return label_of(value) if found is None and is_usual else found

    return label
