"""Both clients under one set of coroutines, so that one test holds for either.

What the blocking client does blocks the event loop of the test, which nothing else needs: daemons
run on threads or as processes of their own. `beside` runs a coroutine while the test goes on.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import closing
from types import TracebackType
from typing import Any, Self, TypeVar

from littled_client.asynchronous import AsyncClient
from littled_client.blocking import Client, Feeder
from littled_client.places import Addresses
from littled_client.predictions import Predictions
from littled_client.published import Published

Result = TypeVar("Result")

KINDS = ("blocking", "asyncio")


class AwaitedFeeder:
    """A blocking feeder with the asyncio feeder's methods."""

    def __init__(self, feeder: Feeder) -> None:
        self.feeder = feeder

    def __getattr__(self, name: str) -> Any:
        """Its facts, such as `next_sequence`."""
        return getattr(self.feeder, name)

    async def send(self, x: Any, y: Any, users: Any = None, *, resume: bytes | None = None) -> None:
        self.feeder.send(x, y, users, resume=resume)

    async def send_one(self, x: Any, y: Any, user: Any = None) -> None:
        self.feeder.send_one(x, y, user)

    async def send_rest(self, batches: Any) -> int:
        return self.feeder.send_rest(batches)

    async def flush(self) -> None:
        self.feeder.flush()

    async def __aenter__(self) -> Self:
        self.feeder.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.feeder.__exit__(kind, error, trace)


class AwaitedClient:
    """A blocking client with the asyncio client's methods."""

    def __init__(self, address: Addresses, **options: Any) -> None:
        self.client = Client(address, **options)

    def feed(self, stream: str, **options: Any) -> AwaitedFeeder:
        return AwaitedFeeder(self.client.feed(stream, **options))

    @property
    def instance(self) -> str | None:
        return self.client.instance

    async def subscribe(self, learner: str, since: int = 0) -> AsyncGenerator[Published, None]:
        with closing(self.client.subscribe(learner, since)) as releases:
            for published in releases:
                yield published

    async def latest(self, learner: str) -> Published | None:
        return self.client.latest(learner)

    async def predict(
        self, learner: str, values: Any, *, request: bytes | None = None
    ) -> Predictions:
        return self.client.predict(learner, values, request=request)

    async def predict_points(
        self, learner: str, points: Any, *, request: bytes | None = None
    ) -> Predictions:
        return self.client.predict_points(learner, points, request=request)

    async def status(self, stream: str | None = None) -> dict[str, Any]:
        return self.client.status(stream)

    async def instance_of(self, stream: str) -> str:
        return self.client.instance_of(stream)

    async def __aenter__(self) -> Self:
        self.client.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.__exit__(kind, error, trace)


def client_of(kind: str, address: Addresses, **options: Any) -> Any:
    """A client of this kind: one of `KINDS`."""
    return (AwaitedClient if kind == "blocking" else AsyncClient)(address, **options)


def beside(kind: str, work: Coroutine[Any, Any, Result]) -> asyncio.Future[Result]:
    """Run what a client of this kind does while the test goes on."""
    if kind == "asyncio":
        return asyncio.create_task(work)
    return asyncio.ensure_future(asyncio.to_thread(_run_through, work))


def _run_through(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that blocks and so never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        found: Result = end.value
        return found
    raise AssertionError("a blocking client's coroutine waited")


async def until(ready: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until something is true of a daemon elsewhere."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.002)


async def until_it_fails(step: Callable[[], Awaitable[None]]) -> None:
    """Do something again and again; an exception ends it."""
    while True:
        await step()
