"""Which records are packed next: the oldest that stand in rows of their own, a segment at a time.

Packing changes nothing of what a store says. A segment is read back before anything goes, and comes
and replaces its rows in one transaction, so a crash leaves the one or the other.
"""

from collections.abc import Mapping
from itertools import takewhile

from littled.limits import SEGMENT_EXAMPLES_MAX, SEGMENT_RECORDS_MAX
from littled.store.database import Connection, Facts, begin_packing, record_key
from littled.store.errors import StoreDamaged
from littled.store.journal import Journal
from littled.store.mark import StreamMark
from littled.store.segments import Segment, packed, together, worth_packing

_INSERT = "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM records WHERE key >= ? AND key <= ?"


class Packing:
    """How far each stream's journal was looked at; used by one thread at a time.

    waiting: how many segments may be packed, about; may be asked on any thread.
    """

    def __init__(self, facts: Facts, journal: Journal, marks: Mapping[str, StreamMark]) -> None:
        """Go on after the last segment of each stream; `marks` say where the journals end."""
        self._facts = facts
        self._journal = journal
        # By stream: the last record that was looked at, and the position that follows it.
        self._looked: dict[str, tuple[int, int]] = {}
        self._waiting: dict[str, int] = {}
        self.waiting = 0
        for stream in facts.streams:
            last = journal.last_packed(stream)
            point = journal.record_point(stream, last)
            self._looked[stream] = last, 0 if point is None else point[1]
        self.note(marks)

    def note(self, marks: Mapping[str, StreamMark]) -> None:
        """Take note of how far some streams have come."""
        for stream, mark in marks.items():
            number, position = self._looked[stream]
            records, examples = mark.journal.number - number, mark.position - position
            full = max(records // SEGMENT_RECORDS_MAX, examples // SEGMENT_EXAMPLES_MAX)
            if full > 0:
                self._waiting[stream] = full
            else:
                self._waiting.pop(stream, None)
        self.waiting = sum(self._waiting.values())

    def pass_over(self, stream: str, before: StreamMark, after: StreamMark) -> None:
        """Look at none of the records between two marks: their columns stand beside the database.

        Where earlier ones were not looked at yet, they are looked at all the same.
        """
        if self._looked[stream][0] == before.journal.number:
            self._looked[stream] = after.journal.number, after.position

    def next(self) -> tuple[str, Segment] | None:
        """Look at what comes next; the segment that should replace it, if it is worth it.

        Raises StoreDamaged for records that do not continue the chain.
        """
        stream = next(iter(self._waiting))
        after, _ = self._looked[stream]
        found = self._journal.loose(stream, after)
        beside = list(takewhile(lambda row: row.stands_beside, found))
        rows = beside or together(found) or found[:1]
        if not rows:
            raise StoreDamaged(f"the journal of {stream} breaks off: put back a backup")
        end = rows[-1]
        self._looked[stream] = end.number, end.first_position + end.examples
        if beside or len(rows) < 2 or not worth_packing(rows):
            return None
        point = self._journal.record_point(stream, after)
        if point is None:
            raise StoreDamaged(f"the journal of {stream} has a gap: put back a backup")
        return stream, packed(stream, self._facts.streams[stream], rows, point[0])


def put_segment(connection: Connection, facts: Facts, stream: str, segment: Segment) -> None:
    """Replace the rows of a segment's records by it, inside a transaction."""
    begin_packing(connection, facts)
    identity = facts.streams[stream].identity
    connection.execute(_INSERT, segment.row(facts.streams[stream]))
    ends = record_key(identity, segment.first), record_key(identity, segment.last)
    connection.execute(_DELETE, ends)
    if connection.changes() != segment.records:
        raise StoreDamaged(f"the rows of the segment at record {segment.first} have changed")
