"""A learner's versions in short, in parts, oldest first."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from littled.service.access import Access, Gate
from support.sites import LEARNER, FakeDaemon, Site, run, stored


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


async def test_a_history_is_short_and_comes_in_parts(site: Site) -> None:
    site.daemon.stored = [stored(version, version % 257) for version in range(1, 400)]
    site.daemon.releases.announce(site.daemon.stored)
    found: list[dict[str, Any]] = []
    more = True
    while more:
        after = found[-1]["version"] if found else 0
        status, text, _ = await site.get(f"/rules/flights/late/history?after={after}")
        assert status == 200
        page = json.loads(text)
        assert page["learner"] == LEARNER
        found, more = found + page["releases"], page["more"]
    assert [one["version"] for one in found] == list(range(1, 400))
    assert found[53] == {
        "version": 54,
        "kind": "rule",
        "season": 0,
        "epoch": 54,
        "position": 540,
        "text": "late if departure delay >= 24 min",
        "cut": 24,
    }
    assert found[255]["cut"] is None  # never late
    for wrong in ("-1", "x", "", "9" * 30, "9" * 3000):
        assert (await site.get(f"/rules/flights/late/history?after={wrong}"))[0] == 400


async def test_a_history_of_what_has_no_rule(site: Site) -> None:
    empty = json.loads((await site.get("/rules/flights/none/history"))[1])
    assert empty == {"learner": "flights/none", "releases": [], "more": False}
    site.daemon.releases.announce([stored(1, None, "halt")])
    (halt,) = json.loads((await site.get("/rules/flights/late/history"))[1])["releases"]
    assert (halt["kind"], halt["text"], halt["cut"]) == ("halt", None, None)
