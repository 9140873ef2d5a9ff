"""What takes all chains together: marks, and how far everything has come."""

from pathlib import Path

import pytest

from littled.budget.price import Price
from littled.store.history import Extent, History
from littled.store.mark import Point
from littled.store.store import Store
from support.stores import LEARNER, RATE, STREAM, change, entry, feed, release

pytestmark = pytest.mark.usefixtures("any_database")


def test_a_stream_without_anything(history: History) -> None:
    assert list(history.journal.records("quiet")) == []
    assert list(history.ledger.entries("quiet")) == []
    assert history.journal.last_record("quiet") == -1
    assert history.producers.find("quiet", "tower") is None
    assert history.snapshots.newest("quiet") is None
    mark = history.stream_mark("quiet")
    assert (mark.position, mark.journal, mark.season, mark.spent) == (
        0,
        Point(-1, mark.genesis),
        0,
        Price.zero(),
    )


def test_a_stream_that_does_not_exist(history: History) -> None:
    with pytest.raises(KeyError):
        next(history.journal.records("nowhere"))
    with pytest.raises(KeyError):
        next(history.releases.of("nowhere/late"))


def test_the_mark_of_a_stream_is_where_it_ends(small_store: Path, history: History) -> None:
    last = list(history.journal.records(STREAM))[-1]
    mark = history.stream_mark(STREAM)
    assert (mark.journal, mark.position) == (Point(2, last.chain_head), 14)
    assert (mark.ledger.number, mark.season, mark.spent.epsilon_pure) == (2, 0, 3 * RATE)


def test_the_extent_is_of_one_moment(history: History) -> None:
    assert history.extent() == Extent(
        records={STREAM: 2, "quiet": -1},
        entries={STREAM: 2, "quiet": -1},
        predictions={STREAM: -1, "quiet": -1},
        releases={STREAM: {"flights/early": 1, LEARNER: 2}, "quiet": {}},
        producers={STREAM: {"tower": 6, "radar": 8}, "quiet": {}},
    )


def test_a_store_is_not_behind_its_own_mark(small_store: Path, history: History) -> None:
    with Store.open(small_store) as store:
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
    small_store: Path, history: History, statement: str, sentence: str
) -> None:
    with Store.open(small_store) as store:
        mark = store._mark()
    change(small_store / "store.sqlite", statement)
    (finding,) = history.behind(mark)
    assert finding.startswith(sentence)
    assert finding.endswith("which the high-water mark knows, is missing or another one")
