"""What a transaction is about to add: checked and chained in memory before the disk is touched."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.limits import COLUMNS_BESIDE_COMMIT_BYTES_MIN, COLUMNS_BESIDE_RECORD_BYTES_MIN
from littled.store.columns import Columns
from littled.store.database import Facts, StreamFacts, record_key
from littled.store.errors import StoreDamaged
from littled.store.history import History
from littled.store.mark import Point, StreamMark
from littled.store.records import (
    NewPrediction,
    NewRecord,
    Record,
    SourcePlace,
    StoredPrediction,
    StoredRelease,
    ledger_head,
    prediction_head,
    question_head,
    record_head,
    record_head_beside,
    release_genesis,
    release_head,
)
from littled.store.source_places import place_row
from littled_protocol.limits import user_bytes

# SQLite's integers are signed 64 bits.
INTEGER_MAX: Final = (1 << 63) - 1

Producer = tuple[int, int]
"""Identity and next sequence number of a producer on a stream."""
Producers = dict[tuple[str, str], Producer]
"""Producers by stream and name."""
Row = tuple[Any, ...]


def is_large(record: NewRecord) -> bool:
    """Whether the columns of a record may stand beside the database."""
    return len(record.x) + len(record.y) + len(record.users) >= COLUMNS_BESIDE_RECORD_BYTES_MIN


def worth_a_file(records: Sequence[NewRecord]) -> bool:
    """Whether the columns of large records stand beside the database when these are committed."""
    large = sum(
        len(record.x) + len(record.y) + len(record.users) for record in records if is_large(record)
    )
    return large >= COLUMNS_BESIDE_COMMIT_BYTES_MIN


def continued(
    facts: StreamFacts, at: tuple[int, int, int, bytes], new: NewRecord, *, beside: bool = False
) -> Record:
    """The record that a new one becomes at the end of its stream.

    at: its number, its first position, its producer's next sequence number, and the head before it.
    beside: whether its columns stand beside the database. Raises ValueError when it does not
    continue its producer's sequence or its columns do not fit its count.
    """
    number, position, following, head = at
    stream, name, sequence, count = new.stream, new.producer, new.sequence, new.count
    x, y, users = new.x, new.y, new.users
    if facts.closing is not None:
        raise ValueError(f"stream {stream} is closed")
    if sequence != following:
        raise ValueError(f"producer {name} of stream {stream} is at {following}, not at {sequence}")
    if count < 1 or len(y) != count or not x or len(x) % count:
        raise ValueError(f"the columns of a record of stream {stream} do not fit its count")
    if len(users) != (count * user_bytes if facts.of_users else 0):
        raise ValueError(f"the users of a record of stream {stream} do not fit its count")
    if new.place is not None and not sequence < new.place.sequence <= sequence + count:
        raise ValueError(f"the place of a record of stream {stream} is not among its examples")
    if position + count > INTEGER_MAX:
        raise ValueError(f"stream {stream} is full")
    of_record = record_head_beside if beside else record_head
    head = of_record(head, number, position, count, sequence, name, x, y, users)
    return Record(stream, number, position, name, sequence, count, x, y, head, users)


def record_row(
    key: int, producer: int, record: Record, facts: Facts, *, beside: bool = False
) -> Row:
    """The row of a record in the table `records`; without its columns where they stand beside."""
    x, y, users = (b"", b"", b"") if beside else (record.x, record.y, record.users)
    row = (
        *(key, record.first_position, record.count, record.sequence, producer),
        *(x, y, record.chain_head),
    )
    return (*row, users) if facts.of_users else row


class Batch:
    """Records that continue the journals of their streams.

    stored: the records as they will be. rows: of the table `records`. beside: by the keys of
    records, the columns that stand beside the database, and not in their rows. in_rows: streams
    with records of which that is not so. producers: those that take part, with what their sequence
    numbers will be.
    """

    def __init__(
        self,
        facts: Facts,
        marks: Mapping[str, StreamMark],
        find: Callable[[str, str], Producer | None],
        producers_known: int,
        firsts: Mapping[str, int] | None = None,
        *,
        beside: bool = False,
    ) -> None:
        """Continue from `marks`; `find` looks up a producer, new ones follow `producers_known`.

        firsts: by stream, the first number of a producer that was never seen; 0 unless given.
        beside: whether columns of large records are left out of their rows (`worth_a_file`).
        """
        self._facts = facts
        self._marks = marks
        self._find = find
        self._producers_known = producers_known
        self._firsts = firsts or {}
        self._ends: dict[str, tuple[int, int, int, bytes]] = {}
        self.stored: list[Record] = []
        self.rows: list[Row] = []
        self._beside_from = COLUMNS_BESIDE_RECORD_BYTES_MIN if beside else INTEGER_MAX
        self.beside: dict[int, Columns] = {}
        self.in_rows: set[str] = set()
        self.producers: Producers = {}
        self._places: dict[tuple[str, str], SourcePlace] = {}

    def add(self, new: NewRecord) -> None:
        """Put a record at the end of its stream.

        Raises ValueError when it does not continue its producer's sequence or its columns do not
        fit its count; KeyError for a stream that does not exist.
        """
        stream, name = new.stream, new.producer
        key, number, position, head = self._ends.get(stream) or self._end(stream)
        producer, following = self.producers.get((stream, name)) or self._producer(stream, name)
        apart = len(new.x) + len(new.y) + len(new.users) >= self._beside_from
        at = number, position, following, head
        record = continued(self._facts.streams[stream], at, new, beside=apart)
        self.stored.append(record)
        if apart:
            self.beside[key] = record.x, record.y, record.users
        else:
            self.in_rows.add(stream)
        self.rows.append(record_row(key, producer, record, self._facts, beside=apart))
        self.producers[stream, name] = producer, new.sequence + new.count
        if new.place is not None:
            self._places[stream, name] = new.place
        self._ends[stream] = key + 1, number + 1, position + new.count, record.chain_head

    def _end(self, stream: str) -> tuple[int, int, int, bytes]:
        """Key, number and first position of the stream's next record, and the head before it."""
        mark = self._marks[stream]
        number = mark.journal.number + 1
        key = record_key(self._facts.streams[stream].identity, number)
        return key, number, mark.position, mark.journal.head

    def _producer(self, stream: str, name: str) -> Producer:
        found = self._find(stream, name)
        if found is None:
            self._producers_known += 1
            found = self._producers_known, self._firsts.get(stream, 0)
        return found

    def producer_rows(self) -> list[Row]:
        """Rows of the table `producers`."""
        return [
            (identity, self._facts.streams[stream].identity, name, following)
            for (stream, name), (identity, following) in self.producers.items()
        ]

    def place_rows(self) -> list[Row]:
        """Rows of the table of places: the last of each producer's source."""
        if not self._places:
            return []
        return [
            place_row(self.producers[name][0], *name, place) for name, place in self._places.items()
        ]

    def marks(self) -> dict[str, StreamMark]:
        """How far the streams that take part will have come."""
        return {
            stream: self._marks[stream].with_journal(Point(number - 1, head), position)
            for stream, (_, number, position, head) in self._ends.items()
        }


class Arrivals:
    """Ledger entries, releases and predictions that are not stored yet.

    An engine knows its journal and not what was asked in between. It numbers its ledger entries as
    if there were no answers, and the charges of its releases likewise; here they get the numbers
    that they have in the ledger. A stored entry or release that arrives again must be the same.

    entry_rows, release_rows, prediction_rows: of the tables. marks, points: how far streams and
    learners will have come.
    """

    def __init__(
        self,
        facts: Facts,
        history: History,
        marks: Mapping[str, StreamMark],
        points: Mapping[str, Point],
        caps: Mapping[str, Price],
        answers: Mapping[str, int] | None = None,
    ) -> None:
        """Continue from `marks` and `points`, within `caps` by stream.

        answers: how many a window may give, by learner ("stream/learner").
        """
        self._facts = facts
        self._history = history
        self._points = points
        self._caps = caps
        self._answers = answers or {}
        self.marks = dict(marks)
        self.points: dict[str, Point] = {}
        self.entry_rows: list[Row] = []
        self._arriving = Counter[str]()
        self.release_rows: list[Row] = []
        self.prediction_rows: list[Row] = []

    def add_entry(self, entry: LedgerEntry) -> None:
        """Put an engine's entry at the end of its stream's ledger, unless it is stored already.

        Raises StoreDamaged for another entry than the stored one, out of order, in a season that is
        over, or beyond the caps; KeyError for a stream that does not exist.
        """
        mark = self.marks[entry.stream]
        due = _own_entries(mark)
        where = f"ledger entry {entry.number} of {entry.stream}"
        if 0 <= entry.number < due:
            number = self._history.predictions.charge_number(entry.stream, entry.number)
            stored = self._history.ledger.entries(entry.stream, number - 1, number)
            known = replace(entry, number=number).to_bytes()
            if [release.to_bytes() for release in stored] != [known]:
                raise StoreDamaged(
                    f"replay mismatch: {where} came out different from the stored one"
                )
            return
        if entry.number != due:
            raise StoreDamaged(f"replay mismatch: {where} came where entry {due} is due")
        if entry.season < mark.season:
            raise StoreDamaged(f"{where} charges season {entry.season}, which is over")
        spent = mark.spent if entry.season == mark.season else Price.zero()
        spent = spent + entry.price
        if not spent.fits_in(self._caps[entry.stream]):
            raise StoreDamaged(f"{where} would exceed the budget of season {entry.season}")
        ledger = self._put_entry(mark, entry)
        self.marks[entry.stream] = replace(mark, ledger=ledger, season=entry.season, spent=spent)

    def _put_entry(self, mark: StreamMark, entry: LedgerEntry) -> Point:
        """Add the row of an entry after the last one; return the ledger's new end."""
        number = mark.ledger.number + 1
        data = replace(entry, number=number).to_bytes()
        head = ledger_head(mark.ledger.head, data)
        identity = self._facts.streams[entry.stream].identity
        self.entry_rows.append((identity, number, data, head))
        self._arriving[entry.stream] += 1
        return Point(number, head)

    def add_release(self, release: StoredRelease) -> None:
        """Put a release after its learner's last one, unless it is stored already.

        Raises StoreDamaged for another release than the stored one, out of order, or paid for by a
        charge that is not in the ledger; KeyError for a stream that does not exist.
        """
        learner, version = release.learner, release.version
        genesis = self._facts.streams[release.stream].genesis
        point = self.points.get(learner) or self._points.get(learner)
        if point is None:
            point = Point(0, release_genesis(genesis, learner))
        where = f"release {version} of {learner}"
        charged = self._charged(release)
        if 1 <= version <= point.number:
            if charged is None or [charged] != list(
                self._history.releases.of(learner, version - 1, version)
            ):
                raise StoreDamaged(
                    f"replay mismatch: {where} came out different from the stored one"
                )
            return
        # A replay makes the jump of every restore, not only that of the last one.
        left_out = self._history.restores.versions_left_out(learner)
        if version != point.number + 1 and version - 1 not in left_out:
            raise StoreDamaged(f"replay mismatch: {where} came where {point.number + 1} is due")
        if charged is None:
            raise StoreDamaged(f"{where} names charge {release.charge}, which is not in the ledger")
        head = release_head(point.head, charged)
        self.release_rows.append((learner, version, release.body, charged.charge, head))
        self.points[learner] = Point(version, head)

    def _charged(self, release: StoredRelease) -> StoredRelease | None:
        """The release with its charge as numbered in the ledger; None if that is not there."""
        if release.charge is None:
            return release
        mark = self.marks[release.stream]
        own = _own_entries(mark)
        if not 0 <= release.charge < own:
            return None
        stored = own - self._arriving[release.stream]
        if release.charge >= stored:
            # arrives in this transaction, in which nobody answers
            return replace(release, charge=mark.ledger.number + 1 - own + release.charge)
        number = self._history.predictions.charge_number(release.stream, release.charge)
        return replace(release, charge=number)

    def add_prediction(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        """Put a prediction after its stream's last one, with the ledger entry that pays for it.

        The entry's number is set here. Raises StoreDamaged for a prediction out of order, one whose
        noise was bound to another history, one from a season that has not begun, or more answers
        than a window may give; KeyError for a stream that does not exist.
        """
        mark = self.marks[new.stream]
        where = f"prediction {new.number} of {new.stream}"
        if self._facts.streams[new.stream].closing is not None:
            raise StoreDamaged(f"{where} came after the stream was closed")
        journal = self._history.journal.record_point(new.stream, new.record)
        if new.number != mark.predictions.number + 1:
            raise StoreDamaged(f"{where} came where {mark.predictions.number + 1} is due")
        if journal is None or new.question_head != question_head(
            mark.predictions.head,
            journal[0],
            new.learner,
            new.number,
            new.window,
            new.request,
            new.count,
            new.x,
        ):
            raise StoreDamaged(f"{where} does not follow from the stored history")
        if entry.window != new.window or entry.season > mark.season or mark.ledger.number < 0:
            raise StoreDamaged(f"{where} answers from a season that has not begun")
        given = self._history.predictions.answers_counted(new.learner, new.window)
        if given + new.count > self._answers.get(new.learner, 0):
            raise StoreDamaged(f"{where} would exceed what window {new.window} was paid for")
        ledger = self._put_entry(mark, entry)
        head = prediction_head(new.question_head, new.y)
        stored = StoredPrediction(
            **{field.name: getattr(new, field.name) for field in fields(NewPrediction)},
            charge=ledger.number,
            head=head,
        )
        self.prediction_rows.append(self._prediction_row(stored))
        self.marks[new.stream] = replace(mark, ledger=ledger, predictions=Point(new.number, head))
        return stored

    def _prediction_row(self, stored: StoredPrediction) -> Row:
        key = record_key(self._facts.streams[stored.stream].identity, stored.number)
        return (
            *(key, stored.learner, stored.window, stored.record, stored.request, stored.count),
            *(stored.x, stored.y, stored.charge, stored.head),
        )


def _own_entries(mark: StreamMark) -> int:
    """How many entries of a ledger are not for answers: each prediction has one."""
    return mark.ledger.number - mark.predictions.number
