"""The state of one connection, without any I/O: bytes in, events out; messages in, bytes out.

    connection = Connection(Role.CLIENT)
    transport.write(connection.send(Hello(PROTOCOL_VERSION, "example/1.0")))
    connection.receive_data(transport.read())        # b"" is the end of the stream
    while (event := connection.next_event()) is not NEED_DATA:
        ...                                          # a message, or CLOSED

Both sides hold the same machine. A message is allowed when `TRANSITIONS` has a row for its sender,
the state and its type, and when what it refers to exists: examples need an open channel and credit,
a release needs a subscription, a status and a prediction a request. Clocks, tokens and names of
streams belong to the caller.

What the caller may not send raises LocalProtocolError and changes nothing. What the peer may not
send raises RemoteProtocolError and leaves the state ERROR for good; the one thing then still
allowed is to send an Error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal

from littled_protocol import limits
from littled_protocol.bursts import FRAME_BYTES_MIN, LONG_FRAME_BYTES, Burst, decode_burst
from littled_protocol.codec import Likeness, encode_frame, has_more_values
from littled_protocol.errors import (
    ErrorCode,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
)
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    PROTOCOL_VERSION_MIN,
    VERSION_OF_MOVED,
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Moved,
    Open,
    Opened,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
)


class Role(Enum):
    """Which side of a connection."""

    CLIENT = "client"
    SERVER = "server"

    @property
    def peer(self) -> Role:
        """The other side."""
        return Role.SERVER if self is Role.CLIENT else Role.CLIENT


class State(Enum):
    """Where a connection stands; the same on both sides, once all bytes have arrived."""

    START = "start"
    GREETED = "greeted"
    READY = "ready"
    CLOSED = "closed"
    ERROR = "error"


class Signal(Enum):
    """What `next_event` returns when there is no message."""

    NEED_DATA = "need_data"
    CLOSED = "closed"


NEED_DATA: Final = Signal.NEED_DATA
CLOSED: Final = Signal.CLOSED

Event = Message | Literal[Signal.NEED_DATA, Signal.CLOSED]


def _rows() -> dict[tuple[Role, State, str], State]:
    client, server = Role.CLIENT, Role.SERVER
    rows = {
        (client, State.START, "hello"): State.GREETED,
        (server, State.GREETED, "welcome"): State.READY,
    }
    for name in ("open", "examples", "subscribe", "status_request", "predict", "ping", "pong"):
        rows[client, State.READY, name] = State.READY
    answers = ("opened", "ack", "release", "status", "prediction", "prediction_refused", "moved")
    for name in (*answers, "ping", "pong"):
        rows[server, State.READY, name] = State.READY
    for role in (client, server):
        for state in (State.START, State.GREETED, State.READY):
            rows[role, state, "error"] = State.CLOSED
        rows[role, State.ERROR, "error"] = State.ERROR
    return rows


TRANSITIONS: Final = MappingProxyType(_rows())
"""(sender, state, type of the message) -> next state; what has no row is not allowed."""

# The same for who sends and where it stands; every connection looks it up in each of its states.
_FOLLOWING: Final = {
    (who, at): {
        name: to for (role, state, name), to in TRANSITIONS.items() if (role, state) == (who, at)
    }
    for who in Role
    for at in State
}

# Pieces are joined up to this length, as each of them takes some bytes more.
_PIECE_BYTES: Final = 16 * 1024
# Frames that a first burst has at most; it grows while there are more.
_BURST_FRAMES_FIRST: Final = 16


class Connection:
    """One side of one connection; see the module for its use.

    role: which side this is. state: where it stands. version: of the protocol, 0 before `welcome`
    says it. frame_bytes_max: longest whole frame that this side accepts. frame_bytes: whole length
    of the frame sent or returned last. forbidden: types of messages that this peer may not send, to
    be set when it is known who it is.
    """

    def __init__(self, role: Role, frame_bytes_max: int = limits.frame_bytes_max) -> None:
        """Begin in START. Raises ValueError for an impossible `frame_bytes_max`."""
        if not limits.frame_bytes_max_min <= frame_bytes_max <= limits.frame_bytes_max:
            raise ValueError(
                f"frame_bytes_max needs {limits.frame_bytes_max_min} to {limits.frame_bytes_max}"
            )
        self.role = role
        self.state = State.START
        self._rows: tuple[dict[str, State], ...] = ()
        self._enter(State.START)
        self.frame_bytes_max = frame_bytes_max
        self.frame_bytes = 0
        self.forbidden: frozenset[str] = frozenset()
        self._peer = role.peer
        self._peer_frame_bytes_max = limits.frame_bytes_max
        self._buffer = bytearray()
        self._offset = 0
        # What follows the buffer of a long frame that is not whole, as it came: a buffer that grew
        # with each read would leave holes in memory, twice the frames' lengths where many grow.
        self._pieces: list[bytearray] = []
        self._pieces_bytes = 0
        self._ended = False
        self._failure: RemoteProtocolError | None = None
        # Nothing that a server is told has maps inside.
        is_server = role is Role.SERVER
        most = limits.frame_maps_to_server_max if is_server else limits.frame_containers_max
        self._likeness = Likeness(most)
        self._hello_version = 0
        self.version = 0
        self._credit_bytes = 0
        self._used_bytes = 0
        # The streams of channels that were asked for.
        self._opening: dict[int, str] = {}
        # By channel, the frames that use credit, as runs of equal ones: the number after the first
        # frame, examples and credit of each frame, and how many frames there are.
        self._unacknowledged: dict[int, deque[tuple[int, int, int, int]]] = {}
        # Frames that the next burst may have, and frames to pass before the next one is tried: it
        # costs no more than a few frames do, however often what looks like one is none.
        self._burst_frames = _BURST_FRAMES_FIRST
        self._burst_wait = 0
        self._versions: dict[str, int] = {}
        # The streams that unanswered status requests name, None of those for all.
        self._status_requests: deque[str | None] = deque()
        self._predictions: dict[bytes, tuple[str, int]] = {}

    @property
    def credit_left_bytes(self) -> int:
        """Credit for more examples frames, in bytes as counted by `limits.credit_of_frame`."""
        return self._credit_bytes - self._used_bytes

    @property
    def frame_begun(self) -> bool:
        """Whether a part of a frame waits for its rest; `limits.frame_seconds` then runs."""
        return len(self._buffer) > self._offset

    @property
    def buffered_bytes(self) -> int:
        """Bytes that were received and not returned as messages yet."""
        return len(self._buffer) - self._offset + self._pieces_bytes

    @property
    def frame_pending_bytes(self) -> int:
        """Whole length of the frame that is due next as it claims itself; 0 before it does."""
        prefix = self._buffer[self._offset : self._offset + limits.frame_prefix_bytes]
        if len(prefix) < limits.frame_prefix_bytes:
            return 0
        return limits.frame_prefix_bytes + int.from_bytes(prefix, "big")

    # --- Receiving --------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes from the peer; b"" is the end of its stream. Call `next_event` afterwards.

        Whatever comes after the end of the connection is dropped.
        """
        if self.state in (State.CLOSED, State.ERROR):
            return
        if not data:
            self._ended = True
            return
        self._let_go()
        whole = self.frame_pending_bytes
        if self.buffered_bytes + len(data) < whole <= self.frame_bytes_max:
            self._put_aside(data)
        elif self._pieces:
            self._buffer = bytearray().join([self._buffer, *self._pieces, data])
            self._forget_pieces()
        else:
            self._buffer += data

    def _put_aside(self, data: bytes | bytearray | memoryview) -> None:
        """Keep bytes of a frame that is not whole with them."""
        if self._pieces and len(self._pieces[-1]) + len(data) <= _PIECE_BYTES:
            self._pieces[-1] += data
        else:
            self._pieces.append(bytearray(data))
        self._pieces_bytes += len(data)

    def next_event(self) -> Event:
        """Return the next message, NEED_DATA, or CLOSED once the connection has ended.

        Raises RemoteProtocolError for what the peer must not send, and the same again ever after.
        """
        if self._failure is not None:
            raise self._failure
        if self.state is State.CLOSED:
            return CLOSED
        try:
            payload = self._next_payload()
            if payload is None:
                self._let_go()
                return self._end() if self._ended else NEED_DATA
            message = self._likeness.decode(payload, self.forbidden)
            self._advance(self._peer, message, len(payload) + limits.frame_prefix_bytes)
        except ProtocolError as error:
            self._failure = RemoteProtocolError(error.code, error.message)
            self._enter(State.ERROR)
            self._forget_bytes()
            raise self._failure from None
        if isinstance(message, Error):
            self._forget_bytes()
        return message

    def due_has_more_values(self, values: int) -> bool:
        """Whether the message that is due next is whole and holds more than so many values.

        It then takes longer to decode than to look at so many of them, which is all that is done.
        """
        if len(self._buffer) - self._offset <= values:  # most messages, at no price
            return False
        start, whole = self._offset + limits.frame_prefix_bytes, self.frame_pending_bytes
        end = self._offset + whole
        if not values < whole <= self.frame_bytes_max or len(self._buffer) < end:
            return False
        return has_more_values(self._buffer, start, end, values)

    @property
    def values_looked_at(self) -> int:
        """How many values of all messages so far were looked at one by one, as the codec counts."""
        return self._likeness.values

    def is_drained(self) -> bool:
        """Return whether every byte was returned as a message and more may come.

        Quicker than `next_event`, which would say NEED_DATA.
        """
        if self._ended or len(self._buffer) > self._offset:
            return False
        self._let_go()
        return True

    def needs_data(self) -> bool:
        """Return whether `next_event` would say NEED_DATA; quicker, also beside a part of a frame.

        False where that is not plain to see.
        """
        if self._ended or self.state is not State.READY:
            return False
        whole = max(self.frame_pending_bytes, limits.frame_prefix_bytes)
        if self.buffered_bytes >= whole or whole > self.frame_bytes_max:
            return False
        self._let_go()
        return True

    def next_burst(self) -> Burst | None:
        """Return waiting examples messages as one, two or more or a long one; None for others.

        A faster way to what `next_event` would return one by one, which has the same effects; call
        that for None. Raises nothing: what is wrong is left to `next_event`.
        """
        buffer, start = self._buffer, self._offset
        if len(buffer) < start + 2 * FRAME_BYTES_MIN:
            return None
        first = start + limits.frame_prefix_bytes
        length = limits.frame_prefix_bytes + int.from_bytes(buffer[start:first], "big")
        second = start + length
        following = buffer[second : second + limits.frame_prefix_bytes]
        alike = len(buffer) >= second + length and following == buffer[start:first]
        if (
            len(buffer) < second
            or not (alike or length >= LONG_FRAME_BYTES)
            or not FRAME_BYTES_MIN <= length <= self.frame_bytes_max
            or "examples" not in self._rows[0]
        ):
            return None
        if self._burst_wait:
            self._burst_wait -= 1
            return None
        credit = limits.credit_of_frame(length)
        frames_max = min(self._burst_frames, self.credit_left_bytes // credit)
        burst = decode_burst(buffer, start, frames_max)
        if burst is None or burst.channel not in self._unacknowledged:
            self._burst_frames, self._burst_wait = _BURST_FRAMES_FIRST, _BURST_FRAMES_FIRST
            return None
        self._burst_frames = max(_BURST_FRAMES_FIRST, 2 * burst.frames)
        self._offset += burst.frames * length
        self.frame_bytes = length
        self._used_bytes += burst.frames * credit
        self._unacknowledged[burst.channel].append(
            (burst.sequence + burst.count, burst.count, credit, burst.frames)
        )
        return burst

    def _next_payload(self) -> bytearray | None:
        """Take the next whole payload from the buffer; None when it is not there yet."""
        start = self._offset + limits.frame_prefix_bytes
        if len(self._buffer) < start:
            return None
        end = start + int.from_bytes(self._buffer[self._offset : start], "big")
        if end - self._offset > self.frame_bytes_max:
            raise ProtocolError(ErrorCode.FRAME_TOO_LARGE)
        if self.state is State.START and end - self._offset > limits.first_frame_bytes_max:
            raise ProtocolError(ErrorCode.FRAME_TOO_LARGE, "the first frame is too long")
        if len(self._buffer) < end:
            return None
        payload = self._buffer[start:end]
        self._offset = end
        return payload

    def _end(self) -> Event:
        if self.frame_begun:
            raise ProtocolError(ErrorCode.MALFORMED_FRAME, "the stream ended inside a frame")
        self._enter(State.CLOSED)
        return CLOSED

    def _let_go(self) -> None:
        """Free what was returned already; of what is left, no more memory is kept than twice."""
        if self._offset:
            del self._buffer[: self._offset]
            self._offset = 0

    def _forget_bytes(self) -> None:
        self._buffer.clear()
        self._offset = 0
        self._forget_pieces()

    def _forget_pieces(self) -> None:
        self._pieces = []
        self._pieces_bytes = 0

    # --- Sending ----------------------------------------------------------------------------------

    def send(self, message: Message, frame: bytes | None = None) -> bytes:
        """Return the frame of a message, to be written as it is.

        frame: what `encode_frame` makes of the message, where it is known already.

        Raises LocalProtocolError, with nothing changed, for what this side must not send now.
        """
        try:
            frame = encode_frame(message) if frame is None else frame
            if len(frame) > self._peer_frame_bytes_max:
                raise ProtocolError(ErrorCode.FRAME_TOO_LARGE)
            if self.state is State.START and len(frame) > limits.first_frame_bytes_max:
                raise ProtocolError(ErrorCode.FRAME_TOO_LARGE, "the first frame is too long")
            self._advance(self.role, message, len(frame))
        except ProtocolError as error:
            raise LocalProtocolError(error.code, error.message) from None
        if isinstance(message, Error):
            self._forget_bytes()
        return frame

    # --- What a message does, whoever sent it -----------------------------------------------------

    def _advance(self, sender: Role, message: Message, frame_bytes: int) -> None:
        """Change the state by one message, or raise ProtocolError with nothing changed."""
        name = message.type_name
        following = self._rows[sender is self.role].get(name)
        if following is None:
            raise _unexpected(
                f"{name} is not allowed from the {sender.value} in {self.state.value}"
            )
        self.frame_bytes = frame_bytes
        effect = _EFFECTS.get(name)
        if effect is not None:
            effect(self, message)
        if following is not self.state:
            self._enter(following)

    def _enter(self, state: State) -> None:
        """Change the state and look up which messages of the peer and of ours it allows."""
        self.state = state
        self._rows = _FOLLOWING[self.role.peer, state], _FOLLOWING[self.role, state]

    def _hello(self, message: Hello) -> None:
        if message.version < PROTOCOL_VERSION_MIN:
            raise ProtocolError(ErrorCode.UNSUPPORTED_VERSION)
        self._hello_version = message.version

    def _welcome(self, message: Welcome) -> None:
        highest = min(self._hello_version, PROTOCOL_VERSION)
        if not PROTOCOL_VERSION_MIN <= message.version <= highest:
            raise ProtocolError(ErrorCode.UNSUPPORTED_VERSION)
        if self.role is Role.SERVER and message.frame_bytes_max > self.frame_bytes_max:
            raise ProtocolError(
                ErrorCode.MALFORMED_FRAME,
                "welcome.frame_bytes_max promises longer frames than this side accepts",
            )
        self.version = message.version
        self._credit_bytes = message.credit_bytes
        if self.role is Role.CLIENT:
            self._peer_frame_bytes_max = message.frame_bytes_max

    def _open(self, message: Open) -> None:
        if message.channel in self._opening or message.channel in self._unacknowledged:
            raise _unexpected("the channel is open already")
        self._opening[message.channel] = message.stream

    def _opened(self, message: Opened) -> None:
        if message.channel not in self._opening:
            raise _unexpected("the channel was not asked for")
        del self._opening[message.channel]
        self._unacknowledged[message.channel] = deque()

    def _examples(self, message: Examples) -> None:
        frames = self._unacknowledged.get(message.channel)
        if frames is None:
            raise _unexpected("the channel is not open")
        credit = limits.credit_of_frame(self.frame_bytes)
        if self._used_bytes + credit > self._credit_bytes:
            raise ProtocolError(ErrorCode.CREDIT_EXCEEDED)
        self._used_bytes += credit
        frames.append((message.sequence + message.count, message.count, credit, 1))

    def _ack(self, message: Ack) -> None:
        frames = self._unacknowledged.get(message.channel)
        if frames is None:
            raise _unexpected("the channel is not open")
        while frames and frames[0][0] <= message.next_sequence:
            end, count, credit, left = frames.popleft()
            done = min(left, (message.next_sequence - end) // count + 1)
            self._used_bytes -= done * credit
            if done < left:
                frames.appendleft((end + done * count, count, credit, left - done))

    def _subscribe(self, message: Subscribe) -> None:
        if message.learner in self._versions:
            raise _unexpected("the learner is subscribed to already")
        if len(self._versions) >= limits.subscriptions_max:
            raise ProtocolError(
                ErrorCode.LIMIT_EXCEEDED,
                f"one connection may have at most {limits.subscriptions_max} subscriptions",
            )
        self._versions[message.learner] = message.since

    def _release(self, message: Release) -> None:
        version = self._versions.get(message.learner)
        if version is None:
            raise _unexpected("the learner is not subscribed to")
        if message.version <= version:
            raise _unexpected("the versions of a subscription need to grow")
        self._versions[message.learner] = message.version

    def _status_request(self, message: StatusRequest) -> None:
        if len(self._status_requests) >= limits.status_requests_max:
            raise ProtocolError(
                ErrorCode.LIMIT_EXCEEDED,
                f"at most {limits.status_requests_max} status requests may be unanswered",
            )
        self._status_requests.append(message.stream)

    def _status(self, _message: Status) -> None:
        if not self._status_requests:
            raise _unexpected("no status was asked for")
        self._status_requests.popleft()

    def _predict(self, message: Predict) -> None:
        if message.request in self._predictions:
            raise _unexpected("the request is made and unanswered already")
        if len(self._predictions) >= limits.predict_requests_max:
            raise ProtocolError(
                ErrorCode.LIMIT_EXCEEDED,
                f"at most {limits.predict_requests_max} requests for predictions may be unanswered",
            )
        self._predictions[message.request] = (message.learner, message.count)

    def _prediction(self, message: Prediction) -> None:
        if self._asked_of(message) != len(message.y):
            raise ProtocolError(
                ErrorCode.MALFORMED_FRAME, "prediction.y needs one label for each point asked for"
            )
        del self._predictions[message.request]

    def _prediction_refused(self, message: PredictionRefused) -> None:
        self._asked_of(message)
        del self._predictions[message.request]

    def _moved(self, message: Moved) -> None:
        if self.version < VERSION_OF_MOVED:
            raise _unexpected(f"moved is for version {VERSION_OF_MOVED} and later ones")
        if message.channel is not None:
            if self._opening.get(message.channel) != message.stream:
                raise _unexpected("the channel was not asked for, for this stream")
            del self._opening[message.channel]
        elif message.learner is not None:
            if message.learner not in self._versions:
                raise _unexpected("the learner is not subscribed to")
            del self._versions[message.learner]
        elif message.request is not None:
            learner, _ = self._predictions.get(message.request, ("", 0))
            if learner.partition("/")[0] != message.stream:
                raise _unexpected("no prediction of the stream was asked for under this name")
            del self._predictions[message.request]
        else:
            if not self._status_requests or self._status_requests[0] != message.stream:
                raise _unexpected("the status of the stream is not what was asked for next")
            self._status_requests.popleft()

    def _asked_of(self, message: Prediction | PredictionRefused) -> int:
        """Return for how many points the request asked; refuse an answer to no request."""
        learner, count = self._predictions.get(message.request, ("", 0))
        if learner != message.learner:
            raise _unexpected("no prediction was asked for under this name")
        return count


def _unexpected(sentence: str) -> ProtocolError:
    return ProtocolError(ErrorCode.UNEXPECTED_MESSAGE, sentence)


_EFFECTS: Final[dict[str, Callable[[Connection, Any], None]]] = {
    "hello": Connection._hello,
    "welcome": Connection._welcome,
    "open": Connection._open,
    "opened": Connection._opened,
    "examples": Connection._examples,
    "ack": Connection._ack,
    "subscribe": Connection._subscribe,
    "release": Connection._release,
    "status_request": Connection._status_request,
    "status": Connection._status,
    "predict": Connection._predict,
    "prediction": Connection._prediction,
    "prediction_refused": Connection._prediction_refused,
    "moved": Connection._moved,
}
