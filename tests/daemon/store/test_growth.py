"""Streams that are added to a store, closed in it, or lost by a restore."""

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import littled.store.files
import littled.store.store
from littled.store.creation import STREAMS_TOGETHER_MAX
from littled.store.database import FORMATS_GDP, FORMATS_GROWN, read_facts
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.place import Place
from littled.store.records import NewRecord, genesis
from littled.store.register import FileRegister
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.limits import user_bytes
from support.databases import Postgres
from support.disks import HookedDisk
from support.marks import read_mark
from support.postgres import asked, url_of
from support.stores import (
    STREAM,
    answer,
    answer_entry,
    change,
    contents,
    copy_store,
    entry,
    feed,
    fill,
    new_prediction,
    new_record,
    paid,
    plan_values,
)

pytestmark = pytest.mark.usefixtures("any_database")


def configuration(*streams: str) -> dict[str, Any]:
    return {"streams": {name: {"epsilon": "2", "name": name} for name in streams}}


def plans(*streams: str) -> dict[str, dict[str, Any]]:
    return {name: plan_values() for name in streams}


def add(store: Store, *streams: str) -> None:
    store.add_streams(configuration(*streams), plans(*streams))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Where the mark is; no backup holds it."""
    return tmp_path / "mark"


@pytest.fixture
def path(tmp_path: Path, mark: Path) -> Path:
    """A store with a little of everything."""
    path = tmp_path / "store"
    Store.create(path, configuration(STREAM, "quiet"), plans(STREAM, "quiet"), mark_path=mark)
    with Store.open(path, mark_path=mark) as store:
        fill(store)
    return path


def backup(path: Path) -> Path:
    """A copy of a closed store."""
    return copy_store(path, path.with_name(f"{path.name} copy"))


def put_back(path: Path, copy: Path) -> None:
    shutil.rmtree(path)
    copy.rename(path)


def facts(path: Path) -> Any:
    readers = Place.of(path, None, None).database.readers()
    with readers.lend() as connection:
        found = read_facts(readers), connection.format()
    readers.close()
    return found


# --- adding ---------------------------------------------------------------------------------------


def test_what_is_added_changes_nothing_of_what_is_there(path: Path, mark: Path) -> None:
    before, _ = facts(path)
    marked = read_mark(mark)
    with Store.open(path, mark_path=mark) as store:
        told = contents(store)[:-2]
        add(store, "new", "newer")
        assert contents(store)[:-2] == told
        assert [*store.plans] == [STREAM, "quiet", "new", "newer"]
        assert store.configuration == configuration(STREAM, "quiet", "new", "newer")
        feed(store, [3, 2], stream="new")
        assert (store.position("new"), store.position("newer")) == (5, 0)
    after, number = facts(path)
    for name in (STREAM, "quiet"):
        assert after.streams[name] == before.streams[name]
        assert read_mark(mark).streams[name] == marked.streams[name]
    assert after.configuration == before.configuration
    assert number == FORMATS_GROWN + 1
    assert set(read_mark(mark).streams) == {STREAM, "quiet", "new", "newer"}
    report = verify(path, mark_path=mark)
    assert report.findings == ()
    assert [stream.records for stream in report.streams] == [3, 0, 2, 0]
    with Store.open(path, mark_path=mark) as store:
        add(store, "third")
        feed(store, [1], stream="third")
    assert verify(path, mark_path=mark).sound


def test_an_added_stream_is_bound_to_its_own_configuration(path: Path, mark: Path) -> None:
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
    found, _ = facts(path)
    own = found.streams["new"]
    assert own.configuration == b'{"streams":{"new":{"epsilon":"2","name":"new"}}}'
    assert own.genesis == genesis(found.salt, "new", own.configuration, own.plan)
    change(path / "store.sqlite", "UPDATE configurations SET configuration = x'7b7d'")
    with pytest.raises(StoreRefused, match="is damaged"):
        Store.open(path, mark_path=mark)


def test_a_stream_of_gdp_is_nothing_for_earlier_versions(path: Path, mark: Path) -> None:
    values = plan_values()
    exact = {**values, "caps": {**values["caps"], "gaussian": "1/2"}}
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
        assert facts(path)[1] == FORMATS_GROWN + 1
        store.add_streams(configuration("gaussian"), {"gaussian": {**values, "learners": {}}})
        assert facts(path)[1] == FORMATS_GROWN + 1, "the name alone is none"
        store.add_streams(configuration("cards"), {"cards": exact})
    assert facts(path)[1] == FORMATS_GDP + FORMATS_GROWN + 1
    Store.create(path.with_name("cards"), configuration("cards"), {"cards": exact})
    assert facts(path.with_name("cards"))[1] == FORMATS_GDP + 1
    with Store.open(path, mark_path=mark) as store:
        feed(store, [1], stream="cards")
    assert facts(path)[1] == FORMATS_GDP + FORMATS_GROWN + 1


def test_a_stream_of_users_may_be_the_first_of_its_kind(path: Path, mark: Path) -> None:
    users = {**plan_values(), "unit": "user", "user_examples_max": 1}
    with Store.open(path, mark_path=mark) as store:
        store.add_streams(configuration("people"), {"people": users})
        feed(store, [2])
        record = new_record(0, 2, stream="people")
        hashed = bytes(2 * user_bytes)
        store.append([NewRecord("people", "tower", 0, 2, record.x, record.y, hashed)])
    assert facts(path)[1] == FORMATS_GROWN + 2
    with Store.open(path, mark_path=mark) as store:
        assert [found.users for found in store.records("people")] == [hashed]
        assert [found.users for found in store.records(STREAM)] == [b""] * 4
    assert verify(path, mark_path=mark).sound


def test_no_name_is_used_twice(path: Path, mark: Path) -> None:
    with Store.open(path, mark_path=mark) as store:
        store.close_stream("quiet")
        with pytest.raises(StoreRefused, match=f"has a stream {STREAM} already: use another"):
            add(store, "new", STREAM)
        with pytest.raises(StoreRefused, match="quiet already, which is closed; a name is not"):
            add(store, "quiet")
        with pytest.raises(StoreRefused, match="needs a horizon"):
            store.add_streams({}, {"new": {**plan_values(), "horizon": 0}})
        assert [*store.plans] == [STREAM, "quiet"]
        feed(store, [1])
    assert verify(path, mark_path=mark).sound


@pytest.mark.in_a_folder
def test_a_copy_from_before_is_behind_its_mark(path: Path, mark: Path) -> None:
    copy = backup(path)
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
        assert "new" in read_mark(mark).streams, "before anything is fed to it"
    put_back(path, copy)
    with pytest.raises(StoreRefused, match="stream new is not the one that the high-water mark"):
        Store.open(path, mark_path=mark)
    with pytest.raises(StoreRefused, match="behind its high-water mark"):
        Store.open(path, mark_path=mark, read_only=True)


@pytest.mark.long
def test_many_streams_have_configurations_of_their_own(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(STREAMS_TOGETHER_MAX + 1)]
    Store.create(tmp_path / "few", configuration(*names[1:]), plans(*names[1:]))
    Store.create(tmp_path / "many", configuration(*names), plans(*names))
    few, many = facts(tmp_path / "few"), facts(tmp_path / "many")
    assert (few[1], many[1]) == (1, 1 + FORMATS_GROWN)
    assert all(stream.configuration is None for stream in few[0].streams.values())
    assert all(stream.configuration for stream in many[0].streams.values())
    with Store.open(tmp_path / "many") as store:
        assert store.configuration == configuration(*names)
        feed(store, [1], stream=names[-1])
    assert verify(tmp_path / "many").sound


# --- closing --------------------------------------------------------------------------------------


def closed(path: Path, mark: Path) -> None:
    with Store.open(path, mark_path=mark) as store:
        store.charge(paid(3))
        answer(store, 0)
        store.close_stream(STREAM)


def test_a_closed_stream_takes_nothing_and_keeps_everything(path: Path, mark: Path) -> None:
    closed(path, mark)
    with Store.open(path, mark_path=mark) as store:
        told = contents(store)
        assert store.closed == {STREAM}
        with pytest.raises(ValueError, match=f"stream {STREAM} is closed"):
            feed(store, [1])
        with pytest.raises(StoreRefused, match="is closed already"):
            store.close_stream(STREAM)
        feed(store, [1], stream="quiet")
        assert contents(store) == told
        new = new_prediction(store, 1)
        with pytest.raises(StoreDamaged, match="came after the stream was closed"):
            store.answer(new, answer_entry(new))
    report = verify(path, mark_path=mark)
    assert report.findings == ()
    assert [stream.closed for stream in report.streams] == [True, False]
    assert read_mark(mark).streams[STREAM].closed


def test_what_a_closed_journal_leads_to_may_come_late(path: Path, mark: Path) -> None:
    closed(path, mark)
    with Store.open(path, mark_path=mark) as store:
        store.charge(entry(4, position=10))
        store.save_snapshot(STREAM, 2, b"state")
    assert verify(path, mark_path=mark).sound


@pytest.mark.in_a_folder
def test_a_copy_in_which_a_closed_stream_is_open_is_refused(path: Path, mark: Path) -> None:
    copy = backup(path)
    with Store.open(path, mark_path=mark) as store:
        store.close_stream(STREAM)
        assert read_mark(mark).streams[STREAM].closed
    put_back(path, copy)
    with pytest.raises(StoreRefused, match="which the high-water mark knows as closed, is open"):
        Store.open(path, mark_path=mark)
    assert not verify(path, mark_path=mark).sound


ENDS = {
    "a record less": "UPDATE closings SET record_number = record_number - 1",
    "another head": "UPDATE closings SET record_head = zeroblob(32)",
    "an answer more": "UPDATE closings SET prediction_number = prediction_number + 1",
    "another answer": "UPDATE closings SET prediction_head = zeroblob(32)",
    "none": "DELETE FROM closings",
    "another stream": "UPDATE closings SET stream = 2",
    "no stream": "UPDATE closings SET stream = 77",
}


@pytest.mark.parametrize("statement", ENDS.values(), ids=ENDS)
def test_a_closed_stream_ends_where_it_was_closed(path: Path, mark: Path, statement: str) -> None:
    closed(path, mark)
    change(path / "store.sqlite", statement)
    assert not verify(path, mark_path=mark).sound
    with pytest.raises(StoreRefused):
        Store.open(path, mark_path=mark)


# --- restoring ------------------------------------------------------------------------------------


def restored(path: Path, mark: Path, *, copy: bool = False) -> Restoring:
    with Restoring.open(path, mark_path=mark, copy=copy) as found:
        found.finish()
    report = verify(path, mark_path=mark)
    assert report.findings == ()
    return found


@pytest.mark.in_a_folder
def test_a_restore_closes_again_what_was_closed(path: Path, mark: Path) -> None:
    copy = backup(path)
    with Store.open(path, mark_path=mark) as store:
        feed(store, [4])
        store.close_stream(STREAM)
    put_back(path, copy)
    restored(path, mark)
    assert read_mark(mark).streams[STREAM].closed
    with Store.open(path, mark_path=mark) as store:
        assert store.closed == {STREAM}
        with pytest.raises(ValueError, match="is closed"):
            store.append([new_record(store.producer_next(STREAM, "tower"))])
        feed(store, [1], stream="quiet")
    # once more, of a copy in which it is closed
    copy = backup(path)
    with Store.open(path, mark_path=mark) as store:
        store.charge(entry(0, position=2000, stream="quiet"))
    put_back(path, copy)
    restored(path, mark)
    with Store.open(path, mark_path=mark) as store:
        assert store.closed == {STREAM}


@pytest.mark.in_a_folder
def test_a_stream_that_a_restore_loses_leaves_its_name(path: Path, mark: Path) -> None:
    copy = backup(path)
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
        feed(store, [4], stream="new")
        store.publish([], [entry(0, stream="new")])
    lost = read_mark(mark).streams["new"]
    put_back(path, copy)
    found = restored(path, mark)
    assert [*found.gone] == ["new"]
    for _ in range(2):
        kept = read_mark(mark).streams["new"]
        assert (kept.genesis, kept.closed) == (lost.genesis, True)
        with Store.open(path, mark_path=mark) as store:
            assert [*store.plans] == [STREAM, "quiet"]
            with pytest.raises(StoreRefused, match="stream that was lost by a restore"):
                add(store, "new")
            feed(store, [1])
    with Store.open(path, mark_path=mark) as store:
        add(store, "renamed")
    assert verify(path, mark_path=mark).sound
    change(path / "store.sqlite", "DELETE FROM lost_streams")
    with pytest.raises(StoreRefused, match="stream new is not the one"):
        Store.open(path, mark_path=mark)


@pytest.mark.in_a_folder
@pytest.mark.parametrize("serves", [True, False])
def test_the_name_of_a_lost_stream_outlives_its_mark(path: Path, mark: Path, serves: bool) -> None:
    """A mark from before the stream, beside a store that has lost it, learns of it again."""
    first, second = backup(path), copy_store(path, path.with_name("second copy"))
    early = mark.read_bytes()
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
        feed(store, [4], stream="new")
    lost = read_mark(mark).streams["new"]
    put_back(path, first)
    restored(path, mark)
    mark.write_bytes(early)
    if serves:
        Store.open(path, mark_path=mark).close()
    else:
        restored(path, mark, copy=True)
    kept = read_mark(mark).streams["new"]
    assert (kept.genesis, kept.closed) == (lost.genesis, True)
    assert verify(path, mark_path=mark).sound
    put_back(path, second)
    assert [*restored(path, mark, copy=True).gone] == ["new"]
    with (
        Store.open(path, mark_path=mark) as store,
        pytest.raises(StoreRefused, match="stream that was lost by a restore"),
    ):
        add(store, "new")


# --- crashes --------------------------------------------------------------------------------------


def grow(path: Path, mark: Path, what: str, hook: Any) -> None:
    """Add or close, on a disk with a hook."""
    disk = HookedDisk("growing", hook)
    replaced = littled.store.files.replace_private

    def replace(to: Path, data: bytes) -> None:
        hook("mark", str(to))
        replaced(to, data)
        hook("marked", str(to))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("littled.store.register.replace_private", replace)
        with Store.open(path, mark_path=mark, vfs="growing") as store:
            if what == "add":
                add(store, "new", "newer")
            else:
                store.close_stream(STREAM)
    disk.unregister()


def killed_at(path: Path, mark: Path, what: str, step: int) -> bool:
    """Whether growing ended before so many changes of the disk; else it was killed there."""
    child = os.fork()
    if not child:
        steps = 0

        def hook(_what: str, _path: str) -> None:
            nonlocal steps
            steps += 1
            if steps == step:
                os.kill(os.getpid(), signal.SIGKILL)

        grow(path, mark, what, hook)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return not os.WIFSIGNALED(status)


def state(path: Path, mark: Path) -> Mapping[str, bool]:
    with Store.open(path, mark_path=mark) as store:
        return {name: name in store.closed for name in store.plans}


@pytest.mark.long
@pytest.mark.in_a_folder
@pytest.mark.parametrize("what", ["add", "close"])
def test_killed_at_any_moment_it_is_done_or_not(path: Path, mark: Path, what: str) -> None:
    before = {STREAM: False, "quiet": False}
    after = {
        "add": {**before, "new": False, "newer": False},
        "close": {**before, STREAM: True},
    }[what]
    original, original_mark = backup(path), mark.with_name("mark copy")
    shutil.copy(mark, original_mark)
    seen = []
    for step in range(1, 200):
        done = killed_at(path, mark, what, step)
        assert verify(path, mark_path=mark, alone=True).sound
        found = state(path, mark)
        assert found in (before, after), "all of it, or none"
        seen.append(found == after)
        assert verify(path, mark_path=mark).sound
        with Store.open(path, mark_path=mark) as store:
            feed(store, [1], stream="newer" if "newer" in found else "quiet")
        if done:
            break
        shutil.rmtree(path)
        shutil.copytree(original, path)
        shutil.copy(original_mark, mark)
    assert done
    assert seen == sorted(seen)
    assert not seen[0]
    assert seen.count(True) > 1, "it was killed between the transaction and the mark"


# --- on a server ----------------------------------------------------------------------------------


def test_streams_come_and_end_on_a_server(server: Postgres, tmp_path: Path) -> None:
    schema = f"growing{abs(hash(tmp_path))}"
    url, key, mark = url_of(server, schema), tmp_path / "key", tmp_path / "mark"
    asked(url, f"CREATE SCHEMA {schema}")
    Store.create(url, configuration(STREAM), plans(STREAM), key, mark)
    with Store.open(url, key, mark) as store:
        fill(store)
        add(store, "new")
        users = {**plan_values(), "unit": "user", "user_examples_max": 1}
        store.add_streams(configuration("people"), {"people": users})
        feed(store, [2], stream="new")
        store.close_stream(STREAM)
        with pytest.raises(ValueError, match="is closed"):
            feed(store, [1])
    with Store.open(url, key, mark) as store:
        assert store.closed == {STREAM}
        assert [*store.plans] == [STREAM, "new", "people"]
        with pytest.raises(StoreRefused, match="a name is not used again"):
            add(store, STREAM)
    assert verify(url, key, mark).findings == ()
    assert set(read_mark(mark).streams) == {STREAM, "new", "people"}


@pytest.mark.in_a_folder
def test_a_restore_that_was_killed_is_begun_again_where_the_mark_lacks_a_stream(
    path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the mark is an older one: all that the stream has are restores."""
    older = mark.read_bytes()
    with Store.open(path, mark_path=mark) as store:
        add(store, "new")
    mark.write_bytes(older)

    def fail(*_: object) -> None:
        raise StoreFailed("the mark is gone")

    for _ in range(2):
        with Restoring.open(path, mark_path=mark, copy=True) as found:
            monkeypatch.setattr(FileRegister, "claim", fail)
            with pytest.raises(StoreFailed, match="the mark is gone"):
                found.finish()
            monkeypatch.undo()
    with Restoring.open(path, mark_path=mark, copy=True) as found:
        found.finish()
    assert verify(path, mark_path=mark).findings == ()
    with Store.open(path, mark_path=mark) as store:
        store.append([new_record(0, 1, stream="new")])
