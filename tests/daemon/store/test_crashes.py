"""What was acknowledged is there after the process or the power went away at any moment."""

import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.budget.ledger import without_answers
from littled.store.store import Store
from littled.store.verify import verify
from support.disks import ForgetfulDisk
from support.segments import small_segments
from support.stores import (
    LEARNER,
    RATE,
    STREAM,
    answer,
    entry,
    make_store,
    new_record,
    paid,
    release,
)

KINDS = ("append", "charge", "publish", "snapshot", "question")
Done = dict[str, int]
"""How many records, charges, releases, snapshots and answered questions there are."""


def work(store: Store) -> Iterator[str]:
    """Do one thing after the other for ever, from where the store is; yield what is durable.

    Old records are packed in between, which nobody is told.
    """
    records = sum(1 for _ in store.records(STREAM))
    charges, releases = len(without_answers(store.ledger(STREAM))), len(store.releases(LEARNER))
    questions = len(list(store.predictions(STREAM)))
    if not charges:
        store.charge(paid(0))
        charges = 1
        yield "charge"
    for step in itertools.count():
        store.pack()
        match KINDS[(0, 3, 1, 4, 2, 0, 4, 0)[step % 8]]:
            case "append":
                for _ in range(1 + step % 4):
                    producer = ("tower", "radar")[records % 2]
                    count = 1 + records % 7
                    sequence = store.producer_next(STREAM, producer)
                    store.append([new_record(sequence, count, producer)])
                    records += 1
                    yield "append"
            case "charge":
                store.charge(entry(charges, rate=RATE / 4096))
                charges += 1
                yield "charge"
            case "publish":
                store.publish([release(releases + 1, threshold=releases % 250)], ())
                releases += 1
                yield "publish"
            case "snapshot":
                store.save_snapshot(STREAM, records - 1, b"after %d" % (records - 1))
                yield "snapshot"
            case "question":
                answer(store, questions, window=questions % records)
                questions += 1
                yield "question"


def check(path: Path, done: Done) -> Done:
    """Open what is left; it has all that was done, at most one thing more, and is sound."""
    with Store.open(path) as store:
        following = {"tower": 0, "radar": 0}
        position = 0
        found = dict.fromkeys(KINDS, 0)
        for number, record in enumerate(store.records(STREAM)):
            assert record.producer == ("tower", "radar")[number % 2]
            new = new_record(following[record.producer], 1 + number % 7, record.producer)
            assert (record.sequence, record.x, record.y) == (new.sequence, new.x, new.y)
            assert record.first_position == position
            following[record.producer] += record.count
            position += record.count
            found["append"] += 1
        assert store.position(STREAM) == position
        assert {name: store.producer_next(STREAM, name) for name in following} == following
        found["charge"] = len(without_answers(store.ledger(STREAM)))
        found["publish"] = len(store.releases(LEARNER))
        questions = list(store.predictions(STREAM))
        assert [int.from_bytes(each.request) for each in questions] == list(range(len(questions)))
        found["question"] = len(questions)
        snapshot = store.snapshot(STREAM)
        assert (snapshot is not None) or not done["snapshot"]
        assert snapshot is None or snapshot[1] == b"after %d" % snapshot[0]
        counted = ("append", "charge", "publish", "question")
        more = {kind: found[kind] - done[kind] for kind in counted}
        assert min(more.values()) >= 0, "something acknowledged is lost"
        assert sum(more.values()) <= 1, "something is there that nobody asked for"
    assert verify(path).findings == ()
    return found | {"snapshot": done["snapshot"]}


# --- processes that are killed --------------------------------------------------------------------


def work_until_killed(path: Path, acknowledged: int) -> None:
    """In a forked child: say one letter for each thing that is durable."""
    try:
        for kind in work(Store.open(path)):
            os.write(acknowledged, kind[:1].encode())
    finally:
        os._exit(1)


def kill_once(path: Path, done: Done, letters_first: int, seconds: float) -> Done:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        work_until_killed(path, writing)
    os.close(writing)
    first = b"".join(os.read(reading, 1) for _ in range(letters_first))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"
    with os.fdopen(reading, "rb") as pipe:
        letters = first + pipe.read()
    counts = {kind: done[kind] + letters.count(kind[:1].encode()) for kind in KINDS}
    return check(path, counts)


def kill_again_and_again(path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> Done:
    monkeypatch.setattr("littled.store.database.STORE_CHECKPOINT_BYTES", 1 << 18)
    small_segments(monkeypatch, records=3)
    chance = random.Random(11)
    done = dict.fromkeys(KINDS, 0)
    for _ in range(times):
        # by what was done and not by the clock: a machine may be busy
        done = kill_once(path, done, chance.randrange(1, 16), chance.expovariate(1 / 0.005))
    return done


def test_a_killed_daemon_has_what_it_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = kill_again_and_again(make_store(tmp_path / "store"), 25, monkeypatch)
    assert min(done.values()) > 0


@pytest.mark.campaign
def test_a_daemon_killed_a_thousand_times_has_what_it_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        kill_again_and_again(make_store(tmp_path / f"store {number}"), 25, monkeypatch)


# --- power that goes away -------------------------------------------------------------------------


def cut_power(tmp_path: Path, seed: int, steps: int, share: float) -> int:
    """Work on a disk that forgets; check what is left at a share of all its events; count them."""
    chance = random.Random(seed)
    path = make_store(tmp_path / "store")
    done = dict.fromkeys(KINDS, 0)
    left: list[tuple[Path, Done]] = []
    disk: ForgetfulDisk | None = None

    def happened(_kind: str, _path: str) -> None:
        if disk is None or chance.random() >= share:
            return
        folder = tmp_path / f"left {len(left)}"
        folder.mkdir()
        for name in ("noise.key", "high-water-mark"):
            shutil.copy(path / name, folder / name)
        for name, contents in disk.after_power_cut(chance).items():
            (folder / name).write_bytes(contents)
            (folder / name).chmod(0o600)
        left.append((folder, dict(done)))

    disk = ForgetfulDisk(f"forgetful-{seed}", path, happened)
    with Store.open(path, vfs=disk.name) as store:
        for kind in itertools.islice(work(store), steps):
            done[kind] += 1
    disk.unregister()
    for folder, known in left:
        check(folder, known)
        shutil.rmtree(folder)
    shutil.rmtree(path)
    return len(left)


def test_a_power_cut_takes_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.database.STORE_CHECKPOINT_BYTES", 1 << 17)
    small_segments(monkeypatch, records=3)
    assert cut_power(tmp_path, seed=1, steps=60, share=0.25) > 50


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 42))
def test_many_power_cuts_take_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("littled.store.database.STORE_CHECKPOINT_BYTES", 1 << 17)
    small_segments(monkeypatch, records=3)
    assert cut_power(tmp_path, seed, steps=300, share=0.2) > 200


def test_the_forgetful_disk_would_notice_a_missing_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run without syncs loses what was acknowledged, so the test above can fail."""
    monkeypatch.setattr(ForgetfulDisk, "synced", lambda *_: None)
    with pytest.raises(Exception, match=r"lost|behind|damaged|None"):
        cut_power(tmp_path, seed=1, steps=60, share=0.25)
