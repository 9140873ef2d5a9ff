"""Where a high-water mark is kept: read, and replaced by comparison with what was read.

A register is the one thing outside a store that tells its copies apart, so nobody writes a mark
without saying what it takes the place of: what another process has written meanwhile is noticed,
and is fatal. A file has no such operation of its own. It is read before it is written, so what
happens between the two is not noticed; `littled.store.etcd_register` has a register that does both
at once.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from littled.limits import MARK_FILE_BYTES_MAX
from littled.store.errors import StoreFailed, StoreRefused
from littled.store.files import read_limited, replace_private
from littled.store.mark import HighWaterMark, StoreMoved, moved_bytes

_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)


class Revision(Protocol):
    """What a register held at one moment; only the register that gave it can read more of it."""

    @property
    def lost(self) -> str:
        """A sentence where the mark is known to be older than what was shown, else nothing."""


class Register(Protocol):
    """One high-water mark, wherever it is kept. For one thread."""

    def empty(self) -> bool:
        """Whether nothing is there, not even what is left of a mark. StoreFailed."""

    def moved_to(self) -> str | None:
        """Where the store of the mark was moved to, None while it was not, or without a mark.

        StoreFailed.
        """

    def read(self) -> tuple[HighWaterMark, Revision]:
        """The mark as it is now. StoreRefused: it is missing, damaged or buried. StoreFailed."""

    def create(self, mark: HighWaterMark) -> Revision:
        """Put a first mark. StoreRefused, changing nothing, where there is one; StoreFailed."""

    def replace(self, mark: HighWaterMark, expected: Revision) -> Revision:
        """Replace what was there at the revision `expected`, durable on return.

        Raises StoreFailed, after which nothing may be shown: somebody else has written meanwhile,
        or it is not known what is there.
        """

    def claim(self, mark: HighWaterMark, expected: Revision) -> Revision:
        """The same as the one that owns the mark from now on, which does the first writing."""

    def bury(self, target: str, expected: Revision) -> None:
        """Put in its place where its store was moved to, durable on return, which no store passes.

        Raises StoreFailed as `replace` does.
        """

    def discard(self) -> None:
        """Take away a mark that this object has created and nobody has read. StoreFailed."""

    def close(self) -> None:
        """Let go of what the register holds; nothing happens the second time."""


def buried(place: str, target: str) -> StoreRefused:
    """What is said of a mark whose store was moved away."""
    return StoreRefused(
        f"the store of the high-water mark {place} was moved to {target}: use it there, with its "
        "own mark; what is left of it here, and every older copy, is used by nobody"
    )


def current(register: Register) -> tuple[HighWaterMark, Revision]:
    """The mark as it is now. StoreRefused also where it is known to be an old one."""
    mark, revision = register.read()
    if revision.lost:
        raise StoreRefused(revision.lost)
    return mark, revision


@dataclass(frozen=True, slots=True)
class FileRevision:
    """The contents of a file, which does not say how old it is."""

    data: bytes
    lost: str = ""


class FileRegister:
    """A mark in a file of its own, replaced as a whole; the lock of the store's folder owns it."""

    def __init__(self, path: Path) -> None:
        """Keep the mark in this file."""
        self._path = path

    def empty(self) -> bool:
        """See Register."""
        return not os.path.lexists(self._path)

    def moved_to(self) -> str | None:
        """See Register."""
        try:
            HighWaterMark.from_bytes(read_limited(self._path, MARK_FILE_BYTES_MAX))
        except StoreMoved as error:
            return str(error)
        except (*_UNREADABLE, OSError, StoreRefused):
            pass  # whoever reads the mark says what is wrong
        return None

    def read(self) -> tuple[HighWaterMark, FileRevision]:
        """See Register."""
        path = self._path
        try:
            data = read_limited(path, MARK_FILE_BYTES_MAX)
            return HighWaterMark.from_bytes(data), FileRevision(data)
        except StoreMoved as error:
            raise buried(str(path), str(error)) from None
        except FileNotFoundError:
            raise StoreRefused(
                f"the high-water mark {path} is missing: put it back; without it nobody can tell "
                "whether this store is an older copy that hides spent budget"
            ) from None
        except OSError as error:
            raise StoreRefused(
                f"the high-water mark {path} cannot be read: {error.strerror}"
            ) from error
        except _UNREADABLE as error:
            raise StoreRefused(
                f"the high-water mark {path} is damaged: put back the newest copy of it"
            ) from error

    def create(self, mark: HighWaterMark) -> FileRevision:
        """See Register."""
        if self._path.exists():
            raise StoreRefused(f"{self._path} is the high-water mark of another store: keep it")
        try:
            return self._write(mark.to_bytes())
        except BaseException:
            with suppress(StoreFailed):
                self.discard()
            raise

    def replace(self, mark: HighWaterMark, expected: Revision) -> FileRevision:
        """See Register."""
        return self._replace(mark.to_bytes(), expected)

    def _replace(self, data: bytes, expected: Revision) -> FileRevision:
        assert isinstance(expected, FileRevision)
        try:
            found = read_limited(self._path, MARK_FILE_BYTES_MAX)
        except OSError as error:
            raise _failed(error) from error
        if found != expected.data:
            raise StoreFailed(
                f"the high-water mark {self._path} was changed by another process: a store has one "
                "mark, and one process that serves it; see which other one writes there"
            )
        return self._write(data)

    def bury(self, target: str, expected: Revision) -> None:
        """See Register."""
        instance = self.read()[0].instance
        self._replace(moved_bytes(instance, target), expected)

    def claim(self, mark: HighWaterMark, expected: Revision) -> FileRevision:
        """See Register; a mark that is as it should be is not written."""
        assert isinstance(expected, FileRevision)
        return expected if mark.to_bytes() == expected.data else self.replace(mark, expected)

    def discard(self) -> None:
        """See Register."""
        try:
            self._path.with_name(f"{self._path.name}.new").unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise _failed(error) from error

    def close(self) -> None:
        """See Register; there is nothing to let go."""

    def _write(self, data: bytes) -> FileRevision:
        try:
            replace_private(self._path, data)
        except OSError as error:
            raise _failed(error) from error
        return FileRevision(data)


def _failed(error: OSError) -> StoreFailed:
    return StoreFailed(f"the high-water mark cannot be advanced: {error.strerror}")
