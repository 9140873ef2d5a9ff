"""An archive: files into which a store's oldest records were moved.

    DIR/flights-0-52429.archive     records 0 to 52,429 of the stream "flights"

A file begins with a line of JSON that says whose it is and what is in it, holds segments and single
records as the store had them, and ends with a checksum of all that. The store keeps of each file
which records it holds, their positions, the head after the last one, and the checksum: so no other
file can take its place. Files are as private as the store; the noise key is not in them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgpack

from littled.store.database import Facts
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.files import PRIVATE_FOLDER, replace_private, sync_folder, sync_name
from littled.store.records import Record, continues
from littled.store.segments import Loose, Segment, unpack

_FORMAT: Final = 1
_PERSON: Final = b"littled archive"
_CHECKSUM_BYTES: Final = 32

Piece = tuple[Segment, Mapping[int, str]] | Loose
"""A segment with its producers' names by identity, or a record in a row of its own."""


class StoreArchived(StoreRefused):
    """What was asked for is in an archive that was not named."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records of a stream that are in one file, as the store knows them.

    first, last: numbers. first_position, end_position: of the first example, and what follows the
    last one. examples: how many. head: after the last record. checksum: of the file.
    """

    stream: str
    first: int
    last: int
    first_position: int
    end_position: int
    examples: int
    head: bytes
    checksum: bytes

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.stream}-{self.first}-{self.last}.archive"

    def described(self, facts: Facts, before: bytes) -> bytes:
        """The file's first line; before: head before its first record."""
        values = {
            "format": _FORMAT,
            "instance": facts.instance,
            "genesis": facts.streams[self.stream].genesis.hex(),
            "stream": self.stream,
            "first": self.first,
            "last": self.last,
            "positions": [self.first_position, self.end_position],
            "examples": self.examples,
            "heads": [before.hex(), self.head.hex()],
        }
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode() + b"\n"


class Archive:
    """The files of one store in a folder."""

    def __init__(self, folder: Path, facts: Facts) -> None:
        """Read and write files of the store `facts` in `folder`, which need not exist yet."""
        self._folder = folder
        self._facts = facts

    def prepare(self) -> None:
        """Make the folder if it is missing. StoreRefused."""
        try:
            if not self._folder.exists():
                self._folder.mkdir(PRIVATE_FOLDER)
            elif not self._folder.is_dir():
                raise StoreRefused(f"{self._folder} is no folder: name one for the archive")
            sync_name(self._folder)
        except OSError as error:
            raise StoreRefused(f"cannot make {self._folder}: {error.strerror}") from error

    def write(self, stretch: Stretch, before: bytes, pieces: Sequence[Piece]) -> Stretch:
        """Make the file of a stretch durable; return the stretch with its checksum.

        before: head before its first record. A file with the same contents may be there already,
        of an archiving that was interrupted. Raises StoreRefused for another file in its place;
        StoreFailed.
        """
        body = stretch.described(self._facts, before) + b"".join(map(_packed, pieces))
        data = body + _checksum(body)
        made = replace(stretch, checksum=data[-_CHECKSUM_BYTES:])
        path = self._folder / made.name
        try:
            if path.exists():
                if path.read_bytes() != data:
                    raise StoreRefused(
                        f"{path} is there already and holds something else: name another folder"
                    )
                sync_folder(self._folder)
            else:
                replace_private(path, data)
        except OSError as error:
            raise StoreFailed(f"{path} cannot be written: {error.strerror}") from error
        return made

    def records(self, stretch: Stretch, before: bytes) -> Iterator[Record]:
        """The records of a stretch, each checked, from the head before the first.

        Raises StoreRefused for a file that is missing or another one; StoreDamaged.
        """
        path = self._folder / stretch.name
        pieces = self._pieces(path, stretch, before)
        stream, facts = stretch.stream, self._facts.streams[stretch.stream]
        head, number = before, stretch.first
        for piece in pieces:
            if isinstance(piece, Loose):
                records = [_record(stream, piece, head)]
            else:
                records = unpack(stream, facts, piece[0], piece[1], head)
            for record in records:
                if record.number != number:
                    raise StoreDamaged(f"{path} is damaged at record {number}: put back a copy")
                number += 1
                yield record
            head = records[-1].chain_head
        if (number - 1, head) != (stretch.last, stretch.head):
            raise StoreDamaged(f"{path} breaks off after record {number - 1}: put back a copy")

    def _pieces(self, path: Path, stretch: Stretch, before: bytes) -> Iterator[Piece]:
        """What is in the file of a stretch, once it is known to be that file."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise StoreRefused(
                f"{self._folder} lacks {stretch.name}: put the file back, or name the folder that "
                "has it"
            ) from None
        except OSError as error:
            raise StoreFailed(f"{path} cannot be read: {error.strerror}") from error
        body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if checksum != _checksum(body):
            raise StoreDamaged(f"{path} is damaged: put back a copy of it")
        expected = stretch.described(self._facts, before)
        found = body[: body.find(b"\n") + 1]
        if found != expected:
            raise StoreRefused(f"{path} {_difference(found, expected)}: put back its own file")
        if checksum != stretch.checksum:
            raise StoreRefused(f"{path} is not the file that this store made: put back that one")
        unpacker = msgpack.Unpacker(strict_map_key=True, max_buffer_size=0)
        unpacker.feed(memoryview(body)[len(found) :])
        try:
            for values in unpacker:
                yield _piece(values)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise StoreDamaged(f"{path} cannot be read: put back a copy of it") from error


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECKSUM_BYTES, person=_PERSON).digest()


def _difference(found: bytes, expected: bytes) -> str:
    """What another first line than the expected one means."""
    right: dict[str, Any] = json.loads(expected)
    try:
        wrong: dict[str, Any] = json.loads(found)
        if wrong["format"] != _FORMAT:
            return f"has format {wrong['format']}, which this version does not read"
        if wrong["instance"] != right["instance"]:
            return "belongs to another store"
        if wrong["stream"] != right["stream"]:
            return f"holds records of {wrong['stream']}"
        if (wrong["first"], wrong["last"]) != (right["first"], right["last"]):
            return f"holds records {wrong['first']} to {wrong['last']}"
    except (ValueError, TypeError, KeyError):
        return "is no file of an archive"
    return "holds records of another history"


def _packed(piece: Piece) -> bytes:
    """A piece as it is written: the fields of a record, or of a segment with producers' names."""
    values: list[Any]
    if isinstance(piece, Loose):
        values = list(piece._replace(identity=0))
    else:
        segment, names = piece
        values = [[names[identity] for identity in segment.identities()], *astuple(segment)]
    packed: bytes = msgpack.packb(values)
    return packed


def _piece(values: Any) -> Piece:
    if not isinstance(values[0], list):
        return Loose(*values)
    names, *fields = values
    segment = Segment(*fields)
    return segment, dict(zip(segment.identities(), names, strict=True))


def _record(stream: str, row: Loose, head: bytes) -> Record:
    """The record of a row, if it continues the chain."""
    number, position, count, sequence, producer, x, y, stored, users, _ = row
    if not continues(stored, head, number, position, count, sequence, producer, x, y, users):
        raise StoreDamaged(f"record {number} of {stream} is damaged in the archive")
    return Record(stream, number, position, producer, sequence, count, x, y, stored, users)
