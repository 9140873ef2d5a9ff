"""Work on a store that may end at any moment, and what has to be left of it then."""

import contextlib
import hashlib
import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import apsw
import pytest

import littled.store.files
import littled.store.packing
import littled.store.store
from littled.budget.events import PrepaidSelection
from littled.budget.ledger import without_answers
from littled.store.columns import ColumnWriter
from littled.store.disks import Disk
from littled.store.packing import Packing
from littled.store.register import FileRegister
from littled.store.sqlite import DATABASE_NAME, SqliteDatabase, SqliteWriting
from littled.store.staging import Arrivals, Batch
from littled.store.store import Store
from littled.store.tail import TAIL_NAME, Tail
from littled.store.verify import verify
from support.disks import HookedDisk
from support.stores import (
    LEARNER,
    RATE,
    STREAM,
    answer,
    entry,
    new_record,
    paid,
    prepaid,
    release,
)

KINDS = ("append", "charge", "publish", "snapshot", "question", "together")
Done = dict[str, int]
"""How many records, charges, releases, snapshots, answered questions and pairs of calls there are.

Calls that a season has paid for come in pairs, two charges and two releases in one transaction.
"""


def count_of(number: int) -> int:
    """How many examples a record has; one of seven is long."""
    return 500 if number % 7 == 3 else 1 + number % 7


def small_columns(monkeypatch: pytest.MonkeyPatch, size: int = 5 * 9) -> None:
    """Let columns of so many bytes stand beside the database, in files of a few records."""
    for what in ("RECORD", "COMMIT"):
        monkeypatch.setattr(f"littled.store.staging.COLUMNS_BESIDE_{what}_BYTES_MIN", size)
    monkeypatch.setattr("littled.store.contents.COLUMNS_BESIDE_RECORD_BYTES_MIN", size)
    monkeypatch.setattr("littled.store.columns.COLUMN_FILE_BYTES", 500)


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
        match KINDS[(0, 3, 1, 4, 2, 0, 4, 0, 5)[step % 9]]:
            case "append":
                for _ in range(1 + step % 4):
                    producer = ("tower", "radar")[records % 2]
                    count = count_of(records)
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
            case "together":
                store.publish(
                    [release(releases + 1 + each, charges + each) for each in range(2)],
                    [prepaid(charges + each) for each in range(2)],
                )
                charges, releases = charges + 2, releases + 2
                yield "together"


def check(path: Path, done: Done, *, whole: bool = True) -> Done:
    """Open what is left; it has all that was done, at most one thing more, and is sound.

    whole: also by `verify`, which looks at all there is.
    """
    with Store.open(path) as store:
        following = {"tower": 0, "radar": 0}
        position = 0
        found = dict.fromkeys(KINDS, 0)
        for number, record in enumerate(store.records(STREAM)):
            assert record.producer == ("tower", "radar")[number % 2]
            new = new_record(following[record.producer], count_of(number), record.producer)
            assert (record.sequence, record.x, record.y) == (new.sequence, new.x, new.y)
            assert record.first_position == position
            following[record.producer] += record.count
            position += record.count
            found["append"] += 1
        assert store.position(STREAM) == position
        assert {name: store.producer_next(STREAM, name) for name in following} == following
        ledger, releases = store.ledger(STREAM), store.releases(LEARNER)
        entries = without_answers(ledger)
        paid_for = [release.charge for release in releases if release.charge is not None]
        assert {ledger[number].event["type"] for number in paid_for} <= {PrepaidSelection.name}
        found["together"] = len(paid_for) // 2
        found["charge"] = len(entries) - len(paid_for)
        found["publish"] = len(releases) - len(paid_for)
        questions = list(store.predictions(STREAM))
        assert [int.from_bytes(question.request) for question in questions] == list(
            range(len(questions))
        )
        found["question"] = len(questions)
        snapshot = store.snapshot(STREAM)
        assert (snapshot is not None) or not done["snapshot"]
        assert snapshot is None or snapshot[1] == b"after %d" % snapshot[0]
        counted = ("append", "charge", "publish", "question", "together")
        more = {kind: found[kind] - done[kind] for kind in counted}
        assert min(more.values()) >= 0, "something acknowledged is lost"
        assert sum(more.values()) <= 1, "something is there that nobody asked for"
    assert not whole or verify(path).findings == ()
    return found | {"snapshot": done["snapshot"]}


# --- processes that are killed --------------------------------------------------------------------

# Named moments: what is replaced, where it is looked up, and whether the kill comes before or after
# it. What belongs to a disk is below.
_PLACES: dict[str, tuple[Any, str]] = {
    "the mark's new file": (littled.store.files, "_fill"),
    "the sync of the mark's folder": (littled.store.files, "sync_folder"),
    "the mark": (FileRegister, "replace"),
    "a reservation": (Store, "_reserve"),
    "a batch": (Batch, "add"),
    "an append": (Store, "append"),
    "what follows a commit of examples": (Store, "_remember"),
    "a ledger entry": (Arrivals, "add_entry"),
    "a release": (Arrivals, "add_release"),
    "a prediction": (Arrivals, "add_prediction"),
    "a publication": (Store, "publish"),
    "an answer": (Store, "answer"),
    "a snapshot": (Store, "save_snapshot"),
    "the checksum of a snapshot": (littled.store.store, "snapshot_checksum"),
    "the checksum of producers": (littled.store.store, "put_checksum"),
    "columns": (ColumnWriter, "append"),
    "a file of columns": (ColumnWriter, "_open"),
    "the making of a file of columns": (Disk, "create"),
    "the sync of its name": (Disk, "sync_names"),
    "a write of columns": (Disk, "write"),
    "a sync of columns": (Disk, "sync"),
    "the end of columns": (ColumnWriter, "settle"),
    "a record in the tail": (Tail, "put"),
    "the opening of the tail": (Tail, "open"),
    "the bringing in of the tail": (SqliteWriting, "_put_waiting"),
    "a new token": (SqliteWriting, "_put_token"),
    "a copy of the log": (SqliteWriting, "_checkpoint"),
    "the opening of the log": (SqliteWriting, "_prepare"),
    "the completion of tables": (littled.store.store, "complete"),
    "a check at the start": (Store, "_check"),
    "a look at what to pack": (Packing, "next"),
    "a segment": (littled.store.store, "put_segment"),
}
_ON_DISK = tuple(
    f"{what} {file}"
    for what in ("write", "sync")
    for file in ("store.sqlite", "store.sqlite-wal", "tail")
)
FAILPOINTS = (
    *(f"{side} {name}" for name in (*_PLACES, *_ON_DISK) for side in ("before", "after")),
    "before truncate store.sqlite-wal",
    "before a commit",
    "after a commit",
)
NEVER = "never"
# Steps after which a child is killed that does not come by its failpoint so often.
STEPS_MAX = 24


def kill_at(failpoint: str, hit: int, say: Callable[[bytes], object]) -> str | None:
    """Let this process, a forked child, be killed at the hit-th passage of a failpoint.

    say: is told "!" just before. Returns the name of the disk to open the store on, None for any.
    """
    left = itertools.count(hit, -1)

    def passed() -> None:
        if next(left) == 1:
            say(b"!")
            os.kill(os.getpid(), signal.SIGKILL)

    side, _, name = failpoint.partition(" ")
    if name in _PLACES:
        wrap(*_PLACES[name], passed, before=side == "before")
    elif name == "a commit":
        wrap_commits(passed, before=side == "before")
    elif failpoint != NEVER:
        return KillingDisk(name, passed, before=side == "before").name
    return None


def wrap(owner: Any, attribute: str, passed: Callable[[], None], *, before: bool) -> None:
    """Call `passed` before or after every call of a function or method."""
    real = getattr(owner, attribute)

    def call(*arguments: Any, **options: Any) -> Any:
        if before:
            passed()
        found = real(*arguments, **options)
        if not before:
            passed()
        return found

    setattr(owner, attribute, call)


def wrap_commits(passed: Callable[[], None], *, before: bool, writing: Any = SqliteWriting) -> None:
    """Call `passed` before or after every commit of one kind of database."""
    wrap(writing, "put_alone", passed, before=before)
    real = writing.transaction

    @contextlib.contextmanager
    def transaction(self: Any) -> Iterator[Any]:
        with real(self) as connection:
            yield connection
            if before:
                passed()
        if not before:
            passed()

    writing.transaction = transaction


class KillingDisk(HookedDisk):
    """Tells of one kind of event at one file, before or after it."""

    def __init__(self, event: str, passed: Callable[[], None], *, before: bool) -> None:
        self._event, self._passed, self._before = event, passed, before
        super().__init__("killing", self._happens)

    def _happens(self, kind: str, path: str) -> None:
        if self._before:
            self._pass(kind, path)

    def written(self, path: str, data: bytes, offset: int) -> None:
        self._pass("write", path, after=True)

    def synced(self, path: str) -> None:
        self._pass("sync", path, after=True)

    def _pass(self, kind: str, path: str, *, after: bool = False) -> None:
        if f"{kind} {Path(path).name}" == self._event and after != self._before:
            self._passed()


def work_until_killed(path: Path, pipe: int, failpoint: str, hit: int) -> NoReturn:
    """In a forked child: say one letter for each thing that is durable."""

    def say(letter: bytes) -> None:
        os.write(pipe, letter)

    try:
        disk = kill_at(failpoint, hit, say)
        steps = work(Store.open(path, vfs=disk))
        for kind in steps if failpoint == NEVER else itertools.islice(steps, STEPS_MAX):
            say(kind[:1].encode())
        os.kill(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(1)


def done_by(letters: bytes, done: Done) -> Done:
    """What was done by what a child has said."""
    return {kind: done[kind] + letters.count(kind[:1].encode()) for kind in KINDS}


def killed_at(
    path: Path, done: Done, failpoint: str, hit: int, *, whole: bool
) -> tuple[Done, bool]:
    """Work until a failpoint was passed so often; what there is then, and whether it was."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        work_until_killed(path, writing, failpoint, hit)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        letters = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child ended by itself at {failpoint}"
    return check(path, done_by(letters, done), whole=whole), letters.endswith(b"!")


# --- what is left after a power cut ---------------------------------------------------------------


def states_of(store: Store, folder: Path, steps: int) -> list[list[bytes]]:
    """Work; the digests of what was there from the end of each step to that of the next one."""
    found = [[digest_of_copy(folder)]]
    database = folder / DATABASE_NAME

    def looking(real: Any) -> Any:
        def call(writing: SqliteWriting, *arguments: Any) -> None:
            real(writing, *arguments)
            if writing._database == database:  # and not that of a copy
                found[-1].append(digest_of_copy(folder))

        return call

    with pytest.MonkeyPatch.context() as patch:
        for each in ("_committed", "put_alone"):
            patch.setattr(SqliteWriting, each, looking(getattr(SqliteWriting, each)))
        for _ in itertools.islice(work(store), steps):
            found.append([found[-1][-1]])
    return found


def digest_of_copy(folder: Path) -> bytes:
    """Of what a store would be found to have if its process ended now."""
    copy = folder.with_name("copy of it")
    copy.mkdir(mode=0o700)
    for file in (*folder.glob("store.sqlite*"), *folder.glob("columns-*"), folder / TAIL_NAME):
        if file.exists():
            shutil.copy(file, copy)
    try:
        return digest(copy)
    finally:
        shutil.rmtree(copy)


def digest(folder: Path) -> bytes:
    """Of everything that is in a store that nobody serves, and not random; brings in its tail."""
    SqliteDatabase(folder).recover()
    database = folder / DATABASE_NAME
    connection = apsw.Connection(str(database))
    found = hashlib.blake2b()
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        for (table,) in tables:
            where = "WHERE name NOT IN ('pulse', 'tail')" if table == "meta" else ""
            found.update(str(table).encode())
            for row in connection.execute(f"SELECT * FROM {table} {where} ORDER BY 1, 2"):  # noqa: S608
                found.update(repr(row).encode())
                if table == "beside":
                    found.update(_columns(database.parent, *row[1:]))
    finally:
        connection.close()
    return found.digest()


def _columns(folder: Path, file: Any, start: Any, size: Any) -> bytes:
    """What stands where a row of `beside` says."""
    path = folder / f"columns-{file:06}"
    return path.read_bytes()[start : start + size] if path.exists() else b"missing"
