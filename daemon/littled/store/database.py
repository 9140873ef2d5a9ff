"""The SQLite file under a store: tables, the one writing connection, connections for reading.

Everything that SQLite raises leaves here as StoreFailed (the disk) or StoreDamaged (the contents).
Write-ahead log with full syncs: a commit that returned is on the disk. The log is copied into the
main file by the commits themselves, so its size is bounded without a thread of its own.
"""

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from littled.budget.charges import AnswerWindows, ChargesUnknown
from littled.limits import (
    STORE_BUSY_SECONDS,
    STORE_CACHE_BYTES,
    STORE_CHECKPOINT_BYTES,
    STORE_LOG_BYTES_MAX,
    STORE_LOG_WAIT_SECONDS,
    STORE_PAGE_BYTES,
    STORE_PLACE_SECONDS,
    STORE_READERS_IDLE_MAX,
)
from littled.store.columns import ColumnReader, ColumnWriter
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.files import identity
from littled.store.records import genesis

FORMAT = 1
# Of a store with a stream that protects users. Other stores keep the format that they always had; a
# version that knows nothing of users would take such a stream for one that protects examples.
FORMAT_OF_USERS = 2
# The same two, once old records were packed into segments: a version that knows nothing of segments
# would take the journal for one that lacks its beginning. A store becomes one by its first segment.
FORMAT_PACKED = 3
FORMAT_PACKED_OF_USERS = 4
# And the four, each by so much more, once columns of large records stand in files beside this one:
# a version that knows nothing of them would find records without columns.
FORMATS_BESIDE = 4
# Or by so much, once any such columns are in the chain by their BLAKE3: a version that does not
# know that would take their records for damaged.
FORMATS_BLAKE3 = 8
FORMAT_MAX = FORMAT_PACKED_OF_USERS + FORMATS_BLAKE3
# "ltld": what the file says about itself to anybody who finds it.
APPLICATION_ID = 0x6C746C64
# A record's key holds the stream in the upper bits, its number in these.
NUMBER_BITS = 44

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE streams (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, plan BLOB NOT NULL, genesis BLOB NOT NULL
) STRICT;
CREATE TABLE producers (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL REFERENCES streams, name TEXT NOT NULL,
    next_sequence INTEGER NOT NULL, UNIQUE (stream, name)
) STRICT;
CREATE TABLE records (
    key INTEGER PRIMARY KEY, first_position INTEGER NOT NULL, count INTEGER NOT NULL,
    sequence INTEGER NOT NULL, producer INTEGER NOT NULL REFERENCES producers,
    x BLOB NOT NULL, y BLOB NOT NULL, head BLOB NOT NULL
) STRICT;
CREATE TABLE ledger (
    stream INTEGER NOT NULL REFERENCES streams, number INTEGER NOT NULL,
    entry BLOB NOT NULL, head BLOB NOT NULL, PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE releases (
    learner TEXT NOT NULL, version INTEGER NOT NULL,
    body BLOB NOT NULL, charge INTEGER, head BLOB NOT NULL, PRIMARY KEY (learner, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
    stream INTEGER NOT NULL REFERENCES streams, record_number INTEGER NOT NULL,
    state BLOB NOT NULL, checksum BLOB NOT NULL, UNIQUE (stream, record_number)
) STRICT;
"""
_USERS = "ALTER TABLE records ADD COLUMN users BLOB NOT NULL DEFAULT x''"
# Keys as those of records. It came later than the other tables, so a store may lack it.
_PREDICTIONS = """
CREATE TABLE IF NOT EXISTS predictions (
    key INTEGER PRIMARY KEY, learner TEXT NOT NULL, window INTEGER NOT NULL,
    record INTEGER NOT NULL, request BLOB NOT NULL, count INTEGER NOT NULL,
    x BLOB NOT NULL, y BLOB NOT NULL, charge INTEGER NOT NULL, head BLOB NOT NULL,
    UNIQUE (learner, request)
) STRICT;
CREATE INDEX IF NOT EXISTS predictions_of_window ON predictions (learner, window, count);
"""
_HAS_PREDICTIONS = "SELECT count(*) FROM sqlite_schema WHERE name = 'predictions_of_window'"
# Keys of the records that are restores. It is made by the first of them.
_RESTORES = "CREATE TABLE IF NOT EXISTS restores (key INTEGER PRIMARY KEY) STRICT"
_HAS_RESTORES = "SELECT count(*) FROM sqlite_schema WHERE name = 'restores'"
# Checksums of the producers of each stream (`littled.store.producers`); made when first served.
CHECKSUMS = "producer_checksums"
_CHECKSUMS = """
CREATE TABLE IF NOT EXISTS producer_checksums (
    stream INTEGER PRIMARY KEY REFERENCES streams, record_number INTEGER NOT NULL,
    last_producer INTEGER NOT NULL, checksum BLOB NOT NULL
) STRICT
"""
_HAS_CHECKSUMS = "SELECT count(*) FROM sqlite_schema WHERE name = 'producer_checksums'"
# Consecutive records of a stream, column by column (`littled.store.segments`); the key is the first
# one's. It is made by the first segment.
_SEGMENTS = """
CREATE TABLE segments (
    key INTEGER PRIMARY KEY, records INTEGER NOT NULL, first_position INTEGER NOT NULL,
    examples INTEGER NOT NULL, head BLOB NOT NULL,
    producers BLOB NOT NULL, sequences BLOB NOT NULL, indices BLOB NOT NULL, counts BLOB NOT NULL,
    x BLOB NOT NULL, y BLOB NOT NULL, users BLOB NOT NULL
) STRICT;
"""
_HAS_SEGMENTS = "SELECT count(*) FROM sqlite_schema WHERE name = 'segments'"
# What was moved into an archive (`littled.store.archive`): a row for each file, by the key of its
# first record, and the places in between that something in the store names. Made by the first.
_ARCHIVED = """
CREATE TABLE archived (
    key INTEGER PRIMARY KEY, last INTEGER NOT NULL, first_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL, examples INTEGER NOT NULL, head BLOB NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
CREATE TABLE archived_points (
    key INTEGER PRIMARY KEY, first_position INTEGER NOT NULL, end_position INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT;
"""
# Where the columns of large records are (`littled.store.columns`): the number of a file, the first
# byte, and how many. Keys are those of records. It is made by the first of them.
_BESIDE = """
CREATE TABLE beside (
    key INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL
) STRICT
"""
_HAS_BESIDE = "SELECT count(*) FROM sqlite_schema WHERE name = 'beside'"
_NAMED = "SELECT file, max(start + size) FROM beside GROUP BY file"
_HAS_ARCHIVED = "SELECT count(*) FROM sqlite_schema WHERE name = 'archived'"
_STREAMS = "SELECT name, id, plan, genesis FROM streams ORDER BY id"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What never changes about a stream. plan: JSON. genesis: head before its first record.

    of_users: whether it protects users, so that its records have them; the plan says so.
    """

    identity: int
    plan: bytes
    genesis: bytes
    of_users: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What never changes about a store. configuration: JSON. fingerprint: of the noise key."""

    instance: str
    salt: bytes
    fingerprint: bytes
    configuration: bytes
    streams: Mapping[str, StreamFacts]
    # Whether any stream protects users, so that the table of records has a column for them.
    of_users: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look at all streams once."""
        of_users = any(stream.of_users for stream in self.streams.values())
        object.__setattr__(self, "of_users", of_users)


def json_bytes(values: Mapping[str, Any]) -> bytes:
    """A JSON-able mapping, order kept, as it is stored and hashed. TypeError or ValueError."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode()


def record_key(stream: int, number: int) -> int:
    """Key of a record in its table; those of one stream stand together, in order."""
    return (stream << NUMBER_BITS) + number


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def translated() -> Iterator[None]:
    """Turn what SQLite raises into StoreFailed or StoreDamaged."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFailed("the disk is full: make room, then start again") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreFailed("another program holds the store's database: close it") from error
    except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreFailed(f"the disk failed ({_code(error)}): look at the system's log") from error
    except (apsw.NoMemError, apsw.InterruptError, apsw.ThreadingViolationError) as error:
        raise StoreFailed(f"the database gave up ({_code(error)})") from error
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreDamaged(
            f"the database does not read as one ({_code(error)}): put back a backup"
        ) from error


def _code(error: Exception) -> str:
    number: int = getattr(error, "extendedresult", -1)
    names = apsw.mapping_result_codes | apsw.mapping_extended_result_codes
    return str(names.get(number, type(error).__name__))


# --- making and reading what never changes --------------------------------------------------------


def make_database(path: Path, facts: Facts) -> None:
    """Fill the empty file `path` with tables and facts; durable on return except for its name."""
    with translated():
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("page_size", STORE_PAGE_BYTES)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            with connection:
                connection.execute(_PREDICTIONS + _TABLES)
                if facts.of_users:
                    connection.execute(_USERS)
                connection.pragma("application_id", APPLICATION_ID)
                number = FORMAT_OF_USERS if facts.of_users else FORMAT
                connection.pragma("user_version", number)
                _write_facts(connection, facts)
        finally:
            connection.close()


def _write_facts(connection: apsw.Connection, facts: Facts) -> None:
    meta = {
        "instance": facts.instance.encode(),
        "salt": facts.salt,
        "fingerprint": facts.fingerprint,
        "configuration": facts.configuration,
        "pulse": b"",
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.executemany(
        "INSERT INTO streams VALUES (?, ?, ?, ?)",
        [
            (stream_facts.identity, name, stream_facts.plan, stream_facts.genesis)
            for name, stream_facts in facts.streams.items()
        ],
    )


def read_facts(connection: apsw.Connection) -> Facts:
    """What never changes. StoreRefused for a file of another kind or version, StoreDamaged."""
    with translated():
        if connection.pragma("application_id") != APPLICATION_ID:
            raise StoreRefused(f"{connection.filename} is not the database of a store")
        # In one transaction, as a daemon may pack its first segment meanwhile, or put the first
        # columns beside the database.
        connection.execute("BEGIN")
        found = connection.pragma("user_version")
        packed, beside = has_segments(connection), has_beside(connection)
        connection.execute("COMMIT")
        if not FORMAT <= found <= FORMAT_MAX:
            raise StoreRefused(
                f"{connection.filename} has format {found}; this version reads formats {FORMAT} "
                f"to {FORMAT_MAX}"
                + (": use the newer version that wrote it" if found > FORMAT_MAX else "")
            )
        meta: dict[Any, Any] = dict(connection.execute("SELECT name, value FROM meta"))
        rows: list[Any] = connection.execute(_STREAMS).fetchall()
    try:
        facts = Facts(
            instance=meta["instance"].decode(),
            salt=meta["salt"],
            fingerprint=meta["fingerprint"],
            configuration=meta["configuration"],
            streams={
                name: StreamFacts(identity, plan, start, of_users=is_of_users(plan))
                for name, identity, plan, start in rows
            },
        )
        number = format_number(
            packed=packed,
            of_users=facts.of_users,
            beside=beside,
            of_blake3=found > FORMATS_BLAKE3,
        )
        sound = found == number and all(
            stream_facts.genesis
            == genesis(facts.salt, name, facts.configuration, stream_facts.plan)
            for name, stream_facts in facts.streams.items()
        )
        json.loads(facts.configuration)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreDamaged(
            "the store's own description cannot be read: put back a backup"
        ) from error
    if not sound:
        raise StoreDamaged(
            "the configuration or a plan is not the one that the store was made with: put back a "
            "backup, or make a new store for a new configuration"
        )
    return facts


def is_of_users(plan: bytes) -> bool:
    """Whether a plan, JSON, protects users. ValueError or AttributeError for what is no plan."""
    unit: object = json.loads(plan).get("unit")
    return unit == "user"


def plan_of(facts: Facts, stream: str) -> dict[str, Any]:
    """The plan of a stream. KeyError: no such stream; StoreDamaged."""
    try:
        plan = json.loads(facts.streams[stream].plan)
    except ValueError as error:
        raise StoreDamaged(f"the plan of {stream} cannot be read: put back a backup") from error
    if not isinstance(plan, dict):
        raise StoreDamaged(f"the plan of {stream} is no plan: put back a backup")
    return plan


def answer_windows(stream: str, plan: Mapping[str, Any]) -> dict[str, AnswerWindows]:
    """The windows of each learner of a stream that answers requests, by the learner's name.

    StoreRefused for a learner of an unknown kind: nobody knows what it needs of a store.
    """
    found = {}
    for name, learner in plan.get("learners", {}).items():
        try:
            windows = AnswerWindows.of(learner)
        except ChargesUnknown as error:
            raise StoreRefused(f"learner {name} of {stream}: {error}") from error
        if windows is not None:
            found[name] = windows
    return found


def has_predictions(connection: apsw.Connection) -> bool:
    """Whether the database has the table of predictions; only stores made before it lack it."""
    return connection.execute(_HAS_PREDICTIONS).fetchall() == [(1,)]


def has_restores(connection: apsw.Connection) -> bool:
    """Whether the store went on from an older copy of itself at some time."""
    return connection.execute(_HAS_RESTORES).fetchall() == [(1,)]


def has_checksums(connection: apsw.Connection) -> bool:
    """Whether there is a table for checksums of producers."""
    return connection.execute(_HAS_CHECKSUMS).fetchall() == [(1,)]


def add_checksums(connection: apsw.Connection) -> None:
    """Add a table for checksums of producers, inside a transaction, where there is none."""
    connection.execute(_CHECKSUMS)


def add_restores(connection: apsw.Connection, keys: Iterable[int]) -> None:
    """Note the keys of records that are restores, inside a transaction."""
    connection.execute(_RESTORES)
    connection.executemany("INSERT INTO restores VALUES (?)", [(key,) for key in keys])


def has_segments(connection: apsw.Connection) -> bool:
    """Whether any records were packed; once so, it stays."""
    return connection.execute(_HAS_SEGMENTS).fetchall() == [(1,)]


def begin_packing(connection: apsw.Connection, facts: Facts) -> None:
    """Make room for segments inside a transaction, unless there is; older versions then refuse."""
    if not has_segments(connection):
        connection.execute(_SEGMENTS)
        _put_format(connection, facts, of_blake3=_is_of_blake3(connection))


def format_number(*, packed: bool, of_users: bool, beside: bool, of_blake3: bool) -> int:
    """The format of a store's file."""
    number = FORMAT_OF_USERS if of_users else FORMAT
    if packed:
        number = FORMAT_PACKED_OF_USERS if of_users else FORMAT_PACKED
    if not beside:
        return number
    return number + (FORMATS_BLAKE3 if of_blake3 else FORMATS_BESIDE)


def _put_format(connection: apsw.Connection, facts: Facts, *, of_blake3: bool) -> None:
    number = format_number(
        packed=has_segments(connection),
        of_users=facts.of_users,
        beside=has_beside(connection),
        of_blake3=of_blake3,
    )
    connection.pragma("user_version", number)


def _is_of_blake3(connection: apsw.Connection) -> bool:
    """Whether columns beside the database are in the chain by their BLAKE3; once so, it stays."""
    found: Any = connection.pragma("user_version")
    return bool(found > FORMATS_BLAKE3)


def has_beside(connection: apsw.Connection) -> bool:
    """Whether columns of any records were put beside the database; once so, it stays."""
    return connection.execute(_HAS_BESIDE).fetchall() == [(1,)]


def begin_beside(connection: apsw.Connection, facts: Facts) -> None:
    """Make room for places of columns inside a transaction, unless there is; see above."""
    if _is_of_blake3(connection):
        return
    if not has_beside(connection):
        connection.execute(_BESIDE)
    _put_format(connection, facts, of_blake3=True)


def named_columns(connection: apsw.Connection) -> dict[int, int]:
    """By number of a column file, how many bytes of it the database names."""
    if not has_beside(connection):
        return {}
    rows: list[Any] = connection.execute(_NAMED).fetchall()
    return dict(rows)


def has_archived(connection: apsw.Connection) -> bool:
    """Whether any records were moved into an archive; once so, it stays."""
    return connection.execute(_HAS_ARCHIVED).fetchall() == [(1,)]


def begin_archiving(connection: apsw.Connection, facts: Facts) -> None:
    """Make room for what is kept of archived records, inside a transaction, unless there is."""
    begin_packing(connection, facts)
    if not has_archived(connection):
        connection.execute(_ARCHIVED)


# --- writing --------------------------------------------------------------------------------------


class Writing:
    """The one connection that writes; used by one thread at a time."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        """Open, and bring what the log holds into the main file. Raises StoreError."""
        self._log_pages = 0
        self._database = path
        self.columns = ColumnWriter(path.parent, vfs)
        self._log = path.with_name(f"{path.name}-wal")
        opened = identity(path)
        with translated():
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        # Before and after it was opened: else it may be another one that was opened.
        self._identities = opened, identity(self._log)
        self.check_place()

    def check_place(self) -> None:
        """Look whether the opened files are still those that their names lead to.

        What is written to files that were moved, replaced or removed is durable there and nowhere
        else, so nobody would find it again. Raises StoreFailed; a look at each name, no more.
        """
        places = [*zip((self._database, self._log), self._identities, strict=True)]
        if self.columns.opened is not None:
            places.append(self.columns.opened)
        for path, opened in places:
            if identity(path) != opened or opened is None:
                raise StoreFailed(
                    f"{path} was moved, replaced or removed while it was in use, so that nothing "
                    "more is stored in it: put it back where it was, or the newest copy of the "
                    "store, and start again"
                )
        self._looked = time.monotonic()

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(int(1000 * STORE_BUSY_SECONDS))
        _distrust(connection)
        if connection.pragma("journal_mode") != "wal":
            raise StoreDamaged("the database has lost its write-ahead log: put back a backup")
        connection.pragma("synchronous", "full")
        connection.pragma("cache_size", -(STORE_CACHE_BYTES // 1024))
        connection.pragma("journal_size_limit", STORE_LOG_BYTES_MAX)
        connection.wal_autocheckpoint(0)
        page_bytes = int(connection.pragma("page_size"))
        self._checkpoint_pages = STORE_CHECKPOINT_BYTES // page_bytes
        self._log_pages_max = STORE_LOG_BYTES_MAX // page_bytes
        # What a predecessor left in the log may be in the system's memory only, if its last sync
        # failed. It is written again and synced before anything is built upon it.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.set_wal_hook(self._count_log)

    def _count_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def complete(self) -> None:
        """Add the table of predictions where a store was made before there were any. StoreError."""
        with translated():
            if has_predictions(self._connection):
                return
        with self.transaction() as connection:
            connection.execute(_PREDICTIONS)

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Lend the connection for one transaction that is durable on leaving. Raises StoreError.

        After any error the connection is good for nothing but `close`.
        """
        with translated():
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
            self._committed()

    def run(self, transaction: str, values: tuple[Any, ...]) -> None:
        """Run one transaction that is written down as a whole, durable on return; see above.

        For a few statements it takes two thirds of the time.
        """
        with translated():
            self._connection.execute(transaction, values)
            self._committed()

    def _committed(self) -> None:
        if time.monotonic() - self._looked >= STORE_PLACE_SECONDS:
            self.check_place()
        if self._log_pages >= self._checkpoint_pages:
            self._checkpoint()

    def _checkpoint(self) -> None:
        self.check_place()
        if self._log_pages < self._log_pages_max:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            return
        # Readers overlapped for so long that the log could not begin anew: hold up the writer.
        self._connection.set_busy_timeout(int(1000 * STORE_LOG_WAIT_SECONDS))
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.BusyError:
            return  # a foreign reader; the commit is durable all the same
        finally:
            self._connection.set_busy_timeout(int(1000 * STORE_BUSY_SECONDS))

    def read(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Rows of a short query. Raises StoreError."""
        with translated():
            return self._connection.execute(statement, values).fetchall()

    def settle_columns(self) -> None:
        """Let columns go on after those that are named; see `ColumnWriter.settle`. StoreError."""
        with translated():
            self.columns.settle(named_columns(self._connection))

    def shrink(self) -> None:
        """Give much room that is free inside the file back to the disk. Raises StoreError."""
        with translated():
            free, pages = (
                int(self._connection.pragma(name)) for name in ("freelist_count", "page_count")
            )
            if free < pages / 4:
                return
            self._connection.execute("VACUUM")
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self, *, failed: bool = False) -> None:
        """Close; after a failure without touching the disk again. Raises StoreError."""
        self.columns.close()
        with translated():
            if failed:
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close(failed)


def _distrust(connection: apsw.Connection) -> None:
    """Believe nothing that the file says beyond its rows."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", True)


# --- reading --------------------------------------------------------------------------------------


class Readers:
    """Connections that read, lent to any thread for one short transaction."""

    def __init__(self, path: Path, vfs: str | None = None) -> None:
        """Nothing is opened yet."""
        self._path = path
        self._vfs = vfs
        self.columns = ColumnReader(path.parent, vfs)
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[apsw.Connection]:
        """Lend a connection; what SQLite raises inside becomes a StoreError."""
        with self._lock:
            if self._closed:
                raise StoreFailed("the store is closed")
            connection = self._idle.pop() if self._idle else None
        with translated():
            if connection is None:
                connection = self._open()
            try:
                yield connection
            except BaseException:
                connection.close(True)
                raise
        with self._lock:
            keep = not self._closed and len(self._idle) < STORE_READERS_IDLE_MAX
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def _open(self) -> apsw.Connection:
        if self._unwritable():
            connection = apsw.Connection(
                f"{self._path.absolute().as_uri()}?immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
                vfs=self._vfs,
            )
        else:
            connection = apsw.Connection(
                str(self._path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs
            )
        connection.set_busy_timeout(int(1000 * STORE_BUSY_SECONDS))
        _distrust(connection)
        return connection

    def _unwritable(self) -> bool:
        """Whether this is a copy on a medium that cannot be written, so that nobody else does."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return not log.exists() and not os.access(self._path.parent, os.W_OK)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        with translated():
            for connection in idle:
                connection.close()
