"""Reading in pieces, each of them one short transaction."""

from pathlib import Path

import pytest

from littled.store.history import History
from littled.store.store import Store
from support.stores import LEARNER, STREAM, feed


@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 20), (2, 1 << 20), (1000, 1), (1000, 60)])
def test_reading_in_small_pieces_makes_no_difference(
    history: History, monkeypatch: pytest.MonkeyPatch, rows: int, size: int
) -> None:
    everything = [list(history.journal.records(STREAM)), list(history.ledger.entries(STREAM))]
    releases = list(history.releases.of(LEARNER))
    monkeypatch.setattr("littled.store.rows.STORE_READ_ROWS_MAX", rows)
    monkeypatch.setattr("littled.store.journal.STORE_READ_ROWS_MAX", rows)
    monkeypatch.setattr("littled.store.rows.STORE_READ_BYTES_MAX", size)
    monkeypatch.setattr("littled.store.journal.STORE_READ_BYTES_MAX", size)
    assert [
        list(history.journal.records(STREAM)),
        list(history.ledger.entries(STREAM)),
    ] == everything
    assert list(history.releases.of(LEARNER)) == releases


def test_no_reading_transaction_stays_open_between_pieces(
    small_store: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.rows.STORE_READ_ROWS_MAX", 1)
    monkeypatch.setattr("littled.store.journal.STORE_READ_ROWS_MAX", 1)
    reading = history.journal.records(STREAM)
    next(reading)
    with Store.open(small_store) as store:  # settles the log, which no reader may be using
        feed(store, [3])
    assert [each.number for each in reading] == [1, 2, 3]
