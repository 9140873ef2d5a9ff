"""Rollback: every older copy of a store is refused under its newest mark, and says why."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.errors import StoreRefused
from littled.store.mark import MARK_NAME
from littled.store.store import Store
from littled.store.verify import verify
from support.crashing import small_columns
from support.stores import LEARNER, RATE, STREAM, answer, entry, feed, make_store, paid, release

FILES = ("store.sqlite", "store.sqlite-wal", "tail", "noise.key")


def copied(path: Path, to: Path) -> Path:
    """A copy of an open store between two of its transactions, as a backup of the disk makes it.

    The log's index is left out, as it is no part of what is durable.
    """
    to.mkdir(mode=0o700)
    for name in FILES:
        if (path / name).exists():
            shutil.copy(path / name, to / name)
    for each in path.glob("columns-*"):
        shutil.copy(each, to / each.name)
    return to


def live(store: Store, moments: int) -> Iterator[str]:
    """Do one thing after the other that is durable; the last one is a charge."""
    charges, releases, requests = 1, 0, 0
    store.charge(paid(0))
    feed(store, [3])
    for number in range(moments):
        match number % 5 if number < moments - 1 else 1:
            case 0:
                feed(store, [1 + number % 3], ("tower", "radar")[number % 2])
                yield "record"
            case 1:
                store.charge(entry(charges, rate=RATE / 4096))
                charges += 1
                yield "charge"
            case 2:
                store.publish([release(releases + 1, threshold=releases % 250)], ())
                releases += 1
                yield "release"
            case 3:
                answer(store, requests, window=requests % 3)
                requests += 1
                yield "answer"
            case _:
                store.save_snapshot(STREAM, 0, b"state")
                yield "snapshot"


def lived(tmp_path: Path, moments: int, wanted: range) -> tuple[list[Path], Path]:
    """Copies of a store at the wanted ones of so many moments and at its end, and its mark."""
    mark = tmp_path / "mark"
    path = make_store(tmp_path / "store", mark_path=mark)
    copies = []
    with Store.open(path, mark_path=mark) as store:
        for number, _ in enumerate(live(store, moments)):
            if number in wanted or number == moments - 1:
                copies.append(copied(path, tmp_path / f"copy {number}"))
    return copies, mark


def refusal(path: Path, mark: Path, *, read_only: bool = False) -> str:
    with pytest.raises(StoreRefused) as caught:
        Store.open(path, mark_path=mark, read_only=read_only)
    return str(caught.value)


def roll_back(tmp_path: Path, moments: int, wanted: range) -> None:
    """Put every copy back under the newest mark, under no mark, and under another store's."""
    copies, mark = lived(tmp_path, moments, wanted)
    other = make_store(tmp_path / "other") / MARK_NAME
    said = set()
    for number, copy in enumerate(copies[:-1]):
        for read_only in (False, True):
            sentence = refusal(copy, mark, read_only=read_only)
            start, found, rest = sentence.partition(f"{copy} is behind its high-water mark: ")
            assert (start, bool(found)) == ("the store in ", True), sentence
            assert rest.endswith("and may only go on by littled restore")
            said.add(rest.partition(" of ")[0].rstrip("0123456789- "))
        if number % 10 == 0:
            assert "is missing: put it back" in refusal(copy, tmp_path / "none")
            assert "belongs to another store" in refusal(copy, other)
            report = verify(copy, mark_path=mark)
            assert report.findings
            assert all("high-water mark" in each for each in report.findings)
        shutil.rmtree(copy)
    assert {"record"} <= said <= {"record", "ledger entry"}, said
    Store.open(copies[-1], mark_path=mark).close()
    assert verify(copies[-1], mark_path=mark).sound


def test_a_hundred_old_copies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_columns(monkeypatch, size=2 * 9)
    roll_back(tmp_path, 101, range(100))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_old_copies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    small_columns(monkeypatch, size=2 * 9)
    roll_back(tmp_path, 1_001, range(part, 1_000, 10))


def test_a_copy_that_lacks_one_thing_is_told_what(tmp_path: Path) -> None:
    """Whatever the last thing was, the sentence names it."""
    for kind, sentence in (
        ("charge", "ledger entry 1 of flights"),
        ("release", f"release 1 of {LEARNER}"),
        ("answer", "ledger entry 1 of flights"),
    ):
        mark = tmp_path / f"mark {kind}"
        path = make_store(tmp_path / kind, mark_path=mark)
        with Store.open(path, mark_path=mark) as store:
            store.charge(paid(0))
            feed(store, [3])
            store.save_snapshot(STREAM, 0, b"state")
            copy = copied(path, tmp_path / f"copy {kind}")
            if kind == "charge":
                store.charge(entry(1))
            elif kind == "release":
                store.publish([release(1)], ())
            else:
                answer(store, 0)
        assert f"high-water mark: {sentence}, which" in refusal(copy, mark)
