"""Disks for tests, underneath a store: one that loses power, one that fails."""

import errno
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
from typing_extensions import Buffer

from littled.store.disks import DISKS, Disk

SECTOR_BYTES = 512
# A power cut may leave some of the system's pages of one long write and not others.
SYSTEM_PAGE_BYTES = 4096


def quick_folder() -> str | None:
    """Where files need no disk, which is for stores whose disk is simulated; None for nowhere."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


Hook = Callable[[str, str], None]
"""Called before each write, sync, truncation and removal, with what it is and the file's path."""


class HookedDisk(apsw.VFS):
    """The usual file system of a store with a hook before every change; may raise in it."""

    def __init__(self, name: str, hook: Hook) -> None:
        """Register under `name`, until `unregister`."""
        self.name = name
        self.hook = hook
        super().__init__(name, base="")
        DISKS[name] = HookedColumns(self)

    def unregister(self) -> None:
        """Take no more stores."""
        del DISKS[self.name]
        super().unregister()

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> "HookedFile":  # noqa: N802
        return HookedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.hook("remove", filename)
        super().xDelete(filename, syncdir)
        self.removed(filename)

    def read(self, what: str, path: str) -> None:
        """Told before column files are opened and read."""

    def created(self, path: str) -> None:
        """Told after a column file was made."""

    def named(self) -> None:
        """Told after the names of column files were synced."""

    def losing(self, path: str) -> None:
        """Told before a column file is removed."""

    def changing(self, path: str, offset: int, size: int) -> None:
        """Told before a write or a truncation, where it begins and how much it may replace."""

    def written(self, path: str, data: bytes, offset: int) -> None:
        """Told after a write."""

    def truncated(self, path: str, size: int) -> None:
        """Told after a truncation."""

    def synced(self, path: str) -> None:
        """Told after a sync."""

    def removed(self, path: str) -> None:
        """Told after a removal."""


class HookedFile(apsw.VFSFile):
    """A file on a hooked disk."""

    def __init__(
        self, disk: HookedDisk, name: apsw.URIFilename | str | None, flags: list[int]
    ) -> None:
        self.disk = disk
        self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("", name, flags)

    def xWrite(self, data: Buffer, offset: int) -> None:  # noqa: N802
        self.disk.hook("write", self.path)
        written = bytes(data)
        self.disk.changing(self.path, offset, len(written))
        super().xWrite(data, offset)
        self.disk.written(self.path, written, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.disk.hook("truncate", self.path)
        self.disk.changing(self.path, newsize, sys.maxsize)
        super().xTruncate(newsize)
        self.disk.truncated(self.path, newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.hook("sync", self.path)
        super().xSync(flags)
        self.disk.synced(self.path)


class HookedColumns(Disk):
    """Column files on a hooked disk. What a hook raises becomes what the system would raise."""

    def __init__(self, disk: HookedDisk) -> None:
        self.disk = disk

    @contextmanager
    def _system(self) -> Iterator[None]:
        try:
            yield
        except apsw.FullError as error:
            raise OSError(errno.ENOSPC, "No space left on device") from error
        except apsw.Error as error:
            raise OSError(errno.EIO, "Input/output error") from error

    def create(self, path: Path) -> None:
        with self._system():
            self.disk.hook("create", str(path))
        super().create(path)
        self.disk.created(str(path))

    def sync_names(self, folder: Path) -> None:
        with self._system():
            self.disk.hook("sync", str(folder))
        super().sync_names(folder)
        self.disk.named()

    def open(self, path: Path, flags: int) -> int:
        with self._system():
            self.disk.read("open", str(path))
        return super().open(path, flags)

    def write(self, descriptor: int, path: Path, parts: Sequence[bytes], start: int) -> int:
        with self._system():
            self.disk.hook("write", str(path))
        self.disk.changing(str(path), start, sum(map(len, parts)))
        written = super().write(descriptor, path, parts, start)
        data = b"".join(parts)[:written]
        for offset in range(0, written, SYSTEM_PAGE_BYTES):
            page = data[offset : offset + SYSTEM_PAGE_BYTES]
            self.disk.written(str(path), page, start + offset)
        return written

    def sync(self, descriptor: int, path: Path) -> None:
        with self._system():
            self.disk.hook("sync", str(path))
        super().sync(descriptor, path)
        self.disk.synced(str(path))

    def read(self, descriptor: int, path: Path, size: int, start: int) -> bytes:
        with self._system():
            self.disk.read("read", str(path))
        return super().read(descriptor, path, size, start)

    def remove(self, path: Path) -> None:
        with self._system():
            self.disk.hook("remove", str(path))
        self.disk.losing(str(path))
        super().remove(path)


Change = tuple[int, bytes | None]
"""Offset and data of a write, or a new size and None."""


@dataclass(frozen=True, slots=True)
class _Undo:
    """What takes a change back: where it began, what was there, and the file's size before it."""

    offset: int
    bytes_: bytes
    size: int


@dataclass(slots=True)
class _Pending:
    """What was done to a file since its last sync; a file that was never synced may be missing."""

    synced: bool
    changes: list[tuple[Change, _Undo]] = field(default_factory=list)


class ForgetfulDisk(HookedDisk):
    """A disk that can say what is left of its files after a power cut at this moment.

    What was synced is there. Of what was not, any part is: any of the writes, in any order, each
    of them whole or torn between sectors; and a file that was never synced may be missing.
    """

    def __init__(self, name: str, folder: Path, hook: Hook) -> None:
        """Hold the databases in `folder`, which are durable as they are."""
        patterns = ("*.sqlite*", "columns-*", "tail")
        found = sorted(str(path) for pattern in patterns for path in folder.glob(pattern))
        self._files = {path: _Pending(synced=True) for path in found}
        # Memory that connections share is no file that anybody writes; it is left as it was.
        self._shared = {path: Path(path).read_bytes() for path in found if path.endswith("-shm")}
        # Files without a durable name, and what others were that still have one.
        self._nameless: set[str] = set()
        self._lost: dict[str, bytes] = {}
        # Held open: SQLite's locks end with the first closing of a file.
        self._descriptors: dict[str, int] = {}
        super().__init__(name, hook)

    def unregister(self) -> None:
        """Let go of everything."""
        for path in list(self._descriptors):
            self._close(path)
        super().unregister()

    def created(self, path: str) -> None:
        self._files[path] = _Pending(synced=True)
        self._nameless.add(path)

    def named(self) -> None:
        self._nameless.clear()
        self._lost.clear()

    def losing(self, path: str) -> None:
        self._lost[path] = Path(path).read_bytes()
        self._nameless.discard(path)
        self.removed(path)

    def changing(self, path: str, offset: int, size: int) -> None:
        descriptor = self._descriptor(path)
        before = os.fstat(descriptor).st_size
        taken = os.pread(descriptor, min(size, max(0, before - offset)), offset)
        self._undo = _Undo(offset, taken, before)

    def written(self, path: str, data: bytes, offset: int) -> None:
        self._pending(path).changes.append(((offset, data), self._undo))

    def truncated(self, path: str, size: int) -> None:
        self._pending(path).changes.append(((size, None), self._undo))

    def synced(self, path: str) -> None:
        self._files[path] = _Pending(synced=True)

    def removed(self, path: str) -> None:
        self._files.pop(path, None)
        self._close(path)

    def _pending(self, path: str) -> _Pending:
        return self._files.setdefault(path, _Pending(synced=False))

    def _descriptor(self, path: str) -> int:
        if path not in self._descriptors:
            self._descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self._descriptors[path]

    def _close(self, path: str) -> None:
        if path in self._descriptors:
            os.close(self._descriptors.pop(path))

    def after_power_cut(self, chance: random.Random) -> dict[str, bytes]:
        """What could be left, by file name."""
        left = {Path(path).name: data for path, data in self._lost.items() if chance.random() < 0.5}
        for path, pending in self._files.items():
            if path in self._nameless and chance.random() < 0.5:
                continue
            survived = [
                _torn(change, chance) for change, _ in pending.changes if chance.random() < 0.5
            ]
            chance.shuffle(survived)
            if path in self._shared:
                left[Path(path).name] = self._shared[path]
            elif pending.synced or survived:
                durable = self._durable(path, pending) if pending.synced else bytearray()
                left[Path(path).name] = bytes(_after(durable, survived))
        return left

    def _durable(self, path: str, pending: _Pending) -> bytearray:
        """What a file was at its last sync."""
        descriptor = self._descriptor(path)
        contents = bytearray(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
        for _, undo in reversed(pending.changes):
            contents[undo.offset : undo.offset + len(undo.bytes_)] = undo.bytes_
            del contents[undo.size :]
        return contents


def _torn(change: Change, chance: random.Random) -> Change:
    offset, data = change
    if data is None or chance.random() < 0.7:
        return change
    sectors = len(data) // SECTOR_BYTES
    return offset, data[: SECTOR_BYTES * chance.randint(0, sectors)]


def _after(contents: bytearray, changes: list[Change]) -> bytearray:
    for offset, data in changes:
        if data is None:
            del contents[offset:]
            continue
        contents.extend(bytes(max(0, offset - len(contents))))
        contents[offset : offset + len(data)] = data
    return contents
