"""What both clients say and understand in the same way; no I/O."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from littled_client.addresses import Address, TcpAddress
from littled_client.errors import (
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    UnreachableError,
)
from littled_protocol import limits
from littled_protocol.connection import Connection, Role
from littled_protocol.encodings import EncodingError, TableSchema
from littled_protocol.errors import ErrorCode, ProtocolError, RemoteProtocolError
from littled_protocol.foreign import HTTP_ANSWER, speaks_tls
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    Error,
    Hello,
    Message,
    Welcome,
)
from littled_protocol.rules import RuleError, Words

# Refusals that say "not now": the same request may succeed on a later connection.
_PASSING_CODES = frozenset(
    {ErrorCode.SHUTTING_DOWN, ErrorCode.SLOW_SUBSCRIBER, ErrorCode.LIMIT_EXCEEDED}
)
_PRODUCER_BYTES = 12


def agent() -> str:
    """Return how this program names itself to the daemon."""
    try:
        return f"littled_client/{version('littled')}"
    except PackageNotFoundError:
        return "littled_client"


def greeting(token: str | None) -> Hello:
    """Return the first message of every connection; raise ProtocolError for an impossible token."""
    return Hello(PROTOCOL_VERSION, agent(), token)


def random_producer() -> str:
    """Return a producer's name that nobody else has."""
    return secrets.token_hex(_PRODUCER_BYTES)


def is_passing(error: Exception, *, coming_back: bool) -> bool:
    """Whether it is worth trying again after this error.

    coming_back: whether it met an attempt to get a lost connection back. Only then may the rival
    that keeps a producer busy be this program's own lost connection, which the daemon still holds.
    """
    if isinstance(error, RemoteProtocolError):
        own_ghost = coming_back and error.code is ErrorCode.PRODUCER_BUSY
        return own_ghost or error.code in _PASSING_CODES
    return isinstance(error, ConnectionLostError)


def given_up(address: Address, error: Exception) -> Exception:
    """Return what to raise when the time for trying is over: the refusal, or UnreachableError."""
    if isinstance(error, ProtocolError):
        return error
    hint = "is littled running?"
    if isinstance(address, TcpAddress) and address.tls:
        hint = "is littled running, and does it take this program's certificate?"
    elif isinstance(address, TcpAddress) and "closed" in str(error):
        hint = "is littled running, and is TLS spoken there (tls://HOST:PORT)?"
    return UnreachableError(f"no daemon can be reached at {address} ({error}); {hint}")


@contextmanager
def naming(stream: str) -> Iterator[None]:
    """Name the stream when the daemon says that it has none of its name."""
    try:
        yield
    except RemoteProtocolError as error:
        if error.code is not ErrorCode.UNKNOWN_STREAM:
            raise
        sentence = f"The daemon has no stream {stream!r}."
        raise RemoteProtocolError(error.code, sentence) from None


def newest_version(status: dict[str, Any], learner: str) -> int:
    """Return the version of a learner's last release in a status, 0 for none.

    Raises ClientError when the status lists no such learner, or one that publishes no rules.
    """
    stream, _, name = learner.partition("/")
    try:
        facts = status["streams"][stream]["learners"][name]
        if "version" in facts:
            return int(facts["version"])
    except (KeyError, TypeError):
        raise ClientError(f"the daemon has no learner {learner!r}") from None
    raise ClientError(f"the learner {learner!r} publishes no rules; ask it for predictions")


def rest_of(status: Mapping[str, Any]) -> str | None:
    """Return the stream after which a status goes on in another answer; None where it is whole."""
    streams = status.get("streams")
    if status.get("more") is not True or not isinstance(streams, dict) or not streams:
        return None
    return str(next(reversed(streams)))


def join_page(status: dict[str, Any], page: Mapping[str, Any]) -> None:
    """Add the streams of a further answer to a status; it is whole when there are no new ones."""
    streams = page.get("streams")
    new = streams if isinstance(streams, dict) else {}
    if not new.keys() - status["streams"].keys():
        del status["more"]
        return
    status["streams"] |= new
    if page.get("more") is not True:
        del status["more"]


def x_types_of(status: dict[str, Any], stream: str) -> dict[str, str]:
    """Return the types of points of all streams; raise ClientError if this one is not there."""
    try:
        streams = status["streams"].items()
        found = {name: str(facts["x_type"]) for name, facts in streams if "x_type" in facts}
    except (AttributeError, KeyError, TypeError):
        found = {}
    if stream not in found:
        raise ClientError(f"the daemon has no stream {stream!r}")
    return found


def words_of(status: Mapping[str, Any]) -> dict[str, Words | None]:
    """Return the words of all learners of a status, by full name; None for what is not understood.

    That is where a server says none, or says them in the way of a later version.
    """
    found: dict[str, Words | None] = {}
    streams = status.get("streams")
    for stream, facts in streams.items() if isinstance(streams, dict) else ():
        learners = facts.get("learners") if isinstance(facts, dict) else None
        schema = schema_of(facts)
        for name, learner in learners.items() if isinstance(learners, dict) else ():
            words: Words | None = None
            if isinstance(learner, dict):
                with suppress(RuleError, EncodingError):
                    words = Words.from_status(learner.get("words"), schema)
            found[f"{stream}/{name}"] = words
    return found


def schema_of(facts: object) -> TableSchema | None:
    """Return the schema of a stream by its part of a status; None where there is none.

    That is also where a server says it in the way of a later version.
    """
    if isinstance(facts, dict) and "schema" in facts:
        with suppress(EncodingError):
            return TableSchema.from_dict(facts["schema"])
    return None


def _check_ours(first: bytes) -> None:
    """Raise RemoteProtocolError where the first bytes of an answer are of another protocol."""
    sentence = ""
    if first.startswith(HTTP_ANSWER):
        sentence = "What answers speaks HTTP; a client needs the address of --unix or --tcp."
    elif speaks_tls(first):
        sentence = "What answers speaks TLS; write the address as tls://HOST:PORT."
    if sentence:
        raise RemoteProtocolError(ErrorCode.MALFORMED_FRAME, sentence)


class Conversation:
    """The client's side of one connection: the greeting, and the daemon's errors as exceptions."""

    def __init__(self) -> None:
        """Begin before the greeting."""
        self._connection = Connection(Role.CLIENT)
        self.send = self._connection.send
        self.welcome: Welcome | None = None
        self._begun = False

    def receive(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that arrived with `data`; what came before an error is still yielded.

        Raises RemoteProtocolError for what the daemon must not send, and for an Error it sent; its
        message says it where something else than a daemon answers.
        """
        if not self._begun:
            self._begun = True
            _check_ours(data)
        self._connection.receive_data(data)
        while isinstance(event := self._connection.next_event(), Message):
            if isinstance(event, Error):
                raise RemoteProtocolError(event.error_code, event.message)
            if isinstance(event, Welcome):
                self.welcome = event
            yield event


class Identity:
    """Which store the daemon serves; a client must not mix two.

    x_types: the types of points of its streams, once they were asked for. words: what points and
    labels of its learners stand for, likewise; None where it is not understood. Neither ever
    changes for a store. frame_bytes_max: the longest frame that the daemon accepts.
    """

    def __init__(self) -> None:
        """Begin without having met a daemon."""
        self.instance: str | None = None
        self.x_types: dict[str, str] = {}
        self.words: dict[str, Words | None] = {}
        self.frame_bytes_max = limits.frame_bytes_max_min

    def words_of(self, learner: str) -> Words:
        """Return a learner's words after a status came; raise ClientError if they are not there."""
        if learner not in self.words:
            raise ClientError(f"the daemon has no learner {learner!r}")
        words = self.words[learner]
        if words is None:
            raise ClientError(
                f"it is not known what the points of {learner} stand for; "
                "predict_points takes points"
            )
        return words

    def check(self, welcome: Welcome) -> None:
        """Take note of a greeting; raise ChangedStoreError when it is another store's."""
        self.frame_bytes_max = welcome.frame_bytes_max
        if self.instance is None:
            self.instance = welcome.instance
        if welcome.instance != self.instance:
            raise ChangedStoreError(
                "the daemon came back with another store; start again with a new client"
            )
