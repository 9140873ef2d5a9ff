"""Channels: a producer's way in, from decoded batches to the intake.

A channel collects a burst of batches, checks it as a whole against what its stream takes in, hashes
the users and hands the columns over. What it needs of a session is four calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from littled.limits import RECORD_BYTES_MAX
from littled.service.intake import Intake, Lane, Run
from littled.service.users import UserHash
from littled_protocol import limits
from littled_protocol.columns import Points, PointType, decode_labels
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
class Door:
    """What a stream's examples must look like before anything of them is stored.

    `contains` says whether all points of a decoded column lie in the domain of every learner.
    `users` hashes the users of a stream that protects them; None on a stream without.
    """

    points: PointType
    contains: Callable[[Points], bool]
    users: UserHash | None = None

    def check(self, x: bytes, y: bytes, count: int) -> None:
        """Raise ProtocolError (invalid_examples) unless the columns hold `count` good examples."""
        points = self.points.decode(x, count)
        decode_labels(y, count)
        if not self.contains(points):
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
        "_door",
        "_first",
        "_intake",
        "_lane",
        "_next",
        "_session",
        "_size",
        "_users",
        "_xs",
        "_ys",
        "number",
    )

    def __init__(self, session: Peer, intake: Intake, door: Door, number: int) -> None:
        """Make a channel that is not open yet."""
        self._session = session
        self._intake = intake
        self._door = door
        self._lane: Lane | None = None
        self.number = number
        self._first = self._next = self._size = 0
        self._xs: list[bytes] = []
        self._ys: list[bytes] = []
        self._users: list[bytes] = []

    # --- The session's side -----------------------------------------------------------------------

    def open(self, lane: Lane) -> None:
        """Begin at the lane's next sequence number."""
        self._lane = lane
        self._first = self._next = lane.next_sequence

    def close(self) -> None:
        """Let go of the producer."""
        if self._lane is not None:
            self._intake.detach(self._lane, self)
            self._lane = None

    def take(self, message: Examples) -> None:
        """Take a batch; what it holds is checked by `flush`.

        Raises ProtocolError: invalid_examples, sequence_gap, users_missing, users_unexpected.
        """
        x, y, count = message.x, message.y, message.count
        if type(x) is not bytes or type(y) is not bytes:
            x, y = self._door.columns(message)
        if len(y) != count or len(x) != count * self._door.points.itemsize_bytes:
            raise ProtocolError(ErrorCode.INVALID_EXAMPLES)
        users = self._door.users_of(message)
        if message.sequence != self._next:
            self._take_out_of_order(message.sequence, x, y, users)
            return
        self._next += count
        self._xs.append(x)
        self._ys.append(y)
        self._users.append(users)
        self._size += len(x) + count + len(users)
        if self._size >= RECORD_BYTES_MAX:
            self.flush()

    def counted_bytes(self, message: Examples, frame_bytes: int) -> int:
        """Bytes that a batch in a frame of this length counts as in public.

        How long a list is depends on the values in it, so a batch with lists counts as its columns.
        """
        if type(message.x) is bytes and type(message.y) is bytes:
            return frame_bytes
        return message.count * (self._door.points.itemsize_bytes + 1) + len(message.users or b"")

    def flush(self) -> None:
        """Check what was taken and hand it over.

        Raises ProtocolError (invalid_examples) when a batch is wrong; those before it are handed
        over, the rest is dropped.
        """
        if not self._xs or self._lane is None:
            return
        xs, ys, users, first = self._xs, self._ys, self._users, self._first
        count = self._next - first
        x, y = _joined(xs), _joined(ys)
        self._xs, self._ys, self._users, self._first, self._size = [], [], [], self._next, 0
        try:
            self._door.check(x, y, count)
        except ProtocolError:
            good = self._good(xs, ys)
            self._hand_over(first, *(b"".join(each[:good]) for each in (xs, ys, users)))
            raise
        self._hand_over(first, x, y, _joined(users))

    def _take_out_of_order(self, sequence: int, x: bytes, y: bytes, users: bytes) -> None:
        """Take what is new of a batch that does not begin at the next sequence number."""
        self.flush()
        if sequence > self._next:
            raise ProtocolError(ErrorCode.SEQUENCE_GAP)
        self._door.check(x, y, len(y))
        lane = self._lane_open()
        known = self._next - sequence
        if known < len(y):
            x_known = known * self._door.points.itemsize_bytes
            new = (x[x_known:], y[known:], users[known * limits.user_bytes :])
            self._hand_over(self._next, *new)
            self._first = self._next = lane.next_sequence
        elif not lane.underway:
            # Nothing is on its way whose acknowledgement would cover this batch.
            self.acknowledge(lane.durable_sequence, lane.stream.position)

    def _good(self, xs: list[bytes], ys: list[bytes]) -> int:
        """Return how many batches stand before the first wrong one."""
        for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
            try:
                self._door.check(x, y, len(y))
            except ProtocolError:
                return index
        return len(xs)

    def _hand_over(self, sequence: int, x: bytes, y: bytes, users: bytes) -> None:
        if y:
            hashed = b"" if self._door.users is None else self._door.users.column(users)
            self._intake.add(self._lane_open(), Run(sequence, len(y), x, y, hashed))

    def _lane_open(self) -> Lane:
        assert self._lane is not None, "examples came through a channel that is not open"
        return self._lane

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


def _joined(columns: list[bytes]) -> bytes:
    """Return columns as one, which most often is the only one."""
    return columns[0] if len(columns) == 1 else b"".join(columns)
