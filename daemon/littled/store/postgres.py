"""PostgreSQL: the database of a store on a server, perhaps with standbys that have every commit.

The same tables as in SQLite, in one schema; columns of large records stand in their rows. What
differs from SQLite is all here: the words of the tables, and how a commit is known to be durable.

- A store has one owner at a time. The table `owners` says which by a number, the epoch. Whoever
  opens a store to serve it raises the epoch and waits until *that* commit is durable, on the
  standbys as well; only then is anything read. Every commit reads the epoch first and holds on to
  it: an owner that was put off writes nothing more.
- A commit whose wait for standbys was cancelled succeeds, with nothing but a warning, and others
  see it. So any warning while committing ends the use of the store.
- When a connection breaks while committing, nobody knows whether it was done. Nothing is retried:
  the use of the store ends, and the next opening reads what is there.

Errors of the server may hold values of rows, so nothing of them goes into a message, and none of
them is the cause of another error.
"""

import ipaddress
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg import RawCursor, RawServerCursor, errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper

from littled.limits import (
    POSTGRES_CONNECT_SECONDS,
    POSTGRES_FETCH_BYTES,
    POSTGRES_FETCH_ROWS,
    POSTGRES_KEEPALIVE_SECONDS,
    POSTGRES_LOCK_SECONDS,
    STORE_READ_ROWS_MAX,
)
from littled.store.columns import ColumnReader, Columns
from littled.store.database import PUT_PRODUCER, Connection, Row, Undo, insert_record
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.lending import Lending

VERSION_MIN: Final = 150000
# "ltld": the first half of the advisory lock's key.
_LOCK: Final = 0x6C746C64
_OWNERS = "CREATE TABLE owners (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL)"
_EPOCH = "SELECT epoch FROM owners WHERE id = 1"
_HELD = f"{_EPOCH} FOR SHARE"
# One row, locked as above, for its owner alone; no row for anybody else.
_OWNED = "WITH held AS (SELECT 1 FROM owners WHERE id = 1 AND epoch = ? FOR SHARE)"
_TAKE_OVER = "UPDATE owners SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_LOOK = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FORMAT = "SELECT value FROM meta WHERE name = 'format'"
_PUT_FORMAT = """
INSERT INTO meta VALUES ('format', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_HAS_TABLE = "SELECT to_regclass($1) IS NOT NULL"
_ALL_TABLES = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
# An identity of the store's schema within its database, as the second half of the lock's key.
_TRY_LOCK = f"""
SELECT pg_try_advisory_lock({_LOCK}, ('meta'::regclass::oid::bigint - 2147483648)::int)
"""
# Connections that have that lock, or that change whose store it is or hold on to it.
_PREDECESSORS = f"""
SELECT pg_terminate_backend(pid) FROM pg_locks WHERE pid <> pg_backend_pid()
AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (
    locktype = 'advisory' AND classid = {_LOCK} AND objsubid = 2
    AND objid = (('meta'::regclass::oid::bigint - 2147483648) & 4294967295)::oid
    OR relation = 'owners'::regclass AND mode IN ('RowShareLock', 'RowExclusiveLock'))
"""  # noqa: S608 - a number of ours
_COPY = "COPY records ({}) FROM STDIN (FORMAT BINARY)"
_RECORD_COLUMNS = (
    *("key", "first_position", "count", "sequence", "producer", "x", "y", "head", "users"),
)
_RECORD_TYPES = (*["int8"] * 5, *["bytea"] * 4)
_FIRST_COLUMN = _RECORD_COLUMNS.index("x")
# What a session must not leave to the server, a role, or a database.
_SESSION = """
SET client_min_messages = 'warning'; SET statement_timeout = 0; SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; SET jit = off;
SET default_transaction_read_only = {}; SET synchronous_commit = {}
"""
_SETTINGS = """
SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'fsync',
    'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', 'server_encoding',
    'log_statement', 'log_min_duration_statement', 'log_min_duration_sample',
    'log_transaction_sample_rate', 'log_parameter_max_length', 'log_parameter_max_length_on_error')
"""
_WRONG_PAGES = """
SELECT coalesce(max(checksum_failures), 0) FROM pg_stat_database WHERE datname = current_database()
"""
_TABLES_OF_A_STORE = ("meta", "streams", "producers", "records", "ledger", "releases", "owners")
_UNCOMMITTED = "the database has not committed: look at the server's log"
_QUIET = {"DEBUG", "LOG", "INFO", "NOTICE"}
# Words of SQLite that are other ones here.
_WORDS = (
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?"), ")"),
    (re.compile(r"\bx''"), "''"),
    (re.compile(r" REFERENCES \w+"), ""),  # SQLite does not enforce them either
)
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\)[^()]*(?:;|$)", re.DOTALL)
_MAYBE = re.compile(r"\s*CREATE TABLE IF NOT EXISTS (\w+)")
_ROW = re.compile(r"VALUES \((.*?)\)")
_BYTES = re.compile(r'"?(\w+)"? BLOB')


# --- words ----------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def translated_statement(statement: str) -> str:
    """A statement in the words of PostgreSQL, its values numbered."""
    if statement.lstrip().startswith(("CREATE", "ALTER")):
        return _described(statement)
    number = 0

    def numbered(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f"${found[1] or number}"

    statement = re.sub(r"\?(\d*)", numbered, statement)
    return re.sub(r"\binstr\(", 'pg_catalog."position"(', statement)


@lru_cache(maxsize=8)
def _as_owner(inserts: tuple[str, ...]) -> bytes:
    """Statements that insert a row each as one that inserts them for the owner, else nothing.

    Its first value is the owner's epoch.
    """
    *others, last = (_ROW.sub(r"SELECT \1 FROM held", insert) for insert in inserts)
    beside = "".join(f", other{number} AS ({insert})" for number, insert in enumerate(others))
    return translated_statement(f"{_OWNED}{beside} {last}").encode()


def _described(statement: str) -> str:
    """Tables in the words of PostgreSQL; bytes are stored as they are, as most do not shrink."""
    plain = [
        f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL"
        for table, columns in _TABLE.findall(statement)
        for column in _BYTES.findall(columns)
    ]
    for word, other in _WORDS:
        statement = word.sub(other, statement)
    return ";".join((statement.rstrip().rstrip(";"), *plain))


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def translated() -> Iterator[None]:
    """Turn what psycopg raises into StoreFailed or StoreDamaged."""
    try:
        yield
    except psycopg.Error as error:
        raise _translation(error) from None


def _translation(error: psycopg.Error) -> StoreError:
    code = error.sqlstate or type(error).__name__
    if isinstance(error, errors.DiskFull):
        return StoreFailed("the disk of the database is full: make room, then start again")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreFailed("the database is read only, as a standby is: name the primary server")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreFailed(f"the role may not do that in the database ({code}): make it the owner")
    if isinstance(error, psycopg.IntegrityError):
        return StoreDamaged(
            f"the database holds rows that nobody here has written ({code}): see what else writes "
            "there"
        )
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)):
        return StoreFailed(f"the database failed ({code}): look at the server's log")
    return StoreDamaged(f"the database does not read as a store ({code}): put back a backup")


# --- connections ----------------------------------------------------------------------------------


class PostgresConnection:
    """A connection of psycopg, as `littled.store.database.Connection` has it."""

    def __init__(self, connection: "psycopg.Connection[Any]", name: str) -> None:
        """Speak through a connection that commits by itself. name: of the database."""
        self.raw = connection
        self.filename = name
        self._cursor = RawCursor(connection)
        self._names = 0
        self._known: set[str] = set()

    def execute(self, statements: str, values: Row = (), /) -> "RawCursor[Any]":
        """Run a statement, or several without values."""
        found = _MAYBE.match(statements)
        if found and self._knows(found[1]):
            return self._cursor
        statement = translated_statement(statements).encode()
        if values:
            self._cursor.execute(statement, values, binary=True)
        else:
            self._cursor.execute(statement)
        return self._cursor

    def executemany(self, statement: str, rows: Iterable[Row], /) -> None:
        """Run a statement for each row."""
        self._cursor.executemany(translated_statement(statement).encode(), rows)

    @contextmanager
    def rows(self, statement: str, values: Row) -> Iterator[Iterator[Row]]:
        """What a statement finds, row by row, of which only some may be taken."""
        if self.raw.info.transaction_status == TransactionStatus.IDLE:
            with self.looking(), self.rows(statement, values) as found:
                yield found
            return
        self._names += 1
        with RawServerCursor(self.raw, f"rows{self._names}") as cursor:
            cursor.execute(translated_statement(statement).encode(), values, binary=True)
            yield _fetched(cursor)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """A transaction that reads and sees one moment."""
        self.raw.execute(_LOOK)
        yield
        self.raw.execute("COMMIT")

    def changes(self) -> int:
        """How many rows the last statement has changed."""
        return self._cursor.rowcount

    def has_table(self, name: str) -> bool:
        """Whether there is such a table or index in the store's schema."""
        return self._cursor.execute(_HAS_TABLE, (name,)).fetchall() == [(True,)]

    def tables(self) -> set[str]:
        """The names of all tables in the store's schema, but for that of its owners."""
        rows: list[Any] = self._cursor.execute(_ALL_TABLES).fetchall()
        return {name for (name,) in rows} - {"owners"}

    def format(self) -> int:
        """The format of the store. StoreRefused where there is no store."""
        rows = self._cursor.execute(_FORMAT).fetchall()
        try:
            return int(rows[0][0])
        except (IndexError, ValueError):
            raise StoreRefused(f"{self.filename} is not the database of a store") from None

    def _knows(self, table: str) -> bool:
        """Whether there is a table, which stays then: to make it again would lock it."""
        if table not in self._known and self.has_table(table):
            self._known.add(table)
        return table in self._known

    def put_format(self, number: int) -> None:
        """Change it, inside a transaction."""
        self._cursor.execute(_PUT_FORMAT, (b"%d" % number,))


def _fetched(cursor: "RawServerCursor[Any]") -> Iterator[Row]:
    """The rows of a cursor, a few at first, and then about so many bytes at a time."""
    count = POSTGRES_FETCH_ROWS
    while rows := cursor.fetchmany(count):
        yield from rows
        if len(rows) < count:
            return
        size = sum(len(value) for row in rows for value in row if isinstance(value, bytes))
        each = max(size // len(rows), 1)
        count = max(1, min(STORE_READ_ROWS_MAX, POSTGRES_FETCH_BYTES // each))


# --- writing --------------------------------------------------------------------------------------


class PostgresWriting:
    """The one connection that writes; used by one thread at a time."""

    def __init__(self, connection: PostgresConnection) -> None:
        """Take over the store: raise its epoch, durably. Raises StoreError."""
        self._connection = connection
        self._raw = connection.raw
        self._inserting = RawCursor(connection.raw)
        self._warnings: list[str] = []
        self._raw.add_notice_handler(self._noticed)
        self._epoch = 0
        try:
            with translated():
                self._raw.execute(_BEGIN)
                rows = self._raw.execute(_TAKE_OVER).fetchall()
                # Only once this commit is on the standbys may anything be read: before, a server
                # that has just started may show commits that they never had.
                self._commit()
            if len(rows) != 1:
                raise StoreDamaged("the database does not say who owns the store")
        except BaseException:
            self.close()
            raise
        self._epoch = int(rows[0][0])

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized not in _QUIET:
            self._warnings.append(notice.sqlstate or "unknown")

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """Lend the connection for one transaction that is durable on leaving. Raises StoreError.

        After any error the connection is good for nothing but `close`.
        """
        try:
            with translated():
                self._warnings.clear()
                self._raw.execute(_BEGIN)
                self._check_epoch(self._raw.execute(_HELD).fetchall())
                yield self._connection
                self._commit()
        except BaseException:
            self._raw.close()
            raise

    def put_alone(self, producer: Row, record: Row) -> None:
        """Put a producer and its one record in one transaction, durable on return; see above.

        The transaction is one statement, so that the server is asked once.
        """
        try:
            with translated():
                self._warnings.clear()
                row = (self._epoch, *producer, *record)
                self._inserting.execute(_as_owner((PUT_PRODUCER, insert_record(len(record)))), row)
                self._see_committed()
                self._check_epoch([(self._epoch,)] * self._inserting.rowcount)
        except BaseException:
            self._raw.close()
            raise

    def bring_in(self) -> None:
        """Nothing is kept elsewhere."""

    def put_records(
        self,
        connection: Connection,
        statement: str,
        rows: Sequence[Row],
        beside: Mapping[int, Columns],
    ) -> None:
        """Add records inside a transaction; columns of large ones stand in their rows."""
        width = len(rows[0])
        names = sql.SQL(",".join(_RECORD_COLUMNS[:width]))
        with self._raw.cursor().copy(sql.SQL(_COPY).format(names)) as copying:
            copying.set_types(_RECORD_TYPES[:width])
            for row in rows:
                copying.write_row(_whole(row, beside.get(row[0])))

    def _check_epoch(self, rows: Sequence[Row]) -> None:
        if [row[0] for row in rows] != [self._epoch]:
            raise StoreFailed(
                "another process has taken over the store, so that nothing more is stored here: "
                "see which one serves it"
            )

    def _commit(self) -> None:
        """Commit; on return the transaction is durable wherever the server says it is."""
        done = self._raw.execute("COMMIT").statusmessage
        if done != "COMMIT":
            raise StoreFailed(_UNCOMMITTED)
        self._see_committed()

    def _see_committed(self) -> None:
        """See that the server has ended the last commit, with nothing to say of it."""
        if self._raw.info.transaction_status != TransactionStatus.IDLE:
            raise StoreFailed(_UNCOMMITTED)
        if self._warnings:
            # The commit is on this server alone: "canceling wait for synchronous replication".
            raise StoreFailed(
                f"the database committed with a warning ({self._warnings[0]}), so that it is not "
                "known whether the standbys have it: see that they run, then start again"
            )

    def read(self, statement: str, values: Row) -> list[Row]:
        """Rows of a short query. Raises StoreError."""
        with translated():
            return self._connection.execute(statement, values).fetchall()

    def settle_columns(self) -> None:
        """Nothing stands beside the tables."""

    def check_place(self) -> None:
        """Look whether this process still owns the store. Raises StoreFailed."""
        with translated():
            self._check_epoch(self._raw.execute(_EPOCH).fetchall())

    def shrink(self) -> None:
        """The server gives room back by itself (autovacuum)."""

    def close(self, *, failed: bool = False) -> None:
        """Close; what was not committed is forgotten."""
        self._raw.close()


def _whole(row: Row, columns: Columns | None) -> Row:
    """A row of a record with its columns."""
    if columns is None:
        return row
    x, y, users = columns
    numbers, head = row[:_FIRST_COLUMN], row[_FIRST_COLUMN + 2]
    return (*numbers, x, y, head, users)[: len(row)]


# --- reading --------------------------------------------------------------------------------------


class PostgresReaders:
    """Connections that read, lent to any thread for one short use."""

    def __init__(self, database: "PostgresDatabase") -> None:
        """Nothing is opened yet."""
        self.columns: ColumnReader | None = None
        self._lending = Lending(
            lambda: database.connect(read_only=True),
            lambda connection, _broken: connection.raw.close(),
            translated,
        )

    def lend(self) -> AbstractContextManager[PostgresConnection]:
        """Lend a connection; what psycopg raises inside becomes a StoreError."""
        return self._lending.lend()

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """Lend a connection for one reading transaction; see `lend`."""
        with self.lend() as connection, connection.looking():
            yield connection

    def integrity(self) -> list[str]:
        """What the server has found wrong with its own pages while reading them."""
        with self.lend() as connection:
            count = connection.execute(_WRONG_PAGES).fetchall()[0][0]
        return [f"PostgreSQL has met {count} damaged pages in this database"] if count else []

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        self._lending.close()


# --- the server -----------------------------------------------------------------------------------


class PostgresLock:
    """An advisory lock, which ends with its connection, however that ends."""

    def __init__(self, connection: PostgresConnection, *, take_over: bool) -> None:
        """Lock the store. StoreRefused when another process has it; StoreFailed.

        take_over: end the connections of that one.
        """
        self._connection = connection
        try:
            if take_over:
                with translated():
                    self._connection.execute(_PREDECESSORS)
            # The server may take a moment to notice that a predecessor has gone.
            until = time.monotonic() + POSTGRES_LOCK_SECONDS
            while not self._locked():
                if time.monotonic() > until:
                    raise StoreRefused(
                        f"another process serves the store in {connection.filename}: stop it first"
                    )
                time.sleep(POSTGRES_LOCK_SECONDS / 20)
        except BaseException:
            connection.raw.close()
            raise

    def _locked(self) -> bool:
        with translated():
            found: list[Any] = self._connection.execute(_TRY_LOCK).fetchall()
        return found == [(True,)]

    def release(self) -> None:
        """Give it back; nothing happens the second time."""
        self._connection.raw.close()


class PostgresDatabase:
    """The database of a store on a server."""

    def __init__(self, url: str) -> None:
        """Nothing is connected yet. StoreRefused for a URL that cannot be, or has a password."""
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            given = {"password": ""}
            wrong = "the address of the database cannot be read"
        else:
            wrong = "the address of the database must not hold a password, which others could see"
        if {"password", "sslpassword"} & given.keys():
            raise StoreRefused(
                f"{wrong}: give it as postgresql://USER@HOST:PORT/DATABASE, and the password in "
                "the file that $PGPASSFILE names, or in ~/.pgpass"
            )
        self.name = self._url = url

    def exists(self) -> bool:
        """Whether there is a store in the schema. Raises StoreError."""
        with self._connected() as connection:
            return connection.has_table("meta") and connection.has_table("owners")

    def check(self) -> None:
        """Raise StoreRefused for a server that loses commits or shows examples to others."""
        with self._connected() as connection:
            self._refuse(connection)

    def recover(self, *, incomplete: bool = False) -> None:
        """Nothing is kept elsewhere."""

    def notes(self) -> list[str]:
        """What whoever serves the store should know of the server, a sentence each. StoreError."""
        with self._connected() as connection:
            names = _settings(connection)["synchronous_standby_names"]
        if not names:
            return [
                f"no standby of {self.name} is synchronous: what was acknowledged is lost with the "
                "disk of that server"
            ]
        return [f"commits of {self.name} wait for standbys: {names}"]

    def lock(self, *, take_over: bool = False) -> PostgresLock:
        """Lock the store. StoreRefused while another process serves it; StoreFailed.

        take_over: end the connections of that process, which may be frozen, or on a machine that is
        gone without a word to the server.
        """
        return PostgresLock(self.connect(), take_over=take_over)

    def readers(self) -> PostgresReaders:
        """Connections that read; nothing is opened yet."""
        return PostgresReaders(self)

    def glances(self) -> PostgresReaders:
        """The same: whoever reads leaves nothing behind here."""
        return self.readers()

    def writing(self, *, incomplete: bool = False) -> PostgresWriting:
        """Take the store over, to write. Raises StoreError."""
        return PostgresWriting(self.connect())

    def sync_names(self) -> None:
        """There are no files."""

    def make_schema(self, name: str) -> None:
        """Make the schema unless there is one. name: of letters, digits and _. StoreError."""
        with self._connected(read_only=False) as connection:
            statement = sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(name))
            connection.raw.execute(statement)

    def prepare(self, made: list[Undo]) -> list[Any]:
        """See that the server is fit and the schema free. StoreRefused; StoreFailed."""
        with self._connected() as connection:
            self._refuse(connection)
            for table in _TABLES_OF_A_STORE:
                if connection.has_table(table):
                    raise StoreRefused(
                        f"{self.name} has a table {table} already: name an empty database, or "
                        "another schema by ?options=-csearch_path%3DNAME"
                    )
        return []

    @contextmanager
    def creating(self, write: Callable[[Connection], None], made: list[Undo]) -> Iterator[None]:
        """Make the tables in one transaction; only when it is committed is there a store."""
        with self._connected(read_only=False) as connection:
            warnings: list[str] = []
            connection.raw.add_notice_handler(lambda notice: warnings.append(notice.sqlstate or ""))
            connection.raw.execute(_BEGIN)
            write(connection)
            connection.execute(_OWNERS)
            connection.execute("INSERT INTO owners VALUES (1, 0)")
            yield
            done = connection.raw.execute("COMMIT").statusmessage
            if done != "COMMIT" or warnings:
                raise StoreFailed("the database has not committed the new store as it should")

    @contextmanager
    def _connected(self, *, read_only: bool = True) -> Iterator[PostgresConnection]:
        """A connection for once. Raises StoreError."""
        connection = self.connect(read_only=read_only)
        try:
            with translated():
                yield connection
        finally:
            connection.raw.close()

    def connect(self, *, read_only: bool = False) -> PostgresConnection:
        """A new connection. StoreRefused where the server cannot be reached or trusted."""
        try:
            raw = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=POSTGRES_CONNECT_SECONDS,
                keepalives_idle=POSTGRES_KEEPALIVE_SECONDS,
                keepalives_interval=POSTGRES_KEEPALIVE_SECONDS,
                application_name="littled",
            )
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise StoreRefused(f"{self.name} cannot be reached: {said}") from None
        raw.adapters.register_dumper(int, Int8BinaryDumper)
        try:
            _refuse_open_wire(raw, self.name)
            with translated():
                # As the role, the database or the server has it; anything less was refused.
                level = raw.execute("SHOW synchronous_commit").fetchall()[0][0]
                mode = "on" if read_only else "off"
                raw.execute(_SESSION.format(mode, level).encode())
        except BaseException:
            raw.close()
            raise
        return PostgresConnection(raw, self.name)

    def _refuse(self, connection: PostgresConnection) -> None:
        found = _settings(connection)
        for wrong in _unfit(found):
            raise StoreRefused(f"{self.name} {wrong}")


def _settings(connection: PostgresConnection) -> dict[str, str]:
    return dict(connection.execute(_SETTINGS).fetchall())


def _unfit(found: Mapping[str, str]) -> Iterator[str]:
    """Why a server with these settings is no place for a store, each the end of a sentence."""
    version = int(found["server_version_num"])
    if version < VERSION_MIN:
        yield f"is PostgreSQL {version // 10000}; a store needs {VERSION_MIN // 10000} or later"
    for name in ("fsync", "full_page_writes"):
        if found[name] != "on":
            yield f"has {name} = {found[name]}, so that commits may be lost: set it to on"
    if found["synchronous_commit"] not in ("on", "remote_apply"):
        yield (
            f"has synchronous_commit = {found['synchronous_commit']} for this role, so that "
            "commits may be lost: set it to on"
        )
    if found["server_encoding"] != "UTF8":
        yield f"has the encoding {found['server_encoding']}: make a database with UTF8"
    logs = (
        found["log_statement"] in ("mod", "all")
        or found["log_min_duration_statement"] != "-1"
        or found["log_min_duration_sample"] != "-1"
        or float(found["log_transaction_sample_rate"]) > 0
    )
    if (logs and found["log_parameter_max_length"] != "0") or (
        found["log_parameter_max_length_on_error"] != "0"
    ):
        yield (
            "writes the values of statements, which are examples, to its log: set "
            "log_parameter_max_length and log_parameter_max_length_on_error to 0"
        )


def _refuse_open_wire(raw: "psycopg.Connection[Any]", name: str) -> None:
    """StoreRefused where examples would travel to another machine for all to read."""
    if raw.info.host.startswith("/") or not raw.info.host:
        return
    with suppress(ValueError):
        if ipaddress.ip_address(raw.info.hostaddr or raw.info.host).is_loopback:
            return
    checked = raw.info.get_parameters().get("sslmode") in ("verify-ca", "verify-full")
    if not (raw.pgconn.ssl_in_use and checked):
        raise StoreRefused(
            f"{name} is another machine, and whoever listens on the way would read the examples: "
            "add sslmode=verify-full and sslrootcert to the address"
        )
