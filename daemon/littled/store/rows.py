"""Rows of the store's tables, and values of them whose types are checked.

Reading takes many short transactions instead of a long one, so that the write-ahead log can begin
anew while somebody reads a long chain. Rows are only ever added, so this makes no difference.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from littled.limits import STORE_READ_BYTES_MAX, STORE_READ_ROWS_MAX
from littled.store.database import Connection, Readers, Row, record_key
from littled.store.errors import StoreDamaged

END = (1 << 63) - 1
"""Above every number that a row can have."""


class Rows:
    """The rows of a store, for any thread."""

    def __init__(self, readers: Readers) -> None:
        """Read through these connections."""
        self._readers = readers

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """A connection for one short use; see `Readers.lend`."""
        with self._readers.lend() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for one reading transaction; see `Readers.reading`."""
        with self._readers.reading() as connection:
            yield connection

    def one(self, statement: str, values: Row) -> Row | None:
        """The first row, None without any. Raises StoreError."""
        rows = self.all(statement, values)
        return rows[0] if rows else None

    def all(self, statement: str, values: Row) -> list[Row]:
        """All rows of a statement that has few. Raises StoreError."""
        with self._readers.lend() as connection:
            return connection.execute(statement, values).fetchall()

    def piece(self, statement: str, values: Row) -> list[Row]:
        """Rows of one reading transaction; the last column is a row's size in bytes. StoreError."""
        rows: list[Row] = []
        room = STORE_READ_BYTES_MAX
        with self._readers.lend() as connection, connection.rows(statement, values) as found:
            for row in found:
                rows.append(row)
                room -= row[-1] if isinstance(row[-1], int) else 0
                if room <= 0 or len(rows) >= STORE_READ_ROWS_MAX:
                    break
        return rows


def keys_of(stream: int) -> tuple[int, int]:
    """The first key of a stream's rows, and the first of the next stream's.

    stream: its identity.
    """
    return record_key(stream, 0), record_key(stream + 1, 0)


def head_of(value: Any, stream: str) -> bytes:
    """A head as it is stored; StoreDamaged unless it is bytes."""
    if not isinstance(value, bytes):
        raise StoreDamaged(f"a head in the chains of {stream} is damaged: put back a backup")
    return value


def integer_of(value: Any, stream: str) -> int:
    """A number as it is stored; StoreDamaged unless it is one."""
    if not isinstance(value, int):
        raise StoreDamaged(f"a number among the rows of {stream} is damaged: put back a backup")
    return value


def text_of(value: Any) -> str:
    """A name as it is stored; StoreDamaged unless it is text."""
    if not isinstance(value, str):
        raise StoreDamaged("the name of a learner or producer is damaged: put back a backup")
    return value
