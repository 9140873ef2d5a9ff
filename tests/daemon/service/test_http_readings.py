"""Long bodies are read one at a time, whoever leaves meanwhile, and of each origin in turn."""

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


class Order:
    """Reads on a thread, and says in which order."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.read: list[bytes] = []

    def columns(self, body: bytes, *, lines: bool = False) -> Any:
        self.read.append(body)
        assert self.go_on.wait(10), "nobody was served while a body was read"
        raise RowsRefused(f"no rows: {lines}")

    def asked(self, body: bytes) -> Any:
        self.read.append(body.strip())
        assert self.go_on.wait(10), "nobody was served while a question was read"
        return asked_in(body)


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
    second = await leaves(slow, lambda: readings.read("a", lambda: asyncio.to_thread(slow.read)))
    with pytest.raises(RowsRefused):
        second.result()


def feeding_by(columns: Callable[..., object]) -> Feeding:
    """Feeding of an open stream whose bodies are read by a test."""
    intake = SimpleNamespace(is_closed=lambda _: False)
    rows = SimpleNamespace(columns=columns)
    return Feeding(cast("Intake", intake), {"flights": cast("StreamRows", rows)})


async def test_rows_are_read_one_body_at_a_time_whoever_leaves() -> None:
    slow = Slow()
    feeding = feeding_by(slow.read)
    feed = Feed("flights", "p", 0)
    second = await leaves(slow, lambda: feeding.feed(feed, b"[[1,0]]", lines=False, origin="a"))
    assert "no rows" in str(second.exception())


async def test_long_questions_are_read_one_at_a_time_whoever_leaves(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(http_asking, "asked_in", slow.asked)
    data = json.dumps(QUESTION).encode().ljust(HTTP_QUESTION_DIRECT_BYTES + 1)
    second = await leaves(slow, lambda: site.ask(data))
    assert second.result()[0] == 200


async def test_rows_of_one_origin_are_read_behind_one_body_of_another() -> None:
    order = Order()
    feeding = feeding_by(order.columns)
    feed = Feed("flights", "p", 0)
    crowd = [f"crowd {number}".encode() for number in range(8)]
    asking = [
        asyncio.ensure_future(feeding.feed(feed, body, lines=False, origin=body.decode()[:5]))
        for body in (*crowd, b"alone")
    ]
    await asyncio.sleep(0)
    order.go_on.set()
    await asyncio.wait(asking, timeout=10)
    assert order.read == [crowd[0], crowd[1], b"alone", *crowd[2:]]


async def test_long_questions_of_one_origin_are_read_behind_one_of_another(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And rows come with their origin."""
    order = Order()
    monkeypatch.setattr(http_asking, "asked_in", order.asked)
    rows = {"Content-Type": "application/json"}
    path = "/feed/flights?producer=p&sequence=0"
    async with site.client.post(site.url(path), data=b"[[1,0]]", headers=rows):
        assert site.daemon.origins == ["127.0.0.0/8"]
    # all of the loopback interface is one origin, so a header says who comes from elsewhere
    monkeypatch.setattr(http_asking, "origin_in", lambda request: request.headers["X-From"])

    def question(number: int) -> bytes:
        return json.dumps({**QUESTION, "request": f"{number:032x}"}).encode()

    asking = []
    for number in range(6):
        data = question(number).ljust(HTTP_QUESTION_DIRECT_BYTES + 1)
        origin = "alone" if number == 5 else "crowd"
        asking.append(asyncio.ensure_future(site.ask(data, **{"X-From": origin})))
        await asyncio.sleep(0.1)  # so that they come in this order
    order.go_on.set()
    await asyncio.wait(asking, timeout=10)
    assert [found.result()[0] for found in asking] == [200] * 6
    assert order.read == [question(number) for number in (0, 1, 5, 2, 3, 4)]
