"""What opening a store has read and checked of a journal, kept for whoever reads it next.

A store that is about to be served checks the end of each journal; an engine then learns the same
records. Kept in between, they are read once, and their chain is checked once.
"""

from collections import deque
from collections.abc import Iterator

from littled.limits import RECORD_OVERHEAD_BYTES, STORE_AHEAD_BYTES_MAX
from littled.store.records import Record


class ReadAhead:
    """Consecutive records of one journal, as many as there is room for."""

    def __init__(self, after: int, streams: int = 1) -> None:
        """Keep records after number `after`; there is room for so many streams."""
        self._after = after
        self._records: deque[Record] = deque()
        self._room = STORE_AHEAD_BYTES_MAX // streams

    def keep(self, record: Record) -> None:
        """Keep a record, unless it comes too early or there is no room any more."""
        if record.number <= self._after or self._room < 0:
            return
        self._room -= len(record.x) + len(record.y) + len(record.users) + RECORD_OVERHEAD_BYTES
        self._records.append(record)

    def taken(self, after: int) -> Iterator[Record]:
        """What follows record `after`, if it was kept from there on; each record is let go."""
        while self._records and after >= self._after:
            record = self._records.popleft()
            if record.number > after:
                yield record
