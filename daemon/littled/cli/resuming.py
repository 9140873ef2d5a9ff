"""Which producer a file belongs to, and whether it still holds what was fed under that name.

A producer's name is made from the stream and the path alone, and otherwise drawn: names are public,
so they say nothing about examples. What a file held stays with the feeder (`littled_client.fed`).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import stat
import time
from dataclasses import dataclass, replace
from pathlib import Path

from littled.cli.failures import Failure
from littled.cli.output import notes, number
from littled_client.blocks import STANDARD_INPUT
from littled_client.fed import Fed, FedFiles, digests
from littled_client.sources import Mark

# How often the newest mark is written down, at most.
_KEEP_SECONDS = 0.5


def producer_name(stream: str, file: str) -> str:
    """A name that is the same whenever the same path is fed to the same stream."""
    if file == STANDARD_INPUT:
        return f"stdin-{secrets.token_hex(8)}"
    path = Path(file).resolve()
    identity = f"{stream}\0{path}".encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(identity, digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.name)[:64]
    return f"{readable}-{digest}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file and the producer that it is fed as.

    record: what is known of what was fed under this name; None for nothing. content: digests of the
    file's beginnings by their lengths; None for what is read only once. elsewhere: where it was fed
    from before, if that was another path.
    """

    path: str
    producer: str
    record: Fed | None
    content: dict[int, str] | None
    elsewhere: str | None = None

    def holds(self, examples: int) -> bool:
        """Whether the file holds what was fed, so many examples, or nothing is known of that."""
        if self.record is None or self.content is None or not self.record.marks:
            return True
        return self.record.is_in(self.content, examples)

    @property
    def is_known(self) -> bool:
        """Whether the file is known to hold what was fed under this name."""
        if self.record is None or self.content is None:
            return False
        return self.record.is_in(self.content, self.record.acknowledged)

    def expected(self, examples: int) -> list[Mark]:
        """What a pipe has to hold, of which so many examples were fed."""
        if self.record is None or self.content is not None:
            return []
        return [mark for mark in self.record.marks if mark.examples <= examples]


class Resuming:
    """What this user has fed to one stream of one store."""

    def __init__(self, instance: str, stream: str, files: FedFiles | None = None) -> None:
        """Look it up; `files` for where it is kept, if that is not the usual place."""
        self._instance, self._stream = instance, stream
        self._files = files or FedFiles.usual()

    def records(self) -> list[Fed]:
        """What is known, the newest first."""
        return [] if self._files is None else self._files.of(self._instance, self._stream)

    def can_keep(self) -> bool:
        """Whether what is fed can be written down."""
        return self._files is not None and self._files.can_keep()

    def choose(self, file: str, producer: str | None = None, *, is_new: bool = False) -> Chosen:
        """The producer of a file: the one given, or whose examples it holds, or that of its path.

        is_new: what was fed from the same path before was another file. Raises SourceError when the
        file cannot be read.
        """
        records = self.records()
        if producer is not None:
            records = [record for record in records if record.producer == producer]
        content = digests(file, records) if _is_regular(file) else None
        path = _identity(file)
        if content is not None:
            held = [one for one in records if one.is_in(content, one.acknowledged)]
            if held:
                best = max(held, key=lambda one: (_bytes(one), one.was_at(path)))
                elsewhere = None if best.was_at(path) else best.path
                return Chosen(file, best.producer, best, content, elsewhere)
        if producer is not None:
            return Chosen(file, producer, records[0] if records else None, content)
        if is_new:
            return Chosen(file, _drawn(producer_name(self._stream, file)), None, content)
        if file != STANDARD_INPUT:
            for record in records:
                if record.was_at(path):
                    return Chosen(file, record.producer, record, content)
        return Chosen(file, self._new_name(file), None, content)

    def _new_name(self, file: str) -> str:
        """That of the path; with something drawn where a file that has moved on has that name."""
        name = producer_name(self._stream, file)
        taken = {record.producer for record in self.records()}
        return _drawn(name) if name in taken else name

    def keeper(self, chosen: Chosen, path: str | None = None) -> Keeper:
        """What writes down how far a file was fed, from this path if it is not its own."""
        path = _identity(path or chosen.path)
        record = Fed(self._instance, self._stream, chosen.producer, path, 0, ())
        if chosen.record is not None and chosen.record.producer == chosen.producer:
            record = replace(chosen.record, instance=self._instance).moved_to(path)
        return Keeper(self._files, record)


class Keeper:
    """Writes down how far one file was fed, before anything of it is sent and from time to time."""

    def __init__(self, files: FedFiles | None, record: Fed) -> None:
        """Go on from a record; None for files keeps nothing."""
        self._files = files
        self._record = record
        self._kept_at: float | None = None

    def begin(self) -> None:
        """Forget what the record says: nothing of the file was fed to this store."""
        self._record = replace(self._record, acknowledged=0, marks=())

    @property
    def record(self) -> Fed:
        """What was fed so far."""
        return self._record

    def read(self, mark: Mark | None, acknowledged: int) -> None:
        """Take note of a place up to which is sent next."""
        if mark is None or not mark.examples:
            return
        self._record = self._record.with_mark(mark, acknowledged)
        now = time.monotonic()
        if self._kept_at is None or now - self._kept_at >= _KEEP_SECONDS:
            self._write()
            self._kept_at = now

    def end(self, acknowledged: int) -> None:
        """Take note of how far it came in the end."""
        if self._record.marks:
            self._record = self._record.with_mark(self._record.marks[-1], acknowledged)
            self._write()
            if self._files is not None:
                self._files.tidy()

    def _write(self) -> None:
        if self._files is None:
            return
        try:
            self._files.keep(self._record)
        except OSError as error:
            folder, self._files = self._files.folder, None
            notes().print(
                f"note: cannot keep in {folder} what was fed ({error.strerror}), so nobody will "
                "notice if the file changes; set XDG_STATE_HOME to a folder that can be written"
            )


def check_held(chosen: Chosen, examples: int, name: str) -> None:
    """Failure when the file does not hold the examples that were fed under its producer's name."""
    if examples and not chosen.holds(examples):
        raise Failure(
            f"{name} has changed in what was fed of it, {number(examples)} examples: put that "
            "back, or feed all of it as new examples, under another name: --producer NAME"
        )


def _drawn(name: str) -> str:
    return f"{name}-{secrets.token_hex(4)}"


def _bytes(record: Fed) -> int:
    mark = record.mark_at(record.acknowledged)
    return 0 if mark is None else mark.bytes


def _identity(file: str) -> str:
    return file if file == STANDARD_INPUT else str(Path(file).resolve())


def _is_regular(file: str) -> bool:
    try:
        return file != STANDARD_INPUT and stat.S_ISREG(Path(file).stat().st_mode)
    except OSError:
        return False
