"""A webhook: a real HTTP server on a thread of its own, which keeps what it is sent."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

WAIT_SECONDS = 30.0
Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """What is answered, after so many seconds."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Sent:
    """One request: when it came, its headers and its body."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: bytes


class Webhook:
    """Answers the n-th request, from 0 on, as `answer(n)` says."""

    def __init__(self, answer: Callable[[int], Answer], tls: ssl.SSLContext | None) -> None:
        self.sent: list[Sent] = []
        self._answer, self._tls = answer, tls
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._runner, self.port = self._do(self._start())

    @property
    def url(self) -> str:
        """Where it is."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}/hook"

    def wait_for(self, count: int) -> list[Sent]:
        """Wait for so many requests; return all so far."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.sent) >= count, WAIT_SECONDS), self.sent
            return list(self.sent)

    def close(self) -> None:
        """End it."""
        self._do(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_SECONDS)

    async def _start(self) -> tuple[web.AppRunner, int]:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._taken)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        return runner, runner.addresses[0][1]

    async def _taken(self, request: web.Request) -> web.Response:
        body = await request.read()
        sent = Sent(time.monotonic(), request.path_qs, dict(request.headers), body)
        with self._news:
            number = len(self.sent)
            self.sent.append(sent)
            self._news.notify_all()
        answer = self._answer(number)
        await asyncio.sleep(answer.seconds)
        return web.Response(status=answer.status, headers=answer.headers)


@contextmanager
def webhook(
    answer: Callable[[int], Answer] = lambda _: Answer(), tls: ssl.SSLContext | None = None
) -> Iterator[Webhook]:
    """A webhook while it is needed."""
    hook = Webhook(answer, tls)
    try:
        yield hook
    finally:
        hook.close()
