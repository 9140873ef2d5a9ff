"""From accepted examples to durable records: sequence numbers, group commit, back-pressure.

The way of an example: a session hands over a *run* (consecutive examples of one producer) on the
event loop; the writer thread gathers whatever runs arrived since its last commit, of all streams
and producers, into one transaction; back on the loop the producers get their acknowledgements, and
only then do the records go to the engines. So an acknowledgement has no way to depend on what a
learner makes of an example. A lone small run takes a short cut, without the way to the thread and
back (`Intake._begin`). Two limits bound the memory of a stream, and two that of all streams: when
its engine is behind, its commits wait; when its commits are behind, its feeders are not read from.
Those who feed at full speed make room for those who wait (`littled.service.pace`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from littled.limits import (
    LIGHT_COMMIT_EXAMPLES_MAX,
    PAUSED_LOOK_SECONDS,
    PRODUCER_LOOKUPS_MAX,
    PRODUCER_QUEUE_LITTLE_BYTES,
    QUICK_COMMIT_SECONDS,
    RECORD_BYTES_MAX,
    WAITS_MIN,
)
from littled.service.pace import Pace
from littled.service.queues import (
    Held,
    Owner,
    ProducerQueue,
    Run,
    StreamIntake,
    Taken,
    cost_bytes,
    take_shares,
)
from littled.service.writer import Writer
from littled.store.records import NewRecord, Record, SourcePlace
from littled_protocol.errors import ErrorCode, ProtocolError


class Journal(Protocol):
    """What the intake needs of a store; every method is called on the writer thread."""

    def append(self, records: Sequence[NewRecord]) -> list[Record]:
        """Make `records` durable in one transaction and return them as stored."""

    def producer_next(self, stream: str, producer: str) -> int:
        """Return the sequence number that follows the producer's last durable example."""

    def place(self, stream: str, producer: str) -> SourcePlace | None:
        """Return the last durable place of the producer's source, None where there is none."""


class Intake:
    """Accepts runs of all streams and commits them in groups.

    Everything is called on the event loop, except `learned`, which engines call from their threads.
    """

    def __init__(
        self,
        journal: Journal,
        writer: Writer,
        loop: asyncio.AbstractEventLoop,
        committed: Callable[[], None],
    ) -> None:
        """Commit to `journal` on `writer`; `committed` is called on the loop after each commit."""
        self._journal = journal
        self._writer = writer
        self._loop = loop
        self._after_commit = committed
        self._lock = threading.Lock()
        self._streams: dict[str, StreamIntake] = {}
        self._held = Held()
        # Those with runs that no commit has taken: of thousands few are fed at a time.
        self._busy: dict[StreamIntake, None] = {}
        self._closed: set[str] = set()
        self._scheduled = False
        self._commit_seconds = 0.0
        self._pace = Pace(loop.time)
        # What ends a rest of those who feed at full speed, if something waits for that.
        self._rest_end: asyncio.TimerHandle | None = None
        # Whether those who are paused will be looked at.
        self._looks = False
        # Whose run was committed last, if that was a lone small one, committed on the loop.
        self._alone: ProducerQueue | None = None
        self._underway = 0
        # Commits that the writer has made, and those of them that the loop has heard of.
        self._made = self._heard = 0
        self._lookups = asyncio.Semaphore(PRODUCER_LOOKUPS_MAX)
        self._drained = asyncio.Event()
        self._drained.set()

    def add_stream(
        self,
        name: str,
        position: int,
        deliver: Callable[[Record], None],
        *,
        unlearned: Sequence[Record] = (),
        closed: bool = False,
    ) -> None:
        """Accept examples of the stream `name`, which has `position` durable examples so far.

        `deliver` is called on the loop with every record, in order, once it is durable. unlearned:
        those that wait for the engine already. closed: let nobody feed it.
        """
        stream = self._streams[name] = StreamIntake(name, position, deliver, self._held)
        for record in unlearned:
            stream.put_before_engine(record.producer, cost_bytes(record))
        if closed:
            self._closed.add(name)

    def is_closed(self, stream: str) -> bool:
        """Whether a stream takes no more examples."""
        return stream in self._closed

    def position(self, stream: str) -> int:
        """Return how many examples of `stream` are durable."""
        return self._streams[stream].position

    async def durable_sequence(self, stream: str, producer: str) -> int:
        """Return the sequence number that follows the producer's last durable example."""
        queue = self._streams[stream].queues.get(producer)
        if queue is not None and queue.known:
            return queue.durable_sequence
        async with self._lookups:
            return await self._writer.ask(partial(self._journal.producer_next, stream, producer))

    async def place(self, stream: str, producer: str) -> SourcePlace | None:
        """Return the last durable place of the producer's source, None where there is none."""
        async with self._lookups:
            return await self._writer.ask(partial(self._journal.place, stream, producer))

    async def attach(self, stream: str, producer: str, owner: Owner) -> ProducerQueue:
        """Make `owner` the one who feeds as `producer`, and return the queue with known numbers.

        Whoever fed as this producer before is told so, and what it had already handed over is
        waited for. Raises ProtocolError: unknown_stream; stream_closed; producer_busy, when yet
        another owner came meanwhile.
        """
        intake = self._streams.get(stream)
        if intake is None:
            raise ProtocolError(ErrorCode.UNKNOWN_STREAM)
        if self.is_closed(stream):
            raise ProtocolError(ErrorCode.STREAM_CLOSED)
        queue = intake.queues.get(producer)
        if queue is None:
            queue = intake.queues[producer] = ProducerQueue(intake, producer)
        before, queue.owner, queue.feeder = queue.owner, owner, None
        if before is not None:
            before.superseded()
        try:
            await self._settle(queue)
        except BaseException:
            self.detach(queue, owner)
            raise
        if queue.owner is not owner:
            raise ProtocolError(ErrorCode.PRODUCER_BUSY)
        queue.feeder = owner
        return queue

    def detach(self, queue: ProducerQueue, owner: Owner) -> None:
        """Say that `owner` is gone; what it handed over is committed all the same."""
        queue.stream.paused.pop(owner, None)
        if queue.owner is owner:
            queue.owner = queue.feeder = None
            self._forget(queue)

    def add(self, queue: ProducerQueue, run: Run, *, lone: bool = False) -> None:
        """Take a run that starts at `queue.next_sequence`.

        lone: whether it came in one message, and is all that its session has in hand. Then, if
        whoever was alone at the last commit still is, the run is durable and acknowledged on
        return: a producer that waits for each acknowledgement does not wait for the loop's next
        turn.
        """
        stream = queue.stream
        waits = lone and not queue.underway and run.cost_bytes <= PRODUCER_QUEUE_LITTLE_BYTES
        queue.waits = queue.waits + 1 if waits else 0
        if self._underway and queue.waits >= WAITS_MIN:
            self._pace.hurry()
        queue.next_sequence = run.sequence + run.count
        queue.underway += 1
        queue.quiet.clear()
        self._underway += 1
        self._drained.clear()
        if (
            lone
            and self._alone is queue
            and self._underway == 1
            and self._commit_seconds <= QUICK_COMMIT_SECONDS
            and run.count <= LIGHT_COMMIT_EXAMPLES_MAX
            and stream.takes_more
            and self._writer.run_here(partial(self._commit_alone, queue, run))
        ):
            return
        self._alone = None
        with self._lock:
            queue.put(run)
            self._busy[stream] = None
            wake = self._schedule()
            full = stream.has_too_much(queue, self._pace.pending_bytes_max)
        if wake:
            self._loop.call_soon(self._begin)
        elif not self._scheduled:
            self._begin_after_rest()
        if full and queue.feeder is not None and queue.feeder not in stream.paused:
            stream.paused[queue.feeder] = queue
            queue.feeder.pause()
            self._look_soon()

    def learned(self, stream: str, records: Sequence[Record]) -> None:
        """Say that the engine of `stream` has taken records in; called on the engine's thread."""
        costs: dict[str, int] = {}
        for record in records:
            costs[record.producer] = costs.get(record.producer, 0) + cost_bytes(record)
        with self._lock:
            for producer, cost in costs.items():
                self._streams[stream].learned(producer, cost)
            wake = self._schedule()
        if wake:
            self._writer.submit(self._commit_there)

    async def drain(self) -> None:
        """Wait until everything accepted so far is durable and acknowledged."""
        await self._drained.wait()

    async def _settle(self, queue: ProducerQueue) -> None:
        """Wait until the queue's numbers are known and nothing of it is on its way."""
        if not queue.known:
            stream, producer = queue.stream.name, queue.producer
            async with self._lookups:
                found = await self._writer.ask(
                    lambda: self._journal.producer_next(stream, producer)
                )
            if not queue.known:
                queue.known = True
                queue.next_sequence = queue.durable_sequence = found
        while queue.underway:
            await queue.quiet.wait()

    def _forget(self, queue: ProducerQueue) -> None:
        known = queue.stream.queues.get(queue.producer)
        if known is queue and queue.owner is None and not queue.underway:
            del queue.stream.queues[queue.producer]

    def _schedule(self) -> bool:
        """Return whether a commit must be submitted now; the lock is held."""
        little = self._pace.rests
        if self._scheduled or not any(stream.has_work(little=little) for stream in self._busy):
            return False
        self._scheduled = True
        return True

    def _begin(self) -> None:
        """Start a commit, on the loop and after everything that had arrived was taken in.

        A thread to hand over to and back costs as much as the disk does. So a single small run, the
        mark of a producer that waits for each acknowledgement, is committed here and now while the
        disk is quick; anything more goes to the writer, and the loop goes on reading meanwhile.
        """
        if not (self._is_light() and self._writer.run_here(self._commit_here)):
            self._writer.submit(self._commit_there)

    def _is_light(self) -> bool:
        rests = self._pace.rests
        if self._commit_seconds > QUICK_COMMIT_SECONDS or not (rests or self._underway == 1):
            return False
        with self._lock:
            waiting = [
                queue.pending
                for stream in self._busy
                for queue in stream.waiting
                if queue.has_little or not rests
            ]
        if len(waiting) != 1 or len(waiting[0]) != 1:
            return False
        return waiting[0][0].count <= LIGHT_COMMIT_EXAMPLES_MAX

    def _begin_after_rest(self) -> None:
        """Start a commit as soon as those who feed at full speed have rested; on the loop.

        Also called when the rest may be over already, as time has passed since it kept a commit
        from being scheduled.
        """
        if self._rest_end is None:
            self._rest_end = self._loop.call_at(self._pace.rest_ends, self._begin_again)

    def _begin_again(self) -> None:
        self._rest_end = None
        if self._pace.rests:  # since another commit, which took what was waiting or some of it
            self._begin_after_rest()
            return
        with self._lock:
            wake = self._schedule()
        if wake:
            self._begin()

    def _commit_here(self) -> None:
        """Commit and acknowledge on the loop, unless that would overtake the writer."""
        if self._heard < self._made:
            self._writer.submit(self._commit_there)
            return
        done = self._commit()
        if done is None:
            self._begin_what_waits()
            return
        self._committed(*done)
        self._alone = next(iter(done[1]))

    def _commit_alone(self, queue: ProducerQueue, run: Run) -> None:
        """Commit a run that waits for nobody, and acknowledge it."""
        record = _record(queue.stream.name, queue.producer, (run,))
        with self._lock:
            queue.stream.put_before_engine(queue.producer, cost_bytes(record))
        self._committed(self._append((record,)), {queue: Taken([run], 1)})

    def _commit_there(self) -> None:
        """Commit on the writer thread, acknowledge on the loop."""
        done = self._commit()
        if done is None:
            self._loop.call_soon_threadsafe(self._begin_what_waits)
            return
        self._made += 1
        self._loop.call_soon_threadsafe(self._hear, *done)

    def _hear(self, records: list[Record], taken: dict[ProducerQueue, Taken]) -> None:
        """Acknowledge what the writer has committed."""
        self._heard += 1
        self._committed(records, taken)

    def _commit(self) -> tuple[list[Record], dict[ProducerQueue, Taken]] | None:
        """Commit what may be committed; return what was stored, and whose it is."""
        with self._lock:
            room = self._pace.room_bytes
            taken = take_shares(self._busy, room)
            self._busy = {stream: None for stream in self._busy if stream.waiting}
            if taken and room:
                self._pace.begin_rest()
            records: list[NewRecord] = []
            for queue, share in taken.items():
                for record in join(queue.stream.name, queue.producer, share.runs):
                    queue.stream.put_before_engine(queue.producer, cost_bytes(record))
                    records.append(record)
            self._scheduled = False
            again = self._schedule()
        if again:
            self._writer.submit(self._commit_there)
        if not taken:
            return None
        return self._append(records), taken

    def _append(self, records: Sequence[NewRecord]) -> list[Record]:
        started = time.monotonic()
        stored = self._journal.append(records)
        self._commit_seconds = time.monotonic() - started
        return stored

    def _committed(self, records: list[Record], taken: dict[ProducerQueue, Taken]) -> None:
        """Acknowledge, then let the engines learn; runs on the loop."""
        for record in records:
            self._streams[record.stream].position = record.first_position + record.count
        for queue, share in taken.items():
            last = share.runs[-1]
            queue.durable_sequence = last.sequence + last.count
            queue.underway -= share.whole
            self._underway -= share.whole
            if queue.feeder is not None:
                queue.feeder.acknowledge(queue.durable_sequence, queue.stream.position)
            if not queue.underway:
                queue.quiet.set()
                if queue.owner is None:
                    self._forget(queue)
        for record in records:
            self._streams[record.stream].deliver(record)
        for queue in taken:
            if queue.stream.paused:
                self._resume(queue.stream)
        if not self._underway:
            self._drained.set()
        self._begin_what_waits()
        self._after_commit()

    def _begin_what_waits(self) -> None:
        """Begin another commit after the rest, unless one is on its way; on the loop.

        Also after a commit that took nothing, as what it was begun for has grown meanwhile to what
        has to rest: nobody else would think of it.
        """
        if self._underway and not self._scheduled:
            self._begin_after_rest()

    def _look_soon(self) -> None:
        """Look now and then whether who is paused has room: limits also rise by themselves.

        They do when nobody waits for acknowledgements any more, and when other streams have less.
        """
        if not self._looks:
            self._looks = True
            self._loop.call_later(PAUSED_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looks = False
        paused = [stream for stream in self._streams.values() if stream.paused]
        for stream in paused:
            self._resume(stream)
        if any(stream.paused for stream in paused):
            self._look_soon()

    def _resume(self, stream: StreamIntake) -> None:
        with self._lock:
            bytes_max = self._pace.pending_bytes_max
            free = [
                owner for owner, queue in stream.paused.items() if stream.has_room(queue, bytes_max)
            ]
        for owner in free:
            del stream.paused[owner]
            owner.resume()


def join(stream: str, producer: str, runs: Sequence[Run]) -> list[NewRecord]:
    """Join consecutive runs of one producer into records of at most RECORD_BYTES_MAX.

    A single run longer than that stays one record.
    """
    records: list[NewRecord] = []
    first, size = 0, 0
    for index, run in enumerate(runs):
        length = run.size_bytes
        if index > first and size + length > RECORD_BYTES_MAX:
            records.append(_record(stream, producer, runs[first:index]))
            first, size = index, 0
        size += length
    records.append(_record(stream, producer, runs[first:]))
    return records


def _record(stream: str, producer: str, runs: Sequence[Run]) -> NewRecord:
    if len(runs) == 1:
        only = runs[0]
        columns = (only.x, only.y, bytes(only.users))
        return NewRecord(stream, producer, only.sequence, only.count, *columns, only.place)
    return NewRecord(
        stream=stream,
        producer=producer,
        sequence=runs[0].sequence,
        count=sum(run.count for run in runs),
        x=b"".join([run.x for run in runs]),
        y=b"".join([run.y for run in runs]),
        users=b"".join([run.users for run in runs]),
        place=next((run.place for run in reversed(runs) if run.place is not None), None),
    )
