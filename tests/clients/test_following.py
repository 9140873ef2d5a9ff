"""Files that grow, are put aside and begun anew."""

import gzip
import os
import threading
import time
from pathlib import Path

import pytest

from littled_client.blocks import Pause
from littled_client.following import FollowedBlocks, put_aside


def never() -> bool:
    return False


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with one line."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"one\n")
    return path


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def everything(blocks: FollowedBlocks) -> bytes:
    try:
        return b"".join(iter(lambda: blocks.read(time.monotonic() + 5.0), b""))
    finally:
        blocks.close()


def test_a_file_that_grows_is_read_on(log: Path) -> None:
    blocks = FollowedBlocks(str(log), never)
    assert blocks.live
    assert blocks.part(1) is None
    assert blocks.read(None) == b"one\n"
    with pytest.raises(Pause):
        blocks.read(time.monotonic() + 0.2)
    threading.Timer(0.1, append, (log, b"two\n")).start()
    assert blocks.read(None) == b"two\n"
    blocks.close()


def test_who_waits_can_be_told_to_stop(log: Path) -> None:
    stop = threading.Event()
    blocks = FollowedBlocks(str(log), stop.is_set)
    assert blocks.read(None) == b"one\n"
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Pause):
        blocks.read(None)
    blocks.close()


@pytest.mark.long
def test_a_renamed_file_is_read_until_it_is_quiet(log: Path) -> None:
    blocks = FollowedBlocks(str(log), never)
    assert blocks.read(None) == b"one\n"
    old = log.with_suffix(".csv.1")
    log.rename(old)
    with pytest.raises(Pause):
        blocks.read(time.monotonic() + 1.5)  # there is no other file yet
    log.write_bytes(b"new\n")
    threading.Timer(0.5, append, (old, b"late\n")).start()
    assert everything(blocks) == b"late\n"


def test_a_file_that_was_renamed_in_the_middle_of_a_line_is_waited_for_longer(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled_client.following._QUIET_SECONDS", 0.0)
    append(log, b"tw")
    blocks = FollowedBlocks(str(log), never)
    assert blocks.read(None) == b"one\ntw"
    old = log.with_suffix(".csv.1")
    log.rename(old)
    log.write_bytes(b"new\n")
    with pytest.raises(Pause):
        blocks.read(time.monotonic() + 0.3)
    append(old, b"o\n")
    assert everything(blocks) == b"o\n"


def test_in_a_line_that_nobody_ends_a_file_ends_all_the_same(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled_client.following._UNENDED_SECONDS", 0.2)
    append(log, b"tw")
    blocks = FollowedBlocks(str(log), never)
    log.rename(log.with_suffix(".csv.1"))
    log.write_bytes(b"new\n")
    assert everything(blocks) == b"one\ntw"


def test_a_file_that_is_being_compressed_counts_as_it_was(log: Path) -> None:
    for name in ("log.csv.1", "log.csv.1.gz", "log-2026-01-02.csv.zst", "log.csv.3.gz"):
        log.with_name(name).write_bytes(b"")
    found = {Path(each).name for each in put_aside(str(log))}
    assert found == {"log.csv.1", "log-2026-01-02.csv.zst", "log.csv.3.gz"}


@pytest.mark.parametrize("anew", [b"", b"new\n", b"other lines than the first, and longer\n"])
def test_a_file_that_was_cut_ends(log: Path, anew: bytes) -> None:
    blocks = FollowedBlocks(str(log), never)
    assert blocks.read(None) == b"one\n"
    with pytest.raises(Pause):
        blocks.read(time.monotonic() + 0.15)
    os.truncate(log, 0)
    append(log, anew)
    assert everything(blocks) == b""


def test_only_a_regular_file_is_followed(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="only a regular file"):
        FollowedBlocks(str(tmp_path), never)
    with pytest.raises(FileNotFoundError):
        FollowedBlocks(str(tmp_path / "none"), never)


def test_what_was_put_aside_is_known_by_its_name(log: Path) -> None:
    names = [
        "log.csv.1",
        "log.csv.2.gz",
        "log.csv-20261123",
        "log.csv.2026-11-23T04:00.zst",
        "log-20261122.csv",
        "log.3.csv.gz",
    ]
    others = ["log.csv~", "log.csv.bak", "log.csv.old.1", "log2.csv", "catalog.csv.1", "log.csv.gz"]
    for age, name in enumerate([*names, *others]):
        path = log.with_name(name)
        path.write_bytes(gzip.compress(b""))
        os.utime(path, (0, 1_000_000 - age))
    log.with_name("log.csv.9").mkdir()
    assert put_aside(str(log)) == [str(log.with_name(name)) for name in names]
