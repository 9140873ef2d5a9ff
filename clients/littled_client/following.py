"""Files that are written to while they are read, put aside when they are long, and begun anew.

A log is put aside in one of two ways: it is renamed and another file is made under its name, or it
is copied and cut to nothing. What was put aside has the same name with a number or a date, and may
be compressed later.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

from littled_client.blocks import Pause

_BLOCK_BYTES = 256 * 1024
# How often somebody looks whether a file has grown.
_LOOK_SECONDS = 0.1
# How long a file that was put aside has to be quiet, as who writes to it may not know it yet; and
# in the middle of a line, which may never be ended.
_QUIET_SECONDS = 1.0
_UNENDED_SECONDS = 10.0
# Bytes before the present place that are compared before more is read.
_REMEMBERED_BYTES = 256
_PUT_ASIDE = r"[.-]\d[\d.:T_-]*"
_COMPRESSED = r"(\.gz|\.zst)?"


class FollowedBlocks:
    """A regular file that may grow; it ends when another one is at its path, or it was cut.

    Bytes that are written up to then are read, in a file that was renamed also for a second more.
    """

    live = True
    ends_anywhere = True

    def __init__(self, path: str, stopping: Callable[[], bool]) -> None:
        """Open the file. OSError when it cannot be opened, or is no regular file."""
        self._path = Path(path)
        self._stopping = stopping
        if not stat.S_ISREG(self._path.stat().st_mode):
            raise OSError(0, "only a regular file can be followed")
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._place = 0
        self._last = b""
        self._at_end = False
        self._quiet_since: float | None = None

    def read(self, until: float | None) -> bytes:
        """Return the next bytes, none when the file was put aside; see `Blocks`."""
        while True:
            if self._stopping() or (until is not None and time.monotonic() >= until):
                raise Pause
            if self._at_end and not self._still_holds():
                return b""
            block = os.pread(self._descriptor, _BLOCK_BYTES, self._place)
            if block:
                self._place += len(block)
                self._last = (self._last + block)[-_REMEMBERED_BYTES:]
                self._at_end, self._quiet_since = False, None
                return block
            self._at_end = True
            if self._is_replaced():
                now = time.monotonic()
                self._quiet_since = self._quiet_since or now
                is_line = not self._last or self._last.endswith(b"\n")
                wanted = _QUIET_SECONDS if is_line else _UNENDED_SECONDS
                if now - self._quiet_since >= wanted:
                    return b""
            time.sleep(_LOOK_SECONDS)

    def part(self, done_bytes: int) -> float | None:
        """Return None: nobody knows when it ends."""
        return None

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _still_holds(self) -> bool:
        """Whether the file was not cut, and perhaps written anew, before the present place."""
        length = len(self._last)
        return os.pread(self._descriptor, length, self._place - length) == self._last

    def _is_replaced(self) -> bool:
        own = os.fstat(self._descriptor)
        try:
            there = self._path.stat()
        except OSError:
            return False  # not yet
        return (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino)


def put_aside(path: str) -> list[str]:
    """Return the files beside a log that were put aside under its name, the newest first.

    One that is being compressed is still there as it was, and counts as that.
    """
    log = Path(path)
    stem, suffix = re.escape(log.stem), re.escape(log.suffix)
    pattern = re.compile(
        f"({stem}{suffix}{_PUT_ASIDE}|{stem}{_PUT_ASIDE}{suffix}){_COMPRESSED}", re.DOTALL
    )
    found = []
    others = {other.name: other for other in log.parent.iterdir() if pattern.fullmatch(other.name)}
    for name, other in others.items():
        plain = re.sub(f"{_COMPRESSED}$", "", name)
        is_unfinished = plain != name and plain in others
        facts = None if is_unfinished else _facts(other)
        if facts is not None and stat.S_ISREG(facts.st_mode):
            found.append((facts.st_mtime_ns, str(other)))
    return [name for _, name in sorted(found, reverse=True)]


def _facts(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
