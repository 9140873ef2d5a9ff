"""Reading the table of producers: where each goes on."""

from typing import Any

from littled.store.database import Connection, Facts
from littled.store.mark import Numbers
from littled.store.restoration import RESTORER
from littled.store.rows import Rows, integer_of, text_of

_PRODUCER = "SELECT id, next_sequence FROM producers WHERE stream = ? AND name = ?"
_OF_STREAM = "SELECT name, next_sequence FROM producers WHERE stream = ? ORDER BY id"
_EVERYWHERE = "SELECT stream, name, next_sequence FROM producers"


class ProducerTable:
    """The producers of a store's streams, for any thread; whether they fit the journal, see
    `littled.store.producers`.
    """

    def __init__(self, rows: Rows, facts: Facts) -> None:
        """Read through `rows` what belongs to `facts`."""
        self._rows = rows
        self._facts = facts

    def find(self, stream: str, producer: str) -> tuple[int, int] | None:
        """Identity and next sequence number of a producer, None for one never seen."""
        found = self._rows.one(_PRODUCER, (self._facts.streams[stream].identity, producer))
        return (
            None if found is None else (integer_of(found[0], stream), integer_of(found[1], stream))
        )

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
