"""A mark in a file is replaced by comparison with what was read or written before."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from littled.store.errors import StoreFailed, StoreRefused
from littled.store.mark import HighWaterMark
from littled.store.place import Place
from littled.store.register import FileRegister
from littled.store.registers import open_register
from littled.store.store import Store
from support.marks import read_mark, write_mark
from support.stores import LEARNER, STREAM, entry, feed, make_store

FIRST = HighWaterMark("one", {}, {})
SECOND, THIRD, OTHER = (replace(FIRST, versions={LEARNER: number}) for number in (2, 3, 9))


def test_what_is_replaced_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    register = open_register(Place.of(tmp_path / "store", None, path), None)
    assert isinstance(register, FileRegister)
    revision = register.replace(SECOND, register.create(FIRST))
    assert register.read() == (SECOND, revision)
    assert register.claim(SECOND, revision) == revision
    assert register.read()[0] == read_mark(path) == SECOND
    register.claim(THIRD, revision)
    assert read_mark(path) == THIRD
    register.close()


@pytest.mark.parametrize("what", ["another mark", "an older mark", "nothing", "no mark"])
def test_what_another_process_did_is_noticed_before_anything_is_written(
    tmp_path: Path, what: str
) -> None:
    path = tmp_path / "mark"
    register = FileRegister(path)
    revision = register.replace(SECOND, register.create(FIRST))
    match what:
        case "nothing":
            path.unlink()
        case "no mark":
            path.write_bytes(b"")
        case _:
            write_mark(path, FIRST if what == "an older mark" else OTHER)
    before = path.read_bytes() if path.exists() else None
    noticed = r"changed by another process|cannot be advanced: No such"
    with pytest.raises(StoreFailed, match=noticed):
        register.replace(THIRD, revision)
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_file_that_was_only_copied_or_touched_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    register = FileRegister(path)
    revision = register.create(FIRST)
    write_mark(path, FIRST)
    os.utime(path, (0, 0))
    register.replace(SECOND, revision)
    assert read_mark(path) == SECOND


def test_a_mark_that_is_there_already_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    write_mark(path, OTHER)
    with pytest.raises(StoreRefused, match="is the high-water mark of another store: keep it"):
        FileRegister(path).create(FIRST)
    assert read_mark(path) == OTHER


def test_a_mark_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("littled.store.files.sync_folder", fails)
    with pytest.raises(StoreFailed, match="cannot be advanced: Input/output error"):
        FileRegister(tmp_path / "mark").create(FIRST)
    assert list(tmp_path.iterdir()) == []


def test_two_copies_beside_one_mark_do_not_both_go_on(tmp_path: Path) -> None:
    """Files cannot be compared and swapped at once, but a mark that has moved is noticed."""
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    with Store.open(path, mark_path=mark) as store:
        feed(store, [3])
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    one, other = Store.open(path, mark_path=mark), Store.open(copy, mark_path=mark)
    other.charge(entry(0, position=2))
    with pytest.raises(StoreFailed, match="changed by another process: a store has one mark"):
        one.charge(entry(0, position=2))
    with pytest.raises(StoreFailed, match="takes no more calls"):
        one.position(STREAM)
    one.close()
    other.close()


def test_a_buried_mark_is_passed_by_no_store_and_says_where_its_own_is(tmp_path: Path) -> None:
    register = FileRegister(tmp_path / "mark")
    assert (register.empty(), register.moved_to()) == (True, None)
    first = register.create(FIRST)
    second = register.replace(SECOND, first)
    assert (register.empty(), register.moved_to()) == (False, None)
    with pytest.raises(StoreFailed, match="was changed by another process"):
        register.bury("there", first)
    register.bury("there", second)
    assert (register.empty(), register.moved_to()) == (False, "there")
    for use in (
        register.read,
        lambda: register.bury("elsewhere", second),
        lambda: register.create(FIRST),
    ):
        with pytest.raises(StoreRefused, match=r"moved to there: use it there|of another store"):
            use()
    with pytest.raises(StoreFailed, match="was changed by another process"):
        register.replace(THIRD, second)
    changed = (tmp_path / "mark").read_bytes().replace(b"there", b"where")
    with pytest.raises(ValueError, match="the checksum does not fit"):
        HighWaterMark.from_bytes(changed)
    (tmp_path / "mark").write_bytes(b"damage")
    assert (register.empty(), register.moved_to()) == (False, None)
