"""Places of sources: durable exactly with the examples before them, and checked when read."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from littled.store.database import has_places
from littled.store.errors import StoreDamaged
from littled.store.records import NewRecord, SourcePlace
from littled.store.restoring import Restoring
from littled.store.source_places import place_of, place_row
from littled.store.sqlite import SqliteWriting
from littled.store.store import Store
from littled.store.verify import verify
from support.stores import STREAM, change, copy_store, feed, make_store, new_record

pytestmark = pytest.mark.usefixtures("any_database")

QUIET = "quiet"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two streams, whose mark is no part of its folder."""
    return make_store(tmp_path / "store", (STREAM, QUIET), mark_path=tmp_path / "mark")


def opened(path: Path, **how: bool) -> Store:
    return Store.open(path, mark_path=path.parent / "mark", **how)  # type: ignore[arg-type]


def placed(new: NewRecord, resume: bytes | None, sequence: int | None = None) -> NewRecord:
    """A record with a place behind it, or after so many of the producer's examples."""
    if resume is None:
        return new
    end = new.sequence + new.count
    return replace(new, place=SourcePlace(end if sequence is None else sequence, resume))


def feed_placed(
    store: Store, counts: Sequence[int], resume: bytes | None, producer: str = "tower"
) -> None:
    """Append records in one transaction, the last of them with a place."""
    sequence = store.producer_next(STREAM, producer)
    records = []
    for count in counts:
        records.append(new_record(sequence, count, producer))
        sequence += count
    store.append([*records[:-1], placed(records[-1], resume)])


def test_the_last_place_is_kept_with_its_examples(path: Path) -> None:
    with opened(path) as store:
        assert store.place(STREAM, "tower") is None
        feed_placed(store, [3, 2], b"five")
        assert store.place(STREAM, "tower") == SourcePlace(5, b"five")
        feed_placed(store, [4], b"nine")
        feed_placed(store, [7], None)
        feed_placed(store, [1], b"\0" * 64, producer="radar")
        assert store.place(QUIET, "tower") is None
    with opened(path) as store:
        assert store.place(STREAM, "tower") == SourcePlace(9, b"nine")
        assert store.place(STREAM, "radar") == SourcePlace(1, b"\0" * 64)
        assert store.producer_next(STREAM, "tower") == 16
    assert verify(path, mark_path=path.parent / "mark").findings == ()


def test_of_one_transaction_the_last_place_counts_also_inside_a_record(path: Path) -> None:
    with opened(path) as store:
        records = [placed(new_record(0, 2), b"two"), placed(new_record(2, 3), b"four", 4)]
        store.append([*records, new_record(5, 1)])
        assert store.place(STREAM, "tower") == SourcePlace(4, b"four")


@pytest.mark.parametrize("sequence", [-1, 0, 10, 13])
def test_a_place_is_among_its_examples(path: Path, sequence: int) -> None:
    with opened(path) as store:
        feed_placed(store, [10], b"ten")
        with pytest.raises(ValueError, match="place"):
            store.append([placed(new_record(10, 2), b"x", sequence)])
        assert store.place(STREAM, "tower") == SourcePlace(10, b"ten")
        assert store.producer_next(STREAM, "tower") == 10


@pytest.mark.in_a_folder
def test_examples_and_place_are_in_one_transaction(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever commit is the last one before the power goes away."""
    copies: list[Path] = []
    committed = SqliteWriting._committed

    def copying(self: SqliteWriting) -> None:
        copies.append(tmp_path / f"copy-{len(copies)}")
        copy_store(path, copies[-1] / "store")
        shutil.copy(path.parent / "mark", copies[-1] / "mark")
        committed(self)

    with opened(path) as store:
        monkeypatch.setattr(SqliteWriting, "_committed", copying)
        for number in range(1, 5):
            feed_placed(store, [number], b"%d" % number)
    monkeypatch.undo()
    assert copies
    for copy in copies:
        with opened(copy / "store", read_only=True) as store:
            place = store.place(STREAM, "tower")
            assert place is not None
            assert place.sequence == store.producer_next(STREAM, "tower")


def test_places_change_nothing_of_the_journal(path: Path, tmp_path: Path) -> None:
    other = copy_store(path, tmp_path / "other")
    shutil.copy(tmp_path / "mark", tmp_path / "other mark")
    with opened(path) as store, Store.open(other, mark_path=tmp_path / "other mark") as plain:
        feed_placed(store, [3, 2], b"five")
        feed(plain, [3, 2])
        assert list(store.records(STREAM)) == list(plain.records(STREAM))
        with plain._history.rows.lend() as connection:
            assert not has_places(connection)


def test_a_store_of_an_older_version_has_no_places_until_the_first(path: Path) -> None:
    with opened(path) as store:
        feed(store, [3])
        with store._history.rows.lend() as connection:
            assert not has_places(connection)
        assert store.place(STREAM, "tower") is None
        feed_placed(store, [2], b"five")
        assert store.place(STREAM, "tower") == SourcePlace(5, b"five")


@pytest.mark.in_a_folder
def test_an_older_copy_that_goes_on_keeps_its_place_and_the_bounds_rule(path: Path) -> None:
    with opened(path) as store:
        feed_placed(store, [3], b"three")
    copy = copy_store(path, path.parent / "copy")
    with opened(path) as store:
        feed_placed(store, [4], b"seven")
    shutil.rmtree(path)
    copy.rename(path)
    with Restoring.open(path, mark_path=path.parent / "mark") as restoring:
        restoring.finish()
    with opened(path) as store:
        assert store.place(STREAM, "tower") == SourcePlace(3, b"three")
        assert store.producer_next(STREAM, "tower") == 7
    assert verify(path, mark_path=path.parent / "mark").findings == ()


DAMAGE = {
    "another place": "UPDATE producer_places SET resume = x'00'",
    "another number": "UPDATE producer_places SET sequence = 2",
    "a place beyond the examples": "UPDATE producers SET next_sequence = 2",
    "a damaged checksum": "UPDATE producer_places SET checksum = x'00'",
    "another producer's": "UPDATE producer_places SET producer = (SELECT id FROM producers "
    "WHERE name = 'radar')",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_found(path: Path, statement: str) -> None:
    with opened(path) as store:
        feed(store, [9], producer="radar")
        feed_placed(store, [3], b"three")
        found = store._history.producers
        change(path / "store.sqlite", statement)
        whose = "radar" if "radar" in statement else "tower"
        with pytest.raises(StoreDamaged, match=f"{whose} has reached in its source"):
            found.place(STREAM, whose)
        assert len(found.wrong_places(STREAM)) == 1
        assert found.wrong_places(QUIET) == []
    report = verify(path, mark_path=path.parent / "mark", alone=True)
    assert any("has reached in its source" in finding for finding in report.findings)


def test_a_place_of_no_producer_is_found(path: Path) -> None:
    with opened(path) as store:
        feed_placed(store, [3], b"three")
    change(path / "store.sqlite", "UPDATE producer_places SET producer = 99")
    report = verify(path, mark_path=path.parent / "mark", alone=True)
    assert "1 rows of producer_places belong to no producer" in report.findings


def test_a_row_names_its_stream_and_its_producer() -> None:
    place = SourcePlace(3, b"three")
    _, *row = place_row(1, "a", "bc", place)
    assert place_of("a", "bc", [*row, 3]) == place
    for stream, producer in (("ab", "c"), ("a", "b"), ("b", "bc")):
        with pytest.raises(StoreDamaged):
            place_of(stream, producer, [*row, 3])
