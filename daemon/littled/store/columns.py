"""Columns of large records, in files of their own beside the database.

    STORE/columns-000001     columns of records, one after the other: points, labels, users

SQLite writes whatever it stores twice, page by page, with sums over every page. For a batch of many
examples that costs several times what writing it once does, so its columns go here, and its row
says where they are. The heads of the journal cover every byte, as they do inside the database.

A file only ever grows at the end that the database names. Columns are synced before the transaction
that names them, so nothing is named that could be lost; what lies behind the last named byte is of
a commit that never was, and is overwritten. A file that nothing names is removed.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path
from typing import Final, NamedTuple

from littled.limits import COLUMN_FILE_BYTES, COLUMNS_IN_MEMORY_BYTES_MAX
from littled.store.disks import DISK, DISKS, failing
from littled.store.errors import StoreDamaged
from littled.store.files import Identity, identity, refuse_readable

_NAME: Final = re.compile(r"columns-(\d{6,})")
# Parts that one call writes; every system allows so many.
_PARTS_MAX: Final = 512

Columns = tuple[bytes, bytes, bytes]
"""Points, labels and users of a record."""


class Span(NamedTuple):
    """Where the columns of a record are: number of the file, first byte, and how many."""

    file: int
    start: int
    size: int


Wanted = tuple[Span, tuple[int, int, int]]
"""Where the columns of a record are, and how many bytes each of them has."""


def file_name(number: int) -> str:
    """Name of a column file: 1, 2, 3, ..."""
    return f"columns-{number:06}"


# --- reading --------------------------------------------------------------------------------------


class ColumnReader:
    """Reads columns, on any thread."""

    def __init__(self, folder: Path, vfs: str | None) -> None:
        """Read files in `folder`; nothing is opened yet."""
        self._folder = folder
        self._disk = DISKS.get(vfs, DISK)

    def read(self, wanted: Sequence[Wanted]) -> list[Columns]:
        """The columns of some records, in order.

        Raises StoreDamaged where a file is missing or too short; StoreFailed.
        """
        found: list[Columns] = []
        for number, several in groupby(wanted, key=lambda place: place[0].file):
            path = self._folder / file_name(number)
            with failing():
                try:
                    descriptor = self._disk.open(path, os.O_RDONLY)
                except FileNotFoundError:
                    raise StoreDamaged(f"{path.name} is missing: put back a backup") from None
                try:
                    end = os.fstat(descriptor).st_size
                    found += [self._columns(descriptor, path, end, *place) for place in several]
                finally:
                    os.close(descriptor)
        return found

    def _columns(
        self, descriptor: int, path: Path, end: int, span: Span, sizes: tuple[int, int, int]
    ) -> Columns:
        """The columns of one record, in a file that ends somewhere."""
        if span.start < 0 or min(sizes) < 0 or sum(sizes) != span.size:
            raise StoreDamaged(f"a place in {path.name} is damaged: put back a backup")
        if end < span.start + span.size:
            raise _too_short(path)
        start, (points, labels, users) = span.start, sizes
        x = self._bytes(descriptor, path, points, start)
        y = self._bytes(descriptor, path, labels, start + points)
        return x, y, self._bytes(descriptor, path, users, start + points + labels)

    def _bytes(self, descriptor: int, path: Path, size: int, start: int) -> bytes:
        data = self._disk.read_all(descriptor, path, size, start)
        if len(data) != size:
            raise _too_short(path)
        return data


# --- writing --------------------------------------------------------------------------------------


class ColumnWriter:
    """Adds columns at the end of the last file; used by one thread at a time.

    The first StoreFailed is the end of its use.
    """

    def __init__(self, folder: Path, vfs: str | None) -> None:
        """Write to files in `folder`; nothing is opened yet."""
        self._folder = folder
        self._disk = DISKS.get(vfs, DISK)
        self._number = 0
        self._end = 0
        # Where the system may still have the file in its memory.
        self._kept_from = 0
        self._descriptor: int | None = None
        self._identity: Identity | None = None

    def settle(self, named: Mapping[int, int]) -> None:
        """Go on after what the database names, and remove the files of which it names nothing.

        named: by number, how many bytes of a file are named. Raises StoreDamaged where there are
        fewer; StoreRefused where others can reach a file; StoreFailed.
        """
        self.close()
        self._number = max(named, default=0)
        self._end = named.get(self._number, 0)
        with failing():
            for number, size in named.items():
                path = self._folder / file_name(number)
                try:
                    refuse_readable(path)
                    if path.stat().st_size < size:
                        raise _too_short(path)
                except FileNotFoundError:
                    raise StoreDamaged(f"{path.name} is missing: put back a backup") from None
            for path in sorted(self._folder.iterdir()):
                found = _NAME.fullmatch(path.name)
                if found and int(found[1]) not in named:
                    self._disk.remove(path)

    def append(self, records: Sequence[Columns]) -> list[Span]:
        """Add the columns of some records, durable on return. Raises StoreFailed."""
        with failing():
            if self._descriptor is None or self._end >= COLUMN_FILE_BYTES:
                self._open()
            assert self._descriptor is not None
            path = self._folder / file_name(self._number)
            spans, start = [], self._end
            for columns in records:
                size = sum(map(len, columns))
                spans.append(Span(self._number, start, size))
                start += size
            parts = (part for columns in records for part in columns if part)
            while several := list(islice(parts, _PARTS_MAX)):
                self._write(self._descriptor, path, several)
            self._disk.sync(self._descriptor, path)
            if self._end - self._kept_from >= COLUMNS_IN_MEMORY_BYTES_MAX:
                # Nobody reads them soon; so the next ones are written to memory that is warm.
                with suppress(OSError):
                    os.posix_fadvise(self._descriptor, self._kept_from, 0, os.POSIX_FADV_DONTNEED)
                self._kept_from = self._end
        return spans

    def _open(self) -> None:
        """Open the last file, or make another one when it is full."""
        self.close()
        if not self._number or self._end >= COLUMN_FILE_BYTES:
            self._number, self._end = self._number + 1, 0
            self._disk.create(self._folder / file_name(self._number))
            self._disk.sync_names(self._folder)
        path = self._folder / file_name(self._number)
        self._descriptor = self._disk.open(path, os.O_WRONLY)
        self._identity = identity(path)
        self._kept_from = self._end

    def _write(self, descriptor: int, path: Path, parts: list[bytes]) -> None:
        """Write all of some parts at the end."""
        left = sum(map(len, parts))
        while True:
            written = self._disk.write(descriptor, path, parts, self._end)
            self._end += written
            left -= written
            if not left:
                return
            parts = [b"".join(parts)[-left:]]

    @property
    def opened(self) -> tuple[Path, Identity | None] | None:
        """The file that is open, and which one was opened; None without one."""
        if self._descriptor is None:
            return None
        return self._folder / file_name(self._number), self._identity

    def close(self) -> None:
        """Let go of the file that is open; nothing is written."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _too_short(path: Path) -> StoreDamaged:
    return StoreDamaged(f"{path.name} is shorter than it was: put back a backup")
