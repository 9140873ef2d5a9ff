"""Stores of an older version go on: verified, served, fed, and what they said stays what it was."""

import json
import tarfile
from pathlib import Path

import pytest

from support.old_stores import CONFIGURATIONS, FIXTURES, ask, feed, said, served, verified

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


def test_old_stores_are_small() -> None:
    assert sum(each.stat().st_size for each in FIXTURES.iterdir()) < 1 << 20
