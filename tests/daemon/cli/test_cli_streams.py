"""`littled stream`: streams come and end between two runs of a daemon, and nobody notices more."""

import shutil
from pathlib import Path

import pytest

from support.commands import CONFIGURATION, Littled, flights_csv, make_store, serve
from support.marks import read_mark

NEW = """
[streams.{}]
epsilon = 0.5
delta = 1e-7
horizon = 100_000
learners.late = {{ class = "thresholds:256", noise_rate = 0 }}
"""
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a new store of two streams."""
    make_store(tmp_path)
    return tmp_path


def more(folder: Path, *streams: str, text: str = "") -> Path:
    path = folder / "more.toml"
    path.write_text(text + "".join(NEW.format(name) for name in streams))
    return path


def verified(littled: Littled, store: Path) -> dict[str, dict[str, object]]:
    said = littled("verify", store, "--replay", "--json")
    assert said.status == 0, said.err
    streams: dict[str, dict[str, object]] = said.json["streams"]
    return streams


@pytest.mark.long
def test_streams_are_added_fed_and_closed(littled: Littled, folder: Path) -> None:
    store = folder / "store"
    said = littled("stream", "add", store, more(folder, "trains", "ships"))
    assert said.status == 0, said.err
    assert said.out.startswith(f"added trains, ships; {store} has 4 streams now\n")
    assert "trains: epsilon 0.5, delta 1e-07" in said.out
    assert "the same for ships" in said.out
    csv = flights_csv(folder / "flights.csv", 6_000)
    running = serve(folder)
    for stream in ("trains", "flights"):
        fed = littled("feed", stream, csv, *COLUMNS, "-a", running.address, "--json").json
        assert fed["acknowledged"] == 6_000
    for refused in (
        littled("stream", "add", store, more(folder, "planes")),
        littled("stream", "close", store, "trains", "--yes"),
    ):
        assert (refused.status, refused.sentence) == (
            1,
            f"another process serves the store in {store}: stop it first",
        )
    assert running.stop() == 0
    asked = littled("stream", "close", store, "trains")
    assert asked.sentence == "nothing was changed: say --yes to close trains for ever"
    said = littled("stream", "close", store, "trains", "--yes")
    assert said.out.startswith("closed trains after 6,000 examples and ")
    streams = verified(littled, store)
    assert [facts["closed"] for facts in streams.values()] == [False, False, True, False]
    running = serve(folder)
    shown = littled("status", "-a", running.address)
    assert "; closed" in shown.out
    rule = littled("rule", "show", "trains/late", "-a", running.address)
    assert rule.status == 0, rule.err
    again = littled("feed", "trains", csv, *COLUMNS, "-a", running.address)
    assert "stream_closed" in again.sentence
    assert running.stop() == 0
    # what flights have learned since the first stop is of no matter here
    assert verified(littled, store)["trains"] == streams["trains"]
    ledger = littled("ledger", store, "--stream", "trains")
    assert ledger.status == 0, ledger.err


@pytest.mark.long
def test_the_file_of_the_store_may_grow(littled: Littled, folder: Path) -> None:
    """With the streams that the store has in it as they are, or not at all."""
    store = folder / "store"
    grown = more(folder, "trains", text=CONFIGURATION)
    assert littled("stream", "add", store, grown, "--json").json == {
        "added": ["trains"],
        "streams": 3,
    }
    again = littled("stream", "add", store, grown)
    assert (again.status, again.sentence) == (
        2,
        f"the store has all streams of {grown} already: flights, addresses, trains",
    )
    other = more(folder, "flights")
    changed = littled("stream", "add", store, other)
    assert changed.status == 2
    assert changed.sentence.startswith("the store has a stream flights already, with another conf")
    assert littled("stream", "close", store, "trains", "--yes", "--json").json["closed"] == "trains"
    closed = littled("stream", "close", store, "trains", "--yes")
    assert closed.sentence == "stream trains is closed already"
    none = littled("stream", "close", store, "ships", "--yes")
    assert none.sentence == "the store has no stream ships; it has flights, addresses, trains"
    wrong = more(folder, "ships", text="[streams.x]\nepsilon = -1\n")
    assert littled("stream", "add", store, wrong).status == 2
    assert [*verified(littled, store)] == ["flights", "addresses", "trains"]


def test_a_copy_from_before_goes_on_by_a_restore(littled: Littled, folder: Path) -> None:
    store, mark = folder / "store", folder / "mark"
    files = ["--mark", mark]
    (store / "high-water-mark").rename(mark)
    shutil.copytree(store, folder / "copy")
    assert littled("stream", "add", store, more(folder, "trains"), *files).status == 0
    assert littled("stream", "close", store, "addresses", "--yes", *files).status == 0
    shutil.rmtree(store)
    (folder / "copy").rename(store)
    refused = littled("verify", store, *files)
    assert "is not the one that the high-water mark knows" in refused.out
    assert "addresses, which the high-water mark knows as closed, is open" in refused.out
    said = littled("restore", store, "--yes", *files)
    assert said.status == 0, said.err
    assert "trains: lost as a whole, as it was added after the copy; its name stays" in said.out
    assert "addresses: closed again, for ever" in said.out
    found = littled("verify", store, *files, "--json").json
    assert [facts["closed"] for facts in found["streams"].values()] == [False, True]
    again = littled("stream", "add", store, more(folder, "trains"), *files)
    assert again.sentence.startswith("trains is the name of a stream that was lost by a restore")
    assert read_mark(mark).streams["trains"].closed
