"""The table of producers: whatever is changed in it, the store is not served."""

import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from littled.store.errors import StoreRefused
from littled.store.journal import Journal
from littled.store.producers import ProducerCheck
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.marks import read_mark
from support.serving import STORE_STATUS, Peer, Serving, serving
from support.serving import make_store as make_served_store
from support.stores import STREAM, change, contents, copy_store, feed, make_store

pytestmark = pytest.mark.usefixtures("any_database")

OTHER = "trains"
CHANGES = {
    "a number goes back": "UPDATE producers SET next_sequence = next_sequence - 1 WHERE id = {}",
    "a number begins anew": "UPDATE producers SET next_sequence = 0 WHERE id = {}",
    "a number is ahead": "UPDATE producers SET next_sequence = next_sequence + 1 WHERE id = {}",
    "another name": "UPDATE producers SET name = 'nobody' WHERE id = {}",
    "another stream": "UPDATE producers SET stream = 3 - stream WHERE id = {}",
    "no stream": "UPDATE producers SET stream = 7 WHERE id = {}",
    "another identity": "UPDATE producers SET id = id + 1000 WHERE id = {}",
    "deleted": "DELETE FROM producers WHERE id = {}",
    "added": "INSERT INTO producers SELECT {} + 500, 1, 'late comer', 12",
    "added at the start": "INSERT INTO producers SELECT {} + 600, 1, 'late comer', 0",
    "added before": "INSERT INTO producers SELECT -{}, 1, 'early comer', 12",
    "all begin anew": "UPDATE producers SET next_sequence = 0 WHERE id >= {}",
    "numbers swapped": "UPDATE producers SET next_sequence = (SELECT sum(next_sequence) FROM "
    "producers AS two WHERE two.id IN ({0}, {0} + 1)) - next_sequence WHERE id IN ({0}, {0} + 1)",
}


def lived(path: Path) -> Path:
    """A store with a restore, with producers from before a checksum and since, and no good end."""
    make_store(path, (STREAM, OTHER))
    with Store.open(path) as store:
        feed(store, [3, 4], "tower")
        feed(store, [2], "radar")
        feed(store, [5], "tower", OTHER)
        for stream in (STREAM, OTHER):
            store.save_snapshot(stream, 0, b"state")
    copy = copy_store(path, path.with_name("older"))
    with Store.open(path) as store:
        feed(store, [7], "radar")
        feed(store, [1], "lost")
    shutil.copy(path / "high-water-mark", copy / "high-water-mark")
    shutil.rmtree(path)
    copy.rename(path)
    with Restoring.open(path, copy=True) as found:
        found.finish()
    with Store.open(path) as store:
        for name in ("radar", "ship", "lost"):
            feed(store, [6, 1], name)
        store.save_snapshot(STREAM, store.record_at(STREAM, 1000) or 0, b"state")
        feed(store, [2], "radar")
        feed(store, [2], "plane")
        feed(store, [9], "plane", OTHER)
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same store with checksums, with one and the other alone, and with none."""
    folder = tmp_path_factory.mktemp("producers")
    found = {"checksums": lived(folder / "store")}
    for name, statement in (
        ("one checksum", "DELETE FROM producer_checksums WHERE stream = 1"),
        ("no checksum", "DROP TABLE producer_checksums"),
    ):
        found[name] = copy_store(found["checksums"], folder / name)
        change(found[name] / "store.sqlite", statement)
    return found


def rows(path: Path) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path / "store.sqlite"))
    found = connection.execute("SELECT * FROM producers ORDER BY id").fetchall()
    connection.close()
    return found


@pytest.mark.in_a_folder
@pytest.mark.parametrize("kind", ["checksums", "one checksum", "no checksum"])
def test_every_change_of_a_row_is_refused(
    stores: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    original = rows(stores[kind])
    refusals = 0
    for name, statement in CHANGES.items():
        for identity in (row[0] for row in original):
            copy = copy_store(stores[kind], tmp_path / "copy")
            try:
                change(copy / "store.sqlite", statement.format(identity))
            except apsw.ConstraintError:
                assert name == "another stream", "where the name is taken"
            if rows(copy) != original:
                refusals += 1
                with pytest.raises(StoreRefused, match=r"damaged: .*: put back a backup"):
                    Store.open(copy)
            shutil.rmtree(copy)
    assert refusals > 90


@pytest.mark.in_a_folder
def test_a_checksum_is_no_more_than_a_short_cut(stores: dict[str, Path], tmp_path: Path) -> None:
    """A store that lacks it or has a wrong one is read as a whole, and has a good one then."""
    with Store.open(stores["checksums"], read_only=True) as store:
        whole = contents(store)
    for statement in (
        "DELETE FROM producer_checksums",
        "DROP TABLE producer_checksums",
        "UPDATE producer_checksums SET checksum = zeroblob(32)",
        "UPDATE producer_checksums SET checksum = x''",
        "UPDATE producer_checksums SET record_number = record_number - 1",
        "UPDATE producer_checksums SET record_number = -7",
        "UPDATE producer_checksums SET record_number = 100000",
        "UPDATE producer_checksums SET last_producer = 0",
        "UPDATE producer_checksums SET last_producer = -1",
        "UPDATE producer_checksums SET stream = stream + 1 WHERE stream = 2",
    ):
        copy = copy_store(stores["checksums"], tmp_path / "copy")
        change(copy / "store.sqlite", statement)
        missing = statement.startswith(("DELETE", "DROP"))
        assert bool(verify(copy).findings) == (not missing), statement
        with Store.open(copy) as store:
            assert contents(store) == whole
        if "stream = stream" not in statement:
            assert verify(copy).findings == ()
        shutil.rmtree(copy)


def test_a_start_reads_the_records_since_the_checksum_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        for number in range(300):
            feed(store, [1], f"p{number % 7}")
        store.save_snapshot(STREAM, 290, b"state")
        feed(store, [1] * 5)
    read = []
    records = Journal.records

    def counted(*arguments: Any) -> Any:
        for record in records(*arguments):
            read.append(record.number)
            yield record

    monkeypatch.setattr(Journal, "records", counted)
    Store.open(path).close()
    assert read == list(range(291, 305)), "what follows the snapshot, once"
    monkeypatch.setattr(ProducerCheck, "fits", lambda *_: False)
    told: list[None] = []
    Store.open(path, progress=lambda: told.append(None)).close()
    assert read[-305:] == list(range(305))
    assert told


@pytest.mark.in_a_folder
def test_a_damaged_mark_of_producers_is_told_apart(stores: dict[str, Path], tmp_path: Path) -> None:
    """A store whose producers went back is refused, and its mark stays as it was."""
    copy = copy_store(stores["checksums"], tmp_path / "copy")
    before = read_mark(copy / "high-water-mark")
    change(copy / "store.sqlite", "UPDATE producers SET next_sequence = 0")
    with pytest.raises(StoreRefused, match="the producers of flights are not where its journal"):
        Store.open(copy)
    assert read_mark(copy / "high-water-mark") == before


@pytest.mark.long
@pytest.mark.in_a_folder
@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_a_daemon_does_not_serve_producers_that_begin_anew(tmp_path: Path, killed: bool) -> None:
    """Whether it ended well, or left a tail, whose records the numbers do not fit either."""
    path = make_served_store(tmp_path / "store")
    with serving(path) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        peer.feed(0, bytes(1000), bytes(1000))
        peer.acknowledged(1000)
        Store.open(path, read_only=True).close()  # as what came alone is in the database then
        if killed:
            daemon.kill()
        else:
            assert daemon.stop() == 0
    change(path / "store.sqlite", "UPDATE producers SET next_sequence = 0")
    refused = Serving.start(path, ready=False)
    assert refused.ended() == STORE_STATUS
    of_another_moment = "tail is of a later moment than the database"
    not_as_the_journal = "the producers of flights are not where its journal ends for them"
    assert (of_another_moment if killed else not_as_the_journal) in refused.text
    with pytest.raises(StoreRefused, match=not_as_the_journal):
        Restoring.open(path, copy=True)
