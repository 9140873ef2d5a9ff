"""A producer's examples between the program and the daemon; no I/O.

The outbox numbers the examples, cuts batches into frames, counts the unacknowledged ones against
the daemon's credit, and after a lost connection says which to send again. Both clients share it.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from littled_client.batches import (
    FRAME_OVERHEAD_BYTES_MAX,
    Piece,
    check_named,
    cut_batch,
    points_array,
)
from littled_client.errors import ChangedStoreError, ClientError, ExampleError
from littled_client.users import UserDigests, user_digest
from littled_protocol import limits
from littled_protocol.columns import PointType, point_type
from littled_protocol.messages import Ack, Examples, Opened, Welcome

_ONE_LABEL = {0: b"\x00", 1: b"\x01"}


class Outbox:
    """Examples of one producer on one channel, from `opened` on.

    next_sequence: number of examples taken so far, also the number of the next one.
    acknowledged: number of examples that the daemon has made durable.
    position: the stream's position at the last acknowledgement.
    names_users: whether the stream protects users, so that every example needs one.
    """

    def __init__(self, channel: int) -> None:
        """Begin empty; nothing may be added before `opened`."""
        self._channel = channel
        self._credit_bytes = 0
        self._used_bytes = 0
        self._frame_bytes_max = 0
        self._sent: deque[tuple[Examples, int]] = deque()
        self._again: deque[tuple[Examples, int]] = deque()
        self._encode_one: Callable[[Any], bytes] | None = None
        self._digests = UserDigests()
        self.point_type: PointType | None = None
        self.names_users = False
        self.next_sequence = 0
        self.acknowledged = 0
        self.position = 0

    # --- the conversation -----------------------------------------------------------------------

    def opened(self, welcome: Welcome, opened: Opened) -> None:
        """Take note of an opened channel, the first or one after a lost connection.

        Raises ChangedStoreError when the daemon has lost examples acknowledged before, or somebody
        else has fed examples under this producer's name.
        """
        if self.point_type is None:
            self.point_type = point_type(opened.x_type)
            self._encode_one = _one_point_encoder(self.point_type)
            self.names_users = opened.users is True
            self.next_sequence = self.acknowledged = opened.next_sequence
        self._check_same_history(opened)
        self._credit_bytes = welcome.credit_bytes
        self._frame_bytes_max = min(welcome.frame_bytes_max, welcome.credit_bytes)
        self._again.extendleft(reversed(self._sent))
        self._sent.clear()
        self._used_bytes = 0
        self.acknowledged = opened.next_sequence
        self.position = opened.position
        while self._again and _end(self._again[0][0]) <= self.acknowledged:
            self._again.popleft()
        if any(cost > self._frame_bytes_max for _, cost in self._again):
            raise ChangedStoreError("the daemon came back with a limit below frames sent before")

    def acknowledge(self, ack: Ack) -> None:
        """Take note of an acknowledgement and give back the credit of what it covers."""
        if ack.next_sequence > self.next_sequence:
            raise ChangedStoreError("the daemon acknowledged examples that were never sent")
        self.acknowledged = max(self.acknowledged, ack.next_sequence)
        self.position = ack.position
        while self._sent and _end(self._sent[0][0]) <= self.acknowledged:
            self._used_bytes -= self._sent.popleft()[1]

    @property
    def x_type(self) -> str:
        """The name of the stream's type of points; raises ClientError before `opened`."""
        return self._kind().name

    @property
    def settled(self) -> bool:
        """Whether everything taken is acknowledged."""
        return self.acknowledged == self.next_sequence

    # --- sending --------------------------------------------------------------------------------

    def has_room(self, payload_bytes: int) -> bool:
        """Whether a new frame with columns of this size may be sent now."""
        return not self._again and self._used_bytes + _cost(payload_bytes) <= self._credit_bytes

    def take(self, piece: Piece) -> Examples | None:
        """Number the next examples and return their message, to be sent now; None without room."""
        cost = _cost(piece.size_bytes)
        if self._again or self._used_bytes + cost > self._credit_bytes:
            return None
        message = Examples(
            self._channel, self.next_sequence, piece.count, piece.x, piece.y, piece.users
        )
        self.next_sequence += piece.count
        self._used_bytes += cost
        self._sent.append((message, cost))
        return message

    def again(self) -> Iterator[Examples]:
        """Yield the messages to send again after a reconnection, as far as the credit goes."""
        while self._again:
            message, cost = self._again[0]
            if self._used_bytes + cost > self._credit_bytes:
                return
            self._used_bytes += cost
            self._sent.append(self._again.popleft())
            yield message

    def cut(self, x: Any, y: Any, users: Any = None) -> Iterator[Piece]:
        """Return the pieces of a batch, as `cut_batch` does for this stream and connection."""
        kind = self._kind()
        check_named(users, wanted=self.names_users)
        digests = None if users is None else self._digests.array(users)
        return cut_batch(kind, x, y, self._frame_bytes_max, digests)

    def cut_one(self, x: Any, y: Any, user: Any = None) -> Piece:
        """Return the columns of a single example; raise ExampleError when it cannot be sent."""
        if self._encode_one is None:
            raise ClientError("the feeder is not open; use it in a with block")
        try:
            label = _ONE_LABEL[y]
        except (KeyError, TypeError):
            label = None
        if label is None:
            raise ExampleError("y is no label: it needs to be 0 or 1")
        check_named(user, wanted=self.names_users)
        return Piece(1, self._encode_one(x), label, None if user is None else user_digest(user))

    # --- inside ---------------------------------------------------------------------------------

    def _kind(self) -> PointType:
        if self.point_type is None:
            raise ClientError("the feeder is not open; use it in a with block")
        return self.point_type

    def _check_same_history(self, opened: Opened) -> None:
        if opened.next_sequence < self.acknowledged:
            raise ChangedStoreError(
                f"the daemon came back with {opened.next_sequence} examples of this producer, "
                f"but had acknowledged {self.acknowledged}"
            )
        if opened.next_sequence > self.next_sequence:
            raise ChangedStoreError(
                "somebody else has fed examples under this producer's name; every producer of a "
                "stream needs a name of its own"
            )


def _end(message: Examples) -> int:
    return message.sequence + message.count


def _cost(payload_bytes: int) -> int:
    """Return the credit that a frame with columns of this size uses, or a little more."""
    return limits.credit_of_frame(payload_bytes + FRAME_OVERHEAD_BYTES_MAX)


def _one_point_encoder(kind: PointType) -> Callable[[Any], bytes]:
    """Return the quickest encoder of a single point of this type."""
    if kind.columns > 1:
        return lambda x: kind.encode(points_array(kind, [x]))
    size = kind.itemsize_bytes

    def encode(x: Any) -> bytes:
        try:
            return operator.index(x).to_bytes(size, "little")
        except (TypeError, OverflowError):
            pass
        raise ExampleError(f"x is no integer in the range of type {kind.name}")

    return encode
