"""The ways on which a rule leaves the daemon, for tests that compare what it means on each."""

import asyncio
import contextlib
import io
import itertools
import json
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from littled.cli.entry import run
from littled.service.access import Access, Gate
from littled.service.elsewhere import Nowhere
from littled.service.figures import Figures
from littled.service.http import HttpServer
from littled.service.subscribers import Releases
from littled.store.records import StoredRelease
from littled_client import AsyncClient, Client
from littled_client.published import Published
from littled_protocol.codec import encode
from littled_protocol.encodings import TableSchema
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, Words
from support.small_daemon import SmallDaemon, running

LEARNER = "stream/learner"


class Site:
    """The daemon's HTTP side, on a thread, with one learner whose release is set by tests."""

    def __init__(self) -> None:
        self.words: dict[str, Words] = {}
        self.x_types = {LEARNER.partition("/")[0]: "u8"}
        self.elsewhere = Nowhere()
        self.releases = Releases([LEARNER], lambda *_: [])
        self.versions = itertools.count(1)
        self.figures = Figures({})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = HttpServer(self, Gate(Access()), "littled/test")  # type: ignore[arg-type]
        self.port = self._on_loop(self._start)

    async def _start(self) -> int:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        await self._server.start(listener)
        port: int = listener.getsockname()[1]
        return port

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(10)

    def publish(self, release: Release, words: Words) -> None:
        """Put a release into the place of all before it."""

        async def announce() -> None:
            self.words = {LEARNER: words}
            stored = [StoredRelease(LEARNER, release.version, encode(release), None)]
            self.releases = Releases([LEARNER], lambda *_: stored)
            self.releases.announce(stored)

        self._on_loop(announce)

    def close(self) -> None:
        """Stop answering."""
        self._on_loop(self._server.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def got(url: str) -> str:
    """What a page says."""
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
        text: str = answer.read().decode()
        return text


def event(url: str) -> Any:
    """The first event of a stream of them."""
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
        for line in answer:
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))
    raise AssertionError("there was no event")


def littled(*arguments: str | Path) -> str:
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = run([str(argument) for argument in arguments])
    assert status == 0, arguments
    return out.getvalue()


def latest(address: str, learner: str) -> list[Published]:
    """The last release by either client."""

    async def ask() -> Published | None:
        async with AsyncClient(address) as client:
            return await client.latest(learner)

    with Client(address) as client:
        found = [client.latest(learner), asyncio.run(ask())]
    return [published for published in found if published is not None]


@dataclass(frozen=True)
class Ways:
    """A daemon of clients and the daemon's HTTP side, with the same learner."""

    small: SmallDaemon
    site: Site
    folder: Path

    @property
    def address(self) -> str:
        return f"unix:{self.small.path}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.site.port}/rules/{LEARNER}"

    def publish(self, rule: Rule, words: Words) -> None:
        """Have everybody show this rule in these words."""
        release = Release(LEARNER, next(self.site.versions), "rule", 0, 0, 0, rule.to_dict())
        self.small.words[LEARNER] = words.to_status()
        self.small.schemas = {}
        if words.reading is not None:
            schema = TableSchema(words.reading.columns, "label", words.positive, words.negative)
            self.small.schemas = {LEARNER.partition("/")[0]: {**schema.to_dict()}}
        self.small.releases[LEARNER] = [release]
        self.site.publish(release, words)


@contextlib.contextmanager
def open_ways(folder: Path) -> Iterator[Ways]:
    """A daemon of clients and a side of HTTP, with sockets and files in this folder."""
    site = Site()
    try:
        with running(str(folder / "d.sock"), {"stream": "u8"}) as small:
            yield Ways(small, site, folder)
    finally:
        site.close()
