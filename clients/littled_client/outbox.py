"""A producer's examples between the program and the daemon; no I/O.

The outbox numbers the examples, cuts batches into frames and joins single examples to one, counts
the unacknowledged ones against the daemon's credit, and after a lost connection says which to send
again. Both clients share it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from littled_client.batches import (
    FRAME_OVERHEAD_BYTES_MAX,
    Piece,
    check_named,
    cut_again,
    cut_batch,
)
from littled_client.errors import ChangedStoreError, ClientError
from littled_client.joining import Rows
from littled_client.users import UserDigests
from littled_protocol import limits
from littled_protocol.columns import PointType, point_type
from littled_protocol.messages import Ack, Examples, Open, Opened, Welcome


class Outbox:
    """Examples of one producer on one channel, from `opened` on.

    A batch is numbered when it is taken. Single examples wait in `join`, after all that is
    numbered, until `take_joined` makes them one frame; both count as taken.

    acknowledged: number of examples that the daemon has made durable.
    position: the stream's position at the last acknowledgement.
    names_users: whether the stream protects users, so that every example needs one.
    resumes: whether places of the producer's source are kept with its examples. resume,
    resume_sequence: the last durable place when the channel was first opened, empty where there was
    none, and how many examples stand before it.
    join: takes a single example, as `Rows.add` does.
    """

    def __init__(self, channel: int, *, resumes: bool = False) -> None:
        """Begin empty; nothing may be added before `opened`."""
        self._channel = channel
        self.resumes = resumes
        self.resume = b""
        self.resume_sequence = 0
        self._credit_bytes = 0
        self._used_bytes = 0
        self._frame_bytes_max = 0
        # Frames with numbers, and the credit of each, until they are acknowledged; and those of
        # them that have to be sent once more. The former alone say what is sent after a lost
        # connection, so that nothing is lost where a signal's handler raises in the middle.
        self._kept: deque[tuple[Examples, int]] = deque()
        self._again: deque[tuple[Examples, int]] = deque()
        self._rows: Rows | None = None
        # What is called for every example of a program's loop: nothing stands in between.
        self.join: Callable[..., bool] = self._refuse
        self._digests = UserDigests()
        self.point_type: PointType | None = None
        self.names_users = False
        self.acknowledged = 0
        self.position = 0

    # --- the conversation -----------------------------------------------------------------------

    def request(self, stream: str, producer: str) -> Open:
        """Return the message that opens the channel."""
        return Open(self._channel, stream, producer, True if self.resumes else None)

    def opened(self, welcome: Welcome, opened: Opened) -> None:
        """Take note of an opened channel, the first or one after a lost connection.

        Raises ChangedStoreError when the daemon has lost examples acknowledged before, or somebody
        else has fed examples under this producer's name; ClientError when places are to be kept and
        the daemon keeps none.
        """
        if self.resumes and opened.resume is None:
            raise ClientError(
                "the daemon keeps no places of sources, so a source could not go on where it "
                "stopped: it is older than this program"
            )
        if self.point_type is None:
            kind = point_type(opened.x_type)
            self.names_users = opened.users is True
            self._rows = Rows(kind, self._digests if self.names_users else None)
            self.join = self._rows.add
            self.acknowledged = opened.next_sequence
            self.resume = opened.resume or b""
            self.resume_sequence = opened.resume_sequence or 0
            self.point_type = kind
        self._check_same_stream(opened)
        self._credit_bytes = welcome.credit_bytes
        self._frame_bytes_max = min(welcome.frame_bytes_max, welcome.credit_bytes)
        self._open_rows().fit(self._frame_bytes_max)
        self.acknowledged = opened.next_sequence
        self.position = opened.position
        while self._kept and _end(self._kept[0][0]) <= self.acknowledged:
            self._kept.popleft()
        self._again = deque(self._kept)
        self._used_bytes = 0
        if any(cost > self._frame_bytes_max for _, cost in self._again):
            raise ChangedStoreError("the daemon came back with a limit below frames sent before")

    def acknowledge(self, ack: Ack) -> None:
        """Take note of an acknowledgement and give back the credit of what it covers."""
        if ack.next_sequence > self._numbered:
            raise ChangedStoreError("the daemon acknowledged examples that were never sent")
        self.acknowledged = max(self.acknowledged, ack.next_sequence)
        self.position = ack.position
        while self._kept and _end(self._kept[0][0]) <= self.acknowledged:
            frame = self._kept.popleft()
            if self._again and self._again[0] is frame:
                self._again.popleft()
            else:
                self._used_bytes -= frame[1]

    @property
    def x_type(self) -> str:
        """The name of the stream's type of points; raises ClientError before `opened`."""
        return self._kind().name

    @property
    def next_sequence(self) -> int:
        """Number of examples taken so far, also the number of the next one."""
        return self._numbered + self.joined

    @property
    def joined(self) -> int:
        """How many single examples wait for a frame."""
        return 0 if self._rows is None else len(self._rows)

    @property
    def under_way(self) -> bool:
        """Whether anything that has its frame is unacknowledged."""
        return bool(self._kept)

    @property
    def settled(self) -> bool:
        """Whether everything taken is acknowledged."""
        return not self._kept and not self.joined

    # --- sending --------------------------------------------------------------------------------

    def has_room(self, payload_bytes: int) -> bool:
        """Whether a new frame with columns of this size may be sent now, and none has to before."""
        return not self._rows and self._has_credit(_cost(payload_bytes))

    def take(self, piece: Piece) -> Examples | None:
        """Number the next examples and return their message, to be sent now; None without room.

        Single examples that joined before have to be taken before: None as long as there are any.
        """
        cost = _cost(piece.size_bytes)
        return self._taken(piece, cost) if not self.joined and self._has_credit(cost) else None

    def join_piece(self, piece: Piece) -> bool:
        """Take the only example of a piece of a batch; otherwise the same as `join`."""
        return self._open_rows().add_piece(piece)

    def heard(self) -> None:
        """Say that what has joined is looked at; see `Rows`."""
        self._open_rows().heard()

    def hear_next(self) -> None:
        """Let the next single example be looked at."""
        if self._rows is not None:
            self._rows.hear_next()

    @property
    def full(self) -> bool:
        """Whether so many single examples wait that a frame has to be made before any other."""
        return self._rows is not None and self._rows.full

    def take_joined(self) -> Examples | None:
        """Number single examples that wait, as many as fit into a frame, as `take` does.

        None without room, and when none waits.
        """
        rows = self._open_rows()
        piece = rows.first()
        if piece is None:
            return None
        cost = _cost(piece.size_bytes)
        if not self._has_credit(cost):
            return None
        message = self._message(piece)
        rows.leave(piece.count, self._kept, (message, cost))
        self._used_bytes += cost
        return message

    def again(self) -> Iterator[Examples]:
        """Yield the messages to send again after a reconnection, as far as the credit goes."""
        while self._again:
            message, cost = self._again[0]
            if self._used_bytes + cost > self._credit_bytes:
                return
            self._used_bytes += cost
            self._again.popleft()
            yield message

    def since(self, sequence: int) -> list[Examples]:
        """Return the unacknowledged messages from one that begins with this number on."""
        return [message for message, _ in self._kept if message.sequence >= sequence]

    def cut(
        self, x: Any, y: Any, users: Any = None, resume: bytes | None = None
    ) -> Iterator[Piece]:
        """Return the pieces of a batch, as `cut_batch` does for this stream and connection."""
        kind = self._kind()
        if resume is not None and not self.resumes:
            raise ClientError("the feeder keeps no places of a source: make it with resumes=True")
        check_named(users, wanted=self.names_users)
        digests = None if users is None else self._digests.array(users)
        return cut_batch(kind, x, y, self._frame_bytes_max, digests, resume)

    def fits(self, piece: Piece) -> bool:
        """Whether a piece fits into a frame; one that did may not do so after a lost connection."""
        return _cost(piece.size_bytes) <= self._frame_bytes_max

    def cut_again(self, piece: Piece) -> Iterator[Piece]:
        """Return the pieces of one that does not fit any more; ExampleError if that cannot be."""
        return cut_again(piece, self._frame_bytes_max)

    # --- inside ---------------------------------------------------------------------------------

    @property
    def _numbered(self) -> int:
        """Number of the next example that gets one: numbered is what has been kept, in one step."""
        if self._kept:
            with suppress(IndexError):  # acknowledged just now, on another thread
                return _end(self._kept[-1][0])
        return self.acknowledged

    def _taken(self, piece: Piece, cost: int) -> Examples:
        message = self._message(piece)
        self._kept.append((message, cost))
        self._used_bytes += cost
        return message

    def _message(self, piece: Piece) -> Examples:
        return Examples(
            *(self._channel, self._numbered, piece.count, piece.x, piece.y),
            users=piece.users,
            resume=piece.resume,
        )

    def _has_credit(self, cost: int) -> bool:
        return not self._again and self._used_bytes + cost <= self._credit_bytes

    def _refuse(self, *_: Any) -> bool:
        return bool(self._open_rows())  # which raises

    def _open_rows(self) -> Rows:
        if self._rows is None:
            raise ClientError("the feeder is not open; use it in a with block")
        return self._rows

    def _kind(self) -> PointType:
        if self.point_type is None:
            raise ClientError("the feeder is not open; use it in a with block")
        return self.point_type

    def _check_same_stream(self, opened: Opened) -> None:
        if (opened.x_type, opened.users is True) != (self.x_type, self.names_users):
            raise ChangedStoreError("the daemon came back with another stream of this name")
        if opened.next_sequence < self.acknowledged:
            raise ChangedStoreError(
                f"the daemon came back with {opened.next_sequence} examples of this producer, "
                f"but had acknowledged {self.acknowledged}"
            )
        if opened.next_sequence > self._numbered:
            raise ChangedStoreError(
                "somebody else has fed examples under this producer's name; every producer of a "
                "stream needs a name of its own"
            )


def _end(message: Examples) -> int:
    return message.sequence + message.count


def _cost(payload_bytes: int) -> int:
    """Return the credit that a frame with columns of this size uses, or a little more."""
    return limits.credit_of_frame(payload_bytes + FRAME_OVERHEAD_BYTES_MAX)
