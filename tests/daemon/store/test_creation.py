"""Making a store: everything or nothing, and private."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from littled.store.errors import StoreRefused
from littled.store.store import Store
from support.stores import STREAM, make_store, plan_values

WITHOUT_ROOM = """
import resource, signal, sys
from support.stores import make_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
make_store(sys.argv[1])
"""


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_only_the_owner_can_reach_a_store(
    tmp_path: Path, umask: Callable[[int], int], mask: int
) -> None:
    umask(mask)
    path = make_store(tmp_path / "store")
    files = {"store.sqlite": 0o600, "noise.key": 0o600, "high-water-mark": 0o600, "lock": 0o600}
    assert modes(path) == files
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    with Store.open(path) as store:
        store.append(())
        assert modes(path) == files | {"store.sqlite-wal": 0o600, "store.sqlite-shm": 0o600}


def test_two_stores_have_nothing_in_common(tmp_path: Path) -> None:
    stores = [Store.open(make_store(tmp_path / name)) for name in ("one", "other")]
    first = [next(store.records(STREAM), None) for store in stores]
    assert first == [None, None]
    assert stores[0].instance != stores[1].instance
    assert stores[0].noise_key != stores[1].noise_key
    facts = [store._facts.streams[STREAM].genesis for store in stores]
    assert facts[0] != facts[1], "equal journals would have equal noise addresses"
    for store in stores:
        store.close()


def test_an_empty_folder_becomes_a_private_store(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.mkdir(0o755)
    make_store(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    with pytest.raises(StoreRefused, match="is not empty"):
        make_store(tmp_path)
    assert modes(tmp_path).keys() == {"letter"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("mine")
    with pytest.raises(StoreRefused, match="cannot hold a store"):
        make_store(tmp_path / "store")


def test_key_and_mark_are_put_where_they_are_wanted(tmp_path: Path) -> None:
    places: dict[str, Any] = {"key_path": tmp_path / "key", "mark_path": tmp_path / "mark"}
    path = make_store(tmp_path / "store", **places)
    assert modes(path).keys() == {"store.sqlite", "lock"}
    assert modes(tmp_path) == {"store": 0o700, "key": 0o600, "mark": 0o600}
    Store.open(path, **places).close()


def test_a_key_that_is_there_is_used(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ab" * 32)
    (tmp_path / "key").chmod(0o440)
    path = make_store(tmp_path / "store", key_path=tmp_path / "key")
    with Store.open(path, key_path=tmp_path / "key") as store:
        assert store.noise_key == b"\xab" * 32


def test_the_mark_of_another_store_is_not_overwritten(tmp_path: Path) -> None:
    make_store(tmp_path / "one", mark_path=tmp_path / "mark")
    before = (tmp_path / "mark").read_bytes()
    with pytest.raises(StoreRefused, match="the high-water mark of another store"):
        make_store(tmp_path / "other", mark_path=tmp_path / "mark")
    assert (tmp_path / "mark").read_bytes() == before
    assert not (tmp_path / "other").exists()


def wrong_plan(**changes: Any) -> dict[str, Any]:
    return plan_values() | changes


@pytest.mark.parametrize(
    ("plans", "sentence"),
    [
        ({}, "at least one stream"),
        ({"with space": plan_values()}, "the name of a stream"),
        ({"a/b": plan_values()}, "the name of a stream"),
        ({STREAM: {}}, "needs caps and a horizon"),
        ({STREAM: wrong_plan(caps={"rho": "1/2"})}, "needs caps and a horizon"),
        ({STREAM: wrong_plan(caps=None)}, "needs caps and a horizon"),
        ({STREAM: wrong_plan(horizon=0)}, "horizon of at least one"),
        ({STREAM: wrong_plan(horizon=1.5)}, "horizon of at least one"),
    ],
)
def test_a_plan_without_a_budget_is_refused_before_anything_is_made(
    tmp_path: Path, plans: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(StoreRefused, match=sentence):
        Store.create(tmp_path / "store", {}, plans)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["key_path", "mark_path"])
def test_nothing_is_left_when_a_place_does_not_exist(tmp_path: Path, option: str) -> None:
    places: dict[str, Any] = {option: tmp_path / "nowhere" / "file"}
    with pytest.raises(StoreRefused, match=r"cannot make a store in .*No such file"):
        make_store(tmp_path / "store", **places)
    assert not any(tmp_path.iterdir())


def test_nothing_is_left_when_the_folder_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"cannot make a store in .*No such file"):
        make_store(tmp_path / "nowhere" / "store")
    assert not any(tmp_path.iterdir())


def test_nothing_is_left_when_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(StoreRefused, match="hexadecimal"):
        make_store(tmp_path / "store", key_path=tmp_path / "key")
    assert modes(tmp_path).keys() == {"key"}


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("room_bytes", [0, 100, 4096, 40_000])
def test_nothing_is_left_when_there_is_no_room(
    tmp_path: Path, existed: bool, room_bytes: int
) -> None:
    path = tmp_path / "store"
    if existed:
        path.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, path, str(room_bytes)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "StoreRefused: cannot make a store in" in ended.stderr
    assert path.exists() == existed
    assert not existed or not any(path.iterdir())


@pytest.mark.parametrize("moment", range(1, 12))
def test_an_interrupted_creation_leaves_nothing_that_opens(tmp_path: Path, moment: int) -> None:
    """Killed at its n-th sync, it leaves at most files that say there is no store."""
    path = tmp_path / "store"
    child = os.fork()
    if not child:
        count = 0
        real = os.fsync

        def fsync(descriptor: int) -> None:
            nonlocal count
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            real(descriptor)

        os.fsync = cast("Any", fsync)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        make_store(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if (path / "store.sqlite").exists():
        Store.open(path).close()
    else:
        assert os.WIFSIGNALED(status)
        with pytest.raises(StoreRefused, match="there is no store"):
            Store.open(path)
