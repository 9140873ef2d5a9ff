"""Restoring a backup with real processes: refused, restored, and on it goes."""

import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from littled.store.records import NewRecord
from littled.store.store import Store
from support.commands import START_SECONDS, Daemon, Littled, Said, make_store, serve

HORIZON = 50_000
CONFIGURATION = f"""
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = {HORIZON}
learners.late = {{ class = "thresholds:256", noise_rate = 0 }}
"""
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]


def marked(folder: Path) -> list[str]:
    return ["--mark", str(folder / "mark")]


@pytest.fixture
def folder(littled: Littled, tmp_path: Path) -> Path:
    """A folder with a new store whose mark lies beside it."""
    path = tmp_path / "littled"
    path.mkdir()
    configuration = path / "littled.toml"
    configuration.write_text(CONFIGURATION)
    said = littled("init", path / "store", "--config", configuration, *marked(path))
    assert said.status == 0, said.err
    return path


def drifting_csv(path: Path, count: int) -> Path:
    """A file whose first lines never change; what is late changes every 3,000 lines."""
    lines = []
    for line in range(count):
        delay = (1 + line * 7919) % 256 - 30
        lines.append(f"{delay},{int(delay >= (24, 150)[line // 3_000 % 2])}\n")
    path.write_text("delay,late\n" + "".join(lines))
    return path


def fed(littled: Littled, running: Daemon, count: int) -> None:
    """Feed so many examples of one file in all."""
    file = drifting_csv(running.folder / "flights.csv", count)
    facts = littled("feed", "flights", file, *COLUMNS, "-a", running.address, "--json").json
    assert facts["acknowledged"] == count


def version_at(littled: Littled, running: Daemon) -> int:
    """The last version that a daemon has published."""
    shown = littled("status", "-a", running.address, "--json").json
    version: int = shown["streams"]["flights"]["learners"]["late"]["version"]
    return version


def wait_for_release(littled: Littled, running: Daemon, version: int) -> None:
    """Wait for a version above this one: what is acknowledged need not be learned yet."""
    deadline = time.monotonic() + START_SECONDS
    while version_at(littled, running) <= version:
        assert time.monotonic() < deadline, "nothing was published"
        time.sleep(0.1)


def verified(littled: Littled, folder: Path) -> dict[str, Any]:
    said = littled("verify", folder / "store", *marked(folder), "--replay", "--json")
    assert said.status == 0, said.err
    facts: dict[str, Any] = said.json["streams"]["flights"]
    return facts


def put_back(folder: Path, backup: Path) -> None:
    shutil.rmtree(folder / "store")
    shutil.copytree(backup, folder / "store")


def refused(littled: Littled, folder: Path) -> Said:
    said = littled("serve", folder / "store", "--unix", folder / "d.sock", *marked(folder))
    assert said.status == 3
    assert "is behind its high-water mark" in said.sentence
    assert said.sentence.endswith("may only go on by littled restore")
    return said


@pytest.mark.long
def test_a_backup_is_refused_restored_and_served_again(littled: Littled, folder: Path) -> None:
    running = serve(folder, *marked(folder))
    fed(littled, running, 4_000)
    wait_for_release(littled, running, 0)
    assert running.stop() == 0
    backup = Path(shutil.copytree(folder / "store", folder / "backup"))
    running = serve(folder, *marked(folder))
    version = version_at(littled, running)
    fed(littled, running, 12_000)
    wait_for_release(littled, running, version)
    assert running.stop() == 0
    with Store.open(folder / "store", mark_path=folder / "mark", read_only=True) as store:
        names = {store.instance}
        last = store.releases("flights/late")[-1].version
    put_back(folder, backup)
    refused(littled, folder)
    said = littled("restore", folder / "store", *marked(folder))
    assert (said.status, said.sentence) == (
        2,
        "nothing was changed: say --yes to go on from this copy",
    )
    refused(littled, folder)
    said = littled("restore", folder / "store", *marked(folder), "--yes")
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == (
        "flights: the copy ends at position 4,000, in season 0; its mark was at position 12,000, "
        "in season 0"
    )
    (versions,) = (line for line in lines if line.startswith("flights: lost are versions "))
    assert versions.endswith(f" to {last} of flights/late")
    assert any("season 0 is closed and counts as having spent (epsilon_pure " in s for s in lines)
    assert lines[-2].startswith("flights: goes on with season 1 at position 50,000, with a new")
    assert lines[-1] == (
        f"restored {folder / 'store'}; next: littled serve {folder / 'store'} "
        f"--mark {folder / 'mark'} --unix littled.sock"
    )
    running = serve(folder, *marked(folder))
    status = littled("status", "-a", running.address, "--json").json
    shown = status["streams"]["flights"]
    assert (shown["restores"], shown["season"], shown["position"]) == (1, 1, HORIZON)
    assert shown["learners"]["late"]["version"] == last + 1
    said = littled("status", "-a", running.address)
    assert "restored from a copy, 1 times in all" in said.out
    # the same file with more lines: the lost ones are not taken again, the new ones are
    fed(littled, running, 15_000)
    assert running.stop() == 0
    assert status["instance"] not in names
    facts = verified(littled, folder)
    assert facts["examples"] == 4_000 + 3_000
    (event,) = facts["restored"]
    assert (event["position"], event["season_closed"]) == (HORIZON, 0)
    said = littled("verify", folder / "store", *marked(folder))
    assert "flights: restored from a copy, went on at position 50,000; season 0 is" in said.out
    # and once more, from the same backup
    put_back(folder, backup)
    refused(littled, folder)
    facts = littled("restore", folder / "store", *marked(folder), "--yes", "--json").json
    assert facts["instance"] not in names | {status["instance"]}
    stream = facts["streams"]["flights"]
    assert (stream["position"], stream["next_season"]) == (4_000, 2)
    running = serve(folder, *marked(folder))
    fed(littled, running, 16_000)
    assert running.stop() == 0
    assert verified(littled, folder)["examples"] == 4_000 + 1_000


def asked(folder: Path, answer: bytes) -> tuple[int, str]:
    """Restore at a terminal, and answer its question."""
    ours, theirs = pty.openpty()
    arguments = ["restore", str(folder / "store"), *marked(folder)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "littled.cli", *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answer)
    _, err = process.communicate(timeout=START_SECONDS)
    os.close(ours)
    return process.returncode, err


def test_it_asks_at_a_terminal(littled: Littled, folder: Path) -> None:
    backup = Path(shutil.copytree(folder / "store", folder / "backup"))
    with Store.open(folder / "store", mark_path=folder / "mark") as store:
        store.append([NewRecord("flights", "p", 0, 2, b"\x05\x09", b"\x00\x01")])
    put_back(folder, backup)
    status, err = asked(folder, b"n\n")
    assert status == 1
    assert "go on from this copy?" in err
    assert "nothing was changed" in err
    refused(littled, folder)
    assert asked(folder, b"y\n")[0] == 0
    assert littled("verify", folder / "store", *marked(folder)).status == 0


def test_what_cannot_be_restored_is_refused(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    said = littled("restore", tmp_path / "store", "--yes")
    assert said.status == 1
    assert "is not behind its high-water mark" in said.sentence
    said = littled("restore", tmp_path / "none", "--yes")
    assert "there is no store in" in said.sentence
    (tmp_path / "store" / "high-water-mark").unlink()
    said = littled("restore", tmp_path / "store", "--yes", "--copy")
    assert "is missing: put it back" in said.sentence


def test_a_store_served_beside_an_older_mark_lets_no_copy_learn_twice(
    littled: Littled, folder: Path
) -> None:
    running = serve(folder, *marked(folder))
    fed(littled, running, 1_000)
    assert running.stop() == 0
    backup = Path(shutil.copytree(folder / "store", folder / "backup"))
    old_mark = Path(shutil.copy(folder / "mark", folder / "old mark"))
    running = serve(folder, *marked(folder))
    fed(littled, running, 30_000)
    assert running.stop() == 0
    shutil.copy(old_mark, folder / "mark")
    said = littled("verify", folder / "store", *marked(folder))
    assert said.status == 1
    assert "by 1000, though it has come to 30000: put back the newest mark" in said.out
    running = serve(folder, *marked(folder))
    running.process.kill()
    running.process.communicate(timeout=START_SECONDS)
    assert littled("verify", folder / "store", *marked(folder)).status == 0
    put_back(folder, backup)
    refused(littled, folder)
    assert littled("restore", folder / "store", *marked(folder), "--yes").status == 0
    running = serve(folder, *marked(folder))
    fed(littled, running, 30_000)
    assert running.stop() == 0
    facts = verified(littled, folder)
    assert facts["examples"] == 1_000, "what the lost store had learned is not learned again"
