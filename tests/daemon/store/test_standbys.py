"""A store whose commits wait for standbys: what is fatal, and what is never shown."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.errors import StoreFailed
from littled.store.store import Store
from littled.store.verify import verify
from support.databases import Postgres, Standbys
from support.postgres import asked, lasting_server, url_of
from support.stores import LEARNER, STREAM, entry, feed, plan_values, release


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    """A server with room for standbys."""
    with lasting_server() as found:
        yield found


@pytest.fixture(scope="module")
def standbys(primary: Postgres) -> Iterator[Standbys]:
    """Two of which one has to have a commit."""
    found = Standbys(primary)
    yield found
    found.stop()


@pytest.fixture
def places(primary: Postgres, standbys: Standbys, tmp_path: Path) -> tuple[str, Path, Path]:
    """Where a new store, its key and its mark are."""
    schema = f"s{abs(hash(tmp_path))}"
    url = url_of(primary, schema)
    asked(url, f"CREATE SCHEMA {schema}")
    found = url, tmp_path / "key", tmp_path / "mark"
    Store.create(url, {"streams": [STREAM]}, {STREAM: plan_values()}, *found[1:])
    return found


WAITS = "pg_stat_activity WHERE wait_event = 'SyncRep'"


def wait_for_a_commit(primary: Postgres) -> None:
    """Until some commit waits for the standbys."""
    deadline = time.monotonic() + 20
    while primary.count(WAITS) == 0:
        assert time.monotonic() < deadline, "no commit waits"
        time.sleep(0.02)


class Call(threading.Thread):
    """Something that a store is asked on a thread of its own, and what came of it."""

    def __init__(self, what: object) -> None:
        super().__init__(daemon=True)
        self.what, self.error = what, None
        self.start()

    def run(self) -> None:
        try:
            self.what()  # type: ignore[operator]
        except StoreFailed as error:
            self.error = error  # type: ignore[assignment]


@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_a_cancelled_wait_is_fatal_and_shows_nothing(
    primary: Postgres, standbys: Standbys, places: tuple[str, Path, Path], how: str
) -> None:
    """The server commits with a warning alone, and every other connection sees the release."""
    store = Store.open(*places)
    feed(store, [3])
    store.publish([release(1)], [entry(0)])
    before = places[2].read_bytes()
    with standbys.frozen():
        publishing = Call(lambda: store.publish([release(2)], [entry(1, position=1)]))
        wait_for_a_commit(primary)
        assert store.releases(LEARNER) == [release(1)], "nobody sees what waits"
        primary.tell(f"SELECT pg_{how}_backend(pid) FROM {WAITS}")  # noqa: S608
        publishing.join(20)
        assert not publishing.is_alive()
        assert isinstance(publishing.error, StoreFailed)
        assert ("01000" if how == "cancel" else "the database failed") in str(publishing.error)
        assert primary.count(f"{asked(places[0], 'SELECT current_schema()')[0][0]}.releases") == 2
        with pytest.raises(StoreFailed, match="takes no more calls"):
            store.releases(LEARNER)
        with pytest.raises(StoreFailed, match="takes no more calls"):
            feed(store, [1])
        store.close()
        assert places[2].read_bytes() == before
    with Store.open(*places) as again:
        assert again.releases(LEARNER) == [release(1), release(2)]
        feed(again, [1])
    assert verify(*places).sound


def test_a_cancelled_wait_of_one_record_is_fatal(
    primary: Postgres, standbys: Standbys, places: tuple[str, Path, Path]
) -> None:
    """Whose transaction is one statement, which succeeds with the same warning."""
    store = Store.open(*places)
    feed(store, [3])
    with standbys.frozen():
        feeding = Call(lambda: feed(store, [2]))
        wait_for_a_commit(primary)
        primary.tell(f"SELECT pg_cancel_backend(pid) FROM {WAITS}")  # noqa: S608
        feeding.join(20)
        assert "01000" in str(feeding.error)
        with pytest.raises(StoreFailed, match="takes no more calls"):
            store.producer_next(STREAM, "tower")
        store.close()
    assert verify(*places).sound


def test_taking_over_waits_until_the_standbys_have_it(
    primary: Postgres, standbys: Standbys, places: tuple[str, Path, Path]
) -> None:
    """A server that was started again shows commits that no standby has; nobody reads them yet."""
    store = Store.open(*places)
    feed(store, [3])
    with standbys.frozen():
        waiting = Call(lambda: feed(store, [2]))
        wait_for_a_commit(primary)
        primary.restart()
        waiting.join(20)
        assert isinstance(waiting.error, StoreFailed)
        store.close()
        assert asked(places[0], "SELECT sum(count) FROM records") == [(5,)], "shown, not replicated"
        opened: list[Store] = []
        opening = Call(lambda: opened.append(Store.open(*places)))
        wait_for_a_commit(primary)
        opening.join(0.5)
        assert opening.is_alive()
        assert not opened
    opening.join(30)
    with opened[0] as again:
        assert again.position(STREAM) == 5
    assert verify(*places).sound


@pytest.mark.long
def test_a_server_that_is_started_again_has_what_it_acknowledged(
    primary: Postgres, standbys: Standbys, places: tuple[str, Path, Path]
) -> None:
    store = Store.open(*places)
    acknowledged = 0

    def work() -> None:
        nonlocal acknowledged
        while True:
            feed(store, [2, 1])
            acknowledged += 3

    working = Call(work)
    time.sleep(0.5)
    primary.restart()
    working.join(20)
    assert isinstance(working.error, StoreFailed)
    assert acknowledged
    store.close()
    with Store.open(*places) as again:
        assert acknowledged <= again.position(STREAM) <= acknowledged + 3
    assert verify(*places).sound
