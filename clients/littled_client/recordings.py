"""Recordings: files of the very frames that went over the wire.

A recording is a Welcome frame (the protocol's version), an Opened frame (stream, type of points,
first sequence number, whether examples have users), then Examples frames whose numbers follow one
another without a gap. Frames are as in the protocol: four bytes of length, big-endian, and one
message.

A recording holds private examples, and digests of their users without a key; its file is created
readable by its owner alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from littled_client.batches import check_named, cut_batch
from littled_client.conversions import Batch
from littled_client.errors import RecordingError
from littled_client.users import UserDigests
from littled_protocol import limits
from littled_protocol.codec import decode, encode_frame
from littled_protocol.columns import PointType, decode_labels, decode_users, point_type
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    PROTOCOL_VERSION_MIN,
    Examples,
    Message,
    Opened,
    Welcome,
)

SUFFIX = ".littled"
STANDARD_INPUT = "-"

_OWNER_ONLY = 0o600
# What a recording says that was made without a daemon.
_OFFLINE = {"server": "littled_client", "instance": "offline"}


class RecordingWriter:
    """Writes one recording; a context manager.

    Raises RecordingError when the file exists already or cannot be created or written.
    """

    def __init__(self, path: str | Path, welcome: Welcome, opened: Opened) -> None:
        """Create the file with the two messages that began the conversation."""
        self.path = str(path)
        self._kind = point_type(opened.x_type)
        self._frame_bytes_max = welcome.frame_bytes_max
        self._channel = opened.channel
        self._names_users = opened.users is True
        self._digests = UserDigests()
        self.next_sequence = opened.next_sequence
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        except FileExistsError:
            raise RecordingError(f"{self.path} exists already; choose another file") from None
        except OSError as error:
            raise RecordingError(f"cannot create {self.path}: {error.strerror}") from None
        self._file = os.fdopen(descriptor, "wb")
        # Up to where whole frames go, and whether something behind it was begun.
        self._whole_bytes = 0
        self._begun = False
        # Places of a source are the producer's own, and of no use to whoever feeds the recording.
        opened = replace(opened, resume=None, resume_sequence=None)
        # What is recorded is the same in all versions, and readers of any of them may want it.
        welcome = replace(welcome, version=PROTOCOL_VERSION_MIN)
        self._append(encode_frame(welcome) + encode_frame(opened), 0)

    def forget(self) -> None:
        """Write no more, not even what is buffered: in a forked process the file is another's."""
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), self._file.fileno(), inheritable=False)

    @classmethod
    def offline(
        cls, path: str | Path, stream: str, x_type: str, *, names_users: bool = False
    ) -> Self:
        """Create a recording without a daemon, from example 0 of a producer on.

        names_users: whether it is for a stream that protects users, with the user of each example.
        Raises ProtocolError for a name or a type of points that the protocol does not allow.
        """
        welcome = Welcome(
            PROTOCOL_VERSION_MIN,
            **_OFFLINE,
            credit_bytes=limits.credit_bytes,
            frame_bytes_max=limits.frame_bytes_max,
        )
        point_type(x_type)
        return cls(path, welcome, Opened(0, stream, x_type, 0, 0, names_users or None))

    def write(self, message: Examples) -> None:
        """Append one frame; raise ValueError unless it begins where the last one ended."""
        if message.sequence != self.next_sequence:
            raise ValueError(f"the next example of this recording is number {self.next_sequence}")
        message = message if message.resume is None else replace(message, resume=None)
        self._append(encode_frame(message), message.count)

    def _append(self, data: bytes, count: int) -> None:
        """Write frames with so many examples, in place of some of which a part was written."""
        try:
            self._drop_part()
            self._begun = True
            self._file.write(data)
        except OSError as error:
            raise self._unwritten(error) from None
        whole_bytes, next_sequence = self._whole_bytes + len(data), self.next_sequence + count
        # All of it or nothing, as handlers of signals run behind calls.
        self._whole_bytes, self.next_sequence, self._begun = whole_bytes, next_sequence, False

    def write_batch(self, x: Any, y: Any, users: Any = None) -> None:
        """Append a batch as one frame or several; raise ExampleError when it holds no examples.

        users: as a feeder's `send` takes them.
        """
        check_named(users, wanted=self._names_users)
        digests = None if users is None else self._digests.array(users)
        for piece in cut_batch(self._kind, x, y, self._frame_bytes_max, digests):
            columns = (piece.count, piece.x, piece.y, piece.users)
            self.write(Examples(self._channel, self.next_sequence, *columns))

    def close(self) -> None:
        """Write what is buffered and close the file; raise RecordingError when that cannot be."""
        if self._file.closed:
            return
        try:
            with self._file:
                self._drop_part()
        except OSError as error:
            raise self._unwritten(error) from None

    def _drop_part(self) -> None:
        """Forget a part of a frame, which a signal has left if there is one."""
        if self._begun:
            self._file.seek(self._whole_bytes)
            self._file.truncate()
            self._begun = False

    def _unwritten(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot write {self.path}: {error.strerror}")

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


class RecordingReader:
    """Reads one recording from a file, or from standard input for "-"; a context manager.

    stream, x_type: what was recorded. first_sequence: number of its first example.
    Raises RecordingError when the file is no recording; while reading, when it is damaged or cut
    off: everything before that place has then been handed out.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file and read its two header frames."""
        self.name = "standard input" if str(path) == STANDARD_INPUT else str(path)
        self._bytes_done = 0
        self._frames_done = 0
        self._file, self._bytes_total = self._opened(path)
        try:
            welcome, opened = self._next(), self._next()
            if not isinstance(welcome, Welcome) or not isinstance(opened, Opened):
                raise RecordingError(f"{self.name} does not begin like a recording")
            if not PROTOCOL_VERSION_MIN <= welcome.version <= PROTOCOL_VERSION:
                raise RecordingError(
                    f"{self.name} is written in protocol version {welcome.version}; this program "
                    f"reads {PROTOCOL_VERSION_MIN} to {PROTOCOL_VERSION}"
                )
            self._kind = self._point_type(opened.x_type)
        except BaseException:
            self.close()
            raise
        self.welcome = welcome
        self.opened = opened
        self._next_sequence = opened.next_sequence

    @property
    def stream(self) -> str:
        """The stream that was fed."""
        return self.opened.stream

    @property
    def x_type(self) -> str:
        """The type of the points."""
        return self.opened.x_type

    @property
    def names_users(self) -> bool:
        """Whether every example has a user."""
        return self.opened.users is True

    @property
    def first_sequence(self) -> int:
        """The producer's number of the first example."""
        return self.opened.next_sequence

    @property
    def progress(self) -> float | None:
        """The part of the file read so far, 0 to 1; None for standard input."""
        return self._bytes_done / self._bytes_total if self._bytes_total else None

    def messages(self) -> Iterator[Examples]:
        """Yield the Examples as they were sent, from where reading stands."""
        while (message := self._next()) is not None:
            if not isinstance(message, Examples) or message.channel != self.opened.channel:
                raise RecordingError(f"{self._place()} holds no examples of this recording")
            if message.sequence != self._next_sequence:
                raise RecordingError(
                    f"{self._place()} begins with example {message.sequence}, but "
                    f"{self._next_sequence} is next"
                )
            if (message.users is not None) != self.names_users:
                raise RecordingError(f"{self._place()} does not name users as its recording does")
            self._next_sequence += message.count
            yield message

    def batches(self) -> Iterator[Batch]:
        """Yield points, labels and users, if any, frame by frame.

        See `littled_protocol.columns` for the shapes.
        """
        for message in self.messages():
            batch = self._batch(message)
            if batch is None:
                raise RecordingError(f"{self._place()} holds no points of type {self.x_type}")
            yield batch

    def close(self) -> None:
        """Close the file."""
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _opened(self, path: str | Path) -> tuple[BinaryIO, int]:
        if str(path) == STANDARD_INPUT:
            return sys.stdin.buffer, 0
        try:
            file = Path(path).open("rb")  # noqa: SIM115 - the reader is the context manager
        except OSError as error:
            raise RecordingError(f"cannot read {self.name}: {error.strerror}") from None
        return file, os.fstat(file.fileno()).st_size

    def _next(self) -> Message | None:
        """Return the next frame's message, None at the end of the file."""
        prefix = self._file.read(limits.frame_prefix_bytes)
        if not prefix and self._frames_done >= 2:
            return None
        length = int.from_bytes(prefix, "big")
        if length > limits.frame_bytes_max - limits.frame_prefix_bytes:
            raise RecordingError(f"{self._place(1)} is longer than a frame may be")
        payload = self._file.read(length)
        if len(prefix) < limits.frame_prefix_bytes or len(payload) < length:
            raise RecordingError(
                f"{self._place(1)} is cut off; all {self._frames_done} frames before it are whole"
            )
        message = _decoded(payload)
        if message is None:
            raise RecordingError(f"{self._place(1)} is not a message")
        self._frames_done += 1
        self._bytes_done += len(prefix) + length
        return message

    def _place(self, ahead: int = 0) -> str:
        start = f" at byte {self._bytes_done}" if ahead else ""
        return f"frame {self._frames_done + ahead} of {self.name}{start}"

    def _point_type(self, name: str) -> PointType:
        try:
            return point_type(name)
        except ProtocolError as error:
            raise RecordingError(f"{self.name} holds unknown points: {error.message}") from None

    def _batch(self, message: Examples) -> Batch | None:
        try:
            points = self._kind.decode(message.x, message.count)
            labels = decode_labels(message.y, message.count)
            if message.users is None:
                return points, labels
            return points, labels, decode_users(message.users, message.count)
        except ProtocolError:
            return None


def _decoded(payload: bytes) -> Message | None:
    try:
        return decode(payload)
    except ProtocolError:
        return None
