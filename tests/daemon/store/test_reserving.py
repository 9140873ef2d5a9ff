"""More producers than a mark names: none learns twice after a restore, and marks stay rare."""

import random
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from littled.store.mark import Numbers
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.crashing import small_columns
from support.marks import read_mark
from support.stores import STREAM, copy_store, make_store, new_record

pytestmark = pytest.mark.usefixtures("any_database")


class Clock:
    """Stands still unless it is moved."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("littled.store.reserving.time", clock)
    return clock


def few_names(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    for module in ("mark", "reserving"):
        monkeypatch.setattr(f"littled.store.{module}.MARK_PRODUCERS_MAX", count)


def numbers(mark: Path) -> Numbers:
    found = read_mark(mark).streams[STREAM].numbers
    assert found is not None
    return found


@dataclass
class Lives:
    """A store that is killed, copied and restored; acknowledged: by producer, of all its lives."""

    path: Path
    mark: Path
    chance: random.Random
    clock: Clock
    acknowledged: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    copies: list[Path] = field(default_factory=list)

    def live(self, commits: int, producers: int) -> None:
        """Commit for some producers at a time, of which some send much, and then be killed."""
        store = Store.open(self.path, mark_path=self.mark)
        for _ in range(commits):
            records = []
            for number in self.chance.sample(range(producers), self.chance.randint(1, 4)):
                name = f"p{number}"
                sequence = store.producer_next(STREAM, name)
                assert sequence >= self.acknowledged[name], "an example is taken a second time"
                count = self.chance.choice((1, 2, 3, 40 if number % 5 else 900))
                records.append(new_record(sequence, count, name))
            self.clock.now += self.chance.choice((0.0, 0.01, 2.0))
            store.append(records)
            for record in records:
                self.acknowledged[record.producer] = record.sequence + record.count
            bounds = numbers(self.mark)
            assert all(bounds.bound(name) >= end for name, end in self.acknowledged.items())
            if self.chance.random() < 0.15:
                self.copies.append(self.copied(f"copy {len(self.copies)}"))
        if self.chance.random() < 0.7:
            newest = self.mark.read_bytes()
            store.close()
            self.mark.write_bytes(newest)
        else:
            store.close()

    def copied(self, name: str) -> Path:
        """A copy of the store at this moment, without its mark."""
        copy = self.path.with_name(name)
        copy.mkdir(mode=0o700)
        patterns = ["store.sqlite", "store.sqlite-wal", "noise.key", "columns-*"]
        # A copy of the database alone lacks what is in the tail.
        patterns += ["tail"] * self.chance.randrange(2)
        for pattern in patterns:
            for file in self.path.glob(pattern):
                shutil.copy(file, copy / file.name)
        return copy

    def restore(self) -> None:
        """Go on from any copy of any life, under the newest mark."""
        copy_store(self.chance.choice(self.copies), self.path)
        with Restoring.open(self.path, mark_path=self.mark, copy=True) as found:
            found.finish()


def restore_many_times(folder: Path, clock: Clock, seed: int, times: int, commits: int) -> Lives:
    mark = folder / f"mark {seed}"
    path = make_store(folder / f"store {seed}", mark_path=mark)
    lives = Lives(path, mark, random.Random(seed), clock)
    lives.copies.append(lives.copied("first"))
    for number in range(times):
        lives.live(commits, 6 + 2 * number)
        assert verify(path, mark_path=mark).findings == ()
        lives.restore()
        with Store.open(path, mark_path=mark, read_only=True) as store:
            for name, end in lives.acknowledged.items():
                assert store.producer_next(STREAM, name) >= end
    return lives


@pytest.mark.long
def test_whatever_copy_is_restored_nothing_is_taken_twice(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_names(monkeypatch, 3)
    small_columns(monkeypatch)
    lives = restore_many_times(tmp_path, clock, 1, times=4, commits=40)
    assert len(numbers(lives.mark).named) == 3
    assert len(lives.acknowledged) > 10


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 42))
def test_whatever_copies_are_restored_nothing_is_taken_twice(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    few_names(monkeypatch, 1 + seed % 7)
    small_columns(monkeypatch)
    restore_many_times(tmp_path, clock, seed, times=8, commits=60)


@pytest.mark.long
def test_many_producers_need_few_marks(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each name at first, and hardly any after that."""
    names, producers, rounds = 8, 300, 4
    few_names(monkeypatch, names)
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    written = 0
    with Store.open(path, mark_path=mark) as store:
        before = mark.stat().st_mtime_ns, mark.stat().st_ino
        for turn in range(rounds):
            for number in range(producers):
                clock.now += 0.003
                store.append([new_record(turn, 1, f"p{number}")])
                now = mark.stat().st_mtime_ns, mark.stat().st_ino
                written += now != before
                before = now
    assert names <= written <= 2 * names + 2


def test_who_is_far_below_the_others_gets_a_name(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing needs it: a restore would make it leave out all that the others have sent."""
    few_names(monkeypatch, 4)
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    with Store.open(path, mark_path=mark) as store:
        store.append([new_record(0, 50_000, "heavy")])
        for number in range(4):
            store.append([new_record(0, 1, f"early{number}")])
        assert numbers(mark).others >= 50_000
        store.append([new_record(0, 1, "late")])
        clock.now += 2
        store.append(())
        assert numbers(mark).named["late"] == 1 + 256
        # and not more often than once a second, however many there are
        marks = set()
        for number in range(40):
            clock.now += 0.1
            store.append([new_record(0, 1, f"more{number}")])
            marks.add(mark.read_bytes())
        assert len(marks) <= 6
    exact = numbers(mark)
    assert exact.named == {f"more{number}": 1 for number in range(36, 40)}
    assert exact.others == 50_000, "after a good end the number of all others is exact as well"
