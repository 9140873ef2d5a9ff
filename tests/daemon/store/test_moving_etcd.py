"""Stores whose marks are in etcd are moved: the old mark is buried, and its owner ended."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from littled.store.errors import StoreFailed, StoreRefused, StoreUnreachable
from littled.store.etcd_register import EtcdRegister
from littled.store.keys import read_key
from littled.store.moving import Moving
from littled.store.place import Place
from littled.store.registers import open_register
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.databases import Postgres
from support.etcd import Cluster
from support.moves import STEPS, killed_at, move, opened, opens, tables_of
from support.postgres import asked, url_of
from support.servers import needs
from support.stores import entry, fill, make_store

pytestmark = needs("etcd")
NAMES = itertools.count()


@pytest.fixture
def places(cluster: Cluster, tmp_path: Path) -> Callable[[], Place]:
    """New folders, each with its mark in etcd."""
    names = (f"moved/{next(NAMES)}" for _ in itertools.count())
    return lambda: Place.of(tmp_path / f"store{next(NAMES)}", None, cluster.url(next(names)))


def made(place: Place) -> Place:
    """A store with a little of everything."""
    make_store(Path(place.path), mark_path=place.mark)
    with opened(place) as store:
        fill(store)
    return place


def test_the_old_mark_is_buried_and_no_copy_passes_it(
    places: Callable[[], Place], tmp_path: Path
) -> None:
    source, target = made(places()), places()
    backup = tmp_path / "backup"
    shutil.copytree(source.path, backup)
    before = tables_of(source)
    move(source, target)
    assert tables_of(target) == before
    copy = Place.of(backup, None, source.mark)
    sentence = f"was moved to {target.path}: use it there, with its own mark"
    for use in (
        lambda: opened(copy),
        lambda: Restoring.open(backup, None, copy.mark, copy=True),
        lambda: Moving.open(copy, places()),
        lambda: opened(source),
    ):
        with pytest.raises(StoreRefused, match=sentence):
            use()
    with pytest.raises(StoreRefused, match="is the high-water mark of another store: keep it"):
        make_store(tmp_path / "new", mark_path=source.mark)
    with opened(target) as store:
        store.charge(entry(3, position=10))
    assert verify(target.path, None, target.mark).findings == ()
    with pytest.raises(StoreRefused, match="already: use it there"):
        Moving.open(source, target)


def test_whoever_serves_a_copy_of_the_source_is_ended(
    places: Callable[[], Place], tmp_path: Path
) -> None:
    source, target = made(places()), places()
    copy = tmp_path / "copy"
    shutil.copytree(source.path, copy)
    zombie = Store.open(copy, mark_path=source.mark)
    move(source, target)
    with pytest.raises(StoreFailed, match="another daemon serves a copy of this store"):
        zombie.charge(entry(3, position=100))
    with pytest.raises(StoreFailed):
        zombie.append([])
    zombie.close()
    assert opens(target)


def test_whoever_has_claimed_the_mark_since_loses_it_with_the_burial(
    places: Callable[[], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon on a copy begins just before the mark is read, and has shown nothing yet."""
    source, target = made(places()), places()
    copy = tmp_path / "copy"
    shutil.copytree(source.path, copy)
    begun = []
    real = Moving._look

    def looks(moving: Moving, archive: Path | None) -> None:
        begun.append(Store.open(copy, mark_path=source.mark))
        real(moving, archive)

    with monkeypatch.context() as patch:
        patch.setattr(Moving, "_look", looks)
        move(source, target)
    (daemon,) = begun
    with pytest.raises(StoreFailed, match="another daemon serves a copy of this store"):
        daemon.charge(entry(3, position=10))
    daemon.close()
    assert opens(target)


def test_whoever_claims_the_mark_while_a_store_is_moved_keeps_it(
    places: Callable[[], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the copy and the burial of the mark another daemon takes over a copy."""
    source, target = made(places()), places()
    copy = Place.of(tmp_path / "copy", None, source.mark)
    shutil.copytree(source.path, copy.path)
    real = Moving._leave

    def leaves(moving: Moving) -> None:
        real(moving)
        with opened(copy) as store:
            store.charge(entry(3, position=100))

    with monkeypatch.context() as patch:
        patch.setattr(Moving, "_leave", leaves)
        with pytest.raises(StoreFailed, match="was changed by another process"):
            move(source, target)
    assert (opens(source), opens(target)) == (False, False)
    with pytest.raises(StoreRefused, match="is behind its high-water mark: ledger entry 3"):
        move(source, target)
    assert opens(copy)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("step", ["create", "bury"])
def test_killed_at_a_mark_the_same_again_finishes_it(
    places: Callable[[], Place], monkeypatch: pytest.MonkeyPatch, step: str, side: str
) -> None:
    source, target = made(places()), places()
    monkeypatch.setitem(STEPS, "a mark", (EtcdRegister, step))
    assert killed_at(f"{side} a mark", 1, lambda: move(source, target))
    assert (opens(source), opens(target)) == (False, False)
    move(source, target)
    assert (opens(source), opens(target)) == (False, True)


def test_marks_in_etcd_and_in_files_and_stores_in_folders_and_on_servers(
    places: Callable[[], Place], server: Postgres, cluster: Cluster, tmp_path: Path
) -> None:
    asked(url_of(server, "public"), "DROP SCHEMA IF EXISTS there CASCADE; CREATE SCHEMA there")
    first, mark = made(places()), cluster.url(f"moved/{next(NAMES)}")
    there = Place.of(url_of(server, "there"), tmp_path / "key", mark)
    back = Place.of(tmp_path / "back", tmp_path / "key", tmp_path / "mark")
    before = tables_of(first)
    for source, target in ((first, there), (there, back)):
        with pytest.raises(StoreRefused, match="the mark that the store has now is never the copy"):
            Moving.open(source, Place.of(target.path, target.key, source.mark))
        move(source, target)
        assert tables_of(target) == before
        assert (opens(source), opens(target)) == (False, True)


def test_a_register_tells_a_mark_from_nothing_and_from_one_that_is_buried(
    places: Callable[[], Place],
) -> None:
    source, nothing = made(places()), places()
    key = read_key(source.key, handed_over=False)
    registers: list[Any] = [open_register(each, key) for each in (source, nothing)]
    full, empty = registers
    assert (full.empty(), full.moved_to()) == (False, None)
    assert (empty.empty(), empty.moved_to()) == (True, None)
    wrong = open_register(source, bytes(32))
    assert wrong.moved_to() is None
    full.bury("there", full.read()[1])
    assert (full.empty(), full.moved_to(), wrong.moved_to()) == (False, "there", None)
    for each in (*registers, wrong):
        each.close()


def test_without_etcd_nothing_is_copied(
    places: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.etcd.MARK_WAIT_SECONDS", 0.5)
    source, target = made(places()), places()
    silent = Place.of(target.path, None, "etcd://127.0.0.1:1/moved")
    with pytest.raises(StoreUnreachable, match="cannot be had: etcd at"):
        Moving.open(source, silent)
    assert opens(source)
    assert not Path(target.path).exists()
