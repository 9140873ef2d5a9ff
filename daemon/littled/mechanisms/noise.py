"""Where the bits of every mechanism come from: a keyed stream bound to the durable history.

A draw is *addressed*, not counted: its bits are a function of the store's key and of where in the
history, for whom and for what it is made. The same decision in the same history gets the same
bits, before and after a crash; another history has another chain head and so independent bits.

    subkey = BLAKE2b-256(encoding of the address, key = the store's 256-bit key)
    words  = ChaCha20 keystream under the subkey, nonce 0, as little-endian 64-bit integers

The encoding is injective: every field of variable length is preceded by its length. A subkey
serves one address only, so a fixed nonce never repeats under a key. The words of one address are
one stream that can be entered at any place, so that the noise of a position does not depend on
how its batch is cut into slices.

The claim is computational. Keyed BLAKE2b is taken to be a pseudo-random function and ChaCha20 a
pseudo-random generator; every guarantee of this package is proven for uniform, independent words.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from littled.mechanisms.chacha import first_chacha_words

Words = NDArray[np.uint64]

# What noise is drawn for. PRIVACY.md says of each what it decides and where its price is proven;
# a draw for anything else has no name here, and so does not pass the type checker.
Purpose = Literal[
    "trigger",
    "trigger-threshold",
    "stage-query",
    "stage-threshold",
    "buffer",
    "pool",
    "teacher",
    "user-teacher",
    "select",
    "tally",
    "tally-spell",
    "scorecard",
    "scorecard-moments",
    "counts",
    "quality",
    "scorecard-stump",
    "scorecard-judging",
    "scorecard-trial",
    "predict",  # the place of a question, from which nothing is drawn itself
    "predict/subset",
    "predict/select",
    "predict/vote",
    "predict/flip",
    "predict/threshold",
    "predict/test",
]

# What calls of training draw. All else is drawn while examples are looked at, and for a season.
IN_CALLS: frozenset[Purpose] = frozenset(
    {"stage-query", "stage-threshold", "select", "tally-spell", "counts"}
)

KEY_BYTES = 32
WORD_BYTES = 8
BLOCK_BYTES = 64
BLOCK_WORDS = BLOCK_BYTES // WORD_BYTES
# One address may be read so far: 2^32 blocks, where even the narrowest block counter in use wraps.
ADDRESS_WORDS_MAX = BLOCK_WORDS << 32

# Separates this use of the key from any other that may come.
_PERSON = b"littled noise 1"
_INTEGER_MAX = (1 << 64) - 1
# Position and draw, as an address is encoded.
_NUMBERS = struct.Struct("<QQ")
# Chain heads of the journal's records.
HEAD_BYTES = 32
# Addresses of one word each from which on their key streams are computed side by side: beside other
# work, with nothing of it near the processor, that takes as long as some thirty of them one by one.
SINGLE_WORDS_MIN = 32
# Key streams are zeros, encrypted in pieces of at most so many bytes.
_ZEROS = bytes(1 << 17)
_ZEROS_VIEW = memoryview(_ZEROS)


@dataclass(frozen=True, slots=True)
class Address:
    """Where in the history a draw is made, for whom and for what.

    `chain_head` is the hash-chain head of the journal record that holds `position`; `learner` is
    "stream/learner"; `purpose` is one of those above; `draw` tells repeated draws at one position
    apart. `position` and `draw` are at least 0 and below 2^64.
    """

    chain_head: bytes
    learner: str
    purpose: Purpose
    position: int
    draw: int = 0

    def to_bytes(self) -> bytes:
        """The injective encoding that is hashed. ValueError for numbers out of range."""
        if not (0 <= self.position <= _INTEGER_MAX and 0 <= self.draw <= _INTEGER_MAX):
            raise ValueError("position and draw of a noise address must be from 0 to 2^64 - 1")
        lengths, names = _around(len(self.chain_head), self.learner, self.purpose)
        numbers = _NUMBERS.pack(self.position, self.draw)
        return b"".join((lengths, numbers, self.chain_head, names))


def _around(head_bytes: int, learner: str, purpose: Purpose) -> tuple[bytes, bytes]:
    """What stands before the numbers of an encoded address, and behind its head."""
    names = learner.encode(), purpose.encode()
    return struct.pack("<III", head_bytes, *map(len, names)), b"".join(names)


class NoiseSource(Protocol):
    """A source of uniform words, independent between addresses and within one."""

    def words(self, address: Address, count: int, offset: int = 0) -> Words:
        """Words `offset` to `offset + count` of this address: uint64 (count,), read-only."""


class KeyedNoise:
    """The noise of a store: keyed BLAKE2b over the address, then a ChaCha20 key stream.

    Holds nothing but the key, so one value may serve many threads. `repr` does not show the key.
    ValueError unless the key has 32 bytes.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        """Use this key of 32 bytes; it never changes during a store's life."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"the noise key must have {KEY_BYTES} bytes")
        self._key = bytes(key)

    def __repr__(self) -> str:
        """The type only: a key has no place in a log or a traceback."""
        return "KeyedNoise(...)"

    def words(self, address: Address, count: int, offset: int = 0) -> Words:
        """Words `offset` to `offset + count` of this address: uint64 (count,), read-only.

        ValueError for a negative count or offset, or beyond `ADDRESS_WORDS_MAX`.
        """
        return _words(self.subkey(address), count, offset)

    def subkey(self, address: Address) -> bytes:
        """What the words of this address follow from, and nothing else does: 32 bytes."""
        return blake2b(
            address.to_bytes(), digest_size=KEY_BYTES, key=self._key, person=_PERSON
        ).digest()

    def first_words(
        self, heads: Sequence[bytes], learner: str, purpose: Purpose, positions: Sequence[int]
    ) -> Words:
        """The first word of each address (head, learner, purpose, position): uint64 (n,).

        The same as `words(Address(...), 1)` of each, for much less where there are many.
        """
        front, back = _around(HEAD_BYTES, learner, purpose)
        hashed = blake2b(front, digest_size=KEY_BYTES, key=self._key, person=_PERSON)
        subkeys = bytearray()
        for head, position in zip(heads, positions, strict=True):
            if len(head) != HEAD_BYTES:
                raise ValueError(f"a chain head of a record has {HEAD_BYTES} bytes")
            subkey = hashed.copy()
            subkey.update(_NUMBERS.pack(position, 0) + head + back)
            subkeys += subkey.digest()
        return first_chacha_words(bytes(subkeys))


class NotGranted(Exception):
    """`address`: of words that this source cannot make."""

    def __init__(self, address: Address) -> None:
        """Name what is missing."""
        super().__init__("the words of an address were not granted")
        self.address = address


class GrantedNoise:
    """The words of some addresses: those of the store's noise, without the store's key.

    For work on another machine. Who has the subkeys of some addresses knows nothing of the words of
    any other one (`KeyedNoise.subkey`). `repr` does not show them.
    """

    __slots__ = ("_subkeys",)

    def __init__(self, subkeys: Mapping[Address, bytes]) -> None:
        """Use these subkeys."""
        self._subkeys = dict(subkeys)

    def __repr__(self) -> str:
        """The type only."""
        return "GrantedNoise(...)"

    def words(self, address: Address, count: int, offset: int = 0) -> Words:
        """As `KeyedNoise.words`, to which they are equal. NotGranted for another address."""
        try:
            subkey = self._subkeys[address]
        except KeyError:
            raise NotGranted(address) from None
        return _words(subkey, count, offset)


def _words(subkey: bytes, count: int, offset: int) -> Words:
    """Words `offset` to `offset + count` of the address with this subkey. ValueError."""
    if count < 0 or offset < 0 or offset + count > ADDRESS_WORDS_MAX:
        raise ValueError("the words asked for lie outside the key stream of an address")
    block, skipped = divmod(offset, BLOCK_WORDS)
    size = (skipped + count) * WORD_BYTES
    nonce = block.to_bytes(8, "little") + bytes(8)
    encryptor = Cipher(ChaCha20(subkey, nonce), mode=None).encryptor()
    stream = np.empty(size, dtype=np.uint8)
    view = stream.data
    # Piece by piece into one array: twice to four times as fast as one call for long requests.
    for start in range(0, size, len(_ZEROS)):
        piece = view[start : start + len(_ZEROS)]
        encryptor.update_into(_ZEROS_VIEW[: len(piece)], piece)
    words = stream.view("<u8")[skipped:].astype(np.uint64, copy=False)
    words.flags.writeable = False
    return words


def words_of_records(
    source: NoiseSource,
    learner: str,
    purpose: Purpose,
    records: Sequence[tuple[bytes, int]],
    end: int,
    offset: int = 0,
) -> Words:
    """One word for each position of consecutive records, each from the address of its record.

    records: chain head and first position of each. The words are those of the first record's
    positions from its number `offset` on, and of all later positions before `end`: uint64 (n,).
    """
    starts = np.array([position for _, position in records], dtype=np.int64)
    counts = np.diff(starts, append=end)
    first = int(starts[0]) + offset
    words = np.empty(end - first, dtype=np.uint64)
    singles = np.flatnonzero(counts == 1)
    if len(singles) >= SINGLE_WORDS_MIN and isinstance(source, KeyedNoise):
        heads = [records[number][0] for number in singles.tolist()]
        positions = starts[singles]
        words[positions - first] = source.first_words(heads, learner, purpose, positions.tolist())
        rest = np.flatnonzero(counts != 1).tolist()
    else:
        rest = list(range(len(records)))
    for number in rest:
        head, position = records[number]
        skipped = 0 if number else offset
        count = int(counts[number]) - skipped
        address = Address(head, learner, purpose, position)
        at = position + skipped - first
        words[at : at + count] = source.words(address, count, skipped)
    return words
