"""The SQLite file: what it is, its log, its connections."""

import os
import threading
from pathlib import Path

import apsw
import pytest

from littled.store.database import FORMAT, read_facts
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.sqlite import (
    APPLICATION_ID,
    SqliteReaders,
    SqliteWriting,
    translated,
)
from support.stores import STREAM, change, make_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database of a new store."""
    return make_store(tmp_path / "store") / "store.sqlite"


def write(writing: SqliteWriting, name: str, size: int) -> None:
    with writing.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, zeroblob(?))", (name, size))


def log_bytes(path: Path) -> int:
    return path.with_name("store.sqlite-wal").stat().st_size


def test_the_file_says_what_it_is(path: Path) -> None:
    connection = apsw.Connection(str(path))
    names = ("application_id", "user_version", "journal_mode")
    found = [connection.pragma(name) for name in names]
    connection.close()
    assert found == [APPLICATION_ID, FORMAT, "wal"]
    assert APPLICATION_ID.to_bytes(4, "big") == b"ltld"


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("PRAGMA application_id = 1", "is not the database of a store"),
        ("PRAGMA user_version = 97", "has format 97; this version reads formats 1 to 96"),
    ],
)
def test_another_file_or_a_later_format_is_refused(
    path: Path, statement: str, sentence: str
) -> None:
    change(path, statement)
    readers = SqliteReaders(path)
    with pytest.raises(StoreRefused, match=sentence):
        read_facts(readers)
    readers.close()


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (apsw.FullError(), StoreFailed, "the disk is full: make room"),
        (apsw.BusyError(), StoreFailed, "another program holds"),
        (apsw.IOError(), StoreFailed, "the disk failed"),
        (apsw.ReadOnlyError(), StoreFailed, "the disk failed"),
        (apsw.NoMemError(), StoreFailed, "gave up"),
        (apsw.CorruptError(), StoreDamaged, "does not read as one"),
        (apsw.SQLError(), StoreDamaged, "does not read as one"),
        (UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret"), StoreDamaged, "does not read"),
    ],
)
def test_what_sqlite_raises_becomes_an_error_of_the_store(
    error: Exception, kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence) as caught, translated():
        raise error
    assert "secret" not in str(caught.value)


# --- writing --------------------------------------------------------------------------------------


def test_a_commit_is_synced(path: Path) -> None:
    writing = SqliteWriting(path, None)
    assert writing.read("PRAGMA synchronous", ()) == [(2,)]
    assert writing.read("PRAGMA journal_mode", ()) == [("wal",)]
    writing.close()


def test_the_log_is_bounded_while_much_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 20)
    writing = SqliteWriting(path, None)
    largest = 0
    for number in range(40):
        write(writing, f"part {number}", 300_000)
        largest = max(largest, log_bytes(path))
    assert largest < (1 << 20) + 2 * 400_000
    assert path.stat().st_size > 10 << 20
    writing.close()


@pytest.mark.long
def test_the_log_is_bounded_while_others_read_all_the_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers that overlap never leave a moment in which the log could begin anew by itself."""
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 20)
    monkeypatch.setattr("littled.store.sqlite.STORE_LOG_BYTES_MAX", 2 << 20)
    writing = SqliteWriting(path, None)
    readers = SqliteReaders(path)
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            with readers.lend() as connection:
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM meta").fetchall()
                stop.wait(0.01)
                connection.execute("COMMIT")

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    largest = 0
    for number in range(60):
        write(writing, f"part {number}", 300_000)
        largest = max(largest, log_bytes(path))
    stop.set()
    for thread in threads:
        thread.join()
    assert largest < (2 << 20) + 2 * 400_000
    readers.close()
    writing.close()


def test_a_reader_that_never_ends_holds_up_a_commit_for_a_moment_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 19)
    monkeypatch.setattr("littled.store.sqlite.STORE_LOG_BYTES_MAX", 1 << 20)
    monkeypatch.setattr("littled.store.sqlite.STORE_LOG_WAIT_SECONDS", 0.01)
    writing = SqliteWriting(path, None)
    stranger = apsw.Connection(str(path))
    stranger.execute("BEGIN")
    stranger.execute("SELECT count(*) FROM meta").fetchall()
    for number in range(10):
        write(writing, f"part {number}", 300_000)
    assert log_bytes(path) > 2 << 20
    pages = writing._log_pages
    stranger.execute("COMMIT")
    stranger.close()
    write(writing, "last", 100)
    write(writing, "last", 100)
    assert writing._log_pages < pages
    assert log_bytes(path) <= 1 << 20
    writing.close()


def test_what_a_killed_process_left_in_the_log_is_settled_at_the_next_opening(path: Path) -> None:
    child = os.fork()
    if not child:
        writing = SqliteWriting(path, None)
        write(writing, "left", 1000)
        os._exit(0)
    os.waitpid(child, 0)
    assert log_bytes(path) > 1000
    writing = SqliteWriting(path, None)
    assert log_bytes(path) == 0
    assert writing.read("SELECT length(value) FROM meta WHERE name = 'left'", ()) == [(1000,)]
    writing.close()


def test_a_foreign_writer_is_waited_for_and_then_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_BUSY_SECONDS", 0.01)
    writing = SqliteWriting(path, None)
    stranger = apsw.Connection(str(path))
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailed, match="another program holds the store's database"):
        write(writing, "name", 1)
    stranger.close()
    writing.close(failed=True)


def test_closing_after_a_failure_leaves_the_log_alone(path: Path) -> None:
    writing = SqliteWriting(path, None)
    write(writing, "name", 1000)
    size = log_bytes(path)
    writing.close(failed=True)
    assert log_bytes(path) == size


def test_a_database_without_its_log_mode_is_damage(path: Path) -> None:
    change(path, "PRAGMA journal_mode = delete")
    with pytest.raises(StoreDamaged, match="lost its write-ahead log"):
        SqliteWriting(path, None)


# --- reading --------------------------------------------------------------------------------------


def test_readers_cannot_write(path: Path) -> None:
    readers = SqliteReaders(path)
    with pytest.raises(StoreFailed, match="READONLY"), readers.lend() as connection:
        connection.execute("DELETE FROM meta")
    readers.close()


def test_connections_are_lent_again_and_few_are_kept(path: Path) -> None:
    readers = SqliteReaders(path)
    with readers.lend() as first:
        pass
    with readers.lend() as second:
        assert second is first
        held = [readers.lend() for _ in range(8)]
        others = [each.__enter__() for each in held]
        assert len({id(each) for each in (second, *others)}) == 9
        for each in held:
            each.__exit__(None, None, None)
    assert len(readers._lending._idle) == 4
    readers.close()
    with pytest.raises(StoreFailed, match="the store is closed"), readers.lend():
        pass


def test_a_connection_in_which_something_failed_is_not_lent_again(path: Path) -> None:
    readers = SqliteReaders(path)
    with pytest.raises(StoreDamaged), readers.lend() as first:
        first.execute("SELECT nothing FROM nowhere")
    with readers.lend() as second:
        assert second is not first
    readers.close()


def test_a_connection_lent_while_closing_is_closed_when_it_comes_back(path: Path) -> None:
    readers = SqliteReaders(path)
    with readers.lend() as connection:
        readers.close()
        assert connection.execute("SELECT count(*) FROM streams").fetchall() == [(1,)]
    with pytest.raises(apsw.ConnectionClosedError):
        connection.execute("SELECT 1")


def test_connections_move_between_threads(path: Path) -> None:
    readers = SqliteReaders(path)
    found = []

    def read() -> None:
        for _ in range(50):
            with readers.lend() as connection:
                found.append(connection.execute("SELECT name FROM streams").fetchall())

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[(STREAM,)]] * 300
    readers.close()


def test_a_copy_on_a_medium_that_cannot_be_written_is_read_without_a_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    readers = SqliteReaders(path)
    assert set(read_facts(readers).streams) == {STREAM}
    assert not path.with_name("store.sqlite-wal").exists()
    readers.close()
