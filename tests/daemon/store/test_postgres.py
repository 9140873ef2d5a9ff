"""PostgreSQL under a store: what is refused, what is fatal, and what survives."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from littled.store.database import META, PREDICTIONS, TABLES, USERS
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.place import Place
from littled.store.postgres import PostgresWriting, translated, translated_statement
from littled.store.records import SourcePlace
from littled.store.store import Store
from littled.store.verify import verify
from support.databases import Postgres
from support.marks import read_mark
from support.postgres import asked, url_of
from support.stores import (
    LEARNER,
    NEAR,
    STREAM,
    answer,
    contents,
    entry,
    feed,
    fill,
    new_record,
    paid,
    plan_values,
    release,
)


class Home:
    """A store on a server, with its key and mark in a folder."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.key, self.mark = url, folder / "key", folder / "mark"

    def make(self) -> "Home":
        """Make the store, in a schema of its own."""
        schema = self.url.rpartition("search_path%3D")[2]
        asked(self.url, f"CREATE SCHEMA {schema}")
        Store.create(self.url, {"streams": [STREAM]}, {STREAM: plan_values()}, self.key, self.mark)
        return self

    def open(self, **options: Any) -> Store:
        """The store."""
        return Store.open(self.url, self.key, self.mark, **options)


@pytest.fixture
def home(server: Postgres, tmp_path: Path) -> Home:
    """A new store."""
    return Home(url_of(server, f"s{abs(hash(tmp_path))}"), tmp_path).make()


def end_backends(url: str, what: str = "true") -> int:
    """Let the server end the connections of stores; how many."""
    statement = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608
        f"WHERE application_name = 'littled' AND pid <> pg_backend_pid() AND {what}"
    )
    return len(asked(url, statement))


# --- words ----------------------------------------------------------------------------------------


def test_values_are_numbered_and_tables_have_other_words() -> None:
    assert translated_statement("SELECT ?, ? FROM t WHERE a = ?") == (
        "SELECT $1, $2 FROM t WHERE a = $3"
    )
    assert translated_statement("DELETE FROM t WHERE a = ?2 AND b = ?1") == (
        "DELETE FROM t WHERE a = $2 AND b = $1"
    )
    for statement in (META, TABLES, PREDICTIONS, USERS):
        found = translated_statement(statement)
        assert not {"BLOB", "STRICT", "INTEGER", "REFERENCES", "x''"} & set(found.split())
    assert "ALTER TABLE records ALTER COLUMN x SET STORAGE EXTERNAL" in translated_statement(TABLES)


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (psycopg.errors.DiskFull("secret"), StoreFailed, "the disk of the database is full"),
        (psycopg.errors.AdminShutdown("secret"), StoreFailed, "failed \\(57P01\\)"),
        (psycopg.errors.ReadOnlySqlTransaction("secret"), StoreFailed, "read only"),
        (psycopg.errors.InsufficientPrivilege("secret"), StoreFailed, "make it the owner"),
        (psycopg.errors.UniqueViolation("secret"), StoreDamaged, "nobody here has written"),
        (psycopg.errors.UndefinedTable("secret"), StoreDamaged, "put back a backup"),
        (psycopg.InterfaceError("secret"), StoreFailed, "failed \\(InterfaceError\\)"),
    ],
)
def test_what_psycopg_raises_becomes_an_error_of_the_store(
    error: Exception, kind: type[Exception], sentence: str
) -> None:
    """And takes nothing along: its details may be values of rows."""
    with pytest.raises(kind, match=sentence) as caught, translated():
        raise error
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://tests:secret@localhost/db",
        "postgresql://localhost/db?password=secret",
        "postgresql://localhost/db?sslpassword=secret",
        "postgresql://localhost:secret/db?nothing=secret",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"PGPASSFILE") as caught:
        Store.open(url, tmp_path / "key", tmp_path / "mark")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("missing", ["key", "mark"])
def test_key_and_mark_have_to_be_named(missing: str, tmp_path: Path) -> None:
    files: dict[str, Any] = {"key_path": tmp_path / "key", "mark_path": tmp_path / "mark"}
    with pytest.raises(StoreRefused, match="--key FILE and --mark PLACE"):
        Place.of("postgresql:///db", **(files | {f"{missing}_path": None}))


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    url = f"postgresql://tests@/db?host={str(tmp_path).replace('/', '%2F')}"
    with pytest.raises(StoreRefused, match="cannot be reached"):
        Store.open(url, tmp_path / "key", tmp_path / "mark")


def test_a_schema_without_a_store_or_with_one_is_told(home: Home, server: Postgres) -> None:
    other = Home(url_of(server, "nothing"), home.key.parent)
    with pytest.raises(StoreRefused, match="make one with littled init"):
        other.open()
    home.mark.unlink()
    with pytest.raises(StoreRefused, match="has a table meta already"):
        Store.create(home.url, {}, {STREAM: plan_values()}, home.key, home.mark)
    assert not home.mark.exists()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("synchronous_commit = off", "synchronous_commit = off for this role"),
        ("synchronous_commit = local", "synchronous_commit = local for this role"),
        ("log_statement = 'all'", "writes the values of statements, which are examples"),
        ("log_min_duration_statement = 0", "writes the values of statements"),
        ("log_parameter_max_length_on_error = -1", "writes the values of statements"),
    ],
)
def test_a_role_that_loses_commits_or_logs_examples_is_refused(
    home: Home, setting: str, sentence: str
) -> None:
    name = setting.partition(" ")[0]
    asked(home.url, f"ALTER ROLE tests SET {setting}")
    try:
        with pytest.raises(StoreRefused, match=sentence):
            home.open()
    finally:
        asked(home.url, f"ALTER ROLE tests RESET {name}")
    home.open().close()


def test_examples_do_not_travel_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name of the host is another machine's, whatever its address is here."""
    from littled.store import postgres

    class Far:
        class info:  # noqa: N801
            host, hostaddr = "db.example", "192.0.2.1"

            @staticmethod
            def get_parameters() -> dict[str, str]:
                return {"sslmode": "require"}

        class pgconn:  # noqa: N801
            ssl_in_use = True

    with pytest.raises(StoreRefused, match="sslmode=verify-full"):
        postgres._refuse_open_wire(Far(), "postgresql://db.example")  # type: ignore[arg-type]
    monkeypatch.setattr(Far.info, "get_parameters", lambda: {"sslmode": "verify-full"})
    postgres._refuse_open_wire(Far(), "postgresql://db.example")  # type: ignore[arg-type]
    monkeypatch.setattr(Far.pgconn, "ssl_in_use", False)
    with pytest.raises(StoreRefused, match="sslmode=verify-full"):
        postgres._refuse_open_wire(Far(), "postgresql://db.example")  # type: ignore[arg-type]


# --- one store, two databases ---------------------------------------------------------------------


def same_life(store: Store) -> tuple[Any, ...]:
    """A life of a store that follows from nothing but what it is asked; what it says then."""
    fill(store)
    store.charge(paid(3, position=0))
    answer(store, 7)
    store.append([new_record(6 + 700 * number, 700) for number in range(60)])
    for _ in range(50):
        feed(store, [1, 2], producer="radar")
    while store.pack():
        pass
    return (*contents(store), list(store.predictions(STREAM)), store._mark())


def test_both_databases_come_to_the_same_heads_charges_and_releases(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, with large records, packed ones, and answers; only what is drawn is the same
    by force here: the salt and the name of a store are its own."""
    monkeypatch.setattr("littled.store.creation.secrets.token_bytes", bytes)
    monkeypatch.setattr("littled.store.creation.secrets.token_hex", lambda size: "00" * size)
    home = Home(home.url + "x", tmp_path / "on the server")
    home.key.parent.mkdir()
    found = []
    folder = tmp_path / "folder"
    Store.create(folder, {"streams": [STREAM]}, {STREAM: plan_values()})
    for store in (home.make().open(), Store.open(folder)):
        with store:
            found.append(same_life(store))
    assert found[0] == found[1]
    assert read_mark(home.mark).to_bytes() == read_mark(folder / "high-water-mark").to_bytes()
    for each in (home.open(), Store.open(folder)):
        with each:
            found.append((*contents(each), list(each.predictions(STREAM))))
    assert found[2] == found[3] == found[0][:-1]
    assert verify(home.url, home.key, home.mark).sound


# --- owners ---------------------------------------------------------------------------------------


def test_places_of_sources_are_kept_with_their_examples(home: Home) -> None:
    with home.open() as store:
        assert store.place(STREAM, "tower") is None
        for first in (0, 3):
            place = SourcePlace(first + 3, b"behind %d" % first)
            store.append([replace(new_record(first, 3), place=place)])
            assert store.place(STREAM, "tower") == place
    with home.open() as store:
        assert store.place(STREAM, "tower") == place
        assert store.producer_next(STREAM, "tower") == place.sequence
    assert verify(home.url, home.key, home.mark).findings == ()


def test_an_owner_that_was_put_off_stores_and_shows_nothing_more(home: Home) -> None:
    first = home.open()
    feed(first, [3])
    # The first one's lock goes with its connection, of which it notices nothing.
    assert end_backends(home.url, "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
    with home.open() as second:
        feed(second, [2])
        with pytest.raises(StoreFailed, match="another process has taken over the store"):
            feed(first, [1])
        with pytest.raises(StoreFailed, match="takes no more calls"):
            first.publish([release(1)], [entry(0)])
        before = home.mark.read_bytes()
        first.close()
        assert home.mark.read_bytes() == before
        assert [record.count for record in second.records(STREAM)] == [3, 2]
    assert verify(home.url, home.key, home.mark).sound


def _releases(store: Store) -> Any:
    return store.releases(LEARNER)


def _prediction(store: Store) -> Any:
    return store.prediction(NEAR, (7).to_bytes(16, "big"))


def _sequence(store: Store) -> Any:
    return store.producer_next(STREAM, "radar")


def _place(store: Store) -> Any:
    return store.place(STREAM, "radar")


@pytest.mark.parametrize("look", [_releases, _prediction, _sequence, _place])
def test_an_owner_that_was_put_off_tells_nothing_of_the_next_one(
    home: Home, look: Callable[[Store], Any]
) -> None:
    """What the next one has stored may not be durable yet, and is in no mark of the first one."""
    with home.open() as store:
        store.publish([release(1)], [entry(0), paid(1)])
        feed(store, [1])
    first = home.open()
    assert look(first) in (None, 0, [release(1)])
    assert end_backends(home.url, "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
    with home.open() as second:
        second.publish([release(2)], ())
        answer(second, 7)
        place = SourcePlace(3, b"behind")
        second.append([replace(new_record(0, 3, "radar"), place=place)])
        with pytest.raises(StoreFailed, match="another process has taken over the store"):
            look(first)
        with pytest.raises(StoreFailed, match="takes no more calls"):
            first.append(())
        first.close()
        assert look(second) in (place, 3, [release(1), release(2)]) or look is _prediction
    assert verify(home.url, home.key, home.mark).sound


def test_who_takes_over_ends_the_connections_of_an_owner_in_the_middle_of_a_commit(
    home: Home,
) -> None:
    """As of one that is frozen: its server's side holds the lock, and the row of its epoch."""
    first = home.open()
    feed(first, [3])
    with pytest.raises(StoreRefused, match="another process serves the store"):
        home.open()
    with psycopg.connect(home.url) as frozen:
        frozen.execute("SELECT epoch FROM owners WHERE id = 1 FOR SHARE")
        with home.open(take_over=True) as second:
            feed(second, [2])
            with pytest.raises(StoreFailed):
                feed(first, [1])
            first.close()
            assert [record.count for record in second.records(STREAM)] == [3, 2]
        with pytest.raises(psycopg.OperationalError):
            frozen.execute("SELECT 1")
    assert verify(home.url, home.key, home.mark).sound


def test_who_would_take_over_what_a_newer_version_serves_puts_nobody_off(home: Home) -> None:
    def newer(_store: str, _plans: object) -> None:
        raise StoreRefused("it was written by a newer version")

    with home.open() as first:
        feed(first, [3])
        with pytest.raises(StoreRefused, match="by a newer version"):
            home.open(take_over=True, known=newer)
        feed(first, [1])
    assert verify(home.url, home.key, home.mark).sound


def test_who_takes_over_leaves_other_stores_of_the_same_server_alone(
    home: Home, server: Postgres, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Home(url_of(server, f"o{abs(hash(tmp_path))}"), tmp_path / "other").make()
    with other.open() as beside, home.open(take_over=True) as store:
        feed(store, [1])
        feed(beside, [2])


@pytest.mark.parametrize("lone", [True, False])
def test_the_sentence_of_an_owner_that_was_put_off(home: Home, lone: bool) -> None:
    first = home.open()
    feed(first, [1])
    asked(home.url, "UPDATE owners SET epoch = epoch + 1")
    records = [new_record(1), new_record(2)][: 1 if lone else 2]
    with pytest.raises(StoreFailed, match="another process has taken over the store"):
        first.append(records)
    first.close()
    assert asked(home.url, "SELECT count(*) FROM records") == [(1,)]


def test_one_record_waits_for_who_takes_over_and_is_not_stored(home: Home) -> None:
    """As long as the next owner's number is not durable, nobody knows who owns the store."""
    first = home.open()
    failed: list[StoreFailed] = []

    def work() -> None:
        try:
            first.append([new_record(0)])
        except StoreFailed as error:
            failed.append(error)

    with psycopg.connect(home.url) as other:
        other.execute("UPDATE owners SET epoch = epoch + 1")
        thread = threading.Thread(target=work)
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        deadline = time.monotonic() + 20
        while thread.is_alive() and asked(home.url, waits) == [(0,)]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        other.commit()
    thread.join()
    assert "another process has taken over the store" in str(failed)
    first.close()
    assert asked(home.url, "SELECT count(*) FROM records") == [(0,)]


@pytest.mark.parametrize("lone", [True, False])
def test_an_error_of_the_commit_itself_is_noticed(home: Home, lone: bool) -> None:
    """The server answers the statement first, and fails while it commits."""
    asked(
        home.url,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'disk_full'; END $$; "
        "CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON records "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    store = home.open()
    with pytest.raises(StoreFailed, match="the disk of the database is full"):
        store.append([new_record(0), new_record(1)][: 1 if lone else 2])
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append(())
    store.close()
    assert asked(home.url, "SELECT count(*) FROM records") == [(0,)]


def test_an_owner_that_was_put_off_has_not_made_a_mistake(home: Home) -> None:
    """Its producer is further on by what the next owner has stored, of which it knows nothing."""
    first = home.open()
    assert first.producer_next(STREAM, "tower") == 0
    assert end_backends(home.url, "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
    with home.open() as second:
        feed(second, [2])
        with pytest.raises(StoreFailed, match="another process has taken over the store"):
            first.append([new_record(0)])
        first.close()


def test_closing_leaves_the_mark_to_the_new_owner(home: Home) -> None:
    first = home.open()
    feed(first, [1])
    before = home.mark.read_bytes()
    asked(home.url, "UPDATE owners SET epoch = epoch + 1")
    with pytest.raises(StoreFailed, match="taken over"):
        first.close()
    assert home.mark.read_bytes() == before


# --- connections that break -----------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["before", "while"])
def test_a_connection_that_is_cut_ends_the_use_and_loses_nothing(home: Home, moment: str) -> None:
    """Acknowledged examples are there, and none of the others twice; nothing was tried again."""
    store = home.open()
    acknowledged = 0
    stop = threading.Event()

    def cut() -> None:
        stop.wait(0.0 if moment == "before" else 0.3)
        end_backends(home.url)

    thread = threading.Thread(target=cut)
    if moment == "before":
        cut()
    thread.start()
    with suppress(StoreFailed):
        while True:
            feed(store, [5, 1])
            acknowledged += 6
    thread.join()
    with pytest.raises(StoreFailed, match="takes no more calls"):
        feed(store, [1])
    store.close()
    with home.open() as again:
        assert acknowledged <= again.position(STREAM) <= acknowledged + 6
        feed(again, [2])
    assert verify(home.url, home.key, home.mark).sound


@pytest.mark.parametrize("lone", [True, False])
def test_a_commit_whose_outcome_is_unknown_is_not_tried_again(home: Home, lone: bool) -> None:
    store = home.open()
    assert isinstance(store._writing, PostgresWriting)
    store.append([new_record(0)])  # of a producer that is not known its place is read first
    assert end_backends(home.url, f"pid = {store._writing._raw.info.backend_pid}") == 1
    with pytest.raises(StoreFailed, match="the database failed"):
        store.append([new_record(1), new_record(2)][: 1 if lone else 2])
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append(())
    store.close()
    with home.open() as again:
        assert again.position(STREAM) == 1


CHILD = """
import sys
from littled.store.store import Store
sys.path.insert(0, sys.argv[4])
from support.stores import feed
with Store.open(*sys.argv[1:4]) as store:
    while True:
        feed(store, [3, 1, 2])
        print(6, flush=True)
"""


@pytest.mark.parametrize("seconds", [0.4, 0.55, 0.7])
def test_a_killed_process_loses_nothing_that_it_acknowledged(home: Home, seconds: float) -> None:
    arguments = [home.url, str(home.key), str(home.mark), str(Path(__file__).parents[2])]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    acknowledged = int(child.stdout.readline())
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    acknowledged += 6 * len(child.stdout.readlines())
    child.stdout.close()
    child.wait()
    deadline = time.monotonic() + 10
    while True:  # the server may take a moment to notice
        try:
            again = home.open()
            break
        except StoreRefused:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with again:
        assert acknowledged <= again.position(STREAM) <= acknowledged + 6
    assert verify(home.url, home.key, home.mark).sound


def test_readers_go_on_with_new_connections(home: Home) -> None:
    with home.open() as store:
        fill(store)
    with home.open(read_only=True) as reader:
        before = contents(reader)
        end_backends(home.url)
        with pytest.raises(StoreFailed, match="the database failed"):
            contents(reader)
    with home.open(read_only=True) as reader:
        assert contents(reader) == before
