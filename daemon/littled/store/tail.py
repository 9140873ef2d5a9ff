"""The tail: records that came alone, written ahead of the database.

    STORE/tail     a slot for each such record, written again and again

A transaction of SQLite for one record writes two pages and more, with sums over each, which takes
longer than all else that an example passes on its way. So a record that comes alone is written
here, with one write and one sync, and is durable; some time later many of them go into the database
in one transaction. That one, as every other, also draws a new *token*, which every slot names: so
slots that were written before it hold nothing any more, and nothing of them has to be removed. A
token stands for one state of the database, and what names it was to come directly after that; what
names another one is in the database, or the file is of a later moment than that.

The file is durable before the database names a token for the first time, and is removed when it
names none any more. So where it is missing or cut short, or was written after another token that
was drawn later, the two are not of one moment: a copy lacks what was acknowledged.

Each slot has a page of the system's by itself, so that no write touches what is durable already. A
slot is written once the one before it is synced. So after a crash the tail holds the first slots
that name the database's token and have their checksum; the next one may be torn, and was promised
to nobody. Where a later one is whole nevertheless, the file was damaged.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any, Final

import msgpack

from littled.limits import TAIL_SLOT_BYTES, TAIL_SLOTS
from littled.store.disks import DISK, DISKS, failing, failure
from littled.store.errors import StoreDamaged, StoreFailed, StoreRefused
from littled.store.files import Identity, identity, refuse_readable

TAIL_NAME: Final = "tail"
TOKEN_BYTES: Final = 16
# Of a token, by which later ones are known: how many were drawn, since there is a tail. The rest is
# random. A first version's were random throughout, so that they are larger than any such number.
_COUNT_BYTES: Final = 8
_COUNT_END: Final = 1 << 40

Alone = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The row of a producer and the row of its record."""

_HASH = blake2b(digest_size=16, person=b"littled tail")
_SUM_BYTES: Final = _HASH.digest_size
# number of the slot, bytes of what follows the checksum
_HEAD: Final = Struct(">II")
_START: Final = TOKEN_BYTES + _HEAD.size + _SUM_BYTES


class Tail:
    """The tail of one store; used by one thread at a time.

    The first StoreFailed is the end of its use.
    """

    def __init__(self, folder: Path, vfs: str | None) -> None:
        """Read and write in `folder`; nothing is opened yet."""
        self.path = folder / TAIL_NAME
        self._disk = DISKS.get(vfs, DISK)
        self._descriptor: int | None = None
        self._identity: Identity | None = None
        self._token = b""
        self._next = 0
        self._pack = msgpack.Packer().pack

    @property
    def is_open(self) -> bool:
        """Whether records may be added."""
        return self._descriptor is not None

    @property
    def opened(self) -> tuple[Path, Identity | None] | None:
        """The file that is open, and which one was opened; None without one."""
        return None if self._descriptor is None else (self.path, self._identity)

    def read(
        self,
        token: bytes | None,
        *,
        known: Callable[[Alone], bool] = lambda _: True,
        incomplete: bool = False,
    ) -> list[Alone]:
        """What the file holds for a database that names this token, or none.

        known: whether what a slot holds is in the database. incomplete: take what a copy has that
        lacks something; else StoreRefused. Raises StoreDamaged; StoreRefused where others can reach
        the file; StoreFailed.
        """
        # However many there are: another version may have had more of them.
        slots = [*_slots(self._bytes())]
        lacking = self._lacking(token, slots, known)
        if lacking and not incomplete:
            raise StoreRefused(
                f"{self.path} {lacking}, so that examples which were acknowledged are not there: "
                "put back a copy of the whole store, or go on without them by littled restore "
                "--copy"
            )
        # What names another token was written before, and is in the database.
        found = [slot[1] if slot is not None and slot[0] == token else None for slot in slots]
        alone: list[Alone] = []
        for each in found:
            if each is None:
                break
            alone.append(each)
        if not lacking and any(found[len(alone) :]):
            raise StoreDamaged(
                f"{self.path.name} is damaged: put back a backup; or remove it, and go on by "
                "littled restore --copy without the last examples that came alone"
            )
        return alone

    def _lacking(
        self, token: bytes | None, slots: Sequence["_Slot"], known: Callable[[Alone], bool]
    ) -> str:
        """Why the file and the database are not of one moment; empty where they are."""
        named = [slot[0] for slot in slots if slot is not None]
        # The first slot is only written over when a later token is durable.
        over = token in named and slots[0] is not None and slots[0][0] != token
        if token is not None and len(slots) < TAIL_SLOTS:
            return "is missing or cut short"
        later = token is not None and any(_is_later(each, token) for each in named)
        # What another token was drawn behind went into the database with it.
        alien = (slot[1] for slot in slots if slot is not None and slot[0] != token)
        if over or later or not all(map(known, alien)):
            return "is of a later moment than the database"
        return ""

    def begins(self, token: bytes) -> bool:
        """Whether its first slot names this token, also beside a process at work. StoreError."""
        return any(
            slot is not None and slot[0] == token for slot in _slots(self._bytes(TAIL_SLOT_BYTES))
        )

    def _bytes(self, size: int | None = None) -> bytes:
        """So many bytes from its beginning, or all that there are."""
        with failing():
            try:
                refuse_readable(self.path)
                descriptor = self._disk.open(self.path, os.O_RDONLY)
            except FileNotFoundError:
                return b""
            try:
                end = os.fstat(descriptor).st_size
                size = end if size is None else min(size, end)
                data = self._disk.read_all(descriptor, self.path, size, 0)
            finally:
                os.close(descriptor)
        if len(data) < size:
            raise StoreFailed(f"{self.path.name} became shorter while it was read")
        return data

    def open(self) -> None:
        """Open the file for writing, and lay it out where it is not there. Raises StoreFailed."""
        size = TAIL_SLOTS * TAIL_SLOT_BYTES
        with failing():
            if not self.path.exists():
                self._disk.create(self.path)
                self._disk.sync_names(self.path.parent)
            descriptor = self._disk.open(self.path, os.O_WRONLY)
            try:
                # Laid out before, a sync of a slot writes nothing about the file itself.
                start = os.fstat(descriptor).st_size
                while start < size:
                    rest = bytes(size - start)
                    start += self._disk.write(descriptor, self.path, (rest,), start)
                self._disk.sync(descriptor, self.path)
            except BaseException:
                os.close(descriptor)
                raise
        self._descriptor, self._identity = descriptor, identity(self.path)

    def begin(self, token: bytes) -> None:
        """Begin at the first slot, as the database names this token from now on."""
        self._token, self._next = token, 0

    def put(self, alone: Alone) -> bool:
        """Add a record, durable on return; False, and nothing is done, where no slot is for it.

        So it is before `open`, and with a record that is too long. Raises StoreFailed.
        """
        data = self._pack(alone)
        if (
            self._descriptor is None
            or self._next == TAIL_SLOTS
            or _START + len(data) > TAIL_SLOT_BYTES
        ):
            return False
        head = self._token + _HEAD.pack(self._next, len(data))
        digest = _HASH.copy()
        digest.update(head + data)
        slot = head + digest.digest() + data
        start = self._next * TAIL_SLOT_BYTES
        try:
            written = self._disk.write(self._descriptor, self.path, (slot,), start)
            while written < len(slot):
                rest = (slot[written:],)
                written += self._disk.write(self._descriptor, self.path, rest, start + written)
            self._disk.sync(self._descriptor, self.path)
        except OSError as error:
            raise failure(error) from error
        self._next += 1
        return True

    def remove(self) -> None:
        """Remove the file, of which the database names nothing any more. Raises StoreFailed."""
        self.close()
        with failing():
            if os.path.lexists(self.path):
                self._disk.remove(self.path)

    def close(self) -> None:
        """Let go of the file; nothing is written."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def next_token(token: bytes | None) -> bytes:
    """The one that is drawn after this, or the first; no two are the same."""
    count = 1 if token is None else (_count(token) or 0) + 1
    return count.to_bytes(_COUNT_BYTES) + secrets.token_bytes(TOKEN_BYTES - _COUNT_BYTES)


def _count(token: bytes) -> int | None:
    """How many were drawn before and with it; None for one that does not say."""
    count = int.from_bytes(token[:_COUNT_BYTES])
    return count if count < _COUNT_END else None


def _is_later(token: bytes, other: bytes) -> bool:
    """Whether a token was drawn after another, as far as they say."""
    count, before = _count(token), _count(other)
    return count is not None and before is not None and count > before


_Slot = tuple[bytes, Alone] | None


def _slots(data: bytes) -> Iterator[_Slot]:
    """The token that each slot names and what it holds; None for one that is not whole."""
    for number in range(len(data) // TAIL_SLOT_BYTES):
        slot = data[number * TAIL_SLOT_BYTES : (number + 1) * TAIL_SLOT_BYTES]
        head = slot[: TOKEN_BYTES + _HEAD.size]
        found, size = _HEAD.unpack_from(slot, TOKEN_BYTES)
        payload = slot[_START : _START + size]
        digest = _HASH.copy()
        digest.update(head + payload)
        summed = slot[len(head) : _START] == digest.digest()
        if summed and found == number and len(payload) == size:
            producer, record = msgpack.unpackb(payload)
            yield head[:TOKEN_BYTES], (tuple(producer), tuple(record))
        else:
            yield None
