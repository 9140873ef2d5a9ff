"""The HTTP side of a daemon whose public facts a test sets, on a real socket, and a client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import aiohttp

from littled.learners.measured import QualitySettings
from littled.service.access import Gate
from littled.service.elsewhere import Elsewhere, Nowhere
from littled.service.feeding import Feed, FeedError
from littled.service.figures import Figures
from littled.service.http import HttpServer
from littled.service.subscribers import Releases
from littled.service.turns import Making
from littled.service.writer import WriterStopped
from littled.store.records import StoredRelease
from littled_protocol.codec import encode
from littled_protocol.errors import RefusalCode
from littled_protocol.figures import Figure, figures_of
from littled_protocol.messages import Predict, Prediction, PredictionRefused, Release
from littled_protocol.rules import ThresholdRule, Words

LEARNER = "flights/late"
QUALITY = QualitySettings(Fraction(1, 10), 1000, 24)
TOKEN = "0123456789abcdef" * 2


def stored(version: int, threshold: int | None, kind: str = "rule") -> StoredRelease:
    """A release of the rule x >= threshold."""
    rule = None if threshold is None else ThresholdRule(256, threshold).to_dict()
    message = Release(LEARNER, version, kind, 0, version, 10 * version, rule)
    return StoredRelease(LEARNER, version, encode(message), None)


def figure(number: int, wrong: int = 100) -> StoredRelease:
    """A figure of 1,000 examples."""
    value = Figure(number, 0, 1000 * number, 1000 * number + 1000, number, number + 1, wrong)
    return StoredRelease(figures_of(LEARNER), number, value.to_bytes(), None)


def large(version: int) -> StoredRelease:
    """A release of 38 kB."""
    members = [f"{version * 2048 + index:016x}" for index in range(2048)]
    rule = {"kind": "points", "bits": 64, "members": members}
    message = Release(LEARNER, version, "rule", 0, version, 10 * version, rule)
    return StoredRelease(LEARNER, version, encode(message), None)


class FakeDaemon:
    """Public facts that tests set."""

    def __init__(self) -> None:
        self.stored: list[StoredRelease] = []
        self.releases = Releases([LEARNER, "flights/none"], lambda _, since: self.stored[since:])
        self.figures = Figures({LEARNER: QUALITY})
        self.words: Mapping[str, Words] = {
            LEARNER: Words("departure delay", "min", -30, "late", "not late"),
            "flights/none": Words(),
        }
        self.well = True
        self.position = 3
        self.asked: list[Predict] = []
        self.origins: list[str] = []
        self.seen: list[Callable[[str], bool]] = []
        self.begun, self.answering = asyncio.Event(), asyncio.Event()
        self.answering.set()
        self.stopping = False
        self.elsewhere: Elsewhere = Nowhere()

    def healthy(self) -> bool:
        return self.well

    x_types: Mapping[str, str] = {"flights": "u8"}

    def status(self, streams: Sequence[str]) -> dict[str, Any]:
        known = {"flights": {"position": 3, "x_type": "u8"}}
        return {"streams": {name: known[name] for name in streams}}

    instance = "5" * 32

    def positions(self) -> dict[str, int]:
        return {"flights": self.position}

    def metrics(self, accepted: str, sees: Callable[[str], bool]) -> Making[tuple[bytes, str]]:
        self.seen.append(sees)
        yield 1.0
        return b"littled_connections 0.0\n", "text/plain; version=0.0.4; charset=utf-8"

    @property
    def feeding(self) -> FakeDaemon:
        return self

    async def next_sequence(self, feed: Feed) -> dict[str, Any]:
        return {"producer": feed.producer, "next_sequence": 7}

    async def feed(self, feed: Feed, body: bytes, *, lines: bool, origin: str) -> dict[str, Any]:
        """Answers, once it may, what it was given."""
        self.origins.append(origin)
        self.begun.set()
        await self.answering.wait()
        if self.stopping:
            raise WriterStopped("the daemon takes no more rows")
        if feed.sequence == 99:
            raise FeedError(409, "rows are missing", {"next_sequence": 7})
        return {"producer": feed.producer, "bytes": len(body), "lines": lines}

    async def predict(self, asked: Predict) -> Prediction | PredictionRefused:
        """Even points are labeled 0; a question about point 99 is refused."""
        self.asked.append(asked)
        self.begun.set()
        await self.answering.wait()
        if self.stopping:
            raise WriterStopped("the daemon answers no more requests")
        assert isinstance(asked.x, bytes)
        if 99 in asked.x:
            reason = RefusalCode.WINDOW_SPENT, "The window has fewer answers left."
            return PredictionRefused(asked.request, asked.learner, *reason, asked.count, 7, 0, 1, 9)
        y = bytes(point % 2 for point in asked.x)
        return Prediction(asked.request, asked.learner, y, 1, 5, False)


class Site:
    """A running server and a client."""

    def __init__(self, daemon: FakeDaemon, client: aiohttp.ClientSession, port: int) -> None:
        self.daemon, self.client, self.port = daemon, client, port

    rules: Any = None
    """What answers about rules."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def get(self, path: str, **options: Any) -> tuple[int, str, Mapping[str, str]]:
        async with self.client.get(self.url(path), **options) as response:
            return response.status, await response.text(), response.headers

    async def ask(self, data: Any, **headers: str) -> tuple[int, Any]:
        """Ask a question; `data` is a JSON value, or the bytes to send."""
        sent = data if isinstance(data, bytes) else json.dumps(data).encode()
        shown = {"Content-Type": "application/json"} | headers
        async with self.client.post(self.url("/predict"), data=sent, headers=shown) as response:
            assert response.content_type == "application/json", await response.text()
            return response.status, await response.json()

    async def raw(self, request: bytes) -> bytes:
        """Send bytes and return everything that comes until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()
            await writer.wait_closed()


async def run(
    gate: Gate, daemon: FakeDaemon, hosts: Collection[str] | None = None
) -> AsyncIterator[Site]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = HttpServer(daemon, gate, "littled/test", hosts)
    await server.start(listener)
    async with aiohttp.ClientSession() as client:
        site = Site(daemon, client, listener.getsockname()[1])
        site.rules = server._rules
        yield site
    await server.stop()
    listener.close()
