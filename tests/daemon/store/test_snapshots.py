"""Which snapshot is used, and which are passed over."""

from pathlib import Path

import pytest

from littled.store.history import History
from littled.store.store import Store
from support.stores import STREAM, change

pytestmark = pytest.mark.usefixtures("any_database")


def test_the_newest_usable_snapshot_is_found(small_store: Path, history: History) -> None:
    assert history.snapshots.newest(STREAM) == (1, b"state after record 1")
    with Store.open(small_store) as store:
        store.save_snapshot(STREAM, 2, b"state after record 2")
    assert history.snapshots.newest(STREAM) == (2, b"state after record 2")
    assert history.snapshots.damaged(STREAM) == []


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
def test_an_unusable_snapshot_is_passed_over(
    small_store: Path, history: History, statement: str
) -> None:
    with Store.open(small_store) as store:
        store.save_snapshot(STREAM, 2, b"state after record 2")
    change(small_store / "store.sqlite", statement)
    assert history.snapshots.newest(STREAM) == (1, b"state after record 1")
    assert len(history.snapshots.damaged(STREAM)) == 1
