"""Disks for tests, underneath SQLite: one that loses power, one that fails."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SECTOR_BYTES = 512

Hook = Callable[[str, str], None]
"""Called before each write, sync, truncation and removal, with what it is and the file's path."""


class HookedDisk(apsw.VFS):
    """The usual file system of SQLite with a hook before every change; may raise in it."""

    def __init__(self, name: str, hook: Hook) -> None:
        """Register under `name`, until `unregister`."""
        self.name = name
        self.hook = hook
        super().__init__(name, base="")

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> "HookedFile":  # noqa: N802
        return HookedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.hook("remove", filename)
        super().xDelete(filename, syncdir)
        self.removed(filename)

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

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.hook("write", self.path)
        super().xWrite(data, offset)
        self.disk.written(self.path, bytes(data), offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.disk.hook("truncate", self.path)
        super().xTruncate(newsize)
        self.disk.truncated(self.path, newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.hook("sync", self.path)
        super().xSync(flags)
        self.disk.synced(self.path)


Change = tuple[int, bytes | None]
"""Offset and data of a write, or a new size and None."""


@dataclass
class _Contents:
    """A file: what is on the platter, and what is on its way there."""

    durable: bytearray | None
    pending: list[Change] = field(default_factory=list)


class ForgetfulDisk(HookedDisk):
    """A disk that can say what is left of its files after a power cut at this moment.

    What was synced is there. Of what was not, any part is: any of the writes, in any order, each
    of them whole or torn between sectors; and a file that was never synced may be missing.
    """

    def __init__(self, name: str, folder: Path, hook: Hook) -> None:
        """Hold the databases in `folder`, which are durable as they are."""
        self._files = {
            str(each): _Contents(bytearray(each.read_bytes())) for each in folder.glob("*.sqlite*")
        }
        super().__init__(name, hook)

    def written(self, path: str, data: bytes, offset: int) -> None:
        self._contents(path).pending.append((offset, data))

    def truncated(self, path: str, size: int) -> None:
        self._contents(path).pending.append((size, None))

    def synced(self, path: str) -> None:
        contents = self._contents(path)
        contents.durable = _after(contents.durable, contents.pending)
        contents.pending = []

    def removed(self, path: str) -> None:
        self._files.pop(path, None)

    def _contents(self, path: str) -> _Contents:
        return self._files.setdefault(path, _Contents(None))

    def after_power_cut(self, chance: random.Random) -> dict[str, bytes]:
        """What could be left, by file name."""
        left = {}
        for path, contents in self._files.items():
            survived = [_torn(each, chance) for each in contents.pending if chance.random() < 0.5]
            chance.shuffle(survived)
            if contents.durable is not None or survived:
                left[Path(path).name] = bytes(_after(contents.durable, survived))
        return left


def _torn(change: Change, chance: random.Random) -> Change:
    offset, data = change
    if data is None or chance.random() < 0.7:
        return change
    sectors = len(data) // SECTOR_BYTES
    return offset, data[: SECTOR_BYTES * chance.randint(0, sectors)]


def _after(durable: bytearray | None, changes: list[Change]) -> bytearray:
    contents = bytearray(durable or b"")
    for offset, data in changes:
        if data is None:
            del contents[offset:]
            continue
        contents.extend(bytes(max(0, offset - len(contents))))
        contents[offset : offset + len(data)] = data
    return contents
