"""Reading the restores of a store: records by which its streams went on from an older copy."""

from collections.abc import Iterator

from littled.store.database import Facts, Row, has_restores
from littled.store.errors import StoreDamaged
from littled.store.journal import Journal
from littled.store.records import Record
from littled.store.restoration import Restoration
from littled.store.rows import Rows, integer_of, keys_of

_RESTORES = "SELECT key FROM restores WHERE key >= ? AND key < ? ORDER BY key"


class Restores:
    """The restores of a store's streams, for any thread; they are read once."""

    def __init__(self, rows: Rows, facts: Facts, journal: Journal) -> None:
        """Read through `rows` what belongs to `facts`; the records themselves from `journal`."""
        self._rows = rows
        self._facts = facts
        self._journal = journal
        self._read: dict[str, list[tuple[Record, Restoration]]] = {}

    def of(self, stream: str) -> list[tuple[Record, Restoration]]:
        """The records by which a stream went on from an older copy, and what they say.

        Each is checked against the head before it. Raises StoreDamaged; KeyError: no such stream.
        """
        if stream not in self._read:
            self._read[stream] = list(self._from_rows(stream))
        return self._read[stream]

    def first_number(self, stream: str) -> int:
        """Where a producer begins that was never seen: it may have sent what a restore has lost."""
        return max((restoration.numbers.others for _, restoration in self.of(stream)), default=0)

    def lost_versions(self, stream: str) -> dict[str, int]:
        """Versions of a stream's learners above which restores have let them go on."""
        found: dict[str, int] = {}
        for _, restoration in self.of(stream):
            for learner, version in restoration.versions.items():
                found[learner] = max(version, found.get(learner, 0))
        return found

    def versions_left_out(self, learner: str) -> set[int]:
        """Versions of the learner "stream/learner" up to which restores have left some out."""
        stream = learner.partition("/")[0]
        return {
            restoration.versions[learner]
            for _, restoration in self.of(stream)
            if learner in restoration.versions
        }

    def _from_rows(self, stream: str) -> Iterator[tuple[Record, Restoration]]:
        ends = keys_of(self._facts.streams[stream].identity)
        with self._rows.lend() as connection:
            rows: list[Row] = []
            if has_restores(connection):
                rows = connection.execute(_RESTORES, ends).fetchall()
        for (key,) in rows:
            number = integer_of(key, stream) - ends[0]
            found = self._journal.kept(stream, number)
            if found is None or not found.restores:
                raise StoreDamaged(f"record {number} of {stream} is no restore: put back a backup")
            yield found, _restoration(found)


def _restoration(record: Record) -> Restoration:
    """What a restore says."""
    try:
        return Restoration.from_record(record)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StoreDamaged(
            f"the restore in record {record.number} of {record.stream} cannot be read: put back a "
            "backup"
        ) from error
