"""Copies that Litestream makes while a daemon serves: sound, and refused behind the newest mark."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.commands import START_SECONDS, Daemon, Littled, kill_leftovers, serve
from support.servers import needs, program
from support.serving import Peer

pytestmark = needs("litestream")
CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 50_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""


@pytest.fixture(autouse=True)
def _nobody_left() -> Iterator[None]:
    yield
    kill_leftovers()


@contextmanager
def replicating(store: Path, backup: Path) -> Iterator[None]:
    """Litestream beside a daemon; what it logs stands next to the copy."""
    with backup.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(
            [str(program("litestream")), "replicate", store / "store.sqlite", f"file://{backup}"],
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            process.terminate()  # it copies what is missing first
            process.wait(START_SECONDS)


def put_back(backup: Path, store: Path, folder: Path) -> Path:
    """A store of the last copy and the noise key, which is kept elsewhere."""
    folder.mkdir(mode=0o700)
    database = folder / "store.sqlite"
    done = subprocess.run(
        [str(program("litestream")), "restore", "-o", database, f"file://{backup}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    database.chmod(0o600)
    shutil.copy(store / "noise.key", folder / "noise.key")
    return folder


# What came alone stands beside the database for a moment, where Litestream does not look.
LACKING = "tail is missing or cut short"


def feed(littled: Littled, daemon: Daemon, batches: int, change: int) -> None:
    """Feed, and wait until something was published of it."""

    def version() -> int:
        shown = littled("status", "-a", daemon.address, "--json").json
        found: int = shown["streams"]["flights"]["learners"]["late"]["version"]
        return found

    before = version()
    with Peer.greet(daemon.folder / "d.sock") as peer:
        sequence = peer.open("flights", "tower").next_sequence
        for _ in range(batches):
            x = bytes((sequence + i) * 97 % 256 for i in range(1_000))
            peer.feed(sequence, x, bytes(int(value >= change) for value in x))
            sequence += 1_000
            peer.acknowledged(sequence)
    deadline = time.monotonic() + START_SECONDS
    while version() == before:
        assert time.monotonic() < deadline, "nothing was published"
        time.sleep(0.1)


def test_a_copy_verifies_is_refused_behind_the_mark_and_goes_on_by_a_restore(
    littled: Littled, tmp_path: Path
) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    store, mark, backup = tmp_path / "store", tmp_path / "mark", tmp_path / "backup"
    marked = ("--mark", mark)
    said = littled("init", store, "--config", tmp_path / "littled.toml", *marked)
    assert said.status == 0, said.err
    daemon = serve(tmp_path, *marked)
    with replicating(store, backup):
        time.sleep(1.5)
        feed(littled, daemon, 4, 24)
        time.sleep(0.5)
    current = put_back(backup, store, tmp_path / "current")
    said = littled("verify", current, *marked)
    assert said.status == 1, said.out + said.err
    (finding,) = said.out.splitlines()[1:]
    assert LACKING in finding, "all else is sound"
    feed(littled, daemon, 8, 150)
    daemon.process.kill()
    daemon.process.communicate()
    behind = put_back(backup, store, tmp_path / "behind")
    said = littled("verify", behind, *marked)
    assert said.status == 1
    findings = [line for line in said.out.splitlines()[1:] if LACKING not in line]
    assert findings
    assert all("which the high-water mark knows" in line for line in findings)
    said = littled("serve", behind, *marked, "--unix", tmp_path / "b.sock")
    assert said.status == 3
    assert said.sentence.endswith("by littled restore --copy")
    said = littled("restore", behind, *marked, "--copy", "--yes")
    assert said.status == 0, said.err
    shutil.rmtree(store)
    behind.rename(store)
    daemon = serve(tmp_path, *marked)
    feed(littled, daemon, 4, 60)
    assert daemon.stop() == 0
    said = littled("verify", store, *marked, "--replay")
    assert said.status == 0, said.out + said.err
    assert "restored from a copy" in said.out
