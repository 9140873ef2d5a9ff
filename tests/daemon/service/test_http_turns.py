"""Requests of HTTP take turns, and all of them together have one allowance."""

import asyncio
from collections.abc import Callable

import pytest

from littled.limits import (
    HTTP_REQUEST_UNITS,
    HTTP_UNITS_MAX,
    HTTP_UNITS_PER_SECOND,
    WORK_PER_PEER_UNITS,
)
from littled.service import http_turns
from littled.service.http_turns import HttpTurns, Lane
from littled.service.turns import Making, Rate

# Who comes anew has its turn, and one of those who have waited, which may be the same.
PER_TURN = 2


class Requests:
    """Requests, each of which is noted when it is begun."""

    def __init__(self) -> None:
        self.turns = HttpTurns()
        self.begun: list[str] = []

    def add(self, name: str, lane: Lane = Lane.OTHERS, units: int = HTTP_REQUEST_UNITS) -> None:
        def begin() -> int:
            self.begun.append(name)
            return units

        self.turns.add(lane, begin)

    def add_feeding(self, name: str, origin: str = "here") -> None:
        def begin() -> int:
            self.begun.append(name)
            return HTTP_REQUEST_UNITS

        self.turns.add_feeding(origin, begin)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0)


async def test_a_few_requests_are_begun_in_a_turn() -> None:
    requests = Requests()
    for number in range(10):
        requests.add(str(number))
    assert requests.begun == []
    while len(requests.begun) < 10:
        before = len(requests.begun)
        await asyncio.sleep(0)
        assert before < len(requests.begun) <= before + PER_TURN
    assert requests.begun == [str(number) for number in range(10)]


async def test_who_watches_does_not_wait_for_all_the_others() -> None:
    requests = Requests()
    for number in range(6):
        requests.add(f"other {number}")
    for number in range(2):
        requests.add(f"watcher {number}", Lane.WATCHING)
    await requests.until(lambda: len(requests.begun) == 8)
    assert {"watcher 0", "watcher 1"} < set(requests.begun[:4])
    assert requests.begun[4:] == [f"other {number}" for number in range(2, 6)]


async def test_more_than_the_allowance_waits_for_it_and_is_not_refused() -> None:
    loop = asyncio.get_running_loop()
    requests, most = Requests(), HTTP_UNITS_MAX // HTTP_REQUEST_UNITS
    started = loop.time()
    for number in range(2 * most):
        requests.add(str(number))
    while len(requests.begun) < 2 * most:
        passed = loop.time() - started
        allowed = (HTTP_UNITS_MAX + HTTP_UNITS_PER_SECOND * passed) / HTTP_REQUEST_UNITS
        assert len(requests.begun) <= allowed + 1
        await asyncio.sleep(0)
    assert requests.begun == [str(number) for number in range(2 * most)]


async def test_rows_and_questions_wait_for_no_allowance() -> None:
    requests = Requests()
    requests.add("dear", units=100 * HTTP_UNITS_MAX)
    requests.add("after it")
    await requests.until(lambda: requests.begun == ["dear"])
    for number in range(3):
        requests.add_feeding(f"rows {number}")
    await requests.until(lambda: len(requests.begun) == 4)
    assert requests.begun == ["dear", "rows 0", "rows 1", "rows 2"]


async def test_who_is_gone_costs_nothing() -> None:
    requests = Requests()
    for number in range(5):
        requests.add(f"gone {number}", units=0)
    requests.add("there")
    await asyncio.sleep(0)
    assert requests.begun[-1] == "there"


async def test_what_takes_long_is_made_a_little_in_each_turn() -> None:
    requests, pieces = Requests(), 0

    def long() -> Making[str]:
        nonlocal pieces
        for _ in range(20):
            pieces += 1
            yield WORK_PER_PEER_UNITS
        return "made"

    making = asyncio.ensure_future(requests.turns.made(Lane.OTHERS, "here", long()))
    requests.add("request")
    while not making.done():
        before = pieces
        await asyncio.sleep(0)
        assert pieces <= before + PER_TURN
        assert requests.begun == [] or pieces > 0
    assert await making == "made"
    assert requests.begun == ["request"]


async def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    requests = Requests()

    def wrong() -> Making[str]:
        yield 1.0
        raise KeyError("no such metric")

    def endless() -> Making[str]:
        while True:
            yield 1.0

    left = asyncio.ensure_future(requests.turns.made(Lane.OTHERS, "here", endless()))
    await asyncio.sleep(0)
    left.cancel()  # by a client that is gone
    with pytest.raises(KeyError, match="no such metric"):
        await requests.turns.made(Lane.OTHERS, "here", wrong())


async def test_an_origin_that_has_sent_in_vain_waits_and_no_other_does() -> None:
    loop = asyncio.get_running_loop()
    requests = Requests()
    requests.turns.charge("there", HTTP_UNITS_MAX + HTTP_UNITS_PER_SECOND / 10)
    spent_at = loop.time()
    for number in range(3):
        requests.add_feeding(f"there {number}", "there")
        requests.add_feeding(f"here {number}", "here")
    await requests.until(lambda: len(requests.begun) == 3)
    assert requests.begun == ["here 0", "here 1", "here 2"]
    requests.turns.charge("here", HTTP_UNITS_MAX / 2)
    requests.add_feeding("here 3", "here")
    await requests.until(lambda: len(requests.begun) == 4)
    assert requests.begun[-1] == "here 3"
    await requests.until(lambda: len(requests.begun) == 7)
    assert requests.begun[4:] == ["there 0", "there 1", "there 2"]
    assert loop.time() - spent_at >= 0.1


async def test_not_all_origins_are_kept_in_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_turns, "HTTP_ORIGINS_MAX", 3)
    requests = Requests()
    requests.turns.charge("waits", 2 * HTTP_UNITS_MAX)
    requests.add_feeding("first", "waits")
    for number in range(10):
        requests.turns.charge(f"origin {number}", 1)
    assert len(requests.turns._origins) == 3
    assert "waits" in requests.turns._origins
    await requests.until(lambda: requests.begun == ["first"])


async def test_requests_are_begun_while_something_is_made() -> None:
    requests = Requests()

    def endless() -> Making[str]:
        while True:
            yield 1.0

    making = asyncio.ensure_future(requests.turns.made(Lane.OTHERS, "here", endless()))
    for number in range(3):
        requests.add(f"watcher {number}", Lane.WATCHING)
    await requests.until(lambda: len(requests.begun) == 3)
    assert not making.done()
    making.cancel()


async def test_who_watches_does_not_wait_for_what_is_made_for_others() -> None:
    """However much it is: it has taken the allowance of all but those who watch."""
    requests, pieces = Requests(), 0

    def dear() -> Making[None]:
        nonlocal pieces
        while True:
            pieces += 1
            yield 100 * HTTP_UNITS_MAX

    def metrics() -> Making[str]:
        for _ in range(10):
            yield WORK_PER_PEER_UNITS
        return "metrics"

    makings = [
        asyncio.ensure_future(requests.turns.made(Lane.OTHERS, origin, dear()))
        for origin in ("here", "there")
    ]
    requests.add("other")
    await requests.until(lambda: pieces == 1)
    requests.add("watcher", Lane.WATCHING)
    async with asyncio.timeout(5):
        assert await requests.turns.made(Lane.WATCHING, "here", metrics()) == "metrics"
    assert (requests.begun, pieces) == (["watcher"], 1)
    for making in makings:
        making.cancel()


async def test_origins_take_turns_with_what_is_made_for_them() -> None:
    requests, pieces = Requests(), []

    def some(name: str) -> Making[str]:
        for _ in range(3):
            pieces.append(name)
            yield 1.0
        return name

    asked = [("crowd 1", "crowd"), ("crowd 2", "crowd"), ("one", "here"), ("another", "there")]
    made = [requests.turns.made(Lane.OTHERS, origin, some(name)) for name, origin in asked]
    assert await asyncio.gather(*made) == [name for name, _ in asked]
    assert pieces == [*["crowd 1", "one", "another"] * 3, *["crowd 2"] * 3]


async def test_who_wants_large_pieces_keeps_nobody_waiting_who_wants_many_small_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As whoever asks for large rules beside who asks for a status; also one after the other."""
    monkeypatch.setattr(http_turns, "_RATE", Rate(1e9, 1e9, 1e9))
    requests, pieces = Requests(), []

    def some(name: str, units: float, count: int) -> Making[None]:
        for _ in range(count):
            pieces.append(name)
            yield units

    async def over_and_over() -> None:
        while True:
            await requests.turns.made(Lane.OTHERS, "crowd", some("large", 8_000, 1))

    crowd = [asyncio.create_task(over_and_over()) for _ in range(2)]
    await requests.until(lambda: len(pieces) > 10)
    pieces.clear()
    await requests.turns.made(Lane.OTHERS, "here", some("small", 40, 200))
    for each in crowd:
        each.cancel()
    assert pieces.count("small") == 200
    assert pieces.count("large") <= 3
