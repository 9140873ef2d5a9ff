"""Channels: a producer's way in, from decoded batches to the intake.

A channel collects a burst of batches, checks it as a whole against what its stream takes in, hashes
the users and hands the columns over. What it needs of a session is four calls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import Protocol

from littled.limits import RECORD_BYTES_MAX, WORK_AGAIN_UNITS
from littled.service.intake import Intake
from littled.service.queues import ProducerQueue, Run
from littled.service.users import UserHash
from littled.store.records import SourcePlace
from littled_protocol import limits
from littled_protocol.bursts import Burst
from littled_protocol.columns import Points, PointType, check_labels, decode_labels
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import Ack, Examples, Message


class Peer(Protocol):
    """What a channel needs of the session that it belongs to; used on the event loop."""

    def send(self, message: Message) -> None:
        """Write a message, unless the session is ending."""

    def fail(self, code: ErrorCode, channel: int | None = None) -> None:
        """End the session with a code."""

    def hold(self, reason: object) -> None:
        """Do not read from the peer until every reason was released."""

    def release(self, reason: object) -> None:
        """Take back a reason for not reading."""


@dataclass(frozen=True, slots=True)
class ExampleSchema:
    """What a stream's examples must look like before anything of them is stored.

    `contains` says whether all points of a decoded column lie in the domain of every learner; None
    where every point does. `users` hashes the users of a stream that protects them; None on a
    stream without.
    """

    points: PointType
    contains: Callable[[Points], bool] | None
    users: UserHash | None = None

    def check(self, x: bytes, y: bytes, count: int) -> None:
        """Raise ProtocolError (invalid_examples) unless the columns hold `count` good examples."""
        if len(x) != count * self.points.itemsize_bytes:
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES, "the points have not the right length")
        check_labels(y, count)
        if self.contains is not None and not self.contains(self.points.decode(x, count)):
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES, "a point is outside the domain")

    def users_of(self, message: Examples) -> bytes:
        """Return the column of users of a batch as it came, empty on a stream without users.

        Raises ProtocolError: users_missing, users_unexpected, invalid_examples.
        """
        users = message.users
        if self.users is None:
            if users is not None:
                raise ProtocolError(ErrorCode.USERS_UNEXPECTED)
            return b""
        if users is None:
            raise ProtocolError(ErrorCode.USERS_MISSING)
        if len(users) != message.count * limits.user_bytes:
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES)
        return users

    def fits(self, burst: Burst) -> bool:
        """Whether the columns of a burst have the lengths that its batches need here."""
        examples, users = burst.frames * burst.count, burst.users
        return (
            len(burst.x) == examples * self.points.itemsize_bytes
            and len(burst.y) == examples
            and (users is None) == (self.users is None)
            and (users is None or len(users) == examples * limits.user_bytes)
        )

    def cut(self, x: bytes, y: bytes, users: bytes, part: slice) -> tuple[bytes, bytes, bytes]:
        """Return some of the examples of columns; a column of users may be empty."""
        first, end, _ = part.indices(len(y))
        size = self.points.itemsize_bytes
        return (
            x[first * size : end * size],
            y[first:end],
            users[first * limits.user_bytes : end * limits.user_bytes],
        )

    def columns(self, message: Examples) -> tuple[bytes, bytes]:
        """Return the columns of bytes of a batch that may hold plain lists.

        Raises ProtocolError (invalid_examples).
        """
        x, y = message.x, message.y
        if not isinstance(x, bytes):
            x = self.points.encode(self.points.decode(x, message.count))
        if not isinstance(y, bytes):
            y = decode_labels(y, message.count).tobytes()
        return x, y


class Channel:
    """One producer's way in: collects a burst of batches, checks it as a whole, hands it over.

    Users are hashed on the way: what came in their place goes no further than this object. Batches
    that are already stored are passed over, a batch that overlaps is cut; so a producer may
    repeat what it is not sure of.
    """

    __slots__ = (
        "_batches",
        "_first",
        "_intake",
        "_next",
        "_place",
        "_queue",
        "_schema",
        "_session",
        "_size",
        "_users",
        "_xs",
        "_ys",
        "number",
    )

    def __init__(self, session: Peer, intake: Intake, schema: ExampleSchema, number: int) -> None:
        """Make a channel that is not open yet."""
        self._session = session
        self._intake = intake
        self._schema = schema
        self._queue: ProducerQueue | None = None
        self.number = number
        self._first = self._next = self._size = 0
        self._xs: list[bytes] = []
        self._ys: list[bytes] = []
        self._users: list[bytes] = []
        # Examples of a batch, and how many such batches there are, in the order of the columns.
        self._batches: list[tuple[int, int]] = []
        # The last place of the producer's source that came with them.
        self._place: SourcePlace | None = None

    # --- The session's side -----------------------------------------------------------------------

    def open(self, queue: ProducerQueue) -> None:
        """Begin at the queue's next sequence number."""
        self._queue = queue
        self._first = self._next = queue.next_sequence

    def close(self) -> None:
        """Let go of the producer."""
        if self._queue is not None:
            self._intake.detach(self._queue, self)
            self._queue = None

    def take(self, message: Examples) -> int:
        """Take a batch, which `flush` checks; return units of work beside those of its bytes.

        Raises ProtocolError: invalid_examples, sequence_gap, users_missing, users_unexpected.
        """
        x, y, count = message.x, message.y, message.count
        if type(x) is not bytes or type(y) is not bytes:
            x, y = self._schema.columns(message)
        if len(y) != count or len(x) != count * self._schema.points.itemsize_bytes:
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES)
        users = self._schema.users_of(message)
        if message.sequence != self._next:
            self._take_out_of_order(message, x, y, users)
            return WORK_AGAIN_UNITS
        if message.resume is not None:
            self._place = _place_of(message)
        self._collect(x, y, users, (count, 1))
        return 1

    def take_burst(self, burst: Burst) -> int:
        """Take several batches at once, as `take` would one by one; raises what it raises.

        Those that are known already are acknowledged once. Returns units as `take` does.
        """
        if not self._schema.fits(burst):
            return sum(map(self.take, burst.messages()))  # the first one ends the session
        if burst.sequence == self._next:
            self._collect(burst.x, burst.y, burst.users or b"", (burst.count, burst.frames))
            return 1
        known = min(max(self._next - burst.sequence, 0) // burst.count, burst.frames)
        if known:
            self._take_again(burst.part(0, known))
        else:  # the first one is cut where what is new begins, or ends the session
            self.take(next(burst.messages()))
            known = 1
        rest = 0 if known == burst.frames else self.take_burst(burst.part(known, burst.frames))
        return WORK_AGAIN_UNITS + rest

    def _take_again(self, burst: Burst) -> None:
        """Look at batches that are known already, and acknowledge them once."""
        self.flush()
        self._schema.check(burst.x, burst.y, len(burst.y))
        self._acknowledge_again()

    def _acknowledge_again(self) -> None:
        """Acknowledge what is known, unless something is on its way whose acknowledgement will."""
        queue = self._open_queue()
        if not queue.underway:
            self.acknowledge(queue.durable_sequence, queue.stream.position)

    def _collect(self, x: bytes, y: bytes, users: bytes, batches: tuple[int, int]) -> None:
        """Keep columns that go on with the next sequence number until `flush`."""
        self._next += len(y)
        self._xs.append(x)
        self._ys.append(y)
        self._users.append(users)
        self._batches.append(batches)
        self._size += len(x) + len(y) + len(users)
        if self._size >= RECORD_BYTES_MAX:
            self.flush()

    def counted_bytes(self, message: Examples, frame_bytes: int) -> int:
        """Bytes that a batch in a frame of this length counts as in public.

        How long a list is depends on the values in it, so a batch with lists counts as its columns.
        """
        if type(message.x) is bytes and type(message.y) is bytes:
            return frame_bytes
        return message.count * (self._schema.points.itemsize_bytes + 1) + len(message.users or b"")

    def flush(self, *, last: bool = False) -> None:
        """Check what was taken and hand it over.

        last: whether the session has nothing more in hand.

        Raises ProtocolError (invalid_examples) when a batch is wrong; those before it are handed
        over, the rest is dropped.
        """
        if not self._xs or self._queue is None:
            return
        if len(self._xs) == 1:
            x, y, users = self._xs[0], self._ys[0], self._users[0]
        else:
            x, y, users = b"".join(self._xs), b"".join(self._ys), b"".join(self._users)
        first, batches, place = self._first, self._batches, self._place
        self._xs, self._ys, self._users, self._batches = [], [], [], []
        self._first, self._size, self._place = self._next, 0, None
        try:
            self._schema.check(x, y, len(y))
        except ProtocolError:
            # Without a place, which may be behind the wrong batch: the one before that stays.
            good = self._good(x, y, batches)
            self._hand_over(first, *self._schema.cut(x, y, users, slice(good)))
            raise
        lone = last and len(batches) == 1 and batches[0][1] == 1
        self._hand_over(first, x, y, users, place, lone=lone)

    def _take_out_of_order(self, message: Examples, x: bytes, y: bytes, users: bytes) -> None:
        """Take what is new of a batch that does not begin at the next sequence number."""
        sequence = message.sequence
        self.flush()
        if sequence > self._next:
            raise ProtocolError(ErrorCode.SEQUENCE_GAP)
        self._schema.check(x, y, len(y))
        known = self._next - sequence
        if known < len(y):
            new = self._schema.cut(x, y, users, slice(known, None))
            self._hand_over(self._next, *new, _place_of(message))
            self._first = self._next = self._open_queue().next_sequence
        else:
            self._acknowledge_again()

    def _good(self, x: bytes, y: bytes, batches: list[tuple[int, int]]) -> int:
        """Return how many examples stand before the first wrong batch, of which there is one."""

        def is_wrong(end: int) -> bool:
            try:
                self._schema.check(*self._schema.cut(x, y, b"", slice(end))[:2], end)
            except ProtocolError:
                return True
            return False

        counts = chain.from_iterable(repeat(count, times) for count, times in batches)
        ends = list(accumulate(counts, initial=0))
        # All beginnings up to some batch are good, and all that reach further are not.
        return ends[bisect_left(ends, True, key=is_wrong) - 1]

    def _hand_over(
        self,
        sequence: int,
        x: bytes,
        y: bytes,
        users: bytes,
        place: SourcePlace | None = None,
        *,
        lone: bool = False,
    ) -> None:
        if y:
            hashed = b"" if self._schema.users is None else self._schema.users.column(users)
            run = Run(sequence, len(y), x, y, hashed, place)
            self._intake.add(self._open_queue(), run, lone=lone)

    def _open_queue(self) -> ProducerQueue:
        assert self._queue is not None, "examples came through a channel that is not open"
        return self._queue

    # --- The intake's side ------------------------------------------------------------------------

    def acknowledge(self, next_sequence: int, position: int) -> None:
        """Tell the peer; every acknowledgement has the same length."""
        self._session.send(Ack(self.number, next_sequence, position))

    def superseded(self) -> None:
        """End the session: a newer one feeds as this producer."""
        self._session.fail(ErrorCode.PRODUCER_BUSY, self.number)

    def pause(self) -> None:
        """Stop reading: the stream has all it can hold."""
        self._session.hold(self)

    def resume(self) -> None:
        """Read again."""
        self._session.release(self)


def _place_of(message: Examples) -> SourcePlace | None:
    """Return the place of the source behind a batch, None where it is not told."""
    if message.resume is None:
        return None
    return SourcePlace(message.sequence + message.count, message.resume)
