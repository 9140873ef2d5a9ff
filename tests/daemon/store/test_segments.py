"""Packed records: the same to whoever reads, smaller on the disk, and no room for a change."""

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from littled.limits import STORE_PAGE_BYTES
from littled.store.database import StreamFacts, read_facts
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.history import History
from littled.store.records import NewRecord, Record, record_head
from littled.store.restoring import Restoring
from littled.store.segments import Loose, Segment, pack, packed, row_bytes, together, unpack
from littled.store.sqlite import SqliteReaders
from littled.store.store import Store
from littled.store.verify import verify
from support.segments import pack_all, small_segments
from support.stores import (
    STREAM,
    change,
    column,
    contents,
    feed,
    fill,
    make_store,
    plan_values,
    rows,
)

pytestmark = pytest.mark.usefixtures("any_database")

GENESIS = bytes(32)
PRODUCERS = ("tower", "radar", "desk")


def facts(*, of_users: bool = False) -> StreamFacts:
    return StreamFacts(3, b"{}", GENESIS, of_users=of_users)


def chained(
    batches: Sequence[tuple[int, int]], *, first: int = 0, width: int = 2, of_users: bool = False
) -> tuple[list[Record], list[Loose]]:
    """Records of these producers and counts, and their rows."""
    records: list[Record] = []
    following = dict.fromkeys(range(len(PRODUCERS)), 5)
    head, position = GENESIS, 1000 if first else 0
    for number, (producer, count) in enumerate(batches, first):
        x, y = column((number, "x"), width * count), bytes(count)
        users = column((number, "users"), 16 * count) if of_users else b""
        name, sequence = PRODUCERS[producer], following[producer]
        head = record_head(head, number, position, count, sequence, name, x, y, users)
        records.append(Record(STREAM, number, position, name, sequence, count, x, y, head, users))
        following[producer] += count
        position += count
    names = {name: 7 * place for place, name in enumerate(PRODUCERS, 1)}
    rows = [
        Loose(
            *(each.number, each.first_position, each.count, each.sequence, each.producer),
            *(each.x, each.y, each.chain_head, each.users, names[each.producer]),
        )
        for each in records
    ]
    return records, rows


BATCHES = st.lists(
    st.tuples(st.integers(0, 2), st.one_of(st.integers(1, 4), st.integers(1, 70_000))),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(BATCHES, st.sampled_from([0, 4000]), st.sampled_from([1, 8]), st.booleans())
def test_what_is_packed_is_unpacked_again(
    batches: list[tuple[int, int]], first: int, width: int, of_users: bool
) -> None:
    batches = [(producer, min(count, 400) if of_users else count) for producer, count in batches]
    records, rows = chained(batches, first=first, width=width, of_users=of_users)
    fitting = together(rows)
    assert fitting == rows[: len(fitting)]
    assert fitting
    stream = facts(of_users=of_users)
    segment = packed(STREAM, stream, fitting, GENESIS)
    assert Segment.from_row(STREAM, stream, segment.row(stream)) == segment
    names = {row.identity: row.producer for row in rows}
    assert unpack(STREAM, stream, segment, names, GENESIS) == records[: len(fitting)]


@settings(max_examples=100, deadline=None)
@given(BATCHES, st.data())
def test_no_byte_of_a_segment_can_change_unnoticed(
    batches: list[tuple[int, int]], data: st.DataObject
) -> None:
    _, rows = chained([(producer, min(count, 50)) for producer, count in batches])
    segment = pack(rows)
    name = data.draw(st.sampled_from([*Segment.__slots__]))
    value: Any = getattr(segment, name)
    if isinstance(value, int):
        other: Any = data.draw(st.integers(0, 2 * value + 9).filter(lambda each: each != value))
    else:
        at = data.draw(st.integers(0, max(len(value) - 1, 0)))
        changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :] if value else b"\0"
        other = data.draw(st.sampled_from([changed, value + b"\0", value[:at], b"\1" * 8]))
    names = {row.identity: row.producer for row in rows}
    damaged = replace(segment, **{name: other})
    if damaged == segment:
        return
    with pytest.raises(StoreDamaged):
        unpack(STREAM, facts(), damaged, names, GENESIS)


@pytest.mark.parametrize("name", ["producers", "sequences", "indices", "counts"])
def test_a_column_of_a_segment_can_be_written_in_one_way_only(name: str) -> None:
    """What says the same in more bytes is damage as well."""
    for producers in (1, 2):
        _, rows = chained([(number % producers, 1) for number in range(4)])
        segment = pack(rows)
        value = getattr(segment, name)
        if value:
            wider: Any = np.frombuffer(value, np.uint8).astype("<u2").tobytes()
        else:
            wider = bytes(segment.records)
        names = {row.identity: row.producer for row in rows}
        assert unpack(STREAM, facts(), segment, names, GENESIS)
        with pytest.raises(StoreDamaged):
            unpack(STREAM, facts(), replace(segment, **{name: wider}), names, GENESIS)


def test_records_that_are_not_alike_are_not_together() -> None:
    _, rows = chained([(0, 3), (1, 2), (0, 1), (1, 9)])
    assert together(rows) == rows
    jumping = [*rows[:3], rows[3]._replace(sequence=8)]
    assert together(jumping) == rows[:3]
    restoring = [*rows[:2], rows[2]._replace(examples=0, x=b"{}", y=b"")]
    assert together(restoring) == rows[:2]
    wider = [rows[0], rows[1]._replace(x=bytes(8))]
    assert together(wider) == rows[:1]


def test_a_segment_has_room_for_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    _, rows = chained([(0, 10)] * 5)
    small_segments(monkeypatch, records=4)
    assert len(together(rows)) == 4
    small_segments(monkeypatch, records=10, size=60)
    assert len(together(rows)) == 2
    small_segments(monkeypatch, records=10, size=5)
    assert len(together(rows)) == 1


def test_rows_that_do_not_lead_to_their_heads_are_not_packed() -> None:
    _, rows = chained([(0, 2), (1, 2), (0, 2)])
    for place in range(3):
        changes: dict[str, Any] = {"head": bytes(32), "y": b"\1\1", "number": 9}
        for name, value in changes.items():
            wrong = [*rows]
            wrong[place] = rows[place]._replace(**{name: value})
            with pytest.raises(StoreDamaged, match="damaged in the segment at record"):
                packed(STREAM, facts(), wrong, GENESIS)


@pytest.mark.parametrize("size", [1, 200, 5_000, 16_000, 17_000, 20_000, 40_000, 300_000])
def test_the_size_of_a_row_is_known(tmp_path: Path, size: int) -> None:
    connection = apsw.Connection(str(tmp_path / "file"))
    connection.pragma("page_size", STORE_PAGE_BYTES)
    connection.execute("CREATE TABLE records (key INTEGER PRIMARY KEY, a, b, c, d, x, y, head)")
    count = 2_000_000 // size if size > 1 else 20_000
    row = 1 << 40, 200, 1 << 30, 1, bytes(size // 2), bytes(size - size // 2), bytes(32)
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((number + (1 << 44), *row) for number in range(count)),
    )
    connection.execute("COMMIT")
    connection.close()
    found = (tmp_path / "file").stat().st_size / count
    assert found == pytest.approx(row_bytes(size), rel=0.1, abs=40)


# --- In a store -----------------------------------------------------------------------------------


def everything(path: Path) -> Any:
    """All that can be read of a stream's journal, from everywhere to everywhere."""
    readers = SqliteReaders(path / "store.sqlite")
    history = History(readers, read_facts(readers))
    last = history.journal.last_record(STREAM)
    end = 0 if last < 0 else (history.journal.record_point(STREAM, last) or (b"", 0))[1]
    cuts = range(-1, last + 2)
    found = (
        last,
        [history.journal.record_point(STREAM, each) for each in cuts],
        [
            list(history.journal.records(STREAM, after, until))
            for after in cuts
            for until in (None, after + 1, after + 3)
        ],
        [
            history.journal.record_at(STREAM, each)
            for each in {-1, *range(min(end + 2, 60)), end - 1}
        ],
        [said.numbers for _, said in history.restores.of(STREAM)],
        history.stream_mark(STREAM),
    )
    readers.close()
    return found


def rows_of(path: Path, table: str) -> int:
    ((count,),) = rows(path, f"SELECT count(*) FROM {table}")  # noqa: S608
    assert isinstance(count, int)
    return count


def new_records(store: Store, batches: Sequence[tuple[int, int]]) -> list[NewRecord]:
    """Records that continue their producers, with users where the stream has them."""
    of_users = store.plans[STREAM].get("unit") == "user"
    following: dict[str, int] = {}
    found = []
    for producer, count in batches:
        name = PRODUCERS[producer]
        sequence = following.setdefault(name, store.producer_next(STREAM, name))
        x, y = column((name, sequence), count), bytes(count)
        users = column((name, sequence, "users"), 16 * count) if of_users else b""
        found.append(NewRecord(STREAM, name, sequence, count, x, y, users))
        following[name] += count
    return found


PHASES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=7),
    min_size=1,
    max_size=3,
)


@pytest.mark.in_a_folder
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(PHASES, st.integers(1, 5), st.booleans(), st.booleans())
def test_packed_and_unpacked_read_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    phases: list[list[tuple[int, int]]],
    size: int,
    of_users: bool,
    restored: bool,
) -> None:
    """For every cut, with restores and users: between phases the store goes on as from a copy."""
    small_segments(monkeypatch, records=size)
    path, plain = tmp_path / "store", tmp_path / "plain"
    for folder in (path, plain):
        shutil.rmtree(folder, ignore_errors=True)
    plan = plan_values() | ({"unit": "user"} if of_users else {})
    Store.create(path, {}, {STREAM: plan})
    for number, phase in enumerate(phases):
        with Store.open(path) as store:
            pack_all(store)
            store.append(new_records(store, phase))
        if restored and number < len(phases) - 1:
            with Restoring.open(path, copy=True) as found:
                found.finish()
    shutil.copytree(path, plain)
    before = everything(plain)
    with Store.open(path) as store:
        pack_all(store)
        assert not store.segments_waiting
    assert everything(path) == before
    assert verify(path).findings == verify(plain).findings
    assert verify(path).streams == verify(plain).streams
    with Store.open(path) as store, Store.open(plain) as other:
        new = new_records(store, [(0, 2), (2, 1)])
        assert store.append(new) == other.append(new)


@pytest.mark.in_a_folder
def test_a_store_changes_its_format_with_its_first_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before: what an older version can read it should be given."""
    small_segments(monkeypatch, records=4)
    for unit, formats in {"example": [1, 1, 3], "user": [2, 2, 4]}.items():
        path = tmp_path / unit
        Store.create(path, {}, {STREAM: plan_values() | {"unit": unit}})
        found = []
        for batches in [[], [(0, 1)] * 3, [(1, 1)]]:
            with Store.open(path) as store:
                store.append(new_records(store, batches))
                pack_all(store)
            connection = apsw.Connection(str(path / "store.sqlite"))
            found.append(connection.pragma("user_version"))
            connection.close()
        assert found == formats
        assert (rows_of(path, "records"), rows_of(path, "segments")) == (0, 1)
        change(path / "store.sqlite", f"PRAGMA user_version = {formats[0]}")
        with pytest.raises(StoreRefused, match="is not the one that the store was made with"):
            Store.open(path)


@pytest.mark.in_a_folder
def test_what_was_stored_before_there_were_segments_is_packed_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        fill(store)
        feed(store, [1] * 10, "radar")
        before = contents(store)
    small_segments(monkeypatch, records=4)
    with Store.open(path) as store:
        assert store.segments_waiting == 3
        pack_all(store)
        assert contents(store) == before
    assert rows_of(path, "segments") == 3
    assert verify(path).findings == ()


def test_a_reader_does_not_notice_that_records_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.store.journal.STORE_READ_ROWS_MAX", 3)
    small_segments(monkeypatch, records=5)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 23)
        whole = list(store.records(STREAM))
        readings = []
        for start in (0, 2, 4, 13):
            reading = store.records(STREAM)
            readings.append(([next(reading) for _ in range(start)], reading))
        while store.pack():
            after = list(store.records(STREAM))
            assert after == whole
            for begun, reading in readings:
                begun.append(next(reading))
        for begun, reading in readings:
            assert begun + list(reading) == whole


def test_nothing_of_a_damaged_segment_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever learned its first records would have learned what nobody sent."""
    small_segments(monkeypatch, records=5)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 10)
        pack_all(store)
    change(path / "store.sqlite", "UPDATE segments SET y = x'0000000001' WHERE records = 5")
    reader = Store.open(path, read_only=True)
    with pytest.raises(StoreDamaged, match="the journal of flights is damaged in the segment at"):
        next(reader.records(STREAM))
    reader.close()
    assert "segment at record 0" in " ".join(verify(path).findings)


@pytest.mark.in_a_folder
def test_a_segment_is_unpacked_once_for_what_is_looked_up_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows of answers name its records one by one, and unpacking hashes them all."""
    unpacked: list[int] = []

    def counted(stream: str, facts: StreamFacts, segment: Segment, *rest: Any) -> list[Record]:
        unpacked.append(segment.first)
        return unpack(stream, facts, segment, *rest)

    small_segments(monkeypatch, records=5)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 10)
        pack_all(store)
    monkeypatch.setattr("littled.store.journal.unpack", counted)
    with closing(SqliteReaders(path / "store.sqlite")) as readers:
        journal = History(readers, read_facts(readers)).journal
        assert [journal.record_at(STREAM, position) for position in range(10)] == [*range(10)]
        points = [journal.record_point(STREAM, number) for number in range(9)]
        assert unpacked == [0, 5, 0, 5]
        assert points == [
            (record.chain_head, record.number + 1) for record in journal.records(STREAM, last=8)
        ]


@pytest.mark.in_a_folder
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE segments SET x = zeroblob(length(x))",
        "UPDATE segments SET y = x'0000000001'",
        "UPDATE segments SET records = 4",
    ],
)
def test_a_segment_that_changes_after_it_was_unpacked_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    small_segments(monkeypatch, records=5)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 5)
        pack_all(store)
    with closing(SqliteReaders(path / "store.sqlite")) as readers:
        journal = History(readers, read_facts(readers)).journal
        assert journal.record_point(STREAM, 2) is not None
        change(path / "store.sqlite", statement)
        with pytest.raises(StoreDamaged, match="damaged in the segment at record 0"):
            journal.record_point(STREAM, 2)


@pytest.mark.in_a_folder
def test_damaged_rows_are_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 10)
        store.save_snapshot(STREAM, 9, b"nothing before it is read at the start")
    change(path / "store.sqlite", "UPDATE records SET x = zeroblob(8) WHERE sequence = 3")
    small_segments(monkeypatch, records=5)
    store = Store.open(path)
    with pytest.raises(StoreDamaged, match="the journal of flights is damaged"):
        store.pack()
    with pytest.raises(StoreFailed, match="takes no more calls"):
        store.append(())
    store.close()
    assert rows_of(path, "records") == 10


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("INSERT INTO records SELECT key - 1, 3, 1, 3, 1, x, y, head FROM records", "twice"),
        ("UPDATE segments SET key = key - 1 WHERE first_position > 0", "that others hold"),
        ("DELETE FROM segments WHERE first_position = 0", "gap|breaks off"),
        ("DELETE FROM segments WHERE first_position > 0", "is damaged at record 4"),
        ("UPDATE segments SET key = key + 17592186044416", "segments belong to no stream"),
    ],
)
def test_a_check_finds_what_is_missing_or_stands_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, sentence: str
) -> None:
    small_segments(monkeypatch, records=4)
    path = make_store(tmp_path / "store")
    with Store.open(path) as store:
        feed(store, [1] * 9)
        pack_all(store)
    change(path / "store.sqlite", statement)
    findings = " ".join(verify(path).findings)
    assert re.search(sentence, findings), findings


@pytest.mark.in_a_folder
@pytest.mark.parametrize(
    ("batch", "width", "batches", "bytes_max"),
    [(1, 1, 20_000, 24), (1, 8, 20_000, 24), (100, 1, 20_000, 2.3), (1_000, 1, 4_000, 2.3),
     (1_000, 8, 2_000, 10.35), (10_000, 1, 400, 2.3), (10_000, 8, 150, 10.35)],
)  # fmt: skip
def test_a_store_takes_little_more_room_than_its_examples(
    tmp_path: Path, batch: int, width: int, batches: int, bytes_max: float
) -> None:
    """At most 1.15 times what examples in batches have, and 24 bytes for one at a time."""
    path = make_store(tmp_path / "store")
    empty = size(path)
    x, y = os.urandom(batch * width), bytes(batch)
    with Store.open(path) as store:
        step = min(500, 1_000_000 // (len(x) + len(y)))
        for start in range(0, batches, step):
            store.append(
                [
                    NewRecord(STREAM, "tower", number * batch, batch, x, y)
                    for number in range(start, min(start + step, batches))
                ]
            )
            pack_all(store)
    assert (size(path) - empty) / (batch * batches) <= bytes_max


def size(path: Path) -> int:
    """Bytes that the disk has for a store, or that it says it has, whichever is more."""
    files = [path / "store.sqlite", *path.glob("columns-*")]
    return max(
        sum(each.stat().st_size for each in files),
        sum(512 * each.stat().st_blocks for each in files),
    )
