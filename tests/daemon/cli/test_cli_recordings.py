"""Recordings: written offline or while feeding, replayed, resumed."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from littled.cli.resuming import producer_name
from littled_client import Client, RecordingReader
from littled_client.fed import Fed, FedFiles
from littled_client.sources import Source
from support.batches import pair
from support.commands import START_SECONDS, Daemon, Littled, flights_csv, position, start

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


# --- Recordings that begin later, and pipes -------------------------------------------------------


def feed_points(daemon: Daemon, producer: str, count: int, record: Path | None = None) -> None:
    """Feed a producer's examples up to a number, in frames of 50."""
    with (
        Client(daemon.address, producer=producer) as client,
        client.feed("flights", record=record) as feeder,
    ):
        for first in range(feeder.next_sequence, count, 50):
            numbers = range(first, min(first + 50, count))
            feeder.send([number % 256 for number in numbers], [number % 2 for number in numbers])


@pytest.fixture
def later(daemon: Daemon, tmp_path: Path) -> Path:
    """A recording of examples 300 to 799 of a producer."""
    path = tmp_path / "later.littled"
    feed_points(daemon, str(tmp_path), 300)
    feed_points(daemon, str(tmp_path), 800, path)
    return path


def test_a_recording_goes_on_by_its_numbers_under_its_producers_name(
    littled: Littled, daemon: Daemon, later: Path
) -> None:
    """The store that came back has 350 of the 800."""
    feed_points(daemon, "came-back", 350)
    before = position(daemon)
    replay = ["replay", later, "--producer", "came-back", "-a", daemon.address, "--json"]
    for fed in (450, 0):
        said = littled(*replay).json
        assert (said["examples"], said["acknowledged"]) == (fed, 800)
    assert position(daemon) == before + 450


def test_one_recording_after_the_other_goes_on_under_one_name(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.littled", tmp_path / "second.littled"
    feed_points(daemon, "twice", 300, first)
    feed_points(daemon, "twice", 800, second)
    where = ["--producer", "again", "-a", daemon.address, "--json"]
    for file, command in (
        (first, "replay"),
        (second, "replay"),
        (second, "feed"),
        (second, "feed"),
    ):
        target = ["flights", file] if command == "feed" else [file]
        said = littled(command, *target, *where).json
    assert (said["examples"], said["acknowledged"]) == (0, 800)


@pytest.mark.parametrize("has", [0, 200])
def test_a_recording_is_refused_where_examples_before_it_are_missing(
    littled: Littled, daemon: Daemon, later: Path, has: int
) -> None:
    feed_points(daemon, f"has-{has}", has)
    before = position(daemon)
    said = littled("replay", later, "--producer", f"has-{has}", "-a", daemon.address)
    assert said.status == 1
    words = " ".join(said.err.split())
    assert "later.littled begins with example 300 of the producer that was recorded" in words
    assert f"the stream has {has} under this name: feed those before it first" in words
    assert position(daemon) == before


def test_a_recording_that_begins_later_is_a_producer_of_its_own_under_no_name(
    littled: Littled, daemon: Daemon, later: Path
) -> None:
    where = ["-a", daemon.address, "--json"]
    usual = producer_name("flights", str(later))
    for name, fed in (([], 500), ([], 0), (["--producer", usual], 0)):
        said = littled("replay", later, *name, *where).json
        assert (said["producer"], said["examples"], said["acknowledged"]) == (usual, fed, 500)


def test_a_recording_that_was_fed_under_a_name_goes_on_as_it_began(
    littled: Littled, daemon: Daemon, later: Path
) -> None:
    feed_points(daemon, "began", 400)
    source = Source(later)
    marks = [source.mark() for _ in source]
    with Client(daemon.address) as client:
        instance = client.instance_of("flights")
    files = FedFiles.usual()
    assert files is not None
    assert marks[7] is not None
    files.keep(Fed(instance, "flights", "began", str(later), 400, (marks[7],)))
    replay = ["replay", later, "--producer", "began", "-a", daemon.address, "--json"]
    said = littled(*replay).json
    assert (said["examples"], said["acknowledged"]) == (100, 500)


@pytest.mark.parametrize("way", ["named", "descriptor", "standard input"])
def test_a_recording_is_fed_from_a_pipe(daemon: Daemon, later: Path, way: str) -> None:
    """All of it, under its producer's name the rest of it."""
    producer = way.replace(" ", "-")
    feed_points(daemon, producer, 350)
    before = position(daemon)
    pipe = later.with_name("pipe")
    os.mkfifo(pipe)
    name = {"named": str(pipe), "descriptor": "/dev/fd/0", "standard input": "-"}[way]
    feed = ["feed", "flights", name, "--format", "recording", "--producer", producer]
    process = start(*feed, "-a", daemon.address, stdin=subprocess.PIPE)
    assert process.stdin is not None
    descriptor = os.open(pipe, os.O_WRONLY) if way == "named" else os.dup(process.stdin.fileno())
    with os.fdopen(descriptor, "wb") as writer:
        writer.write(later.read_bytes())
    _, err = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 0, err
    assert position(daemon) == before + 450


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
