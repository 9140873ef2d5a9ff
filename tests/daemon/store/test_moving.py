"""A store is moved with its chain: all of it arrives, and of the two only one is ever usable."""

import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import apsw
import pytest

from littled.store import contents
from littled.store.database import FORMAT_MAX, FORMATS_ARRIVING, FORMATS_MOVED, read_facts
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.moves import Move
from littled.store.moving import Moving
from littled.store.place import Place
from littled.store.restoring import Restoring
from littled.store.sqlite import SqliteDatabase, SqliteReaders
from littled.store.store import Store
from littled.store.verify import verify
from support.crashing import small_columns
from support.databases import Postgres
from support.disks import HookedDisk
from support.marks import read_mark, write_mark
from support.moves import FAILPOINTS, killed_at, move, opened, opens, tables_of
from support.old_stores import CONFIGURATIONS, FIXTURES
from support.old_stores import said as said_of
from support.postgres import asked, url_of
from support.stores import STREAM, change, entry, feed, fill, plan_values

SAID = json.loads((FIXTURES / "said.json").read_text())
Places = Callable[[], Place]


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Places]:
    """New folders for stores, in memory where there is room, each with its key and mark in it."""
    memory = Path("/dev/shm")
    names = (f"folder {number}" for number in count())
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as at:
        yield lambda: Place.of(Path(at, next(names)), None, None)


@pytest.fixture
def schemas(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """New schemas on a server, each with its key and mark beside it."""
    server: Postgres = request.getfixturevalue("server")
    made: list[str] = []

    def new() -> Place:
        name = f"moved{len(made)}"
        made.append(name)
        asked(url_of(server, "public"), f"DROP SCHEMA IF EXISTS {name} CASCADE")
        asked(url_of(server, "public"), f"CREATE SCHEMA {name}")
        beside = tmp_path / name
        beside.mkdir()
        return Place.of(url_of(server, name), beside / "key", beside / "mark")

    yield new
    for name in made:
        asked(url_of(server, "public"), f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def kinds(request: pytest.FixtureRequest) -> tuple[Places, Places]:
    """Where a store comes from and where it goes to."""
    first, second = request.param
    return request.getfixturevalue(first), request.getfixturevalue(second)


WAYS = pytest.mark.parametrize(
    "kinds",
    [(one, other) for one in ("folders", "schemas") for other in ("folders", "schemas")],
    indirect=True,
    ids="-".join,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns beside the database, and as many transactions as may be."""
    small_columns(monkeypatch)
    monkeypatch.setattr("littled.store.contents.STORE_COPY_ROWS_MAX", 2)


def made(place: Place) -> Place:
    """A store with a little of everything, a second stream, and columns beside the database."""
    given = place.key if place.key_given else None
    Store.create(
        place.path, {"streams": [STREAM]}, {STREAM: plan(), "quiet": plan()}, given, place.mark
    )
    with opened(place) as store:
        fill(store)
        feed(store, [400, 90, 1])
    return place


def plan() -> dict[str, object]:
    """What the store needs of a plan."""
    return plan_values()


@WAYS
def test_what_arrives_is_what_was_there_and_goes_on(kinds: tuple[Places, Places]) -> None:
    source, target = made(kinds[0]()), kinds[1]()
    before, marked = tables_of(source), read_mark(mark_file(source))
    done = move(source, target)
    assert done.left is not None
    assert tables_of(target) == before
    assert read_mark(mark_file(target)) == marked
    assert target.key.read_bytes() == source.key.read_bytes()
    assert not opens(source)
    with opened(target) as store:
        assert store.instance == done.facts.instance
        feed(store, [3])
        store.charge(entry(3, position=100))
    key = target.key if target.key_given else None
    assert verify(target.path, key, target.mark).findings == ()


def mark_file(place: Place) -> Path:
    """The file of a place's mark."""
    return Path(str(place.mark))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_old_store_goes_to_a_server_and_back_byte_for_byte(
    folders: Places, schemas: Places, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    source, there, back = Place.of(tmp_path / name, None, None), schemas(), folders()
    with opened(source):
        pass  # once served, it has the tables that it was made without
    before = tables_of(source)
    move(source, there)
    assert tables_of(there) == before
    move(there, back)
    assert tables_of(back) == before
    assert said_of(Path(back.path)) == SAID[name]["said"]
    assert not opens(source)
    assert not opens(there)


# --- one of two -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("failpoint", FAILPOINTS)
@WAYS
def test_killed_anywhere_one_of_two_is_usable_at_the_most(
    kinds: tuple[Places, Places], failpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = made(kinds[0]()), kinds[1]()
    monkeypatch.setattr("littled.store.contents.STORE_COPY_ROWS_MAX", 8)
    hit = 1
    while killed_at(failpoint, hit, lambda: move(source, target)):
        usable = opens(source), opens(target)
        assert usable != (True, True), "two branches"
        if usable[1]:
            break
        if usable[0] and hit < 3:
            # The source goes on in between, and what was copied of it is not all of it any more.
            with opened(source) as store:
                feed(store, [50, 2])
        hit += 1
    before = tables_of(source)
    if not opens(target):
        move(source, target)
    assert (opens(source), opens(target)) == (False, True)
    assert tables_of(target) == before
    key = target.key if target.key_given else None
    assert verify(target.path, key, target.mark).findings == ()
    with pytest.raises(StoreRefused, match="already: use it there"):
        Moving.open(source, target)


def test_a_place_that_was_only_begun_is_told_and_left_alone(folders: Places) -> None:
    """Before there is a database in a folder nobody knows whose the files there are."""
    source, target = made(folders()), folders()
    folder = Path(target.path)
    folder.mkdir()
    (folder / "store.sqlite.new").write_bytes(b"")
    with pytest.raises(StoreRefused, match="is not empty: name a new folder, or remove"):
        move(source, target)
    assert opens(source)
    assert [each.name for each in folder.iterdir()] == ["store.sqlite.new"]


def leave_halfway(
    source: Place, target: Place, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """Move a store until something fails at one of its steps."""

    def fails(*_: object) -> None:
        raise StoreFailed("pulled the plug")

    with monkeypatch.context() as patch:
        patch.setattr(Moving, after, fails)
        with pytest.raises(StoreFailed, match="pulled the plug") as caught:
            move(source, target)
    kept = (
        "as it was, and the same may be said again" if after == "_leave" else "say the same again"
    )
    assert kept in str(caught.value)


def test_a_backup_from_before_is_refused_wherever_it_names_the_old_mark(
    folders: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folders()
    source = made(replace(first, mark=Place.of(first.path, None, tmp_path / "mark").mark))
    target, backup = folders(), tmp_path / "backup"
    shutil.copytree(source.path, backup)
    copy = Place.of(backup, None, tmp_path / "mark")
    move(source, target)
    sentence = f"was moved to {Path(target.path)}: use it there, with its own mark"
    for use in (
        lambda: opened(copy),
        lambda: Store.open(backup, mark_path=copy.mark, read_only=True),
        lambda: Restoring.open(backup, None, copy.mark, copy=True),
        lambda: Moving.open(copy, folders()),
        lambda: opened(source),
    ):
        with pytest.raises(StoreRefused, match=sentence):
            use()
    (finding,) = (each for each in verify(backup, None, copy.mark).findings if "moved" in each)
    assert sentence in finding
    # With the mark of the copy it is an older copy, as any backup is.
    with opened(target) as store:
        store.charge(entry(3, position=100))
    behind = Place.of(backup, None, Path(target.path) / "high-water-mark")
    with pytest.raises(StoreRefused, match="is behind its high-water mark"):
        opened(behind)


def test_what_was_moved_is_refused_by_all_that_opens_it_with_any_mark(
    folders: Places, tmp_path: Path
) -> None:
    source, target = made(folders()), folders()
    old = tmp_path / "old mark"
    shutil.copy(mark_file(source), old)
    move(source, target)
    path = Path(source.path)
    sentence = (
        f"was moved to {Path(target.path)}: use it there; what is left here is used by nobody"
    )
    for use in (
        lambda: Store.open(path, mark_path=old),
        lambda: Store.open(path, mark_path=old, read_only=True),
        lambda: Restoring.open(path, None, old, copy=True),
        lambda: verify(path, None, old),
    ):
        with pytest.raises(StoreRefused, match=sentence):
            use()
    assert number_of(source) > FORMATS_MOVED > FORMATS_ARRIVING > FORMAT_MAX


def number_of(place: Place) -> int:
    """The format of what is in a folder."""
    connection = apsw.Connection(str(Path(place.path, "store.sqlite")))
    found = int(connection.pragma("user_version"))
    connection.close()
    return found


@pytest.mark.parametrize("after", ["_leave", "_hand_over_the_mark", "_let_go"])
def test_an_unfinished_copy_is_used_by_nobody(
    folders: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    source, target = made(folders()), folders()
    old = tmp_path / "old mark"
    shutil.copy(mark_file(source), old)
    leave_halfway(source, target, monkeypatch, after)
    for use in (
        lambda: Store.open(target.path, mark_path=old),
        lambda: Store.open(target.path, mark_path=old, read_only=True),
        lambda: Restoring.open(target.path, None, old, copy=True),
        lambda: verify(target.path, None, old),
    ):
        with pytest.raises(StoreRefused, match="is the unfinished copy of the store in"):
            use()
    assert opens(source) == (after == "_leave")
    with pytest.raises(StoreRefused, match="holds the unfinished copy of another store"):
        Moving.open(made(folders()), target)
    move(source, target)
    assert opens(target)


def test_a_move_is_only_finished_where_it_was_begun(
    folders: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = made(folders()), folders()
    leave_halfway(source, target, monkeypatch, "_hand_over_the_mark")
    elsewhere = Place.of(target.path, None, tmp_path / "another mark")
    with pytest.raises(StoreRefused, match="high-water-mark: name these to finish that"):
        Moving.open(source, elsewhere)
    with pytest.raises(StoreRefused, match="name the place where it is"):
        Moving.open(source, folders())
    with pytest.raises(StoreRefused, match="name the place where it is"):
        Moving.open(source, made(folders()))
    move(source, target)


def test_what_the_copy_has_lost_since_is_copied_again(
    folders: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby that lacks the last commits, say, after the source was given up."""
    source, target = made(folders()), folders()
    leave_halfway(source, target, monkeypatch, "_hand_over_the_mark")
    whole = tables_of(target)
    change(Path(target.path, "store.sqlite"), "DELETE FROM ledger WHERE number = 2")
    change(Path(target.path, "store.sqlite"), "DROP TABLE producer_checksums")
    move(source, target)
    assert tables_of(target) == whole
    assert opens(target)


def test_whoever_uses_a_backup_meanwhile_keeps_the_copy_from_being_used(
    folders: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folders()
    source = made(replace(first, mark=Place.of(first.path, None, tmp_path / "mark").mark))
    target, backup = folders(), tmp_path / "backup"
    shutil.copytree(source.path, backup)
    leave_halfway(source, target, monkeypatch, "_hand_over_the_mark")
    with opened(Place.of(backup, None, tmp_path / "mark")) as store:
        store.charge(entry(3, position=100))
    with pytest.raises(StoreRefused, match="is behind its high-water mark: ledger entry 3"):
        move(source, target)
    assert not opens(target)


def test_another_owner_keeps_a_source_on_a_server(
    folders: Places, schemas: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commits would be in no copy; so whoever was put off does not give the source up."""
    source, target = made(schemas()), folders()
    real = Moving._leave

    def leaves(moving: Moving) -> None:
        source.database.writing().close()
        real(moving)

    with monkeypatch.context() as patch:
        patch.setattr(Moving, "_leave", leaves)
        with pytest.raises(StoreFailed, match="another process has taken over the store"):
            move(source, target)
    assert (opens(source), opens(target)) == (True, False)
    move(source, target)
    assert opens(target)


def test_a_store_of_a_group_stays_where_it_is(folders: Places) -> None:
    source = folders()
    group = {"group": {"partition": 0, "partitions": 2}}
    Store.create(source.path, group, {STREAM: plan_values()})
    with pytest.raises(StoreRefused, match="stores of a group are not moved"):
        Moving.open(source, folders())
    assert opens(source)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["records", "ledger", "meta", "releases"])
def test_a_copy_that_is_another_one_is_noticed_before_the_source_is_given_up(
    folders: Places, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    source, target = made(folders()), folders()
    real = contents.fill
    statements = {
        "records": "UPDATE records SET sequence = sequence + 1 WHERE count = 1",
        "ledger": "DELETE FROM ledger WHERE number = 2",
        "meta": "UPDATE meta SET value = x'00' WHERE name = 'pulse'",
        "releases": "INSERT INTO releases SELECT learner, 9, body, 0, head FROM releases LIMIT 1",
    }

    def fills(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        change(Path(target.path, "store.sqlite"), statements[table])

    monkeypatch.setattr("littled.store.moving.fill", fills)
    with pytest.raises(StoreDamaged, match=f"{table} in .* is not what was copied there"):
        move(source, target)
    assert (opens(source), opens(target)) == (True, False)


def test_columns_beside_the_database_are_compared_as_well(
    folders: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = made(folders()), folders()
    real = contents.fill

    def fills(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        file = Path(target.path, "columns-000001")
        data = bytearray(file.read_bytes())
        data[7] ^= 1
        file.write_bytes(data)

    monkeypatch.setattr("littled.store.moving.fill", fills)
    with pytest.raises(StoreDamaged, match="is not what was copied there"):
        move(source, target)
    assert opens(source)


class WrittenOn(SqliteDatabase):
    """A folder on a disk for tests, as far as anything is written there."""

    def readers(self) -> SqliteReaders:
        """Connections that read, from the usual disk."""
        return SqliteReaders(self.path)


def moves(source: Place, target: Place) -> bool:
    """Whether a move comes to its end on a disk that may be full."""
    try:
        move(source, target)
    except StoreFailed as error:
        known = "is as it was" if opens(source) else "is not finished; say the same again"
        assert re.search(f"{known}.*: the disk is full: make room", str(error))  # noqa: PT017
        return False
    return True


def test_a_full_disk_leaves_the_source_as_it_was(folders: Places) -> None:
    source, target = made(folders()), folders()
    left = [4]

    def full(kind: str, _: str) -> None:
        left[0] -= kind == "write"
        if kind == "write" and left[0] < 0:
            raise apsw.FullError

    disk = HookedDisk("full", full)
    disk_of = WrittenOn(Path(target.path), "full")
    try:
        reached = 0
        while True:
            left[0] = 4 + 5 * reached
            if moves(source, replace(target, database=disk_of)):
                break
            reached += 1
            assert not opens(target)
    finally:
        disk.unregister()
    assert reached > 5
    assert (opens(source), opens(target)) == (False, True)


def test_a_source_that_is_served_or_behind_or_damaged_is_refused(folders: Places) -> None:
    source, target = made(folders()), folders()
    path, older = Path(source.path), folders()
    shutil.copytree(path, older.path)
    with opened(source) as store:
        with pytest.raises(StoreRefused, match="has opened the store in"):
            Moving.open(source, target)
        store.charge(entry(3, position=100))
    shutil.copy(mark_file(source), mark_file(older))
    with pytest.raises(StoreRefused, match="is behind its high-water mark: ledger entry 3"):
        Moving.open(older, target)
    change(path / "store.sqlite", "UPDATE records SET x = x'00' WHERE sequence = 5")
    with pytest.raises(StoreRefused, match=r"is damaged: .*\(see littled verify\)"):
        Moving.open(source, target)
    assert not Path(target.path).exists()
    with pytest.raises(StoreRefused, match="nothing is there to be copied"):
        Moving.open(target, source)


def test_a_source_that_was_used_since_it_was_looked_at_is_refused(
    folders: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = made(folders()), folders()
    mark = read_mark(mark_file(source))
    with opened(source) as store:
        feed(store, [2])
    real = Store.close

    def closes(store: Store) -> None:
        real(store)
        write_mark(mark_file(source), mark)

    monkeypatch.setattr(Store, "close", closes)
    with pytest.raises(StoreRefused, match="another process has just used the store in"):
        Moving.open(source, target)


def test_a_source_is_held_until_the_move_is_done(folders: Places) -> None:
    source, target = made(folders()), folders()
    with Moving.open(source, target):
        with pytest.raises(StoreRefused, match="has opened the store in"):
            opened(source)
        assert not Path(target.path).exists()
    assert opens(source)


def test_places_where_something_is_are_refused(folders: Places, tmp_path: Path) -> None:
    source, target = made(folders()), folders()
    with pytest.raises(StoreRefused, match="is named as both places"):
        Moving.open(source, source)
    with pytest.raises(StoreRefused, match="holds a store already: name an empty place"):
        Moving.open(source, made(folders()))
    taken = Place.of(target.path, None, mark_file(source))
    with pytest.raises(StoreRefused, match="where the mark of the copy is to be: name another"):
        Moving.open(source, taken)
    key = tmp_path / "key"
    shutil.copy(made(folders()).key, key)
    with pytest.raises(StoreRefused, match="is another one than that of the store, which is"):
        Moving.open(source, Place.of(target.path, key, None))
    change(Path(source.path, "store.sqlite"), "CREATE TABLE later (id INTEGER)")
    with pytest.raises(StoreRefused, match="has a table later that this version does not know"):
        move(source, target)
    assert opens(source)
    assert not Path(target.path).exists()


def test_a_schema_where_something_is_is_refused(folders: Places, schemas: Places) -> None:
    source, target = made(folders()), schemas()
    asked(str(target.path), "CREATE TABLE meta (name TEXT)")
    with pytest.raises(StoreRefused, match="has a table meta already: name an empty database"):
        move(source, target)
    assert opens(source)
    assert not target.key.exists()


def test_a_mark_that_somebody_else_has_made_meanwhile_is_noticed(
    folders: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = made(folders()), folders()
    leave_halfway(source, target, monkeypatch, "_hand_over_the_mark")
    other = made(folders())
    shutil.copy(mark_file(other), mark_file(target))
    with pytest.raises(StoreRefused, match="is not that of the copy: see what else writes there"):
        move(source, target)
    mark_file(target).unlink()
    leave_halfway(source, target, monkeypatch, "_let_go")
    mine = mark_file(target).read_bytes()
    shutil.copy(mark_file(other), mark_file(target))
    with pytest.raises(StoreRefused, match="belongs to another store: put back that of the copy"):
        move(source, target)
    mark_file(target).write_bytes(mine)
    move(source, target)
    assert opens(target)


def test_what_is_noted_of_a_move_has_to_be_whole(folders: Places) -> None:
    source, target = made(folders()), folders()
    noted = move(source, target).move
    assert Move.from_bytes(noted.to_bytes()) == noted
    for damage in (b"[]", b"{}", b"\xff", b'{"instance":1,"mark":"","source":"","target":""}'):
        change(
            Path(source.path, "store.sqlite"),
            "UPDATE meta SET value = ?1 WHERE name = 'move'",
            (damage,),
        )
        readers = source.database.readers()
        with pytest.raises(StoreDamaged, match="does not say where its store was moved to"):
            read_facts(readers)
        readers.close()
