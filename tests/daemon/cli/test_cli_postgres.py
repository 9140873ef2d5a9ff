"""A store in PostgreSQL with real commands: made, fed, killed, checked, archived, and served on."""

import signal
from pathlib import Path

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


@pytest.mark.long
def test_a_store_on_a_server_does_what_a_folder_does(
    littled: Littled, url: str, tmp_path: Path
) -> None:
    configuration = tmp_path / "littled.toml"
    configuration.write_text(CONFIGURATION)
    assert "name both, --key FILE and --mark PLACE" in littled("verify", url).sentence
    files = ("--key", tmp_path / "key", "--mark", tmp_path / "mark")
    made = littled("init", url, "--config", configuration, *files)
    assert made.status == 0, made.err
    assert f"littled serve '{url}' --key" in made.out.replace("\n", "")

    running = serve(tmp_path, *files, store=url)
    fed(littled, running, 3_000)
    refused = littled("serve", url, "--unix", tmp_path / "other.sock", *files)
    assert refused.status == 3
    assert "another process serves the store" in refused.err
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    running = serve(tmp_path, *files, store=url)
    fed(littled, running, 6_000)
    assert running.stop() == 0

    report = littled("verify", url, "--replay", "--json", *files).json
    assert report["sound"]
    assert report["streams"]["flights"]["examples"] == 6_000
    assert littled("ledger", url, "--json", *files).json["streams"]["flights"]["seasons"]
    (moved,) = littled("archive", url, tmp_path / "archive", "--json", *files).json["files"]
    assert (tmp_path / "archive" / moved["file"]).exists()
    whole = littled("verify", url, "--replay", "--archive", tmp_path / "archive", "--json", *files)
    assert whole.json["replay"] == report["replay"]
    with_more = serve(tmp_path, *files, store=url)
    fed(littled, with_more, 7_000)
    assert with_more.stop() == 0
    assert littled("restore", url, "--yes", "--copy", *files).status == 0
    assert littled("verify", url, "--archive", tmp_path / "archive", *files).status == 0


def test_what_is_told_of_the_server_and_never_of_a_password(
    littled: Littled, url: str, tmp_path: Path
) -> None:
    files = ("--key", tmp_path / "key", "--mark", tmp_path / "mark")
    said = littled("verify", url.replace("tests@", "tests:secret@"), *files)
    assert said.status == 1
    assert "PGPASSFILE" in said.sentence
    assert "secret" not in said.err + said.out
    told = littled("serve", url, "--unix", tmp_path / "d.sock", *files)
    assert "no standby of" in told.err.replace("\n", " ")
