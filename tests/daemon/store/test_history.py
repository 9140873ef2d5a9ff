"""Reading: in pieces, from anywhere, and never past a break."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from littled.budget.price import Price
from littled.store.database import Readers, read_facts
from littled.store.errors import StoreDamaged
from littled.store.history import Extent, History
from littled.store.mark import Point
from littled.store.store import Store
from support.stores import (
    LEARNER,
    RATE,
    STREAM,
    change,
    entry,
    feed,
    fill,
    make_store,
    release,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small closed store with a little of everything, and a second stream without anything."""
    made = make_store(tmp_path / "store", [STREAM, "quiet"])
    with Store.open(made) as store:
        fill(store)
    return made


@pytest.fixture
def readers(path: Path) -> Iterator[Readers]:
    """Connections to it."""
    made = Readers(path / "store.sqlite")
    yield made
    made.close()


@pytest.fixture
def history(readers: Readers) -> History:
    """What is in it."""
    with readers.lend() as connection:
        return History(readers, read_facts(connection))


def test_records_are_read_from_anywhere_to_anywhere(history: History) -> None:
    everything = list(history.records(STREAM))
    assert [(each.number, each.first_position, each.count) for each in everything] == [
        (0, 0, 5),
        (1, 5, 1),
        (2, 6, 8),
    ]
    assert [(each.producer, each.sequence) for each in everything] == [
        ("tower", 0),
        ("tower", 5),
        ("radar", 0),
    ]
    for after in range(-1, 4):
        for last in range(-1, 4):
            found = list(history.records(STREAM, after, last))
            assert found == everything[after + 1 : last + 1]


@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 20), (2, 1 << 20), (1000, 1), (1000, 60)])
def test_reading_in_small_pieces_makes_no_difference(
    history: History, monkeypatch: pytest.MonkeyPatch, rows: int, size: int
) -> None:
    everything = [list(history.records(STREAM)), list(history.ledger(STREAM))]
    releases = list(history.releases(LEARNER))
    monkeypatch.setattr("littled.store.history.STORE_READ_ROWS_MAX", rows)
    monkeypatch.setattr("littled.store.journal.STORE_READ_ROWS_MAX", rows)
    monkeypatch.setattr("littled.store.history.STORE_READ_BYTES_MAX", size)
    monkeypatch.setattr("littled.store.journal.STORE_READ_BYTES_MAX", size)
    assert [list(history.records(STREAM)), list(history.ledger(STREAM))] == everything
    assert list(history.releases(LEARNER)) == releases


def test_no_reading_transaction_stays_open_between_pieces(
    path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.history.STORE_READ_ROWS_MAX", 1)
    monkeypatch.setattr("littled.store.journal.STORE_READ_ROWS_MAX", 1)
    reading = history.records(STREAM)
    next(reading)
    with Store.open(path) as store:  # settles the log, which no reader may be using
        feed(store, [3])
    assert [each.number for each in reading] == [1, 2, 3]


def test_a_stream_without_anything(history: History) -> None:
    assert list(history.records("quiet")) == list(history.ledger("quiet")) == []
    assert history.last_record("quiet") == -1
    assert history.producer("quiet", "tower") is None
    assert history.snapshot("quiet") is None
    mark = history.stream_mark("quiet")
    assert (mark.position, mark.journal, mark.season, mark.spent) == (
        0,
        Point(-1, mark.genesis),
        0,
        Price.zero(),
    )


def test_a_stream_that_does_not_exist(history: History) -> None:
    with pytest.raises(KeyError):
        next(history.records("nowhere"))
    with pytest.raises(KeyError):
        next(history.releases("nowhere/late"))


def test_ledger_and_releases_are_read_from_anywhere_to_anywhere(history: History) -> None:
    entries = [entry(0), entry(1, position=4), entry(2, position=10, learner="early")]
    releases = [release(1), release(2, charge=1, threshold=9)]
    for after in range(-1, 4):
        for last in range(-1, 4):
            assert list(history.ledger(STREAM, after, last)) == entries[after + 1 : last + 1]
            found = list(history.releases(LEARNER, after + 1, last + 1))
            assert found == releases[after + 1 : last + 1]
    assert history.learners() == ["flights/early", "flights/late"]
    assert history.release_mark(LEARNER).number == history.last_release(LEARNER) == 2
    assert list(history.releases("flights/nobody")) == []


def test_a_season_is_added_up_from_its_own_entries(path: Path, history: History) -> None:
    with Store.open(path) as store:
        store.charge(entry(3, position=1000, rate=Fraction(1, 4)))
        store.charge(entry(4, position=1001, rate=Fraction(1, 16)))
    last = Point(4, history.ledger_point(STREAM, 4) or b"")
    for season, spent in ((0, 3 * RATE), (1, Fraction(5, 16)), (2, 0)):
        found, price, point = history.season_spent(STREAM, season)
        assert (found, price.epsilon_pure, point) == (season, spent, last)
    assert history.season_spent(STREAM) == history.season_spent(STREAM, 1)


def test_the_mark_of_a_stream_is_where_it_ends(path: Path, history: History) -> None:
    last = list(history.records(STREAM))[-1]
    mark = history.stream_mark(STREAM)
    assert (mark.journal, mark.position) == (Point(2, last.chain_head), 14)
    assert (mark.ledger.number, mark.season, mark.spent.epsilon_pure) == (2, 0, 3 * RATE)


def test_the_extent_is_of_one_moment(history: History) -> None:
    assert history.extent() == Extent(
        records={STREAM: 2, "quiet": -1},
        entries={STREAM: 2, "quiet": -1},
        predictions={STREAM: -1, "quiet": -1},
        releases={"flights/early": 1, LEARNER: 2},
        producers={(STREAM, "tower"): 6, (STREAM, "radar"): 8},
    )


def test_a_break_is_noticed_where_it_is_and_not_before(path: Path, history: History) -> None:
    change(path / "store.sqlite", "UPDATE records SET y = zeroblob(1) WHERE sequence = 5")
    change(path / "store.sqlite", "UPDATE records SET x = zeroblob(64) WHERE count = 8")
    reading = history.records(STREAM)
    assert next(reading).number == 0
    with pytest.raises(StoreDamaged, match="journal of flights is damaged at record 1"):
        next(reading)
    with pytest.raises(StoreDamaged, match="at record 2"):
        list(history.records(STREAM, after=1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET key = key + 5 WHERE sequence = 5",
        "UPDATE records SET first_position = -1 WHERE sequence = 5",
        "UPDATE records SET count = 0 WHERE sequence = 5",
        "UPDATE records SET sequence = -6 WHERE sequence = 5",
        "UPDATE records SET producer = 99 WHERE sequence = 5",
        "UPDATE records SET head = x'00' WHERE sequence = 5",
    ],
)
def test_no_field_of_a_record_can_be_changed(path: Path, history: History, statement: str) -> None:
    change(path / "store.sqlite", statement)
    with pytest.raises(StoreDamaged, match="at record 1"):
        list(history.records(STREAM))


def test_a_ledger_entry_that_belongs_elsewhere_is_damage(path: Path, history: History) -> None:
    for wrong in (entry(2, stream="quiet"), entry(1)):
        change(
            path / "store.sqlite",
            "UPDATE ledger SET entry = ? WHERE number = 2",
            (wrong.to_bytes(),),
        )
        with pytest.raises(StoreDamaged, match="belongs elsewhere"):
            list(history.ledger(STREAM))
        with pytest.raises(StoreDamaged, match="belongs elsewhere"):
            history.season_spent(STREAM)


def test_damage_is_described_without_private_values(path: Path, history: History) -> None:
    change(path / "store.sqlite", "UPDATE records SET x = CAST('secretsecret' AS BLOB)")
    with pytest.raises(StoreDamaged) as caught:
        list(history.records(STREAM))
    assert "secret" not in str(caught.value)


# --- snapshots ------------------------------------------------------------------------------------


def test_the_newest_usable_snapshot_is_found(path: Path, history: History) -> None:
    assert history.snapshot(STREAM) == (1, b"state after record 1")
    with Store.open(path) as store:
        store.save_snapshot(STREAM, 2, b"state after record 2")
    assert history.snapshot(STREAM) == (2, b"state after record 2")
    assert history.damaged_snapshots(STREAM) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshots SET state = x'00' WHERE record_number = 2",
        "UPDATE snapshots SET checksum = x'00' WHERE record_number = 2",
        "UPDATE snapshots SET record_number = 7 WHERE record_number = 2",
        "UPDATE snapshots SET record_number = 0 WHERE record_number = 2",
        "UPDATE records SET head = zeroblob(32) WHERE count = 8",
    ],
)
def test_an_unusable_snapshot_is_passed_over(path: Path, history: History, statement: str) -> None:
    with Store.open(path) as store:
        store.save_snapshot(STREAM, 2, b"state after record 2")
    change(path / "store.sqlite", statement)
    assert history.snapshot(STREAM) == (1, b"state after record 1")
    assert len(history.damaged_snapshots(STREAM)) == 1


# --- the mark -------------------------------------------------------------------------------------


def test_a_store_is_not_behind_its_own_mark(path: Path, history: History) -> None:
    with Store.open(path) as store:
        mark = store._mark()
        assert history.behind(mark) == []
        feed(store, [1])
        store.charge(entry(3, position=14))
        store.publish([release(3)], ())
        assert history.behind(mark) == []


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM records WHERE count = 8", "record 2 of flights"),
        ("UPDATE records SET head = zeroblob(32) WHERE count = 8", "record 2 of flights"),
        ("DELETE FROM ledger WHERE number = 2", "ledger entry 2 of flights"),
        ("DELETE FROM releases WHERE version = 2", "release 2 of flights/late"),
    ],
)
def test_what_is_missing_is_named(
    path: Path, history: History, statement: str, sentence: str
) -> None:
    with Store.open(path) as store:
        mark = store._mark()
    change(path / "store.sqlite", statement)
    (finding,) = history.behind(mark)
    assert finding.startswith(sentence)
    assert finding.endswith("which the high-water mark knows, is missing or another one")
