"""What both clients say and understand in the same way; no I/O."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from littled_client.addresses import Address, TcpAddress
from littled_client.errors import (
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    StreamElsewhereError,
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
    Release,
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
    return isinstance(error, ConnectionLostError | StreamElsewhereError)


def given_up(addresses: Sequence[Address], error: Exception) -> Exception:
    """Return what to raise when the time for trying is over: the refusal, or UnreachableError."""
    if isinstance(error, ProtocolError | StreamElsewhereError):
        return error
    hint = "is littled running?"
    over_tcp = [address for address in addresses if isinstance(address, TcpAddress)]
    if any(address.tls for address in over_tcp):
        hint = "is littled running, and does it take this program's certificate?"
    elif over_tcp and "closed" in str(error):
        hint = "is littled running, and is TLS spoken there (tls://HOST:PORT)?"
    where = " or ".join(map(str, addresses))
    return UnreachableError(f"no daemon can be reached at {where} ({error}); {hint}")


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


class Witness:
    """What a subscriber has seen of a learner: a release that contradicts it is refused.

    version: of the last release, or what the subscriber began with.
    """

    def __init__(self, since: int) -> None:
        """Begin behind a version."""
        self.version = since
        self._last: Release | None = None
        self._comparing = False

    def since(self) -> int:
        """Return behind which version to subscribe, the first time or again.

        Again the last release that was seen is asked for as well, to compare it.
        """
        self._comparing = self._last is not None
        return self.version - self._comparing

    def is_new(self, release: Release) -> bool:
        """Take note of a release; return whether it was not seen before.

        Raises ChangedStoreError when it has the version of another one that was.
        """
        known, self._comparing = self._comparing and release.version <= self.version, False
        if known and release != self._last:
            raise ChangedStoreError(
                f"version {release.version} of {release.learner} is another one than was seen "
                "before: this is another history; start again with a new client"
            )
        if not known:
            self.version, self._last = release.version, release
        return not known


def changed_store() -> ChangedStoreError:
    """Return what to raise where a daemon serves another store than before."""
    return ChangedStoreError(
        "the daemon came back with another store; start again with a new client"
    )


class Identity:
    """Which store serves a stream; a client must not mix two.

    instance: of the store that was met first. x_types: the types of points of streams, once they
    were asked for. words: what points and labels of learners stand for, likewise; None where it is
    not understood. Neither ever changes for a store. frame_bytes_max: the longest frame that the
    daemon which was met last accepts.
    """

    def __init__(self) -> None:
        """Begin without having met a daemon."""
        self.instance: str | None = None
        self._serving: dict[str, str] = {}
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

    def met(self, welcome: Welcome) -> None:
        """Take note of a greeting, before it is known whether the stream is there."""
        self.frame_bytes_max = welcome.frame_bytes_max
        if self.instance is None:
            self.instance = welcome.instance

    def is_other(self, stream: str | None, welcome: Welcome) -> bool:
        """Whether a stream was in another store before; of any stream, whether it is the first."""
        known = self.instance if stream is None else self._serving.get(stream)
        return known is not None and known != welcome.instance

    def instance_of(self, stream: str) -> str | None:
        """Return the name of the store that a stream is in, None before that is known."""
        return self._serving.get(stream)

    def serves(self, stream: str, welcome: Welcome) -> None:
        """Take note that a stream is there; ChangedStoreError when it was in another store."""
        if self.is_other(stream, welcome):
            raise changed_store()
        self._serving[stream] = welcome.instance
