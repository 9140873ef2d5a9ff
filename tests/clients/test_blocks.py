"""Bytes of files and pipes: compressed, slow, or never coming."""

import gzip
import io
import os
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pyarrow
import pytest

from littled_client.blocks import Blocks, Pause, open_blocks
from littled_client.errors import SourceError

CONTENT = b"delay,late\n" + b"7,0\n" * 200_000


def never() -> bool:
    return False


def everything(blocks: Blocks) -> bytes:
    with closing(blocks):
        return b"".join(iter(lambda: blocks.read(None), b""))


def compressed(path: Path, how: str) -> Path:
    if how == "zstd":
        with pyarrow.OSFile(str(path), "wb") as raw, pyarrow.CompressedOutputStream(raw, how) as to:
            to.write(CONTENT)
    else:
        path.write_bytes(gzip.compress(CONTENT) if how == "gzip" else CONTENT)
    return path


@pytest.mark.parametrize("how", ["gzip", "zstd", "not at all"])
def test_a_file_is_read_as_its_first_bytes_say(tmp_path: Path, how: str) -> None:
    path = compressed(tmp_path / "a.csv", how)
    blocks = open_blocks(str(path), never)
    assert not blocks.live
    assert blocks.part(0) == 0 or how != "not at all"
    assert everything(blocks) == CONTENT


def test_two_compressed_files_in_one_are_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert everything(open_blocks(str(path), never)) == b"one\ntwo\n"


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path: Path, how: str) -> None:
    path = compressed(tmp_path / "a.csv", how)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SourceError, match=r"a\.csv is damaged or cut off"):
        everything(open_blocks(str(path), never))


def test_without_pyarrow_there_is_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = compressed(tmp_path / "a.csv", "zstd")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"pip install 'littled\[parquet\]'"):
        open_blocks(str(path), never)


def test_the_part_that_was_read_is_known_of_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT)
    blocks = open_blocks(str(path), never)
    assert blocks.part(len(CONTENT) // 2) == pytest.approx(0.5, abs=1e-5)
    blocks.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe that nobody has opened."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_waits_for_a_writer_and_ends_with_the_last(pipe: Path) -> None:
    blocks = open_blocks(str(pipe), never)
    assert blocks.live
    assert blocks.part(1) is None
    with pytest.raises(Pause):
        blocks.read(time.monotonic() + 0.05)
    with pipe.open("wb", buffering=0) as writer:
        writer.write(b"one")
        assert blocks.read(None) == b"one"
        began = time.monotonic()
        with pytest.raises(Pause):
            blocks.read(began + 0.05)
        assert 0.05 <= time.monotonic() - began < 1.0
        writer.write(b"two")
        assert blocks.read(time.monotonic() + 5.0) == b"two"
    assert blocks.read(None) == b""
    blocks.close()


def test_who_waits_for_a_pipe_can_be_told_to_stop(pipe: Path) -> None:
    stop = threading.Event()
    blocks = open_blocks(str(pipe), stop.is_set)
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Pause):
        blocks.read(None)
    blocks.close()


def test_standard_input_may_be_a_stand_in_without_a_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    blocks = open_blocks("-", never)
    assert (blocks.live, blocks.part(1)) == (False, None)
    assert everything(blocks) == b"one\n"
    assert not sys.stdin.closed
