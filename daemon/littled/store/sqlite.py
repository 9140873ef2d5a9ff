"""SQLite: the database of a store as one file in a folder, with columns of large records beside it.

Everything that SQLite raises leaves here as StoreFailed (the disk) or StoreDamaged (the contents).
Write-ahead log with full syncs: a commit that returned is on the disk. The log is copied into the
main file by the commits themselves, so its size is bounded without a thread of its own.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from littled.limits import (
    STORE_BUSY_SECONDS,
    STORE_CACHE_BYTES,
    STORE_CHECKPOINT_BYTES,
    STORE_LOCK_SECONDS,
    STORE_LOG_BYTES_MAX,
    STORE_LOG_WAIT_SECONDS,
    STORE_PAGE_BYTES,
    STORE_PLACE_SECONDS,
    STORE_TAKE_OVER_SECONDS,
    TAIL_SECONDS,
)
from littled.store.columns import ColumnReader, Columns, ColumnWriter
from littled.store.database import (
    FORMATS_TAIL,
    PUT_PRODUCER,
    TAIL,
    Connection,
    Row,
    Undo,
    has_beside,
    insert_record,
)
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.files import (
    PRIVATE_FOLDER,
    FolderLock,
    HeldBriefly,
    create_private,
    identity,
    refuse_readable,
    sync_folder,
    sync_name,
)
from littled.store.lending import Lending
from littled.store.tail import TAIL_NAME, Alone, Tail, next_token

DATABASE_NAME = "store.sqlite"
LOCK_NAME = "lock"
# "ltld": what the file says about itself to anybody who finds it.
APPLICATION_ID = 0x6C746C64

# How often somebody who waits for another process looks again.
_LOOK_SECONDS = 0.02
_HAS_TABLE = "SELECT count(*) FROM sqlite_schema WHERE name = ?"
_ALL_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_NAMED = "SELECT file, max(start + size) FROM beside GROUP BY file"
_INSERT_BESIDE = "INSERT INTO beside VALUES (?, ?, ?, ?)"
_FORGET_FACT = "DELETE FROM meta WHERE name = ?"
_FACT = "SELECT value FROM meta WHERE name = ?"
_KNOWS = "SELECT 1 FROM producers WHERE stream = ? AND name = ? AND next_sequence >= ?"
_PUT_FACT = """
INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


# --- errors ---------------------------------------------------------------------------------------


def translated() -> AbstractContextManager[None]:
    """Turn what SQLite raises into StoreFailed or StoreDamaged."""
    return _TRANSLATED


class _Translated:
    """What `translated` returns; a generator would take four times as long."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise what is to be raised in place of an error."""
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise _translation(error) from error


_TRANSLATED = _Translated()


def _translation(error: apsw.Error | UnicodeDecodeError) -> StoreError:
    match error:
        case apsw.FullError():
            return StoreFailed("the disk is full: make room, then start again")
        case apsw.BusyError() | apsw.LockedError():
            return StoreFailed("another program holds the store's database: close it")
        case apsw.IOError() | apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreFailed(f"the disk failed ({_code(error)}): look at the system's log")
        case apsw.NoMemError() | apsw.InterruptError() | apsw.ThreadingViolationError():
            return StoreFailed(f"the database gave up ({_code(error)})")
    return StoreDamaged(f"the database does not read as one ({_code(error)}): put back a backup")


def _code(error: Exception) -> str:
    number: int = getattr(error, "extendedresult", -1)
    names = apsw.mapping_result_codes | apsw.mapping_extended_result_codes
    return str(names.get(number, type(error).__name__))


class SqliteConnection(apsw.Connection):
    """A connection of SQLite, as `littled.store.database.Connection` has it."""

    @contextmanager
    def rows(self, statement: str, values: Row) -> Iterator[Iterator[Row]]:
        """What a statement finds, row by row, of which only some may be taken."""
        with closing(self.execute(statement, values)) as cursor:
            yield cursor

    def has_table(self, name: str) -> bool:
        """Whether there is such a table or index."""
        return self.execute(_HAS_TABLE, (name,)).fetchall() == [(1,)]

    def tables(self) -> set[str]:
        """The names of all tables."""
        rows: list[Any] = self.execute(_ALL_TABLES).fetchall()
        return {name for (name,) in rows}

    def format(self) -> int:
        """The format of the store. StoreRefused for the file of something else."""
        if self.pragma("application_id") != APPLICATION_ID:
            raise StoreRefused(f"{self.filename} is not the database of a store")
        return int(self.pragma("user_version"))

    def put_format(self, number: int) -> None:
        """Change it, inside a transaction."""
        self.pragma("user_version", number)


# --- writing --------------------------------------------------------------------------------------


class SqliteWriting:
    """The one connection that writes; used by one thread at a time."""

    def __init__(self, path: Path, vfs: str | None, *, incomplete: bool = False) -> None:
        """Open, and bring what the log and the tail hold into the main file. Raises StoreError.

        incomplete: go on also where a copy lacks some of its tail.
        """
        self._log_pages = 0
        self._database = path
        self.columns = ColumnWriter(path.parent, vfs)
        self._tail = Tail(path.parent, vfs)
        # What is in the tail and not in the database. Whoever changes it or uses the connection
        # has its turn; who has it may read meanwhile, which asks for it again.
        self._waiting: list[Alone] = []
        self._token: bytes | None = None
        self._turn = threading.RLock()
        self._failed = self._inside = False
        self._log = path.with_name(f"{path.name}-wal")
        opened = identity(path)
        with translated():
            connection = SqliteConnection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        # Before and after it was opened: else it may be another one that was opened.
        self._identities = opened, identity(self._log)
        # Without its name it would keep nobody else from the store.
        lock = path.with_name(LOCK_NAME)
        self._lock = None if (held := identity(lock)) is None else (lock, held)
        try:
            self.check_place()
            self._find_tail(incomplete=incomplete)
        except BaseException:
            self.close(failed=True)
            raise

    def check_place(self) -> None:
        """Look whether the opened files are still those that their names lead to.

        What is written to files that were moved, replaced or removed is durable there and nowhere
        else, so nobody would find it again. Raises StoreFailed; a look at each name, no more.
        """
        places = [*zip((self._database, self._log), self._identities, strict=True)]
        others = (self.columns.opened, self._tail.opened, self._lock)
        places += [found for found in others if found is not None]
        for path, opened in places:
            if identity(path) != opened or opened is None:
                raise StoreFailed(
                    f"{path} was moved, replaced or removed while it was in use, so that nothing "
                    "more is stored in it: put it back where it was, or the newest copy of the "
                    "store, and start again"
                )
        self._looked = time.monotonic()

    def _prepare(self, connection: SqliteConnection) -> None:
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

    @contextmanager
    def transaction(self) -> Iterator[SqliteConnection]:
        """Lend the connection for one transaction that is durable on leaving. Raises StoreError.

        What waits in the tail goes into the database with it, and from then on the tail is for what
        follows it. After any error the connection is good for nothing but `close`.
        """
        with self._turn:
            if self._failed:
                raise StoreFailed("an earlier commit failed")
            self._failed = self._inside = True
            try:
                with translated():
                    self._connection.execute("BEGIN IMMEDIATE")
                    self._check_token()
                    token = self._put_waiting() if self._token is not None else None
                    yield self._connection
                    self._connection.execute("COMMIT")
            finally:
                self._inside = False
            if token is not None:
                self._token, self._waiting = token, []
                self._tail.begin(token)
            with translated():
                self._committed()
            self._failed = False

    def _check_token(self) -> None:
        """Raise StoreFailed where another process began or used a tail, whose slots these are.

        Nobody else can, as long as the file stays there by which the store is locked.
        """
        if _token(self._connection) != self._token:
            self._connection.execute("ROLLBACK")  # the other one goes on
            raise StoreFailed(
                f"another process has written to the store in {self._database.parent}: let only "
                "one serve it, and leave its lock file where it is"
            )

    def _put_waiting(self) -> bytes:
        """Put what waits into the database inside a transaction; the token that it names then."""
        if self._waiting:
            producers = {producer[0]: producer for producer, _ in self._waiting}
            self._connection.executemany(PUT_PRODUCER, producers.values())
            columns = len(self._waiting[0][1])
            records = [record for _, record in self._waiting]
            self._connection.executemany(insert_record(columns), records)
        return self._put_token()

    def _put_token(self) -> bytes:
        """Draw a new token inside a transaction, which frees all slots that were written before."""
        token = next_token(self._token)
        self._connection.execute(_PUT_FACT, (TAIL, token))
        return token

    def bring_in(self) -> None:
        """Put into the database what waits in the tail; on any thread. Raises StoreError."""
        if self._waiting:
            with self._turn:
                assert not self._inside, "somebody reads what a transaction brings in meanwhile"
                if self._waiting:
                    with self.transaction():
                        pass

    def put_alone(self, producer: Row, record: Row) -> None:
        """Put a producer and its one record, durable on return, into the tail; see above.

        After any error nothing more is committed: the slot may be there, and another token would
        make it one of a later moment.
        """
        with self._turn:
            if self._failed:
                raise StoreFailed("an earlier commit failed")
            try:
                self._put_alone((producer, record))
            except BaseException:
                self._failed = True
                raise

    def _put_alone(self, alone: Alone) -> None:
        if not self._tail.put(alone):
            self._put_without_slot(alone)
            return
        self._waiting.append(alone)
        if time.monotonic() - self._looked >= STORE_PLACE_SECONDS:
            self.check_place()

    def _put_without_slot(self, alone: Alone) -> None:
        """The same where the tail is not open, or full, or the record is too long for it."""
        if self._tail.is_open:
            self.bring_in()
        else:
            self._begin_tail()
        if self._tail.put(alone):
            self._waiting.append(alone)
            return
        producer, record = alone
        with self.transaction() as connection:
            connection.execute(PUT_PRODUCER, producer)
            connection.execute(insert_record(len(record)), record)

    def _find_tail(self, *, incomplete: bool) -> None:
        """Bring in what a predecessor left there that ended suddenly."""
        with translated():
            token = _token(self._connection)
            self._waiting = _held_by(self._tail, self._connection, incomplete=incomplete)
        if token is None:
            if not incomplete:  # else one of a later moment stays until all is done
                self._tail.remove()  # by one that ended before it could do so itself
            return
        self._token = token
        # also without any, so that nothing that still stands there can ever be taken for one
        with self.transaction():
            pass

    def _begin_tail(self) -> None:
        """Make a tail, and let earlier versions know that there is one."""
        self._tail.open()
        if self._token is not None:
            return
        with self.transaction() as connection:
            connection.put_format(connection.format() + FORMATS_TAIL)
            token = self._put_token()
        self._token = token
        self._tail.begin(token)

    def _end_tail(self) -> None:
        """Leave a database that earlier versions understand as well, and no tail."""
        if self._token is not None:
            with self.transaction() as connection:
                connection.execute(_FORGET_FACT, (TAIL,))
                connection.put_format(connection.format() - FORMATS_TAIL)
            self._token = None
        self._tail.remove()  # also one of a later moment, without which a copy goes on

    def put_records(
        self,
        connection: Connection,
        statement: str,
        rows: Sequence[Row],
        beside: Mapping[int, Columns],
    ) -> None:
        """Add records inside a transaction, the columns of large ones to a file of their own."""
        if beside:
            spans = self.columns.append(list(beside.values()))
            places = [(key, *span) for key, span in zip(beside, spans, strict=True)]
            connection.executemany(_INSERT_BESIDE, places)
        connection.executemany(statement, rows)

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
        self.bring_in()
        with self._turn, translated():
            return self._connection.execute(statement, values).fetchall()

    def settle_columns(self) -> None:
        """Let columns go on after those that are named; see `ColumnWriter.settle`. StoreError."""
        self.bring_in()
        with self._turn, translated():
            self.columns.settle(_named_columns(self._connection))

    def shrink(self) -> None:
        """Give much room that is free inside the file back to the disk. Raises StoreError."""
        self.bring_in()
        with self._turn, translated():
            free, pages = (
                int(self._connection.pragma(name)) for name in ("freelist_count", "page_count")
            )
            if free < pages / 4:
                return
            self._connection.execute("VACUUM")
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self, *, failed: bool = False) -> None:
        """Close; after a failure without touching the disk again. Raises StoreError."""
        with self._turn:
            failed = failed or self._failed
            try:
                if not failed:
                    self._end_tail()
            finally:
                self._waiting = []
                self.columns.close()
                self._tail.close()
                with translated():
                    if failed:
                        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                    self._connection.close(failed)


def _token(connection: Connection) -> bytes | None:
    """What the slots of the tail name that are not in the database yet; None without a tail."""
    found = connection.execute(_FACT, (TAIL,)).fetchall()
    return found[0][0] if found else None


def _knows(connection: Connection, alone: Alone) -> bool:
    """Whether what was in a slot is in the database, which also names its producer's place."""
    _, stream, name, following = alone[0]
    return bool(connection.execute(_KNOWS, (stream, name, following)).fetchall())


def _held_by(tail: Tail, connection: Connection, *, incomplete: bool) -> list[Alone]:
    """What a tail holds for this database; see `Tail.read`."""
    known = partial(_knows, connection)
    return tail.read(_token(connection), known=known, incomplete=incomplete)


def _distrust(connection: SqliteConnection) -> None:
    """Believe nothing that the file says beyond its rows."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", True)


def _named_columns(connection: Connection) -> dict[int, int]:
    """By number of a column file, how many bytes of it the database names."""
    if not has_beside(connection):
        return {}
    rows: list[Any] = connection.execute(_NAMED).fetchall()
    return dict(rows)


# --- reading --------------------------------------------------------------------------------------


class SqliteReaders:
    """Connections that read, lent to any thread for one short transaction."""

    def __init__(
        self,
        path: Path,
        vfs: str | None = None,
        *,
        glancing: bool = False,
        bring_in: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is opened yet. glancing: see `littled.store.database.Database.glances`.

        bring_in: puts into the database what this process keeps elsewhere.
        """
        self._bring_in = bring_in
        self._path = path
        self._vfs = vfs
        self._glancing = glancing
        self.columns: ColumnReader | None = ColumnReader(path.parent, vfs)
        self._lending = Lending(self._open, SqliteConnection.close, translated)

    def lend(self) -> AbstractContextManager[SqliteConnection]:
        """Lend a connection; what SQLite raises inside becomes a StoreError."""
        self._bring_in()
        return self._lending.lend()

    @contextmanager
    def reading(self) -> Iterator[SqliteConnection]:
        """Lend a connection for one reading transaction; see `lend`."""
        with self.lend() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with its own file, shortened; reads all of it."""
        with self.lend() as connection:
            rows: list[Any] = connection.execute("PRAGMA integrity_check(10)").fetchall()
        found = ["; ".join(str(row[0]).splitlines()) for row in rows]
        return [] if found == ["ok"] else [f"SQLite's own check: {problem}" for problem in found]

    def _open(self) -> SqliteConnection:
        if self._alone():
            connection = SqliteConnection(
                f"{self._path.absolute().as_uri()}?immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
                vfs=self._vfs,
            )
        else:
            connection = SqliteConnection(
                str(self._path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs
            )
        connection.set_busy_timeout(int(1000 * STORE_BUSY_SECONDS))
        # the last one to close would ask for a lock to empty the log, which it cannot do
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _distrust(connection)
        return connection

    def _alone(self) -> bool:
        """Whether it can be read without a log, which SQLite would make, and could not remove.

        So it is with a copy on a medium that cannot be written, so that nobody else does.
        """
        if self._path.with_name(f"{self._path.name}-wal").exists():
            return False
        return self._glancing or not os.access(self._path.parent, os.W_OK)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        self._lending.close()


# --- the folder -----------------------------------------------------------------------------------


class SqliteDatabase:
    """The database of the store in a folder."""

    def __init__(self, folder: Path, vfs: str | None = None) -> None:
        """Nothing is opened yet.

        vfs: name of a registered SQLite file system, None for the usual.
        """
        self.folder = folder
        self.name = str(folder)
        self.path = folder / DATABASE_NAME
        self._vfs = vfs
        # What writes there in this process, if anything does.
        self._writing: SqliteWriting | None = None

    def exists(self) -> bool:
        """Whether there is a file."""
        return self.path.exists()

    def check(self) -> None:
        """Raise StoreRefused where other users can reach the file. OSError."""
        refuse_readable(self.path)

    def notes(self) -> list[str]:
        """Nothing that is not known of every folder."""
        return []

    def lock(self, *, take_over: bool = False) -> FolderLock:
        """Lock the folder. StoreRefused while another process serves the store; OSError.

        take_over: wait for that process to end, as nobody can take the lock from it. Who only
        brings in a tail (`recover`) is waited for in any case.
        """
        begun = time.monotonic()
        while True:
            try:
                return FolderLock(self.folder / LOCK_NAME)
            except StoreRefused as error:
                # At once it may not say yet that it is held briefly.
                wait = max(_LOOK_SECONDS, STORE_TAKE_OVER_SECONDS * take_over)
                if isinstance(error, HeldBriefly):
                    wait = STORE_LOCK_SECONDS
                if time.monotonic() - begun >= wait:
                    raise
                time.sleep(_LOOK_SECONDS)

    def recover(self, *, incomplete: bool = False) -> None:
        """Bring in the tail that a process has left which ended suddenly.

        Where one is at work, wait until it has done so: then all is there that it had acknowledged.
        incomplete: go on also with a copy that lacks some of it. StoreRefused where it does not,
        or where something is in the tail and the folder cannot be written; StoreError.
        """
        tail = Tail(self.folder, self._vfs)
        there = os.path.lexists(tail.path)
        if not there and (incomplete or self._seen_token(self.glances()) is None):
            return
        first: bytes | None = None
        begun = time.monotonic()
        while True:
            try:
                lock = FolderLock(self.folder / LOCK_NAME, briefly=True)
            except (StoreRefused, OSError) as error:
                token = self._seen_token(self.readers())
                if first is not None and token != first:
                    return
                if token is None or not tail.begins(token):
                    if not isinstance(error, StoreRefused) and not incomplete:
                        self._refuse_incomplete(tail, token)
                    return
                first = token
                wait = STORE_LOCK_SECONDS if isinstance(error, StoreRefused) else 2 * TAIL_SECONDS
                if time.monotonic() - begun >= wait:
                    raise self._not_brought_in(error) from error
                time.sleep(_LOOK_SECONDS)
            else:
                try:
                    self._bring_in_left(tail, incomplete=incomplete)
                finally:
                    lock.release()
                return

    def _refuse_incomplete(self, tail: Tail, token: bytes | None) -> None:
        """StoreRefused for a copy, on a medium that cannot be written, that lacks something.

        A daemon may be at work on it by another mount.
        """
        try:
            self._held_by(tail, self.readers())
        except StoreRefused:
            if self._seen_token(self.readers()) == token:
                raise

    def _bring_in_left(self, tail: Tail, *, incomplete: bool) -> None:
        """Bring in what is left in the tail of a store that nobody serves.

        A copy that lacks some of it gets what there is, and stays one that lacks something.
        """
        lacks = False
        try:
            left = self._held_by(tail, self.glances())
        except StoreRefused:
            if not incomplete:
                raise
            left, lacks = self._held_by(tail, self.glances(), incomplete=True), True
        if left:
            if not os.access(self.folder, os.W_OK):
                raise self._not_brought_in(None)
            SqliteWriting(self.path, self._vfs, incomplete=lacks).close(failed=lacks)

    def _not_brought_in(self, error: Exception | None) -> StoreError:
        """Why what is in the tail is not in the database."""
        if isinstance(error, StoreRefused):
            return StoreFailed(
                f"whoever has the store in {self.folder} open does not bring in what came last: "
                "see whether it still works, and try again"
            )
        return StoreRefused(
            f"the store in {self.folder} was not closed, and what came last is only in "
            f"{TAIL_NAME}: make a copy that can be written, as it has to be brought in"
        )

    def _held_by(
        self, tail: Tail, readers: SqliteReaders, *, incomplete: bool = False
    ) -> list[Alone]:
        """What a tail holds for the database as it is."""
        with closing(readers), readers.lend() as connection:
            return _held_by(tail, connection, incomplete=incomplete)

    def _seen_token(self, readers: SqliteReaders) -> bytes | None:
        """What the database names now."""
        with closing(readers), readers.lend() as connection:
            return _token(connection)

    def readers(self) -> SqliteReaders:
        """Connections that read; nothing is opened yet."""
        return SqliteReaders(self.path, self._vfs, bring_in=self._bring_in)

    def _bring_in(self) -> None:
        if self._writing is not None:
            self._writing.bring_in()

    def glances(self) -> SqliteReaders:
        """The same for one short look that leaves nothing behind."""
        return SqliteReaders(self.path, self._vfs, glancing=True)

    def writing(self, *, incomplete: bool = False) -> SqliteWriting:
        """Open the file for writing; see `SqliteWriting`. Raises StoreError."""
        self._writing = SqliteWriting(self.path, self._vfs, incomplete=incomplete)
        return self._writing

    def sync_names(self) -> None:
        """Make the names of files durable. OSError."""
        sync_folder(self.folder)

    def prepare(self, made: list[Undo]) -> list[Path]:
        """Make the folder unless there is an empty one; the folders that get new names.

        made: gets what takes back each step. StoreRefused where something is in it;
        OSError.
        """
        try:
            exists = self.folder.exists()
            if exists and any(self.folder.iterdir()):
                raise StoreRefused(
                    f"{self.folder} is not empty: name a new folder, or remove what is left there"
                )
        except OSError as error:
            raise StoreRefused(f"{self.folder} cannot hold a store: {error.strerror}") from error
        if exists:
            sync_name(self.folder)
            return [self.folder]
        self.folder.mkdir(PRIVATE_FOLDER)
        made.append(self.folder.rmdir)
        return [self.folder, self.folder.absolute().parent]

    @contextmanager
    def creating(self, write: Callable[[Connection], None], made: list[Undo]) -> Iterator[None]:
        """Make the file under another name; only on leaving is there a store.

        made: as in `prepare`. Raises StoreError; OSError.
        """
        arriving = self.path.with_name(f"{self.path.name}.new")
        # SQLite gives its log the same permissions as the file itself.
        create_private(arriving, b"")
        made += [arriving.with_name(f"{arriving.name}{end}").unlink for end in ("", "-wal", "-shm")]
        _make(arriving, write)
        yield
        lock = self.folder / LOCK_NAME
        create_private(lock, b"")
        made.append(lock.unlink)
        self.folder.chmod(PRIVATE_FOLDER)
        # Only now does the folder hold a store.
        made.append(self.path.unlink)
        arriving.rename(self.path)


def _make(path: Path, write: Callable[[Connection], None]) -> None:
    """Fill the empty file `path` with tables; durable on return except for its name."""
    with translated():
        connection = SqliteConnection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("page_size", STORE_PAGE_BYTES)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            with connection:
                connection.pragma("application_id", APPLICATION_ID)
                write(connection)
        finally:
            connection.close()
