"""The store as its users see it."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.records import StoredRelease
from littled.store.register import FileRegister
from littled.store.store import Store
from littled.store.verify import verify
from support.disks import HookedDisk
from support.marks import read_mark
from support.stores import (
    LEARNER,
    NEAR,
    RATE,
    STREAM,
    answer,
    change,
    contents,
    copy_store,
    entry,
    feed,
    fill,
    make_store,
    new_record,
    paid,
    plan_values,
    release,
)

pytestmark = pytest.mark.usefixtures("any_database")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new, closed store."""
    return make_store(tmp_path / "store", [STREAM, "quiet"])


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """The same, open to serve."""
    with Store.open(path) as opened:
        yield opened


# --- appending ------------------------------------------------------------------------------------


def test_a_batch_becomes_records_in_order(store: Store) -> None:
    new = [
        new_record(0, 3),
        new_record(0, 2, "radar"),
        new_record(3, 1),
        new_record(0, 4, stream="quiet"),
    ]
    stored = store.append(new)
    assert [(each.stream, each.number, each.first_position) for each in stored] == [
        (STREAM, 0, 0),
        (STREAM, 1, 3),
        (STREAM, 2, 5),
        ("quiet", 0, 0),
    ]
    for one, other in zip(new, stored, strict=True):
        assert (one.producer, one.sequence, one.count, one.x, one.y) == (
            other.producer, other.sequence, other.count, other.x, other.y,
        )  # fmt: skip
    assert list(store.records(STREAM)) == stored[:3]
    assert list(store.records("quiet")) == stored[3:]
    assert [store.position(STREAM), store.position("quiet")] == [6, 4]
    assert store.producer_next(STREAM, "tower") == 4
    assert store.producer_next(STREAM, "radar") == 2
    assert store.producer_next("quiet", "radar") == 0


def test_records_one_by_one_are_those_of_a_batch(tmp_path: Path) -> None:
    new = [new_record(0, 3), new_record(0, 1, "radar"), new_record(3, 1), new_record(1, 2, "radar")]
    one = make_store(tmp_path / "one", [STREAM])
    other = copy_store(one, tmp_path / "other")
    with Store.open(one) as lone, Store.open(other) as joint:
        assert [record for each in new for record in lone.append([each])] == joint.append(new)
        # The producers have the same numbers, and new ones follow them.
        new = [new_record(0, 1, "third"), new_record(4, 1)]
        assert lone.append(new) == [record for each in new for record in joint.append([each])]
        assert contents(lone) == contents(joint)
    for path in (one, other):
        assert verify(path).sound


def test_a_refused_record_changes_nothing(store: Store, path: Path) -> None:
    feed(store, [2])
    before = contents(store)
    good = new_record(2, 1)
    for wrong, sentence in (
        (new_record(1, 1), "is at 2, not at 1"),
        (new_record(3, 1), "is at 2, not at 3"),
        (new_record(1, 1, "radar"), "is at 0, not at 1"),
        (replace(good, y=b""), "do not fit its count"),
        (replace(good, users=bytes(16)), "users"),
    ):
        with pytest.raises(ValueError, match=sentence):
            store.append([wrong])
    with pytest.raises(KeyError):
        store.append([new_record(0, 1, stream="nowhere")])
    assert contents(store) == before
    store.append([good])
    store.close()
    assert verify(path).sound


def test_a_refused_batch_changes_nothing(store: Store, path: Path) -> None:
    feed(store, [2])
    before = contents(store)
    with pytest.raises(ValueError, match="is at 3, not at 2"):
        store.append([new_record(2, 1), new_record(0, 1, "radar"), new_record(2, 1)])
    with pytest.raises(KeyError):
        store.append([new_record(2, 1), new_record(0, 1, stream="nowhere")])
    assert contents(store) == before
    feed(store, [1], "radar")
    feed(store, [1])
    store.close()
    assert verify(path).sound


def test_everything_is_there_after_reopening(store: Store, path: Path) -> None:
    fill(store)
    before = contents(store)
    facts = (store.instance, store.noise_key)
    assert store.snapshot(STREAM) == (1, b"state after record 1")
    store.close()
    with Store.open(path) as again:
        assert contents(again) == before
        assert (again.instance, again.noise_key) == facts
        assert again.snapshot(STREAM) == (1, b"state after record 1")
        feed(again, [2, 2])
        feed(again, [1], "new")
        again.charge(entry(3, position=14))
        again.publish([release(3, charge=3)], ())
    assert verify(path).sound


@pytest.mark.in_a_folder
def test_the_key_is_in_no_other_file(store: Store, path: Path) -> None:
    fill(store)
    key = store.noise_key
    assert (path / "noise.key").read_bytes() == key.hex().encode() + b"\n"
    store.close()
    for name in ("store.sqlite", "high-water-mark", "lock"):
        data = (path / name).read_bytes()
        assert key not in data
        assert key.hex().encode() not in data


def test_configuration_and_plans_keep_their_order(tmp_path: Path) -> None:
    configuration = {"z": {"b": 1, "a": [True, None, "é"]}, "a": 0.5}
    plans = {"zulu": plan_values(learners=["z", "a"]), "alpha": plan_values()}
    Store.create(tmp_path / "store", configuration, plans)
    with Store.open(tmp_path / "store") as store:
        assert repr(store.configuration) == repr(configuration)
        assert repr(store.plans) == repr(plans)


@pytest.mark.in_a_folder
def test_an_empty_append_is_a_commit_all_the_same(store: Store, path: Path) -> None:
    log = path / "store.sqlite-wal"
    sizes = []
    for _ in range(3):
        assert store.append(()) == []
        sizes.append(log.stat().st_size)
    assert sizes[0] > 0
    assert sizes == sorted(set(sizes)), "each one must reach the disk"


@pytest.mark.in_a_folder
def test_a_lone_record_takes_one_write_and_one_sync(path: Path) -> None:
    """Whoever waits for each acknowledgement waits for no more, and for no less."""
    happened: list[str] = []
    disk = HookedDisk("counting", lambda what, _: happened.append(what))
    try:
        with Store.open(path, vfs="counting") as store:
            for count in (2, 5, 1):  # the tail and the mark are there
                feed(store, [count])
            happened.clear()
            for _ in range(20):
                feed(store, [1])
                assert happened == ["write", "sync"]
                happened.clear()
    finally:
        disk.unregister()


def test_few_producers_are_remembered_and_all_are_known(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.store.STORE_PRODUCERS_IN_MEMORY_MAX", 3)
    for round_ in range(3):
        for number in range(10):
            feed(store, [number + 1], f"producer {number}")
            assert len(store._producers) <= 3
        found = [store.producer_next(STREAM, f"producer {number}") for number in range(10)]
        assert found == [(round_ + 1) * (number + 1) for number in range(10)]
    store.append([new_record(3 * (number + 1), 1, f"producer {number}") for number in range(10)])
    store.close()
    assert verify(path).sound


def test_readers_on_other_threads_see_whole_commits(store: Store) -> None:
    wrong: list[Any] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            acknowledged = store.position(STREAM)
            records = list(store.records(STREAM))
            stored = sum(each.count for each in records)
            if (
                len(records) % 3
                or stored < acknowledged
                or store.producer_next(STREAM, "tower") % 6
            ):
                wrong.append((len(records), stored, acknowledged))
            charges = [each.charge for each in store.releases(LEARNER)]
            if len(store.ledger(STREAM)) < len(charges):
                wrong.append(charges)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(80):
        feed(store, [1, 2, 3])
        if number < 10:
            store.publish([release(number + 1, charge=number)], [entry(number)])
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- charges and releases -------------------------------------------------------------------------


def test_a_repeated_charge_or_release_is_accepted_silently(store: Store, path: Path) -> None:
    fill(store)
    before = contents(store)
    mark = (path / "high-water-mark").stat()
    fill_again: list[Callable[[], None]] = [
        lambda: store.publish([release(1), release(1, learner="flights/early")], [entry(0)]),
        lambda: store.charge(entry(1, position=4)),
        lambda: store.publish([release(2, charge=1, threshold=9)], ()),
        lambda: store.publish((), ()),
    ]
    for again in fill_again:
        again()
    assert contents(store) == before
    assert (path / "high-water-mark").stat() == mark, "nothing new was written"


def test_the_latest_releases_are_read_without_the_others(store: Store, path: Path) -> None:
    every = [release(version) for version in range(1, 8)]
    assert store.latest_releases(LEARNER, 3) == []
    store.publish(every, ())
    assert store.latest_releases(LEARNER, 3) == every[-3:]
    assert store.latest_releases(LEARNER, 7) == store.latest_releases(LEARNER, 99) == every
    store.close()
    change(path / "store.sqlite", "UPDATE releases SET body = x'80' WHERE version = 4")
    with Store.open(path) as again:
        assert again.latest_releases(LEARNER, 3) == every[-3:]
        with pytest.raises(StoreDamaged, match="at version 4: put back a backup"):
            again.latest_releases(LEARNER, 4)


def test_releases_and_entries_are_stored_together_or_not_at_all(store: Store, path: Path) -> None:
    with pytest.raises(StoreDamaged, match="came where entry 1 is due"):
        store.publish([release(1)], [entry(0), entry(2)])
    store.close()
    with Store.open(path) as again:
        assert again.ledger(STREAM) == []
        assert again.releases(LEARNER) == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda store: store.charge(entry(0, rate=RATE / 2)),
        lambda store: store.charge(entry(5)),
        lambda store: store.publish([release(1, threshold=8)], ()),
        lambda store: store.publish([release(5)], ()),
    ],
)
def test_a_replay_that_comes_to_something_else_ends_everything(
    store: Store, path: Path, wrong: Callable[[Store], None]
) -> None:
    fill(store)
    before = contents(store)
    with pytest.raises(StoreDamaged, match="replay mismatch"):
        wrong(store)
    for call in (
        lambda: store.append(()),
        lambda: store.charge(entry(3)),
        lambda: store.publish((), ()),
        lambda: store.save_snapshot(STREAM, 0, b""),
        lambda: store.position(STREAM),
        lambda: store.producer_next(STREAM, "tower"),
        lambda: store.releases(LEARNER),
        lambda: store.ledger(STREAM),
        lambda: store.snapshot(STREAM),
        lambda: list(store.records(STREAM)),
    ):
        with pytest.raises(StoreFailed, match=r"takes no more calls: replay mismatch"):
            call()
    store.close()
    with Store.open(path) as again:
        assert contents(again) == before


def test_the_mark_is_ahead_of_nobody_and_behind_no_publication(store: Store, path: Path) -> None:
    feed(store, [3])
    store.charge(entry(0, position=2))
    mark = read_mark(path / "high-water-mark")
    stream = mark.streams[STREAM]
    assert (stream.journal.number, stream.position, stream.ledger.number) == (0, 3, 0)
    assert (stream.season, stream.spent.epsilon_pure) == (0, RATE)
    assert mark.releases == {}
    store.publish([release(1, charge=0)], ())
    assert read_mark(path / "high-water-mark").releases[LEARNER].number == 1
    feed(store, [1])
    assert read_mark(path / "high-water-mark").streams[STREAM].journal.number == 0
    store.close()
    assert read_mark(path / "high-water-mark").streams[STREAM].journal.number == 1


def test_a_mark_that_cannot_be_advanced_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "marks"
    folder.mkdir()
    path = make_store(tmp_path / "store", mark_path=folder / "mark")
    store = Store.open(path, mark_path=folder / "mark")
    shutil.rmtree(folder)
    with pytest.raises(StoreFailed, match="the high-water mark cannot be advanced: No such file"):
        store.charge(entry(0))
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append(())
    store.close()


# --- snapshots ------------------------------------------------------------------------------------


def test_the_newest_snapshots_are_kept(store: Store) -> None:
    store.save_snapshot(STREAM, -1, b"before anything")
    assert store.snapshot(STREAM) == (-1, b"before anything")
    feed(store, [1] * 9)
    for number in (3, 5, 8, 8):
        store.save_snapshot(STREAM, number, b"state %d" % number)
    assert store.snapshot(STREAM) == (8, b"state 8")
    with store._readers.lend() as connection:
        kept = connection.execute("SELECT record_number FROM snapshots").fetchall()
    assert sorted(kept) == [(5,), (8,)]


def test_a_snapshot_leaves_none_of_later_records(store: Store) -> None:
    feed(store, [1] * 9)
    for number in (5, 8, 3):
        store.save_snapshot(STREAM, number, b"state %d" % number)
    assert list(store.snapshots(STREAM)) == [(3, b"state 3")]
    store.save_snapshot(STREAM, 4, b"state 4")
    assert list(store.snapshots(STREAM)) == [(4, b"state 4"), (3, b"state 3")]


def test_a_snapshot_needs_its_record(store: Store) -> None:
    feed(store, [1])
    with pytest.raises(ValueError, match="no record 1"):
        store.save_snapshot(STREAM, 1, b"")
    feed(store, [1])
    store.save_snapshot(STREAM, 1, b"state")


# --- opening --------------------------------------------------------------------------------------


@pytest.mark.in_a_folder
def test_no_store_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(
            StoreRefused, match=r"there is no store in .*: make one with littled init"
        ):
            Store.open(path)
    assert not any(tmp_path.iterdir())


def test_a_store_has_one_owner_and_any_number_of_readers(store: Store, path: Path) -> None:
    with pytest.raises(StoreRefused, match=r"process (has opened|serves) the store"):
        Store.open(path)
    feed(store, [2, 3])
    with Store.open(path, read_only=True) as one, Store.open(path, read_only=True) as other:
        assert one.position(STREAM) == other.position(STREAM) == 5
        feed(store, [1])
        store.publish([release(1)], [entry(0)])
        assert contents(one) == contents(store)
        with pytest.raises(StoreRefused, match="opened to be read only"):
            one.append(())
        with pytest.raises(StoreRefused, match="opened to be read only"):
            one.charge(entry(1))
    store.close()
    Store.open(path).close()


READER = """
import sys
from support.stores import STREAM
from littled.store.store import Store
from littled.store.verify import verify
assert verify(sys.argv[1]).findings == ()
with Store.open(sys.argv[1], read_only=True) as store:
    print(sum(record.count for record in store.records(STREAM)), store.position(STREAM))
"""


@pytest.mark.in_a_folder
def test_another_process_reads_what_is_committed(store: Store, path: Path) -> None:
    for total in (5, 7):
        feed(store, [total - store.position(STREAM)])
        store.charge(entry(len(store.ledger(STREAM))))
        ended = subprocess.run(
            [sys.executable, "-c", READER, path],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout == f"{total} {total}\n"


@pytest.mark.in_a_folder
def test_reading_needs_no_lock_and_leaves_nothing_different(path: Path) -> None:
    mark = (path / "high-water-mark").read_bytes()
    (path / "lock").unlink()
    with Store.open(path, read_only=True) as store:
        assert store.position(STREAM) == 0
    assert not (path / "lock").exists()
    assert (path / "high-water-mark").read_bytes() == mark


def test_a_closed_store_says_so_and_closes_again(store: Store) -> None:
    store.close()
    with pytest.raises(StoreFailed, match="the store is closed"):
        store.append(())
    with pytest.raises(StoreFailed, match="the store is closed"):
        list(store.records(STREAM))
    store.close()


@pytest.mark.in_a_folder
def test_closing_puts_everything_into_one_file(store: Store, path: Path) -> None:
    fill(store)
    store.close()
    assert {each.name for each in path.iterdir()} == {
        "store.sqlite", "noise.key", "high-water-mark", "lock",
    }  # fmt: skip


@pytest.mark.in_a_folder
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: (path / "noise.key").unlink(), "noise key .* is missing: put it back"),
        (lambda path: (path / "noise.key").write_text("ab" * 32), "belongs to another store"),
        (lambda path: (path / "noise.key").chmod(0o644), "chmod 600"),
        (lambda path: (path / "store.sqlite").chmod(0o640), "chmod 600"),
        (lambda path: (path / "high-water-mark").unlink(), "mark .* is missing: put it back"),
        (lambda path: (path / "high-water-mark").write_bytes(b""), "mark .* is damaged"),
        (lambda path: (path / "store.sqlite").write_bytes(b"text" * 5000), "put back a backup"),
        (lambda path: os.truncate(path / "store.sqlite", 16384), "put back a backup"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_not_whole_is_refused_with_a_sentence(
    path: Path, spoil: Callable[[Path], None], sentence: str, read_only: bool
) -> None:
    spoil(path)
    with pytest.raises(StoreRefused, match=sentence) as caught:
        Store.open(path, read_only=read_only)
    assert "ab" * 32 not in str(caught.value)
    lock_is_free(path)


def lock_is_free(path: Path) -> None:
    """A refusal must not leave the store locked by this very process."""
    with pytest.raises(StoreRefused) as caught:
        Store.open(path)
    assert "already" not in str(caught.value)


def test_a_foreign_key_is_told_however_well_formed(path: Path, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other")
    shutil.copy(other / "noise.key", path / "noise.key")
    with pytest.raises(StoreRefused, match="belongs to another store: put back the key"):
        Store.open(path)


def test_a_foreign_mark_is_told(path: Path, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other")
    shutil.copy(other / "high-water-mark", path / "high-water-mark")
    with pytest.raises(StoreRefused, match="mark belongs to another store"):
        Store.open(path)


@pytest.mark.in_a_folder
@pytest.mark.parametrize("read_only", [False, True])
def test_every_older_copy_is_behind_its_mark(tmp_path: Path, read_only: bool) -> None:
    """Rolled back to any earlier moment, with the mark of the last one: refused each time."""
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    copies: list[Path] = []

    def copy() -> None:
        copies.append(tmp_path / f"copy {len(copies)}")
        copy_store(path, copies[-1])

    copy()
    for number in range(6):
        with Store.open(path, mark_path=mark) as store:
            if number % 3 == 0:
                feed(store, [2])
            elif number % 3 == 1:
                store.charge(entry(number // 3))
            else:
                store.publish([release(number // 3 + 1)], ())
        copy()
    for each in copies[:-1]:
        with pytest.raises(
            StoreRefused, match=r"behind its high-water mark: .* Put back the newest"
        ):
            Store.open(each, mark_path=mark, read_only=read_only)
        assert any(
            "high-water mark" in finding for finding in verify(each, mark_path=mark).findings
        )
    Store.open(copies[-1], mark_path=mark, read_only=read_only).close()


@pytest.mark.in_a_folder
def test_a_fork_draws_other_noise_and_is_behind_the_mark_of_the_first(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    fork = tmp_path / "fork"
    copy_store(path, fork)
    oldest = mark.read_bytes()
    with Store.open(path, mark_path=mark) as store:
        feed(store, [1], "one")
        head = next(store.records(STREAM)).chain_head
    newest = mark.read_bytes()
    mark.write_bytes(oldest)  # as somebody would who puts everything back
    with Store.open(fork, mark_path=mark) as store:
        feed(store, [1, 1], "other")
        assert next(store.records(STREAM)).chain_head != head
    mark.write_bytes(newest)
    with pytest.raises(StoreRefused, match="record 0 of flights"):
        Store.open(fork, mark_path=mark)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_break_after_the_last_snapshot_is_found_at_the_opening(
    store: Store, path: Path, snapshot: bool
) -> None:
    feed(store, [1, 2, 3])
    if snapshot:
        store.save_snapshot(STREAM, 1, b"state")
    store.close()
    change(path / "store.sqlite", "UPDATE records SET x = ? WHERE count = 3", (bytes(24),))
    with pytest.raises(
        StoreRefused, match="is damaged: the journal of flights is damaged at record 2"
    ):
        Store.open(path)
    with Store.open(path, read_only=True) as reader:
        with pytest.raises(StoreDamaged, match="at record 2"):
            list(reader.records(STREAM))
        with pytest.raises(StoreFailed, match="takes no more calls"):
            reader.position(STREAM)


def test_a_mark_that_a_crash_left_behind_is_caught_up(store: Store, path: Path) -> None:
    fill(store)
    old = (path / "high-water-mark").read_bytes()
    feed(store, [1])
    store.charge(entry(3, position=14))
    store.close()
    newest = read_mark(path / "high-water-mark")
    (path / "high-water-mark").write_bytes(old)
    with Store.open(path):
        caught_up = read_mark(path / "high-water-mark")
        assert caught_up.releases == newest.releases
        stream, wanted = caught_up.streams[STREAM], newest.streams[STREAM]
        assert replace(stream, numbers=wanted.numbers) == wanted
    assert read_mark(path / "high-water-mark") == newest


# --- against a model ------------------------------------------------------------------------------

ACTIONS = st.one_of(
    st.tuples(
        st.just("append"),
        st.lists(st.tuples(st.sampled_from(["tower", "radar"]), st.integers(1, 4)), max_size=4),
    ),
    st.tuples(st.just("charge"), st.integers(1, 4)),
    st.tuples(st.just("publish"), st.booleans()),
    st.tuples(st.just("repeat"), st.none()),
    st.tuples(st.just("snapshot"), st.binary(max_size=4)),
    st.tuples(st.just("reopen"), st.none()),
)


@pytest.mark.long
@settings(max_examples=25)
@given(st.lists(ACTIONS, min_size=1, max_size=14))
def test_a_store_is_what_was_put_into_it(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, Any]]
) -> None:
    path = make_store(tmp_path_factory.mktemp("model") / "store")
    store = Store.open(path)
    examples: list[tuple[str, int, int]] = []
    entries: list[Any] = []
    releases: list[StoredRelease] = []
    newest: tuple[int, bytes] | None = None
    following = {"tower": 0, "radar": 0}
    for action, value in actions:
        if action == "append":
            new = []
            for producer, count in value:
                new.append(new_record(following[producer], count, producer))
                examples.append((producer, following[producer], count))
                following[producer] += count
            store.append(new)
        elif action == "charge":
            entries.append(entry(len(entries), rate=RATE * value / 64))
            store.charge(entries[-1])
        elif action == "publish":
            charge = len(entries) - 1 if value and entries else None
            releases.append(release(len(releases) + 1, charge=charge, threshold=len(releases)))
            store.publish([releases[-1]], ())
        elif action == "repeat":
            store.publish(releases, entries)
        elif action == "snapshot" and (newest is None or len(examples) - 1 >= newest[0]):
            newest = len(examples) - 1, value
            store.save_snapshot(STREAM, *newest)
        elif action == "reopen":
            store.close()
            store = Store.open(path)
        records = list(store.records(STREAM))
        assert [(each.producer, each.sequence, each.count) for each in records] == examples
        assert store.ledger(STREAM) == entries
        assert store.releases(LEARNER) == releases
        assert store.snapshot(STREAM) == newest
        assert {name: store.producer_next(STREAM, name) for name in following} == following
        assert store.position(STREAM) == sum(each[2] for each in examples)
    store.close()
    assert [each for each in verify(path).findings if "paid for another" not in each] == []


def test_nobody_is_shown_what_the_mark_does_not_have_yet(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other connections see a commit at once, before it is known that it will stay."""
    store.publish([release(1)], [entry(0), paid(1)])
    feed(store, [1])
    reached, go_on = threading.Event(), threading.Event()
    real = FileRegister.replace

    def replace(register: FileRegister, *arguments: Any) -> Any:
        reached.set()
        assert go_on.wait(20)
        return real(register, *arguments)

    monkeypatch.setattr(FileRegister, "replace", replace)
    for doing, look in (
        (lambda: store.publish([release(2)], ()), lambda: store.releases(LEARNER, 1)),
        (lambda: answer(store, 7), lambda: store.prediction(NEAR, (7).to_bytes(16, "big"))),
    ):
        reached.clear()
        go_on.clear()
        shown: list[Any] = []
        changing = threading.Thread(target=doing)
        changing.start()
        assert reached.wait(20)
        looking = threading.Thread(target=lambda look=look, shown=shown: shown.append(look()))
        looking.start()
        looking.join(0.2)
        assert not shown
        go_on.set()
        looking.join(20)
        changing.join(20)
        assert len(shown) == 1
        assert shown[0]
