"""Reading the journal of a stream: records in rows of their own and records in segments.

Whoever reads gets the same records either way. A daemon may pack records while somebody reads: what
one transaction finds is whole, and the next one looks again for what follows.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from struct import error as struct_error
from typing import Any

import numpy as np

from littled.limits import (
    COLUMNS_BESIDE_RECORD_BYTES_MIN,
    SEGMENT_BYTES_MAX,
    SEGMENT_EXAMPLES_MAX,
    SEGMENT_RECORDS_MAX,
    STORE_READ_BYTES_MAX,
    STORE_READ_ROWS_MAX,
)
from littled.store.archive import Archive, Piece, StoreArchived, Stretch
from littled.store.columns import Span, Wanted
from littled.store.database import (
    NUMBER_BITS,
    Connection,
    Facts,
    Readers,
    Row,
    StreamFacts,
    has_archived,
    has_beside,
    has_segments,
    record_key,
)
from littled.store.errors import StoreDamaged
from littled.store.records import Record, continues
from littled.store.restoration import RESTORER
from littled.store.rows import head_of, integer_of, keys_of
from littled.store.segments import Loose, Segment, damaged, unpack
from littled_protocol.limits import user_bytes

_NUMBER_MAX = (1 << NUMBER_BITS) - 1

# Without a stream that protects users there is no column for them.
_NO_USERS = "substr(head, 1, 0)"
_RECORDS = """
SELECT records.key, first_position, count, sequence, producers.name, x, y, head, {users},
    records.producer, {span}
FROM records LEFT JOIN producers ON producers.id = records.producer {beside}
WHERE records.key > ? AND records.key <= ? ORDER BY records.key
"""
_LARGE = f"""
CASE WHEN length(x) + length(y) + length({{users}}) >= {COLUMNS_BESIDE_RECORD_BYTES_MIN}
    THEN substr(x, 1, 0) ELSE x END
"""
_SPAN = "beside.file, beside.start, beside.size"
_JOIN_BESIDE = "LEFT JOIN beside ON beside.key = records.key"
_POINT = "SELECT first_position, count, head FROM records WHERE key = ?"
_LAST_RECORD = "SELECT max(key) FROM records WHERE key >= ? AND key < ?"
_SEGMENT_COLUMNS = """
key, records, first_position, examples, head, producers, sequences, indices, counts, x, y, users
"""
# Of the segment that holds a record, if any does: the last that begins no later.
_SEGMENT = f"""
SELECT {_SEGMENT_COLUMNS} FROM segments WHERE key <= ?1 AND key >= ?2 ORDER BY key DESC LIMIT 1
"""  # noqa: S608
_EXTENT = """
SELECT key, records, first_position, examples, head FROM segments
WHERE key <= ?1 AND key >= ?2 ORDER BY key DESC LIMIT 1
"""
_NEXT_SEGMENT = "SELECT min(key) FROM segments WHERE key > ? AND key <= ?"
_NAMES = "SELECT id, name FROM producers WHERE id IN ({})"
_PLACELESS = "SELECT count(*) FROM beside WHERE key NOT IN (SELECT key FROM records)"
# What stands both in a row and in a segment, or in two segments.
_TWICE = """
SELECT count(*) FROM records AS one WHERE key < (
    SELECT key + records FROM segments WHERE segments.key <= one.key ORDER BY key DESC LIMIT 1)
"""
_OVERLAPS = """
SELECT count(*) FROM (
    SELECT key, lag(key + records) OVER (ORDER BY key) AS before FROM segments) AS pairs
WHERE before > key
"""
_ARCHIVED = """
SELECT key, last, first_position, end_position, examples, head, checksum FROM archived
WHERE key >= ? AND key < ? ORDER BY key
"""
_ARCHIVED_POINTS = """
SELECT key, first_position, end_position, head FROM archived_points WHERE key >= ? AND key < ?
"""
_ARCHIVED_POINT = "SELECT end_position, head FROM archived_points WHERE key = ?"
_ARCHIVED_AT = """
SELECT key FROM archived_points
WHERE key >= ? AND key < ? AND first_position <= ? AND end_position > ? ORDER BY key LIMIT 1
"""
# Restores stay where they were.
_STILL_THERE = """
SELECT (SELECT count(*) FROM records WHERE key >= ?1 AND key <= ?2 AND count > 0)
    + (SELECT count(*) FROM segments WHERE key >= ?1 AND key <= ?2)
"""


class Journal:
    """The journals of a store's streams, for any thread."""

    def __init__(self, readers: Readers, facts: Facts, archive: Archive | None = None) -> None:
        """Read through `readers` what belongs to `facts`; `archive` has what was moved there."""
        self._archive = archive
        self._readers = readers
        self._facts = facts
        users = "users" if facts.of_users else _NO_USERS
        self._records_inside = _RECORDS.format(users=users, span="NULL, NULL, NULL", beside="")
        self._records_beside = _RECORDS.format(users=users, span=_SPAN, beside=_JOIN_BESIDE)
        # Large columns that stand in rows are left where they are, like those that stand apart.
        large = _LARGE.format(users=users) if readers.columns is None else "x"
        self._loose = self._records_inside.replace(" x, y,", f" {large}, y,")
        self._packed = False
        self._beside = False
        self._last_unpacked: tuple[object, list[Record]] = None, []

    # -- records -----------------------------------------------------------------------------

    def records(self, stream: str, after: int = -1, last: int | None = None) -> Iterator[Record]:
        """Records of a stream after number `after`, to number `last` or as far as there are any.

        Raises StoreDamaged at the first that does not continue the chain; StoreArchived for what is
        in an archive that was not given; KeyError: no such stream.
        """
        last = _NUMBER_MAX if last is None else last
        for stretch in self.archived(stream):
            if after < min(stretch.last, last):
                archived = self._from_archive(stretch)
                yield from (segment for segment in archived if after < segment.number <= last)
                after = stretch.last
        if after >= last:
            return
        facts = self._facts.streams[stream]
        start = self.record_point(stream, after)
        if start is None:
            return
        number, (head, position) = max(after, -1), start
        while number < last:
            segment, names, rows = self._next(stream, facts, number, last)
            if segment is not None:
                records = self._unpacked(stream, facts, segment, names)
                before = records[: number + 1 - segment.first]
                if before:
                    known = before[-1].chain_head, before[-1].first_position + before[-1].count
                else:
                    known = self._before(stream, segment)
                if known != (head, position):
                    raise damaged(stream, segment.first)
                yield from records[len(before) : last + 1 - segment.first]
                number, head, position = segment.last, segment.head, segment.end_position
                continue
            if not rows:
                return
            for row in rows:
                record = _record(stream, facts, number + 1, position, head, row)
                number, head = record.number, record.chain_head
                position = record.first_position + record.count
                yield record

    def loose(self, stream: str, after: int) -> list[Loose]:
        """What rows say of records after number `after`, for a segment and perhaps one more.

        Columns that stand beside the database are left out. Nothing is checked; there must be no
        segment after that record. KeyError: no such stream.
        """
        facts = self._facts.streams[stream]
        start = record_key(facts.identity, 0)
        ends = start + after, record_key(facts.identity, _NUMBER_MAX)
        found: list[Loose] = []
        examples = size = 0
        with self._readers.lend() as connection, connection.rows(self._loose, ends) as rows:
            for key, *values, _, _, _ in rows:
                row = Loose(key - start, *values)
                found.append(row)
                examples += row.examples
                size += len(row.x) + len(row.y) + len(row.users)
                if (
                    len(found) >= SEGMENT_RECORDS_MAX
                    or examples >= SEGMENT_EXAMPLES_MAX
                    or size >= SEGMENT_BYTES_MAX
                ):
                    break
        return found

    def _next(
        self, stream: str, facts: StreamFacts, number: int, last: int
    ) -> tuple[Segment | None, dict[int, str], list[Row]]:
        """What follows record `number`: a segment and its producers' names, or some rows."""
        key, end = record_key(facts.identity, number + 1), record_key(facts.identity, last)
        with self._readers.reading() as connection:
            if self._has_segments(connection):
                found = self._segment(connection, stream, facts, number + 1)
                if found is not None:
                    return found, _names(connection, stream, found), []
                following = connection.execute(_NEXT_SEGMENT, (key, end)).fetchall()[0][0]
                end = following - 1 if isinstance(following, int) else end
            return None, {}, self._some(connection, stream, (key - 1, end))

    # -- places ------------------------------------------------------------------------------

    def record_point(self, stream: str, number: int) -> tuple[bytes, int] | None:
        """Stored head after a record, and the position that follows it; None without the record."""
        facts = self._facts.streams[stream]
        if number < 0:
            return facts.genesis, 0
        if number <= self.archived_end(stream):
            return self._archived_point(stream, number)
        with self._readers.reading() as connection:
            rows = connection.execute(_POINT, (record_key(facts.identity, number),)).fetchall()
            if rows:
                position, count, head = rows[0]
                known = head_of(head, stream)
                return known, integer_of(position, stream) + integer_of(count, stream)
            segment = None
            if self._has_segments(connection):
                segment = self._segment(connection, stream, facts, number)
            names = {} if segment is None else _names(connection, stream, segment)
        if segment is None:
            return None
        if segment.last == number:
            return segment.head, segment.end_position
        record = self._unpacked(stream, facts, segment, names)[number - segment.first]
        return record.chain_head, record.first_position + record.count

    def _unpacked(
        self, stream: str, facts: StreamFacts, segment: Segment, names: Mapping[int, str]
    ) -> list[Record]:
        """The records of a segment, from the stored head before it.

        Windows of answers name one record of a segment after the other, and each is looked up by
        itself: the segment that was unpacked last, with all that was read of it, is kept.
        """
        head, position = self._before(stream, segment)
        if position != segment.first_position:
            raise damaged(stream, segment.first)
        read = (stream, segment, names, head)
        last_read, records = self._last_unpacked
        if last_read != read:
            records = unpack(stream, facts, segment, names, head)
            self._last_unpacked = read, records
        return records

    def _before(self, stream: str, segment: Segment) -> tuple[bytes, int]:
        """Stored head before a segment, and the position that follows it."""
        found = self.record_point(stream, segment.first - 1)
        if found is None:
            raise damaged(stream, segment.first)
        return found

    def last_record(self, stream: str) -> int:
        """Number of the last record, -1 before the first."""
        with self._readers.reading() as connection:
            return self.last_in(connection, stream)

    def last_in(self, connection: Connection, stream: str) -> int:
        """Number of the last record, by what a connection sees."""
        facts = self._facts.streams[stream]
        ends = keys_of(facts.identity)
        found = connection.execute(_LAST_RECORD, ends).fetchall()[0][0]
        last = found - ends[0] if isinstance(found, int) else -1
        if self._has_segments(connection):
            rows: list[Any] = connection.execute(_EXTENT, (ends[1] - 1, ends[0])).fetchall()
            for key, records, *_ in rows:
                last = max(last, key - ends[0] + integer_of(records, stream) - 1)
        return max(last, *(stretch.last for stretch in self._stretches(connection, stream)), -1)

    def last_packed(self, stream: str) -> int:
        """Number of the last record in a segment or archive, -1 without one."""
        facts = self._facts.streams[stream]
        ends = record_key(facts.identity + 1, 0) - 1, record_key(facts.identity, 0)
        archived = self.archived_end(stream)
        with self._readers.reading() as connection:
            if not self._has_segments(connection):
                return archived
            rows: list[Any] = connection.execute(_EXTENT, ends).fetchall()
        lasts = (key - ends[1] + integer_of(records, stream) - 1 for key, records, *_ in rows)
        return max(lasts, default=archived)  # nothing that was archived comes after a segment

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position; None when there is none."""
        stretches = self.archived(stream)
        if stretches and position < stretches[-1].end_position:
            return self._archived_at(stream, position)
        low, high = self.archived_end(stream) + 1, self.last_record(stream)
        while low < high:
            middle = (low + high) // 2
            first, last, start, ends = self._holder(stream, middle)
            if ends[-1] <= position:
                low = last + 1
            elif start > position:
                high = first
            else:
                low = high = first + int(np.searchsorted(ends, position, side="right"))
        for record in self.records(stream, low - 1, low):
            # a restore leaves positions out, and has none itself
            if record.first_position <= position < record.first_position + record.count:
                return low
        return None

    def _holder(self, stream: str, number: int) -> tuple[int, int, int, Any]:
        """The row or segment that holds a record: its first and last number, its first position,
        and the positions that follow each of its records, as an array.
        """
        facts = self._facts.streams[stream]
        with self._readers.reading() as connection:
            rows = connection.execute(_POINT, (record_key(facts.identity, number),)).fetchall()
            if rows:
                start, count = (integer_of(part, stream) for part in rows[0][:2])
                return number, number, start, np.array([start + count])
            segment = None
            if self._has_segments(connection):
                segment = self._segment(connection, stream, facts, number)
        if segment is None:
            raise StoreDamaged(f"the journal of {stream} has a gap: put back a backup")
        try:
            ends = segment.first_position + np.cumsum(segment.sizes(), dtype=np.int64)
        except ValueError as error:
            raise damaged(stream, segment.first) from error
        return segment.first, segment.last, segment.first_position, ends

    def stored_twice(self) -> list[str]:
        """What stands in the journal more than once, a sentence each."""
        with self._readers.lend() as connection:
            findings = _placeless(connection)
            if not has_segments(connection):
                return findings
            archived = sum(map(partial(self._still_there, connection), self._facts.streams))
            twice: Any = connection.execute(_TWICE).fetchall()[0][0]
            overlaps: Any = connection.execute(_OVERLAPS).fetchall()[0][0]
        if archived:
            findings.append(f"{archived} records of a journal stand in it and in an archive")
        if twice:
            findings.append(f"{twice} records of a journal stand in it twice")
        if overlaps:
            findings.append(f"{overlaps} segments of a journal hold records that others hold")
        return findings

    # -- what was archived -------------------------------------------------------------------

    @property
    def has_archive(self) -> bool:
        """Whether an archive was given."""
        return self._archive is not None

    def archived(self, stream: str) -> list[Stretch]:
        """What was moved into an archive: the beginning of a journal, in order."""
        with self._readers.reading() as connection:
            return self._stretches(connection, stream)

    def archived_end(self, stream: str) -> int:
        """Number of the last record that was moved into an archive, -1 without one."""
        return max((segment.last for segment in self.archived(stream)), default=-1)

    def archived_points(self, stream: str) -> dict[int, tuple[int, int, bytes]]:
        """What is kept of single records in an archive: by number, the first position, the one that
        follows, and the head.
        """
        identity = self._facts.streams[stream].identity
        ends = keys_of(identity)
        with self._readers.reading() as connection:
            rows: list[Any] = []
            if has_archived(connection):
                rows = connection.execute(_ARCHIVED_POINTS, ends).fetchall()
        return {key - ends[0]: (first, end, head) for key, first, end, head in rows}

    def kept(self, stream: str, number: int) -> Record | None:
        """A record that stands in a row of its own, checked; None for any other."""
        facts = self._facts.streams[stream]
        key = record_key(facts.identity, number)
        with self._readers.reading() as connection:
            rows = self._some(connection, stream, (key - 1, key))
        before = self.record_point(stream, number - 1)
        if not rows or before is None:
            return None
        return _record(stream, facts, number, before[1], before[0], rows[0])

    def pieces(self, stream: str, last: int) -> Iterator[Piece]:
        """What the store itself holds of a journal up to a record, segments as a whole.

        Nothing is checked.
        """
        facts = self._facts.streams[stream]
        number = self.archived_end(stream)
        while number < last:
            segment, names, rows = self._next(stream, facts, number, last)
            if segment is None and not rows:
                return
            if segment is not None:
                if segment.last > last:
                    return
                yield segment, names
                number = segment.last
            for key, *values in rows:
                number = key - record_key(facts.identity, 0)
                yield Loose(number, *values)

    def _still_there(self, connection: Connection, stream: str) -> int:
        """How many rows hold records of a stream that were moved into an archive."""
        stretches = self._stretches(connection, stream)
        if not stretches:
            return 0
        identity = self._facts.streams[stream].identity
        ends = record_key(identity, 0), record_key(identity, stretches[-1].last)
        found: Any = connection.execute(_STILL_THERE, ends).fetchall()[0][0]
        return integer_of(found, stream)

    def _stretches(self, connection: Connection, stream: str) -> list[Stretch]:
        if not has_archived(connection):
            return []
        identity = self._facts.streams[stream].identity
        ends = keys_of(identity)
        rows: list[Any] = connection.execute(_ARCHIVED, ends).fetchall()
        found = [Stretch(stream, key - ends[0], *values) for key, *values in rows]
        following = 0
        for stretch in found:
            if stretch.first != following or stretch.last < stretch.first:
                raise StoreDamaged(
                    f"the archived records of {stream} have a gap: put back a backup"
                )
            following = stretch.last + 1
        return found

    def _from_archive(self, stretch: Stretch) -> Iterator[Record]:
        """The records of a stretch, in order."""
        if self._archive is None:
            raise StoreArchived(
                f"records {stretch.first} to {stretch.last} of {stretch.stream} were moved into an "
                "archive: name its folder with --archive"
            )
        before = self.record_point(stretch.stream, stretch.first - 1)
        assert before is not None, "stretches follow each other"
        return self._archive.records(stretch, before[0])

    def _archived_point(self, stream: str, number: int) -> tuple[bytes, int]:
        """Head after an archived record, and the position that follows it."""
        key = record_key(self._facts.streams[stream].identity, number)
        with self._readers.reading() as connection:
            kept: list[Any] = connection.execute(_ARCHIVED_POINT, (key,)).fetchall()
        if kept:
            end, head = kept[0]
            return head_of(head, stream), end
        (stretch,) = (
            segment for segment in self.archived(stream) if segment.first <= number <= segment.last
        )
        if number == stretch.last:
            return stretch.head, stretch.end_position
        for record in self._from_archive(stretch):
            if record.number == number:
                return record.chain_head, record.first_position + record.count
        raise StoreDamaged(f"the archived records of {stream} have a gap: put back a backup")

    def _archived_at(self, stream: str, position: int) -> int | None:
        """Number of the archived record that holds the example at a position."""
        ends = keys_of(self._facts.streams[stream].identity)
        with self._readers.reading() as connection:
            kept: list[Any] = connection.execute(
                _ARCHIVED_AT, (*ends, position, position)
            ).fetchall()
        if kept:
            return integer_of(kept[0][0], stream) - ends[0]
        for stretch in self.archived(stream):
            if stretch.first_position <= position < stretch.end_position:
                for record in self._from_archive(stretch):
                    if record.first_position <= position < record.first_position + record.count:
                        return record.number
        return None

    # -- inside ------------------------------------------------------------------------------

    def _has_segments(self, connection: Connection) -> bool:
        """Whether there are any; once there, they stay."""
        self._packed = self._packed or has_segments(connection)
        return self._packed

    def _some(self, connection: Connection, stream: str, ends: tuple[int, int]) -> list[Row]:
        """The first rows of records between two keys, as many as one reading transaction may take,
        with their columns.
        """
        self._beside = self._beside or has_beside(connection)
        statement = self._records_beside if self._beside else self._records_inside
        rows: list[Row] = []
        missing: dict[int, Wanted] = {}
        room = STORE_READ_BYTES_MAX
        with connection.rows(statement, ends) as found:
            for *values, file, start, size in found:
                if file is not None:
                    missing[len(rows)] = self._wanted(stream, values, Span(file, start, size))
                    room -= size
                rows.append(tuple(values))
                room -= len(values[5]) + len(values[6]) + len(values[8])
                if room <= 0 or len(rows) >= STORE_READ_ROWS_MAX:
                    break
        if not missing:
            return rows
        assert self._readers.columns is not None, "no columns stand beside this database"
        columns = self._readers.columns.read(list(missing.values()))
        for index, (x, y, users) in zip(missing, columns, strict=True):
            key, position, count, sequence, producer, _, _, head, _, identity = rows[index]
            rows[index] = key, position, count, sequence, producer, x, y, head, users, identity
        return rows

    def _wanted(self, stream: str, values: list[Any], span: Span) -> Wanted:
        """Where the columns are that a row lacks."""
        facts = self._facts.streams[stream]
        key, count, x, y, users = values[0], values[2], values[5], values[6], values[8]
        if x or y or users or count < 1:
            raise _damaged(stream, key - record_key(facts.identity, 0))
        of_users = count * user_bytes if facts.of_users else 0
        return span, (span.size - count - of_users, count, of_users)

    def _segment(
        self, connection: Connection, stream: str, facts: StreamFacts, number: int
    ) -> Segment | None:
        """The segment that holds a record."""
        ends = record_key(facts.identity, number), record_key(facts.identity, 0)
        rows: list[Any] = connection.execute(_EXTENT, ends).fetchall()
        if not rows or rows[0][0] + integer_of(rows[0][1], stream) <= ends[0]:
            return None
        return Segment.from_row(stream, facts, connection.execute(_SEGMENT, ends).fetchall()[0])


def _placeless(connection: Connection) -> list[str]:
    """Places of columns that are no record's, a sentence about them."""
    if not has_beside(connection):
        return []
    count: Any = connection.execute(_PLACELESS).fetchall()[0][0]
    return [f"{count} rows of beside belong to no record"] if count else []


def _names(connection: Connection, stream: str, segment: Segment) -> dict[int, str]:
    """Names of the producers that a segment has records of."""
    try:
        wanted = segment.identities()
    except ValueError as error:
        raise damaged(stream, segment.first) from error
    statement = _NAMES.format(",".join("?" * len(wanted)))
    rows: list[Any] = connection.execute(statement, (*wanted,)).fetchall()
    return dict(rows)


def _record(
    stream: str, facts: StreamFacts, number: int, position: int, head: bytes, row: Row
) -> Record:
    """The record of a row, if it is the one that continues the chain."""
    key, first_position, count, sequence, producer, x, y, stored, users, _ = row
    try:
        if not count and producer == RESTORER:
            position = max(position, first_position)
        sound = (
            key == record_key(facts.identity, number)
            and first_position == position
            and len(users) == (count * user_bytes if facts.of_users else 0)
            and continues(stored, head, number, position, count, sequence, producer, x, y, users)
        )
    except (TypeError, AttributeError, struct_error):
        sound = False
    if not sound:
        raise _damaged(stream, number)
    return Record(stream, number, position, producer, sequence, count, x, y, stored, users)


def _damaged(stream: str, number: int) -> StoreDamaged:
    return StoreDamaged(f"the journal of {stream} is damaged at record {number}: put back a backup")
