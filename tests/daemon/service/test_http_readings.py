"""Long bodies are read one at a time, whoever leaves meanwhile."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from littled.limits import HTTP_QUESTION_DIRECT_BYTES
from littled.service import http_asking
from littled.service.access import Access, Gate
from littled.service.feeding import Feed, Feeding
from littled.service.http_readings import Readings
from littled.service.intake import Intake
from littled.service.questions import asked_in
from littled.service.rows import RowsRefused, StreamRows
from support.sites import FakeDaemon, Site, run

QUESTION = {"learner": "flights/late", "request": "0f" * 16, "x": [1]}


class Slow:
    """Reads on a thread, until it may end."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.count = 0

    def read(self, body: bytes = b"", *, lines: bool = False) -> Any:
        self.count += 1
        assert self.go_on.wait(10), "nobody was served while a body was read"
        raise RowsRefused(f"no rows: {body!r} {lines}")

    def asked(self, body: bytes) -> Any:
        self.count += 1
        assert self.go_on.wait(10), "nobody was served while a question was read"
        return asked_in(body)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


async def leaves(slow: Slow, begin: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Task[Any]:
    """Somebody leaves while its body is read; the next one, who waits until that has ended."""
    first = asyncio.ensure_future(begin())
    async with asyncio.timeout(10):
        while not slow.count:  # noqa: ASYNC110 - it is counted on another thread
            await asyncio.sleep(0.01)
    first.cancel()
    left, second = (asyncio.ensure_future(begin()) for _ in range(2))
    await asyncio.sleep(0.3)
    assert slow.count == 1
    left.cancel()  # while it waits, and so it is never read
    await asyncio.sleep(0.1)
    slow.go_on.set()
    await asyncio.wait([second], timeout=10)
    assert slow.count == 2
    return second


async def test_the_turn_of_who_leaves_lasts_as_long_as_its_thread() -> None:
    slow, readings = Slow(), Readings()
    second = await leaves(slow, lambda: readings.read(lambda: asyncio.to_thread(slow.read)))
    with pytest.raises(RowsRefused):
        second.result()


async def test_rows_are_read_one_body_at_a_time_whoever_leaves() -> None:
    class Open:
        def is_closed(self, _: str) -> bool:
            return False

    slow = Slow()
    rows = cast("StreamRows", SimpleNamespace(columns=slow.read))
    feeding = Feeding(cast("Intake", Open()), {"flights": rows})
    feed = Feed("flights", "p", 0)
    second = await leaves(slow, lambda: feeding.feed(feed, b"[[1,0]]", lines=False))
    assert "no rows" in str(second.exception())


async def test_long_questions_are_read_one_at_a_time_whoever_leaves(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(http_asking, "asked_in", slow.asked)
    data = json.dumps(QUESTION).encode().ljust(HTTP_QUESTION_DIRECT_BYTES + 1)
    second = await leaves(slow, lambda: site.ask(data))
    assert second.result()[0] == 200
