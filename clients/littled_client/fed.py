"""What was fed of which file: kept by the feeder, to tell a file that grew from one that changed.

The daemon counts the examples of each producer. Here stands which bytes they were: for each
producer a few marks, places in its file with the digest of what stood before them. A file whose
beginning has such a digest holds what was fed, whatever its path; one that has not is another file.

The records are files of their owner alone, in $XDG_STATE_HOME/littled/fed or else in
~/.local/state/littled/fed. Nothing of them is sent to anybody: a digest of private examples says
something about them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from littled_client.blocks import FileBlocks
from littled_client.errors import SourceError
from littled_client.lines import DIGEST_BYTES
from littled_client.sources import Mark

# Records kept; of a file whose record had to go, the daemon's count is all that is known.
RECORDS_MAX = 1_000
COPIES_MAX = 16
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


@dataclass(frozen=True, slots=True)
class Fed:
    """What was fed of one file under one producer's name.

    instance: name of the store. path: where the file was, or "-" for standard input. copies: other
    places where it was fed from and stayed.
    acknowledged: examples known to be durable. marks: by rising numbers of examples; those beyond
    `acknowledged` were read, and may be durable as well. written: when the record was, in
    nanoseconds of the file's clock.
    """

    instance: str
    stream: str
    producer: str
    path: str
    acknowledged: int
    marks: tuple[Mark, ...]
    written: int = 0
    copies: tuple[str, ...] = ()

    def was_at(self, path: str) -> bool:
        """Return whether this is of the file at a path."""
        return path == self.path or path in self.copies

    def moved_to(self, path: str) -> Fed:
        """Return this with the file at another path; where its content still lies, it has a copy.

        Raises SourceError when a copy cannot be read.
        """
        if path == self.path:
            return self
        others = [known for known in (self.path, *self.copies) if known != path]
        left = [known for known in others if Path(known).is_file() and self.lies_at(known)]
        return replace(self, path=path, copies=tuple(left[:COPIES_MAX]))

    def lies_at(self, path: str) -> bool:
        """Return whether a regular file holds all that is known to be fed; SourceError as above."""
        return self.is_in(digests(path, [self]), self.acknowledged)

    def mark_at(self, examples: int) -> Mark | None:
        """Return the last mark up to this number of examples, else the first; None without any."""
        before = [mark for mark in self.marks if mark.examples <= examples]
        return before[-1] if before else next(iter(self.marks), None)

    def is_in(self, content: Mapping[int, str], examples: int) -> bool:
        """Return whether a file holds what was fed, when that were so many examples.

        content: the file's digests, as `digests` returns them.
        """
        mark = self.mark_at(examples)
        return mark is not None and mark.examples > 0 and content.get(mark.bytes) == mark.digest

    def with_mark(self, mark: Mark, acknowledged: int) -> Fed:
        """Return this with one mark more; of those that are durable the last is enough."""
        marks = [*(old for old in self.marks if old.examples < mark.examples), mark]
        durable = [old for old in marks if old.examples <= acknowledged]
        return replace(
            self,
            acknowledged=acknowledged,
            marks=(*durable[-1:], *(old for old in marks if old.examples > acknowledged)),
        )


class FedFiles:
    """The records of a folder; made when the first is written."""

    def __init__(self, folder: Path) -> None:
        """Keep records in this folder."""
        self.folder = folder

    @classmethod
    def usual(cls, environment: Mapping[str, str] = os.environ) -> FedFiles | None:
        """Return those of this user; None where nothing says where that is."""
        folder = state_folder(environment)
        return None if folder is None else cls(folder / "fed")

    def of(self, instance: str, stream: str) -> list[Fed]:
        """Return the records of a store's stream, the newest first.

        Where there are none, those of the stream in other stores: a restored store has a new name.
        """
        found = [record for record in self._all() if record.stream == stream]
        here = [record for record in found if record.instance == instance]
        return sorted(here or found, key=lambda record: record.written, reverse=True)

    def keep(self, record: Fed) -> None:
        """Write a record in place of an earlier one; OSError when that cannot be."""
        self.folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        identity = "\0".join((record.instance, record.stream, record.producer))
        name = blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        new = self.folder / f"{name}.{os.getpid()}.new"
        fields = asdict(record)
        del fields["written"]
        text = json.dumps(fields)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.folder / f"{name}.json")

    def can_keep(self) -> bool:
        """Whether records can be written."""
        try:
            self.folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK | os.X_OK)

    def tidy(self) -> None:
        """Remove the oldest records where there are too many."""
        paths = sorted(self.folder.glob("*.json"), key=_changed, reverse=True)
        for path in paths[RECORDS_MAX:]:
            path.unlink(missing_ok=True)

    def _all(self) -> Iterable[Fed]:
        for path in self.folder.glob("*.json"):
            record = _record(path)
            if record is not None:
                yield record


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """Return where this user's programs keep what they have done; None where nothing says that."""
    state, home = environment.get("XDG_STATE_HOME"), environment.get("HOME")
    if state and Path(state).is_absolute():
        return Path(state) / "littled"
    return Path(home) / ".local" / "state" / "littled" if home else None


def digests(path: str, records: Sequence[Fed]) -> dict[int, str]:
    """Return the digests of a file's beginnings that some records ask for, by their lengths.

    path: of a regular file, decompressed if it is compressed. A beginning that the file goes on
    from within a line is left out: its last line is not the one that was fed. Raises SourceError
    when the file cannot be read.
    """
    lengths = sorted({mark.bytes for record in records for mark in record.marks})
    found: dict[int, str] = {}
    if not lengths:
        return found
    try:
        blocks = FileBlocks(path, lambda: False)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from None
    total, done, last = blake2b(digest_size=DIGEST_BYTES), 0, b"\n"
    try:
        block = blocks.read(None)
        for length in lengths:
            while block and done + len(block) <= length:
                total.update(block)
                done += len(block)
                last = block[-1:]
                block = blocks.read(None)
            if length < done or (not block and length > done):
                continue
            part, block = block[: length - done], block[length - done :]
            total.update(part)
            done += len(part)
            last = part[-1:] or last
            if last == b"\n" or block[:1] in (b"", b"\r", b"\n"):
                found[length] = total.hexdigest()
    finally:
        blocks.close()
    return found


def rest_after(path: str, record: Fed) -> bool | None:
    """Return whether a file goes on after all that is known to be fed; None if it holds none of it.

    path: of a regular file. Raises SourceError when it cannot be read.
    """
    mark = record.mark_at(record.acknowledged)
    if mark is None or not record.lies_at(path):
        return None
    blocks, done = FileBlocks(path, lambda: False), 0
    try:
        while done <= mark.bytes and (block := blocks.read(None)):
            done += len(block)
    finally:
        blocks.close()
    return done > mark.bytes


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _record(path: Path) -> Fed | None:
    """Return a record; None for what cannot be read, which then counts as never written."""
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="ascii"))
        marks = tuple(Mark(**mark) for mark in fields.pop("marks"))
        copies = tuple(map(str, fields.pop("copies", ())))
        return Fed(marks=marks, written=_changed(path), copies=copies, **fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
