"""Reading what is stored; every chain is checked on the way, whoever reads.

Reading takes many short transactions instead of a long one, so that the write-ahead log can begin
anew while somebody reads a long journal. Rows are only ever added, so this makes no difference.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from struct import error as struct_error
from typing import Any

import apsw

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.limits import STORE_READ_BYTES_MAX, STORE_READ_ROWS_MAX
from littled.store.database import NUMBER_BITS, Facts, Readers, StreamFacts, record_key
from littled.store.errors import StoreDamaged
from littled.store.mark import HighWaterMark, Point, StreamMark
from littled.store.records import (
    Record,
    StoredRelease,
    ledger_genesis,
    ledger_head,
    record_head,
    release_genesis,
    release_head,
    snapshot_checksum,
)

Row = tuple[Any, ...]
_END = (1 << 63) - 1

_RECORDS = """
SELECT records.key, first_position, count, sequence, producers.name, x, y, head,
    length(x) + length(y)
FROM records LEFT JOIN producers ON producers.id = records.producer
WHERE key > ? AND key <= ? ORDER BY key
"""
_LEDGER = """
SELECT number, entry, head, length(entry) FROM ledger
WHERE stream = ? AND number > ? AND number <= ? ORDER BY number
"""
_LAST_RECORD = "SELECT max(key) FROM records WHERE key >= ? AND key < ?"
_LAST_ENTRY = "SELECT max(number) FROM ledger WHERE stream = ?"
_LAST_RELEASES = "SELECT learner, max(version) FROM releases GROUP BY learner"
_ALL_PRODUCERS = "SELECT stream, name, next_sequence FROM producers"
_RELEASES = """
SELECT version, body, charge, head, length(body) FROM releases
WHERE learner = ? AND version > ? AND version <= ? ORDER BY version
"""


@dataclass(frozen=True, slots=True)
class Extent:
    """How far everything had come at one moment.

    records, entries: last number by stream, -1 before the first. releases: last version by learner.
    producers: next sequence number by stream and producer.
    """

    records: Mapping[str, int]
    entries: Mapping[str, int]
    releases: Mapping[str, int]
    producers: Mapping[tuple[str, str], int]


class History:
    """Everything in a store, for any thread."""

    def __init__(self, readers: Readers, facts: Facts) -> None:
        """Read through `readers` what belongs to `facts`."""
        self._readers = readers
        self._facts = facts

    # -- the journal -------------------------------------------------------------------------

    def records(self, stream: str, after: int = -1, last: int | None = None) -> Iterator[Record]:
        """Records of a stream after number `after`, to number `last` or as far as there are any.

        Raises StoreDamaged at the first that does not continue the chain; KeyError: no such stream.
        """
        facts = self._facts.streams[stream]
        end = record_key(facts.identity, (1 << NUMBER_BITS) - 1 if last is None else last)
        start = self.record_point(stream, after)
        if start is None:
            return
        number, (head, position) = after, start
        while rows := self._rows(_RECORDS, (record_key(facts.identity, number), end)):
            for row in rows:
                record = _record(stream, facts, number + 1, position, head, row)
                number, position, head = record.number, position + record.count, record.chain_head
                yield record

    def record_point(self, stream: str, number: int) -> tuple[bytes, int] | None:
        """Stored head after a record, and the position that follows it; None without the record."""
        facts = self._facts.streams[stream]
        if number < 0:
            return facts.genesis, 0
        found = self._one(
            "SELECT head, first_position + count FROM records WHERE key = ?",
            (record_key(facts.identity, number),),
        )
        return None if found is None else (_head(found[0], stream), _integer(found[1], stream))

    def last_record(self, stream: str) -> int:
        """Number of the last record, -1 before the first."""
        with self._readers.lend() as connection:
            return _last_record(connection, self._facts.streams[stream].identity)

    def producer(self, stream: str, producer: str) -> tuple[int, int] | None:
        """Identity and next sequence number of a producer, None for one never seen."""
        found = self._one(
            "SELECT id, next_sequence FROM producers WHERE stream = ? AND name = ?",
            (self._facts.streams[stream].identity, producer),
        )
        return None if found is None else (_integer(found[0], stream), _integer(found[1], stream))

    # -- the ledger --------------------------------------------------------------------------

    def ledger(
        self, stream: str, after: int = -1, last: int | None = None
    ) -> Iterator[LedgerEntry]:
        """Entries of a stream after number `after`, to number `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        start = self.ledger_point(stream, after)
        if start is None:
            return
        number, head = after, start
        identity, end = self._facts.streams[stream].identity, _END if last is None else last
        while rows := self._rows(_LEDGER, (identity, number, end)):
            for row in rows:
                number += 1
                entry, head = _entry(stream, number, head, row)
                yield entry

    def ledger_point(self, stream: str, number: int) -> bytes | None:
        """Stored head after a ledger entry; None without the entry."""
        facts = self._facts.streams[stream]
        if number < 0:
            return ledger_genesis(facts.genesis)
        found = self._one(
            "SELECT head FROM ledger WHERE stream = ? AND number = ?", (facts.identity, number)
        )
        return None if found is None else _head(found[0], stream)

    def season_spent(self, stream: str, season: int | None = None) -> tuple[int, Price, Point]:
        """A season (None: the last), the sum of its prices, and the ledger's last place.

        The entries that count are checked from the season's begin to the ledger's end.
        """
        identity = self._facts.streams[stream].identity
        with self._readers.lend() as connection:
            begin = last = _last_entry(connection, identity)
        while begin >= 0:
            found = self._one(
                "SELECT entry FROM ledger WHERE stream = ? AND number = ?", (identity, begin)
            )
            entry = _parsed(stream, begin, b"" if found is None else found[0])
            season = entry.season if season is None else season
            if entry.season < season:
                break
            begin -= 1
        spent, number = Price.zero(), begin
        for entry in self.ledger(stream, begin):
            number = entry.number
            spent = spent + entry.price if entry.season == season else spent
        head = self.ledger_point(stream, number)
        if head is None or number < last:
            raise StoreDamaged(f"the ledger of {stream} breaks off: put back a backup")
        return season or 0, spent, Point(number, head)

    # -- releases ----------------------------------------------------------------------------

    def learners(self) -> list[str]:
        """Learners ("stream/learner") with at least one release."""
        rows = self._all("SELECT DISTINCT learner FROM releases ORDER BY learner", ())
        return [_text(row[0]) for row in rows]

    def releases(
        self, learner: str, since: int = 0, last: int | None = None
    ) -> Iterator[StoredRelease]:
        """Releases of a learner after version `since`, to `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        head = self.release_point(learner, since)
        if head is None:
            return
        version, end = since, _END if last is None else last
        while rows := self._rows(_RELEASES, (learner, version, end)):
            for row in rows:
                version += 1
                release, head = _release(learner, version, head, row)
                yield release

    def release_point(self, learner: str, version: int) -> bytes | None:
        """Stored head after a release; None without it."""
        stream = learner.partition("/")[0]
        if version <= 0:
            return release_genesis(self._facts.streams[stream].genesis, learner)
        found = self._one(
            "SELECT head FROM releases WHERE learner = ? AND version = ?", (learner, version)
        )
        return None if found is None else _head(found[0], stream)

    def last_release(self, learner: str) -> int:
        """Version of a learner's last release, 0 before the first."""
        found = self._one("SELECT max(version) FROM releases WHERE learner = ?", (learner,))
        return 0 if found is None or found[0] is None else _integer(found[0], learner)

    # -- snapshots ---------------------------------------------------------------------------

    def snapshot(self, stream: str) -> tuple[int, bytes] | None:
        """The newest snapshot whose checksum fits and whose record is stored, None without one."""
        for number, state in self._snapshots(stream):
            if state is not None:
                return number, state
        return None

    def damaged_snapshots(self, stream: str) -> list[int]:
        """Record numbers of the snapshots that `snapshot` passes over."""
        return [number for number, state in self._snapshots(stream) if state is None]

    def _snapshots(self, stream: str) -> Iterator[tuple[int, bytes | None]]:
        """Record number and state of each snapshot, newest first; None for a damaged state."""
        identity = self._facts.streams[stream].identity
        numbers = self._all(
            "SELECT record_number FROM snapshots WHERE stream = ? ORDER BY record_number DESC",
            (identity,),
        )
        for (found,) in numbers:
            number = _integer(found, stream)
            row = self._one(
                "SELECT state, checksum FROM snapshots WHERE stream = ? AND record_number = ?",
                (identity, number),
            )
            point = self.record_point(stream, number)
            if row is None:
                continue  # replaced by a newer one meanwhile
            state, checksum = row
            sound = (
                point is not None
                and isinstance(state, bytes)
                and checksum == snapshot_checksum(point[0], number, state)
            )
            yield number, state if sound else None

    # -- how far it has come -----------------------------------------------------------------

    def stream_mark(self, stream: str) -> StreamMark:
        """How far a stream has come. StoreDamaged when its last rows contradict each other."""
        number = self.last_record(stream)
        point = self.record_point(stream, number)
        if point is None:
            raise StoreDamaged(f"the journal of {stream} breaks off: put back a backup")
        season, spent, ledger = self.season_spent(stream)
        return StreamMark(
            genesis=self._facts.streams[stream].genesis,
            journal=Point(number, point[0]),
            position=point[1],
            ledger=ledger,
            season=season,
            spent=spent,
        )

    def release_mark(self, learner: str) -> Point:
        """How far a learner's releases have come."""
        version = self.last_release(learner)
        head = self.release_point(learner, version)
        if head is None:
            raise StoreDamaged(f"the releases of {learner} break off: put back a backup")
        return Point(version, head)

    def behind(self, mark: HighWaterMark) -> list[str]:
        """What the mark promises and the store does not have, a sentence each."""
        if mark.instance != self._facts.instance:
            return ["the high-water mark belongs to another store: put back the mark of this one"]
        findings = []
        for stream, each in mark.streams.items():
            facts = self._facts.streams.get(stream)
            if facts is None or facts.genesis != each.genesis:
                findings.append(f"stream {stream} is not the one that the high-water mark knows")
            else:
                findings += self._stream_behind(stream, each)
        for learner, point in mark.releases.items():
            if learner.partition("/")[0] not in self._facts.streams:
                findings.append(f"learner {learner} of the high-water mark has no stream")
            elif self.release_point(learner, point.number) != point.head:
                findings.append(
                    f"release {point.number} of {learner}, which the high-water mark knows, is "
                    "missing or another one"
                )
        return findings

    def _stream_behind(self, stream: str, mark: StreamMark) -> Iterator[str]:
        known = f"of {stream}, which the high-water mark knows, is missing or another one"
        if self.record_point(stream, mark.journal.number) != (mark.journal.head, mark.position):
            yield f"record {mark.journal.number} {known}"
        if self.ledger_point(stream, mark.ledger.number) != mark.ledger.head:
            yield f"ledger entry {mark.ledger.number} {known}"
        elif mark.ledger.number >= 0:
            _, spent, _ = self.season_spent(stream, mark.season)
            if not mark.spent.fits_in(spent):
                yield f"season {mark.season} of {stream} has spent less than its high-water mark"

    # -- everything at one moment ------------------------------------------------------------

    def extent(self) -> Extent:
        """How far everything has come; what a daemon adds meanwhile is left out as a whole."""
        names = {each.identity: name for name, each in self._facts.streams.items()}
        with self._readers.lend() as connection:
            connection.execute("BEGIN")
            records = {name: _last_record(connection, each) for each, name in names.items()}
            entries = {name: _last_entry(connection, each) for each, name in names.items()}
            releases: list[Any] = connection.execute(_LAST_RELEASES).fetchall()
            producers: list[Any] = connection.execute(_ALL_PRODUCERS).fetchall()
            connection.execute("COMMIT")
        if any(row[0] not in names for row in producers):
            raise StoreDamaged("a producer feeds a stream that does not exist: put back a backup")
        return Extent(
            records=records,
            entries=entries,
            releases={_text(learner): _integer(last, "releases") for learner, last in releases},
            producers={
                (names[each], _text(name)): _integer(following, names[each])
                for each, name, following in producers
            },
        )

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with its own file, shortened; reads all of it."""
        with self._readers.lend() as connection:
            rows = connection.execute("PRAGMA integrity_check(10)").fetchall()
        found = [str(row[0]) for row in rows]
        return [] if found == ["ok"] else found

    # -- rows --------------------------------------------------------------------------------

    def _one(self, statement: str, values: Row) -> Row | None:
        rows = self._all(statement, values)
        return rows[0] if rows else None

    def _all(self, statement: str, values: Row) -> list[Row]:
        with self._readers.lend() as connection:
            return connection.execute(statement, values).fetchall()

    def _rows(self, statement: str, values: Row) -> list[Row]:
        """Rows of one reading transaction; the last column is a row's size in bytes."""
        rows: list[Row] = []
        room = STORE_READ_BYTES_MAX
        with self._readers.lend() as connection:
            cursor: apsw.Cursor = connection.execute(statement, values)
            with closing(cursor):
                for row in cursor:
                    rows.append(row)
                    room -= row[-1] if isinstance(row[-1], int) else 0
                    if room <= 0 or len(rows) >= STORE_READ_ROWS_MAX:
                        break
        return rows


def _last_record(connection: apsw.Connection, stream: int) -> int:
    ends = record_key(stream, 0), record_key(stream + 1, 0)
    found = connection.execute(_LAST_RECORD, ends).fetchall()[0][0]
    return found - ends[0] if isinstance(found, int) else -1


def _last_entry(connection: apsw.Connection, stream: int) -> int:
    found = connection.execute(_LAST_ENTRY, (stream,)).fetchall()[0][0]
    return found if isinstance(found, int) else -1


# --- from a row to a value ------------------------------------------------------------------------


def _record(
    stream: str, facts: StreamFacts, number: int, position: int, head: bytes, row: Row
) -> Record:
    """The record of a row, if it is the one that continues the chain."""
    key, first_position, count, sequence, producer, x, y, stored, _ = row
    try:
        after = record_head(head, number, position, count, sequence, producer, x, y)
        sound = key == record_key(facts.identity, number) and first_position == position
    except (TypeError, AttributeError, struct_error):
        sound = False
    if not sound or after != stored:
        raise StoreDamaged(
            f"the journal of {stream} is damaged at record {number}: put back a backup"
        )
    return Record(stream, number, position, producer, sequence, count, x, y, stored)


def _entry(stream: str, number: int, head: bytes, row: Row) -> tuple[LedgerEntry, bytes]:
    found, data, stored, _ = row
    entry = _parsed(stream, number, data)
    if found != number or stored != ledger_head(head, data):
        raise StoreDamaged(
            f"the ledger of {stream} is damaged at entry {number}: put back a backup"
        )
    return entry, stored


def _parsed(stream: str, number: int, data: Any) -> LedgerEntry:
    try:
        entry = LedgerEntry.from_bytes(data)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise StoreDamaged(
            f"the ledger of {stream} cannot be read at entry {number}: put back a backup"
        ) from error
    if entry.stream != stream or entry.number != number:
        raise StoreDamaged(f"entry {number} of the ledger of {stream} belongs elsewhere")
    return entry


def _release(learner: str, version: int, head: bytes, row: Row) -> tuple[StoredRelease, bytes]:
    found, body, charge, stored, _ = row
    release = StoredRelease(learner, version, body, charge)
    try:
        sound = found == version and stored == release_head(head, release)
    except (TypeError, struct_error):
        sound = False
    if not sound:
        raise StoreDamaged(
            f"the releases of {learner} are damaged at version {version}: put back a backup"
        )
    return release, stored


def _head(value: Any, stream: str) -> bytes:
    if not isinstance(value, bytes):
        raise StoreDamaged(f"a head in the chains of {stream} is damaged: put back a backup")
    return value


def _integer(value: Any, stream: str) -> int:
    if not isinstance(value, int):
        raise StoreDamaged(f"a number among the rows of {stream} is damaged: put back a backup")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise StoreDamaged("the name of a learner or producer is damaged: put back a backup")
    return value
