"""Recordings: written offline or while feeding, replayed, resumed."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from littled_client import RecordingReader
from support.batches import pair
from support.commands import Daemon, Littled, flights_csv

COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]


def examples(path: Path) -> list[tuple[int, int]]:
    with RecordingReader(path) as recording:
        return [
            (int(x), int(y))
            for points, labels in map(pair, recording.batches())
            for x, y in zip(points, labels, strict=True)
        ]


def test_a_recording_made_offline_holds_the_file(littled: Littled, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 700)
    recording = tmp_path / "day.littled"
    said = littled("record", "flights", file, recording, *COLUMNS, "--x-type", "u8")
    assert (said.status, said.out) == (0, f"{recording}: 700 examples of flights\n")
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600
    rows = [line.split(",") for line in file.read_text().splitlines()[1:]]
    assert examples(recording) == [(int(delay) + 30, int(late)) for delay, late in rows]


def test_a_recording_is_replayed_once(littled: Littled, daemon: Daemon, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 700)
    recording = tmp_path / "day.littled"
    where = ["-a", daemon.address]
    assert littled("record", "flights", file, recording, *COLUMNS, *where).status == 0
    first = littled("replay", recording, *where, "--json").json
    assert (first["stream"], first["examples"]) == ("flights", 700)
    second = littled("replay", recording, *where, "--json").json
    assert (second["examples"], second["acknowledged"]) == (0, 700)
    assert second["producer"] == first["producer"]
    fed = littled("feed", "flights", recording, *where, "--json").json
    assert fed["examples"] == 0


def test_what_is_fed_can_be_recorded_on_the_way(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.csv", 700)
    recording = tmp_path / "tee.littled"
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address, "--record", recording]
    assert littled(*feed).status == 0
    assert len(examples(recording)) == 700
    with RecordingReader(recording) as read:
        assert read.stream == "flights"


@pytest.mark.parametrize("name", ["flights.csv", "day.rec"])
def test_a_recording_needs_its_suffix(littled: Littled, tmp_path: Path, name: str) -> None:
    file = flights_csv(tmp_path / "in.csv", 3)
    target = tmp_path / name
    said = littled("record", "flights", file, target, *COLUMNS, "--x-type", "u8")
    assert said.status == 1
    assert ".littled" in said.sentence
    assert not target.exists()


def limit_files() -> None:
    """As on a disk that is full after so many bytes of one file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("count", [3000, 20_000])  # which is met when it is closed, or before
def test_a_recording_that_cannot_be_written_is_said_to_be_one(
    count: int, daemon: Daemon, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.csv", count)
    made, tee = tmp_path / "made.littled", tmp_path / "tee.littled"
    for command in (
        ["record", "flights", file, made, *COLUMNS, "--x-type", "u8"],
        ["feed", "flights", file, *COLUMNS, "-a", daemon.address, "--record", tee],
    ):
        words = [sys.executable, "-m", "littled.cli", *map(str, command)]
        done = subprocess.run(
            words, preexec_fn=limit_files, capture_output=True, text=True, check=False
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 1
        assert f"cannot write {command[-1] if tee in command else made}: File too large" in said
        assert "defect" not in said
    assert not made.exists()


def test_nothing_is_left_of_a_recording_that_failed(littled: Littled, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    with file.open("a") as lines:
        lines.write("x,1\n")
    target = tmp_path / "day.littled"
    said = littled("record", "flights", file, target, *COLUMNS, "--x-type", "u8")
    assert said.status == 1
    assert "line 5 of " in said.sentence
    assert not target.exists()


def test_what_exists_is_not_recorded_over(littled: Littled, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    target = tmp_path / "day.littled"
    target.write_text("kept")
    said = littled("record", "flights", file, target, *COLUMNS, "--x-type", "u8")
    assert (said.status, target.read_text()) == (1, "kept")
    assert "exists already" in said.sentence


def test_an_unknown_type_or_stream_is_refused(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.csv", 3)
    target = tmp_path / "day.littled"
    said = littled("record", "flights", file, target, *COLUMNS, "--x-type", "u9")
    assert said.status == 1
    assert "u9" in said.sentence or "type" in said.sentence
    said = littled("record", "trains", file, target, *COLUMNS, "-a", daemon.address)
    assert said.sentence == f"the daemon at {daemon.address} has no stream 'trains'"
    assert not target.exists()


def test_a_torn_recording_is_refused(littled: Littled, daemon: Daemon, tmp_path: Path) -> None:
    file = flights_csv(tmp_path / "flights.csv", 700)
    recording = tmp_path / "day.littled"
    assert littled("record", "flights", file, recording, *COLUMNS, "--x-type", "u8").status == 0
    recording.write_bytes(recording.read_bytes()[:-5])
    said = littled("replay", recording, "-a", daemon.address)
    assert said.status == 1
    assert "day.littled" in said.sentence
    recording.write_bytes(b"delay,late\n")
    assert "day.littled" in littled("replay", recording, "-a", daemon.address).sentence


# --- Pipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["named", "descriptor"])
def test_a_pipe_is_fed_and_not_replayed(
    littled: Littled, daemon: Daemon, tmp_path: Path, way: str
) -> None:
    """As its header would have to be read twice."""
    os.mkfifo(pipe := tmp_path / "pipe.littled")
    if way == "named":
        reading = os.open(pipe, os.O_RDWR)  # for both, as nobody writes yet
        name, writing = str(pipe), os.dup(reading)
    else:
        reading, writing = os.pipe()
        name = f"/dev/fd/{reading}"
    os.write(writing, b"no recording")
    said = littled("replay", name, "-a", daemon.address)
    os.close(reading)
    os.close(writing)
    assert said.status == 2
    assert f"littled feed STREAM {name} --format recording" in " ".join(said.err.split())
