"""The store: one folder, one writer, everything in it durable before the call returns.

    STORE/store.sqlite       journal, producers, ledger, releases, predictions, snapshots
    STORE/columns-000001     columns of large records, of which there may be several files, or none
    STORE/tail               records that came alone and are not in the database yet
    STORE/noise.key          the noise key, or wherever the operator keeps it
    STORE/high-water-mark    how far the store had come, or wherever the operator keeps it
    STORE/lock               locked by the process that serves the store

Methods that write belong on one thread; a lock makes sure of it. Methods that read may be called on
any thread; they wait for a commit only where what they have found may be part of it.

The journal, the ledger, the releases and the predictions only ever grow. A charge or a release that
is stored already is accepted silently when it is the same, since a crash makes the engine repeat
itself; a different one means that a replay came to something else, and is fatal. Answers depend on
when they were asked for, so no engine repeats them: each is stored once, with its ledger entry.
"""

import json
import math
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.limits import (
    STORE_PRODUCERS_IN_MEMORY_MAX,
    STORE_SNAPSHOTS_KEPT,
)
from littled.store.ahead import ReadAhead
from littled.store.archive import Archive, StoreArchived, Stretch
from littled.store.archiving import Archiving, put_moved
from littled.store.creation import (
    check_plans,
    create_store,
    first_marks,
    lost_marks,
    new_streams,
)
from littled.store.database import (
    PUT_PRODUCER,
    Connection,
    Facts,
    KnownPlans,
    Lock,
    Readers,
    Writing,
    all_known,
    answer_windows,
    begin_beside,
    begin_growing,
    complete,
    glance,
    insert_record,
    plans_of,
    read_known,
    record_key,
    stream_rows,
)
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.growth import Closing, put_closing, put_streams
from littled.store.history import History
from littled.store.keys import check_fingerprint, read_key
from littled.store.mark import HighWaterMark, Numbers, Point, StreamMark
from littled.store.packing import Packing, put_segment
from littled.store.place import MarkPlace, Place
from littled.store.producers import ProducerCheck, put_checksum
from littled.store.records import (
    NewPrediction,
    NewRecord,
    Record,
    SourcePlace,
    StoredPrediction,
    StoredRelease,
    snapshot_checksum,
)
from littled.store.register import Register, Revision, current
from littled.store.registers import open_register, silent
from littled.store.reserving import Reserves
from littled.store.source_places import put_places
from littled.store.staging import (
    Arrivals,
    Batch,
    Producer,
    Producers,
    Row,
    continued,
    is_large,
    record_row,
    worth_a_file,
)

_INSERT_ENTRY = "INSERT INTO ledger VALUES (?, ?, ?, ?)"
_INSERT_RELEASE = "INSERT INTO releases VALUES (?, ?, ?, ?, ?)"
_INSERT_PREDICTION = "INSERT INTO predictions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_SNAPSHOT = """
INSERT INTO snapshots VALUES (?, ?, ?, ?) ON CONFLICT (stream, record_number)
DO UPDATE SET state = excluded.state, checksum = excluded.checksum
"""
_FORGET_SNAPSHOTS = """
DELETE FROM snapshots WHERE stream = ?1 AND record_number NOT IN (
    SELECT record_number FROM snapshots WHERE stream = ?1 AND record_number <= ?2
    ORDER BY record_number DESC LIMIT ?3)
"""
_PULSE = "UPDATE meta SET value = ? WHERE name = 'pulse'"
_PULSE_BYTES = 8


class Store:
    """An open store; made by `open`, ended by `close` or by leaving its context."""

    def __init__(
        self,
        place: Place,
        key: bytes,
        facts: Facts,
        readers: Readers,
        register: Register,
        lock: Lock | None,
        writing: Writing | None,
        archive: Path | None = None,
    ) -> None:
        """Take over what `open` found to be sound; `lock` and `writing` are None to only read."""
        self._place = place
        self._register = register
        self._revision: Revision | None = None  # of the mark, once this object owns it
        self._key = key
        self._readers = readers
        self._archive = archive
        self._served = lock
        self._writing = writing
        self._lock = threading.Lock()
        self._failure: StoreError | None = None
        self._marks: dict[str, StreamMark] = {}
        # Marks of streams that a restore has lost, which stay as they are.
        self._lost_marks: dict[str, StreamMark] = {}
        self._releases: dict[str, Point] = {}
        self._versions: dict[str, int] = {}
        # Of a store that is served: what the high-water mark has, by learner and by stream. Readers
        # may see a commit before it is known to be durable, and before the mark has it.
        self._unseen = math.inf
        self._shown: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._producers: Producers = {}
        self._producers_known = 0
        self._packing: Packing | None = None
        # What opening has read of each journal, for whoever reads that first.
        self._ahead: dict[str, ReadAhead] = {}
        self._reserves = Reserves(self._marks, self._producer_next)
        self._take(facts)

    def _take(self, facts: Facts) -> None:
        """Be the store of these facts, which say more or the same of every stream."""
        self._facts = facts
        archive = None if self._archive is None else Archive(self._archive, facts)
        self._history = History(self._readers, facts, archive)
        self._plans = plans_of(facts)
        self._caps = {name: Price.from_dict(plan["caps"]) for name, plan in self._plans.items()}
        self._restores = {name: self._history.restores.of(name) for name in facts.streams}
        self._answers: dict[str, int] = {}
        # The first window that may answer: a restore closes all before it.
        self._open_windows: dict[str, int] = {}
        for name, plan in self._plans.items():
            for learner, windows in answer_windows(name, plan).items():
                self._answers[f"{name}/{learner}"] = windows.answers_max
                self._open_windows[f"{name}/{learner}"] = self._open_window(
                    name, plan["horizon"], windows.size
                )
        # Numbers of producers that were never seen; they may be among what was lost.
        self._firsts = {name: self._history.restores.first_number(name) for name in facts.streams}

    # -- making and opening ------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: Path | str,
        configuration: Mapping[str, Any],
        plans: Mapping[str, Mapping[str, Any]],
        key_path: Path | str | None = None,
        mark_path: MarkPlace | Path | str | None = None,
    ) -> None:
        """Make a store in the folder `path`, which must be missing or empty. All or nothing.

        configuration: JSON-able, kept as it is. plans: by stream, JSON-able, with "caps" and
        "horizon". key_path: a key that lies there is used, else a new one is put there. mark_path:
        where the high-water mark is to be kept (`mark_place`).
        Raises StoreRefused, and leaves nothing behind.
        """
        create_store(Place.of(path, key_path, mark_path), configuration, plans)

    @classmethod
    def open(
        cls,
        path: Path | str,
        key_path: Path | str | None = None,
        mark_path: MarkPlace | Path | str | None = None,
        read_only: bool = False,
        *,
        vfs: str | None = None,
        progress: Callable[[], None] = lambda: None,
        archive: Path | None = None,
        waiting: Callable[[str], None] = silent,
        take_over: bool = False,
        known: KnownPlans = all_known,
    ) -> Self:
        """Open the store in the folder `path`; to serve it, or next to a daemon to read it.

        Checks the key, the high-water mark and, to serve, the chain of the journal after each
        stream's last snapshot, and that the producers are where the journal leaves them. vfs: name
        of a registered SQLite file system, None for the usual. progress: called every so many
        records where that takes long, as with the first opening of an old store. archive: the
        folder with what was moved out of the store; only whoever reads that needs it. waiting: told
        a sentence whenever the mark cannot be had at once. take_over: put off a process that serves
        the store, where the database can (`littled.store.database.Database.lock`). known: is asked
        about all plans before anything is written or anybody is put off.
        Raises StoreRefused with a sentence that says what to do; StoreFailed when the disk fails.
        """
        place = Place.of(path, key_path, mark_path, vfs)
        if not place.database.exists():
            raise StoreRefused(f"there is no store in {place.name}: make one with littled init")
        lock: Lock | None = None
        writing: Writing | None = None
        readers = place.database.readers()
        register: Register | None = None
        try:
            place.database.check()
            seen = glance(place.database, known)
            key = read_key(place.key, handed_over=place.key_given)
            register = open_register(place, key, waiting)
            if read_only:
                place.database.recover(incomplete=True)  # of a copy, all that there is
            else:
                lock = place.database.lock(take_over=take_over)
                writing = place.database.writing()
                place.database.sync_names()
            # Read before the database, which a daemon at work would always have ahead of it.
            mark, revision = current(register)
            facts = read_known(readers, place.name, known, seen)
            check_fingerprint(key, facts.instance, facts.fingerprint, place.key)
            store = cls(place, key, facts, readers, register, lock, writing, archive)
            store._check(mark, revision, progress)
        except BaseException as error:
            _close_quietly(readers, writing, lock)
            if register is not None:
                register.close()
            if isinstance(error, StoreDamaged):
                raise StoreRefused(f"the store in {place.name} is damaged: {error}") from error
            if isinstance(error, OSError):
                raise StoreRefused(f"cannot open the store in {place.name}: {error}") from error
            raise
        return store

    def _check(self, mark: HighWaterMark, revision: Revision, progress: Callable[[], None]) -> None:
        findings = self._history.behind(mark)
        if findings:
            raise StoreRefused(
                f"the store in {self._place.name} is behind its high-water mark: {findings[0]}. "
                "Put back the newest copy of the store; an older one would spend the same budget "
                "again, and may only go on by littled restore"
            )
        if self._writing is None:
            return
        complete(self._readers, self._writing)
        self._writing.settle_columns()
        for stream in self._facts.streams:
            self._check_producers(stream, progress)
            for finding in self._history.after_closing(stream):
                raise StoreDamaged(finding)
            # The mark may be an older one: then it knows less of producers than is stored, and not
            # all of the streams.
            known = mark.streams.get(stream)
            numbers = ((known and known.numbers) or Numbers({})).raised(
                self._history.producers.of(stream), self._firsts[stream]
            )
            self._marks[stream] = replace(self._history.stream_mark(stream), numbers=numbers)
            self._versions.update(self._history.restores.lost_versions(stream))
        for learner, version in mark.versions.items():
            self._versions[learner] = max(version, self._versions.get(learner, 0))
        for learner in self._history.releases.learners():
            self._releases[learner] = self._history.releases.end(learner)
        # Of lost streams too: their names stay used, whatever copy goes on with this mark.
        self._lost_marks = {
            stream: mark.streams.get(stream, lost)
            for stream, lost in lost_marks(self._facts).items()
        }
        last = self._writing.read("SELECT coalesce(max(id), 0) FROM producers", ())
        self._producers_known = int(last[0][0])
        self._packing = Packing(self._facts, self._history.journal, self._marks)
        self._revision = self._register.claim(self._mark(), revision)
        self._unseen = -1
        self._note_shown(self._releases)
        for stream, reached in self._marks.items():
            self._answered[stream] = reached.predictions.number

    def _check_producers(self, stream: str, progress: Callable[[], None]) -> None:
        """Check the end of a journal, and that its producers are where it leaves them."""
        assert self._writing is not None
        identity = self._facts.streams[stream].identity
        found = self._history.snapshots.newest(stream)
        check = ProducerCheck(self._history, stream, identity)
        after = -1 if found is None else found[0]
        ahead = self._ahead[stream] = ReadAhead(after, len(self._facts.streams))
        if check.fits(after, ahead.keep):
            return
        if not check.agrees(progress):
            raise StoreDamaged(
                f"the producers of {stream} are not where its journal ends for them: put back a "
                "backup"
            )
        end = self._history.stream_mark(stream).journal
        with self._writing.transaction() as connection:
            put_checksum(connection, identity, end)

    def close(self) -> None:
        """Advance the mark and close everything; nothing happens the second time.

        After a failure nothing more is written. Raises StoreError when the last write fails.
        """
        with self._lock:
            failed = self._failure is not None
            self._failure = self._failure or StoreFailed("the store is closed")
            writing, self._writing = self._writing, None
            try:
                if writing is not None and not failed:
                    writing.check_place()
                    self._forget_reserves()
                    self._replace_mark()
                self._readers.close()
                if writing is not None:
                    writing.close(failed=failed)
                    writing = None
            finally:
                _close_quietly(self._readers, writing, self._served)
                self._register.close()

    def __enter__(self) -> Self:
        """Use the store in a `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    # -- what never changes ------------------------------------------------------------------

    @property
    def instance(self) -> str:
        """Random public name of this store; a restore gives it a new one."""
        names = [restores[-1][1].instance for restores in self._restores.values() if restores]
        return names[0] if names else self._facts.instance

    @property
    def configuration(self) -> dict[str, Any]:
        """The configuration that the store was made with, and those of the streams added since."""
        whole: dict[str, Any] = json.loads(self._facts.configuration)
        for facts in self._facts.streams.values():
            if facts.configuration is not None:
                whole.setdefault("streams", {}).update(json.loads(facts.configuration)["streams"])
        return whole

    @property
    def name(self) -> str:
        """What messages call the store."""
        return self._place.name

    @property
    def plans(self) -> dict[str, dict[str, Any]]:
        """The plan of each stream."""
        return self._plans

    @property
    def closed(self) -> frozenset[str]:
        """The streams that take no more examples and give no more answers."""
        streams = self._facts.streams.items()
        return frozenset(name for name, facts in streams if facts.closing is not None)

    @property
    def lost(self) -> frozenset[str]:
        """The streams that a restore has lost, whose names are not used again."""
        return frozenset(self._facts.lost)

    @property
    def noise_key(self) -> bytes:
        """The noise key, 32 bytes. Private."""
        return self._key

    # -- reading, on any thread --------------------------------------------------------------

    def position(self, stream: str) -> int:
        """Number of examples in a stream's journal. KeyError: no such stream."""
        self._usable()
        if stream in self._marks:
            return self._marks[stream].position
        with self._watched():
            journal = self._history.journal
            point = journal.record_point(stream, journal.last_record(stream))
        return 0 if point is None else point[1]

    def behind(self, stream: str, number: int) -> tuple[int, int]:
        """How many records come after record `number`, and how many examples they hold.

        KeyError: no such stream.
        """
        examples = self.position(stream) - self._following(stream, number)
        for record, _ in self._restores[stream]:
            if record.number > number:  # it has left positions out, which no example has
                examples -= record.first_position - self._following(stream, record.number - 1)
        with self._watched():
            return self._history.journal.last_record(stream) - number, examples

    def restored_position(self, stream: str) -> int:
        """Where the last restore has let a stream go on; -1 without one. KeyError."""
        restores = self._restores[stream]
        return restores[-1][0].first_position if restores else -1

    def charged_position(self, stream: str) -> int:
        """The position of the last charge that is not for answers; -1 before the first.

        KeyError: no such stream.
        """
        self._usable()
        with self._watched():
            entry = self._history.ledger.last_own(stream)
        return -1 if entry is None else entry.position

    def producer_next(self, stream: str, producer: str) -> int:
        """The sequence number that follows a producer's last durable example, 0 at first."""
        self._usable()
        known = (stream, producer) in self._producers
        found = self._producer_next(stream, producer)
        if not known:
            self._see_owned()
        return found

    def place(self, stream: str, producer: str) -> SourcePlace | None:
        """The last durable place of a producer's source, None where none was ever told."""
        self._usable()
        with self._watched():
            found = self._history.producers.place(stream, producer)
        self._see_owned()
        return found

    def records(self, stream: str, after: int = -1) -> Iterator[Record]:
        """Records of a stream after number `after`, in order, each checked against the chain.

        Ends where the journal ends at that moment. What was read when the store was opened is not
        read again the first time. Raises StoreError; KeyError: no such stream.
        """
        self._usable()
        ahead = self._ahead.pop(stream, None)
        with self._watched():
            for record in () if ahead is None else ahead.taken(after):
                yield record
                after = record.number
            yield from self._history.journal.records(stream, after)

    def ledger(self, stream: str) -> list[LedgerEntry]:
        """All ledger entries of a stream, checked against their chain."""
        self._usable()
        with self._watched():
            return list(self._history.ledger.entries(stream))

    def releases(
        self, learner: str, since: int = 0, bytes_max: int | None = None
    ) -> list[StoredRelease]:
        """Releases of the learner "stream/learner" after version `since`, checked.

        All of them, or the first ones until their bodies have `bytes_max` bytes or more.
        """
        self._usable()
        found, left = [], math.inf if bytes_max is None else bytes_max
        with self._watched():
            for release in self._history.releases.of(learner, since):
                found.append(release)
                left -= len(release.body)
                if left <= 0:
                    break
        if found and found[-1].version > self._shown.get(learner, self._unseen):
            self._wait_for_commit(
                lambda: found[-1].version <= self._shown.get(learner, self._unseen)
            )
        return found

    def latest_releases(self, learner: str, versions: int) -> list[StoredRelease]:
        """Releases of a learner's last `versions` versions, checked; fewer where some were lost."""
        last = self._releases.get(learner)
        return [] if last is None else self.releases(learner, max(last.number - versions, 0))

    def record_at(self, stream: str, position: int) -> int | None:
        """Number of the record that holds the example at a position; None when there is none."""
        self._usable()
        with self._watched():
            return self._history.journal.record_at(stream, position)

    def predictions(self, stream: str, after: int = -1) -> Iterator[StoredPrediction]:
        """Predictions of a stream after number `after`, in order, checked against their chain."""
        self._usable()
        with self._watched():
            yield from self._history.predictions.of(stream, after)

    def prediction(self, learner: str, request: bytes) -> StoredPrediction | None:
        """What was answered to a request to the learner "stream/learner"; None if nothing was."""
        self._usable()
        with self._watched():
            found = self._history.predictions.answer(learner, request)
        if found is not None and found.number > self._answered.get(found.stream, self._unseen):
            self._wait_for_commit(
                lambda: found.number <= self._answered.get(found.stream, self._unseen)
            )
        return found

    def prediction_end(self, stream: str) -> Point:
        """Number and head of a stream's last prediction, of a store that is open for writing."""
        self._usable(writing=True)
        return self._marks[stream].predictions

    def answers_given(self, learner: str, window: int) -> int:
        """How many points a window of the learner "stream/learner" has answered, checked.

        A window that a restore has closed counts as having answered all that it may.
        """
        self._usable()
        if self._is_closed(learner, window):
            return self._answers[learner]
        with self._watched():
            return self._history.predictions.answers_given(learner, window)

    def answers_counted(self, learner: str, window: int) -> int:
        """The same at once and unchecked, to be told to somebody, not to be relied on."""
        self._usable()
        if self._is_closed(learner, window):
            return self._answers[learner]
        with self._watched():
            return self._history.predictions.answers_counted(learner, window)

    def snapshot(self, stream: str) -> tuple[int, bytes] | None:
        """The first of `snapshots`; None without any: the engine then replays from the start."""
        return next(self.snapshots(stream), None)

    def snapshots(self, stream: str) -> Iterator[tuple[int, bytes]]:
        """The snapshots, newest first: number of the last record in it, and the engine's state.

        A damaged snapshot is passed over.
        """
        self._usable()
        with self._watched():
            yield from self._history.snapshots.sound(stream)

    # -- writing -----------------------------------------------------------------------------

    def append(self, records: Sequence[NewRecord]) -> list[Record]:
        """Add records to their streams' journals in one transaction, durable on return.

        An empty sequence makes a commit all the same, which shows that the disk still answers.
        Raises ValueError, and changes nothing, for a record that does not continue its producer's
        sequence or whose columns do not fit its count; StoreFailed after which nothing is accepted.
        """
        with self._lock:
            self._usable(writing=True)
            if len(records) == 1 and records[0].place is None and not is_large(records[0]):
                return [self._append_lone(records[0])]
            beside = worth_a_file(records)
            batch = Batch(
                self._facts,
                self._marks,
                self._own_producer,
                self._producers_known,
                self._firsts,
                beside=beside,
            )
            for record in records:
                batch.add(record)
            self._reserve(batch.producers)
            self._put(batch, batch.place_rows())
            marks = batch.marks()
            if self._packing is not None:
                for stream in marks.keys() - batch.in_rows:
                    self._packing.pass_over(stream, self._marks[stream], marks[stream])
            self._stored(marks, batch.producers)
            return batch.stored

    def _append_lone(self, new: NewRecord) -> Record:
        """Store one record, as `append`: what whoever waits for each acknowledgement waits for.

        Without a `Batch` it takes 5 % less of the processor to its acknowledgement. The lock is
        held.
        """
        assert self._writing is not None
        stream, name, mark = new.stream, new.producer, self._marks[new.stream]
        found = self._producers.get((stream, name)) or self._own_producer(stream, name)
        producer, following = found or (self._producers_known + 1, self._firsts[stream])
        at = mark.journal.number + 1, mark.position, following, mark.journal.head
        facts = self._facts.streams[stream]
        record = continued(facts, at, new)
        following += record.count
        producers = {(stream, name): (producer, following)}
        if not self._reserves.covers(stream, name, following):
            self._reserve(producers)
        key = record_key(facts.identity, record.number)
        row = record_row(key, producer, record, self._facts)
        try:
            self._writing.put_alone((producer, facts.identity, name, following), row)
        except BaseException as error:
            self._end_use(error)
            raise
        end = Point(record.number, record.chain_head)
        # The mark may be another one by now, with other numbers of producers.
        marks = {stream: self._marks[stream].with_journal(end, mark.position + record.count)}
        self._stored(marks, producers)
        return record

    def _stored(self, marks: Mapping[str, StreamMark], producers: Producers) -> None:
        """Take note of how far streams and producers have come."""
        self._marks.update(marks)
        self._remember(producers)
        if self._packing is not None:
            self._packing.note(marks)

    def _put(self, batch: Batch, reached: Sequence[Row]) -> None:
        """Store any number of records, some of whose columns stand beside the database.

        reached: rows of places of their sources, stored with them: one that was stored before would
        lose examples, one that was stored after would have them twice.
        """
        assert self._writing is not None
        with self._transaction() as connection:
            if batch.beside:
                begin_beside(connection, self._facts)
            if batch.rows:
                connection.executemany(PUT_PRODUCER, batch.producer_rows())
                insert = insert_record(len(batch.rows[0]))
                self._writing.put_records(connection, insert, batch.rows, batch.beside)
            else:
                connection.execute(_PULSE, (secrets.token_bytes(_PULSE_BYTES),))
                self._writing.check_place()
            put_places(connection, reached)

    def bring_in(self) -> None:
        """Put into the database what stands ahead of it, so that other processes find it.

        Raises StoreFailed after which nothing is accepted.
        """
        with self._lock:
            self._usable(writing=True)
            assert self._writing is not None
            with _EndingUse(self):
                self._writing.bring_in()

    def charge(self, entry: LedgerEntry) -> None:
        """Add an entry to the ledger, durable on return, with the high-water mark advanced.

        Raises StoreDamaged for an entry other than the stored one with its number, out of order, or
        beyond the caps; StoreFailed. After either nothing is accepted. KeyError: no such stream.
        """
        self.publish((), (entry,))

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Add releases and ledger entries in one transaction, durable on return; see `charge`."""
        with self._lock:
            self._usable(writing=True)
            arriving = Arrivals(self._facts, self._history, self._marks, self._releases, self._caps)
            with self._watched():
                for entry in entries:
                    arriving.add_entry(entry)
                for release in releases:
                    arriving.add_release(release)
            if not arriving.entry_rows and not arriving.release_rows:
                return
            with self._transaction() as connection:
                connection.executemany(_INSERT_ENTRY, arriving.entry_rows)
                connection.executemany(_INSERT_RELEASE, arriving.release_rows)
            self._marks.update(arriving.marks)
            self._releases.update(arriving.points)
            self._advance_mark()
            self._note_shown(arriving.points)

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        """Add a prediction and the ledger entry that pays for it in one transaction.

        Durable on return, with the high-water mark advanced; the entry's number is set here. Raises
        StoreDamaged for a prediction that does not follow from what is stored, whose request was
        answered already, or that its window has not paid for; StoreFailed. After either nothing is
        accepted. KeyError: no such stream.
        """
        with self._lock:
            self._usable(writing=True)
            arriving = Arrivals(
                *(self._facts, self._history, self._marks, self._releases, self._caps),
                answers=self._answers,
            )
            with self._watched():
                if self._is_closed(new.learner, new.window):
                    raise StoreDamaged(f"window {new.window} of {new.learner} is closed")
                stored = arriving.add_prediction(new, entry)
            with self._transaction() as connection:
                connection.executemany(_INSERT_ENTRY, arriving.entry_rows)
                connection.executemany(_INSERT_PREDICTION, arriving.prediction_rows)
            self._marks.update(arriving.marks)
            self._advance_mark()
            self._answered[new.stream] = new.number
            return stored

    def add_streams(
        self, configuration: Mapping[str, Any], plans: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Add streams, all or none; durable on return, with the high-water mark advanced.

        configuration, plans: as for `create`, of the new streams alone. What is stored of others
        stays as it is. Raises StoreRefused, and changes nothing, for a name that a stream of the
        store has or had; StoreFailed after which nothing is accepted.
        """
        with self._lock:
            self._usable(writing=True)
            facts = self._facts
            check_plans(plans, len(facts.streams))
            for stream in plans:
                refuse_used(facts, stream)
            first = max(known.identity for known in facts.streams.values()) + 1
            new = new_streams(facts.salt, configuration, plans, first)
            grown = replace(facts, streams={**facts.streams, **new})
            with self._transaction() as connection:
                begin_growing(connection, grown, users=grown.of_users and not facts.of_users)
                put_streams(connection, stream_rows(new))
            self._take(grown)
            self._marks.update(first_marks(new))
            self._packing = Packing(grown, self._history.journal, self._marks)
            self._advance_mark()

    def close_stream(self, stream: str) -> None:
        """End a stream for ever; durable on return, with the high-water mark advanced.

        What is stored of it stays. Raises StoreRefused for a stream that is closed already;
        StoreFailed after which nothing is accepted. KeyError: no such stream.
        """
        with self._lock:
            self._usable(writing=True)
            known, mark = self._facts.streams[stream], self._marks[stream]
            if known.closing is not None:
                raise StoreRefused(f"stream {stream} is closed already")
            journal, predictions = mark.journal, mark.predictions
            closing = Closing(*(journal.number, journal.head, predictions.number, predictions.head))
            closed = {**self._facts.streams, stream: replace(known, closing=closing)}
            with self._transaction() as connection:
                begin_growing(connection, self._facts)
                put_closing(connection, known.identity, closing)
            self._take(replace(self._facts, streams=closed))
            self._marks[stream] = replace(mark, closed=True)
            self._packing = Packing(self._facts, self._history.journal, self._marks)
            self._advance_mark()

    def save_snapshot(self, stream: str, record_number: int, state: bytes) -> None:
        """Keep an engine's state after a record (-1: before the first); older states are dropped.

        So are those of later records: an engine that comes after such a record had no use for them,
        and records that only they make dispensable must not be archived.

        Raises ValueError for a record that the journal does not have; StoreFailed.
        """
        with self._lock:
            self._usable(writing=True)
            with self._watched():
                point = self._history.journal.record_point(stream, record_number)
            if point is None:
                raise ValueError(f"stream {stream} has no record {record_number}")
            identity = self._facts.streams[stream].identity
            checksum = snapshot_checksum(point[0], record_number, state)
            with self._transaction() as connection:
                connection.execute(_INSERT_SNAPSHOT, (identity, record_number, state, checksum))
                kept = identity, record_number, STORE_SNAPSHOTS_KEPT
                connection.execute(_FORGET_SNAPSHOTS, kept)
                put_checksum(connection, identity, self._marks[stream].journal)
            self._advance_mark()

    @property
    def segments_waiting(self) -> int:
        """How many segments may be packed by `pack`, about; may be asked on any thread."""
        return 0 if self._packing is None else self._packing.waiting

    def pack(self) -> bool:
        """Pack some of the oldest records that stand in rows of their own, where that saves room.

        It takes milliseconds, changes nothing of what is read, and is durable on return. Returns
        whether more is waiting. Raises StoreDamaged for records that do not continue the chain;
        StoreFailed. After either nothing is accepted.
        """
        with self._lock:
            self._usable(writing=True)
            assert self._packing is not None, "the store is not open for writing"
            if not self._packing.waiting:
                return False
            with self._watched():
                found = self._packing.next()
            if found is not None:
                with self._transaction() as connection:
                    put_segment(connection, self._facts, *found)
            self._packing.note(self._marks)
            return self._packing.waiting > 0

    def archive(self, folder: Path) -> Iterator[Stretch]:
        """Move the beginnings of journals into files in `folder`; see `littled.store.archiving`.

        Yields what each file holds, after which its records are gone from the store; at the end the
        room that they took is given back. Nothing else may be done with the store meanwhile. Raises
        StoreRefused for a folder that cannot be had or a file that is in the way; StoreDamaged;
        StoreFailed.
        """
        self._usable(writing=True)
        archiving = Archiving(self._facts, self._history, self._plans, folder)
        for stream in self._facts.streams:
            while (moved := archiving.next(stream)) is not None:
                with self._lock, self._transaction() as connection:
                    put_moved(connection, self._facts, moved)
                yield moved.stretch
        with self._lock, self._watched():
            assert self._writing is not None
            self._writing.settle_columns()
            self._writing.shrink()

    # -- inside ------------------------------------------------------------------------------

    def _following(self, stream: str, number: int) -> int:
        """The position that follows a record; 0 where there is none."""
        with self._watched():
            point = self._history.journal.record_point(stream, number)
        return 0 if point is None else point[1]

    def _note_shown(self, points: Mapping[str, Point]) -> None:
        """Let releases be shown, as the mark has them."""
        self._shown.update((learner, point.number) for learner, point in points.items())

    def _wait_for_commit(self, marked: Callable[[], bool]) -> None:
        """Wait until what was read is durable and in the mark; StoreFailed if it never will be.

        marked: whether the mark that this object writes has it.
        """
        with self._lock:
            self._usable()
            with self._watched():
                if not marked():
                    # Another owner's, whose commit may still be lost and whose mark may fail.
                    raise StoreFailed(
                        "another process has taken over the store, so that nothing more is shown "
                        "here: see which one serves it"
                    )

    def _see_owned(self) -> None:
        """See that what was just read is this owner's. Raises StoreError.

        Rows of another one may be seen before they are durable, and be lost; whoever was told of
        them as durable would not send them again.
        """
        with self._lock:
            self._usable()
            if self._writing is not None:
                with self._watched():
                    self._writing.check_place()

    def _usable(self, *, writing: bool = False) -> None:
        if self._failure is not None:
            raise StoreFailed(f"the store takes no more calls: {self._failure}") from self._failure
        if writing and self._writing is None:
            raise StoreRefused("the store was opened to be read only")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Let the first failure or damage be the last thing this object does."""
        try:
            yield
        except StoreArchived:
            raise  # somebody asked for what is elsewhere; nothing is wrong
        except StoreError as error:
            self._failure = self._failure or error
            raise

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """One durable transaction; whatever goes wrong in it ends this object's use."""
        assert self._writing is not None
        with _EndingUse(self), self._writing.transaction() as connection:
            yield connection

    def _end_use(self, error: BaseException) -> None:
        """Take no more calls after this, if nothing else has failed before."""
        if not isinstance(error, StoreError):
            error = StoreFailed("a commit was interrupted")
        self._failure = self._failure or error

    def _mark(self) -> HighWaterMark:
        releases = dict(self._releases)
        lost = {
            learner: version
            for learner, version in self._versions.items()
            if learner not in releases or releases[learner].number < version
        }
        streams = {**self._lost_marks, **self._marks}
        return HighWaterMark(self._facts.instance, streams, releases, lost)

    def _reserve(self, producers: Producers) -> None:
        """Let the mark be ahead of what is about to be acknowledged; it seldom has to be moved."""
        if self._reserves.reserve(producers):
            # Others find all in the database that the mark names.
            assert self._writing is not None
            with _EndingUse(self):
                self._writing.bring_in()
            self._advance_mark()

    def _forget_reserves(self) -> None:
        """Let the mark say exactly how far producers have come, as nothing is added any more."""
        for stream in self._marks:
            active = (name for owner, name in self._producers if owner == stream)
            known = self._history.producers.of(stream)
            self._reserves.settle(stream, known, active, self._firsts[stream])

    def _open_window(self, stream: str, horizon: int, size: int) -> int:
        restores = self._restores[stream]
        return restores[-1][0].first_position // horizon * (horizon // size) if restores else 0

    def _is_closed(self, learner: str, window: int) -> bool:
        """Whether a restore has closed a window of the learner "stream/learner"."""
        return window < self._open_windows.get(learner, 0)

    def _advance_mark(self) -> None:
        """Let the mark say what is durable; whatever goes wrong ends this object's use."""
        with _EndingUse(self):
            self._replace_mark()

    def _replace_mark(self) -> None:
        assert self._revision is not None, "the store is not open for writing"
        self._revision = self._register.replace(self._mark(), self._revision)

    def _producer_next(self, stream: str, producer: str) -> int:
        found = self._producer(stream, producer)
        return self._firsts[stream] if found is None else found[1]

    def _own_producer(self, stream: str, producer: str) -> Producer | None:
        """The same for a commit: what another owner has stored meanwhile is no mistake of ours."""
        known = (stream, producer) in self._producers
        found = self._producer(stream, producer)
        if not known:
            assert self._writing is not None
            with self._watched():
                self._writing.check_place()
        return found

    def _producer(self, stream: str, producer: str) -> Producer | None:
        found = self._producers.get((stream, producer))
        if found is None:
            with self._watched():
                return self._history.producers.find(stream, producer)
        return found

    def _remember(self, producers: Producers) -> None:
        """Keep the producers that were active last."""
        last = next(reversed(self._producers), None)
        for name, known in producers.items():
            if name == last:
                self._producers[name] = known
                continue
            self._producers_known = max(self._producers_known, known[0])
            self._producers.pop(name, None)
            self._producers[name] = known
        while len(self._producers) > STORE_PRODUCERS_IN_MEMORY_MAX:
            oldest = next(iter(self._producers))
            del self._producers[oldest]
            self._reserves.forget(oldest)


class _EndingUse:
    """Lets whatever goes wrong in a `with` statement end a store's use."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._store._end_use(error)


def refuse_used(facts: Facts, stream: str) -> None:
    """StoreRefused for the name of a stream that the store has or had."""
    if stream in facts.lost:
        raise StoreRefused(
            f"{stream} is the name of a stream that was lost by a restore; what it has learned "
            "would be learned again under a second budget: use another name"
        )
    if stream in facts.streams:
        closed = facts.streams[stream].closing is not None
        again = ", which is closed; a name is not used again" if closed else ""
        raise StoreRefused(f"the store has a stream {stream} already{again}: use another name")


def _close_quietly(readers: Readers, writing: Writing | None, lock: Lock | None) -> None:
    """Let go of everything after something went wrong, or as the last step of closing."""
    with suppress(StoreError):
        readers.close()
    if writing is not None:
        with suppress(StoreError):
            writing.close(failed=True)
    if lock is not None:
        lock.release()
