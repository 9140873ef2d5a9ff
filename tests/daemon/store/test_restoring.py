"""Restoring: a copy goes on, and nothing of what was lost is used a second time."""

import os
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.events import RestoredSeason
from littled.budget.price import Price
from littled.cli.replaying import compare_stream
from littled.limits import MARK_PRODUCERS_MAX
from littled.mechanisms.noise import Address, KeyedNoise
from littled.store.errors import StoreRefused
from littled.store.records import NewRecord
from littled.store.register import FileRegister
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.codec import decode
from littled_protocol.messages import Prediction, PredictionRefused, Release
from support.marks import read_mark, write_mark
from support.predictions import HORIZON, STREAM, Bench, examples, make_store
from support.stores import copy_store

pytestmark = pytest.mark.usefixtures("any_database")

LATE = f"{STREAM}/late"
NEAR = f"{STREAM}/near"


class RecordedNoise(KeyedNoise):
    """The real noise; remembers every address that was read."""

    addresses: ClassVar[set[bytes]] = set()

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        self.addresses.add(address.to_bytes())
        return super().words(address, count, offset)


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.predictions.KeyedNoise", RecordedNoise)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Where the mark of the stores of a test is; no backup holds it."""
    return tmp_path / "mark"


@pytest.fixture
def path(tmp_path: Path, mark: Path) -> Path:
    """A new store."""
    return make_store(tmp_path / "store", mark_path=mark)


def bench(path: Path, mark: Path) -> Bench:
    return Bench(Store.open(path, mark_path=mark))


def noisy(count: int, seed: int) -> tuple[bytes, bytes]:
    """Examples of which so many contradict every rule that the trigger fires."""
    x, _ = examples(count, seed)
    return x, bytes(np.random.default_rng(seed + 1).integers(0, 2, count, dtype=np.uint8))


def feed(opened: Bench, count: int, seed: int, producer: str = "p") -> None:
    """Append examples that some rules err on, and learn them."""
    sequence = opened.store.producer_next(STREAM, producer)
    x, y = noisy(count, seed)
    opened.records += opened.store.append([NewRecord(STREAM, producer, sequence, count, x, y)])
    opened.position += count
    opened.catch_up(-1)


def live(path: Path, mark: Path, seed: int, *, counts: tuple[int, ...] = (60, 70)) -> None:
    """Feed, answer and close: part of a season or some of them."""
    opened = bench(path, mark)
    for number, count in enumerate(counts):
        feed(opened, count, 100 * seed + number)
        opened.ask(1000 * seed + number)
    opened.close()


def backup(path: Path, to: Path) -> Path:
    return copy_store(path, to)


def restored(path: Path, mark: Path, *, copy: bool = False) -> Restoring:
    with Restoring.open(path, mark_path=mark, copy=copy) as found:
        found.finish()
    return found


def is_sound(path: Path, mark: Path) -> None:
    assert verify(path, mark_path=mark).findings == ()
    with Store.open(path, mark_path=mark, read_only=True) as store:
        compared = compare_stream(store, STREAM)
    assert (compared.findings, compared.pending) == ((), 0)


def spent(path: Path, mark: Path, season: int) -> Price:
    with Store.open(path, mark_path=mark, read_only=True) as store:
        own = [e.price for e in store.ledger(STREAM) if e.window is None and e.season == season]
    return sum(own, Price.zero())


def versions(path: Path, mark: Path) -> list[int]:
    with Store.open(path, mark_path=mark, read_only=True) as store:
        return [each.version for each in store.releases(LATE)]


# --- what a restore does --------------------------------------------------------------------------


@pytest.mark.long
def test_a_copy_goes_on_above_all_that_was_lost(path: Path, mark: Path, tmp_path: Path) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2)
    lost_versions, had = versions(path, mark), read_mark(mark).streams[STREAM]
    with pytest.raises(StoreRefused, match="may only go on by littled restore"):
        Store.open(copy, mark_path=mark)
    found = restored(copy, mark)
    (lost,) = found.lost
    assert (lost.position, lost.marked.position, lost.next_position) == (130, 260, HORIZON)
    assert (lost.season, lost.marked.season, lost.next_season) == (0, 0, 1)
    assert lost.counted == had.spent
    # still before a daemon has started: sound, and the restore is shown
    assert verify(copy, mark_path=mark).findings == ()
    (event,) = verify(copy, mark_path=mark).streams[0].restored
    assert (event.position, event.season, event.counted) == (HORIZON, None, None)
    live(copy, mark, 3)
    is_sound(copy, mark)
    (event,) = verify(copy, mark_path=mark).streams[0].restored
    assert (event.position, event.season, event.counted) == (HORIZON, 0, had.spent)
    assert spent(copy, mark, 0) == had.spent
    now = versions(copy, mark)
    known = [each for each in now if each in lost_versions]
    assert known == lost_versions[: len(known)]
    assert len(known) < len(lost_versions)
    assert now[len(known)] == lost_versions[-1] + 1
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        assert store.instance == found.instance
        closing = [e for e in store.ledger(STREAM) if e.event["type"] == RestoredSeason.name]
        assert [(e.season, e.learner, e.window) for e in closing] == [(0, None, None)]
        after = store.ledger(STREAM)[closing[0].number + 1 :]
        assert {each.season for each in after} == {1}
        release = decode(store.releases(LATE, lost_versions[-1])[0].body)
    assert isinstance(release, Release)
    assert (release.kind, release.season, release.position) == ("season", 1, HORIZON)


def test_a_subscriber_with_a_lost_version_misses_nothing(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    live(path, mark, 1, counts=(30,))
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2, counts=(80, 80, 80))
    last = versions(path, mark)[-1]
    restored(copy, mark)
    live(copy, mark, 3)
    kept = [each for each in versions(copy, mark) if each < last]
    assert kept
    assert kept[-1] + 1 < last, "several versions have to be lost here"
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        for since in range(kept[-1], last + 1):
            assert store.releases(LATE, since)[0].version == last + 1
        assert store.releases(LATE, last + 1)[:1] != store.releases(LATE, last)[:1]


def test_lost_examples_are_not_learned_again(path: Path, mark: Path, tmp_path: Path) -> None:
    """Neither those of a producer that the copy knows nor those of one that it never saw."""
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    opened = bench(path, mark)
    feed(opened, 40, 7)
    feed(opened, 25, 8, producer="newcomer")
    opened.ask(5)
    opened.close()
    restored(copy, mark)
    with Store.open(copy, mark_path=mark) as store:
        # the store was closed well, so that its mark is exact
        assert store.producer_next(STREAM, "p") == 170
        assert store.producer_next(STREAM, "newcomer") == 25
        assert store.producer_next(STREAM, "somebody else") == 0
        with pytest.raises(ValueError, match="is at 170, not at 130"):
            store.append([NewRecord(STREAM, "p", 130, 1, b"\x05", b"\x00")])
    opened = bench(copy, mark)
    feed(opened, 10, 9)
    feed(opened, 10, 10, producer="newcomer")
    opened.close()
    is_sound(copy, mark)


def test_the_mark_is_ahead_of_every_acknowledgement(path: Path, mark: Path) -> None:
    """Also of a producer whose first examples were acknowledged a moment ago."""
    with Store.open(path, mark_path=mark) as store:
        chance = random.Random(5)
        following: dict[str, int] = {}
        for _ in range(300):
            name = f"p{chance.randrange(12)}"
            count = chance.choice((1, 1, 2, 300))
            x, y = examples(count)
            first = following.get(name, 0)
            store.append([NewRecord(STREAM, name, first, count, x, y)])
            following[name] = first + count
            numbers = read_mark(mark).streams[STREAM].numbers
            assert numbers is not None
            assert all(numbers.bound(each) >= sent for each, sent in following.items())
    numbers = read_mark(mark).streams[STREAM].numbers
    assert numbers is not None
    assert numbers.named == following, "after a good end the mark is exact"


@pytest.mark.parametrize(
    ("count", "pause", "marks"),
    [(1, 0.001, 2), (1, 1.0, 2), (100, 0.001, 2), (100, 1.0, 9), (100, 20.0, 84)],
)
def test_a_mark_goes_ahead_by_half_a_minute_of_examples(
    path: Path,
    mark: Path,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    pause: float,
    marks: int,
) -> None:
    """Each of its writes costs several commits; a restore may leave out what it is ahead."""
    clock, bounds = SimpleNamespace(), set()
    monkeypatch.setattr("littled.store.reserving.time", clock)
    with Store.open(path, mark_path=mark) as store:
        for number in range(280):
            clock.monotonic = lambda at=number * pause: at
            x, y = examples(count)
            store.append([NewRecord(STREAM, "p", number * count, count, x, y)])
            numbers = read_mark(mark).streams[STREAM].numbers
            assert numbers is not None
            ahead = numbers.bound("p") - (number + 1) * count
            assert 0 <= ahead <= max(256, 32 * count, 30 * count / pause)
            bounds.add(numbers.bound("p"))
    assert len(bounds) == marks


def test_more_producers_than_a_mark_names_share_a_number(
    path: Path, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MARK_PRODUCERS_MAX >= 100
    monkeypatch.setattr("littled.store.mark.MARK_PRODUCERS_MAX", 3)
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    opened = bench(path, mark)
    for number in range(6):
        feed(opened, 10 + number, number, producer=f"q{number}")
    opened.ask(5)
    opened.close()
    numbers = read_mark(mark).streams[STREAM].numbers
    assert numbers is not None
    assert list(numbers.named) == ["q3", "q4", "q5"]
    restored(copy, mark)
    with Store.open(copy, mark_path=mark) as store:
        following = {f"q{number}": 10 + number for number in range(6)} | {"p": 130}
        for name, sent in following.items():
            assert store.producer_next(STREAM, name) >= sent
        assert store.producer_next(STREAM, "never seen") == numbers.others >= 130
    opened = bench(copy, mark)
    feed(opened, 5, 30, producer="never seen")
    feed(opened, 5, 31, producer="q0")
    opened.close()
    is_sound(copy, mark)


def test_a_mark_from_before_there_were_numbers_leaves_out_what_may_be_lost(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2)
    early = read_mark(mark)
    streams = {name: replace(each, numbers=None) for name, each in early.streams.items()}
    write_mark(mark, replace(early, streams=streams))
    restored(copy, mark)
    with Store.open(copy, mark_path=mark) as store:
        assert store.producer_next(STREAM, "p") == 260
        assert store.producer_next(STREAM, "never seen") == 260
    live(copy, mark, 3)
    is_sound(copy, mark)


def test_windows_from_before_are_closed(path: Path, mark: Path, tmp_path: Path) -> None:
    """Also the one that was being filled: the lost history may have filled it and answered."""
    opened = bench(path, mark)
    opened.feed(130, seed=1)
    opened.close()
    copy = backup(path, tmp_path / "copy")
    opened = bench(path, mark)
    before = opened.answered(1)
    opened.close()
    restored(copy, mark)
    opened = bench(copy, mark)
    for number in (1, 2):
        refused = opened.refused(number)
        assert (refused.code, refused.left, refused.next_window) == ("window_spent", 0, 450)
    opened.feed(99, seed=2)
    assert opened.refused(3).code == "window_spent"
    opened.feed(1, seed=3)
    answer = opened.answered(1)
    assert (answer.window, answer.left, answer.repeated) == (3, 17, False)
    assert before.window == 0
    assert (opened.answered(1).y, opened.answered(1).repeated) == (answer.y, True)
    opened.close()
    is_sound(copy, mark)


def test_a_later_season_of_the_mark_closes_the_copy_s_with_all_its_caps(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2, counts=(200, 200, 200))
    assert read_mark(mark).streams[STREAM].season == 2
    (lost,) = restored(copy, mark).lost
    assert (lost.season, lost.next_season, lost.next_position) == (0, 3, 3 * HORIZON)
    live(copy, mark, 3)
    is_sound(copy, mark)
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        assert spent(copy, mark, 0) == Price.from_dict(store.plans[STREAM]["caps"])
        assert {each.season for each in store.ledger(STREAM)} == {0, 3}


def test_what_an_engine_has_still_to_learn_is_counted_by_examples(path: Path, mark: Path) -> None:
    """And not by positions, of which each restore has left some out."""
    for restores in range(3):
        live(path, mark, restores)
        if restores:
            restored(path, mark, copy=True)
    live(path, mark, 3, counts=(5,))
    with Store.open(path, mark_path=mark) as store:
        records = list(store.records(STREAM))
        assert sum(record.restores for record in records) == 2
        assert store.position(STREAM) > sum(record.count for record in records)
        for number in range(-1, len(records)):
            left = records[number + 1 :]
            examples = sum(record.count for record in left)
            assert store.behind(STREAM, number) == (len(left), examples)
        last = next(record for record in reversed(records) if record.restores)
        assert store.restored_position(STREAM) == last.first_position


@pytest.mark.in_a_folder
def test_what_the_copy_had_not_learned_yet_is_learned_first(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    """The same releases as in the lost history, from the same noise, and then the restore."""
    opened = bench(path, mark)
    x, y = noisy(130, 4)
    opened.store.append([NewRecord(STREAM, "p", 0, 130, x, y)])
    copy = tmp_path / "copy"
    copy.mkdir(mode=0o700)
    for name in ("store.sqlite", "store.sqlite-wal", "tail", "noise.key"):
        shutil.copy(path / name, copy / name)
    opened.close()
    live(path, mark, 5)
    with Store.open(path, mark_path=mark, read_only=True) as store:
        first = [each for each in store.releases(LATE) if decode(each.body).position <= 130]  # type: ignore[attr-defined]
    assert len(first) > 1
    restored(copy, mark)
    live(copy, mark, 6)
    is_sound(copy, mark)
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        assert store.releases(LATE)[: len(first)] == first


# --- again and again ------------------------------------------------------------------------------


@pytest.mark.in_a_folder
def test_a_restored_store_can_be_restored_again(path: Path, mark: Path, tmp_path: Path) -> None:
    """From a copy of the restored store, from the first copy once more, and from an older one."""
    oldest = backup(path, tmp_path / "oldest")
    live(path, mark, 1)
    first = backup(path, tmp_path / "first")
    live(path, mark, 2)
    restored(path_b := backup(first, tmp_path / "b"), mark)
    live(path_b, mark, 3)
    second = backup(path_b, tmp_path / "second")
    live(path_b, mark, 4)
    seasons, last = {1}, versions(path_b, mark)[-1]
    for number, copy in enumerate((second, first, oldest)):
        with pytest.raises(StoreRefused, match="behind its high-water mark"):
            Store.open(copy, mark_path=mark)
        (lost,) = restored(copy, mark).lost
        live(copy, mark, 10 + number)
        is_sound(copy, mark)
        assert lost.next_season not in seasons
        seasons.add(lost.next_season)
        assert min(each for each in versions(copy, mark) if each > last) == last + 1
        last = versions(copy, mark)[-1]


@pytest.mark.in_a_folder
def test_a_restore_that_was_never_served_is_no_way_back(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    """The mark carries on what the first restore had bounded, although nothing was released."""
    live(path, mark, 1)
    copies = [backup(path, tmp_path / f"copy {number}") for number in range(2)]
    live(path, mark, 2, counts=(80, 80, 80))
    last = versions(path, mark)[-1]
    restored(copies[0], mark)
    assert read_mark(mark).version(LATE) == last
    (lost,) = restored(copies[1], mark).lost
    assert lost.next_season == 3
    assert lost.marked.versions[LATE] == last
    live(copies[1], mark, 3)
    is_sound(copies[1], mark)
    assert next(each for each in versions(copies[1], mark) if each >= last) > last
    assert read_mark(mark).versions == {}


@pytest.mark.long
def test_an_older_mark_beside_a_restored_store_forgets_nothing(
    path: Path, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the versions that were lost nor how far any producer may have come."""
    monkeypatch.setattr("littled.store.mark.MARK_PRODUCERS_MAX", 3)
    live(path, mark, 1)
    copies = [backup(path, tmp_path / f"copy {number}") for number in range(2)]
    early = mark.read_bytes()
    opened = bench(path, mark)
    for number in range(6):
        feed(opened, 80 + number, number, producer=f"q{number}")
    opened.close()
    last, following = versions(path, mark)[-1], {f"q{number}": 80 + number for number in range(6)}
    restored(copies[0], mark)
    lost = read_mark(mark).streams[STREAM].numbers
    assert lost is not None
    # the mark from before the restore, and a kill before anything was released
    mark.write_bytes(early)
    findings = verify(copies[0], mark_path=mark).findings
    assert any("bounds new producers of s by 0, though they begin at" in each for each in findings)
    store = Store.open(copies[0], mark_path=mark)
    numbers, version = read_mark(mark).streams[STREAM].numbers, read_mark(mark).version(LATE)
    store._mark = lambda: read_mark(mark)  # type: ignore[method-assign]
    store.close()
    assert numbers is not None
    assert all(numbers.bound(name) >= sent for name, sent in following.items())
    assert numbers.others >= lost.others
    assert version == last
    assert verify(copies[0], mark_path=mark).findings == ()
    restored(copies[1], mark)
    with Store.open(copies[1], mark_path=mark) as store:
        assert all(store.producer_next(STREAM, name) >= sent for name, sent in following.items())
    live(copies[1], mark, 3)
    is_sound(copies[1], mark)
    assert next(each for each in versions(copies[1], mark) if each >= last) > last


@pytest.mark.long
def test_a_copy_of_a_restored_store_that_was_not_served_yet_makes_both_jumps(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    """What the first restore leads to has the version that it had; the second comes after it."""
    live(path, mark, 1)
    first = backup(path, tmp_path / "first")
    live(path, mark, 2)
    last = versions(path, mark)[-1]
    restored(first, mark)
    second = backup(first, tmp_path / "second")
    live(first, mark, 3)
    lost = {number: body_of(first, mark, number) for number in versions(first, mark)}
    (lost_again,) = restored(second, mark).lost
    live(second, mark, 4)
    is_sound(second, mark)
    found = versions(second, mark)
    again = last + 1
    assert again in found
    assert body_of(second, mark, again) == lost[again]
    following = lost_again.marked.versions[LATE] + 1
    assert found[found.index(again) + 1] == following == max(lost) + 1


def body_of(path: Path, mark: Path, version: int) -> bytes:
    """What a release of a learner says."""
    with Store.open(path, mark_path=mark, read_only=True) as store:
        return store.releases(LATE, version - 1)[0].body


@pytest.mark.in_a_folder
def test_an_older_mark_lets_no_producer_go_on_below_an_earlier_restore(
    path: Path, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.mark.MARK_PRODUCERS_MAX", 3)
    empty = backup(path, tmp_path / "empty")
    opened = bench(path, mark)
    feed(opened, 10, 1, producer="old")
    early = mark.read_bytes()
    named = read_mark(mark).streams[STREAM].numbers
    for number in range(8):
        feed(opened, 60, 2 + number, producer="old")
    for number in range(5):
        feed(opened, 80 + number, 20 + number, producer=f"q{number}")
    opened.close()
    numbers = read_mark(mark).streams[STREAM].numbers
    assert named is not None
    assert numbers is not None
    assert named.named["old"] < numbers.bound("old")
    assert "old" not in numbers.named
    restored(empty, mark)
    with Store.open(empty, mark_path=mark) as store:
        assert store.producer_next(STREAM, "old") == numbers.others >= 490
    mark.write_bytes(early)
    with pytest.raises(StoreRefused, match="behind its high-water mark"):
        Store.open(empty, mark_path=mark)
    restored(empty, mark)
    with Store.open(empty, mark_path=mark) as store:
        assert store.producer_next(STREAM, "old") >= numbers.others
    assert verify(empty, mark_path=mark).findings == ()


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.in_a_folder
def test_there_has_to_be_something_to_restore(path: Path, mark: Path) -> None:
    live(path, mark, 1)
    before = (path / "store.sqlite").read_bytes()
    with pytest.raises(StoreRefused, match=r"not behind its high-water mark.* say --copy"):
        Restoring.open(path, mark_path=mark)
    assert (path / "store.sqlite").read_bytes() == before
    restored(path, mark, copy=True)
    live(path, mark, 2)
    is_sound(path, mark)


@pytest.mark.in_a_folder
def test_a_restore_needs_the_newest_mark_and_a_sound_copy(
    path: Path, mark: Path, tmp_path: Path
) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2)
    other = tmp_path / "other mark"
    make_store(tmp_path / "other", mark_path=other)
    newest = mark.read_bytes()
    for wrong, sentence in (
        (tmp_path / "none", "is missing: put it back"),
        (other, "belongs to another store"),
    ):
        with pytest.raises(StoreRefused, match=sentence):
            Restoring.open(copy, mark_path=wrong)
    with pytest.raises(StoreRefused, match="there is no store in"):
        Restoring.open(tmp_path / "nowhere", mark_path=mark)
    with Store.open(path, mark_path=mark), pytest.raises(StoreRefused, match="this process has"):
        Restoring.open(path, mark_path=mark, copy=True)
    database = copy / "store.sqlite"
    data = bytearray(database.read_bytes())
    place = data.index(noisy(60, 100)[0])
    data[place] ^= 1
    database.write_bytes(data)
    with pytest.raises(StoreRefused, match=r"the copy in .* is damaged: the journal of s"):
        Restoring.open(copy, mark_path=mark)
    assert mark.read_bytes() == newest


@pytest.mark.in_a_folder
def test_looking_changes_nothing(path: Path, mark: Path, tmp_path: Path) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2)
    newest, database = mark.read_bytes(), (copy / "store.sqlite").read_bytes()
    with Restoring.open(copy, mark_path=mark) as found:
        assert found.lost
    assert (mark.read_bytes(), (copy / "store.sqlite").read_bytes()) == (newest, database)


# --- killed in the middle -------------------------------------------------------------------------


def killed_at(moment: str, copy: Path, mark: Path) -> None:
    """In a forked child: restore, and be killed at this moment."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(module: Any, name: str, *, after: bool) -> None:
        real = getattr(module, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if not after:
                die()
            found = real(*arguments, **options)
            die()
            return found

        setattr(module, name, call)

    from littled.store import files

    if moment == "inside the transaction":
        wrapped(Restoring, "_append", after=True)
    elif moment == "before the mark":
        wrapped(FileRegister, "claim", after=False)
    elif moment == "before the new mark has its name":
        wrapped(files, "_fill", after=True)
    else:
        wrapped(FileRegister, "claim", after=True)
    try:
        restored(copy, mark)
    finally:
        os._exit(0)


@pytest.mark.parametrize(
    "moment",
    [
        "inside the transaction",
        "before the mark",
        "before the new mark has its name",
        "at the end",
    ],
)
def test_a_kill_leaves_the_refused_copy_or_the_finished_one(
    path: Path, mark: Path, tmp_path: Path, moment: str
) -> None:
    live(path, mark, 1)
    copy = backup(path, tmp_path / "copy")
    live(path, mark, 2)
    child = os.fork()
    if not child:
        killed_at(moment, copy, mark)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child was not killed"
    if moment != "at the end":
        with pytest.raises(StoreRefused, match="may only go on by littled restore"):
            Store.open(copy, mark_path=mark)
        restored(copy, mark)
    live(copy, mark, 3)
    is_sound(copy, mark)
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        assert store.ledger(STREAM)[-1].season > 0


# --- forks ----------------------------------------------------------------------------------------


def drawn(path: Path, mark: Path, seed: int) -> tuple[set[bytes], list[Any]]:
    """Addresses of all noise of a store that goes on, and all that it gives out."""
    RecordedNoise.addresses = set()
    opened = bench(path, mark)
    given: list[Any] = []
    for number in range(12):
        feed(opened, 30, seed + number)
        answer = opened.ask(seed + number)
        given.append(answer.y if isinstance(answer, Prediction) else answer.code)
        assert isinstance(answer, Prediction | PredictionRefused)
    given += [each.body for each in opened.store.releases(LATE)]
    opened.close()
    return RecordedNoise.addresses, given


def forks(tmp_path: Path, seed: int, counts: tuple[int, ...]) -> Iterator[set[bytes]]:
    """What is drawn before a fork, and then by each way to go on from it."""
    mark = tmp_path / f"mark {seed}"
    path = make_store(tmp_path / f"store {seed}", mark_path=mark)
    RecordedNoise.addresses = set()
    live(path, mark, seed, counts=counts)
    yield RecordedNoise.addresses
    old_mark = Path(shutil.copy(mark, tmp_path / f"old mark {seed}"))
    copies = [backup(path, tmp_path / f"copy {seed} {number}") for number in range(4)]
    first, given = drawn(path, mark, 1000 * seed)
    yield first
    # the same again, with store and mark put back: the same history, so the same bytes
    same_mark = Path(shutil.copy(old_mark, tmp_path / f"same mark {seed}"))
    assert drawn(copies[0], same_mark, 1000 * seed) == (first, given)
    # other examples, with store and mark put back, which nothing can notice
    yield drawn(copies[1], old_mark, 2000 * seed + 50)[0]
    # restored under the newest mark, and fed the very examples that were lost, under new numbers;
    # and the same a second time, with the mark put back
    newest = Path(shutil.copy(mark, tmp_path / f"newest mark {seed}"))
    for copy, its_mark in ((copies[2], mark), (copies[3], newest)):
        restored(copy, its_mark)
        yield drawn(copy, its_mark, 1000 * seed)[0]
        is_sound(copy, its_mark)


def check_forks(tmp_path: Path, seeds: range) -> int:
    """No two ways from one fork share an address; how many were compared."""
    compared = 0
    for seed in seeds:
        counts = tuple(random.Random(seed).randrange(20, 150) for _ in range(1 + seed % 3))
        before, *ways = forks(tmp_path, seed, counts)
        after = [way - before for way in ways]
        assert all(len(way) > 30 for way in after), list(map(len, after))
        for number, way in enumerate(after):
            for other in after[:number]:
                assert not way & other
        compared += sum(map(len, after))
    return compared


@pytest.mark.long
def test_forked_histories_share_no_draw(tmp_path: Path) -> None:
    assert check_forks(tmp_path, range(1, 3)) > 200


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_many_forked_histories_share_no_draw(tmp_path: Path, part: int) -> None:
    assert check_forks(tmp_path, range(100 + 10 * part, 110 + 10 * part)) > 1_000


def go_on(path: Path, mark: Path, seed: int, backups: int, times: int) -> None:
    """Restore copies one after the other, each under the mark of the one before."""
    copies = []
    for number in range(backups):
        live(path, mark, number, counts=(15,))
        copies.append(backup(path, path.parent / f"copy {number}"))
    chance, seasons, last = random.Random(seed), set(), versions(path, mark)[-1]
    for number in range(times):
        copy = backup(chance.choice(copies), path.parent / "used")
        # the newest copy may have all that its mark knows
        (lost,) = restored(copy, mark, copy=True).lost
        live(copy, mark, 1000 * seed + number, counts=(20,))
        assert lost.next_season not in seasons
        seasons.add(lost.next_season)
        new = [each for each in versions(copy, mark) if each > last]
        assert new[0] == last + 1
        last = new[-1]
        assert verify(copy, mark_path=mark).findings == ()
        if number % 5 == 0:
            copies.append(backup(copy, path.parent / f"later {number}"))
        shutil.rmtree(copy)


@pytest.mark.long
def test_copies_go_on_one_after_the_other(path: Path, mark: Path) -> None:
    go_on(path, mark, seed=1, backups=3, times=6)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_copies_go_on_one_after_the_other(path: Path, mark: Path, part: int) -> None:
    go_on(path, mark, seed=10 + part, backups=10, times=50)
