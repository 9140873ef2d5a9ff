"""Reading the table of producers: where each goes on."""

from typing import Any

from littled.store.database import Connection, Facts, has_places
from littled.store.errors import StoreDamaged
from littled.store.mark import Numbers
from littled.store.records import SourcePlace
from littled.store.restoration import RESTORER
from littled.store.rows import Rows, integer_of, text_of
from littled.store.source_places import place_of

_PRODUCER = "SELECT id, next_sequence FROM producers WHERE stream = ? AND name = ?"
_OF_STREAM = "SELECT name, next_sequence FROM producers WHERE stream = ? ORDER BY id"
# With the producer's next sequence number, beyond which no place can be.
_PLACE = """
SELECT sequence, resume, checksum, next_sequence FROM producer_places
JOIN producers ON producers.id = producer_places.producer WHERE stream = ? AND name = ?
"""
_PLACES = """
SELECT name, sequence, resume, checksum, next_sequence FROM producer_places
JOIN producers ON producers.id = producer_places.producer WHERE stream = ? ORDER BY name
"""
_STRAY_PLACES = """
SELECT count(*) FROM producer_places WHERE producer NOT IN (SELECT id FROM producers)
"""
_EVERYWHERE = "SELECT stream, name, next_sequence FROM producers"


class ProducerTable:
    """The producers of a store's streams, for any thread; whether they fit the journal, see
    `littled.store.producers`.
    """

    def __init__(self, rows: Rows, facts: Facts) -> None:
        """Read through `rows` what belongs to `facts`."""
        self._rows = rows
        self._facts = facts
        self._placed = False

    def find(self, stream: str, producer: str) -> tuple[int, int] | None:
        """Identity and next sequence number of a producer, None for one never seen."""
        found = self._rows.one(_PRODUCER, (self._facts.streams[stream].identity, producer))
        return (
            None if found is None else (integer_of(found[0], stream), integer_of(found[1], stream))
        )

    def place(self, stream: str, producer: str) -> SourcePlace | None:
        """The last durable place of a producer's source, checked; None where none was told."""
        with self._rows.lend() as connection:
            self._placed = self._placed or has_places(connection)
        if not self._placed:
            return None
        found = self._rows.one(_PLACE, (self._facts.streams[stream].identity, producer))
        return None if found is None else place_of(stream, producer, found)

    def wrong_places(self, stream: str) -> list[str]:
        """What is wrong with the places of a stream's sources, a sentence each."""
        with self._rows.lend() as connection:
            rows: list[Any] = []
            if has_places(connection):
                identity = self._facts.streams[stream].identity
                rows = connection.execute(_PLACES, (identity,)).fetchall()
        findings = []
        for name, *row in rows:
            try:
                place_of(stream, text_of(name), row)
            except StoreDamaged as damage:
                findings.append(str(damage))
        return findings

    def stray_places(self) -> list[str]:
        """Places of sources that are no producer's, a sentence about them."""
        with self._rows.lend() as connection:
            if not has_places(connection):
                return []
            count: Any = connection.execute(_STRAY_PLACES).fetchall()[0][0]
        return [f"{count} rows of producer_places belong to no producer"] if count else []

    def of(self, stream: str) -> dict[str, int]:
        """Next sequence number of each producer that was ever seen on a stream, oldest first."""
        rows = self._rows.all(_OF_STREAM, (self._facts.streams[stream].identity,))
        known = {text_of(name): integer_of(following, stream) for name, following in rows}
        known.pop(RESTORER, None)
        return known

    def numbers(self, stream: str) -> Numbers:
        """How far the producers of a stream have come, as a high-water mark says it."""
        return Numbers({}).raised(self.of(stream))

    def everywhere_in(self, connection: Connection) -> list[tuple[Any, Any, Any]]:
        """Stream's identity, name and next sequence number of every producer, by what a connection
        sees. Nothing is checked.
        """
        rows: list[Any] = connection.execute(_EVERYWHERE).fetchall()
        return rows
