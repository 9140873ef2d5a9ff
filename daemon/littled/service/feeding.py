"""Feeding over HTTP: rows become durable, and a producer may send again what it is not sure of.

    POST /feed/STREAM?producer=NAME&sequence=NUMBER     rows as JSON, see `littled.service.rows`
    GET /feed/STREAM?producer=NAME                      what the producer's next number is

`sequence` is the number of the body's first row among all that this producer has sent to the stream
so far, from 0 on. Rows that are durable already are passed over, so a body that was sent twice is
learned once; a number above the next one is refused, as rows would be missing. An answer comes when
all rows of the body are durable:

    {"stream": ..., "producer": ..., "next_sequence": 2, "position": 4711, "accepted": 2}

`position` is how many examples the stream has, `accepted` how many rows were new. A body is read
and checked beside the loop. Requests of one producer take turns; where a program feeds as the same
producer by the protocol, whoever came last goes on and the other is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from littled.limits import HTTP_FEED_SECONDS
from littled.service.http_errors import UNAVAILABLE, HttpError
from littled.service.http_numbers import number_in
from littled.service.http_readings import Readings
from littled.service.intake import Intake
from littled.service.queues import ProducerQueue, Run
from littled.service.rows import RowsRefused, StreamRows
from littled.service.writer import WriterStopped
from littled_protocol import limits
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.facts import FedFacts, ProducerFacts
from littled_protocol.messages import check_producer

BAD_REQUEST, NOT_FOUND, CONFLICT = 400, 404, 409
SEQUENCE_MAX: Final = limits.integer_max - limits.examples_per_frame_max
_KEYS: Final = frozenset({"producer", "sequence"})


class FeedError(HttpError):
    """A request that feeds nothing."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Whose rows a request brings; sequence: None where it only asks for the next number."""

    stream: str
    producer: str
    sequence: int | None

    @classmethod
    def read(cls, stream: str, asked: Mapping[str, str], *, rows: bool) -> Feed:
        """Read the parameters of a request's address, one value of each; raises FeedError.

        rows: whether the request brings rows, and so needs a sequence.
        """
        if not set(asked) <= (_KEYS if rows else _KEYS - {"sequence"}):
            known = "producer and sequence" if rows else "producer"
            raise FeedError(BAD_REQUEST, f"an address for feeding takes {known} and nothing else")
        producer, text = asked.get("producer", ""), asked.get("sequence", "")
        try:
            check_producer(producer, "producer")
        except ProtocolError:
            most = limits.producer_characters_max
            sentence = f"producer needs 1 to {most} printable ASCII characters without blanks"
            raise FeedError(BAD_REQUEST, sentence) from None
        if not rows:
            return cls(stream, producer, None)
        sequence = number_in(text, SEQUENCE_MAX)
        if sequence is None:
            raise FeedError(BAD_REQUEST, "sequence must be the number of the first row, from 0 on")
        return cls(stream, producer, sequence)


@dataclass(eq=False, slots=True)
class _Waiting:
    """The owner of a producer's queue for one request, which waits for an acknowledgement."""

    until: int
    # the position, or None where somebody else feeds as this producer now
    done: asyncio.Future[int | None] = field(default_factory=asyncio.Future)

    def acknowledge(self, next_sequence: int, position: int) -> None:
        """Take the position once all rows are durable."""
        if next_sequence >= self.until and not self.done.done():
            self.done.set_result(position)

    def superseded(self) -> None:
        """Somebody else feeds as this producer by the protocol."""
        if not self.done.done():
            self.done.set_result(None)

    def pause(self) -> None:
        """Nothing: a request has no second body."""

    def resume(self) -> None:
        """Nothing."""


@dataclass(eq=False, slots=True)
class _Turn:
    """Who feeds as one producer, and how many wait for that."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted: int = 0


class Feeding:
    """Takes rows in for all streams; on the loop."""

    def __init__(self, intake: Intake, streams: Mapping[str, StreamRows]) -> None:
        """Hand the rows of these streams over to the intake."""
        self._intake = intake
        self._streams = streams
        self._readings = Readings()
        self._turns: dict[tuple[str, str], _Turn] = {}
        self._closed = False

    def close(self) -> None:
        """Take nothing more in; what was handed over becomes durable and is answered."""
        self._closed = True

    async def next_sequence(self, feed: Feed) -> ProducerFacts:
        """Say where a producer goes on; raises FeedError for a stream that there is not."""
        self._rows_of(feed.stream)
        found = await self._intake.durable_sequence(feed.stream, feed.producer)
        return self._facts(feed, found, self._intake.position(feed.stream))

    async def feed(self, feed: Feed, body: bytes, *, lines: bool, origin: str) -> FedFacts:
        """Make the rows of a body durable, and say so; raises FeedError, and WriterStopped.

        lines: whether the body is JSON lines. origin: where it came from.

        Where time runs out the rows may become durable later: sent again, they are not taken twice.
        """
        rows = self._rows_of(feed.stream)
        if self._intake.is_closed(feed.stream):
            raise FeedError(CONFLICT, "the stream is closed and takes no more rows")
        try:
            async with asyncio.timeout(HTTP_FEED_SECONDS):
                read = partial(asyncio.to_thread, rows.columns, body, lines=lines)
                columns = await self._readings.read(origin, read)
                return await self._in_turn(feed, rows, *columns)
        except RowsRefused as refused:
            raise FeedError(BAD_REQUEST, str(refused)) from None
        except ProtocolError:  # the producer is busy, the one thing that attaching refuses here
            raise FeedError(CONFLICT, "another connection feeds as this producer") from None
        except TimeoutError:
            sentence = "the rows are not durable yet; send them again with the same sequence"
            raise FeedError(UNAVAILABLE, sentence) from None

    async def _in_turn(self, feed: Feed, rows: StreamRows, count: int, *columns: bytes) -> FedFacts:
        """Wait for the producer's earlier requests, then hand the rows over."""
        assert feed.sequence is not None, "rows come with a sequence"
        async with self._turn(feed):
            waiting = _Waiting(feed.sequence + count)
            queue = await self._intake.attach(feed.stream, feed.producer, waiting)
            try:
                new = self._new(feed, queue, waiting.until)
                if not new:
                    return self._fed(feed, queue.next_sequence, queue.stream.position, 0)
                self._hand_over(queue, rows, count - new, *columns)
                position = await waiting.done
            finally:
                self._intake.detach(queue, waiting)
        if position is None:
            raise ProtocolError(ErrorCode.PRODUCER_BUSY)
        return self._fed(feed, waiting.until, position, new)

    def _hand_over(
        self, queue: ProducerQueue, rows: StreamRows, known: int, x: bytes, y: bytes, users: bytes
    ) -> None:
        """Hand over all rows but the first, known ones, in runs as long as frames make them."""
        if self._closed:
            raise WriterStopped("the daemon takes no more rows")
        schema, pieces = rows.examples, range(known, len(y), rows.run_rows)
        for first in pieces:
            part = schema.cut(x, y, users, slice(first, first + rows.run_rows))
            hashed = b"" if schema.users is None else schema.users.column(part[2])
            run = Run(queue.next_sequence, len(part[1]), part[0], part[1], hashed)
            self._intake.add(queue, run, lone=len(pieces) == 1)

    @asynccontextmanager
    async def _turn(self, feed: Feed) -> AsyncIterator[None]:
        """Let the requests of one producer follow each other."""
        key = feed.stream, feed.producer
        turn = self._turns.setdefault(key, _Turn())
        turn.wanted += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._turns[key]

    def _new(self, feed: Feed, queue: ProducerQueue, end: int) -> int:
        """How many rows at the end of a body are new; FeedError where some are missing before."""
        assert feed.sequence is not None
        if feed.sequence > queue.next_sequence:
            raise FeedError(
                CONFLICT,
                f"rows are missing: the producer's next sequence is {queue.next_sequence}",
                {"next_sequence": queue.next_sequence},
            )
        return max(0, end - queue.next_sequence)

    def _rows_of(self, stream: str) -> StreamRows:
        rows = self._streams.get(stream)
        if rows is None:
            raise FeedError(NOT_FOUND, "the daemon has no stream of this name")
        return rows

    def _facts(self, feed: Feed, next_sequence: int, position: int) -> ProducerFacts:
        return {
            "stream": feed.stream,
            "producer": feed.producer,
            "next_sequence": next_sequence,
            "position": position,
        }

    def _fed(self, feed: Feed, next_sequence: int, position: int, accepted: int) -> FedFacts:
        return {**self._facts(feed, next_sequence, position), "accepted": accepted}
