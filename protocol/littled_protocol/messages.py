"""The messages of the protocol as frozen values, and the one registry from name to class.

A message checks its fields when it is made, whether by a program or by the decoder, so a message
that exists is well-formed. Wrong fields raise ProtocolError (`malformed_frame`, or
`invalid_examples` for an impossible number of examples); its sentence names the field and the
rule, never the value.

The registry is append-only. New fields are optional (they have a default) and stand last; fields
that are None and optional are not sent. A receiver ignores fields that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, Final

from littled_protocol import limits
from littled_protocol.errors import ErrorCode, ProtocolError, RefusalCode

PROTOCOL_VERSION: Final = 2
"""The highest version of the protocol spoken by this package."""
PROTOCOL_VERSION_MIN: Final = 1
"""The lowest version of the protocol spoken by this package."""
VERSION_OF_MOVED: Final = 2
"""The version of the protocol from which on a server says `moved`."""
RELEASE_KINDS: Final = frozenset({"rule", "halt", "season"})

_INTEGER_MAX: Final = limits.integer_max
_EXAMPLES_MAX: Final = limits.examples_per_frame_max
_CHANNEL_MAX: Final = limits.channels_max - 1
_PLACE_MAX: Final = limits.resume_bytes_max
# What streams and learners, and producers, are called.
NAME: Final = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{limits.name_characters_max - 1}}}")
PRODUCER: Final = re.compile(rf"[!-~]{{1,{limits.producer_characters_max}}}")
_LABEL_BYTES: Final = b"\x00\x01"
_CODE: Final = re.compile(rf"[a-z0-9_]{{1,{limits.error_code_characters_max}}}")


def _malformed(sentence: str) -> ProtocolError:
    return ProtocolError(ErrorCode.MALFORMED_FRAME, sentence)


def _integer(value: object, least: int, greatest: int, field: str) -> None:
    if type(value) is not int or not least <= value <= greatest:
        raise _malformed(f"{field} needs an integer from {least} to {greatest}")


def _text(value: object, bytes_max: int, field: str) -> None:
    if not isinstance(value, str) or not value.isprintable():
        raise _malformed(f"{field} needs a text of printable characters")
    if len(value.encode()) > bytes_max:
        raise _malformed(f"{field} needs a text of at most {bytes_max} bytes")


def _code(value: object, field: str) -> None:
    if type(value) is not str or not _CODE.fullmatch(value):
        raise _malformed(f"{field} needs small letters, digits and _")


def check_name(value: object, field: str) -> None:
    """Raise ProtocolError (malformed_frame) unless `value` can name a stream or a learner."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise _malformed(
            f"{field} needs 1 to {limits.name_characters_max} letters, digits and _ . -, "
            "with a letter, digit or _ first"
        )


def check_producer(value: object, field: str) -> None:
    """Raise ProtocolError (malformed_frame) unless `value` can name a producer."""
    if not isinstance(value, str) or not PRODUCER.fullmatch(value):
        raise _malformed(
            f"{field} needs 1 to {limits.producer_characters_max} printable ASCII characters "
            "without blanks"
        )


def check_request(value: object, field: str) -> None:
    """Raise ProtocolError (malformed_frame) unless `value` can name a request for predictions."""
    if type(value) is not bytes or len(value) != limits.request_bytes:
        raise _malformed(f"{field} needs a binary of {limits.request_bytes} bytes")


def check_place(value: object, field: str) -> None:
    """Raise ProtocolError (malformed_frame) unless `value` can name a place of a source."""
    if type(value) is not bytes or len(value) > limits.resume_bytes_max:
        raise _malformed(f"{field} needs a binary of at most {limits.resume_bytes_max} bytes")


def check_learner(value: object, field: str) -> None:
    """Raise ProtocolError (malformed_frame) unless `value` is "stream/learner"."""
    stream, slash, learner = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not slash:
        raise _malformed(f"{field} needs the form stream/learner")
    check_name(stream, field)
    check_name(learner, field)


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `type_name` is its name on the wire. The children are the whole protocol."""

    type_name: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """The client's first message: the highest version it speaks, who it is, and its token."""

    type_name: ClassVar[str] = "hello"
    version: int
    agent: str
    token: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        _integer(self.version, 0, 2**31 - 1, "hello.version")
        _text(self.agent, limits.agent_bytes_max, "hello.agent")
        if self.token is not None:
            _text(self.token, limits.token_bytes_max, "hello.token")


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """The server's answer: the version from here on, who it is, and its limits.

    instance: public random name of the store; another one means another history. credit_bytes:
    of unacknowledged examples frames on this connection. frame_bytes_max: of a whole frame.
    """

    type_name: ClassVar[str] = "welcome"
    version: int
    server: str
    instance: str
    credit_bytes: int
    frame_bytes_max: int

    def __post_init__(self) -> None:
        """Check the fields."""
        _integer(self.version, 0, 2**31 - 1, "welcome.version")
        _text(self.server, limits.agent_bytes_max, "welcome.server")
        check_name(self.instance, "welcome.instance")
        _integer(self.credit_bytes, limits.credit_bytes_min, 2**40, "welcome.credit_bytes")
        _integer(
            self.frame_bytes_max,
            limits.frame_bytes_max_min,
            limits.frame_bytes_max,
            "welcome.frame_bytes_max",
        )


@dataclass(frozen=True, slots=True)
class Open(Message):
    """The client wants to feed a stream as this producer, on this channel.

    resumes: whether it wants to know up to which place of its source examples are durable; None
    says no.
    """

    type_name: ClassVar[str] = "open"
    channel: int
    stream: str
    producer: str
    resumes: bool | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        _integer(self.channel, 0, _CHANNEL_MAX, "open.channel")
        check_name(self.stream, "open.stream")
        check_producer(self.producer, "open.producer")
        if self.resumes is not None and type(self.resumes) is not bool:
            raise _malformed("open.resumes needs true or false")


@dataclass(frozen=True, slots=True)
class Opened(Message):
    """The channel is open: the stream's type of points and where producer and stream stand.

    next_sequence: number of this producer's durable examples. position: number of the stream's.
    users: whether the stream protects users, so that every batch names them; None says no.
    resume: the last durable place of the producer's source, empty where there is none, and
    resume_sequence: how many of its examples stand before that. Both are None unless the client
    asked for them.
    """

    type_name: ClassVar[str] = "opened"
    channel: int
    stream: str
    x_type: str
    next_sequence: int
    position: int
    users: bool | None = None
    resume: bytes | None = None
    resume_sequence: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        _integer(self.channel, 0, _CHANNEL_MAX, "opened.channel")
        check_name(self.stream, "opened.stream")
        check_name(self.x_type, "opened.x_type")
        _integer(self.next_sequence, 0, _INTEGER_MAX, "opened.next_sequence")
        _integer(self.position, 0, _INTEGER_MAX, "opened.position")
        if self.users is not None and type(self.users) is not bool:
            raise _malformed("opened.users needs true or false")
        if self.resume is not None:
            check_place(self.resume, "opened.resume")
            _integer(self.resume_sequence, 0, self.next_sequence, "opened.resume_sequence")
        elif self.resume_sequence is not None:
            raise _malformed("opened.resume_sequence needs opened.resume")


@dataclass(frozen=True, slots=True)
class Examples(Message):
    """A batch of `count` examples, the first of which is the producer's number `sequence`.

    x, y: columns of bytes, or plain lists of at most `list_examples_max` values; see `columns`.
    users: column of bytes with the user of each example, for a stream that protects users.
    resume: the place of the producer's source behind the last example, opaque, for whoever goes on
    from there; it becomes durable together with the examples.
    """

    type_name: ClassVar[str] = "examples"
    channel: int
    sequence: int
    count: int
    x: bytes | list[Any]
    y: bytes | list[Any]
    users: bytes | None = None
    resume: bytes | None = None

    def __post_init__(self) -> None:
        """Check the fields: quickly when all is well, since this runs for every batch."""
        channel, sequence, count, x, y, users, resume = _EXAMPLES_FIELDS(self)
        if not (
            type(channel) is int
            and type(sequence) is int
            and type(count) is int
            and 0 <= channel <= _CHANNEL_MAX
            and 0 <= sequence <= _INTEGER_MAX
            and 1 <= count <= _EXAMPLES_MAX
            and sequence + count <= _INTEGER_MAX
            and (type(x) is bytes or type(x) is list)
            and (type(y) is bytes or type(y) is list)
            and (users is None or type(users) is bytes)
            and (resume is None or (type(resume) is bytes and len(resume) <= _PLACE_MAX))
        ):
            self._refuse()

    def _refuse(self) -> None:
        _integer(self.channel, 0, _CHANNEL_MAX, "examples.channel")
        _integer(self.sequence, 0, _INTEGER_MAX, "examples.sequence")
        if not (type(self.x) in (bytes, list) and type(self.y) in (bytes, list)):
            raise _malformed("examples.x and examples.y need binary columns or lists")
        if self.users is not None and type(self.users) is not bytes:
            raise _malformed("examples.users needs a binary column")
        if self.resume is not None:
            check_place(self.resume, "examples.resume")
        if type(self.count) is not int:
            raise _malformed("examples.count needs an integer")
        if not 1 <= self.count <= _EXAMPLES_MAX:
            raise ProtocolError(
                ErrorCode.INVALID_EXAMPLES,
                f"examples.count needs an integer from 1 to {_EXAMPLES_MAX}",
            )
        raise _malformed(f"the last example's number needs to stay below {_INTEGER_MAX}")


_EXAMPLES_FIELDS: Final = attrgetter("channel", "sequence", "count", "x", "y", "users", "resume")


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """All of the producer's examples below `next_sequence` are durable; cumulative.

    position: number of the stream's durable examples. All acknowledgements have one length.
    """

    type_name: ClassVar[str] = "ack"
    channel: int
    next_sequence: int
    position: int

    def __post_init__(self) -> None:
        """Check the fields: quickly when all is well, since every lone example has one."""
        if (
            type(self.channel) is type(self.next_sequence) is type(self.position) is int
            and 0 <= self.channel <= _CHANNEL_MAX
            and 0 <= self.next_sequence <= _INTEGER_MAX
            and 0 <= self.position <= _INTEGER_MAX
        ):
            return
        _integer(self.channel, 0, _CHANNEL_MAX, "ack.channel")
        _integer(self.next_sequence, 0, _INTEGER_MAX, "ack.next_sequence")
        _integer(self.position, 0, _INTEGER_MAX, "ack.position")


@dataclass(frozen=True, slots=True)
class Subscribe(Message):
    """The client wants a learner's releases after version `since` (0: all), past and to come."""

    type_name: ClassVar[str] = "subscribe"
    learner: str
    since: int

    def __post_init__(self) -> None:
        """Check the fields."""
        check_learner(self.learner, "subscribe.learner")
        _integer(self.since, 0, _INTEGER_MAX, "subscribe.since")


@dataclass(frozen=True, slots=True)
class Release(Message):
    """Something a learner published.

    version: counts the learner's releases from 1. kind: "rule" (a new rule), "halt" (no new rule
    before the next season) or "season" (a new season, a new budget). season, epoch: from 0.
    position: number of the stream's examples before it. rule: see `rules.Rule.to_dict`, or None.
    """

    type_name: ClassVar[str] = "release"
    learner: str
    version: int
    kind: str
    season: int
    epoch: int
    position: int
    rule: dict[str, Any] | None

    def __post_init__(self) -> None:
        """Check the fields, except the inside of the rule."""
        check_learner(self.learner, "release.learner")
        _integer(self.version, 1, _INTEGER_MAX, "release.version")
        if not isinstance(self.kind, str) or self.kind not in RELEASE_KINDS:
            raise _malformed('release.kind needs to be "rule", "halt" or "season"')
        _integer(self.season, 0, _INTEGER_MAX, "release.season")
        _integer(self.epoch, 0, _INTEGER_MAX, "release.epoch")
        _integer(self.position, 0, _INTEGER_MAX, "release.position")
        if self.rule is not None and type(self.rule) is not dict:
            raise _malformed("release.rule needs a map or nil")


@dataclass(frozen=True, slots=True)
class StatusRequest(Message):
    """The client wants to know how the daemon is.

    stream: tell of this stream alone; None for all. after: of those that come after this one, which
    was the last of an earlier answer that did not have all; None from the first one on.
    """

    type_name: ClassVar[str] = "status_request"
    stream: str | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.stream is not None:
            check_name(self.stream, "status_request.stream")
        if self.after is not None:
            check_name(self.after, "status_request.after")


@dataclass(frozen=True, slots=True)
class Status(Message):
    """Public facts about the daemon, in a map whose keys may grow at any time."""

    type_name: ClassVar[str] = "status"
    body: dict[str, Any]

    def __post_init__(self) -> None:
        """Check that the body is a map."""
        if type(self.body) is not dict:
            raise _malformed("status.body needs a map")


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Are you there? Either side may ask at any time after Welcome."""

    type_name: ClassVar[str] = "ping"
    nonce: int

    def __post_init__(self) -> None:
        """Check the field."""
        _integer(self.nonce, 0, 2**64 - 1, "ping.nonce")


@dataclass(frozen=True, slots=True)
class Pong(Message):
    """Yes; with the nonce of the Ping."""

    type_name: ClassVar[str] = "pong"
    nonce: int

    def __post_init__(self) -> None:
        """Check the field."""
        _integer(self.nonce, 0, 2**64 - 1, "pong.nonce")


@dataclass(frozen=True, slots=True)
class Error(Message):
    """Why the sender ends the connection; nothing follows.

    code: an `ErrorCode`, or one of a later version. channel: the one concerned, if one is.
    """

    type_name: ClassVar[str] = "error"
    code: str
    message: str
    channel: int | None = None

    def __post_init__(self) -> None:
        """Check the fields; an `ErrorCode` becomes its text."""
        if isinstance(self.code, ErrorCode):
            object.__setattr__(self, "code", self.code.value)
        _code(self.code, "error.code")
        _text(self.message, limits.error_message_bytes_max, "error.message")
        if self.channel is not None:
            _integer(self.channel, 0, _CHANNEL_MAX, "error.channel")

    @property
    def error_code(self) -> ErrorCode:
        """The code as this version knows it; `internal_error` for one that it does not know."""
        try:
            return ErrorCode(self.code)
        except ValueError:
            return ErrorCode.INTERNAL_ERROR


@dataclass(frozen=True, slots=True)
class Predict(Message):
    """The client asks a learner of predictions for the labels of `count` points.

    request: random bytes that name the request; sent again with the same points, it gets the same
    answer at no charge. x: a column of bytes, or a plain list; see `columns`.
    """

    type_name: ClassVar[str] = "predict"
    request: bytes
    learner: str
    count: int
    x: bytes | list[Any]

    def __post_init__(self) -> None:
        """Check the fields."""
        check_request(self.request, "predict.request")
        check_learner(self.learner, "predict.learner")
        _integer(self.count, 1, limits.predict_points_max, "predict.count")
        if type(self.x) not in (bytes, list):
            raise _malformed("predict.x needs a binary column or a list")


@dataclass(frozen=True, slots=True)
class Prediction(Message):
    """The answer: a label, one byte 0 or 1, for each point of the request.

    window: number of the window that answered. left: answers left in it now. repeated: whether
    this is the answer that the request got before, at no new charge.
    """

    type_name: ClassVar[str] = "prediction"
    request: bytes
    learner: str
    y: bytes
    window: int
    left: int
    repeated: bool

    def __post_init__(self) -> None:
        """Check the fields."""
        check_request(self.request, "prediction.request")
        check_learner(self.learner, "prediction.learner")
        most = limits.predict_points_max
        if type(self.y) is not bytes or not 1 <= len(self.y) <= most:
            raise _malformed(f"prediction.y needs a binary of 1 to {most} labels")
        if self.y.translate(None, _LABEL_BYTES):  # what is left without the zeros and ones
            raise _malformed("prediction.y needs labels 0 and 1")
        _integer(self.window, 0, _INTEGER_MAX, "prediction.window")
        _integer(self.left, 0, _INTEGER_MAX, "prediction.left")
        if type(self.repeated) is not bool:
            raise _malformed("prediction.repeated needs true or false")


@dataclass(frozen=True, slots=True)
class PredictionRefused(Message):
    """The request gets no labels and costs nothing; the connection lives on.

    code: a `RefusalCode`, or one of a later version. message: a sentence for people. asked, spent,
    left: answers that the request asked for, that the window has given, and that are left in it.
    window: its number, None without one. next_window: number of the stream's examples with which
    the next window will be full, None when there is none to wait for.
    """

    type_name: ClassVar[str] = "prediction_refused"
    request: bytes
    learner: str
    code: str
    message: str
    asked: int
    spent: int
    left: int
    window: int | None = None
    next_window: int | None = None

    def __post_init__(self) -> None:
        """Check the fields; a `RefusalCode` becomes its text."""
        check_request(self.request, "prediction_refused.request")
        check_learner(self.learner, "prediction_refused.learner")
        if isinstance(self.code, RefusalCode):
            object.__setattr__(self, "code", self.code.value)
        _code(self.code, "prediction_refused.code")
        _text(self.message, limits.error_message_bytes_max, "prediction_refused.message")
        _integer(self.asked, 1, limits.predict_points_max, "prediction_refused.asked")
        _integer(self.spent, 0, _INTEGER_MAX, "prediction_refused.spent")
        _integer(self.left, 0, _INTEGER_MAX, "prediction_refused.left")
        if self.window is not None:
            _integer(self.window, 0, _INTEGER_MAX, "prediction_refused.window")
        if self.next_window is not None:
            _integer(self.next_window, 0, _INTEGER_MAX, "prediction_refused.next_window")


@dataclass(frozen=True, slots=True)
class Moved(Message):
    """The stream that was asked for is served elsewhere: an answer to one request. Version 2 only.

    addresses: where clients find it, the best one first; none where nobody serves it right now.
    after_ms: how many milliseconds to wait before this server is asked again. channel, learner,
    request: that of the `open`, `subscribe` or `predict` which is answered; without any it is the
    oldest unanswered `status_request`, which named the stream.
    """

    type_name: ClassVar[str] = "moved"
    stream: str
    addresses: list[str]
    after_ms: int
    channel: int | None = None
    learner: str | None = None
    request: bytes | None = None

    def __post_init__(self) -> None:
        """Check the fields; that an address is one is for whoever follows it."""
        check_name(self.stream, "moved.stream")
        most = limits.moved_addresses_max
        if type(self.addresses) is not list or len(self.addresses) > most:
            raise _malformed(f"moved.addresses needs a list of at most {most} texts")
        for address in self.addresses:
            _text(address, limits.address_bytes_max, "moved.addresses")
        _integer(self.after_ms, 0, limits.moved_after_ms_max, "moved.after_ms")
        if self.channel is not None:
            _integer(self.channel, 0, _CHANNEL_MAX, "moved.channel")
        if self.learner is not None:
            check_learner(self.learner, "moved.learner")
            if self.learner.partition("/")[0] != self.stream:
                raise _malformed("moved.learner needs a learner of moved.stream")
        if self.request is not None:
            check_request(self.request, "moved.request")
        if (self.channel, self.learner, self.request).count(None) < 2:
            raise _malformed("moved answers one request, by its channel, learner or name")


MESSAGE_CLASSES: Final = (
    *(Hello, Welcome, Open, Opened, Examples, Ack, Subscribe, Release),
    *(StatusRequest, Status, Ping, Pong, Error),
    *(Predict, Prediction, PredictionRefused, Moved),
)
"""Every message, in the order of SPEC.md; append-only."""


def error_message(error: ProtocolError, channel: int | None = None) -> Error:
    """Return the message that tells the peer of an error, with the code's fixed sentence.

    The error's own sentence stays in this process.
    """
    return Error(error.code, ProtocolError(error.code).message, channel)


def _builder(cls: type[Message]) -> Callable[[dict[str, Any]], Message]:
    """Return the function that makes a message of this class from the map of its fields."""
    required = tuple(f.name for f in fields(cls) if f.default is MISSING)
    optional = tuple(f.name for f in fields(cls) if f.default is not MISSING)

    # "type" is always there; a getter of several names returns a tuple, so it stands twice.
    get = itemgetter("type", "type", *required)

    def build(values: dict[str, Any]) -> Message:
        try:
            positional = get(values)[2:]
        except KeyError as missing:
            raise _malformed(f"{cls.type_name}.{missing.args[0]} is missing") from None
        if optional:
            return cls(*positional, **{name: values[name] for name in optional if name in values})
        return cls(*positional)

    return build


_BUILDERS: Final = {cls.type_name: _builder(cls) for cls in MESSAGE_CLASSES}
_FIELDS: Final[dict[type[Message], tuple[tuple[str, bool], ...]]] = {
    cls: tuple((f.name, f.default is not MISSING) for f in fields(cls)) for cls in MESSAGE_CLASSES
}


def message_from_fields(values: dict[str, Any]) -> Message:
    """Return the message of a frame's map; fields that are not known are ignored.

    Raises ProtocolError: malformed_frame for missing or wrong fields, unexpected_message for an
    unknown type, invalid_examples for an impossible number of examples.
    """
    name = values.get("type")
    if not isinstance(name, str):
        raise _malformed("type needs the name of a message")
    build = _BUILDERS.get(name)
    if build is None:
        raise ProtocolError(ErrorCode.UNEXPECTED_MESSAGE, "the message has an unknown type")
    return build(values)


def fields_of(message: Message) -> dict[str, Any]:
    """Return the map of a message's frame: "type" first, then the fields as declared.

    Optional fields that are None are left out.
    """
    values: dict[str, Any] = {"type": message.type_name}
    for name, optional in _FIELDS[type(message)]:
        value = getattr(message, name)
        if value is not None or not optional:
            values[name] = value
    return values
