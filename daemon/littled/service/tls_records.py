"""Records of TLS: how many came, by their lengths, which are in the clear, and how many were empty.

A record takes time whatever is in it, and what holds nothing for who reads, such as one change of
keys after the other, is seen by nobody else.
"""

from __future__ import annotations

import ssl
from typing import Any, Final

from littled.limits import (
    TLS_EMPTY_RECORDS_MAX,
    TLS_READ_BYTES,
    TLS_READ_BYTES_MIN,
    TLS_RECORDS_PER_EMPTY,
    TLS_RECORDS_PER_READ,
)

# The type, the version and the length of what follows.
_HEAD_BYTES: Final = 5
_LENGTH_AT: Final = 3


class CountingObject(ssl.SSLObject):
    """Counts what was read from it: a read returns bytes of one record and never of two."""

    reads = 0

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002
        """Read as ever."""
        found = super().read(len, buffer)
        self.reads += 1
        return found


class Records:
    """Counts the records that come in over a connection."""

    __slots__ = ("_begun", "_head", "_left_bytes", "read_bytes")

    def __init__(self) -> None:
        """Begin with none."""
        self._begun = 0
        # Of the record that comes: its head if that is not whole, or the bytes that are left of it.
        self._head, self._left_bytes = b"", 0
        # How many bytes to read next.
        self.read_bytes = TLS_READ_BYTES_MIN

    def came(self, data: memoryview) -> None:
        """Count the records that begin in what came next."""
        joined, at, before = self._head + data, self._left_bytes, self._begun
        while at + _HEAD_BYTES <= len(joined):
            length_at = at + _LENGTH_AT
            at += _HEAD_BYTES + int.from_bytes(joined[length_at : length_at + 2], "big")
            self._begun += 1
        self._head, self._left_bytes = joined[at:], max(at - len(joined), 0)
        mean_bytes = len(data) // max(self._begun - before, 1)
        wanted = max(TLS_RECORDS_PER_READ * mean_bytes, TLS_READ_BYTES_MIN)
        # No more than twice as much as before: one long record says little of those after it.
        self.read_bytes = min(wanted, 2 * self.read_bytes, TLS_READ_BYTES)

    def are_empty(self, reads: int) -> bool:
        """Whether too many of all that came were empty, where so many reads found something."""
        return self._begun - reads > TLS_EMPTY_RECORDS_MAX + reads // TLS_RECORDS_PER_EMPTY
