"""Going on from an older copy of a store, where nothing newer is left; see `restoration`.

All or nothing: one transaction appends a restore to the journal of every stream, and then the
high-water mark is replaced. Killed before the end, the store is behind its mark as it was, and the
same can be done again. What the restores say is charged and published by the daemon when it next
starts, as part of the journal.

A stream that the mark knows as closed is closed again, after its restore. One that the copy does
not have is lost, and its name stays used (`littled.store.growth`).
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from littled.budget.price import Price
from littled.store.archive import Archive, StoreArchived
from littled.store.creation import lost_marks
from littled.store.database import (
    Connection,
    Facts,
    KnownPlans,
    Lock,
    Readers,
    add_restores,
    all_known,
    begin_growing,
    complete,
    glance,
    plan_of,
    read_facts,
    read_known,
    record_key,
)
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.growth import Closing, put_closing, put_lost
from littled.store.history import History
from littled.store.keys import check_fingerprint, read_key
from littled.store.mark import HighWaterMark, Numbers, Point, StreamMark
from littled.store.place import MarkPlace, Place
from littled.store.producers import put_checksum
from littled.store.records import record_head
from littled.store.register import Register, Revision
from littled.store.registers import open_register
from littled.store.restoration import RESTORER, Restoration
from littled.store.staging import INTEGER_MAX
from littled.store.verify import verify
from littled_protocol.figures import figures_of

_INSTANCE_BYTES = 16
# Without examples, and so without users where the table has a column for them.
_INSERT_RECORD = """
INSERT INTO records (key, first_position, count, sequence, producer, x, y, head)
VALUES (?, ?, 0, ?, ?, ?, ?, ?)
"""
_RAISE_PRODUCER = """
INSERT INTO producers VALUES ((SELECT coalesce(max(id), 0) + 1 FROM producers), ?, ?, ?)
ON CONFLICT (stream, name) DO UPDATE SET next_sequence = excluded.next_sequence
WHERE producers.next_sequence < excluded.next_sequence
"""
_RAISE_OTHERS = "UPDATE producers SET next_sequence = ?1 WHERE id = ?2 AND next_sequence < ?1"
_PRODUCERS = "SELECT id, name FROM producers WHERE stream = ?"
_PRODUCER = "SELECT id FROM producers WHERE stream = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class Lost:
    """What one stream has lost, and where it goes on. All public.

    position, season, spent: where the copy stands. versions: the last version of each of its
    learners in the copy. marked: what the high-water mark says of it. counted: what the season of
    the copy, which is closed, counts as having spent. next_position, next_season: where the stream
    goes on.
    """

    stream: str
    position: int
    season: int
    spent: Price
    versions: dict[str, int]
    marked: Restoration
    counted: Price
    next_position: int
    next_season: int


class Restoring:
    """A copy of a store that is about to go on; made by `open`, ended by leaving its context."""

    def __init__(
        self,
        place: Place,
        facts: Facts,
        mark: HighWaterMark,
        revision: Revision,
        register: Register,
        readers: Readers,
        lock: Lock,
        history: History,
    ) -> None:
        """Take over what `open` found."""
        self._place = place
        self._facts = facts
        self._mark = mark
        self._revision = revision
        self._register = register
        self._readers = readers
        self._lock = lock
        self._history = history
        self.instance = secrets.token_hex(_INSTANCE_BYTES)
        # Why the mark itself is an older one, if it is known to be: then it bounds no season.
        self.mark_lost = revision.lost
        self.lost = tuple(self._lost(stream) for stream in facts.streams)
        # Streams of the mark that are not in the copy: nothing is left of them but their names.
        self.gone = {
            stream: replace(known, closed=True)
            for stream, known in mark.streams.items()
            if stream not in facts.streams
        }

    @classmethod
    def open(
        cls,
        path: Path | str,
        key_path: Path | str | None = None,
        mark_path: MarkPlace | Path | str | None = None,
        *,
        copy: bool = False,
        archive: Path | None = None,
        known: KnownPlans = all_known,
    ) -> Self:
        """Look at the copy in the folder `path`; see `Store.open` for the paths.

        Nothing changes but that what a crash left ahead of the database is brought into it.

        copy: go on also with a store that has all that its mark knows. archive: the folder with
        what was moved out of the store, to check that as well. known: is asked about all plans.
        Raises StoreRefused when there is nothing to restore, when the mark is missing or another
        store's, and when the copy is damaged; StoreFailed.
        """
        place = Place.of(path, key_path, mark_path)
        if not place.database.exists():
            raise StoreRefused(f"there is no store in {place.name}: put back a copy of it first")
        lock: Lock | None = None
        readers = place.database.readers()
        register: Register | None = None
        try:
            place.database.check()
            seen = glance(place.database, known)
            place.database.recover(incomplete=True)
            lock = place.database.lock()
            key = read_key(place.key, handed_over=place.key_given)
            register = open_register(place, key)
            mark, revision = register.read()
            facts = read_known(readers, place.name, known, seen)
            check_fingerprint(key, facts.instance, facts.fingerprint, place.key)
            on = copy or bool(revision.lost)
            archived = None if archive is None else Archive(archive, facts)
            history = History(readers, facts, archived)
            _check(place, facts, mark, history, copy=on, archive=archive)
            return cls(place, facts, mark, revision, register, readers, lock, history)
        except BaseException as error:
            _let_go(readers, lock)
            if register is not None:
                register.close()
            if isinstance(error, StoreDamaged):
                raise StoreRefused(f"the copy in {place.name} is damaged: {error}") from error
            if isinstance(error, OSError):
                raise StoreRefused(f"cannot restore {place.name}: {error}") from error
            raise

    def __enter__(self) -> Self:
        """Use it in a `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the store back, as it was unless `finish` was called."""
        _let_go(self._readers, self._lock)
        self._register.close()

    def finish(self) -> None:
        """Let the store go on; durable on return. Raises StoreError."""
        writing = self._place.database.writing(incomplete=True)
        try:
            complete(self._readers, writing)
            with writing.transaction() as connection:
                if self.gone or self.closed:
                    begin_growing(connection, self._facts)
                    put_lost(connection, {name: gone.genesis for name, gone in self.gone.items()})
                add_restores(connection, [self._append(connection, lost) for lost in self.lost])
        except BaseException:
            with suppress(StoreError):  # as it was, a copy that is not a whole one is still refused
                writing.close(failed=True)
            raise
        writing.close()
        mark = self._new_mark(History(self._readers, read_facts(self._readers)))
        try:
            self._place.database.sync_names()
        except OSError as error:
            raise StoreFailed(f"the store cannot be made durable: {error.strerror}") from None
        self._register.claim(mark, self._revision)

    # -- what was lost -----------------------------------------------------------------------

    def _had(self, stream: str) -> StreamMark:
        """What the mark says of a stream; one that it does not know yet has nothing to lose."""
        known = self._mark.streams.get(stream)
        known = known or replace(self._history.stream_mark(stream), numbers=Numbers({}))
        if not self.mark_lost:
            return known
        # Nothing bounds what was spent then.
        return replace(known, spent=Price.from_dict(plan_of(self._facts, stream)["caps"]))

    @property
    def closed(self) -> tuple[str, ...]:
        """The streams that are closed by the copy or by the mark, and stay so."""
        return tuple(
            stream
            for stream, facts in self._facts.streams.items()
            if facts.closing is not None or self._had(stream).closed
        )

    def _lost(self, stream: str) -> Lost:
        had, copy = self._had(stream), self._history.stream_mark(stream)
        plan = plan_of(self._facts, stream)
        caps, horizon = Price.from_dict(plan["caps"]), plan["horizon"]
        last = max(copy.season, had.season, max(copy.position, had.position) // horizon)
        if (last + 2) * horizon > INTEGER_MAX:
            raise StoreRefused(f"stream {stream} is full: no season can follow")
        if not had.spent.fits_in(caps):
            raise StoreRefused(
                f"the high-water mark says that {stream} has spent more than it may: put back the "
                "newest copy of the mark"
            )
        versions = {
            name: self._history.releases.last(name)
            for learner, values in plan.get("learners", {}).items()
            for name in _chains(f"{stream}/{learner}", values)
        }
        marked = self._restoration(stream, copy, versions)
        return Lost(
            stream=stream,
            position=copy.position,
            season=copy.season,
            spent=copy.spent,
            versions={learner: version for learner, version in versions.items() if version},
            marked=marked,
            counted=marked.counted(copy.season, caps, horizon),
            next_position=(last + 1) * horizon,
            next_season=last + 1,
        )

    def _restoration(self, stream: str, copy: StreamMark, versions: dict[str, int]) -> Restoration:
        had, restores = self._had(stream), self._history.restores
        left_out = restores.lost_versions(stream)
        numbers = had.numbers or self._guessed_numbers(stream, had.position - copy.position)
        highest = {
            name: max(version, self._mark.version(name), left_out.get(name, 0))
            for name, version in versions.items()
        }
        return Restoration(
            instance=self.instance,
            season=had.season,
            spent=had.spent,
            position=had.position,
            records=max(had.journal.number - copy.journal.number, 0),
            entries=max(had.ledger.number - copy.ledger.number, 0),
            predictions=max(had.predictions.number - copy.predictions.number, 0),
            versions={name: version for name, version in highest.items() if version},
            # An older mark may have a name for whom the copy's own restores let begin higher.
            numbers=numbers.raised(
                self._history.producers.of(stream), restores.first_number(stream)
            ),
        )

    def _guessed_numbers(self, stream: str, lost: int) -> Numbers:
        """For a mark that knows no producers: none can have lost more than all examples."""
        known = self._history.producers.numbers(stream)
        return Numbers({}, max([known.others, *known.named.values()]) + max(lost, 0))

    # -- what is written ---------------------------------------------------------------------

    def _append(self, connection: Connection, lost: Lost) -> int:
        """Append the restore of one stream, and let its producers go on; return the key."""
        identity = self._facts.streams[lost.stream].identity
        self._raise_producers(connection, identity, lost.marked.numbers)
        sequence = len(self._history.restores.of(lost.stream))
        connection.execute(_RAISE_PRODUCER, (identity, RESTORER, sequence + 1))
        producer: Any = connection.execute(_PRODUCER, (identity, RESTORER)).fetchall()[0][0]
        end = self._history.stream_mark(lost.stream).journal
        number, position, x = end.number + 1, lost.next_position, lost.marked.to_bytes()
        head = record_head(end.head, number, position, 0, sequence, RESTORER, x, b"")
        key = record_key(identity, number)
        connection.execute(_INSERT_RECORD, (key, position, sequence, producer, x, b"", head))
        put_checksum(connection, identity, Point(number, head))
        if lost.stream in self.closed:
            answers = self._history.predictions.end(lost.stream)
            closing = Closing(number, head, answers.number, answers.head)
            put_closing(connection, identity, closing)
        return key

    def _raise_producers(self, connection: Connection, identity: int, numbers: Numbers) -> None:
        bounds = [(identity, name, bound) for name, bound in numbers.named.items() if bound]
        connection.executemany(_RAISE_PRODUCER, bounds)
        if numbers.others:
            rows: list[Any] = connection.execute(_PRODUCERS, (identity,)).fetchall()
            unnamed = [row for row, name in rows if name not in {*numbers.named, RESTORER}]
            connection.executemany(_RAISE_OTHERS, [(numbers.others, row) for row in unnamed])

    def _new_mark(self, history: History) -> HighWaterMark:
        """The mark of the store that goes on: it carries on whatever the old one had bounded."""
        streams: dict[str, StreamMark] = lost_marks(self._facts) | self.gone
        versions: dict[str, int] = {}
        for lost in self.lost:
            stream = lost.stream
            numbers = lost.marked.numbers.raised(
                history.producers.of(stream), history.restores.first_number(stream)
            )
            streams[stream] = replace(history.stream_mark(stream), numbers=numbers)
            versions.update(history.restores.lost_versions(stream))
        releases = {
            learner: history.releases.end(learner) for learner in history.releases.learners()
        }
        return HighWaterMark(self._facts.instance, streams, releases, versions)


def _chains(learner: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The names under which what a learner releases is stored: rules, and figures if it has any."""
    yield learner
    if "quality" in values.get("parameters", {}):
        yield figures_of(learner)


def _check(
    place: Place,
    facts: Facts,
    mark: HighWaterMark,
    history: History,
    *,
    copy: bool,
    archive: Path | None,
) -> None:
    """StoreRefused unless this is a sound and older copy of the store that the mark knows."""
    if mark.instance != facts.instance or any(
        mark.streams[stream].genesis != stream_facts.genesis
        if stream in mark.streams
        # one that has nothing, but restores that were killed before the mark was written
        else history.journal.last_record(stream) >= len(history.restores.of(stream))
        for stream, stream_facts in facts.streams.items()
    ):
        raise StoreRefused(
            f"the high-water mark {place.mark} belongs to another store: put back the mark of "
            "this one"
        )
    if not copy and not _is_behind(history, mark):
        raise StoreRefused(
            f"the store in {place.name} is not behind its high-water mark, so there is nothing "
            "to restore: serve it; if you know that it is a copy that lacks examples, say --copy"
        )
    key = place.key if place.key_given else None
    report = verify(place.path, key, place.mark, alone=True, archive=archive)
    if not report.sound:
        raise StoreRefused(
            f"the copy in {place.name} is damaged: {report.findings[0]} (see littled verify)"
        )


def _is_behind(history: History, mark: HighWaterMark) -> bool:
    """Whether the copy is behind its mark; so it is where only a lost archive could tell."""
    try:
        return bool(history.behind(mark))
    except StoreArchived:
        return True


def _let_go(readers: Readers, lock: Lock | None) -> None:
    with suppress(StoreError):
        readers.close()
    if lock is not None:
        lock.release()
