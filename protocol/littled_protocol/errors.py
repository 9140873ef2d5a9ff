"""One family of errors, and the codes by which a peer hears of them.

    ProtocolError             a rule of the protocol was broken; `code` says which
    ├── LocalProtocolError    this side tried to break it; nothing was sent
    └── RemoteProtocolError   the peer broke it, or said that we did; the connection is over

Codes are append-only: a code is never removed and never changes its meaning. Messages name the
place and the rule; they never hold a point, a label or any other value that came over the wire.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ErrorCode(StrEnum):
    """Why a connection was ended; the value is the text on the wire."""

    MALFORMED_FRAME = "malformed_frame"
    FRAME_TOO_LARGE = "frame_too_large"
    DEPTH_EXCEEDED = "depth_exceeded"
    UNEXPECTED_MESSAGE = "unexpected_message"
    UNSUPPORTED_VERSION = "unsupported_version"
    UNAUTHORIZED = "unauthorized"
    UNKNOWN_STREAM = "unknown_stream"
    UNKNOWN_LEARNER = "unknown_learner"
    INVALID_EXAMPLES = "invalid_examples"
    SEQUENCE_GAP = "sequence_gap"
    CREDIT_EXCEEDED = "credit_exceeded"
    SLOW_SUBSCRIBER = "slow_subscriber"
    PRODUCER_BUSY = "producer_busy"
    LIMIT_EXCEEDED = "limit_exceeded"
    SHUTTING_DOWN = "shutting_down"
    INTERNAL_ERROR = "internal_error"
    USERS_MISSING = "users_missing"
    USERS_UNEXPECTED = "users_unexpected"
    FORBIDDEN = "forbidden"
    STREAM_CLOSED = "stream_closed"
    STREAM_ELSEWHERE = "stream_elsewhere"


_ELSEWHERE: Final = (
    "Another daemon serves the stream; clients that speak version 2 of the protocol go there."
)
ERROR_SENTENCES: Final = MappingProxyType(
    {
        ErrorCode.MALFORMED_FRAME: "A frame is not one well-formed message.",
        ErrorCode.FRAME_TOO_LARGE: "A frame is longer than the receiver accepts.",
        ErrorCode.DEPTH_EXCEEDED: "A frame nests maps and lists deeper than allowed.",
        ErrorCode.UNEXPECTED_MESSAGE: "A message is unknown or not allowed at this point.",
        ErrorCode.UNSUPPORTED_VERSION: "The two sides share no version of the protocol.",
        ErrorCode.UNAUTHORIZED: "The token is missing or wrong.",
        ErrorCode.UNKNOWN_STREAM: "The daemon has no stream of this name.",
        ErrorCode.UNKNOWN_LEARNER: "The daemon has no learner of rules of this name.",
        ErrorCode.INVALID_EXAMPLES: "A batch holds something that is not an example of its stream.",
        ErrorCode.SEQUENCE_GAP: "A batch begins after the next example expected of its producer.",
        ErrorCode.CREDIT_EXCEEDED: "More bytes are unacknowledged than the credit allows.",
        ErrorCode.SLOW_SUBSCRIBER: "The subscriber reads more slowly than the daemon may wait for.",
        ErrorCode.PRODUCER_BUSY: "Another connection feeds the stream under this producer's name.",
        ErrorCode.LIMIT_EXCEEDED: "A limit on number or time is exceeded.",
        ErrorCode.SHUTTING_DOWN: "The daemon is stopping; connect again later.",
        ErrorCode.INTERNAL_ERROR: "The daemon failed; its log says why.",
        ErrorCode.USERS_MISSING: "The stream protects users; every example of a batch needs one.",
        ErrorCode.USERS_UNEXPECTED: "The stream protects single examples; a batch names no users.",
        ErrorCode.FORBIDDEN: "What the client has shown does not allow this.",
        ErrorCode.STREAM_CLOSED: "The stream is closed and takes no more examples.",
        ErrorCode.STREAM_ELSEWHERE: _ELSEWHERE,
    }
)
"""The fixed sentence of every code, as in SPEC.md."""


class RefusalCode(StrEnum):
    """Why a request for predictions got none; the connection lives on. Append-only as well."""

    WINDOW_SPENT = "window_spent"
    NO_WINDOW = "no_window"
    UNKNOWN_LEARNER = "unknown_learner"
    NO_PREDICTIONS = "no_predictions"
    INVALID_POINTS = "invalid_points"
    REQUEST_REUSED = "request_reused"
    STREAM_CLOSED = "stream_closed"
    STREAM_ELSEWHERE = "stream_elsewhere"


REFUSAL_SENTENCES: Final = MappingProxyType(
    {
        RefusalCode.WINDOW_SPENT: "The window has fewer answers left than were asked for.",
        RefusalCode.NO_WINDOW: "No window of the learner is full yet.",
        RefusalCode.UNKNOWN_LEARNER: "The daemon has no learner of this name.",
        RefusalCode.NO_PREDICTIONS: "The learner publishes rules and answers no requests.",
        RefusalCode.INVALID_POINTS: "A request holds something that is not a point of its stream.",
        RefusalCode.REQUEST_REUSED: "The request was made before with other points.",
        RefusalCode.STREAM_CLOSED: "The stream is closed and answers only what it has answered.",
        RefusalCode.STREAM_ELSEWHERE: _ELSEWHERE,
    }
)
"""The sentence of every refusal, as in SPEC.md."""


class ProtocolError(Exception):
    """A rule of the protocol was broken.

    code: which rule, for programs. message: one sentence about the place, for people; the code's
    fixed sentence unless given.
    """

    code: ErrorCode
    message: str

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        """Keep the code and the sentence."""
        self.code = ErrorCode(code)
        self.message = ERROR_SENTENCES[self.code] if message is None else message
        super().__init__(self.code, self.message)

    def __str__(self) -> str:
        """Return `code: sentence`."""
        return f"{self.code}: {self.message}"


class LocalProtocolError(ProtocolError):
    """This side tried something that the protocol forbids; nothing was sent or changed."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol, or ended the connection with this error."""
