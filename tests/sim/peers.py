"""Clients of the simulated service: producers, subscribers and people who ask, on a bad network.

They know nothing but the protocol, and write down in `Seen` what they were told: what was
acknowledged, released and answered. What a producer sends follows from its name and the numbers of
its examples, so that it can be sent again, and looked for.
"""

import asyncio
import hashlib
import random
import socket
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from littled_protocol.codec import encode, encode_frame
from littled_protocol.connection import CLOSED, NEED_DATA, Connection, Role
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Open,
    Opened,
    Ping,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Subscribe,
    Welcome,
)
from support.predictions import STREAM

LEARNER, ANSWERER = f"{STREAM}/late", f"{STREAM}/near"
POINTS = 64
# The rule that labels follow; it turns once in so many examples, so that rules are learned anew.
TURNS = 150


class Gone(Exception):
    """The connection has ended."""


class Wrong(AssertionError):
    """The service broke a promise."""


def examples(producer: str, sequence: int, count: int) -> tuple[bytes, bytes]:
    """Points and labels of a producer's examples."""
    numbers = range(sequence, sequence + count)
    x = bytes(hashlib.blake2b(f"{producer} {n}".encode()).digest()[0] % POINTS for n in numbers)
    y = bytes(int(point >= (20, 45)[n // TURNS % 2]) for n, point in zip(numbers, x, strict=True))
    return x, y


@dataclass
class Seen:
    """What peers were told, over all lives of the daemon."""

    sent: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    releases: dict[int, bytes] = field(default_factory=dict)
    # By request: the points, the labels, and the window that they are from.
    answers: dict[bytes, tuple[bytes, bytes, int]] = field(default_factory=dict)
    # The requests that were answered, in order, to ask some of them again.
    requests: list[bytes] = field(default_factory=list)

    def released(self, message: Release) -> None:
        """A version is one rule, whoever hears of it and when."""
        body = encode(message)
        if self.releases.setdefault(message.version, body) != body:
            raise Wrong(f"version {message.version} was released with two rules")

    def answered(self, asked: bytes, message: Prediction) -> None:
        """A request has one answer."""
        answer = asked, message.y, message.window
        if message.repeated and message.request not in self.answers:
            raise Wrong("a request is called a repeated one that never was answered")
        if message.request not in self.answers:
            insort(self.requests, message.request)
        if self.answers.setdefault(message.request, answer) != answer:
            raise Wrong("a request was answered in two ways")


@dataclass
class Network:
    """How bytes travel: late, in pieces, or not at all."""

    chance: random.Random
    latency_seconds: float
    piece_bytes: int
    cut_chance: float

    async def delay(self) -> None:
        """Wait as long as a message takes."""
        await asyncio.sleep(self.chance.expovariate(1 / self.latency_seconds))


class Peer:
    """One connection of a client."""

    def __init__(self, path: str, network: Network) -> None:
        self.path = path
        self.network = network
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.setblocking(False)
        self.connection = Connection(Role.CLIENT)

    async def connect(self) -> None:
        """Connect and greet."""
        try:
            self.socket.connect(self.path)
        except OSError:
            raise Gone from None
        await self.send(Hello(1, "peer/1", None))
        await self.expect(Welcome)

    async def send(self, message: Message) -> None:
        """Send a message."""
        await self.write(self.connection.send(message))

    async def write(self, data: bytes) -> None:
        """Send bytes as the network lets them through."""
        network = self.network
        cut = network.chance.random() < network.cut_chance
        cut_left_bytes = network.chance.randrange(len(data)) if cut else -1
        while data:
            await network.delay()
            if len(data) <= cut_left_bytes + 1:
                self.close()
                raise Gone
            size = network.chance.randint(1, network.piece_bytes)
            try:
                sent = self.socket.send(data[:size])
            except BlockingIOError:
                continue
            except OSError:
                raise Gone from None
            data = data[sent:]

    async def receive(self) -> Message:
        """Return the next message."""
        loop = asyncio.get_running_loop()
        while (event := self.connection.next_event()) is NEED_DATA:
            try:
                data = await loop.sock_recv(self.socket, self.network.piece_bytes * 4)
            except OSError:
                raise Gone from None
            await self.network.delay()
            self.connection.receive_data(data)
        if event is CLOSED or isinstance(event, Error):
            raise Gone
        assert not isinstance(event, type(NEED_DATA))
        return event

    async def expect(self, kind: type[Message]) -> Any:
        """Return the next message of a kind, releases and pings left out."""
        while not isinstance(message := await self.receive(), kind):
            pass
        return message

    def close(self) -> None:
        """Leave without a word."""
        self.socket.close()


async def again_and_again(visit: Callable[[], Any], network: Network) -> None:
    """Visit the daemon until it is done, however often the connection ends."""
    while True:
        try:
            if await visit():
                return
        except (Gone, ProtocolError):
            pass
        await asyncio.sleep(network.chance.uniform(0.01, 2))


async def produce(
    path: str, name: str, count: int, seen: Seen, network: Network, rest_seconds: float = 0.0
) -> bool:
    """Send a producer's examples, from where the daemon is; some frames twice."""
    chance, peer = network.chance, Peer(path, network)
    try:
        await peer.connect()
        await peer.send(Open(0, STREAM, name))
        opened: Opened = await peer.expect(Opened)
        following = opened.next_sequence
        least, most = seen.acknowledged.get(name, 0), seen.sent.get(name, 0)
        if not least <= following <= most:
            raise Wrong(f"{name} is at {following}, acknowledged {least}, sent {most}")
        # what it has is acknowledged by this, though the acknowledgement may have been lost
        seen.acknowledged[name] = following
        while following < count:
            under_way = chance.randint(1, 4)
            for _ in range(under_way):
                size = min(chance.choice((1, 1, 3, 20, 60)), count - following)
                if size:
                    x, y = examples(name, following, size)
                    message = Examples(0, following, size, x, y)
                    seen.sent[name] = max(seen.sent.get(name, 0), following + size)
                    await peer.send(message)
                    if chance.random() < 0.1:
                        await peer.write(encode_frame(message))  # a repeat changes nothing
                    following += size
            while seen.acknowledged.get(name, 0) < following:
                ack: Ack = await peer.expect(Ack)
                if ack.next_sequence > following:
                    raise Wrong(f"{name} has {ack.next_sequence} acknowledged of {following}")
                seen.acknowledged[name] = max(seen.acknowledged.get(name, 0), ack.next_sequence)
            await asyncio.sleep(rest_seconds)
            if chance.random() < 0.1:
                await peer.send(Ping(chance.getrandbits(30)))
        return seen.acknowledged.get(name, 0) >= count
    finally:
        peer.close()


async def subscribe(path: str, seen: Seen, network: Network, slow_seconds: float) -> bool:
    """Hear of every release, slowly."""
    peer = Peer(path, network)
    version = max(seen.releases, default=0)
    try:
        await peer.connect()
        await peer.send(Subscribe(LEARNER, version))
        while True:
            release: Release = await peer.expect(Release)
            if release.version != version + 1:
                raise Wrong(f"version {release.version} was released after {version}")
            version = release.version
            seen.released(release)
            await asyncio.sleep(slow_seconds)
    finally:
        peer.close()


async def ask(path: str, seen: Seen, network: Network) -> bool:
    """Ask questions, old ones among them."""
    chance, peer = network.chance, Peer(path, network)
    try:
        await peer.connect()
        while True:
            request, x = chance.randbytes(16), bytes([chance.randrange(POINTS)])
            if seen.answers and chance.random() < 0.5:
                request = chance.choice(seen.requests)
                x = seen.answers[request][0]
            await peer.send(Predict(request, ANSWERER, len(x), x))
            while not isinstance(answer := await peer.receive(), Prediction | PredictionRefused):
                pass
            if isinstance(answer, Prediction):
                seen.answered(x, answer)
            elif request in seen.answers:
                raise Wrong("a request that was answered is refused")
            await asyncio.sleep(chance.uniform(0.01, 3))
    finally:
        peer.close()
