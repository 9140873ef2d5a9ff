"""What was acknowledged is there after the process or the power went away at any moment."""

import itertools
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.errors import StoreRefused
from littled.store.files import sync_folder
from littled.store.store import Store
from support.campaigns import IMAGES, KILLS, PART_IMAGES, PART_KILLS, campaign_parts
from support.crashing import (
    FAILPOINTS,
    KINDS,
    NEVER,
    Done,
    check,
    digest,
    done_by,
    killed_at,
    small_columns,
    states_of,
    work,
    work_until_killed,
)
from support.disks import ForgetfulDisk, HookedColumns, HookedDisk
from support.segments import small_segments
from support.stores import make_store

# --- processes that are killed --------------------------------------------------------------------


def kill_once(path: Path, done: Done, letters_first: int, seconds: float) -> Done:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        work_until_killed(path, writing, NEVER, 1)
    os.close(writing)
    first = b"".join(os.read(reading, 1) for _ in range(letters_first))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"
    with os.fdopen(reading, "rb") as pipe:
        letters = first + pipe.read()
    return check(path, done_by(letters, done))


def kill_again_and_again(path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> Done:
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 18)
    small_segments(monkeypatch, records=3)
    small_columns(monkeypatch)
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


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill takes nothing from the system's own memory."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


def kill_everywhere(folder: Path, chance: random.Random, times: int) -> int:
    """So many kills at failpoints, a dozen to a store; how many. Each failpoint is reached."""
    reached: Counter[str] = Counter()
    kills = 0
    points = list(FAILPOINTS)
    for number in range(times):
        if number % 12 == 0:
            path, done = make_store(folder / f"store {number}"), dict.fromkeys(KINDS, 0)
        if number % len(points) == 0:
            chance.shuffle(points)
        failpoint = points[number % len(points)]
        # some are passed only once, at the start
        first = number // len(points) % 2 == 1
        hit = 1 if first else 1 + int(chance.expovariate(1.0))
        # every fourth is looked at as a whole, and the last one of a store in any case
        whole = number % 4 == 3
        done, was = killed_at(path, done, failpoint, hit, whole=whole)
        reached[failpoint] += was
        kills += 1
        if number % 12 == 11:
            shutil.rmtree(path)
    missed = {name for name in FAILPOINTS if not reached[name]}
    assert not missed, "every failpoint is passed"
    return kills


# Of the parts below, each of two kills at a failpoint, those that are no long test.
QUICK_PARTS = 2


def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of the log, packings, column files and full tails as often as may be."""
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 17)
    monkeypatch.setattr("littled.store.tail.TAIL_SLOTS", 3)
    small_segments(monkeypatch, records=3)
    small_columns(monkeypatch)


@pytest.mark.timeout(300)  # some ten seconds alone, and many times that beside other work
@pytest.mark.parametrize("part", [*range(QUICK_PARTS), pytest.param(2, marks=pytest.mark.long)])
def test_a_daemon_killed_at_any_failpoint_has_what_it_acknowledged(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    small_steps(monkeypatch)
    kills = kill_everywhere(quick_path, random.Random(part), 2 * len(FAILPOINTS))
    assert len(FAILPOINTS) >= 50
    assert QUICK_PARTS * kills >= 300, "so many in every run of the tests"


PARTS = campaign_parts("KILLS", KILLS, PART_KILLS)


def test_the_campaign_kills_so_often_and_reaches_every_failpoint_in_each_part() -> None:
    if "LITTLED_CAMPAIGN_KILLS" not in os.environ:
        assert PARTS * PART_KILLS >= 10_000
    assert 2 * len(FAILPOINTS) <= PART_KILLS


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_kills_at_failpoints(quick_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Two hundred in each part, which is also the seed."""
    small_steps(monkeypatch)
    kills = kill_everywhere(quick_path, random.Random(1000 + part), PART_KILLS)
    assert kills == PART_KILLS


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
    small_steps(monkeypatch)
    assert cut_power(tmp_path, seed=1, steps=60, share=0.1) > 20


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 42))
def test_many_power_cuts_take_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    small_steps(monkeypatch)
    assert cut_power(tmp_path, seed, steps=300, share=0.2) > 200


def test_the_forgetful_disk_would_notice_a_missing_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run without syncs loses what was acknowledged, so the test above can fail."""
    monkeypatch.setattr(ForgetfulDisk, "synced", lambda *_: None)
    with pytest.raises(Exception, match=r"lost|behind|damaged|None"):
        cut_power(tmp_path, seed=1, steps=60, share=0.25)


# --- many images of a power cut -------------------------------------------------------------------


# After so many in a row that were seen before there is hardly another one at an event.
REPEATED_MAX = 5


class Images:
    """Looks at what could be left of a store at each event of a run."""

    def __init__(self, path: Path, image: Path, states: list[list[bytes]], chance: random.Random):
        self.path, self.image, self.states, self.chance = path, image, states, chance
        self.done, self.total = dict.fromkeys(KINDS, 0), 0
        self.marks = [(path / "high-water-mark").read_bytes()]
        self.each, self.whole = 1.0, 0.0
        self.disk: ForgetfulDisk | None = None
        self._events = 0
        self._different: set[int] = set()
        self._seen: set[tuple[int, int]] = set()
        self._busy = False

    @property
    def different(self) -> int:
        """How many images were looked at, each counted once however often it was drawn."""
        return len(self._different)

    def happened(self, _kind: str, _path: str) -> None:
        """Something is about to be written, synced, truncated or renamed."""
        if self.disk is None or self._busy:
            return  # at the end, or a store that is being looked at
        self._busy = True
        self._events += 1
        # right after a sync there is little that could be left: others make up for it
        repeated = 0
        while repeated < REPEATED_MAX and self.different < self.each * self._events:
            repeated = 0 if self._look() else repeated + 1
        self._busy = False

    def _look(self) -> bool:
        """Look at what could be left now; whether it is a new image."""
        assert self.disk is not None
        left = self.disk.after_power_cut(self.chance)
        left |= {"high-water-mark": self.chance.choice(self.marks)}
        image = hash(tuple(sorted(left.items())))
        if (self.total, image) in self._seen:
            return False
        known = len(self._different)
        self._different.add(image)
        self._seen.add((self.total, image))
        shutil.rmtree(self.image, ignore_errors=True)
        self.image.mkdir(mode=0o700)
        shutil.copy(self.path / "noise.key", self.image)
        for file, contents in left.items():
            (self.image / file).write_bytes(contents)
            (self.image / file).chmod(0o600)
        if self.chance.random() < self.whole:
            check(self.image, self.done)
        else:
            found = digest(self.image)
            assert found in self.states[self.total], f"after {self.total} steps: lost or too much"
        return len(self._different) > known

    def sync_folder(self, folder: Path) -> None:
        """The mark has a new file: until its folder is synced, the old one may come back."""
        if not self._busy:
            self.marks.append((self.path / "high-water-mark").read_bytes())
            self.happened("sync", str(folder))
            del self.marks[0]
        sync_folder(folder)


class CountingDisk(HookedDisk):
    """Counts events."""

    def __init__(self, name: str) -> None:
        self.count = 0
        super().__init__(name, self._happened)

    def _happened(self, _kind: str, _path: str) -> None:
        self.count += 1


def cut_power_often(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, images: int, whole: float
) -> int:
    """Look at so many different images of one run, such a share as a whole; how many there were.

    An image is what could be left at one moment: any of the writes that no sync has covered, torn
    and in any order, and of the high-water mark the old or the new one while its folder is not
    synced. What SQLite makes of it has to be the state after the last thing that was acknowledged,
    or after the next one.
    """
    steps = 40
    path = make_store(folder / "store")
    twin = Path(shutil.copytree(path, folder / "twin"))
    counting = CountingDisk(f"counting-{seed}")
    start = digest(twin)
    with Store.open(twin, vfs=counting.name) as store:
        states = states_of(store, twin, steps)
    states[0].append(start)
    counting.unregister()
    looking = Images(path, folder / "image", states, random.Random(seed))
    # all of them some events before the end, which may have little to look at
    looking.each, looking.whole = images / (0.95 * counting.count), whole
    monkeypatch.setattr("littled.store.files.sync_folder", looking.sync_folder)
    looking.disk = disk = ForgetfulDisk(f"torn-{seed}", path, looking.happened)
    store = Store.open(path, vfs=disk.name)
    for kind in itertools.islice(work(store), steps):
        looking.done[kind] += 1
        looking.total += 1
    looking.disk = None
    store.close()
    disk.unregister()
    return looking.different


@pytest.mark.timeout(300)
def test_two_thousand_images_of_a_power_cut_lack_nothing(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    assert cut_power_often(quick_path, monkeypatch, seed=5, images=2_000, whole=0.02) >= 2_000


IMAGE_PARTS = campaign_parts("IMAGES", IMAGES, PART_IMAGES)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(IMAGE_PARTS))
def test_images_of_a_power_cut(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Two thousand in each part, which is also the seed."""
    small_steps(monkeypatch)
    seed = 1000 + part
    seen = cut_power_often(quick_path, monkeypatch, seed, images=PART_IMAGES, whole=0.1)
    assert seen >= PART_IMAGES


@pytest.mark.parametrize(
    ("owner", "told"),
    [(ForgetfulDisk, "synced"), (HookedColumns, "sync"), (HookedColumns, "sync_names")],
)
def test_the_images_would_show_a_missing_sync(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, told: str
) -> None:
    """Of everything, of files beside the database only, and of their names only."""
    small_steps(monkeypatch)
    monkeypatch.setattr(owner, told, lambda *_: None)
    shown = "lost or too much|tail is missing or cut short"
    with pytest.raises((AssertionError, StoreRefused), match=shown):
        cut_power_often(quick_path, monkeypatch, seed=5, images=500, whole=0.0)
