"""Bytes of files and pipes as they come, so that what is there can be used before more comes.

A file ends at its end. A pipe is live: whoever reads it may say until when to wait for more, and
may be told to stop meanwhile by a signal or another thread.
"""

from __future__ import annotations

import gzip
import os
import select
import stat
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

from littled_client.errors import SourceError

STANDARD_INPUT = "-"
_FILE_BYTES = 256 * 1024
_PIPE_BYTES = 64 * 1024
# How often who waits for a pipe looks whether it is to stop.
_LOOK_SECONDS = 0.1
_GZIP_BEGINS = b"\x1f\x8b"
_ZSTD_BEGINS = b"\x28\xb5\x2f\xfd"


class Pause(Exception):
    """Nothing more came until the time that was given, or who reads is to stop."""


class Blocks(Protocol):
    """Bytes in their order; a context manager that closes what it opened."""

    live: bool
    """Whether what is there now may be all for a long time."""

    ends_anywhere: bool
    """Whether the end may be in the middle of a line, which is whole in another file."""

    def read(self, until: float | None) -> bytes:
        """Return the next bytes, none at the end.

        until: when to give up, on the monotonic clock; None waits without end. Raises Pause then,
        and when it is to stop; OSError or SourceError when it cannot be read.
        """

    def part(self, done_bytes: int) -> float | None:
        """Return the part that the first bytes handed out are, 0 to 1; None when that is unknown.

        done_bytes: how many of them.
        """

    def close(self) -> None:
        """Close the file."""


def is_pipe(path: str) -> bool:
    """Whether a path is standard input, or something else that may be read only once."""
    try:
        return path == STANDARD_INPUT or not stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:  # whoever opens it says why it cannot be read
        return False


def open_blocks(path: str, stopping: Callable[[], bool]) -> Blocks:
    """Open a file, compressed or not, a pipe, or standard input for "-".

    stopping: whether to stop. Raises OSError or SourceError when it cannot be opened.
    """
    if path == STANDARD_INPUT:
        return _standard_input(stopping)
    if not stat.S_ISREG(Path(path).stat().st_mode):
        # A pipe is opened at once, although nobody may write to it yet.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return PipeBlocks(descriptor, stopping, closes=True)
    return FileBlocks(path, stopping)


def _standard_input(stopping: Callable[[], bool]) -> Blocks:
    try:
        return PipeBlocks(sys.stdin.buffer.fileno(), stopping, closes=False)
    except OSError:  # a program's own stand-in, without a descriptor
        return _ObjectBlocks(sys.stdin.buffer)


class FileBlocks:
    """A regular file, taken apart when its first bytes say that it is compressed."""

    live = False
    ends_anywhere = False

    def __init__(self, path: str, stopping: Callable[[], bool]) -> None:
        """Open the file."""
        self._stopping = stopping
        self._raw = Path(path).open("rb")  # noqa: SIM115 - closed by `close`
        try:
            self._size = os.fstat(self._raw.fileno()).st_size
            self._file = _decompressed(self._raw, path)
        except BaseException:
            self._raw.close()
            raise

    def read(self, until: float | None) -> bytes:
        """Return the next bytes, none at the end; see `Blocks`."""
        if self._stopping():
            raise Pause
        try:
            return cast("bytes", self._file.read(_FILE_BYTES))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise SourceError(f"{self._raw.name} is damaged or cut off") from None
        except OSError as error:
            if self._file is self._raw:
                raise
            raise SourceError(f"{self._raw.name} is damaged or cut off") from error

    def part(self, done_bytes: int) -> float | None:
        """Return the part of the file that was used; of a compressed one that was read."""
        if self._file is not self._raw:
            done_bytes = self._raw.tell()
        return min(done_bytes / self._size, 1.0) if self._size else None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if not self._raw.closed:
            self._raw.close()


class PipeBlocks:
    """A pipe, a terminal or whatever else has a descriptor."""

    live = True
    ends_anywhere = False

    def __init__(self, descriptor: int, stopping: Callable[[], bool], *, closes: bool) -> None:
        """Read from an open descriptor; `closes` says whether it is closed in the end."""
        self._descriptor = descriptor
        self._stopping = stopping
        self._closes = closes
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def read(self, until: float | None) -> bytes:
        """Return the next bytes, none once all who write have closed; see `Blocks`."""
        while True:
            if self._stopping() or (until is not None and time.monotonic() >= until):
                raise Pause
            left = _LOOK_SECONDS if until is None else until - time.monotonic()
            if self._poll.poll(1000.0 * max(0.0, min(left, _LOOK_SECONDS))):
                return os.read(self._descriptor, _PIPE_BYTES)

    def part(self, done_bytes: int) -> float | None:
        """Return None: nobody knows when a pipe ends."""
        return None

    def close(self) -> None:
        """Close the descriptor if it was opened for this."""
        if self._closes:
            os.close(self._descriptor)


class _ObjectBlocks:
    """A file object without a descriptor, which is not closed."""

    live = False
    ends_anywhere = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, until: float | None) -> bytes:
        return cast("bytes", self._file.read(_PIPE_BYTES))

    def part(self, done_bytes: int) -> float | None:
        return None

    def close(self) -> None:
        pass


def _decompressed(raw: Any, path: str) -> Any:
    """Return what reads the content of a file; the file itself when it is not compressed."""
    begins = raw.read(len(_ZSTD_BEGINS))
    raw.seek(0)
    if begins.startswith(_GZIP_BEGINS):
        return gzip.GzipFile(fileobj=raw)
    if begins != _ZSTD_BEGINS:
        return raw
    try:
        import pyarrow  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise SourceError(
            f"reading {path}, which is compressed with zstd, needs pyarrow; install it with: "
            "pip install 'littled[parquet]'"
        ) from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd")
