"""All rows of a store, table by table, to be copied and to be compared: the same in every database.

Columns of large records stand in files beside the tables of one database and in the rows of
another. Here each record comes with its columns, wherever they stand.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from littled.limits import (
    COLUMNS_BESIDE_RECORD_BYTES_MIN,
    STORE_COPY_BYTES,
    STORE_COPY_ROWS_MAX,
    STORE_READ_BYTES_MAX,
    STORE_READ_ROWS_MAX,
)
from littled.store.columns import ColumnReader, Columns, Span, Wanted
from littled.store.database import (
    FORMATS_ARRIVING,
    MOVE,
    NUMBER_BITS,
    TABLES_KNOWN,
    TAIL,
    Connection,
    Facts,
    Readers,
    Row,
    Writing,
    make_tables_like,
    put_move,
)
from littled.store.errors import StoreRefused
from littled.store.moves import Move
from littled_protocol.limits import user_bytes

# What a database notes of itself among what never changes.
_OWN: Final = {"format", MOVE, TAIL}
_WITH_SPANS: Final = """
SELECT records.*, beside.file, beside.start, beside.size
FROM records LEFT JOIN beside ON beside.key = records.key ORDER BY records.key
"""
_INSERT: Final = "INSERT INTO {} VALUES ({})"
_KEY, _COUNT, _X, _Y, _USERS = 0, 2, 5, 6, 8

Tick = Callable[[int], None]
"""Told how many bytes more were read."""


class Piece(NamedTuple):
    """A row of the table `records`, without its columns where they stand apart."""

    row: Row
    columns: Columns | None

    def whole(self) -> Row:
        """The row with its columns."""
        if self.columns is None:
            return self.row
        x, y, users = self.columns
        *numbers, _, _, head = self.row[:_USERS]
        return (*numbers, x, y, head, users)[: len(self.row)]


class Contents:
    """What a store holds at one moment."""

    def __init__(self, connection: Connection, columns: ColumnReader | None, facts: Facts) -> None:
        """Read through a connection that is lent for one transaction."""
        self._connection = connection
        self._columns = columns
        self.of_users = facts.of_users
        self._with_users = {stream.identity for stream in facts.streams.values() if stream.of_users}
        self.format = connection.format() % FORMATS_ARRIVING
        self.tables = connection.tables()
        unknown = sorted(self.tables - TABLES_KNOWN.keys())
        if unknown:
            raise StoreRefused(
                f"{connection.filename} has a table {unknown[0]} that this version does not know: "
                "use the version that made it, or remove what is not the store's"
            )

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table in the order of their keys; columns of records as they stand."""
        statement = f"SELECT * FROM {table} ORDER BY {TABLES_KNOWN[table]}"  # noqa: S608
        with self._connection.rows(statement, ()) as found:
            for row in found:
                if table != "meta" or row[0] not in _OWN:
                    yield tuple(row)

    def records(self) -> Iterator[Piece]:
        """The rows of the table `records` with their columns."""
        if "beside" not in self.tables:
            yield from (Piece(row, None) for row in self.rows("records"))
        elif self._columns is None:
            yield from (self._apart(row) for row in self.rows("records"))
        else:
            yield from self._joined(self._columns)

    def _apart(self, row: Row) -> Piece:
        """A row that has its columns; those of large records are taken out of it.

        Every record whose head is that of columns apart is among them (`littled.store.staging`).
        """
        x, y = row[_X], row[_Y]
        users = row[_USERS] if self.of_users else b""
        if not row[_COUNT] or len(x) + len(y) + len(users) < COLUMNS_BESIDE_RECORD_BYTES_MIN:
            return Piece(row, None)
        empty = *row[:_X], b"", b"", row[_Y + 1], b""
        return Piece(empty[: len(row)], (x, y, users))

    def _joined(self, columns: ColumnReader) -> Iterator[Piece]:
        """Rows and, where columns stand beside the database, these, some at a time."""
        with self._connection.rows(_WITH_SPANS, ()) as found:
            some: list[Row] = []
            wanted: dict[int, Wanted] = {}
            room = STORE_READ_BYTES_MAX
            for *row, file, start, size in found:
                if file is not None:
                    wanted[len(some)] = self._wanted(row, Span(file, start, size))
                    room -= size
                some.append(tuple(row))
                if room <= 0 or len(some) >= STORE_READ_ROWS_MAX:
                    yield from _pieces(some, wanted, columns)
                    some, wanted, room = [], {}, STORE_READ_BYTES_MAX
            yield from _pieces(some, wanted, columns)

    def _wanted(self, row: list[Any], span: Span) -> Wanted:
        count = row[_COUNT]
        users = count * user_bytes if row[_KEY] >> NUMBER_BITS in self._with_users else 0
        return span, (span.size - count - users, count, users)


def _pieces(rows: list[Row], wanted: Mapping[int, Wanted], columns: ColumnReader) -> list[Piece]:
    read = dict(zip(wanted, columns.read([*wanted.values()]), strict=True))
    return [Piece(row, read.get(index)) for index, row in enumerate(rows)]


@contextmanager
def contents(readers: Readers, facts: Facts) -> Iterator[Contents]:
    """What a store holds; StoreRefused for a table that is not known here. Raises StoreError."""
    with readers.reading() as connection:
        yield Contents(connection, readers.columns, facts)


# --- copying --------------------------------------------------------------------------------------


def fill(source: Contents, writing: Writing, move: Move, tick: Tick) -> None:
    """Make a store that nobody may use yet hold what another one does, whatever it held before.

    Many transactions, each durable; killed in between, it is begun again. Raises StoreError.
    """
    with writing.transaction() as connection:
        make_tables_like(connection, source.tables, of_users=source.of_users)
        connection.execute("DELETE FROM meta")
        put_move(connection, move, FORMATS_ARRIVING + source.format)
    writing.settle_columns()
    for table in sorted(source.tables - {"records", "beside"}):
        for rows in _together(source.rows(table), lambda row: row, tick):
            statement = _INSERT.format(table, ", ".join("?" * len(rows[0])))
            with writing.transaction() as connection:
                connection.executemany(statement, rows)
    for pieces in _together(source.records(), Piece.whole, tick):
        rows = [piece.row for piece in pieces]
        statement = _INSERT.format("records", ", ".join("?" * len(rows[0])))
        beside = {piece.row[_KEY]: piece.columns for piece in pieces if piece.columns is not None}
        with writing.transaction() as connection:
            writing.put_records(connection, statement, rows, beside)


def _together(found: Iterable[Any], whole: Callable[[Any], Row], tick: Tick) -> Iterator[list[Any]]:
    """As much as one transaction takes."""
    some: list[Any] = []
    taken = 0
    for each in found:
        some.append(each)
        taken += _size(whole(each))
        if taken >= STORE_COPY_BYTES or len(some) >= STORE_COPY_ROWS_MAX:
            yield some
            tick(taken)
            some, taken = [], 0
    if some:
        yield some
        tick(taken)


def _size(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, bytes))


# --- comparing ------------------------------------------------------------------------------------


def difference(source: Contents, target: Contents, tick: Tick) -> str | None:
    """The first table that is not the same in both, row by row and byte for byte; None if all are.

    Raises StoreError where something cannot be read.
    """
    if (source.format, source.of_users) != (target.format, target.of_users):
        return "meta"
    for table in sorted(source.tables | target.tables):
        if table not in source.tables or table not in target.tables:
            return table
        if table == "beside":
            continue  # where columns stand; what they are is compared as part of the records
        one, other = _read(source, table), _read(target, table)
        taken = 0
        for number, (here, there) in enumerate(zip_longest(one, other)):
            if here != there:
                return table
            taken += _size(here)
            if number % STORE_READ_ROWS_MAX == 0 or taken >= STORE_COPY_BYTES:
                tick(taken)
                taken = 0
        tick(taken)
    return None


def _read(side: Contents, table: str) -> Iterator[Row]:
    if table != "records":
        return side.rows(table)
    return (piece.whole() for piece in side.records())
