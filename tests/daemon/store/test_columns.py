"""Columns of large records: in files beside the database, durable before anything names them."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import littled.store.store
from littled.store.columns import ColumnReader, ColumnWriter, Span
from littled.store.database import FORMATS_BESIDE, FORMATS_TAIL
from littled.store.disks import Disk
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.files import create_private
from littled.store.records import record_head, record_head_beside
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.disks import HookedDisk
from support.segments import pack_all, small_segments
from support.stores import (
    STREAM,
    change,
    column,
    contents,
    feed,
    make_store,
    new_record,
    plan_values,
    rows,
)

# Enough for columns of 9 bytes each to stand beside the database, and too few.
LARGE, SMALL = 8_000, 400
BACKUP = "put back a backup"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One large record is enough for a commit."""
    monkeypatch.setattr("littled.store.staging.COLUMNS_BESIDE_COMMIT_BYTES_MIN", 64 * 1024)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_store(tmp_path / "store")


def format_of(path: Path) -> int:
    (found,) = rows(path, "PRAGMA user_version")[0]
    return int(found)


def files(path: Path) -> dict[str, int]:
    """Column files by name, and their sizes."""
    return {each.name: each.stat().st_size for each in sorted(path.glob("columns-*"))}


# --- what is stored -------------------------------------------------------------------------------


def test_columns_of_large_records_stand_beside_the_database(path: Path) -> None:
    new = [new_record(0, LARGE), new_record(LARGE, SMALL), new_record(LARGE + SMALL, LARGE)]
    with Store.open(path) as store:
        stored = store.append(new)
        assert [(each.x, each.y) for each in stored] == [(each.x, each.y) for each in new]
        assert list(store.records(STREAM)) == stored
        with Store.open(path, read_only=True) as other:
            assert list(other.records(STREAM, 0)) == stored[1:]
        assert verify(path).findings == ()
    size = 9 * LARGE
    assert rows(path, "SELECT file, start, size FROM beside") == [(1, 0, size), (1, size, size)]
    assert rows(path, "SELECT length(x), length(y) FROM records") == [
        (0, 0), (8 * SMALL, SMALL), (0, 0)
    ]  # fmt: skip
    first, _, last = new
    assert (path / "columns-000001").read_bytes() == first.x + first.y + last.x + last.y
    assert (path / "columns-000001").stat().st_mode & 0o777 == 0o600
    assert (path / "store.sqlite").stat().st_size < 9 * SMALL + 200_000
    with Store.open(path) as store:
        assert list(store.records(STREAM)) == stored
        feed(store, [LARGE])
        assert store.position(STREAM) == 3 * LARGE + SMALL
    assert files(path) == {"columns-000001": 3 * size}
    assert verify(path).findings == ()


def test_each_head_is_that_of_where_the_columns_stand(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE, 1, LARGE])
        first, small, last = store.records(STREAM)
    for of_record, before, each in (
        (record_head, first, small),
        (record_head_beside, small, last),
    ):
        values = each.sequence, each.producer, each.x, each.y
        head = of_record(before.chain_head, each.number, each.first_position, each.count, *values)
        assert each.chain_head == head


def test_columns_of_an_older_version_go_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their heads are those of records in the database, and the format is another one."""
    with monkeypatch.context() as older:
        older.setattr("littled.store.staging.record_head_beside", record_head)
        older.setattr("littled.store.database.FORMATS_BLAKE3", FORMATS_BESIDE)
        with Store.open(path) as store:
            feed(store, [LARGE, 1])
    assert format_of(path) == 5
    with Store.open(path) as store:
        feed(store, [1])
        assert format_of(path) == FORMATS_TAIL + 5
        feed(store, [LARGE])
        assert format_of(path) == FORMATS_TAIL + 9
        assert len(list(store.records(STREAM))) == 4
    assert verify(path).findings == ()


def test_users_stand_beside_the_database_too(tmp_path: Path) -> None:
    path = tmp_path / "store"
    Store.create(path, {}, {STREAM: plan_values() | {"unit": "user"}})
    new = [
        replace(new_record(3000 * number, 3000), users=column(number, 16 * 3000))
        for number in range(3)
    ]
    with Store.open(path) as store:
        stored = store.append(new)
        assert list(store.records(STREAM)) == stored
        assert [each.users for each in stored] == [each.users for each in new]
    assert files(path) == {"columns-000001": 3 * 25 * 3000}
    assert format_of(path) == 10
    assert verify(path).findings == ()
    change(path / "store.sqlite", "UPDATE beside SET size = size - 16 WHERE start = 0")
    assert BACKUP in verify(path).findings[0]


def test_shorter_records_stand_beside_when_a_commit_has_many(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [1_000] * 7)
        assert not files(path)
        feed(store, [1_000, 1] * 4 + [400] * 100)
        assert not files(path)
        feed(store, [1_000, 1, 400] * 8)
    assert files(path) == {"columns-000001": 8 * 9_000}
    assert rows(path, "SELECT count(*) FROM records WHERE x = x''") == [(8,)]
    assert verify(path).findings == ()


def test_a_store_changes_its_format_with_its_first_large_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before: what an older version can read it should be given. Packing may come first."""
    small_segments(monkeypatch, records=4)
    for unit, first, formats in (
        ("example", SMALL, [1, 9, 11]),
        ("user", 1, [2, 10, 12]),
    ):
        path = tmp_path / unit
        Store.create(path, {}, {STREAM: plan_values() | {"unit": unit}})
        found = []
        for counts in [first], [LARGE], [1, 1, 1, 1]:
            with Store.open(path) as store:
                for count in counts:
                    new = new_record(store.producer_next(STREAM, "tower"), count)
                    users = bytes(16 * count) if unit == "user" else b""
                    store.append([replace(new, users=users)])
                pack_all(store)
            found.append(format_of(path))
        assert found == formats
        for wrong in formats[0], formats[1], formats[2] - 8:
            change(path / "store.sqlite", f"PRAGMA user_version = {wrong}")
            with pytest.raises(StoreRefused, match="is not the one that the store was made with"):
                Store.open(path)
    packed = make_store(tmp_path / "packed")
    with Store.open(packed) as store:
        feed(store, [1] * 4)
        pack_all(store)
        assert format_of(packed) == 3
        feed(store, [LARGE])
    assert format_of(packed) == 11
    assert verify(packed).findings == ()


def test_large_records_of_before_stay_where_they_are(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before, Store.open(path) as store:
        before.setattr("littled.store.staging.COLUMNS_BESIDE_COMMIT_BYTES_MIN", 1 << 40)
        feed(store, [LARGE, SMALL])
    assert format_of(path) == 1
    with Store.open(path) as store:
        old = list(store.records(STREAM))
        feed(store, [SMALL])
        assert format_of(path) == FORMATS_TAIL + 1
        feed(store, [LARGE])
        assert list(store.records(STREAM))[:2] == old
    assert files(path) == {"columns-000001": 9 * LARGE}
    assert verify(path).findings == ()


def test_a_full_file_is_followed_by_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", 10 * LARGE)
    with Store.open(path) as store:
        for _ in range(5):
            feed(store, [LARGE])
        feed(store, [LARGE] * 4)
        expected = contents(store)
    size = 9 * LARGE
    assert files(path) == {
        "columns-000001": 2 * size, "columns-000002": 2 * size, "columns-000003": 5 * size
    }  # fmt: skip
    with Store.open(path) as store:
        assert contents(store) == expected
        feed(store, [LARGE])
    assert files(path)["columns-000004"] == size
    assert verify(path).findings == ()


def test_packing_goes_past_what_stands_beside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_segments(monkeypatch, records=4)
    counts = [1] * 5 + [LARGE] * 3 + [1, LARGE] + [1] * 9
    with Store.open(path) as store:
        for count in counts:
            feed(store, [count])
        expected = contents(store)
        with monkeypatch.context() as reading:
            # packing has no use for the columns
            reading.setattr(ColumnReader, "_columns", None)
            pack_all(store)
        assert contents(store) == expected
    assert rows(path, "SELECT count(*) FROM beside") == [(4,)]
    assert rows(path, "SELECT sum(records) FROM segments") == [(12,)]
    assert verify(path).findings == ()


def test_a_journal_of_large_records_alone_is_never_looked_at_for_packing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_segments(monkeypatch, records=2)
    with Store.open(path) as store:
        for _ in range(4):
            feed(store, [LARGE] * 2)
            assert store.segments_waiting == 0
        feed(store, [1] * 3)
        assert store.segments_waiting == 1
        feed(store, [LARGE] * 2)
        assert store.segments_waiting > 1, "what came before is looked at first"
        pack_all(store)
    assert rows(path, "SELECT sum(records) FROM segments") == [(2,)]
    assert verify(path).findings == ()


# --- order and ends -------------------------------------------------------------------------------


def test_columns_and_names_are_durable_before_anything_names_them(path: Path) -> None:
    events: list[str] = []
    disk = HookedDisk("watching", lambda kind, file: events.append(f"{kind} {Path(file).name}"))
    with Store.open(path, vfs=disk.name) as store:
        events.clear()
        feed(store, [LARGE] * 2)
        named = ["create columns-000001", "sync store", "write columns-000001"]
        assert events[:4] == [*named, "sync columns-000001"]
        assert {each.rpartition(" ")[2] for each in events[4:]} == {"store.sqlite-wal"}
        events.clear()
        feed(store, [LARGE] * 2)
        assert events[:2] == ["write columns-000001", "sync columns-000001"]
        assert events[2].startswith("write store.sqlite-wal")
        events.clear()
        feed(store, [SMALL])
        assert "sync columns-000001" not in events
    disk.unregister()


@pytest.mark.parametrize("most", [1_000, 50_000, 72_001])
def test_a_write_that_is_cut_short_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    def write(_: Disk, descriptor: int, __: Path, parts: list[bytes], start: int) -> int:
        return os.pwrite(descriptor, b"".join(parts)[:most], start)

    monkeypatch.setattr("littled.store.columns._PARTS_MAX", 3)
    monkeypatch.setattr(Disk, "write", write)
    with Store.open(path) as store:
        feed(store, [LARGE] * 3)
    assert verify(path).findings == ()


def test_what_nothing_names_is_overwritten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a commit that never was, longer or shorter than the next one."""
    with Store.open(path) as store:
        feed(store, [LARGE])
    for size in 100, 1_000_000:
        with (path / "columns-000001").open("ab") as file:
            file.write(bytes(size))
        before = files(path)["columns-000001"]
        with Store.open(path) as store:
            feed(store, [LARGE])
        assert files(path)["columns-000001"] in (before, before - size + 9 * LARGE)
        assert verify(path).findings == ()
    starts = [start for (start,) in rows(path, "SELECT start FROM beside ORDER BY key")]
    assert starts == [0, 9 * LARGE, 2 * 9 * LARGE]


def test_files_that_nothing_names_are_removed_by_who_serves(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE])
    others = ["columns-1", "columns-000002.bak", "columns"]
    for name in ["columns-000002", "columns-000009", "columns-1234567", *others]:
        create_private(path / name, b"garbage")
    Store.open(path, read_only=True).close()
    assert (path / "columns-000009").exists()
    with Store.open(path) as store:
        assert not [*path.glob("columns-0000[0-9][02-9]"), *path.glob("columns-123*")]
        assert all((path / name).exists() for name in others)
        feed(store, [LARGE])
    assert verify(path).findings == ()


def test_an_older_copy_keeps_what_it_does_not_name_until_it_may_go_on(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest database may still be found; once restored, there is no way back."""
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", LARGE)
    with Store.open(path) as store:
        feed(store, [LARGE, 1])
    old = (path / "store.sqlite").read_bytes()
    with Store.open(path) as store:
        feed(store, [LARGE] * 2)
    newest = (path / "store.sqlite").read_bytes()
    (path / "store.sqlite").write_bytes(old)
    with pytest.raises(StoreRefused, match="behind its high-water mark"):
        Store.open(path)
    assert list(files(path)) == ["columns-000001", "columns-000002"]
    (path / "store.sqlite").write_bytes(newest)
    assert verify(path).findings == ()
    (path / "store.sqlite").write_bytes(old)
    with Restoring.open(path) as found:
        found.finish()
    with Store.open(path) as store:
        assert list(files(path)) == ["columns-000001"]
        feed(store, [LARGE])
        assert [each.count for each in store.records(STREAM)] == [LARGE, 1, 0, LARGE]
    assert verify(path).findings == ()


def test_a_copy_without_its_columns_is_not_restored(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE, 1])
    (path / "columns-000001").unlink()
    with pytest.raises(StoreRefused, match="columns-000001 is missing"):
        Restoring.open(path, copy=True)


# --- archives -------------------------------------------------------------------------------------


def archivable(path: Path) -> None:
    with Store.open(path) as store:
        for count in [LARGE, 1, LARGE, LARGE, 1]:
            feed(store, [count])
        for number in (2, 3):
            store.save_snapshot(STREAM, number, b"state")


def test_archives_take_columns_along(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", LARGE)
    archivable(path)
    with Store.open(path) as store:
        expected = list(store.records(STREAM))
        (moved,) = store.archive(tmp_path / "archive")
        assert moved.last == 2
        assert list(files(path)) == ["columns-000003"]
        feed(store, [LARGE])
    with Store.open(path, read_only=True, archive=tmp_path / "archive") as store:
        assert list(store.records(STREAM))[:-1] == expected
    assert rows(path, "SELECT file FROM beside") == [(3,), (4,)]
    for archive in None, tmp_path / "archive":
        assert verify(path, archive=archive).findings == ()


@pytest.mark.parametrize("moment", ["put_moved", "settle_columns"])
def test_an_archiving_that_is_killed_leaves_all_or_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before its transaction, or before the files that nothing names any more are removed."""
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", LARGE)
    archivable(path)
    if not (child := os.fork()):
        store = Store.open(path)
        owner: Any = littled.store.store if moment == "put_moved" else store._writing
        setattr(owner, moment, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        list(store.archive(tmp_path / "archive"))
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert len(files(path)) == 3
    archive = tmp_path / "archive"
    assert verify(path, archive=archive).findings == ()
    with Store.open(path) as store:
        assert len(files(path)) == (3 if moment == "put_moved" else 1)
        list(store.archive(archive))
        assert list(files(path)) == ["columns-000003"]
    assert verify(path, archive=archive).findings == ()


# --- damage ---------------------------------------------------------------------------------------


def flipped(place: int) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        data = bytearray((path / "columns-000001").read_bytes())
        data[place] ^= 4
        (path / "columns-000001").write_bytes(data)

    return spoil


def swapped(path: Path) -> None:
    (path / "columns-000001").rename(path / "other")
    (path / "columns-000002").rename(path / "columns-000001")
    (path / "other").rename(path / "columns-000002")


def told(statement: str) -> Callable[[Path], None]:
    return lambda path: change(path / "store.sqlite", statement)


def gone_inside(path: Path) -> None:
    """The row says itself what stands beside."""
    (key,) = rows(path, "SELECT key FROM beside WHERE start = 0 AND file = 1")[0]
    x = (path / "columns-000001").read_bytes()[: 8 * LARGE]
    change(path / "store.sqlite", "UPDATE records SET x = ? WHERE key = ?", (x, key))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a bit of the first point": flipped(0),
    "a bit of a label": flipped(8 * LARGE + 5),
    "a bit of the last label": flipped(2 * 9 * LARGE - 1),
    "a lost end": lambda path: os.truncate(path / "columns-000001", 2 * 9 * LARGE - 1),
    "an empty file": lambda path: os.truncate(path / "columns-000002", 0),
    "a missing file": lambda path: (path / "columns-000002").unlink(),
    "swapped files": swapped,
    "another start": told("UPDATE beside SET start = start + 1 WHERE start = 0"),
    "a negative start": told("UPDATE beside SET start = -1 WHERE start = 0"),
    "a start beyond all": told("UPDATE beside SET start = 1 << 62 WHERE start = 0"),
    "a shorter piece": told("UPDATE beside SET size = size - 8"),
    "a piece of nothing": told("UPDATE beside SET size = 0"),
    "a negative piece": told("UPDATE beside SET size = -8"),
    "an endless piece": told("UPDATE beside SET size = 1 << 62"),
    "another file": told("UPDATE beside SET file = 3 - file"),
    "no such file": told("UPDATE beside SET file = -7"),
    "swapped places": told("UPDATE beside SET start = size - start WHERE file = 1"),
    "a lost place": told("DELETE FROM beside WHERE file = 1 AND start = 0"),
    "no places": told("DELETE FROM beside"),
    "columns in both places": gone_inside,
    "another count": told("UPDATE records SET count = count + 1 WHERE x = x''"),
    "no count": told("UPDATE records SET count = 0 WHERE x = x''"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", 10 * LARGE)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        for count in [LARGE, LARGE, LARGE, 1]:
            feed(store, [count])
    assert len(files(path)) == 2
    DAMAGE[name](path)
    with Store.open(path, read_only=True) as store, pytest.raises(StoreDamaged, match=BACKUP):
        list(store.records(STREAM))
    with pytest.raises(StoreRefused, match=BACKUP):
        Store.open(path)
    findings = verify(path).findings
    assert findings
    assert any(BACKUP in each for each in findings)
    with pytest.raises(StoreRefused, match=f"is damaged: .*{BACKUP}"):
        Restoring.open(path, copy=True)


def test_damage_before_the_last_snapshot_is_found_where_a_start_does_not_read(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE, LARGE])
        store.save_snapshot(STREAM, 1, b"state")
    flipped(0)(path)
    Store.open(path).close()
    assert verify(path).findings == (f"the journal of {STREAM} is damaged at record 0: {BACKUP}",)
    os.truncate(path / "columns-000001", 9 * LARGE)
    with pytest.raises(StoreRefused, match="columns-000001 is shorter than it was"):
        Store.open(path)


def test_places_of_no_record_are_found(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE])
    change(path / "store.sqlite", "INSERT INTO beside VALUES (7, 1, 0, 9)")
    assert verify(path).findings[0] == "1 rows of beside belong to no record"


def test_others_may_not_reach_a_file(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE])
    (path / "columns-000001").chmod(0o640)
    with pytest.raises(StoreRefused, match=r"run chmod 600 .*columns-000001"):
        Store.open(path)


def test_a_link_is_not_followed(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [LARGE])
    (path / "columns-000001").rename(path / "elsewhere")
    (path / "columns-000001").symlink_to(path / "elsewhere")
    with Store.open(path, read_only=True) as store, pytest.raises(StoreFailed, match="ELOOP"):
        list(store.records(STREAM))


# --- the modules by themselves --------------------------------------------------------------------


def test_a_writer_and_a_reader(tmp_path: Path) -> None:
    writer, reader = ColumnWriter(tmp_path, None), ColumnReader(tmp_path, None)
    writer.settle({})
    assert writer.opened is None
    spans = writer.append([(b"abc", b"de", b""), (b"f", b"g", b"hij")])
    assert spans == [Span(1, 0, 5), Span(1, 5, 5)]
    assert writer.opened is not None
    both = (spans[1], (1, 1, 3)), (spans[0], (3, 2, 0))
    assert reader.read(both) == [(b"f", b"g", b"hij"), (b"abc", b"de", b"")]
    writer.settle({1: 5})
    assert writer.append([(b"x", b"y", b"")]) == [Span(1, 5, 2)]
    for span, sizes, sentence in (
        (spans[0], (3, 3, 0), "a place in columns-000001 is damaged"),
        (spans[0], (6, -1, 0), "a place in columns-000001 is damaged"),
        (Span(1, -1, 1), (1, 0, 0), "a place in columns-000001 is damaged"),
        (Span(2, 0, 1), (1, 0, 0), "columns-000002 is missing"),
        (Span(1, 9, 5), (5, 0, 0), "columns-000001 is shorter than it was"),
    ):
        with pytest.raises(StoreDamaged, match=f"{sentence}: {BACKUP}"):
            reader.read([(span, sizes)])
    with pytest.raises(StoreDamaged, match=f"columns-000003 is missing: {BACKUP}"):
        writer.settle({3: 1})
    writer.close()
    writer.close()
    (tmp_path / "columns-000001").unlink()
    (tmp_path / "columns-000001").mkdir()
    with pytest.raises(StoreFailed, match="the disk failed"):
        reader.read([both[1]])
