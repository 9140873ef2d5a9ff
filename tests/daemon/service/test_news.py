"""One stream of events for all learners: what comes, in which order, and to whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import aiohttp
import pytest

from littled.service import news as news_module
from littled.service.access import Access, Gate, Grant, Permission, digest_of, one_token
from littled.service.news import Positions, Wanted, tell
from littled.service.subscribers import _Shelf
from littled_protocol.messages import Release
from support.sites import LEARNER, TOKEN, FakeDaemon, Site, figure, run, stored


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(news_module, "HTTP_TICK_SECONDS", 0.02)
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


async def told(response: aiohttp.ClientResponse, count: int) -> list[tuple[str, Any]]:
    """So many events: their names and their data."""
    found: list[tuple[str, Any]] = []
    while len(found) < count:
        block = (await asyncio.wait_for(response.content.readuntil(b"\n\n"), 10)).decode()
        if block.startswith(":"):
            continue
        fields = dict(line.split(": ", 1) for line in block.strip().split("\n"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


async def versions(site: Site, query: str, count: int) -> list[int]:
    """The versions of the first releases that come after hello."""
    async with site.client.get(site.url(f"/events{query}")) as response:
        assert response.status == 200
        (hello, _), *rest = await told(response, 1 + count)
        assert hello == "hello"
        assert {name for name, _ in rest} == {"release"}
        return [data["version"] for _, data in rest]


async def test_a_newcomer_is_told_the_newest_release_and_what_comes(site: Site) -> None:
    site.daemon.releases.announce([stored(1, 128), stored(2, 54)])
    async with site.client.get(site.url("/events")) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        hello, release, tick = await told(response, 3)
        assert hello == ("hello", {"instance": site.daemon.instance})
        assert release[1]["learner"] == LEARNER
        assert release[1]["text"] == "late if departure delay >= 24 min"
        assert tick == ("tick", {"positions": {"flights": 3}})
        site.daemon.releases.announce([stored(3, 55)])
        ((name, third),) = await told(response, 1)
        assert (name, third["version"]) == ("release", 3)


async def test_positions_are_told_when_they_have_changed_and_only_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news_module, "HTTP_HEARTBEAT_SECONDS", 0.1)
    async with site.client.get(site.url("/events")) as response:
        assert [name for name, _ in await told(response, 2)] == ["hello", "tick"]
        quiet = await asyncio.wait_for(response.content.readuntil(b"\n\n"), 10)
        assert quiet == b": still here\n\n"
        site.daemon.position = 4
        assert await told(response, 1) == [("tick", {"positions": {"flights": 4}})]


async def test_who_knows_a_version_is_told_all_that_follow(site: Site) -> None:
    site.daemon.releases.announce([stored(version, version) for version in range(1, 6)])
    assert await versions(site, f"?after={LEARNER}:2", 3) == [3, 4, 5]
    assert await versions(site, f"?after={LEARNER}:0", 5) == [1, 2, 3, 4, 5]
    assert await versions(site, "", 1) == [5]
    assert await versions(site, f"?learner={LEARNER}&after=gone/long:7", 1) == [5]


async def test_a_long_history_comes_whole_and_in_order(site: Site) -> None:
    site.daemon.stored = [stored(version, version % 256) for version in range(1, 400)]
    site.daemon.releases.announce(site.daemon.stored)
    assert await versions(site, f"?after={LEARNER}:0", 399) == list(range(1, 400))


async def test_a_learner_may_be_chosen(site: Site) -> None:
    site.daemon.releases.announce([stored(1, 128)])
    async with site.client.get(site.url("/events?learner=flights/none")) as response:
        assert [name for name, _ in await told(response, 2)] == ["hello", "tick"]


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("?learner=flights/early", 404, "there is no such learner\n"),
        ("?learner=", 404, "there is no such learner\n"),
        ("?after=3", 400, "after must be STREAM/LEARNER:VERSION\n"),
        ("?after=flights/late:-1", 400, "after must be STREAM/LEARNER:VERSION\n"),
        ("?after=flights/late:1.5", 400, "after must be STREAM/LEARNER:VERSION\n"),
        ("?after=flights/late:" + "9" * 30, 400, "after must be STREAM/LEARNER:VERSION\n"),
        ("?after=flights/late:" + "9" * 9999, 400, None),
    ],
)
async def test_what_cannot_be_asked(
    site: Site, query: str, status: int, sentence: str | None
) -> None:
    found, text, _ = await site.get(f"/events{query}")
    assert found == status
    assert sentence is None or text == sentence


async def test_a_head_would_never_end(site: Site) -> None:
    async with site.client.head(site.url("/events")) as response:
        assert response.status == 405


async def test_grants_choose_the_streams() -> None:
    other = Grant("other", frozenset({Permission.SUBSCRIBE}), frozenset({"rides"}))
    operator = Grant("operator", frozenset({Permission.OPERATE}), frozenset({"flights"}))
    tokens = {digest_of("o" * 32): other, digest_of("p" * 32): operator}
    async for site in run(Gate(Access(tokens=tokens)), FakeDaemon()):
        site.daemon.releases.announce([stored(1, 128)])
        assert (await site.get("/events"))[0] == 401
        headers = {"Authorization": "Bearer " + "o" * 32}
        for learner in (LEARNER, "flights/none", "flights/nobody", "nowhere/late"):
            wanted = f"/events?learner={learner}"
            assert (await site.get(wanted, headers=headers))[0] == 403
        async with site.client.get(site.url("/events"), headers=headers) as response:
            (hello,) = await told(response, 1)
            assert hello[0] == "hello"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(response.content.readuntil(b"\n\n"), 1.5)
        headers = {"Authorization": "Bearer " + "p" * 32}
        async with site.client.get(site.url("/events"), headers=headers) as response:
            assert [name for name, _ in await told(response, 2)] == ["hello", "tick"]


async def test_a_token_opens_it_as_it_opens_the_rest() -> None:
    async for site in run(Gate(Access(tokens=one_token(TOKEN))), FakeDaemon()):
        shown = {"Authorization": f"Bearer {TOKEN}"}
        async with site.client.get(site.url("/events"), headers=shown) as response:
            assert response.status == 200


async def test_figures_of_quality_are_told_as_they_come(site: Site) -> None:
    figures = site.daemon.figures
    figures.announce([figure(1), figure(2)])
    async with site.client.get(site.url(f"/events?learner={LEARNER}")) as response:
        hello, quality, tick = await told(response, 3)
        assert (hello[0], quality[0], tick[0]) == ("hello", "quality", "tick")
        assert (quality[1]["learner"], quality[1]["number"]) == (LEARNER, 2)
        figures.announce([figure(3)])
        ((name, third),) = await told(response, 1)
        assert (name, third["number"]) == ("quality", 3)


async def test_only_what_has_changed_is_looked_at(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many learners and streams there are, and however many follow them."""
    many, looked, counted = 500, 0, 0
    daemon = site.daemon
    names = [f"flights/late{number}" for number in range(many)]
    daemon.releases._shelves.update({name: _Shelf() for name in names})
    places = {f"s{number}": 1 for number in range(many)}
    version = daemon.releases.version

    def watched(learner: str) -> int:
        nonlocal looked
        looked += 1
        return version(learner)

    def positions() -> dict[str, int]:
        nonlocal counted
        counted += 1
        return places

    monkeypatch.setattr(daemon.releases, "version", watched)
    monkeypatch.setattr(site.rules, "_positions", Positions(positions))
    async with AsyncExitStack() as stack:
        following = [
            await stack.enter_async_context(site.client.get(site.url("/events"))) for _ in range(8)
        ]
        for each in following:
            assert [name for name, _ in await told(each, 2)] == ["hello", "tick"]
        monkeypatch.setattr(news_module, "HTTP_TICK_SECONDS", 0.5)
        looked = counted = 0
        places["s7"] = 2
        daemon.releases.announce([stored(1, 128)])
        for each in following:
            (release, tick) = await told(each, 2)
            assert (release[0], tick) == ("release", ("tick", {"positions": {"s7": 2}}))
    assert looked < many / 10
    assert counted < len(following)


async def test_a_long_history_ends_where_its_reader_has_lost_its_rights(site: Site) -> None:
    site.daemon.releases.announce([stored(version, version) for version in range(1, 6)])
    stopping, written, seen = asyncio.Event(), list[bytes](), list[int]()

    async def shown(release: Release) -> bytes:
        seen.append(release.version)
        if release.version == 3:
            stopping.set()
        return b"data"

    async def write(data: bytes) -> None:
        written.append(data)

    await asyncio.wait_for(
        tell(
            Wanted((LEARNER,), {LEARNER: 0}),
            site.daemon.releases,
            "here",
            site.daemon.figures,
            site.daemon.instance,
            Positions(dict),
            lambda _: True,
            shown,
            write,
            partial(asyncio.sleep, 0),
            stopping,
        ),
        10,
    )
    assert seen == [1, 2, 3]
    assert len(written) == 3  # a greeting and two releases
