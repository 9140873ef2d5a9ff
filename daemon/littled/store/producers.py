"""Whether the table of producers says what the journal says.

Where a producer goes on decides which of its examples are new. The journal says it: behind its last
record, and not below what the restores since have left out. The table `producers` says it at once,
and so that nobody has to believe the table, a checksum of each stream's rows is kept, bound to the
head of the journal at that moment. With every snapshot comes a new one. A store that is about to be
served takes its rows back to the checksum's record, by the few records since, and compares. Where
that does not fit, or there is no checksum, the whole journal decides. Why nothing goes unnoticed:
PRIVACY.md, "Crashes" in section 7.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from struct import Struct
from typing import Any

from littled.limits import REPLAY_REPORT_RECORDS
from littled.store.database import Connection, add_checksums, has_checksums
from littled.store.errors import StoreDamaged
from littled.store.history import History
from littled.store.mark import Point
from littled.store.records import Record
from littled.store.restoration import RESTORER, Restoration

_CHECKSUM = """
SELECT record_number, last_producer, checksum FROM producer_checksums WHERE stream = ?
"""
_PUT_CHECKSUM = """
INSERT INTO producer_checksums VALUES (?, ?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET record_number = excluded.record_number,
    last_producer = excluded.last_producer, checksum = excluded.checksum
"""
_ROWS = "SELECT id, name, next_sequence FROM producers WHERE stream = ? ORDER BY id"
_LAST_PRODUCER = "SELECT coalesce(max(id), 0) FROM producers"
_HASH = blake2b(digest_size=32, person=b"littled producer")
# number of the record, last producer; identity of a producer, its number, bytes of its name
_START = Struct(">qQ")
_ROW = Struct(">QQQ")

Row = tuple[int, str, int]
"""Identity, name and next sequence number of a producer."""


@dataclass(slots=True)
class Sequences:
    """Where each producer of a journal stands, record after record.

    following: the next number of each producer. first: that of a producer not seen yet. restores:
    how many there were.
    """

    following: dict[str, int] = field(default_factory=dict)
    first: int = 0
    restores: int = 0

    def add(self, record: Record) -> bool:
        """Take a record with examples; whether it continues its producer's sequence."""
        continues = record.sequence == self.following.get(record.producer, self.first)
        self.following[record.producer] = record.sequence + record.count
        return continues

    def restore(self, restoration: Restoration) -> None:
        """Take a restore."""
        for name, number in self.following.items():
            self.following[name] = max(number, restoration.numbers.bound(name))
        for name, number in restoration.numbers.named.items():
            if number:
                self.following.setdefault(name, number)
        self.first = max(self.first, restoration.numbers.others)
        self.restores += 1

    def table(self) -> dict[str, int]:
        """What the table of producers has to say."""
        return self.following | ({RESTORER: self.restores} if self.restores else {})

    def agrees(self, known: Mapping[str, int]) -> bool:
        """Whether that is what a table of producers says."""
        return dict(known) == self.table()


class TrustedSequences(Sequences):
    """The same from the middle of a journal: whoever was seen before is believed to go on.

    Of producers without a record since, nothing is known but what the table says.
    """

    def add(self, record: Record) -> bool:
        """Take a record with examples; the first of each producer is believed."""
        self.following.setdefault(record.producer, record.sequence)
        return super().add(record)

    def restore(self, restoration: Restoration) -> None:
        """Take a restore."""
        for name, number in self.following.items():
            self.following[name] = max(number, restoration.numbers.bound(name))
        self.restores += 1

    def agrees(self, known: Mapping[str, int]) -> bool:
        """Whether a table of producers says the same of whoever has records since."""
        return all(known.get(name) == number for name, number in self.table().items())


@dataclass(frozen=True, slots=True)
class _Stored:
    """Rows of a stream and their checksum at one moment, when `last` was the last record.

    number: of the record that the checksum is bound to, None without one. last_producer: the last
    identity that was given to any producer then.
    """

    rows: list[Row]
    last: int
    number: int | None = None
    last_producer: int = 0
    checksum: bytes = b""


class ProducerCheck:
    """Compares a stream's producers with its journal."""

    def __init__(self, history: History, stream: str, identity: int) -> None:
        """Read what is stored about a stream's producers at this moment. Raises StoreError."""
        self._history = history
        self._stream = stream
        with history.rows.reading() as connection:
            self._stored = _read(connection, identity, history.journal.last_in(connection, stream))

    @property
    def has_checksum(self) -> bool:
        """Whether there is a checksum; stores from before there were any lack it."""
        return self._stored.number is not None

    def fits(
        self, after: int | None = None, read: Callable[[Record], None] = lambda _: None
    ) -> bool:
        """Whether checksum, rows and the records since agree.

        after: also check the chain of the journal behind this record. read: called with each record
        that was read and checked. Raises StoreDamaged where the chain is broken.
        """
        number = self._stored.number
        point = None if number is None else self._history.journal.record_point(self._stream, number)
        if after is None:
            after = self._stored.last if number is None else number
        start = after if number is None else min(after, number)
        since = _Since()
        for record in self._history.journal.records(self._stream, start, self._stored.last):
            read(record)
            if number is not None and record.number > number:
                since.add(record)
        return (
            number is not None
            and point is not None
            and since.sound
            and self._rows_fit(since, Point(number, point[0]))
        )

    def _rows_fit(self, since: "_Since", point: Point) -> bool:
        stored = self._stored
        current = {name: number for _, name, number in stored.rows}
        if any(current.get(name) != number for name, number in since.following.items()):
            return False
        if current.get(RESTORER, 0) != len(self._history.restores.of(self._stream)):
            return False
        new = {name for identity, name, _ in stored.rows if identity > stored.last_producer}
        first = self._history.restores.first_number(self._stream)
        if any(since.before.get(name) != first for name in new):
            return False
        before = (
            (identity, name, since.before.get(name, number))
            for identity, name, number in stored.rows
            if name not in new
        )
        return checksum(point, stored.last_producer, before) == stored.checksum

    def agrees(self, progress: Callable[[], None] = lambda: None) -> bool:
        """Whether the rows are what the whole journal leads to; it is read and checked for that.

        progress: called every so many records. Raises StoreDamaged where the chain is broken.
        """
        sequences, continues = Sequences(), True
        noted = {
            record.number: restoration
            for record, restoration in self._history.restores.of(self._stream)
        }
        for record in self._history.journal.records(self._stream, -1, self._stored.last):
            if record.number % REPLAY_REPORT_RECORDS == 0:
                progress()
            if record.restores:
                continues &= record.number in noted
                if record.number in noted:
                    sequences.restore(noted[record.number])
            else:
                continues &= sequences.add(record)
        rows = {name: number for _, name, number in self._stored.rows}
        return continues and rows == sequences.table()


class _Since:
    """What the records after a checksum say.

    before: where each producer stood that has records among them. following: where it stands now.
    sound: whether each continues its producer's sequence, and none is a restore.
    """

    def __init__(self) -> None:
        self.before: dict[str, int] = {}
        self.following: dict[str, int] = {}
        self.sound = True

    def add(self, record: Record) -> None:
        """Take the next record."""
        name = record.producer
        self.before.setdefault(name, record.sequence)
        continues = self.following.get(name, record.sequence) == record.sequence
        self.following[name] = record.sequence + record.count
        self.sound = self.sound and continues and not record.restores


def checksum(point: Point, last_producer: int, rows: Iterable[Row]) -> bytes:
    """Checksum of a stream's rows, in the order of identities, after a record of its journal.

    point: number and head of that record. last_producer: see `_Stored`.
    """
    digest = _HASH.copy()
    digest.update(point.head + _START.pack(point.number, last_producer))
    digest.update(
        b"".join(
            [
                _ROW.pack(identity, number, len(text := name.encode())) + text
                for identity, name, number in rows
            ]
        )
    )
    return digest.digest()


def put_checksum(connection: Connection, identity: int, point: Point) -> None:
    """Store the checksum of a stream's producers as they are, inside a transaction.

    point: number and head of the last record of its journal.
    """
    add_checksums(connection)
    last: Any = connection.execute(_LAST_PRODUCER).fetchall()[0][0]
    rows = _checked(connection.execute(_ROWS, (identity,)).fetchall())
    values = (identity, point.number, last, checksum(point, last, rows))
    connection.execute(_PUT_CHECKSUM, values)


def _read(connection: Connection, identity: int, last: int) -> _Stored:
    rows = list(_checked(connection.execute(_ROWS, (identity,)).fetchall()))
    found: list[Any] = []
    if has_checksums(connection):
        found = connection.execute(_CHECKSUM, (identity,)).fetchall()
    if not found:
        return _Stored(rows, last)
    number, last_producer, stored = found[0]
    if number < -1 or last_producer < 0:
        return _Stored(rows, last, -1)  # fits nothing
    return _Stored(rows, last, number, last_producer, stored)


def _checked(rows: Iterable[Any]) -> Iterator[Row]:
    for identity, name, number in rows:
        if not isinstance(name, str) or min(identity, number) < 0:
            raise StoreDamaged("a row of the producers is damaged: put back a backup")
        yield identity, name, number
