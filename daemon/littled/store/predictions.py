"""Reading the predictions of a stream: what was answered, each checked against its chain.

A learner is named "stream/learner". Stores from before there were predictions have no table.
"""

from collections.abc import Iterator
from struct import error as struct_error
from typing import Any

from littled.store.database import (
    NUMBER_BITS,
    Connection,
    Facts,
    Row,
    StreamFacts,
    has_predictions,
    record_key,
)
from littled.store.errors import StoreDamaged
from littled.store.journal import Journal
from littled.store.mark import Point
from littled.store.records import (
    StoredPrediction,
    prediction_genesis,
    prediction_head,
    question_head,
)
from littled.store.rows import Rows, head_of, integer_of, keys_of

_PREDICTIONS = """
SELECT key, learner, "window", record, request, count, x, y, charge, head,
    length(x) + length(y) + 200
FROM predictions WHERE key > ? AND key <= ? ORDER BY key
"""
_PREDICTION = "SELECT key FROM predictions WHERE learner = ? AND request = ?"
_HEAD = "SELECT head FROM predictions WHERE key = ?"
_CHARGE = "SELECT charge FROM predictions WHERE key = ?"
_OF_WINDOW = 'SELECT min(key), max(key) FROM predictions WHERE learner = ? AND "window" = ?'
_ANSWERS = """
SELECT CAST(sum(count) AS BIGINT) FROM predictions WHERE learner = ? AND "window" = ?
"""
_LAST_PREDICTION = "SELECT max(key) FROM predictions WHERE key >= ? AND key < ?"
_RECORDS_NAMED = "SELECT DISTINCT record FROM predictions WHERE key >= ? AND key < ?"


class Predictions:
    """The predictions of a store's streams, for any thread."""

    def __init__(self, rows: Rows, facts: Facts, journal: Journal) -> None:
        """Read through `rows` what belongs to `facts`; `journal` has the heads that are named."""
        self._rows = rows
        self._facts = facts
        self._journal = journal
        self._stored = False

    def of(
        self, stream: str, after: int = -1, last: int | None = None
    ) -> Iterator[StoredPrediction]:
        """Predictions of a stream after number `after`, to `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        facts = self._facts.streams[stream]
        head = self.point(stream, after)
        if head is None or not self._has_table():
            return
        number, journal = after, (-1, b"")
        end = record_key(facts.identity, (1 << NUMBER_BITS) - 1 if last is None else last)
        while rows := self._rows.piece(_PREDICTIONS, (record_key(facts.identity, number), end)):
            for row in rows:
                number += 1
                if row[3] != journal[0]:
                    journal = row[3], self._journal_head(stream, number, row[3])
                found = _prediction(stream, facts, number, head, journal[1], row)
                head = found.head
                yield found

    def answer(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request to a learner; None if nothing was.

        Checked against the head before it. KeyError: no such stream.
        """
        stream = learner.partition("/")[0]
        first = record_key(self._facts.streams[stream].identity, 0)
        if not self._has_table():
            return None
        found = self._rows.one(_PREDICTION, (learner, request))
        if found is None:
            return None
        number = integer_of(found[0], stream) - first
        for stored in self.of(stream, number - 1, number):
            if (stored.learner, stored.request) == (learner, request):
                return stored
        raise StoreDamaged(f"the predictions of {stream} are not in order: put back a backup")

    def point(self, stream: str, number: int) -> bytes | None:
        """Stored head after a prediction; None without it."""
        facts = self._facts.streams[stream]
        if number < 0:
            return prediction_genesis(facts.genesis)
        if not self._has_table():
            return None
        found = self._rows.one(_HEAD, (record_key(facts.identity, number),))
        return None if found is None else head_of(found[0], stream)

    def last_in(self, connection: Connection, stream: str) -> int:
        """Number of the last prediction by what a connection sees, -1 before the first."""
        ends = keys_of(self._facts.streams[stream].identity)
        if not self._has_table_in(connection):
            return -1
        found = connection.execute(_LAST_PREDICTION, ends).fetchall()[0][0]
        return found - ends[0] if isinstance(found, int) else -1

    def end(self, stream: str) -> Point:
        """How far a stream's predictions have come."""
        number = self._last(stream)
        head = self.point(stream, number)
        if head is None:
            raise StoreDamaged(f"the predictions of {stream} break off: put back a backup")
        return Point(number, head)

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window has answered; each prediction that counts is checked."""
        stream = learner.partition("/")[0]
        start = record_key(self._facts.streams[stream].identity, 0)
        if not self._has_table():
            return 0
        first, last = self._rows.all(_OF_WINDOW, (learner, window))[0]
        if first is None:
            return 0
        between = self.of(
            stream, integer_of(first, stream) - start - 1, integer_of(last, stream) - start
        )
        return sum(
            prediction.count
            for prediction in between
            if (prediction.learner, prediction.window) == (learner, window)
        )

    def answers_counted(self, learner: str, window: int) -> int:
        """The same at once and unchecked, to be told to somebody, not to be relied on."""
        found = self._rows.one(_ANSWERS, (learner, window)) if self._has_table() else None
        return 0 if found is None or found[0] is None else integer_of(found[0], learner)

    def records_named(self, stream: str) -> set[int]:
        """Numbers of the records that the predictions of a stream name."""
        ends = keys_of(self._facts.streams[stream].identity)
        if not self._has_table():
            return set()
        return {integer_of(row[0], stream) for row in self._rows.all(_RECORDS_NAMED, ends)}

    def charge_number(self, stream: str, own: int) -> int:
        """Number in the ledger of the entry `own`, counted from 0 without those for answers."""
        low, high = 0, self._last(stream) + 1
        while low < high:
            middle = (low + high) // 2
            key = record_key(self._facts.streams[stream].identity, middle)
            found = self._rows.one(_CHARGE, (key,))
            if found is None:
                raise StoreDamaged(f"the predictions of {stream} have a gap: put back a backup")
            # so many other entries stand before this prediction's
            if integer_of(found[0], stream) - middle <= own:
                low = middle + 1
            else:
                high = middle
        return own + low

    def _last(self, stream: str) -> int:
        with self._rows.lend() as connection:
            return self.last_in(connection, stream)

    def _journal_head(self, stream: str, number: int, record: Any) -> bytes:
        """Head after the record that a prediction names."""
        point = self._journal.record_point(stream, integer_of(record, stream))
        if point is None or record < 0:
            raise StoreDamaged(
                f"prediction {number} of {stream} names a record that the journal does not have"
            )
        return point[0]

    def _has_table(self) -> bool:
        """Whether there is a table; once there, it stays."""
        if not self._stored:
            with self._rows.lend() as connection:
                return self._has_table_in(connection)
        return True

    def _has_table_in(self, connection: Connection) -> bool:
        self._stored = self._stored or has_predictions(connection)
        return self._stored


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
