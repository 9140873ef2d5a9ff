"""Reading what is stored; every chain is checked on the way, whoever reads.

Reading takes many short transactions instead of a long one, so that the write-ahead log can begin
anew while somebody reads a long journal. Rows are only ever added, so this makes no difference.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from struct import error as struct_error
from typing import Any

import apsw

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.limits import STORE_READ_BYTES_MAX, STORE_READ_ROWS_MAX
from littled.store.archive import Archive, StoreArchived
from littled.store.database import (
    CHECKSUMS,
    NUMBER_BITS,
    Facts,
    Readers,
    StreamFacts,
    has_archived,
    has_checksums,
    has_predictions,
    has_restores,
    has_segments,
    record_key,
)
from littled.store.errors import StoreDamaged
from littled.store.journal import Journal
from littled.store.mark import HighWaterMark, Numbers, Point, StreamMark
from littled.store.records import (
    Record,
    StoredPrediction,
    StoredRelease,
    ledger_genesis,
    ledger_head,
    prediction_genesis,
    prediction_head,
    question_head,
    release_genesis,
    release_head,
    snapshot_checksum,
)
from littled.store.restoration import RESTORER, Restoration

Row = tuple[Any, ...]
_END = (1 << 63) - 1

_LEDGER = """
SELECT number, entry, head, length(entry) FROM ledger
WHERE stream = ? AND number > ? AND number <= ? ORDER BY number
"""
# An entry for answers ends with its window, which no other entry has (`LedgerEntry.to_bytes`).
_OWN_ENTRIES = """
SELECT number, entry, head, length(entry) FROM ledger
WHERE stream = ? AND number < ? AND instr(substr(entry, -31), CAST(',"window":' AS BLOB)) = 0
ORDER BY number DESC
"""
_PREDICTIONS = """
SELECT key, learner, window, record, request, count, x, y, charge, head,
    length(x) + length(y) + 200
FROM predictions WHERE key > ? AND key <= ? ORDER BY key
"""
_PREDICTION = "SELECT key FROM predictions WHERE learner = ? AND request = ?"
_OF_WINDOW = "SELECT min(key), max(key) FROM predictions WHERE learner = ? AND window = ?"
_ANSWERS = "SELECT sum(count) FROM predictions WHERE learner = ? AND window = ?"
_LAST_PREDICTION = "SELECT max(key) FROM predictions WHERE key >= ? AND key < ?"
_RESTORES = "SELECT key FROM restores WHERE key >= ? AND key < ? ORDER BY key"
_RELEASE_UP_TO = """
SELECT version, head FROM releases WHERE learner = ? AND version <= ? ORDER BY version DESC LIMIT 1
"""
_LAST_ENTRY = "SELECT max(number) FROM ledger WHERE stream = ?"
_LAST_RELEASES = "SELECT learner, max(version) FROM releases GROUP BY learner"
_STRAYS = "SELECT count(*) FROM {} WHERE {} NOT IN (SELECT id FROM streams)"
_OF_KEY = f"key >> {NUMBER_BITS}"
_OF_STREAM = "stream"
_ALL_PRODUCERS = "SELECT stream, name, next_sequence FROM producers"
_RELEASES = """
SELECT version, body, charge, head, length(body) FROM releases
WHERE learner = ? AND version > ? AND version <= ? ORDER BY version
"""


@dataclass(frozen=True, slots=True)
class Extent:
    """How far everything had come at one moment.

    records, entries, predictions: last number by stream, -1 before the first. releases: last
    version by learner. producers: next sequence number by stream and producer.
    """

    records: Mapping[str, int]
    entries: Mapping[str, int]
    predictions: Mapping[str, int]
    releases: Mapping[str, int]
    producers: Mapping[tuple[str, str], int]


class History:
    """Everything in a store, for any thread."""

    def __init__(self, readers: Readers, facts: Facts, archive: Archive | None = None) -> None:
        """Read through `readers` what belongs to `facts`; `archive` has what was moved there."""
        self._readers = readers
        self._facts = facts
        self.journal = Journal(readers, facts, archive)
        self._asked = False
        self._summed: dict[str, tuple[int, Price, Point]] = {}
        self._restores: dict[str, list[tuple[Record, Restoration]]] = {}

    @property
    def readers(self) -> Readers:
        """The connections for reading."""
        return self._readers

    # -- the journal -------------------------------------------------------------------------

    def records(self, stream: str, after: int = -1, last: int | None = None) -> Iterator[Record]:
        """Records of a stream after number `after`, to number `last` or as far as there are any.

        Raises StoreDamaged at the first that does not continue the chain; KeyError: no such stream.
        """
        return self.journal.records(stream, after, last)

    def record_point(self, stream: str, number: int) -> tuple[bytes, int] | None:
        """Stored head after a record, and the position that follows it; None without the record."""
        return self.journal.record_point(stream, number)

    def last_record(self, stream: str) -> int:
        """Number of the last record, -1 before the first."""
        return self.journal.last_record(stream)

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position; None when there is none."""
        return self.journal.record_at(stream, position)

    def restores(self, stream: str) -> list[tuple[Record, Restoration]]:
        """The records by which a stream went on from an older copy, and what they say.

        Each is checked against the head before it. They are read once.
        """
        if stream not in self._restores:
            self._restores[stream] = list(self._read_restores(stream))
        return self._restores[stream]

    def _read_restores(self, stream: str) -> Iterator[tuple[Record, Restoration]]:
        identity = self._facts.streams[stream].identity
        ends = record_key(identity, 0), record_key(identity + 1, 0)
        with self._readers.lend() as connection:
            rows: list[Row] = []
            if has_restores(connection):
                rows = connection.execute(_RESTORES, ends).fetchall()
        for (key,) in rows:
            number = _integer(key, stream) - ends[0]
            found = self.journal.kept(stream, number)
            if found is None or not found.restores:
                raise StoreDamaged(f"record {number} of {stream} is no restore: put back a backup")
            yield found, _restoration(found)

    def producer(self, stream: str, producer: str) -> tuple[int, int] | None:
        """Identity and next sequence number of a producer, None for one never seen."""
        found = self._one(
            "SELECT id, next_sequence FROM producers WHERE stream = ? AND name = ?",
            (self._facts.streams[stream].identity, producer),
        )
        return None if found is None else (_integer(found[0], stream), _integer(found[1], stream))

    def numbers(self, stream: str) -> Numbers:
        """How far the producers of a stream have come, as a high-water mark says it."""
        return Numbers({}).raised(self.producers(stream))

    def producers(self, stream: str) -> dict[str, int]:
        """Next sequence number of each producer that was ever seen on a stream, oldest first."""
        identity = self._facts.streams[stream].identity
        rows = self._all(
            "SELECT name, next_sequence FROM producers WHERE stream = ? ORDER BY id", (identity,)
        )
        known = {_text(name): _integer(following, stream) for name, following in rows}
        known.pop(RESTORER, None)
        return known

    def last_record_in(self, connection: apsw.Connection, stream: str) -> int:
        """Number of the last record in a reading transaction, -1 before the first."""
        return self.journal.last_in(connection, stream)

    def first_number(self, stream: str) -> int:
        """Where a producer begins that was never seen: it may have sent what a restore has lost."""
        return max((said.numbers.others for _, said in self.restores(stream)), default=0)

    def lost_versions(self, stream: str) -> dict[str, int]:
        """Versions of a stream's learners above which restores have let them go on."""
        found: dict[str, int] = {}
        for _, said in self.restores(stream):
            for learner, version in said.versions.items():
                found[learner] = max(version, found.get(learner, 0))
        return found

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

        Answers do not count, as their season has paid for them. Each entry that counts is checked
        against the head before it, and so is the last one.
        """
        identity = self._facts.streams[stream].identity
        with self._readers.lend() as connection:
            last = _last_entry(connection, identity)
        if len(list(self.ledger(stream, last - 1, last))) != min(last + 1, 1):
            raise StoreDamaged(f"the ledger of {stream} has a gap: put back a backup")
        # A season has few different prices, whose sums of fractions take a while.
        prices: Counter[Price] = Counter()
        end, more = last + 1, True
        newest: int | None = None
        while more and (rows := self._rows(_OWN_ENTRIES, (identity, end))):
            for row, before in zip_longest(rows, rows[1:]):
                end, entry = row[0], self._own_entry(stream, row, before)
                newest = entry.season if newest is None else newest
                season = newest if season is None else season
                more = entry.season >= season
                if entry.season == season:
                    prices[entry.price] += 1
        head = self.ledger_point(stream, last)
        if head is None:
            raise StoreDamaged(f"the ledger of {stream} breaks off: put back a backup")
        spent = sum((price * count for price, count in prices.items()), start=Price.zero())
        found = season or 0, spent, Point(last, head)
        if newest == season:
            self._summed[stream] = found
        return found

    def _season_summed(self, stream: str) -> tuple[int, Price, Point]:
        """The last season's spend, which who opens a store has asked for a moment ago.

        It is summed again unless the ledger ends where it ended then, and always the next time.
        """
        found = self._summed.pop(stream, None)
        if found is not None:
            with self._readers.lend() as connection:
                last = _last_entry(connection, self._facts.streams[stream].identity)
            if found[2] == Point(last, self.ledger_point(stream, last) or b""):
                return found
        return self.season_spent(stream)

    def _own_entry(self, stream: str, row: Row, before: Row | None) -> LedgerEntry:
        """The entry of a row, checked against the head before it.

        before: the row of another entry, which mostly is the one before.
        """
        number = _integer(row[0], stream)
        if before is not None and before[0] == number - 1:
            head: bytes | None = _head(before[2], stream)
        else:
            head = self.ledger_point(stream, number - 1)
        if head is None:
            raise StoreDamaged(f"the ledger of {stream} has a gap: put back a backup")
        return _entry(stream, number, head, row)[0]

    def charge_number(self, stream: str, own: int) -> int:
        """Number in the ledger of the entry `own`, counted from 0 without those for answers."""
        low, high = 0, self.last_prediction(stream) + 1
        while low < high:
            middle = (low + high) // 2
            found = self._one(
                "SELECT charge FROM predictions WHERE key = ?",
                (record_key(self._facts.streams[stream].identity, middle),),
            )
            if found is None:
                raise StoreDamaged(f"the predictions of {stream} have a gap: put back a backup")
            # so many other entries stand before this prediction's
            if _integer(found[0], stream) - middle <= own:
                low = middle + 1
            else:
                high = middle
        return own + low

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
        version, head = self._release_before(learner, since)
        end = _END if last is None else last
        left_out = self._versions_left_out(learner)
        while rows := self._rows(_RELEASES, (learner, max(version, since), end)):
            for row in rows:
                jumps = isinstance(row[0], int) and row[0] - 1 in left_out
                version = max(row[0], version + 1) if jumps else version + 1
                release, head = _release(learner, version, head, row)
                yield release

    def _release_before(self, learner: str, version: int) -> tuple[int, bytes]:
        """Version and stored head of the last release up to this version; 0 and its genesis.

        A subscriber may ask for what follows a version that a restore has left out.
        """
        stream = learner.partition("/")[0]
        found = self._one(_RELEASE_UP_TO, (learner, version))
        if found is None:
            return 0, release_genesis(self._facts.streams[stream].genesis, learner)
        return _integer(found[0], learner), _head(found[1], stream)

    def _versions_left_out(self, learner: str) -> set[int]:
        """Versions of a learner up to which restores have left some out."""
        stream = learner.partition("/")[0]
        return {
            said.versions[learner] for _, said in self.restores(stream) if learner in said.versions
        }

    def release_point(self, learner: str, version: int) -> bytes | None:
        """Stored head after a release; None without it."""
        found, head = self._release_before(learner, version)
        return head if found == max(version, 0) else None

    def last_release(self, learner: str) -> int:
        """Version of a learner's last release, 0 before the first."""
        found = self._one("SELECT max(version) FROM releases WHERE learner = ?", (learner,))
        return 0 if found is None or found[0] is None else _integer(found[0], learner)

    # -- predictions -------------------------------------------------------------------------

    def predictions(
        self, stream: str, after: int = -1, last: int | None = None
    ) -> Iterator[StoredPrediction]:
        """Predictions of a stream after number `after`, to `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        facts = self._facts.streams[stream]
        head = self.prediction_point(stream, after)
        if head is None or not self._has_predictions():
            return
        number, journal = after, (-1, b"")
        end = record_key(facts.identity, (1 << NUMBER_BITS) - 1 if last is None else last)
        while rows := self._rows(_PREDICTIONS, (record_key(facts.identity, number), end)):
            for row in rows:
                number += 1
                if row[3] != journal[0]:
                    journal = row[3], self._journal_head(stream, number, row[3])
                found = _prediction(stream, facts, number, head, journal[1], row)
                head = found.head
                yield found

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request to the learner "stream/learner"; None if nothing was.

        Checked against the head before it. KeyError: no such stream.
        """
        stream = learner.partition("/")[0]
        first = record_key(self._facts.streams[stream].identity, 0)
        if not self._has_predictions():
            return None
        found = self._one(_PREDICTION, (learner, request))
        if found is None:
            return None
        number = _integer(found[0], stream) - first
        for stored in self.predictions(stream, number - 1, number):
            if (stored.learner, stored.request) == (learner, request):
                return stored
        raise StoreDamaged(f"the predictions of {stream} are not in order: put back a backup")

    def prediction_point(self, stream: str, number: int) -> bytes | None:
        """Stored head after a prediction; None without it."""
        facts = self._facts.streams[stream]
        if number < 0:
            return prediction_genesis(facts.genesis)
        if not self._has_predictions():
            return None
        found = self._one(
            "SELECT head FROM predictions WHERE key = ?", (record_key(facts.identity, number),)
        )
        return None if found is None else _head(found[0], stream)

    def last_prediction(self, stream: str) -> int:
        """Number of the last prediction, -1 before the first."""
        identity = self._facts.streams[stream].identity
        if not self._has_predictions():
            return -1
        with self._readers.lend() as connection:
            return _last_prediction(connection, identity)

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window has answered; each prediction that counts is checked."""
        stream = learner.partition("/")[0]
        start = record_key(self._facts.streams[stream].identity, 0)
        if not self._has_predictions():
            return 0
        first, last = self._all(_OF_WINDOW, (learner, window))[0]
        if first is None:
            return 0
        between = self.predictions(
            stream, _integer(first, stream) - start - 1, _integer(last, stream) - start
        )
        return sum(
            each.count for each in between if (each.learner, each.window) == (learner, window)
        )

    def answers_counted(self, learner: str, window: int) -> int:
        """The same at once and unchecked, to be told to somebody, not to be relied on."""
        found = self._one(_ANSWERS, (learner, window)) if self._has_predictions() else None
        return 0 if found is None or found[0] is None else _integer(found[0], learner)

    def records_answered_from(self, stream: str) -> set[int]:
        """Numbers of the records that the predictions of a stream name."""
        identity = self._facts.streams[stream].identity
        if not self._has_predictions():
            return set()
        ends = record_key(identity, 0), record_key(identity + 1, 0)
        rows = self._all("SELECT DISTINCT record FROM predictions WHERE key >= ? AND key < ?", ends)
        return {_integer(row[0], stream) for row in rows}

    def _journal_head(self, stream: str, number: int, record: Any) -> bytes:
        """Head after the record that a prediction names."""
        point = self.record_point(stream, _integer(record, stream))
        if point is None or record < 0:
            raise StoreDamaged(
                f"prediction {number} of {stream} names a record that the journal does not have"
            )
        return point[0]

    def _has_predictions(self) -> bool:
        """Whether there is a table; once there, it stays."""
        if not self._asked:
            with self._readers.lend() as connection:
                self._asked = has_predictions(connection)
        return self._asked

    # -- snapshots ---------------------------------------------------------------------------

    def snapshot(self, stream: str) -> tuple[int, bytes] | None:
        """The newest snapshot whose checksum fits and whose record is stored, None without one."""
        for number, state in self._snapshots(stream):
            if state is not None:
                return number, state
        return None

    def oldest_snapshot(self, stream: str) -> int:
        """Record number of the oldest snapshot, -1 unless one can be used."""
        numbers = [number for number, _ in self._snapshots(stream)]
        return min(numbers) if self.snapshot(stream) is not None else -1

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
            point = self._snapshot_point(stream, number)
            if row is None:
                continue  # replaced by a newer one meanwhile
            state, checksum = row
            sound = (
                point is not None
                and isinstance(state, bytes)
                and checksum == snapshot_checksum(point[0], number, state)
            )
            yield number, state if sound else None

    def _snapshot_point(self, stream: str, number: int) -> tuple[bytes, int] | None:
        """Head after a snapshot's record; None where it cannot be a snapshot's."""
        try:
            return self.record_point(stream, number)
        except StoreArchived:
            return None  # nothing goes that a snapshot still names

    # -- how far it has come -----------------------------------------------------------------

    def stream_mark(self, stream: str) -> StreamMark:
        """How far a stream has come. StoreDamaged when its last rows contradict each other."""
        number = self.last_record(stream)
        point = self.record_point(stream, number)
        if point is None:
            raise StoreDamaged(f"the journal of {stream} breaks off: put back a backup")
        season, spent, ledger = self._season_summed(stream)
        self._summed.pop(stream, None)
        return StreamMark(
            genesis=self._facts.streams[stream].genesis,
            journal=Point(number, point[0]),
            position=point[1],
            ledger=ledger,
            season=season,
            spent=spent,
            predictions=self._prediction_mark(stream),
        )

    def _prediction_mark(self, stream: str) -> Point:
        number = self.last_prediction(stream)
        head = self.prediction_point(stream, number)
        if head is None:
            raise StoreDamaged(f"the predictions of {stream} break off: put back a backup")
        return Point(number, head)

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
        if self.prediction_point(stream, mark.predictions.number) != mark.predictions.head:
            yield f"prediction {mark.predictions.number} {known}"

    # -- everything at one moment ------------------------------------------------------------

    def extent(self) -> Extent:
        """How far everything has come; what a daemon adds meanwhile is left out as a whole."""
        names = {each.identity: name for name, each in self._facts.streams.items()}
        asked = self._has_predictions()
        with self._readers.lend() as connection:
            connection.execute("BEGIN")
            records = {name: self.last_record_in(connection, name) for name in names.values()}
            predictions = {
                name: _last_prediction(connection, each) if asked else -1
                for each, name in names.items()
            }
            entries = {name: _last_entry(connection, each) for each, name in names.items()}
            releases: list[Any] = connection.execute(_LAST_RELEASES).fetchall()
            producers: list[Any] = connection.execute(_ALL_PRODUCERS).fetchall()
            connection.execute("COMMIT")
        if any(row[0] not in names for row in producers):
            raise StoreDamaged("a producer feeds a stream that does not exist: put back a backup")
        return Extent(
            records=records,
            entries=entries,
            predictions=predictions,
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
        found = ["; ".join(str(row[0]).splitlines()) for row in rows]
        return [] if found == ["ok"] else found

    def strays(self) -> list[str]:
        """Rows that belong to no stream, which nothing reads, a sentence for each table."""
        tables = {"records": _OF_KEY, "ledger": _OF_STREAM, "snapshots": _OF_STREAM}
        with self._readers.lend() as connection:
            tables |= {"predictions": _OF_KEY} if has_predictions(connection) else {}
            tables |= {"restores": _OF_KEY} if has_restores(connection) else {}
            tables |= {CHECKSUMS: _OF_STREAM} if has_checksums(connection) else {}
            tables |= {"segments": _OF_KEY} if has_segments(connection) else {}
            if has_archived(connection):
                tables |= {"archived": _OF_KEY, "archived_points": _OF_KEY}
            counts = {
                table: connection.execute(_STRAYS.format(table, stream)).fetchall()[0][0]
                for table, stream in tables.items()
            }
        strays = [
            f"{count} rows of {table} belong to no stream"
            for table, count in counts.items()
            if count
        ]
        return strays + self.journal.stored_twice()

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


def _last_prediction(connection: apsw.Connection, stream: int) -> int:
    return _last_key(connection, stream, _LAST_PREDICTION)


def _last_key(connection: apsw.Connection, stream: int, statement: str) -> int:
    ends = record_key(stream, 0), record_key(stream + 1, 0)
    found = connection.execute(statement, ends).fetchall()[0][0]
    return found - ends[0] if isinstance(found, int) else -1


def _last_entry(connection: apsw.Connection, stream: int) -> int:
    found = connection.execute(_LAST_ENTRY, (stream,)).fetchall()[0][0]
    return found if isinstance(found, int) else -1


# --- from a row to a value ------------------------------------------------------------------------


def _restoration(record: Record) -> Restoration:
    """What a restore says."""
    try:
        return Restoration.from_record(record)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StoreDamaged(
            f"the restore in record {record.number} of {record.stream} cannot be read: put back a "
            "backup"
        ) from error


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


def _prediction(
    stream: str, facts: StreamFacts, number: int, head: bytes, journal_head: bytes, row: Row
) -> StoredPrediction:
    """The prediction of a row, if it is the one that continues the chain."""
    key, learner, window, record, request, count, x, y, charge, stored, _ = row
    try:
        question = question_head(head, journal_head, learner, number, window, request, count, x)
        sound = (
            key == record_key(facts.identity, number)
            and stored == prediction_head(question, y)
            and learner.partition("/")[0] == stream
        )
    except (TypeError, AttributeError, struct_error):
        sound = False
    if not sound:
        raise StoreDamaged(
            f"the predictions of {stream} are damaged at number {number}: put back a backup"
        )
    return StoredPrediction(
        learner, number, window, record, request, count, x, y, question, charge, stored
    )


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
