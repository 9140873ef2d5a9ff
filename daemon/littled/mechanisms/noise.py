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
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

Words = NDArray[np.uint64]

# What noise is drawn for. PRIVACY.md says of each what it decides and where its price is proven;
# a draw for anything else has no name here, and so does not pass the type checker.
Purpose = Literal[
    "trigger",
    "trigger-threshold",
    "stage-query",
    "stage-threshold",
    "buffer",
    "teacher",
    "user-teacher",
    "select",
    "predict",  # the place of a question, from which nothing is drawn itself
    "predict/subset",
    "predict/select",
    "predict/vote",
    "predict/flip",
    "predict/threshold",
    "predict/test",
]

KEY_BYTES = 32
WORD_BYTES = 8
BLOCK_BYTES = 64
BLOCK_WORDS = BLOCK_BYTES // WORD_BYTES
# One address may be read so far: 2^32 blocks, where even the narrowest block counter in use wraps.
ADDRESS_WORDS_MAX = BLOCK_WORDS << 32

# Separates this use of the key from any other that may come.
_PERSON = b"littled noise 1"
_INTEGER_MAX = (1 << 64) - 1
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
        learner, purpose = self.learner.encode(), self.purpose.encode()
        lengths = struct.pack("<III", len(self.chain_head), len(learner), len(purpose))
        numbers = struct.pack("<QQ", self.position, self.draw)
        return b"".join((lengths, numbers, self.chain_head, learner, purpose))


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
        if count < 0 or offset < 0 or offset + count > ADDRESS_WORDS_MAX:
            raise ValueError("the words asked for lie outside the key stream of an address")
        block, skipped = divmod(offset, BLOCK_WORDS)
        size = (skipped + count) * WORD_BYTES
        subkey = blake2b(
            address.to_bytes(), digest_size=KEY_BYTES, key=self._key, person=_PERSON
        ).digest()
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
