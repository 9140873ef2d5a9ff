"""Files of a store: private, written whole or not at all, and durable including their names."""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from littled.store.errors import StoreRefused

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_OTHERS = 0o007
# What stands in a lock that is held for a moment.
_BRIEFLY = b"briefly\n"
_GROUP_AND_OTHERS = 0o077

Identity = tuple[int, int]
"""Device and inode of a file."""


def identity(path: Path) -> Identity | None:
    """Which file a name leads to; None where there is none."""
    try:
        return _identity(path.stat())
    except OSError:
        return None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a synced file whose name is lost is lost. OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_name(folder: Path) -> None:
    """Make a folder's own name durable: who made it may not have, and it may be new. OSError.

    Where its parent cannot be read, that is left to whoever may.
    """
    with suppress(PermissionError):
        sync_folder(folder.absolute().parent)


def create_private(path: Path, data: bytes) -> None:
    """Write a new file of mode 0600, durable except for its name; or leave none behind.

    OSError when it exists or cannot be written.
    """
    descriptor = _opened(path, os.O_EXCL)
    try:
        _fill(descriptor, data)
    except BaseException:
        path.unlink()
        raise


def replace_private(path: Path, data: bytes) -> None:
    """Replace a file's contents, durable on return; at every moment the old or the new. OSError.

    The new contents are written next to it, with `.new` after the name.
    """
    arriving = path.with_name(f"{path.name}.new")
    _fill(_opened(arriving, os.O_TRUNC), data)
    arriving.replace(path)
    sync_folder(path.parent)


def _opened(path: Path, flag: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flag
    return os.open(path, flags, PRIVATE_FILE)


def _fill(descriptor: int, data: bytes) -> None:
    """Write, sync and close."""
    try:
        os.fchmod(descriptor, PRIVATE_FILE)  # whatever the umask took away
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_limited(path: Path, bytes_max: int) -> bytes:
    """Contents of a file that has at most `bytes_max` bytes. StoreRefused when longer; OSError."""
    with path.open("rb") as file:
        # Room for all that it may have would be taken at once, if that was asked for.
        data = file.read(min(os.fstat(file.fileno()).st_size, bytes_max) + 1)
    if len(data) > bytes_max:
        raise StoreRefused(f"{path} is longer than {bytes_max} bytes: it is not what it should be")
    return data


def refuse_readable(path: Path, *, group_may_read: bool = False) -> None:
    """Raise StoreRefused when other users can reach a private file. OSError when it is missing.

    group_may_read: a credential handed over by systemd shows its access list as the group's bits.
    """
    forbidden = _OTHERS if group_may_read else _GROUP_AND_OTHERS
    if path.stat().st_mode & forbidden:
        raise StoreRefused(f"other users can reach {path}, which is private: run chmod 600 {path}")


class HeldBriefly(StoreRefused):
    """Somebody holds a lock for a moment, to bring in what a crash has left."""


class FolderLock:
    """An exclusive lock on a folder, held by one object of one process until `release`.

    The kernel's record lock ends with the process, however it ends, and is not handed on to forked
    children. It does not hold off this same process; the set of what is held does. Who holds it
    only for a moment says so in the file, so that others know that they may wait.
    """

    _held: ClassVar[dict[Identity, bool]] = {}  # and whether briefly
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path, *, briefly: bool = False) -> None:
        """Lock by the file `path`, made if missing; OSError.

        briefly: it is released soon, without being asked. HeldBriefly when it is held so already,
        StoreRefused when it is held otherwise.
        """
        with self._guard:
            # Looked at without opening: closing any descriptor of the file would drop the lock.
            held = self._held.get(_identity(path.stat())) if path.exists() else None
            if held is not None:
                kind = HeldBriefly if held else StoreRefused
                raise kind(f"this process has opened the store in {path.parent} already")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor: int | None = os.open(path, flags, PRIVATE_FILE)
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError) as error:  # held, by either name of it
                try:
                    said = os.pread(self._descriptor, len(_BRIEFLY), 0)
                finally:
                    os.close(self._descriptor)
                kind = HeldBriefly if said == _BRIEFLY else StoreRefused
                raise kind(
                    f"another process serves the store in {path.parent}: stop it first"
                ) from error
            except OSError:
                os.close(self._descriptor)
                raise
            with suppress(OSError):  # of a full disk; then others do not wait
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, _BRIEFLY if briefly else b"", 0)
            self._held[_identity(os.fstat(self._descriptor))] = briefly

    def release(self) -> None:
        """Give the lock back; nothing happens the second time."""
        with self._guard:
            if self._descriptor is not None:
                if self._held.pop(_identity(os.fstat(self._descriptor)), False):
                    with suppress(OSError):
                        os.ftruncate(self._descriptor, 0)
                os.close(self._descriptor)
                self._descriptor = None


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
