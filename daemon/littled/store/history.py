"""Everything that is stored: a reader for each chain, and what takes all of them together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from littled.store.archive import Archive
from littled.store.database import (
    CHECKSUMS,
    NUMBER_BITS,
    Facts,
    Readers,
    has_archived,
    has_checksums,
    has_predictions,
    has_restores,
    has_segments,
)
from littled.store.errors import StoreDamaged
from littled.store.growth import has_growth
from littled.store.journal import Journal
from littled.store.ledger import Ledger
from littled.store.mark import HighWaterMark, Point, StreamMark
from littled.store.predictions import Predictions
from littled.store.producer_table import ProducerTable
from littled.store.releases import Releases
from littled.store.restores import Restores
from littled.store.rows import Rows, integer_of, text_of
from littled.store.snapshots import Snapshots

_STRAYS = "SELECT count(*) FROM {} WHERE {} NOT IN (SELECT id FROM streams)"
_OF_KEY = f"key >> {NUMBER_BITS}"
_OF_STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Extent:
    """How far everything had come at one moment.

    records, entries, predictions: last number by stream, -1 before the first. releases: last
    version by stream and learner. producers: next sequence number by stream and producer.
    """

    records: Mapping[str, int]
    entries: Mapping[str, int]
    predictions: Mapping[str, int]
    releases: Mapping[str, Mapping[str, int]]
    producers: Mapping[str, Mapping[str, int]]


class History:
    """Everything in a store, for any thread; every chain is checked on the way, whoever reads."""

    def __init__(self, readers: Readers, facts: Facts, archive: Archive | None = None) -> None:
        """Read through `readers` what belongs to `facts`; `archive` has what was moved there."""
        self._readers = readers
        self._facts = facts
        self.rows = Rows(readers)
        self.journal = Journal(readers, facts, archive)
        self.restores = Restores(self.rows, facts, self.journal)
        self.producers = ProducerTable(self.rows, facts)
        self.ledger = Ledger(self.rows, facts)
        self.releases = Releases(self.rows, facts, self.restores)
        self.predictions = Predictions(self.rows, facts, self.journal)
        self.snapshots = Snapshots(self.rows, facts, self.journal)

    # -- the high-water mark -----------------------------------------------------------------

    def stream_mark(self, stream: str) -> StreamMark:
        """How far a stream has come. StoreDamaged when its last rows contradict each other."""
        number = self.journal.last_record(stream)
        point = self.journal.record_point(stream, number)
        if point is None:
            raise StoreDamaged(f"the journal of {stream} breaks off: put back a backup")
        season, spent, ledger = self.ledger.last_season_spent(stream)
        return StreamMark(
            genesis=self._facts.streams[stream].genesis,
            journal=Point(number, point[0]),
            position=point[1],
            ledger=ledger,
            season=season,
            spent=spent,
            predictions=self.predictions.end(stream),
            closed=self._facts.streams[stream].closing is not None,
        )

    def behind(self, mark: HighWaterMark) -> list[str]:
        """What the mark promises and the store does not have, a sentence each."""
        if mark.instance != self._facts.instance:
            return ["the high-water mark belongs to another store: put back the mark of this one"]
        findings = []
        for stream, promised in mark.streams.items():
            facts = self._facts.streams.get(stream)
            if facts is None and promised.closed and self._is_lost(stream, promised):
                continue
            if facts is None or facts.genesis != promised.genesis:
                findings.append(f"stream {stream} is not the one that the high-water mark knows")
            else:
                findings += self._stream_behind(stream, promised)
        for learner, point in mark.releases.items():
            stream = learner.partition("/")[0]
            if stream in self._facts.lost:
                continue
            if stream not in self._facts.streams:
                findings.append(f"learner {learner} of the high-water mark has no stream")
            elif self.releases.point(learner, point.number) != point.head:
                findings.append(
                    f"release {point.number} of {learner}, which the high-water mark knows, is "
                    "missing or another one"
                )
        return findings

    def _is_lost(self, stream: str, mark: StreamMark) -> bool:
        """Whether a restore has lost just this stream."""
        return self._facts.lost.get(stream) == mark.genesis

    def after_closing(self, stream: str) -> list[str]:
        """What a closed stream has that it was not closed with, in a sentence; else nothing."""
        closing = self._facts.streams[stream].closing
        if closing is None:
            return []
        record, predictions = self.journal.last_record(stream), self.predictions.end(stream)
        point = self.journal.record_point(stream, record)
        ends = closing.record_head, closing.prediction, closing.prediction_head
        if (record, None if point is None else point[0]) == (closing.record, ends[0]) and (
            predictions.number,
            predictions.head,
        ) == ends[1:]:
            return []
        return [f"stream {stream} does not end where it was closed: put back a backup"]

    def _stream_behind(self, stream: str, mark: StreamMark) -> Iterator[str]:
        if mark.closed and self._facts.streams[stream].closing is None:
            yield f"stream {stream}, which the high-water mark knows as closed, is open"
        known = f"of {stream}, which the high-water mark knows, is missing or another one"
        journal, ledger, predictions = mark.journal, mark.ledger, mark.predictions
        if self.journal.record_point(stream, journal.number) != (journal.head, mark.position):
            yield f"record {journal.number} {known}"
        if self.ledger.point(stream, ledger.number) != ledger.head:
            yield f"ledger entry {ledger.number} {known}"
        elif ledger.number >= 0:
            _, spent, _ = self.ledger.season_spent(stream, mark.season)
            if not mark.spent.fits_in(spent):
                yield f"season {mark.season} of {stream} has spent less than its high-water mark"
        if self.predictions.point(stream, predictions.number) != predictions.head:
            yield f"prediction {predictions.number} {known}"

    # -- everything at one moment ------------------------------------------------------------

    def extent(self) -> Extent:
        """How far everything has come; what a daemon adds meanwhile is left out as a whole."""
        names = {facts.identity: stream for stream, facts in self._facts.streams.items()}
        with self.rows.reading() as connection:
            records = {name: self.journal.last_in(connection, name) for name in names.values()}
            predictions = {
                name: self.predictions.last_in(connection, name) for name in names.values()
            }
            entries = {name: self.ledger.last_in(connection, name) for name in names.values()}
            releases = self.releases.last_versions_in(connection)
            producers = self.producers.everywhere_in(connection)
        if any(row[0] not in names for row in producers):
            raise StoreDamaged("a producer feeds a stream that does not exist: put back a backup")
        versions: dict[str, dict[str, int]] = {name: {} for name in names.values()}
        for row, last in releases:
            learner = text_of(row)
            of_stream = versions.setdefault(learner.partition("/")[0], {})
            of_stream[learner] = integer_of(last, "releases")
        numbers: dict[str, dict[str, int]] = {name: {} for name in names.values()}
        for stream, name, following in producers:
            numbers[names[stream]][text_of(name)] = integer_of(following, names[stream])
        return Extent(records, entries, predictions, versions, numbers)

    def integrity(self) -> list[str]:
        """What the database finds wrong with itself, shortened; reads all of it."""
        return self._readers.integrity()

    def strays(self) -> list[str]:
        """Rows that belong to no stream, which nothing reads, a sentence for each table."""
        tables = {"records": _OF_KEY, "ledger": _OF_STREAM, "snapshots": _OF_STREAM}
        with self.rows.lend() as connection:
            tables |= {"predictions": _OF_KEY} if has_predictions(connection) else {}
            tables |= {"restores": _OF_KEY} if has_restores(connection) else {}
            tables |= {CHECKSUMS: _OF_STREAM} if has_checksums(connection) else {}
            tables |= {"segments": _OF_KEY} if has_segments(connection) else {}
            if has_growth(connection):
                tables |= {"configurations": _OF_STREAM, "closings": _OF_STREAM}
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
        return strays + self.producers.stray_places() + self.journal.stored_twice()
