"""A store whose files are moved, replaced or removed under it takes nothing more."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from littled.store.errors import StoreFailed
from littled.store.store import Store
from littled.store.verify import verify
from support.serving import STORE_STATUS, Peer, serving
from support.serving import make_store as make_served_store
from support.stores import STREAM, feed, make_store

LOST = "was moved, replaced or removed while it was in use"


def feed_many(store: Store) -> None:
    for _ in range(20):
        feed(store, [1_000])


def removed(path: Path) -> None:
    (path / "store.sqlite").unlink()


def log_removed(path: Path) -> None:
    (path / "store.sqlite-wal").unlink()


def renamed(path: Path) -> None:
    (path / "store.sqlite").rename(path / "store.sqlite.bak")


def replaced(path: Path) -> None:
    """By a copy with the same contents, as an editor or a backup does it."""
    copy = path / "copy"
    shutil.copy(path / "store.sqlite", copy)
    copy.rename(path / "store.sqlite")


def log_replaced(path: Path) -> None:
    log = path / "store.sqlite-wal"
    shutil.copy(log, path / "copy")
    (path / "copy").rename(log)


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


WAYS = (removed, log_removed, renamed, replaced, log_replaced, moved)
named = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@named
def test_a_pulse_notices(tmp_path: Path, way: Callable[[Path], None]) -> None:
    store = Store.open(make_store(tmp_path / "store"))
    feed(store, [3])
    store.append(())
    way(tmp_path / "store")
    with pytest.raises(StoreFailed, match=LOST):
        store.append(())
    with pytest.raises(StoreFailed, match="takes no more calls"):
        feed(store, [1])
    store.close()


@named
def test_a_commit_notices_after_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Path], None]
) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_PLACE_SECONDS", 0.0)
    store = Store.open(make_store(tmp_path / "store"))
    feed(store, [3])
    way(tmp_path / "store")
    with pytest.raises(StoreFailed, match=LOST):
        feed(store, [1])
    store.close()


@pytest.mark.parametrize("way", WAYS[:-1], ids=lambda way: way.__name__)
def test_a_copy_of_the_log_and_the_end_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Path], None]
) -> None:
    """However long it is until the next look."""
    monkeypatch.setattr("littled.store.sqlite.STORE_PLACE_SECONDS", 1e9)
    store = Store.open(make_store(tmp_path / "store"))
    feed(store, [3])
    way(tmp_path / "store")
    feed(store, [1])
    with pytest.raises(StoreFailed, match=LOST):
        store.close()
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 17)
    store = Store.open(make_store(tmp_path / "second"))
    feed(store, [3])
    way(tmp_path / "second")
    with pytest.raises(StoreFailed, match=LOST):
        feed_many(store)
    store.close()


def columns_removed(path: Path) -> None:
    (path / "columns-000001").unlink()


def columns_replaced(path: Path) -> None:
    shutil.copy(path / "columns-000001", path / "copy")
    (path / "copy").rename(path / "columns-000001")


@pytest.mark.parametrize("way", [columns_removed, columns_replaced])
def test_a_pulse_and_the_end_notice_lost_columns(
    tmp_path: Path, way: Callable[[Path], None]
) -> None:
    for end in False, True:
        store = Store.open(make_store(tmp_path / f"store {end}"))
        feed(store, [30_000])
        store.append(())
        way(tmp_path / f"store {end}")
        with pytest.raises(StoreFailed, match=f"columns-000001 {LOST}"):
            store.close() if end else store.append(())
        store.close()


def test_what_stays_where_it_is_is_looked_at_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    stat = Path.stat

    def counted(path: Path, **options: bool) -> object:
        looks.append(path.name)
        return stat(path, **options)

    with Store.open(make_store(tmp_path / "store")) as store:
        monkeypatch.setattr("littled.store.sqlite.STORE_PLACE_SECONDS", 1e9)
        feed(store, [1])  # a producer is looked up where the store is the one that is written
        monkeypatch.setattr(Path, "stat", counted)
        for _ in range(100):
            feed(store, [1])
        assert looks == []
        store.append(())
        assert looks == ["store.sqlite", "store.sqlite-wal", "tail", "lock"]


@pytest.mark.long
def test_a_daemon_whose_store_is_removed_ends_with_an_error(tmp_path: Path) -> None:
    """Busy, idle, and when it is about to stop."""
    for name, limits, stops in (
        ("busy", {}, False),
        ("idle", {"littled.service.daemon.PULSE_SECONDS": 0.05}, False),
        ("stopping", {"littled.store.sqlite.STORE_PLACE_SECONDS": 1e9}, True),
    ):
        path = make_served_store(tmp_path / name)
        with serving(path, limits=limits) as daemon, Peer.greet(daemon.unix) as peer:
            sequence = peer.open("flights", "me").next_sequence
            (path / "store.sqlite").unlink()
            while name == "busy" and peer.socket.fileno() >= 0:
                peer.feed(sequence, bytes(10), bytes(10))
                sequence += 10
                message = peer.receive()
                if message is None or type(message).__name__ == "Error":
                    break
            status = daemon.stop() if stops else daemon.ended()
            assert status == STORE_STATUS
            assert daemon.lines[-1]["event"] == "store"
            assert LOST in daemon.lines[-1]["reason"]


def test_what_was_stored_before_is_sound(tmp_path: Path) -> None:
    path = make_store(tmp_path / "store")
    store = Store.open(path)
    feed(store, [3])
    moved(path)
    with pytest.raises(StoreFailed, match=LOST):
        store.append(())
    store.close()
    elsewhere = path.with_name("elsewhere")
    assert verify(elsewhere).findings == ()
    with Store.open(elsewhere) as again:
        assert again.position(STREAM) == 3
