"""Records that stand ahead of the database are found whatever ends the process, and only they."""

import errno
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from littled.limits import STORE_LOCK_SECONDS, TAIL_SLOT_BYTES, TAIL_SLOTS
from littled.store.database import FORMATS_TAIL
from littled.store.disks import Disk
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.files import FolderLock, HeldBriefly
from littled.store.mark import MARK_NAME
from littled.store.restoring import Restoring
from littled.store.sqlite import SqliteDatabase
from littled.store.store import Store
from littled.store.tail import TAIL_NAME, TOKEN_BYTES, Alone, Tail, next_token
from littled.store.verify import verify
from support.crashing import kill_at
from support.disks import HookedDisk
from support.stores import (
    LEARNER,
    RATE,
    STREAM,
    entry,
    feed,
    make_store,
    new_record,
    paid,
    plan_values,
    release,
    rows,
)

TOKEN = bytes(range(TOKEN_BYTES))
OTHER = bytes(TOKEN_BYTES)
# Examples of 9 bytes that no slot takes.
LONG = 1 + TAIL_SLOT_BYTES // 9


def alone(number: int, size: int = 1) -> Alone:
    """Rows of a producer and of its record of so many bytes."""
    row = (number, number, 1, number, 7, b"x" * size, b"\1", bytes(32))
    return (7, 1, "tower", number + 1), row


@pytest.fixture
def tail(tmp_path: Path) -> Iterator[Tail]:
    """A tail that is open."""
    tail = Tail(tmp_path, None)
    tail.open()
    tail.begin(TOKEN)
    yield tail
    tail.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_store(tmp_path / "store")


def in_database(path: Path) -> int:
    """How many records there are."""
    ((found,),) = rows(path, "SELECT count(*) FROM records")
    assert isinstance(found, int)
    return found


def left(path: Path, name: str = "left") -> Path:
    """A copy of an open store as a crash would leave it."""
    copy = path.with_name(name)
    copy.mkdir(mode=0o700)
    for file in path.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, copy)
    return copy


# --- the file -------------------------------------------------------------------------------------


def test_what_was_put_is_read(tail: Tail, tmp_path: Path) -> None:
    put = [alone(number) for number in range(TAIL_SLOTS)]
    for each in put:
        assert tail.put(each)
    assert not tail.put(alone(TAIL_SLOTS)), "it is full"
    assert Tail(tmp_path, None).read(TOKEN) == put
    assert Tail(tmp_path, None).read(OTHER) == []
    assert tail.path.stat().st_mode & 0o777 == 0o600
    assert tail.path.stat().st_size == TAIL_SLOTS * TAIL_SLOT_BYTES


def test_a_tail_with_more_slots_is_read_whole(tail: Tail, monkeypatch: pytest.MonkeyPatch) -> None:
    """As another version may have made it."""
    for number in range(5):
        tail.put(alone(number))
    monkeypatch.setattr("littled.store.tail.TAIL_SLOTS", 2)
    assert tail.read(TOKEN) == [alone(number) for number in range(5)]


def test_a_file_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"tail is missing or cut short.*restore --copy"):
        Tail(tmp_path, None).read(TOKEN)
    assert Tail(tmp_path, None).read(TOKEN, incomplete=True) == []


def test_what_was_put_before_a_new_token_is_gone(tail: Tail) -> None:
    for number in range(5):
        tail.put(alone(number))
    assert tail.read(OTHER) == []
    tail.begin(OTHER)
    tail.put(alone(9))
    assert tail.read(OTHER) == [alone(9)]


def test_a_slot_that_was_written_over_too_early_is_noticed(tail: Tail) -> None:
    """The database that names the others is an older one."""
    tail.put(alone(0))
    tail.put(alone(1))
    tail.begin(OTHER)
    tail.put(alone(2))
    with pytest.raises(StoreRefused, match="of a later moment than the database"):
        tail.read(TOKEN)
    assert tail.read(TOKEN, incomplete=True) == []


def test_tokens_say_which_was_drawn_later(tail: Tail) -> None:
    tokens = [next_token(None)]
    for _ in range(300):
        tokens.append(next_token(tokens[-1]))
    assert len(set(tokens)) == 301
    assert {len(token) for token in tokens} == {TOKEN_BYTES}
    tail.begin(tokens[270])
    tail.put(alone(0))
    assert tail.read(tokens[271]) == []
    assert tail.read(tokens[270]) == [alone(0)]
    for earlier in (0, 200, 269):
        with pytest.raises(StoreRefused, match="of a later moment than the database"):
            tail.read(tokens[earlier])


def test_tokens_count_for_longer_than_a_daemon_lives(tail: Tail) -> None:
    """A thousand commits a second for thirty years."""
    token = (10**12 - 3).to_bytes(8) + bytes(8)
    for _ in range(5):
        tail.begin(token)
        tail.put(alone(0))
        token = next_token(token)
        assert tail.read(token) == []


def test_a_copy_that_was_made_while_slots_were_written_over_is_noticed(
    tail: Tail, tmp_path: Path
) -> None:
    """Its beginning is of one moment, and its end of a later one."""
    early = next_token(None)
    later = next_token(early)
    for token in (early, later):
        tail.begin(token)
        for number in range(9):
            assert tail.put(alone(number))
        if token == early:
            begun = tail.path.read_bytes()[: 5 * TAIL_SLOT_BYTES]
    with tail.path.open("r+b") as file:
        file.write(begun)
    with pytest.raises(StoreRefused, match="of a later moment than the database"):
        tail.read(early)


def test_what_comes_before_what_was_written_over_can_be_gone_on_with(tail: Tail) -> None:
    """As where the beginning of a file was read before a commit, and the rest after it."""
    early = next_token(None)
    later = next_token(early)
    tail.begin(early)
    for number in range(12):
        assert tail.put(alone(number))
    begun = tail.path.read_bytes()[: 5 * TAIL_SLOT_BYTES]
    tail.begin(later)
    for number in range(9):
        assert tail.put(alone(number))
    with tail.path.open("r+b") as file:
        file.write(begun)
    with pytest.raises(StoreRefused, match="of a later moment than the database"):
        tail.read(early)
    assert tail.read(early, incomplete=True) == [alone(number) for number in range(5)]


@pytest.mark.parametrize("token", [None, next_token(None)], ids=["none", "another"])
def test_what_another_token_was_drawn_behind_is_in_the_database(
    tail: Tail, token: bytes | None
) -> None:
    tail.begin(TOKEN)
    for number in range(3):
        tail.put(alone(number))
    assert tail.read(token, known=lambda _: True) == []
    with pytest.raises(StoreRefused, match="of a later moment than the database"):
        tail.read(token, known=lambda each: each != alone(2))


def test_tokens_of_the_first_version_say_nothing_of_others(tail: Tail) -> None:
    random = b"\1" * TOKEN_BYTES
    for token, other in ((random, next_token(None)), (next_token(None), random)):
        tail.begin(token)
        tail.put(alone(0))
        assert tail.read(other) == []
    assert next_token(random)[:8] == next_token(None)[:8]


@pytest.mark.parametrize("pages", [1, 2])
def test_a_part_that_cannot_be_read_is_no_end(
    tail: Tail, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system gives what comes before, and an error for the rest; or nothing more."""
    for number in range(4):
        tail.put(alone(number))

    def read(_: Disk, descriptor: int, __: Path, size: int, start: int) -> bytes:
        if start >= pages * TAIL_SLOT_BYTES:
            raise OSError(errno.EIO, "no")
        return os.pread(descriptor, min(size, pages * TAIL_SLOT_BYTES - start), start)

    monkeypatch.setattr(Disk, "read", read)
    with pytest.raises(StoreFailed, match="EIO"):
        tail.read(TOKEN)
    monkeypatch.setattr(Disk, "read", lambda *_: b"")
    with pytest.raises(StoreFailed, match="became shorter"):
        tail.read(TOKEN)


def test_what_does_not_fit_is_not_put(tail: Tail) -> None:
    assert not tail.put(alone(0, TAIL_SLOT_BYTES))
    size = next(size for size in range(TAIL_SLOT_BYTES, 0, -1) if tail.put(alone(0, size)))
    assert TAIL_SLOT_BYTES - size < 200
    assert tail.put(alone(1))
    assert tail.read(TOKEN) == [alone(0, size), alone(1)]


def test_a_torn_slot_is_nothing(tail: Tail) -> None:
    tail.put(alone(0))
    tail.put(alone(1, 100))
    whole = tail.path.read_bytes()
    written = len(whole.rstrip(b"\0")) - TAIL_SLOT_BYTES
    for kept in range(written):
        torn = whole[: TAIL_SLOT_BYTES + kept].ljust(len(whole), b"\0")
        tail.path.write_bytes(torn)
        assert tail.read(TOKEN) == [alone(0)]


def test_every_flipped_byte_is_noticed(tail: Tail) -> None:
    """In the last slot it is as if it was torn; before, the file is damaged."""
    tail.put(alone(0))
    tail.put(alone(1))
    whole = bytearray(tail.path.read_bytes())
    for at in range(len(bytes(whole).rstrip(b"\0")) - TAIL_SLOT_BYTES):
        for slot in range(2):
            whole[slot * TAIL_SLOT_BYTES + at] ^= 4
            tail.path.write_bytes(whole)
            if slot:
                assert tail.read(TOKEN) == [alone(0)]
            else:
                with pytest.raises(StoreDamaged, match="tail is damaged: put back a backup"):
                    tail.read(TOKEN)
            whole[slot * TAIL_SLOT_BYTES + at] ^= 4


def test_a_file_that_was_not_laid_out_is_laid_out(tail: Tail, tmp_path: Path) -> None:
    tail.put(alone(0))
    tail.close()
    tail.path.write_bytes(tail.path.read_bytes()[: TAIL_SLOT_BYTES + 100])
    again = Tail(tmp_path, None)
    with pytest.raises(StoreRefused, match="cut short"):
        again.read(TOKEN)
    assert again.read(TOKEN, incomplete=True) == [alone(0)]
    again.open()
    assert again.path.stat().st_size == TAIL_SLOTS * TAIL_SLOT_BYTES
    again.close()


def test_a_file_that_others_can_read_is_refused(tail: Tail) -> None:
    tail.path.chmod(0o644)
    with pytest.raises(StoreRefused, match="chmod 600"):
        tail.read(TOKEN)


# --- the store ------------------------------------------------------------------------------------


def test_a_lone_record_stands_in_the_tail_and_is_read_all_the_same(path: Path) -> None:
    with Store.open(path) as store:
        for _ in range(3):
            feed(store, [2])
        assert in_database(path) == 0
        assert store.position(STREAM) == 6
        assert [record.count for record in store.records(STREAM)] == [2, 2, 2]
        assert in_database(path) == 3, "who reads brings them in"
        feed(store, [1])
        assert store.record_at(STREAM, 6) == 3


def test_a_full_tail_is_brought_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.tail.TAIL_SLOTS", 3)
    with Store.open(path) as store:
        found = []
        for _ in range(7):
            feed(store, [1])
            found.append(in_database(path))
    assert found == [0, 0, 0, 3, 3, 3, 6]
    assert in_database(path) == 7


@pytest.mark.parametrize("call", ["batch", "charge", "publish", "snapshot", "pulse", "long"])
def test_every_other_commit_brings_it_in(path: Path, call: str) -> None:
    """So nothing in the database rests on a record that is not there."""
    with Store.open(path) as store:
        store.charge(paid(0))
        feed(store, [1])
        assert in_database(path) == 0
        match call:
            case "batch":
                feed(store, [1, 1])
            case "charge":
                store.charge(entry(1, rate=RATE / 4096))
            case "publish":
                store.publish([release(1)], ())
            case "snapshot":
                store.save_snapshot(STREAM, 0, b"state")
            case "pulse":
                store.append(())
            case "long":
                feed(store, [LONG])
        more = {"batch": 2, "long": 1}.get(call, 0)
        assert in_database(path) == 1 + more
        assert store.position(STREAM) == {"batch": 3, "long": 1 + LONG}.get(call, 1)
    assert verify(path).findings == ()


def test_a_store_that_was_closed_has_no_tail(path: Path) -> None:
    ((before,),) = rows(path, "PRAGMA user_version")
    with Store.open(path) as store:
        feed(store, [1])
        assert (path / TAIL_NAME).exists()
        assert rows(path, "PRAGMA user_version") == [(int(str(before)) + FORMATS_TAIL,)]
    assert not (path / TAIL_NAME).exists()
    assert rows(path, "PRAGMA user_version") == [(before,)], "earlier versions read it"
    assert rows(path, "SELECT count(*) FROM meta WHERE name = 'tail'") == [(0,)]


def test_a_format_that_claims_a_tail_without_one_is_damaged(path: Path) -> None:
    connection = apsw.Connection(str(path / "store.sqlite"))
    connection.execute(f"PRAGMA user_version = {FORMATS_TAIL + 1}")
    connection.close()
    with pytest.raises(StoreRefused, match="damaged"):
        Store.open(path)


@pytest.mark.parametrize("reader", ["serve", "read", "verify", "restore"])
def test_whoever_comes_next_finds_the_tail(path: Path, reader: str) -> None:
    with Store.open(path) as store:
        feed(store, [3, 3])
        feed(store, [1])
        feed(store, [1])
        copy = left(path)
    assert in_database(copy) == 2
    if reader == "verify":
        assert verify(copy).findings == ()
    elif reader == "restore":
        with Restoring.open(copy, copy=True) as found:
            found.finish()
    else:
        with Store.open(copy, read_only=reader == "read") as opened:
            assert opened.position(STREAM) == 8
    ((found_last,),) = rows(copy, "SELECT max(first_position + count) FROM records WHERE count > 0")
    assert found_last == 8
    assert verify(copy).findings == ()


def reading(path: Path) -> int:
    """A process that opens a store to read it, and ends with its position; 99 if it may not."""
    child = os.fork()
    if not child:
        found = 99
        try:
            with suppress(StoreFailed), Store.open(path, read_only=True) as beside:
                found = beside.position(STREAM)
        finally:
            os._exit(found)
    return child


def seen(child: int) -> int:
    """How it ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_who_reads_beside_a_daemon_waits_for_what_it_acknowledged(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [1])
        child = reading(path)
        time.sleep(0.2)
        store.append(())
        feed(store, [1])
        assert seen(child) == 1
        assert (path / TAIL_NAME).exists()
        assert [record.count for record in store.records(STREAM)] == [1, 1]


def test_who_reads_does_not_go_on_without_what_was_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_LOCK_SECONDS", 0.1)
    with Store.open(path) as store:
        feed(store, [1])
        assert seen(reading(path)) == 99
        store.append(())
        assert seen(reading(path)) == 1


def test_who_waits_for_one_that_is_killed_brings_it_in(path: Path) -> None:
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            store = Store.open(path)
            feed(store, [1])
            feed(store, [1])
            os.write(tell, b"1")
            time.sleep(60)
        finally:
            os._exit(1)
    os.read(told, 1)
    readers = [reading(path) for _ in range(3)]
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert [seen(reader) for reader in readers] == [2, 2, 2]


def test_a_reader_finds_all_that_the_mark_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the mark moves while it waits for nothing more; see `Store._reserve`."""
    with Store.open(path) as store:
        feed(store, [1])
        feed(store, [1], producer="radar")
        store.append(())
        feed(store, [1])
        feed(store, [300], producer="radar")  # beyond what the mark bounds, so that it moves
        copy = left(path)
        assert in_database(path) >= 3
    monkeypatch.setattr(SqliteDatabase, "recover", lambda *_, **__: None)
    Store.open(copy, read_only=True).close()


def test_a_tail_where_nothing_can_be_written_is_told(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [1])
        copy = left(path)
    (copy / "lock").unlink()
    (copy / "lock").symlink_to(copy / "elsewhere")  # which nobody opens for writing
    with pytest.raises(StoreRefused, match="was not closed, and what came last is only in tail"):
        Store.open(copy, read_only=True)
    assert "make a copy that can be written" in verify(copy).findings[0]


def still_lacks_something(copy: Path) -> None:
    """Nobody serves it, and a check says why."""
    with pytest.raises(StoreRefused, match=r"which were acknowledged .* restore --copy"):
        Store.open(copy)
    assert len([f for f in verify(copy).findings if "restore --copy" in f]) == 1


def fail(*_: object) -> None:
    """As when the disk fails."""
    raise StoreFailed("the disk failed")


@pytest.mark.parametrize("lacks", ["all", "a part", "all but a link", "what came before"])
def test_a_copy_that_lacks_what_was_acknowledged_goes_on_as_a_restore(
    path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    """And in no other way, however often it is looked at before."""
    with Store.open(path) as store:
        feed(store, [1, 1])
        feed(store, [1])
        copy = left(path)
        store.append(())
        feed(store, [1])
        late = left(path, "late")
    tail = copy / TAIL_NAME
    match lacks:
        case "all":
            tail.unlink()
        case "a part":
            os.truncate(tail, 5 * TAIL_SLOT_BYTES)
        case "all but a link":
            tail.unlink()
            tail.symlink_to("nowhere")
        case "what came before":
            shutil.copy(late / TAIL_NAME, tail)
    still_lacks_something(copy)
    still_lacks_something(copy)
    for _ in range(2):
        with Store.open(copy, read_only=True) as reader:
            assert reader.position(STREAM) == (3 if lacks == "a part" else 2)
        with Restoring.open(copy, copy=True):
            pass  # somebody looks, and does not go on
        still_lacks_something(copy)
    with Restoring.open(copy, copy=True) as found:
        monkeypatch.setattr("littled.store.restoring.add_restores", fail)
        with pytest.raises(StoreFailed, match="the disk failed"):
            found.finish()
        monkeypatch.undo()
    still_lacks_something(copy)
    tail.unlink(missing_ok=True)
    shutil.copy(late / TAIL_NAME, tail)  # of which some was brought in already
    still_lacks_something(copy)
    with Restoring.open(copy, copy=True) as found:
        found.finish()
    with Store.open(copy) as again:
        feed(again, [5])
    assert verify(copy).findings == ()


def test_a_tail_put_back_beside_the_database_of_another_moment_is_refused(path: Path) -> None:
    """Whatever came between was no record that stood there: a token is of one moment."""
    with Store.open(path) as store:
        feed(store, [1])
        store.append(())
        early = left(path, "early")
        feed(store, [1, 1])
        feed(store, [1])
        late = left(path, "late")
    shutil.copy(late / TAIL_NAME, early / TAIL_NAME)
    with pytest.raises(StoreRefused, match="of a later moment than the database"):
        Store.open(early)
    assert in_database(early) == 1
    with Store.open(late) as again:
        assert again.position(STREAM) == 4


@pytest.mark.parametrize("at_work", [False, True], ids=["closed", "at work"])
def test_an_earlier_database_beside_the_tail_of_a_later_session_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, at_work: bool
) -> None:
    """Tokens begin anew after a clean stop, and a store that was stopped so names none."""
    with Store.open(path) as store:
        for _ in range(3):
            feed(store, [1])
            store.append(())
        if at_work:
            early = left(path, "early")
    if not at_work:
        early = left(path, "early")
    with Store.open(path) as store:
        for _ in range(2):
            feed(store, [1])
        late = left(path, "late")
    for name in (TAIL_NAME, MARK_NAME):
        shutil.copy(late / name, early / name)
    still_lacks_something(early)
    with Restoring.open(early, copy=True) as found:
        monkeypatch.setattr("littled.store.restoring.add_restores", fail)
        with pytest.raises(StoreFailed, match="the disk failed"):
            found.finish()
        monkeypatch.undo()
    still_lacks_something(early)
    with Restoring.open(early, copy=True) as found:
        found.finish()
    assert verify(early).findings == ()
    with Store.open(early) as again:
        feed(again, [1])


def test_a_record_whose_sync_failed_leaves_a_sound_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may stand there whole. Who reads beside it must not draw a token behind it."""
    store = Store.open(path)
    feed(store, [1])
    feed(store, [1])

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(Disk, "sync", fails)
    with pytest.raises(StoreFailed, match="EIO"):
        feed(store, [1])
    monkeypatch.undo()
    assert store._writing is not None
    with pytest.raises(StoreFailed, match="an earlier commit failed"):
        store._writing.bring_in()  # as a reader does that has been let in already
    store.close()
    assert verify(path).findings == ()
    with Store.open(path) as again:
        assert again.position(STREAM) in (2, 3)


def test_a_whole_copy_stays_one_where_its_restore_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(path) as store:
        feed(store, [1])
        store.append(())
        copy = left(path)
    with Restoring.open(copy, copy=True) as found:
        monkeypatch.setattr("littled.store.restoring.add_restores", fail)
        with pytest.raises(StoreFailed, match="the disk failed"):
            found.finish()
    assert verify(copy).findings == ()
    with Store.open(copy) as store:
        assert store.position(STREAM) == 1


def test_what_a_killed_one_left_is_never_taken_for_what_follows(path: Path) -> None:
    """A store that is opened begins under a token of its own, also where nothing waits."""
    with Store.open(path) as store:
        feed(store, [1])
        feed(store, [1])
        copy = left(path)
    tokens = set()
    for number in range(3):
        with Store.open(copy) as store:
            feed(store, [1])
            ((token,),) = rows(copy, "SELECT value FROM meta WHERE name = 'tail'")
            tokens.add(token)
            store.append(())
            copy = left(copy, f"again {number}")
    assert len(tokens) == 3
    with Store.open(copy) as store:
        assert store.position(STREAM) == 5


def test_every_commit_draws_a_token_while_there_is_a_tail(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [1, 1])
        assert rows(path, "SELECT count(*) FROM meta WHERE name = 'tail'") == [(0,)]
        tokens = []
        for counts in ([1], [1, 1], [LONG], [1]):
            feed(store, counts)
            store.bring_in()
            tokens += rows(path, "SELECT value FROM meta WHERE name = 'tail'")
        store.charge(paid(0))
        tokens += rows(path, "SELECT value FROM meta WHERE name = 'tail'")
        assert len(set(tokens)) == 5


def test_what_is_left_of_a_tail_that_nothing_names_is_removed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if not child:
        try:
            store = Store.open(path)
            feed(store, [1])
            monkeypatch.setattr(Tail, "remove", lambda _: os.kill(os.getpid(), signal.SIGKILL))
            store.close()
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    assert (path / TAIL_NAME).exists()
    with Store.open(path) as store:
        assert not (path / TAIL_NAME).exists()
        assert store.position(STREAM) == 1


def test_a_reader_beside_a_daemon_needs_no_folder_that_can_be_written(path: Path) -> None:
    """As through a mount that is read only."""
    with Store.open(path) as store:
        feed(store, [1])
        mounted = path.with_name("mounted")
        mounted.mkdir()
        for file in path.iterdir():
            (mounted / file.name).symlink_to(file)
        (mounted / "lock").unlink()
        (mounted / "lock").symlink_to(path / "elsewhere")  # which nobody opens for writing
        (mounted / TAIL_NAME).unlink()
        (mounted / TAIL_NAME).hardlink_to(path / TAIL_NAME)
        child = reading(mounted)
        time.sleep(0.2)
        store.append(())
        assert seen(child) == 1


@pytest.mark.parametrize("lacks", ["all", "a part"])
def test_a_copy_on_a_medium_that_cannot_be_written_is_missed_something(
    path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    with Store.open(path) as store:
        for _ in range(6):
            feed(store, [1])
        copy = left(path)
    if lacks == "all":
        (copy / TAIL_NAME).unlink()
    else:
        os.truncate(copy / TAIL_NAME, 0)

    def mounted(*_: object, **__: object) -> FolderLock:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("littled.store.sqlite.FolderLock", mounted)
    assert "tail is missing or cut short" in verify(copy).findings[0]
    with Store.open(copy, read_only=True) as reader:
        assert reader.position(STREAM) == 0


def test_who_served_before_the_lock_was_removed_takes_nothing_from_the_next(path: Path) -> None:
    before = Store.open(path)
    feed(before, [1])
    before.bring_in()
    (path / "lock").unlink()
    with Store.open(path) as store:
        feed(store, [2], producer="radar")
        store.bring_in()
        with suppress(StoreFailed):  # within a second it may not have looked
            feed(before, [3])
        with pytest.raises(StoreFailed, match="another process has written to the store"):
            before.publish([release(1, charge=None)], ())
        feed(store, [4], producer="radar")
    with suppress(StoreFailed):
        before.close()
    with Store.open(path) as again:
        assert [record.count for record in again.records(STREAM)] == [1, 2, 4]
    assert verify(path).findings == ()


def test_a_damaged_tail_is_refused_and_told(path: Path) -> None:
    with Store.open(path) as store:
        feed(store, [1])
        feed(store, [1])
        copy = left(path)
    data = bytearray((copy / TAIL_NAME).read_bytes())
    data[60] ^= 1
    (copy / TAIL_NAME).write_bytes(data)
    with pytest.raises(StoreRefused, match=r"tail is damaged: put back a backup; or remove it"):
        Store.open(copy)
    assert any("tail is damaged" in finding for finding in verify(copy).findings)
    assert (copy / TAIL_NAME).read_bytes() == data
    (copy / TAIL_NAME).unlink()
    with Restoring.open(copy, copy=True) as found:
        found.finish()
    assert verify(copy).findings == ()


POINTS = ("the bringing in of the tail", "a new token", "a commit", "write store.sqlite-wal")


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_it_is_brought_in_loses_nothing(path: Path, side: str, point: str) -> None:
    with Store.open(path) as store:
        for count in (1, 2, 3):
            feed(store, [count])
        copy = left(path)
    child = os.fork()
    if not child:
        try:
            disk = kill_at(f"{side} {point}", 1, lambda _: None)
            Store.open(copy, vfs=disk)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WTERMSIG(status) == signal.SIGKILL
    with Store.open(copy) as again:
        assert [record.count for record in again.records(STREAM)] == [1, 2, 3]
    assert verify(copy).findings == ()


@pytest.mark.parametrize("what", ["write", "sync", "create", "open"])
def test_a_fault_at_the_tail_ends_everything(path: Path, what: str) -> None:
    fails = False

    def happens(kind: str, name: str) -> None:
        if fails and kind == what and name.endswith(TAIL_NAME):
            raise apsw.IOError

    class Failing(HookedDisk):
        def read(self, what: str, path: str) -> None:
            happens(what, path)

    disk = Failing("failing-tail", happens)
    try:
        store = Store.open(path, vfs=disk.name)
        if what in ("write", "sync"):
            feed(store, [1])
        fails = True
        with pytest.raises(StoreFailed, match="the disk failed"):
            feed(store, [1])
        fails = False
        with pytest.raises(StoreFailed):
            feed(store, [1])
        with pytest.raises(StoreFailed):
            list(store.records(STREAM))
        store.close()
    finally:
        disk.unregister()
    with Store.open(path) as again:
        assert again.position(STREAM) in ((1, 2) if what in ("write", "sync") else (0,))
    assert verify(path).findings == ()


def test_a_tail_that_was_moved_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.sqlite.STORE_PLACE_SECONDS", 0.0)
    with Store.open(path) as store:
        feed(store, [1])
        (path / TAIL_NAME).rename(path / "elsewhere")
        with pytest.raises(StoreFailed, match="tail was moved, replaced or removed while it was"):
            feed(store, [1])


def test_readers_on_other_threads_bring_it_in_meanwhile(path: Path) -> None:
    wrong: list[object] = []
    stop = threading.Event()

    def read(store: Store) -> None:
        while not stop.is_set():
            known = store.position(STREAM)
            try:
                found = sum(record.count for record in store.records(STREAM))
            except BaseException as error:  # noqa: BLE001 - told by the test
                wrong.append(error)
                return
            if found < known:
                wrong.append((found, known))

    with Store.open(path) as store:
        threads = [threading.Thread(target=read, args=(store,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(300):
            feed(store, [1] if number % 7 else [1, 1])
            if number % 11 == 0:
                store.publish([release(number // 11 + 1, charge=None)], ())
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong
        assert store.releases(LEARNER)
    assert verify(path).findings == ()


def test_whoever_serves_waits_for_one_that_only_brings_in(path: Path) -> None:
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            lock = FolderLock(path / "lock", briefly=True)
            os.write(tell, b"1")
            time.sleep(0.3)
            lock.release()
        finally:
            os._exit(0)
    os.read(told, 1)
    Store.open(path).close()
    os.waitpid(child, 0)


def test_a_lock_that_does_not_say_yet_how_long_it_is_held_is_asked_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = [StoreRefused("held"), HeldBriefly("held"), HeldBriefly("held")]

    class Held(FolderLock):
        def __init__(self, path: Path) -> None:
            if refusals:
                raise refusals.pop(0)
            super().__init__(path)

    monkeypatch.setattr("littled.store.sqlite.FolderLock", Held)
    SqliteDatabase(path).lock().release()
    assert not refusals


def test_whoever_serves_is_refused_at_once_beside_another(path: Path) -> None:
    with Store.open(path):
        begun = time.monotonic()
        with pytest.raises(StoreRefused, match="has opened the store"):
            SqliteDatabase(path).lock()
        assert time.monotonic() - begun < STORE_LOCK_SECONDS / 2


def test_a_record_of_users_stands_there_as_well(tmp_path: Path) -> None:
    path = tmp_path / "users"
    Store.create(path, {}, {STREAM: plan_values() | {"unit": "user"}})
    with Store.open(path) as store:
        store.append([replace(new_record(0, 2), users=bytes(range(32)))])
        copy = left(path)
    assert in_database(copy) == 0
    with Store.open(copy) as again:
        (record,) = again.records(STREAM)
        assert record.users == bytes(range(32))
