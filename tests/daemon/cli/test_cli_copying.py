"""`littled copy` as people use it: a store is fed, moved and served on; what is left is refused."""

import signal
import sys
from pathlib import Path

import click
import pytest

from support.commands import Littled, fed, serve
from support.databases import Postgres
from support.postgres import url_of

CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 50000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""


@pytest.fixture(scope="module")
def url(server: Postgres) -> str:
    """A database of its own."""
    return url_of(server, "public")


def made(littled: Littled, folder: Path) -> Path:
    """A folder with a store that was fed."""
    (folder / "littled.toml").write_text(CONFIGURATION)
    assert littled("init", folder / "store", "--config", folder / "littled.toml").status == 0
    running = serve(folder)
    fed(littled, running, 3_000)
    assert running.stop() == 0
    return folder / "store"


@pytest.mark.long
def test_a_store_goes_to_a_server_and_back_and_is_served_on(
    littled: Littled, url: str, tmp_path: Path
) -> None:
    store = made(littled, tmp_path)
    there = ("--to-key", tmp_path / "key", "--to-mark", tmp_path / "mark")
    files = ("--key", tmp_path / "key", "--mark", tmp_path / "mark")
    before = littled("verify", store, "--replay", "--json").json
    archive = tmp_path / "archive"
    assert littled("archive", store, archive).status == 0

    asked = littled("copy", store, url)
    assert (asked.status, "--to-key FILE and --to-mark PLACE" in asked.sentence) == (2, True)
    asked = littled("copy", store, url, *there)
    assert asked.status == 2
    assert asked.sentence.startswith("nothing was copied: say --yes to use the store in")
    said = littled("copy", store, url, *there, "--archive", archive, "--yes")
    assert said.status == 0, said.err
    out = said.out.replace("\n", "")
    assert f"copied {store} to {url}; next: littled serve '{url}' --key" in out
    assert f"note: {store} is used by nobody any more" in said.err.replace("\n", " ")
    for command in (
        ["serve", store, "--unix", tmp_path / "d.sock"],
        ["verify", store],
        ["ledger", store],
        ["restore", store],
    ):
        refused = littled(*command)
        assert refused.status != 0
        assert f"was moved to {url}: use it there" in refused.out + refused.err
    again = littled("copy", store, url, *there, "--yes")
    assert again.sentence.endswith(f"was moved to {url} already: use it there")

    report = littled("verify", url, "--replay", "--archive", archive, "--json", *files).json
    assert report["replay"] == before["replay"]
    running = serve(tmp_path, *files, store=url)
    fed(littled, running, 6_000)
    refused = littled("copy", url, tmp_path / "back", *files, "--yes")
    assert "another process serves the store" in refused.sentence
    assert running.stop() == 0
    said = littled("copy", url, tmp_path / "back", *files, "--yes", "--json")
    assert said.json["streams"] == ["flights"]
    assert said.json["source"] == url
    assert not said.json["resumed"]
    running = serve(tmp_path, store=str(tmp_path / "back"))
    fed(littled, running, 7_000)
    assert running.stop() == 0
    whole = littled("verify", tmp_path / "back", "--replay", "--archive", archive, "--json").json
    assert whole["sound"]
    assert whole["streams"]["flights"]["examples"] == 7_000


def test_somebody_may_think_again(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(littled, tmp_path)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: False)
    assert littled("copy", store, tmp_path / "there").sentence == "nothing was copied"
    assert not (tmp_path / "there").exists()
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    assert littled("copy", store, tmp_path / "there").status == 0
    assert littled("verify", tmp_path / "there").status == 0


def test_an_interrupted_copy_is_finished_by_the_same_command(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(littled, tmp_path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("littled.store.moving.Moving._let_go", interrupted)
        assert littled("copy", store, tmp_path / "there", "--yes").status == 130
    refused = littled("serve", tmp_path / "there", "--unix", tmp_path / "d.sock")
    assert refused.status == 3
    assert "say littled copy again, as before" in refused.sentence
    said = littled("copy", store, tmp_path / "there", "--yes", "--json")
    assert said.json["resumed"]
    running = serve(tmp_path, store=str(tmp_path / "there"))
    fed(littled, running, 4_000)
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait() == 0
