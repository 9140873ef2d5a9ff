"""A mark in real etcd: compared and replaced at once, owned by one, and never guessed.

Here two copies of a store are two objects of one process; tests/daemon/service/test_two_copies.py
has daemons.
"""

import base64
import itertools
import random
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from littled.budget.price import Price
from littled.store.errors import StoreFailed, StoreRefused, StoreUnreachable
from littled.store.etcd import Etcd
from littled.store.etcd_place import MarkInEtcd
from littled.store.etcd_register import EtcdRegister, EtcdRevision
from littled.store.files import create_private
from littled.store.keys import read_key
from littled.store.mark import HighWaterMark, Numbers, Point, StreamMark, no_predictions
from littled.store.records import ledger_genesis
from littled.store.registers import silent
from littled.store.restoring import Restoring
from littled.store.sealing import Seal
from littled.store.store import Store
from littled.store.verify import verify
from littled.store.witness import Witness
from support.etcd import Cluster, etcd_cluster
from support.servers import needs
from support.stores import CAPS, LEARNER, STREAM, entry, feed, make_store, release

pytestmark = needs("etcd")
GENESIS = bytes(32)
KEY = bytes(range(32))
OPENED: list[EtcdRegister] = []


NAMES = itertools.count()


@pytest.fixture
def url(cluster: Cluster) -> str:
    """A place for a mark that nobody has used."""
    return cluster.url(f"mark/{next(NAMES)}")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """No register of a test stays open."""
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.etcd.MARK_WAIT_SECONDS", 4.0)
    monkeypatch.setattr("littled.store.etcd.MARK_REQUEST_SECONDS", 1.0)


def stream_mark(number: int) -> StreamMark:
    return StreamMark(
        genesis=GENESIS,
        journal=Point(number, bytes([number % 256]) * 32),
        position=number + 1,
        ledger=Point(-1, ledger_genesis(GENESIS)),
        season=0,
        spent=Price.zero(),
        predictions=no_predictions(GENESIS),
        numbers=Numbers({"tower": number}, 3),
    )


def a_mark(streams: int, number: int = 0) -> HighWaterMark:
    names = [f"s{each}" for each in range(streams)]
    return HighWaterMark(
        "one",
        {name: stream_mark(number) for name in names},
        {f"{name}/late": Point(number, bytes(32)) for name in names},
        {f"{name}/early": 1 + number for name in names},
    )


def register(url: str, folder: Path) -> EtcdRegister:
    """One with the key of the store in a folder, or with any key where there is none."""
    path = folder / "noise.key"
    seal = Seal(read_key(path, handed_over=False) if path.exists() else KEY)
    made = EtcdRegister(MarkInEtcd.parse(url), seal, Witness(folder / "mark-seen"), silent)
    OPENED.append(made)
    return made


def keys_of(url: str) -> dict[str, tuple[int, bytes]]:
    """What is in etcd below a mark's prefix: by the end of each key, its revision and value."""
    place = MarkInEtcd.parse(url)
    etcd = Etcd(place, silent)
    start, end = (base64.b64encode(f"{place.prefix}{each}".encode()).decode() for each in "/0")
    found = etcd.ask("/v3/kv/range", {"key": start, "range_end": end}).get("kvs", [])
    etcd.close()
    return {
        base64.b64decode(each["key"]).decode().removeprefix(f"{place.prefix}/"): (
            int(each["mod_revision"]),
            base64.b64decode(each["value"]),
        )
        for each in found
    }


def set_key(cluster: Cluster, url: str, name: str, value: str) -> None:
    cluster.ctl("put", f"{MarkInEtcd.parse(url).prefix}/{name}", value)


# --- the register ---------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [0, 1, 117, 118, 119, 120, 400])
def test_what_is_written_is_what_is_read(url: str, tmp_path: Path, streams: int) -> None:
    """Also where it takes several transactions."""
    one, mark = register(url, tmp_path), a_mark(streams)
    created = one.create(mark)
    assert one.read()[0] == mark
    later = a_mark(streams, 1)
    owned = one.claim(later, one.read()[1])
    assert one.read()[0] == later
    last = replace(a_mark(streams, 2), versions={})
    written = one.replace(last, owned)
    found, revision = one.read()
    assert (found, revision.revisions, revision.epoch) == (last, written.revisions, 1)
    assert created.at < owned.at
    one.close()


def test_only_streams_that_changed_are_written(url: str, tmp_path: Path) -> None:
    one, mark = register(url, tmp_path), a_mark(50)
    one.create(mark)
    owned = one.claim(mark, one.read()[1])
    before = keys_of(url)
    streams = {**mark.streams, "s7": stream_mark(9)}
    releases = {**mark.releases, "s8/late": Point(5, bytes(32))}
    versions = {**mark.versions, "s9/early": 8}
    one.replace(replace(mark, streams=streams, releases=releases, versions=versions), owned)
    after = keys_of(url)
    assert {name for name in after if after[name] != before[name]} == {
        "streams/s7",
        "streams/s8",
        "streams/s9",
    }
    assert one.replace(mark, one.read()[1]).at >= owned.at


def test_nothing_is_written_where_nothing_changed(url: str, tmp_path: Path) -> None:
    one, mark = register(url, tmp_path), a_mark(3)
    one.create(mark)
    owned = one.claim(mark, one.read()[1])
    before = keys_of(url)
    assert one.replace(a_mark(3), owned).revisions == owned.revisions
    assert keys_of(url) == before


def test_an_older_owner_replaces_nothing(url: str, tmp_path: Path) -> None:
    """Though no key that it would replace has changed."""
    one, other, mark = register(url, tmp_path), register(url, tmp_path / "other"), a_mark(2)
    (tmp_path / "other").mkdir()
    one.create(mark)
    owned = one.claim(mark, one.read()[1])
    other.claim(mark, other.read()[1])
    before = keys_of(url)
    with pytest.raises(StoreFailed, match="changed by another process: another daemon serves a"):
        one.replace(a_mark(2, 1), owned)
    assert keys_of(url) == before


def test_a_key_that_changed_under_its_owner_is_fatal(
    cluster: Cluster, url: str, tmp_path: Path
) -> None:
    one, mark = register(url, tmp_path), a_mark(2)
    one.create(mark)
    owned = one.claim(mark, one.read()[1])
    set_key(cluster, url, "streams/s1", "something")
    other = replace(mark, streams={**mark.streams, "s0": stream_mark(4)})
    moved = one.replace(other, owned)
    with pytest.raises(StoreFailed, match="changed by another process"):
        one.replace(a_mark(2, 1), moved)


def test_of_two_that_claim_at_once_one_is_refused(url: str, tmp_path: Path) -> None:
    """As a mark that moved since it was read is: the store was held against an older one."""
    one, other, mark = register(url, tmp_path), register(url, tmp_path), a_mark(2)
    one.create(mark)
    first = one.claim(mark, one.read()[1])
    _, seen = other.read()
    moved = one.replace(a_mark(2, 1), first)
    with pytest.raises(StoreFailed, match="changed by another process"):
        other.claim(mark, seen)
    one.replace(a_mark(2, 2), moved)
    both = [other.read()[1], one.read()[1]]
    one.claim(a_mark(2, 2), both[1])
    with pytest.raises(StoreFailed, match="changed by another process"):
        other.claim(a_mark(2, 2), both[0])


def test_many_owners_at_once_make_one_history(url: str, tmp_path: Path) -> None:
    """Whoever counts up has counted from what is there: no number is written twice."""
    register(url, tmp_path).create(a_mark(1))
    written: list[int] = []

    def count_up(seed: int) -> None:
        (tmp_path / str(seed)).mkdir()
        own, chance = register(url, tmp_path / str(seed)), random.Random(seed)
        for _ in range(12):
            try:
                mark, revision = own.read()
                number = mark.streams["s0"].position
                owned = own.claim(a_mark(1, number), revision)
                written.append(number)
                time.sleep(chance.random() / 100)
                own.replace(a_mark(1, number + 1), owned)
                written.append(number + 1)
            except StoreFailed:
                continue
        own.close()

    threads = [threading.Thread(target=count_up, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == list(range(1, len(written) + 1))
    assert len(written) > 8


# --- what is there, and what is not ---------------------------------------------------------------


def test_a_mark_that_is_there_already_is_kept(url: str, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    before = keys_of(url)
    with pytest.raises(StoreRefused, match="is the high-water mark of another store: keep it"):
        make_store(tmp_path / "other", mark_path=url)
    assert (keys_of(url), (tmp_path / "other").exists()) == (before, False)
    assert verify(path, mark_path=url).sound


def test_a_store_that_cannot_be_made_leaves_no_mark(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = create_private

    def fails(path: Path, data: bytes) -> None:
        if path.name == "lock":
            raise OSError(5, "Input/output error", "lock")
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr("littled.store.sqlite.create_private", fails)
        with pytest.raises(StoreRefused, match="cannot make a store"):
            make_store(tmp_path / "store", mark_path=url)
    assert (keys_of(url), (tmp_path / "store").exists()) == ({}, False)
    make_store(tmp_path / "store", mark_path=url)


def test_a_mark_that_is_not_there_is_refused(url: str, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    with pytest.raises(StoreRefused, match="there is no high-water mark at etcd://"):
        Store.open(path, mark_path=f"{url}/elsewhere")
    with pytest.raises(StoreRefused, match="there is no high-water mark"):
        Restoring.open(path, mark_path=f"{url}/elsewhere")
    other = make_store(tmp_path / "other", mark_path=f"{url}-other")
    with pytest.raises(StoreRefused, match="damaged or another store's"):
        Store.open(path, mark_path=f"{url}-other")
    assert verify(other, mark_path=f"{url}-other").sound


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("owner", "something"),
        ("store", '{"format":1}\n'),
        (f"streams/{STREAM}", ""),
        ("other", "something"),
        ("streams/more", "{}\n"),
    ],
)
def test_a_mark_that_somebody_else_wrote_is_damaged(
    cluster: Cluster, url: str, tmp_path: Path, name: str, value: str
) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    set_key(cluster, url, name, value)
    with pytest.raises(StoreRefused, match="is damaged or another store's: see whether"):
        Store.open(path, mark_path=url)
    assert "is damaged or another store's" in verify(path, mark_path=url).findings[0]


def test_a_key_that_was_deleted_is_noticed(cluster: Cluster, url: str, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    store = Store.open(path, mark_path=url)
    cluster.ctl("del", f"{MarkInEtcd.parse(url).prefix}/owner")
    with pytest.raises(StoreFailed, match="changed by another process"):
        store.charge(entry(0))
    store.close()
    with pytest.raises(StoreRefused, match="is damaged or"):
        Store.open(path, mark_path=url)


# --- stores ---------------------------------------------------------------------------------------


def live(store: Store, charges: int) -> None:
    """Feed, charge and publish from where the store is."""
    feed(store, [5])
    first = len(store.ledger(STREAM))
    for number in range(first, first + charges):
        store.charge(entry(number, position=1))
        store.publish([release(1 + len(store.releases(LEARNER)))], ())


def test_a_store_lives_with_its_mark_in_etcd(url: str, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    for _ in range(2):
        with Store.open(path, mark_path=url) as store:
            live(store, 2)
            assert verify(path, mark_path=url).findings == ()
            mark, _ = register(url, path).read()
            assert mark.releases[LEARNER].number == len(store.releases(LEARNER))
            assert mark.streams[STREAM].ledger.number == len(store.ledger(STREAM)) - 1
    assert not (path / "high-water-mark").exists()
    with Store.open(path, mark_path=url, read_only=True) as store:
        assert store.releases(LEARNER)
    assert register(url, path).read()[1].epoch == 2


def test_of_two_copies_one_goes_on(url: str, tmp_path: Path) -> None:
    """The one that claims last; the other one is told before anything would be shown."""
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    (copy / "lock").unlink()
    one = Store.open(path, mark_path=url)
    other = Store.open(copy, mark_path=url)
    with pytest.raises(StoreFailed, match="another daemon serves a copy of this store"):
        one.charge(entry(1, position=1))
    with pytest.raises(StoreFailed, match="takes no more calls"):
        one.ledger(STREAM)
    one.close()
    live(other, 1)
    other.close()
    with pytest.raises(StoreRefused, match="is behind its high-water mark"):
        Store.open(path, mark_path=url)
    assert verify(copy, mark_path=url).sound


def test_etcd_has_nothing_that_can_be_read(url: str, tmp_path: Path) -> None:
    """Neither heads nor numbers nor names of producers; and another key opens nothing."""
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
    values = b"".join(value for _, value in keys_of(url).values())
    for each in (b"tower", b"genesis", b"position", store.instance.encode(), b"epoch"):
        assert each not in values
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(StoreRefused, match="damaged or another store's"):
        register(url, other).read()
    (path / "noise.key").rename(tmp_path / "away")
    assert any("without the noise key" in each for each in verify(path, mark_path=url).findings)


def test_an_older_copy_is_refused_and_restored(url: str, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    with Store.open(path, mark_path=url) as store:
        live(store, 2)
    for read_only in (False, True):
        with pytest.raises(StoreRefused, match="is behind its high-water mark"):
            Store.open(copy, mark_path=url, read_only=read_only)
    serving = Store.open(path, mark_path=url)
    with Restoring.open(copy, mark_path=url) as found:
        found.finish()
    with pytest.raises(StoreFailed, match="changed by another process"):
        serving.charge(entry(3, position=1))
    serving.close()
    assert verify(copy, mark_path=url).findings == ()


# --- members that do not answer -------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster whose members a test may kill."""
    with etcd_cluster(tmp_path / "etcd") as running:
        yield running


def test_a_leader_that_is_killed_or_frozen_is_waited_for(own: Cluster, tmp_path: Path) -> None:
    url = own.url("mark")
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
        leader = own.leader()
        leader.kill()
        live(store, 1)
        own.start([leader])
        frozen = own.leader()
        frozen.freeze()
        live(store, 1)
        frozen.thaw()
        live(store, 1)
    own.wait()
    assert verify(path, mark_path=url).findings == ()


def test_a_minority_shows_nothing_and_loses_nothing(own: Cluster, tmp_path: Path) -> None:
    url = own.url("mark")
    path = make_store(tmp_path / "store", mark_path=url)
    told: list[str] = []
    store = Store.open(path, mark_path=url, waiting=told.append)
    live(store, 1)
    for member in own.members[:2]:
        member.kill()
    feed(store, [1])  # below the number that the mark has: acknowledged all the same
    with pytest.raises(StoreUnreachable, match="the high-water mark cannot be had: etcd at"):
        store.charge(entry(1, position=1))
    assert told
    assert told[0].startswith("etcd does not answer (")
    store.close()
    with pytest.raises(StoreUnreachable):
        Store.open(path, mark_path=url)
    assert "cannot be had" in verify(path, mark_path=url).findings[0]
    own.start(own.members[:2])
    with Store.open(path, mark_path=url) as again:
        assert len(again.ledger(STREAM)) == 2
        live(again, 1)
    assert verify(path, mark_path=url).findings == ()


def test_the_next_endpoint_is_asked(own: Cluster, tmp_path: Path) -> None:
    dead, *_ = own.members
    dead.kill()
    own.wait()
    path = make_store(tmp_path / "store", mark_path=own.url("mark"))
    with Store.open(path, mark_path=own.url("mark")) as store:
        live(store, 1)
    with pytest.raises(StoreUnreachable, match="Connection refused"):
        Store.open(path, mark_path=own.url("mark", members=1))


@pytest.mark.parametrize("applied", [True, False], ids=["done", "not done"])
def test_an_outcome_nobody_knows_is_found_out(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, applied: bool
) -> None:
    """An answer that is lost, of a transaction that was done, and of one that was not."""
    path = make_store(tmp_path / "store", mark_path=url)
    store = Store.open(path, mark_path=url)
    real = Etcd._exchange
    lost: list[object] = []

    def loses(etcd: Etcd, where: str, body: dict[str, Any]) -> Any:
        if where.endswith("txn") and not lost:
            lost.append(real(etcd, where, body) if applied else None)
            raise ConnectionResetError(104, "Connection reset by peer")
        return real(etcd, where, body)

    monkeypatch.setattr(Etcd, "_exchange", loses)
    store.charge(entry(0))
    assert lost
    mark, revision = register(url, path).read()
    assert mark.streams[STREAM].ledger.number == 0
    store.charge(entry(1))
    assert isinstance(store._revision, EtcdRevision)
    assert store._revision.revisions == register(url, path).read()[1].revisions
    store.close()
    del lost[:]
    with Store.open(path, mark_path=url) as again:  # a claim whose answer is lost
        assert lost
        again.charge(entry(2))
    assert verify(path, mark_path=url).findings == ()
    assert revision.epoch == 1


def test_an_outcome_nobody_knows_is_not_taken_from_somebody_else(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost transaction of an older owner does not count, though all values are the same."""
    path = make_store(tmp_path / "store", mark_path=url)
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    store = Store.open(path, mark_path=url)
    real = Etcd._exchange
    others: list[None] = []

    def loses(etcd: Etcd, where: str, body: dict[str, Any]) -> Any:
        if where.endswith("txn") and not others:
            others.append(None)
            with Store.open(copy, mark_path=url) as other:
                other.charge(entry(0))
            raise ConnectionResetError(104, "Connection reset by peer")
        return real(etcd, where, body)

    monkeypatch.setattr(Etcd, "_exchange", loses)
    with pytest.raises(StoreFailed, match="changed by another process"):
        store.charge(entry(0))
    store.close()


# --- backups of etcd ------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["the same", "another"])
def test_a_restored_etcd_is_a_lost_mark(own: Cluster, tmp_path: Path, named: str) -> None:
    """With a token of its own the cluster has another name; without, the store remembers."""
    url = own.url("mark")
    path = make_store(tmp_path / "store", mark_path=url)
    store = Store.open(path, mark_path=url)
    live(store, 1)
    backup = tmp_path / "backup"
    own.ctl("snapshot", "save", str(backup), members=own.members[:1])
    live(store, 1)
    own.restore(backup, named)
    fails = "changed by another process|from another cluster of etcd than before"
    with pytest.raises(StoreFailed, match=fails):
        store.charge(entry(2, position=1))
    store.close()
    lost = "is older than what was last written" if named == "the same" else "was written to c"
    for read_only in (False, True):
        with pytest.raises(StoreRefused, match=f"{lost}.*littled restore lets it go on"):
            Store.open(path, mark_path=url, read_only=read_only)
    assert lost in verify(path, mark_path=url).findings[0]
    with Restoring.open(path, mark_path=url) as found:
        assert lost in found.mark_lost
        (lost_stream,) = found.lost
        assert (lost_stream.counted, lost_stream.next_season) == (CAPS, 1)
        assert lost_stream.spent != CAPS
        found.finish()
    assert verify(path, mark_path=url).findings == ()
    with Store.open(path, mark_path=url) as again:
        feed(again, [1])
    assert register(url, path).read()[1].lost == ""


@pytest.mark.parametrize("named", ["the same", "another"])
def test_a_restore_that_breaks_off_leaves_a_lost_mark_lost(
    own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Until all streams are there as they are, an older copy could pass for the newest."""
    url = own.url("mark")
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
        backup = tmp_path / "backup"
        own.ctl("snapshot", "save", str(backup), members=own.members[:1])
        live(store, 1)
    own.restore(backup, named)

    def fail(*_: object, **__: object) -> None:
        raise StoreFailed("etcd is gone")

    with Restoring.open(path, mark_path=url) as found:
        for _ in range(20):  # others write there too, so that its revision says nothing any more
            own.ctl("put", "other", "x", members=own.members[:1])
        monkeypatch.setattr(EtcdRegister, "_put", fail)
        with pytest.raises(StoreFailed, match="etcd is gone"):
            found.finish()
        monkeypatch.undo()
    with pytest.raises(StoreRefused, match=r"was written to c.*littled restore lets it go on"):
        Store.open(path, mark_path=url)
    with Restoring.open(path, mark_path=url) as found:
        found.finish()
    assert verify(path, mark_path=url).findings == ()
    with Store.open(path, mark_path=url) as again:
        feed(again, [1])


@pytest.mark.parametrize("named", ["the same", "another"])
def test_an_owner_from_before_a_backup_replaces_nothing_after_it(
    own: Cluster, tmp_path: Path, named: str
) -> None:
    """A restored etcd counts on from the backup: its next owner has the revision that the last one
    had, and each key of a mark may have."""
    url = own.url("mark")
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        live(store, 1)
    backup = tmp_path / "backup"
    own.ctl("snapshot", "save", str(backup), members=own.members[:1])
    one = Store.open(path, mark_path=url)
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    for left in ("lock", "mark-seen"):
        (copy / left).unlink()
    own.restore(backup, named)
    other = None
    if named == "the same":
        other = Store.open(copy, mark_path=url)
    else:
        with Restoring.open(copy, mark_path=url) as found:
            found.finish()
    there = {name: value for name, (_, value) in keys_of(url).items()}
    with pytest.raises(StoreFailed, match=r"changed by another process|another cluster of etcd"):
        one.charge(entry(1, position=1))
    one.close()
    assert {name: value for name, (_, value) in keys_of(url).items()} == there
    if other is not None:
        live(other, 1)
        other.close()
