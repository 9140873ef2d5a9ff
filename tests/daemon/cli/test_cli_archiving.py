"""Archiving with real processes: moved out, checked with and without, and served on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from support.commands import Daemon, Littled, serve

CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 50000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""
COLUMNS = ["--x", "delay", "--y", "late"]


@contextmanager
def serving(folder: Path, *arguments: str | Path) -> Iterator[Daemon]:
    """A daemon that is stopped at the end."""
    running = serve(folder, *arguments)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def folder(littled: Littled, tmp_path: Path) -> Path:
    """A folder with a store that was fed and stopped, twice."""
    path = tmp_path / "littled"
    path.mkdir()
    (path / "littled.toml").write_text(CONFIGURATION)
    said = littled("init", path / "store", "--config", path / "littled.toml")
    assert said.status == 0, said.err
    for count in (3_000, 6_000):
        with serving(path) as running:
            fed(littled, running, path, count)
    return path


def fed(littled: Littled, running: Daemon, folder: Path, count: int) -> None:
    """Feed so many examples of one file in all."""
    delays = [line * 7919 % 256 for line in range(count)]
    lines = [f"{delay},{int(delay >= 60)}\n" for delay in delays]
    (folder / "flights.csv").write_text("delay,late\n" + "".join(lines))
    file = folder / "flights.csv"
    facts = littled("feed", "flights", file, *COLUMNS, "-a", running.address, "--json").json
    assert facts["acknowledged"] == count


@pytest.mark.long
def test_a_store_goes_on_without_what_was_archived(littled: Littled, folder: Path) -> None:
    store, archive = folder / "store", folder / "archive"
    before = littled("verify", store, "--replay", "--json").json
    said = littled("archive", store, archive, "--json")
    assert said.status == 0, said.err
    (moved,) = said.json["files"]
    assert (archive / moved["file"]).exists()
    assert moved["examples"] == 3_000
    assert "nothing to archive" in littled("archive", store, archive).out

    alone = littled("verify", store, "--json").json["streams"]["flights"]
    assert alone["examples"] == 6_000
    assert alone["unchecked_records"] == alone["archived_records"] > 0
    text = littled("verify", store).out
    assert "are in an archive and were not checked" in text
    assert "sound" in text

    refused = littled("verify", store, "--replay")
    assert refused.status == 1
    assert "were moved into an archive: name its folder with --archive" in refused.sentence
    whole = littled("verify", store, "--replay", "--archive", archive, "--json").json
    assert whole["replay"] == before["replay"]
    assert whole["streams"]["flights"]["unchecked_records"] == 0

    with serving(folder) as running:
        fed(littled, running, folder, 9_000)
        held = littled("archive", store, archive)
        assert held.status == 1
        assert "another process serves the store" in held.sentence
    with serving(folder):
        pass  # a stop does not wait for a training in hand; the next start's snapshot is behind it
    assert littled("archive", store, archive).status == 0
    assert len(list(archive.iterdir())) == 2
    assert littled("verify", store, "--replay", "--archive", archive).status == 0

    (archive / moved["file"]).unlink()
    lacking = littled("verify", store, "--archive", archive)
    assert lacking.status == 1
    assert f"lacks {moved['file']}" in lacking.out.replace("\n", " ")
    restored = littled("restore", store, "--copy", "--yes", "--archive", archive)
    assert restored.status == 1
    assert f"lacks {moved['file']}" in restored.sentence
    assert littled("restore", store, "--copy", "--yes").status == 0
    with serving(folder):
        pass
    assert littled("verify", store).status == 0


@pytest.mark.long
def test_without_its_snapshots_a_daemon_asks_for_the_archive(
    littled: Littled, folder: Path
) -> None:
    store, archive = folder / "store", folder / "archive"
    assert littled("archive", store, archive).status == 0
    connection = apsw.Connection(str(store / "store.sqlite"))
    connection.execute("DELETE FROM snapshots")
    connection.close()
    said = littled("serve", store, "--unix", folder / "d.sock")
    assert said.status == 3
    assert "name its folder with --archive" in said.sentence
    with serving(folder, "--archive", archive):
        pass
    assert littled("verify", store, "--replay", "--archive", archive).status == 0
