"""Reading the snapshots of a stream: states of its engine, each bound to a record by a checksum."""

from collections.abc import Iterator

from littled.store.archive import StoreArchived
from littled.store.database import Facts
from littled.store.journal import Journal
from littled.store.records import snapshot_checksum
from littled.store.rows import Rows, integer_of

_NUMBERS = "SELECT record_number FROM snapshots WHERE stream = ? ORDER BY record_number DESC"
_SNAPSHOT = "SELECT state, checksum FROM snapshots WHERE stream = ? AND record_number = ?"


class Snapshots:
    """The snapshots of a store's streams, for any thread."""

    def __init__(self, rows: Rows, facts: Facts, journal: Journal) -> None:
        """Read through `rows` what belongs to `facts`; `journal` has the heads that are named."""
        self._rows = rows
        self._facts = facts
        self._journal = journal

    def newest(self, stream: str) -> tuple[int, bytes] | None:
        """The first of `sound`, None without any. KeyError: no such stream."""
        return next(self.sound(stream), None)

    def sound(self, stream: str) -> Iterator[tuple[int, bytes]]:
        """The snapshots whose checksum fits and whose record is stored, newest first.

        Each is the number of the last record in it, and the state. KeyError: no such stream.
        """
        for number, state in self._states(stream):
            if state is not None:
                yield number, state

    def oldest(self, stream: str) -> int:
        """Record number of the oldest snapshot, -1 unless one can be used."""
        numbers = [number for number, _ in self._states(stream)]
        return min(numbers) if self.newest(stream) is not None else -1

    def damaged(self, stream: str) -> list[int]:
        """Record numbers of the snapshots that `newest` passes over."""
        return [number for number, state in self._states(stream) if state is None]

    def _states(self, stream: str) -> Iterator[tuple[int, bytes | None]]:
        """Record number and state of each snapshot, newest first; None for a damaged state."""
        identity = self._facts.streams[stream].identity
        for (found,) in self._rows.all(_NUMBERS, (identity,)):
            number = integer_of(found, stream)
            row = self._rows.one(_SNAPSHOT, (identity, number))
            point = self._point(stream, number)
            if row is None:
                continue  # replaced by a newer one meanwhile
            state, checksum = row
            sound = (
                point is not None
                and isinstance(state, bytes)
                and checksum == snapshot_checksum(point[0], number, state)
            )
            yield number, state if sound else None

    def _point(self, stream: str, number: int) -> tuple[bytes, int] | None:
        """Head after a snapshot's record; None where it cannot be a snapshot's."""
        try:
            return self._journal.record_point(stream, number)
        except StoreArchived:
            return None  # nothing goes that a snapshot still names
