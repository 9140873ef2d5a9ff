"""A small daemon that speaks the protocol over real sockets and keeps everything in memory.

It has no learner of rules: tests publish by hand, and make it drop connections, hold
acknowledgements or refuse. Its learners of predictions say whether the sum of a point's features is
odd. Run as a program (`python -m support.small_daemon PATH`) it serves one stream "flights" of u8
points on a Unix socket until its standard input ends, for measurements from another process.
"""

import asyncio
import contextlib
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgpack

from littled_protocol import limits
from littled_protocol.codec import frame
from littled_protocol.columns import Labels, Points, decode_labels, point_type
from littled_protocol.connection import Connection, Role
from littled_protocol.errors import (
    REFUSAL_SENTENCES,
    ErrorCode,
    ProtocolError,
    RefusalCode,
)
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Moved,
    Open,
    Opened,
    Ping,
    Pong,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
    error_message,
    fields_of,
)
from support.listening import stop_accepting

Result = TypeVar("Result")

_NARROW_SEGMENT_BYTES = 536
_NARROW_BUFFER_BYTES = 4096


@dataclass
class Behaviour:
    """What the daemon does besides its duty; tests change it at any time."""

    token: str | None = None
    instance: str = "store-1"
    credit_bytes: int = limits.credit_bytes
    frame_bytes_max: int = limits.frame_bytes_max
    # Connections fall after so many examples frames each, which are kept but not acknowledged.
    drop_after_frames: int | None = None
    # How many more connections fall in this way.
    drops: int = 10**9
    # Frames that are not even kept before a connection falls.
    forget: bool = False
    hold_acks: bool = False
    mute: bool = False
    refuse_hello: ErrorCode | None = None
    refuse_open: list[ErrorCode] = field(default_factory=list)
    refuse_examples: ErrorCode | None = None
    ask: bool = False
    # Whether it has heard of places of sources.
    knows_places: bool = True
    # How many more connections fall with an answer that is kept, but does not leave.
    drop_answers: int = 0
    # Answers wait until there are so many, and then leave in the opposite order.
    hold_answers: int = 1
    # The map of fields, right or wrong, with which every request is answered instead.
    answer: Callable[[Predict], dict[str, Any]] | None = None
    # The highest version of the protocol that it speaks.
    version: int = 1
    # Where streams are that it does not serve, if it speaks version 2.
    moved: dict[str, list[str]] = field(default_factory=dict)
    after_ms: int = 0
    # Whether a status is answered although the stream has moved.
    tells: bool = False


class SmallDaemon:
    """State and sockets; every method may be called from any thread."""

    def __init__(self, streams: dict[str, str], *, keep: bool = True) -> None:
        """Serve `streams` (name to type of points); keep the examples only if asked to."""
        self.behaviour = Behaviour()
        self.streams = streams
        # Streams that protect users, and the columns of users as they came.
        self.of_users: set[str] = set()
        self.users: list[bytes] = []
        self.keep = keep
        self.next_sequence: dict[tuple[str, str], int] = {}
        # Places of sources, and how many examples stand before each.
        self.places: dict[tuple[str, str], tuple[bytes, int]] = {}
        self.position = dict.fromkeys(streams, 0)
        self.received: dict[str, list[tuple[Points, Labels]]] = {name: [] for name in streams}
        self.releases: dict[str, list[Release]] = {}
        # The words of learners, as a status says them; those of others are plain.
        self.words: dict[str, Any] = {}
        # The schemas of streams, as a status says them, of those that have columns.
        self.schemas: dict[str, dict[str, Any]] = {}
        self.status_requests = 0
        # From a learner of predictions to the answers left in its window, and what it has answered.
        self.answers_left: dict[str, int] = {}
        self.answered: dict[tuple[str, bytes], tuple[bytes, bytes]] = {}
        self.requests: list[Predict] = []
        self.peers: set[_Peer] = set()
        # Those too whose connection is only being made; it is not said to be there yet.
        self.all_peers: set[_Peer] = set()
        self.greetings = 0
        self.agents: list[str] = []
        self.tokens: list[str | None] = []
        # What was asked about streams that are elsewhere.
        self.redirections: list[Message] = []
        self.resent_frames = 0
        self.credit_used_most = 0
        self.pongs: list[int] = []
        self.path: str | None = None
        self.port: int | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None

    def on_loop(self, function: Callable[[], Result]) -> Result:
        """Call a function on the daemon's thread."""

        async def call() -> Result:
            return function()

        return self._await(call())

    def _await(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def listen(self, path: str) -> None:
        """Listen on a Unix socket."""
        self.path = path

        async def start() -> None:
            self._server = await self._loop.create_unix_server(lambda: _Peer(self), path)

        self._await(start())

    def listen_tcp(self) -> int:
        """Listen on a free port of the loopback and return it."""

        async def start() -> int:
            self._server = await self._loop.create_server(lambda: _Peer(self), "127.0.0.1", 0)
            return int(self._server.sockets[0].getsockname()[1])

        return self._await(start())

    def listen_tls(self, context: ssl.SSLContext) -> int:
        """Listen on a free port of the loopback over TLS, like the end of a narrow line.

        Little fits into the sockets of both sides, less than one record of TLS in ours.
        """
        listener = socket.socket()
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _NARROW_SEGMENT_BYTES)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW_BUFFER_BYTES)
        listener.bind(("127.0.0.1", 0))

        async def start() -> None:
            self._server = await self._loop.create_server(
                lambda: _Peer(self), sock=listener, ssl=context
            )

        self._await(start())
        return int(listener.getsockname()[1])

    def stop_listening(self) -> None:
        """Refuse new connections and drop all present ones; wait until they are gone."""

        async def stop() -> None:
            if self._server is not None:
                await stop_accepting(self._server)
                self._server = None
            while self.all_peers:
                for peer in self.peers:
                    peer.transport.abort()
                await asyncio.sleep(0)

        self._await(stop())

    def drop(self) -> None:
        """Drop every connection without a word."""

        def abort() -> None:
            for peer in self.peers:
                peer.transport.abort()

        self.on_loop(abort)

    def tell(self, message: Message) -> None:
        """Send a message to every peer; an Error also ends its connection."""

        def send() -> None:
            for peer in list(self.peers):
                peer.send(message)
                if isinstance(message, Error):
                    peer.transport.close()

        self.on_loop(send)

    def stall(self) -> None:
        """Read nothing more from any peer of now."""

        def stop_reading() -> None:
            for peer in self.peers:
                peer.transport.pause_reading()

        self.on_loop(stop_reading)

    def tell_and_end(self, error: Error) -> None:
        """Send an error and the end of the data to every peer, and leave the connections there."""

        def send() -> None:
            for peer in self.peers:
                peer.send(error)
                peer.transport.write_eof()

        self.on_loop(send)

    def acknowledge(self) -> None:
        """Acknowledge what has come."""

        def send() -> None:
            for peer in self.peers:
                peer.acknowledge()

        self.on_loop(send)

    def release_acks(self) -> None:
        """Acknowledge what was held back, and hold nothing back any more."""
        self.behaviour.hold_acks = False
        self.acknowledge()

    def publish(self, release: Release) -> None:
        """Give a release to every subscriber of its learner, now and later."""

        def send() -> None:
            self.releases.setdefault(release.learner, []).append(release)
            for peer in self.peers:
                if release.learner in peer.learners:
                    peer.send(release)

        self.on_loop(send)

    def answer(self, message: Predict) -> Message:
        """The answer to a request: labels, the same labels once more, or a refusal."""
        self.requests.append(message)
        request, learner, count = message.request, message.learner, message.count
        assert isinstance(message.x, bytes)
        if learner not in self.answers_left:
            return self._refused(message, RefusalCode.UNKNOWN_LEARNER, 0)
        left = self.answers_left[learner]
        x, y = self.answered.get((learner, request), (message.x, b""))
        if x != message.x:
            return self._refused(message, RefusalCode.REQUEST_REUSED, left)
        if y:
            return Prediction(request, learner, y, 0, left, True)
        if count > left:
            return self._refused(message, RefusalCode.WINDOW_SPENT, left)
        points = point_type(self.streams[learner.partition("/")[0]]).decode(x, count)
        y = (points.reshape(count, -1).sum(axis=1) % 2).astype("u1").tobytes()
        self.answers_left[learner] = left = left - count
        self.answered[learner, request] = x, y
        return Prediction(request, learner, y, 0, left, False)

    def _refused(self, message: Predict, code: RefusalCode, left: int) -> Message:
        reason = (code, REFUSAL_SENTENCES[code])
        facts = (message.count, 7, left, 0, 99)
        return PredictionRefused(message.request, message.learner, *reason, *facts)

    def examples(self, stream: str) -> tuple[list[Any], list[int]]:
        """All examples of a stream in the order of their arrival."""
        batches = self.received[stream]
        return [p for x, _ in batches for p in x.tolist()], [v for _, y in batches for v in y]

    def close(self) -> None:
        """Stop everything."""
        self.stop_listening()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


class _Peer(asyncio.Protocol):
    """One connection of the small daemon."""

    transport: asyncio.Transport

    def __init__(self, daemon: SmallDaemon) -> None:
        self._daemon = daemon
        self._connection = Connection(Role.SERVER)
        self._stream = ""
        self._producer = ""
        self._frames = 0
        self._behind = False
        self._answers: list[Message] = []
        self.learners: set[str] = set()
        daemon.all_peers.add(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._daemon.peers.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._daemon.peers.discard(self)
        self._daemon.all_peers.discard(self)

    def send(self, message: Message) -> None:
        if not self.transport.is_closing():
            self.transport.write(self._connection.send(message))

    def data_received(self, data: bytes) -> None:
        self._connection.receive_data(data)
        try:
            while isinstance(message := self._connection.next_event(), Message):
                self._handle(message)
                if self.transport.is_closing():
                    return
        except ProtocolError as error:
            self.refuse(error.code)
        if self._behind and not self._daemon.behaviour.hold_acks:
            self.acknowledge()

    def refuse(self, code: ErrorCode) -> None:
        self.send(error_message(ProtocolError(code)))
        self.transport.close()

    def acknowledge(self) -> None:
        if self._stream:
            self._behind = False
            key = self._stream, self._producer
            position = self._daemon.position[self._stream]
            self.send(Ack(0, self._daemon.next_sequence[key], position))

    def _handle(self, message: Message) -> None:
        behaviour = self._daemon.behaviour
        if isinstance(message, Examples):
            self._examples(message)
        elif behaviour.mute and not isinstance(message, Hello):
            return
        elif (moved := self._moved(message)) is not None:
            self.send(moved)
        elif isinstance(message, Hello):
            self._hello(message)
        elif isinstance(message, Open):
            self._open(message)
        elif isinstance(message, Subscribe):
            self.learners.add(message.learner)
            for release in self._daemon.releases.get(message.learner, []):
                if release.version > message.since:
                    self.send(release)
        elif isinstance(message, StatusRequest):
            self._daemon.status_requests += 1
            self.send(Status(self._status()))
        elif isinstance(message, Predict):
            self._predict(message)
        elif isinstance(message, Ping):
            self.send(Pong(message.nonce))
        elif isinstance(message, Pong):
            self._daemon.pongs.append(message.nonce)

    def _moved(self, message: Message) -> Moved | None:
        """Where the stream is that a message is about, None if it is here."""
        behaviour, of = self._daemon.behaviour, dict[str, Any]()
        if isinstance(message, Open):
            stream, of = message.stream, {"channel": message.channel}
        elif isinstance(message, Subscribe):
            stream, of = message.learner.partition("/")[0], {"learner": message.learner}
        elif isinstance(message, Predict):
            stream, of = message.learner.partition("/")[0], {"request": message.request}
        elif isinstance(message, StatusRequest) and message.stream and not behaviour.tells:
            stream = message.stream
        else:
            return None
        if stream not in behaviour.moved:
            return None
        self._daemon.redirections.append(message)
        return Moved(stream, behaviour.moved[stream], behaviour.after_ms, **of)

    def _status(self) -> dict[str, Any]:
        streams: dict[str, Any] = {
            name: {"x_type": x_type, "learners": {}}
            for name, x_type in self._daemon.streams.items()
        }
        for name, schema in self._daemon.schemas.items():
            streams[name]["schema"] = schema
        for learner in (*self._daemon.releases, *self._daemon.answers_left):
            stream, _, name = learner.partition("/")
            facts = {"words": self._daemon.words.get(learner, {})}
            if learner in self._daemon.releases:
                releases = self._daemon.releases[learner]
                facts["version"] = releases[-1].version if releases else 0
            streams[stream]["learners"][name] = facts
        return {"streams": streams}

    def _predict(self, message: Predict) -> None:
        behaviour = self._daemon.behaviour
        if behaviour.answer is not None:
            self.transport.write(frame(msgpack.packb(behaviour.answer(message))))
            return
        self._answers.append(self._daemon.answer(message))
        if behaviour.drop_answers:
            behaviour.drop_answers -= 1
            self.transport.abort()
        elif len(self._answers) >= behaviour.hold_answers:
            while self._answers:
                self.send(self._answers.pop())

    def _hello(self, message: Hello) -> None:
        behaviour = self._daemon.behaviour
        self._daemon.greetings += 1
        self._daemon.agents.append(message.agent)
        self._daemon.tokens.append(message.token)
        if behaviour.refuse_hello is not None:
            return self.refuse(behaviour.refuse_hello)
        if behaviour.token is not None and message.token != behaviour.token:
            return self.refuse(ErrorCode.UNAUTHORIZED)
        credit, frame = behaviour.credit_bytes, behaviour.frame_bytes_max
        version = min(message.version, behaviour.version)
        self.send(Welcome(version, "small", behaviour.instance, credit, frame))
        if behaviour.ask:
            self.send(Ping(7))
        return None

    def _open(self, message: Open) -> None:
        behaviour = self._daemon.behaviour
        if message.stream not in self._daemon.streams:
            return self.refuse(ErrorCode.UNKNOWN_STREAM)
        if behaviour.refuse_open:
            return self.refuse(behaviour.refuse_open.pop(0))
        self._stream, self._producer = message.stream, message.producer
        sequence = self._daemon.next_sequence.setdefault((self._stream, self._producer), 0)
        position = self._daemon.position[self._stream]
        x_type = self._daemon.streams[self._stream]
        users = True if self._stream in self._daemon.of_users else None
        place: tuple[bytes, int] | tuple[None, None] = (None, None)
        if message.resumes and behaviour.knows_places:
            place = self._daemon.places.get((self._stream, self._producer), (b"", 0))
        opened = (message.channel, self._stream, x_type, sequence, position, users)
        self.send(Opened(*opened, *place))
        return None

    def _examples(self, message: Examples) -> None:
        daemon, behaviour = self._daemon, self._daemon.behaviour
        if behaviour.refuse_examples is not None:
            return self.refuse(behaviour.refuse_examples)
        self._frames += 1
        used = behaviour.credit_bytes - self._connection.credit_left_bytes
        daemon.credit_used_most = max(daemon.credit_used_most, used)
        fall = behaviour.drop_after_frames == self._frames and behaviour.drops > 0
        if not (fall and behaviour.forget):
            self._keep(message)
        if fall:
            behaviour.drops -= 1
            self.transport.abort()
        return None

    def _keep(self, message: Examples) -> None:
        daemon, key = self._daemon, (self._stream, self._producer)
        behaviour = daemon.behaviour
        known = daemon.next_sequence[key] - message.sequence
        if known < 0:
            return self.refuse(ErrorCode.SEQUENCE_GAP)
        if known:
            daemon.resent_frames += 1
        if known < message.count:
            if daemon.keep:
                x = point_type(daemon.streams[self._stream]).decode(message.x, message.count)
                y = decode_labels(message.y, message.count)
                daemon.received[self._stream].append((x[known:], y[known:]))
                if message.users is not None:
                    daemon.users.append(message.users[known * limits.user_bytes :])
            daemon.next_sequence[key] += message.count - known
            if message.resume is not None and behaviour.knows_places:
                daemon.places[key] = message.resume, daemon.next_sequence[key]
            daemon.position[self._stream] += message.count - known
        self._behind = True
        return None


def small_release(learner: str, version: int, threshold: int = 0) -> Release:
    """A release of a threshold rule over 256 points."""
    rule = {"kind": "threshold", "size": 256, "threshold": threshold}
    return Release(learner, version, "rule", 0, version, 10 * version, rule)


def right_answer(message: Predict) -> dict[str, Any]:
    """The fields of an answer of zeros."""
    labels = bytes(message.count)
    return fields_of(Prediction(message.request, message.learner, labels, 0, 5, False))


def _but(**wrong: Any) -> Callable[[Predict], dict[str, Any]]:
    return lambda message: right_answer(message) | wrong


# Answers to a request for two points that no client may take, with the code of what is wrong.
WRONG_ANSWERS: dict[str, tuple[Callable[[Predict], dict[str, Any]], ErrorCode]] = {
    "a label 2": (_but(y=b"\x00\x02"), ErrorCode.MALFORMED_FRAME),
    "labels in a list": (_but(y=[0, 1]), ErrorCode.MALFORMED_FRAME),
    "no labels": (_but(y=b""), ErrorCode.MALFORMED_FRAME),
    "a label too few": (_but(y=bytes(1)), ErrorCode.MALFORMED_FRAME),
    "a label too many": (_but(y=bytes(3)), ErrorCode.MALFORMED_FRAME),
    "another request": (_but(request=bytes(16)), ErrorCode.UNEXPECTED_MESSAGE),
    "another learner": (_but(learner="flights/early"), ErrorCode.UNEXPECTED_MESSAGE),
    "what a daemon without predictions says": (
        lambda _: fields_of(error_message(ProtocolError(ErrorCode.UNEXPECTED_MESSAGE))),
        ErrorCode.UNEXPECTED_MESSAGE,
    ),
}


@contextlib.contextmanager
def running(path: str, streams: dict[str, str], *, keep: bool = True) -> Iterator[SmallDaemon]:
    """A small daemon on a Unix socket."""
    daemon = SmallDaemon(streams, keep=keep)
    daemon.listen(path)
    try:
        yield daemon
    finally:
        daemon.close()


def changed(daemon: SmallDaemon, **what: Any) -> None:
    """Replace parts of the daemon's behaviour."""
    daemon.behaviour = replace(daemon.behaviour, **what)


if __name__ == "__main__":
    with running(sys.argv[1], {"flights": "u8"}, keep=False):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()
