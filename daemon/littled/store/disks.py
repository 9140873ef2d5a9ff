"""What files beside the database ask of the system, and what its errors are for a store.

Column files and the tail go through here, so that a test can put a disk that fails or loses power
underneath them, as it does underneath SQLite.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from littled.store.errors import StoreFailed
from littled.store.files import create_private, sync_folder


class Disk:
    """What is asked of the system for files beside the database. All raise OSError."""

    def create(self, path: Path) -> None:
        """Make an empty file, which must not exist."""
        create_private(path, b"")

    def sync_names(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        sync_folder(folder)

    def open(self, path: Path, flags: int) -> int:
        """A descriptor of a file that exists."""
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)

    def write(self, descriptor: int, path: Path, parts: Sequence[bytes], start: int) -> int:
        """Write some bytes one after the other; how many were written."""
        return os.pwritev(descriptor, parts, start)

    def sync(self, descriptor: int, path: Path) -> None:
        """Make what was written durable."""
        os.fdatasync(descriptor)

    def read(self, descriptor: int, path: Path, size: int, start: int) -> bytes:
        """Bytes of a file, fewer at its end."""
        return os.pread(descriptor, size, start)

    def read_all(self, descriptor: int, path: Path, size: int, start: int) -> bytes:
        """So many bytes of a file, fewer only at its end.

        What comes before a part that cannot be read is given without an error, which the next call
        has.
        """
        data = b""
        while len(data) < size:
            more = self.read(descriptor, path, size - len(data), start + len(data))
            if not more:
                break
            data += more
        return data

    def remove(self, path: Path) -> None:
        """Remove a file; its name may come back after a power cut."""
        path.unlink()


DISK: Final = Disk()
# By name of an SQLite file system, the disk for other files of stores that are opened on it.
DISKS: Final[dict[str | None, Disk]] = {}


def failure(error: OSError) -> StoreFailed:
    """What the system's error is for a store."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFailed("the disk is full: make room, then start again")
    code = errno.errorcode.get(error.errno or 0, "unknown")
    return StoreFailed(f"the disk failed ({code}): look at the system's log")


class _Failing:
    """What `failing` returns; a generator would take four times as long."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise what is to be raised in place of an error."""
        if isinstance(error, OSError):
            raise failure(error) from error


_FAILING = _Failing()


def failing() -> AbstractContextManager[None]:
    """Turn what the system raises into StoreFailed."""
    return _FAILING
