"""A disk that fails once is not asked again: the first failure is the last thing a store does."""

import errno
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import littled.store.files
from littled.store.errors import StoreError, StoreFailed, StoreRefused
from littled.store.files import create_private
from littled.store.sqlite import SqliteReaders
from littled.store.store import Store
from littled.store.verify import verify
from support.disks import HookedDisk, HookedFile
from support.segments import small_segments
from support.stores import LEARNER, STREAM, answer, entry, feed, make_store, paid, release

# What a disk that fails leads to at a file beside the database, for which there is no SQLite.
COLUMNS_SENTENCE = "the disk failed (EIO)"
FULL_SENTENCE = "the disk is full"
# What strikes at which events, the sentence it leads to, and how many events lie between two runs:
# in every run of the tests, and in a long one.
FAULTS = {
    "failed sync": ("sync", apsw.SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC", 11, 1),
    "failed write": ("write", apsw.SQLITE_IOERR_WRITE, "SQLITE_IOERR_WRITE", 41, 3),
    "full disk": ("write", apsw.SQLITE_FULL, FULL_SENTENCE, 37, 5),
    "failed truncation": ("truncate", apsw.SQLITE_IOERR_TRUNCATE, "SQLITE_IOERR_TRUNCATE", 2, 1),
    "failed read": ("read", apsw.SQLITE_IOERR_READ, "SQLITE_IOERR_READ", 90, 40),
    "failed opening": ("open", apsw.SQLITE_CANTOPEN, "SQLITE_CANTOPEN", 7, 1),
    "failed creation": ("create", apsw.SQLITE_IOERR, COLUMNS_SENTENCE, 1, 1),
    "no room for a file": ("create", apsw.SQLITE_FULL, FULL_SENTENCE, 1, 1),
    "failed removal": ("remove", apsw.SQLITE_IOERR_DELETE, "SQLITE_IOERR_DELETE", 1, 1),
    "no room to remove": ("remove", apsw.SQLITE_FULL, FULL_SENTENCE, 1, 1),
}
# What SQLite may do without: then all has to go on as if nothing had been.
SPARED = ("truncate", "read", "open", "remove")
# What happens in few steps, and the files at which it does.
SELDOM = {
    "create": {"tail", "columns-000001", "columns-000002", "columns-000003"},
    "remove": {"tail", "columns-000009", "store.sqlite-wal"},
}

STEPS: list[Callable[[Store], Any]] = [
    lambda store: feed(store, [3, 1]),
    lambda store: store.charge(entry(0, position=2)),
    lambda store: store.publish([release(1, charge=0)], ()),
    lambda store: store.save_snapshot(STREAM, 1, bytes(40_000)),
    lambda store: feed(store, [9_000], "radar"),
    lambda store: feed(store, [9_000], "radar"),
    lambda store: feed(store, [9_000], "radar"),
    lambda store: store.publish([release(2)], [entry(1, position=9)]),
    lambda store: feed(store, [1]),
    lambda store: store.charge(paid(2)),
    lambda store: answer(store, 1),
    lambda store: answer(store, 2, window=3, count=1000),
    lambda store: store.pack(),
    lambda store: store.pack(),
]


def run(store: Store, states: list[Any]) -> None:
    """Do all steps; note the state after each that returned."""
    states.append(state(store))
    for step in STEPS:
        step(store)
        states.append(state(store))


def state(store: Store) -> Any:
    numbers = [each.number for each in store.records(STREAM)]
    predictions = [each.number for each in store.predictions(STREAM)]
    ledger, releases = len(store.ledger(STREAM)), len(store.releases(LEARNER))
    return numbers, ledger, releases, store.position(STREAM), predictions


class ReadFile(HookedFile):
    """Has a hook before every read as well."""

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.disk.hook("read", self.path)
        return super().xRead(amount, offset)


class FailingDisk(HookedDisk):
    """Fails at the n-th event of one kind, and counts them."""

    def __init__(self, kind: str, code: int, moment: int) -> None:
        self.count = 0
        self.failed_calls, self.struck = 0, ""
        self._kind, self._code, self._moment = kind, code, moment
        super().__init__("failing", self._happened)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> HookedFile:  # noqa: N802
        self.hook("open", "")
        return ReadFile(self, name, flags)

    def read(self, what: str, path: str) -> None:
        self.hook(what, path)

    def _happened(self, kind: str, path: str) -> None:
        if self.failed_calls and kind not in ("read", "open"):
            self.failed_calls += 1
        if kind != self._kind:
            return
        self.count += 1
        if self.count == self._moment:
            self.failed_calls, self.struck = 1, Path(path).name or "a file"
            raise apsw.exception_for(self._code)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the log into the main file often, so that faults strike there too."""
    monkeypatch.setattr("littled.store.sqlite.STORE_CHECKPOINT_BYTES", 1 << 17)
    monkeypatch.setattr("littled.store.staging.COLUMNS_BESIDE_COMMIT_BYTES_MIN", 1 << 16)
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", 1 << 10)
    small_segments(monkeypatch, records=2)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", FAULTS)
def test_the_first_fault_is_the_end_at_a_few_places(tmp_path: Path, name: str) -> None:
    strike_everywhere(tmp_path, name, FAULTS[name][3])


@pytest.mark.long
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", FAULTS)
def test_the_first_fault_is_the_end_wherever_it_strikes(tmp_path: Path, name: str) -> None:
    strike_everywhere(tmp_path, name, FAULTS[name][4])


@pytest.mark.campaign
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", FAULTS)
def test_every_single_call_of_a_run_may_fail(tmp_path: Path, name: str) -> None:
    strike_everywhere(tmp_path, name, 1)


def strike_everywhere(tmp_path: Path, name: str, stride: int) -> None:
    """Let one call after the other fail, so many further each time, until none is left."""
    expected: list[Any] = []
    with Store.open(make_store(tmp_path / "whole")) as store:
        run(store, expected)
    kind, code, sentence, *_ = FAULTS[name]
    errors = 0
    struck = set()
    for moment in itertools.count(1, stride):
        path = make_store(tmp_path / f"store {moment}")
        # of a commit that never was; it is removed at the start
        create_private(path / "columns-000009", b"")
        disk = FailingDisk(kind, code, moment)
        states: list[Any] = []
        error = strike(path, disk, states)
        disk.unregister()
        assert error is None or disk.struck
        assert error is not None or not disk.struck or kind in SPARED
        assert error is None or sentence in str(error) or COLUMNS_SENTENCE in str(error)
        check_after_fault(path, states, expected)
        assert error is not None or states == expected
        if not disk.struck:
            break
        errors += error is not None
        struck.add(disk.struck)
    assert errors
    assert kind not in SELDOM or struck == SELDOM[kind]
    assert kind in (*SPARED, *SELDOM) or moment > len(STEPS), (
        "every step has met the fault at least once"
    )


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("place", ["_fill", "sync_folder"])
def test_a_mark_that_cannot_be_written_is_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whichever time it is: what returned is there, and the old mark or the new one with it."""
    expected: list[Any] = []
    with Store.open(make_store(tmp_path / "whole")) as store:
        run(store, expected)
    real = getattr(littled.store.files, place)
    for moment in itertools.count(1):
        path = make_store(tmp_path / f"store {moment}")
        left = itertools.count(moment, -1)

        def failing(*arguments: Any, left: Any = left) -> None:
            if next(left) == 1:
                raise OSError(errno.EIO, "Input/output error")
            real(*arguments)

        states: list[Any] = []
        with monkeypatch.context() as patch:
            patch.setattr(littled.store.files, place, failing)
            error = strike(path, None, states)
        check_after_fault(path, states, expected)
        if error is None:
            break
        mark = "high-water mark cannot be advanced|cannot open the store"
        assert re.search(mark, str(error)) or COLUMNS_SENTENCE in str(error)
    assert moment > 8, "most steps write a mark"


def strike(path: Path, disk: FailingDisk | None, states: list[Any]) -> StoreError | None:
    """Run on a failing disk; return the failure, after which nothing more may be done."""
    try:
        store = Store.open(path, vfs=None if disk is None else disk.name)
    except (StoreFailed, StoreRefused) as error:
        return error
    failure: StoreError | None = None
    calls = 0
    try:
        run(store, states)
    except StoreFailed as error:
        failure = error
        calls = 0 if disk is None else disk.failed_calls
        refuses(lambda: feed(store, [1]))
        refuses(lambda: store.charge(entry(9)))
    try:
        store.close()
    except StoreFailed as error:
        assert failure is None, "closing after a failure must not touch the disk"
        return error
    if failure is not None and disk is not None:
        assert disk.failed_calls == calls, "a failed disk was asked again"
    return failure


def refuses(call: Callable[[], Any]) -> None:
    with pytest.raises(StoreFailed, match="takes no more calls"):
        call()


def check_after_fault(path: Path, states: list[Any], expected: list[Any]) -> None:
    """What returned is there; of what did not return, all or nothing."""
    with Store.open(path) as store:
        found = state(store)
    acknowledged = len(states) - 1 if states else 0
    assert found in expected[acknowledged : acknowledged + 2]
    assert states == expected[: len(states)]
    assert verify(path).findings == ()


WITHOUT_ROOM = """
import resource, signal, sys
from support.stores import feed
from littled.store.errors import StoreFailed
from littled.store.sqlite import SqliteReaders
from littled.store.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
store = Store.open(sys.argv[1])
try:
    for number in range(1000):
        feed(store, [int(sys.argv[3])])
        print(number, flush=True)
except StoreFailed as error:
    print(error)
store.close()
"""


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("room_bytes", "count", "code"),
    [
        (200_000, 1, "EFBIG"),  # less than a tail takes
        (200_000, 1000, "SQLITE_IOERR_WRITE"),
        (1_000_000, 1000, "SQLITE_IOERR_WRITE"),
        (1_000_000, 30_000, "EFBIG"),
    ],
)
def test_a_process_that_may_not_write_more_stops_cleanly(
    tmp_path: Path, room_bytes: int, count: int, code: str
) -> None:
    path = make_store(tmp_path / "store")
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, path, str(room_bytes), str(count)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    *numbers, sentence = ended.stdout.splitlines()
    assert sentence == f"the disk failed ({code}): look at the system's log"
    assert bool(numbers) == (count > 1)
    with Store.open(path) as store:
        assert store.position(STREAM) in (count * len(numbers), count * len(numbers) + count)
        feed(store, [1])
    assert verify(path).findings == ()


def test_a_fault_while_reading_ends_everything_too(tmp_path: Path) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1000] * 20)
    store = Store.open(path)
    (path / "store.sqlite").unlink()
    (path / "store.sqlite").mkdir()
    assert isinstance(store._readers, SqliteReaders)
    store._readers._lending._idle.clear()
    with pytest.raises(StoreError):
        list(store.records(STREAM))
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append(())
    store.close()
