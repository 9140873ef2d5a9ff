"""Stores of an older version go on: verified, served, fed, and what they said stays what it was."""

import contextlib
import io
import json
import tarfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from littled.cli.entry import run
from littled.store.records import SourcePlace
from littled.store.store import Store
from littled_client import Client
from support.copying import Copy
from support.old_stores import (
    CONFIGURATIONS,
    EXAMPLES,
    FIXTURES,
    PRODUCER,
    ask,
    closed,
    feed,
    place_of,
    said,
    served,
)

pytestmark = pytest.mark.long

SAID = json.loads((FIXTURES / "said.json").read_text())


LEARN_SECONDS_MAX = 30.0
COPIED = partial(Copy, "littled.cli.entry:main")


def verified(store: Path) -> Any:
    """What `littled verify --replay` says, which has to find nothing."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        assert run(["verify", str(store), "--replay", "--json"]) == 0
    return json.loads(told.getvalue())


def feed_and_learn(client: Client, store: Path, count: int) -> None:
    """Send so many examples more to each stream, and wait until they are learned from."""
    before = positions(client)
    feed(client, store, count, wait=False)
    ends = {name: at + count * (name not in closed(store)) for name, at in before.items()}
    deadline = time.monotonic() + LEARN_SECONDS_MAX
    while positions(client) != ends:
        assert time.monotonic() < deadline, (positions(client), ends)
        time.sleep(0.05)


def positions(client: Client) -> dict[str, int]:
    """How many examples of each stream have been learned from."""
    return {name: plan["position"] for name, plan in client.status()["streams"].items()}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_old_store_goes_on(tmp_path: Path, name: str) -> None:
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = tmp_path / name
    then, before = SAID[name]["verify"]["replay"], SAID[name]["said"]
    now = verified(store)["replay"]
    for stream, facts in then.items():
        assert {key: now[stream][key] for key in facts} == facts
    assert said(store) == before
    with served(store, begun=COPIED) as client:
        feed_and_learn(client, store, 300)
        # Half of a window was answered; the same request has the same answer.
        ask(client, store)
    assert verified(store)["findings"] == []
    after = said(store)
    for kind, each in before.items():
        for owner, digests in each.items():
            assert after[kind][owner][: len(digests)] == digests
    assert after["answers"] == before["answers"]


def test_places_of_sources_are_where_they_were(tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "places.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = tmp_path / "places"
    for then in (EXAMPLES, EXAMPLES + 300):
        with Store.open(store) as opened:
            for name in ("late", "members"):
                found = opened.place(name, PRODUCER)
                assert found == SourcePlace(then, place_of(name, then))
        assert verified(store)["findings"] == []
        with served(store, begun=COPIED) as client:
            for name in ("late", "members"):
                with client.feed(name, resumes=True) as feeder:
                    assert feeder.resume == place_of(name, then)
                    assert feeder.resume_sequence == feeder.next_sequence == then
            feed_and_learn(client, store, 300)


def test_old_stores_are_small() -> None:
    assert sum(each.stat().st_size for each in FIXTURES.iterdir()) < 1 << 20
