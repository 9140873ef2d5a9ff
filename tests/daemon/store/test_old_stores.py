"""Stores of an older version go on: verified, served, fed, and what they said stays what it was."""

import json
import tarfile
from pathlib import Path

import pytest

from littled.store.records import SourcePlace
from littled.store.store import Store
from support.old_stores import (
    CONFIGURATIONS,
    EXAMPLES,
    FIXTURES,
    PRODUCER,
    ask,
    feed,
    place_of,
    said,
    served,
    verified,
)

pytestmark = pytest.mark.long

SAID = json.loads((FIXTURES / "said.json").read_text())


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
    with served(store) as client:
        feed(client, store, 300)
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
        with served(store) as client:
            for name in ("late", "members"):
                with client.feed(name, resumes=True) as feeder:
                    assert feeder.resume == place_of(name, then)
                    assert feeder.resume_sequence == feeder.next_sequence == then
            feed(client, store, 300)


def test_old_stores_are_small() -> None:
    assert sum(each.stat().st_size for each in FIXTURES.iterdir()) < 1 << 20
