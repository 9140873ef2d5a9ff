"""Points and labels on the wire: typed columns of bytes, or plain lists for small clients.

| name     | bytes of a point                    | array              |
| -------- | ----------------------------------- | ------------------ |
| `u8`     | 1                                   | (n,) uint8         |
| `u16`    | 2, little-endian                    | (n,) uint16        |
| `u32`    | 4, little-endian                    | (n,) uint32        |
| `u64`    | 8, little-endian                    | (n,) uint64        |
| `u128`   | 16, big-endian                      | (n, 2) uint64, columns: high and low 64 bits |
| `u16x<m>`| 2 m, m little-endian uint16         | (n, m) uint16      |
| `bytes<m>`| m, a byte string                   | (n, m) uint8       |

A byte string of `bytes<m>` has m bytes; a shorter text ends with zero bytes. `text_of_bytes` is
how it is written for people and in databases.

A label is one byte, 0 or 1. A user is 16 bytes, the digest of an id: (n, 2) uint64, as u128.
Everything else is refused with `invalid_examples`; what was found is never part of a message, since
points, labels and users are private.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.errors import ErrorCode, ProtocolError

Points = NDArray[np.unsignedinteger[Any]]
Labels = NDArray[np.uint8]
Users = NDArray[np.uint64]

_SCALAR_BYTES: Final = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
_ROW_NAME: Final = re.compile(r"u16x([1-9][0-9]{0,3})")
_ROW_FEATURES_MIN: Final = 2
_STRING_NAME: Final = re.compile(r"bytes([1-9][0-9]{0,3})")
_STRING_BYTES_MIN: Final = 2
_HEX_MARK: Final = "0x"
_HEX_DIGITS: Final = re.compile(r"[0-9a-f]*")
_U128_BYTES: Final = 16
_LABEL_VALUES: Final = frozenset({0, 1})
_LABEL_BYTES: Final = b"\x00\x01"
# Labels from which on an array is quicker than bytes.
_LABELS_OF_ARRAY_MIN: Final = 4096
_USER_DTYPE: Final = np.dtype(">u8")


def _invalid(sentence: str) -> ProtocolError:
    return ProtocolError(ErrorCode.INVALID_EXAMPLES, sentence)


@dataclass(frozen=True, slots=True)
class PointType:
    """How points of one type look in an array and on the wire; made by `point_type`.

    name: as on the wire. dtype: of the array, native byte order. columns: second dimension of the
    array (n, columns), 1 when the array is (n,). itemsize_bytes: of one point on the wire.
    wire_dtype: of one number on the wire.
    """

    name: str
    dtype: np.dtype[np.unsignedinteger[Any]]
    columns: int
    itemsize_bytes: int
    wire_dtype: np.dtype[np.unsignedinteger[Any]]

    @property
    def is_string(self) -> bool:
        """Whether points are byte strings and no numbers."""
        return self.name.startswith("bytes")

    @property
    def greatest(self) -> int:
        """The greatest number that one point, or one feature of a row, may be."""
        return 2**128 - 1 if self.name == "u128" else int(np.iinfo(self.dtype).max)

    def encode(self, array: NDArray[Any]) -> bytes:
        """Return the column of an array (n,) or (n, columns) of exactly this type's dtype.

        Raises ProtocolError (invalid_examples) for another dtype or shape.
        """
        rest = () if self.columns == 1 else (self.columns,)
        if array.dtype != self.dtype or not array.ndim or array.shape[1:] != rest:
            raise _invalid(f"points of type {self.name} need {self._shape_text()}")
        return array.astype(self.wire_dtype, copy=False).tobytes()

    def decode(self, data: bytes | Sequence[Any], count: int) -> Points:
        """Return `count` points (count,) or (count, columns), possibly a read-only view of `data`.

        data: a column of bytes; or a list of integers, for u128 of integers or of 16 bytes each
        (big-endian), for rows of lists of integers, for byte strings of binaries or texts. Raises
        ProtocolError (invalid_examples) otherwise.
        """
        if not isinstance(data, bytes):
            return self._decode_list(data, count)
        if len(data) != count * self.itemsize_bytes:
            raise _invalid(f"x needs {self.itemsize_bytes} bytes for each point of {self.name}")
        points = np.frombuffer(data, dtype=self.wire_dtype).astype(self.dtype, copy=False)
        return points if self.columns == 1 else points.reshape(count, self.columns)

    def _decode_list(self, values: Sequence[Any], count: int) -> Points:
        if len(values) != count:
            raise _invalid("x needs as many points as the batch has examples")
        if self.name == "u128":
            column = b"".join(map(_sixteen_bytes, values))
            return self.decode(column, count)
        if self.is_string:
            return self.decode(b"".join(self._string(value) for value in values), count)
        if self.columns == 1:
            return self._numbers(values)
        for row in values:
            if not isinstance(row, list | tuple) or len(row) != self.columns:
                raise _invalid(f"x needs rows of {self.columns} features for {self.name}")
        flat = [feature for row in values for feature in row]
        return self._numbers(flat).reshape(count, self.columns)

    def _string(self, value: Any) -> bytes:
        size = self.itemsize_bytes
        found = bytes_of_text(value, size) if isinstance(value, str) else value
        if not isinstance(found, bytes) or len(found) != size:
            raise _invalid(f"x needs binaries of {size} bytes, or texts of at most so many bytes")
        return found

    def _numbers(self, values: Sequence[Any]) -> Points:
        kinds = set(map(type, values))
        if kinds <= {int} and (not values or (min(values) >= 0 and max(values) <= self.greatest)):
            return np.array(values, dtype=self.dtype)
        raise _invalid(f"x needs integers from 0 to {self.greatest} for {self.name}")

    def _shape_text(self) -> str:
        shape = "(n,)" if self.columns == 1 else f"(n, {self.columns})"
        return f"an array {shape} of {self.dtype}"


@functools.lru_cache(maxsize=256)
def point_type(name: str) -> PointType:
    """Return the point type of this name; raise ProtocolError (invalid_examples) for no such type.

    >>> point_type("u16x3").itemsize_bytes
    6
    """
    size = _SCALAR_BYTES.get(name)
    if size is not None:
        wire = np.dtype(f"<u{size}")
        return PointType(name, wire.newbyteorder("="), 1, size, wire)
    if name == "u128":
        return PointType(name, np.dtype(np.uint64), 2, _U128_BYTES, np.dtype(">u8"))
    match = _ROW_NAME.fullmatch(name)
    if match and _ROW_FEATURES_MIN <= int(match[1]) <= limits.row_features_max:
        features, wire = int(match[1]), np.dtype("<u2")
        return PointType(name, wire.newbyteorder("="), features, 2 * features, wire)
    match = _STRING_NAME.fullmatch(name)
    if match and _STRING_BYTES_MIN <= int(match[1]) <= limits.string_bytes_max:
        size, wire = int(match[1]), np.dtype("u1")
        return PointType(name, wire, size, size, wire)
    raise _invalid(
        "a type of points is u8, u16, u32, u64, u128, u16x followed by a number of features "
        f"from {_ROW_FEATURES_MIN} to {limits.row_features_max}, or bytes followed by a number of "
        f"bytes from {_STRING_BYTES_MIN} to {limits.string_bytes_max}"
    )


def text_of_bytes(string: bytes) -> str:
    """Return how a byte string is written: as its text, or as 0x and small hexadecimal digits.

    The text is what is before the zero bytes at its end, where that is UTF-8 of printable
    characters, is not empty, and does not begin with 0x.

    >>> text_of_bytes(b"example.com" + bytes(5)), text_of_bytes(bytes(2))
    ('example.com', '0x0000')
    """
    try:
        text = string.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    is_text = text and text.isprintable() and not text.startswith(_HEX_MARK)
    return text if is_text else _HEX_MARK + string.hex()


def bytes_of_text(text: str, size: int) -> bytes | None:
    """Return the byte string of `size` bytes that is written so; None if there is none.

    >>> bytes_of_text("ab", 3), bytes_of_text("0x0001", 2), bytes_of_text("abc", 2)
    (b'ab\x00', b'\x00\x01', None)
    """
    if text.startswith(_HEX_MARK):
        digits = text.removeprefix(_HEX_MARK)
        is_whole = len(digits) == 2 * size and _HEX_DIGITS.fullmatch(digits)
        return bytes.fromhex(digits) if is_whole else None
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return data.ljust(size, b"\0") if text and text.isprintable() and len(data) <= size else None


def smallest_point_type(bits: int) -> str:
    """Return the name of the smallest scalar type that holds `bits` bits, 1 to 128 (ValueError)."""
    for name, size in (*_SCALAR_BYTES.items(), ("u128", _U128_BYTES)):
        if 1 <= bits <= 8 * size:
            return name
    raise ValueError("a point has 1 to 128 bits")


def encode_labels(array: NDArray[Any]) -> bytes:
    """Return the column of labels (n,), uint8 of 0 and 1 or bool.

    Raises ProtocolError (invalid_examples) for anything else.
    """
    if array.ndim != 1 or array.dtype not in (np.uint8, np.bool_):
        raise _invalid("labels need an array (n,) of uint8 or bool")
    column = array.tobytes()
    check_labels(column, len(column))
    return column


def decode_labels(data: bytes | Sequence[Any], count: int) -> Labels:
    """Return `count` labels (count,) of 0 and 1, possibly a read-only view of `data`.

    data: one byte a label, or a list of 0, 1, False and True. Raises ProtocolError
    (invalid_examples) otherwise.
    """
    if not isinstance(data, bytes):
        if not set(map(type, data)) <= {int, bool} or not set(data) <= _LABEL_VALUES:
            raise _invalid("y needs labels 0 and 1, or false and true")
        data = bytes(data)
    check_labels(data, count)
    return np.frombuffer(data, dtype=np.uint8)


def encode_users(array: NDArray[Any]) -> bytes:
    """Return the column of users (n, 2), uint64: high and low 64 bits of each digest.

    Raises ProtocolError (invalid_examples) for anything else.
    """
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype != np.uint64:
        raise _invalid("users need an array (n, 2) of uint64")
    return array.astype(_USER_DTYPE, copy=False).tobytes()


def decode_users(data: bytes, count: int) -> Users:
    """Return `count` users (count, 2) of a column; raise ProtocolError (invalid_examples)."""
    if len(data) != count * limits.user_bytes:
        raise _invalid(f"users needs {limits.user_bytes} bytes for each example")
    return np.frombuffer(data, dtype=_USER_DTYPE).astype(np.uint64).reshape(count, 2)


def check_labels(column: bytes, count: int) -> None:
    """Raise ProtocolError (invalid_examples) unless a column of bytes holds `count` labels."""
    if len(column) != count:
        raise _invalid("y needs as many labels as the batch has examples")
    # Either looks at every byte, whatever they are; the first is quicker for a few of them.
    if len(column) < _LABELS_OF_ARRAY_MIN:
        wrong = bool(column.translate(None, _LABEL_BYTES))  # what is left without zeros and ones
    else:
        wrong = bool(np.frombuffer(column, np.uint8).max() > 1)
    if wrong:
        raise _invalid("y needs labels 0 and 1")


def _sixteen_bytes(value: Any) -> bytes:
    if type(value) is bytes and len(value) == _U128_BYTES:
        return value
    if type(value) is int and 0 <= value < 2**128:
        return value.to_bytes(_U128_BYTES, "big")
    raise _invalid("x needs integers from 0 to 2^128 - 1, or 16 bytes each, for u128")
