"""Archives: the oldest records in files, everything or nothing of each, and no file for another."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from littled.store.archive import StoreArchived
from littled.store.archiving import window_start
from littled.store.errors import StoreDamaged, StoreError, StoreRefused
from littled.store.mark import MARK_NAME
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.disks import HookedDisk
from support.segments import pack_all, small_segments
from support.stores import (
    LEARNER,
    STREAM,
    answer,
    change,
    contents,
    copy_store,
    entry,
    feed,
    make_store,
    paid,
    release,
)

pytestmark = pytest.mark.usefixtures("any_database")

RECORDS = 60


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of four records, and files of two or three segments."""
    small_segments(monkeypatch, records=4)
    monkeypatch.setattr("littled.store.archiving.ARCHIVE_FILE_BYTES", 150)


def fill(path: Path, *, restored: bool = False) -> Path:
    """Two streams; charges, releases and answers; a restore; snapshots near the end."""
    make_store(path, [STREAM, "quiet"])
    with Store.open(path) as store:
        store.charge(paid(0))
        feed(store, [1, 2, 3] * 4)
        for number in range(3):
            answer(store, number, window=4 * number)
        store.publish([release(1)], [entry(1, position=5)])
        pack_all(store)
    if restored:
        with Restoring.open(path, copy=True) as found:
            found.finish()
    with Store.open(path) as store:
        feed(store, [1, 2] * 12, "radar")
        feed(store, [1000])
        feed(store, [2] * (RECORDS - 37 - restored), "desk")
        pack_all(store)
        last = len(list(store.records(STREAM))) - 1
        assert last == RECORDS - 1
        store.save_snapshot(STREAM, last - 6, b"older")
        store.save_snapshot(STREAM, last - 2, b"newer")
    return path


def fill_restored(path: Path) -> Path:
    return fill(path, restored=True)


@pytest.fixture(params=[False, True], ids=["plain", "restored"])
def whole(copy_of: Callable[..., Path], request: pytest.FixtureRequest) -> Path:
    """A store of which most may be archived."""
    return copy_of(fill_restored if request.param else fill, "whole")


@pytest.fixture
def plain(copy_of: Callable[..., Path]) -> Path:
    """The plain one, under the name of a copy."""
    return copy_of(fill)


def copied(path: Path, name: str = "store") -> Path:
    return copy_store(path, path.with_name(name))


def archived(path: Path, folder: Path) -> list[str]:
    """Archive what may go; names of the files."""
    with Store.open(path) as store:
        return [each.name for each in store.archive(folder)]


def everything(path: Path, folder: Path | None = None) -> Any:
    """What a store says, with its archive."""
    with Store.open(path, read_only=True, archive=folder) as store:
        records = list(store.records(STREAM))
        parts = [list(store.records(STREAM, after)) for after in range(-1, RECORDS, 7)]
        places = [store.record_at(STREAM, each) for each in (0, 3, 8, 30, 60, 1030)]
        answers = list(store.predictions(STREAM))
        return contents(store), records, parts, places, answers


def test_with_its_archive_a_store_says_what_it_said(whole: Path, tmp_path: Path) -> None:
    path, folder = copied(whole), tmp_path / "archive"
    names = archived(path, folder)
    assert len(names) > 3
    assert sorted(each.name for each in folder.iterdir()) == sorted(names)
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in folder.iterdir())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert everything(path, folder) == everything(whole)
    assert verify(path, archive=folder).findings == ()
    for here, there in zip(
        verify(path, archive=folder).streams, verify(whole).streams, strict=True
    ):
        assert (here.records, here.examples, here.restored) == (
            *(there.records, there.examples, there.restored),
        )
        assert here.unchecked == 0


@pytest.mark.long_on_a_server
def test_without_it_a_store_serves_and_says_what_it_believes(whole: Path, tmp_path: Path) -> None:
    path, folder = copied(whole), tmp_path / "archive"
    archived(path, folder)
    report = verify(path)
    assert report.findings == ()
    (flights,) = (each for each in report.streams if each.stream == STREAM)
    assert flights.unchecked == flights.archived > RECORDS / 2
    (before,) = (each for each in verify(whole).streams if each.stream == STREAM)
    assert (flights.records, flights.examples) == (before.records, before.examples)
    assert flights.restored == before.restored
    with Store.open(path) as store, Store.open(whole) as other:
        assert store.snapshot(STREAM) == other.snapshot(STREAM)
        assert list(store.records(STREAM, RECORDS - 7)) == list(other.records(STREAM, RECORDS - 7))
        assert list(store.predictions(STREAM)) == list(other.predictions(STREAM))
        for producer in ("tower", "newcomer"):
            for fed in (store, other):
                feed(fed, [1, 2], producer)
        assert list(store.records(STREAM, RECORDS)) == list(other.records(STREAM, RECORDS))
        with pytest.raises(StoreArchived, match=r"records 0 to \d+ of flights .* with --archive"):
            list(store.records(STREAM))
    assert verify(path).findings == verify(path, archive=folder).findings == ()


@pytest.mark.long_on_a_server
def test_the_next_archiving_goes_on(whole: Path, tmp_path: Path) -> None:
    path, folder = copied(whole), tmp_path / "archive"
    first = archived(path, folder)
    assert archived(path, folder) == []
    for folded in (path, whole):
        with Store.open(folded) as store:
            feed(store, [3] * 20)
            pack_all(store)
            for last in (RECORDS + 8, RECORDS + 17):
                store.save_snapshot(STREAM, last, b"newest")
    second = archived(path, folder)
    assert second
    assert not {*first} & {*second}
    assert everything(path, folder) == everything(whole)
    assert verify(path, archive=folder).findings == verify(path).findings == ()


def test_a_store_all_of_whose_segments_were_archived_is_packed_further(tmp_path: Path) -> None:
    """Its next segment follows the archive, and not the beginning of the journal."""
    path, folder = make_store(tmp_path / "store"), tmp_path / "archive"
    with Store.open(path) as store:
        feed(store, [1] * 9)
        store.save_snapshot(STREAM, 8, b"state")
        pack_all(store)
    assert archived(path, folder)
    for number in range(3):
        with Store.open(path) as store:
            feed(store, [2] * (1 + number))
            pack_all(store)
            feed(store, [3])
    assert verify(path).findings == ()
    with Store.open(path, read_only=True, archive=folder) as store:
        counts = [record.count for record in store.records(STREAM)]
    assert counts == [1] * 9 + [2, 3, 2, 2, 3, 2, 2, 2, 3]
    assert verify(path, archive=folder).findings == ()


@pytest.mark.in_a_folder
def test_room_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.archiving.ARCHIVE_FILE_BYTES", 1 << 20)
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", 1 << 19)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        for examples in (30_000, 3_000):
            for _ in range(30):
                feed(store, [examples])
        for number in (57, 58):
            store.save_snapshot(STREAM, number, b"state")
    for pattern in ("store.sqlite", "columns-*"):
        assert size(path, pattern) > 500_000
    archived(path, tmp_path / "archive")
    assert size(path, "store.sqlite") < 300_000
    assert not list(path.glob("columns-*"))
    assert verify(path, archive=tmp_path / "archive").findings == ()


def size(path: Path, pattern: str) -> int:
    """Bytes of some files of a store."""
    return sum(each.stat().st_size for each in path.glob(pattern))


def test_nothing_goes_that_a_daemon_may_need(tmp_path: Path) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 40)
    assert archived(path, tmp_path / "none") == []  # no snapshot: a start would replay it all
    with Store.open(path) as store:
        store.save_snapshot(STREAM, 30, b"older")
        store.save_snapshot(STREAM, 38, b"newer")
    change(path / "store.sqlite", "UPDATE snapshots SET state = x'00' WHERE record_number = 30")
    archived(path, tmp_path / "archive")
    with Store.open(path) as store:
        assert [each.number for each in store.records(STREAM, 30)] == [*range(31, 40)]
        with pytest.raises(StoreArchived):
            next(store.records(STREAM, 5))
        end = store.position(STREAM)
    # the window from which is answered ends with the last example
    assert window_start(end, 1000, 1) == end - 1
    assert window_start(7, 1000, 8) is None
    assert window_start(16, 1000, 8) == 8
    assert window_start(1003, 1000, 8) == 992


def test_the_window_that_answers_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.archiving.window_start", lambda *_: 10)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 40)
        store.save_snapshot(STREAM, 38, b"newer")
    archived(path, tmp_path / "archive")
    with Store.open(path) as store:
        assert store.record_at(STREAM, 10) == 10
        with pytest.raises(StoreArchived):
            store.record_at(STREAM, 7)


# --- Files that are not what they should be -------------------------------------------------------


def another(path: Path, folder: Path) -> Path:
    """The archive of another store with the same records."""
    other = fill(path.with_name("another"), restored=False)
    archived(other, folder)
    return folder


Harm = Callable[[Path, list[str], Callable[[], Path]], Any]
HARMS: dict[str, tuple[Harm, str]] = {
    "missing": (lambda at, names, _: (at / names[1]).unlink(), "lacks flights-"),
    "cut off": (lambda at, names, _: os.truncate(at / names[1], 200), "is damaged"),
    "empty": (lambda at, names, _: os.truncate(at / names[1], 0), "is damaged"),
    "a changed byte": (
        lambda at, names, _: (at / names[1]).write_bytes(
            bytes(b ^ (i == 300) for i, b in enumerate((at / names[1]).read_bytes()))
        ),
        "is damaged",
    ),
    "another store's": (
        lambda at, names, other: shutil.copy(other() / names[0], at / names[0]),
        "belongs to another store",
    ),
    "two in each other's place": (
        lambda at, names, _: (
            (at / names[0]).rename(at / "x"),
            (at / names[1]).rename(at / names[0]),
            (at / "x").rename(at / names[1]),
        ),
        r"holds records \d+ to \d+",
    ),
    "one twice": (
        lambda at, names, _: shutil.copy(at / names[0], at / names[2]),
        r"holds records 0 to \d+",
    ),
}


@pytest.mark.long_on_a_server
@pytest.mark.parametrize("name", HARMS)
def test_each_harm_has_its_sentence(tmp_path: Path, name: str, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    names = archived(path, folder)

    def other() -> Path:
        """Made where it is asked for: that takes as long as the rest."""
        found = another(path, tmp_path / "other")
        assert [each.name for each in sorted(found.iterdir())] == sorted(names)
        return found

    harm, sentence = HARMS[name]
    harm(folder, names, other)
    findings = verify(path, archive=folder).findings
    assert len(findings) >= 1
    with (
        Store.open(path, read_only=True, archive=folder) as store,
        pytest.raises(StoreError, match=sentence) as raised,
    ):
        list(store.records(STREAM))
    assert str(raised.value) in findings
    assert "\n" not in str(raised.value)
    assert verify(path).findings == ()  # by itself it is as sound as before


@pytest.mark.long_on_a_server
def test_a_file_that_was_there_already_is_in_the_way(tmp_path: Path, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    another(path, folder)
    before = everything(path)
    with pytest.raises(StoreRefused, match="holds something else: name another folder"):
        archived(path, folder)
    assert everything(path) == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreRefused, match="is no folder"):
        archived(path, tmp_path / "file")


def test_what_is_kept_of_archived_records_is_found_without_the_archive(
    plain: Path, tmp_path: Path
) -> None:
    """Each by itself: a store may keep as much as there were windows."""
    path = copied(plain, "without")
    archived(path, tmp_path / "archive")
    with Store.open(path, read_only=True) as store, Store.open(plain, read_only=True) as before:
        named = {answer.record for answer in before.predictions(STREAM)}
        kept = [record for record in before.records(STREAM) if record.number in named]
        assert kept
        for record in kept:
            for position in range(record.first_position, record.first_position + record.count):
                assert store.record_at(STREAM, position) == record.number
        assert list(store.predictions(STREAM)) == list(before.predictions(STREAM))


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "archive_finds", "alone"),
    [
        ("UPDATE archived SET head = zeroblob(32) WHERE last > 40", True, True),
        ("UPDATE archived SET end_position = end_position + 1 WHERE last > 40", True, True),
        ("UPDATE archived SET checksum = zeroblob(32)", True, False),
        ("UPDATE archived SET last = last + 1", True, True),
        ("UPDATE archived SET key = key + 1 WHERE last > 40", True, True),
        ("UPDATE archived SET examples = examples + 1", True, False),
        ("DELETE FROM archived WHERE last > 40", True, True),
        ("DELETE FROM archived WHERE last < 20", True, True),
        ("UPDATE archived_points SET head = zeroblob(32)", True, True),
        ("UPDATE archived_points SET first_position = first_position - 1", True, False),
        ("UPDATE archived_points SET end_position = end_position + 1", True, False),
        ("DELETE FROM archived_points", False, True),
    ],
)
def test_what_is_kept_of_archived_records_is_held_against_the_rest(
    tmp_path: Path, statement: str, archive_finds: bool, alone: bool, plain: Path
) -> None:
    path, folder = plain, tmp_path / "archive"
    archived(path, folder)
    change(path / "store.sqlite", statement)
    assert bool(verify(path, archive=folder).findings) is archive_finds
    assert bool(verify(path).findings) is alone


# --- Interruptions --------------------------------------------------------------------------------


class Killing:
    """Counts writes and syncs, and kills the process at one of them."""

    def __init__(self, moment: int) -> None:
        self.left = -1
        self._moment = moment
        self._sync = os.fsync

    def happened(self, *_: object) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def sync(self, number: int) -> None:
        self.happened()
        self._sync(number)

    def archive(self, path: Path, folder: Path) -> None:
        disk = HookedDisk("killing", self.happened)
        os.fsync = self.sync  # type: ignore[assignment]
        with Store.open(path, vfs=disk.name) as store:
            self.left = self._moment
            for _ in store.archive(folder):
                pass


def stops(path: Path, folder: Path) -> Iterator[int]:
    """Kill an archiving at each write to the database or sync of a file; the number of the kill.

    Each begins with what the one before has left.
    """
    for moment in range(1, 400):
        child = os.fork()
        if not child:
            try:
                Killing(moment).archive(path, folder)
            finally:
                os._exit(7)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return
        yield moment


@pytest.mark.long
@pytest.mark.in_a_folder
def test_an_archiving_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    whole, folder = fill(tmp_path / "whole"), tmp_path / "archive"
    path = copied(whole)
    before = everything(whole)
    kills = 0
    for kills in stops(path, folder):
        folder.mkdir(exist_ok=True)
        assert verify(path, archive=folder).findings == ()
        if kills % 5 == 0:
            assert everything(path, folder) == before
    assert kills > 10
    archived(path, folder)
    assert everything(path, folder) == before
    assert not list(folder.glob("*.new"))


@pytest.mark.long
def test_a_copy_from_before_the_archiving_goes_on_without_and_with_it(
    tmp_path: Path, plain: Path
) -> None:
    """A restore of a copy that has its records still, and of one that has them in the archive."""
    path, folder = plain, tmp_path / "archive"
    archived(path, folder)
    copies = [copied(path, "moved"), fill(tmp_path / "unmoved")]
    for number, copy in enumerate(copies):
        with Restoring.open(copy, copy=True, archive=folder if not number else None) as found:
            found.finish()
        assert verify(copy, archive=folder).findings == ()
        assert verify(copy).findings == ()
        with Store.open(copy) as store:
            assert store.producer_next(STREAM, "tower") >= 24
            feed(store, [1] * 5, "tower")
            assert store.releases(LEARNER) == [release(1)]
    next(iter(sorted(folder.iterdir()))).unlink()
    with (
        pytest.raises(StoreRefused, match="lacks"),
        Restoring.open(copies[0], copy=True, archive=folder),
    ):
        pass


@pytest.mark.in_a_folder
def test_a_branch_that_was_given_up_goes_on_with_its_archive_and_without(tmp_path: Path) -> None:
    """Its mark is that of a copy, and names a record in the middle of what was archived."""
    path, folder = make_store(tmp_path / "store"), tmp_path / "archive"
    with Store.open(path) as store:
        feed(store, [1] * 10)
    early = copied(path, "early")
    with Store.open(path) as store:
        feed(store, [2] * 50)
        pack_all(store)
        store.save_snapshot(STREAM, 57, b"")
    archived(path, folder)
    shutil.copy(path / MARK_NAME, early / MARK_NAME)
    with Restoring.open(early) as found:
        found.finish()
    with Store.open(early) as store:
        feed(store, [1, 1])
    shutil.copy(early / MARK_NAME, path / MARK_NAME)
    with pytest.raises(StoreRefused, match="is behind its high-water mark"):
        Store.open(path, archive=folder)
    for copy, there in ((copied(path, "with"), folder), (copied(path, "without"), None)):
        with Restoring.open(copy, archive=there) as found:
            found.finish()
        assert verify(copy, archive=folder).findings == ()
        with Store.open(copy) as store:
            feed(store, [1])


def test_a_start_without_a_snapshot_says_what_it_needs(tmp_path: Path, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    archived(path, folder)
    change(path / "store.sqlite", "DELETE FROM snapshots")
    with pytest.raises(StoreRefused, match="moved into an archive: name its folder with --archive"):
        Store.open(path)
    with Store.open(path, archive=folder) as store:
        assert len(list(store.records(STREAM))) == RECORDS


@pytest.mark.in_a_folder
def test_rows_that_came_back_are_found(tmp_path: Path, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    whole = copied(path, "whole")
    archived(path, folder)
    connection = apsw.Connection(str(path / "store.sqlite"))
    connection.execute("ATTACH ? AS old", (str(whole / "store.sqlite"),))
    connection.execute("INSERT INTO segments SELECT * FROM old.segments ORDER BY key LIMIT 1")
    connection.close()
    assert "stand in it and in an archive" in " ".join(verify(path).findings)


@pytest.mark.in_a_folder
def test_a_damaged_store_is_not_archived(tmp_path: Path, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    change(
        path / "store.sqlite",
        "UPDATE segments SET y = zeroblob(length(y)) WHERE first_position = 15",
    )
    with pytest.raises(StoreDamaged, match="the segment at record 8"):
        archived(path, folder)
    connection = apsw.Connection(str(path / "store.sqlite"))
    rows: list[Any] = connection.execute("SELECT count(*) FROM segments").fetchall()
    assert rows[0][0] > 10
    connection.close()


def test_a_place_of_no_archived_record_is_found(tmp_path: Path, plain: Path) -> None:
    path, folder = plain, tmp_path / "archive"
    archived(path, folder)
    insert = (
        "INSERT INTO archived_points SELECT key + 1000, 0, 1, head FROM archived_points LIMIT 1"
    )
    change(path / "store.sqlite", insert)
    for where in folder, None:
        (finding,) = verify(path, archive=where).findings
        assert finding == "a place of archived records of flights is of none in the archive"
