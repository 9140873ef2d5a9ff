"""The beginnings of many ChaCha20 key streams, computed side by side.

A record of one example takes one word from a key stream of its own. Setting up a cipher for it
costs many times the word; here numpy runs the same rounds over all keys at once. What comes out is,
bit for bit, what `cryptography` gives for each key (RFC 8439, with nonce and counter 0).
"""

import numpy as np
from numpy.typing import NDArray

SUBKEY_BYTES = 32
# Keys that are worked on at a time: their state takes 256 KiB.
KEYS_AT_ONCE = 4096

_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
_DOUBLE_ROUNDS = 10

_Rows = NDArray[np.uint32]


def first_chacha_words(keys: bytes) -> NDArray[np.uint64]:
    """The first 64 bits of the key stream of each key, little-endian: uint64 (n,).

    keys: n keys of 32 bytes, one after the other. ValueError for another length.
    """
    if len(keys) % SUBKEY_BYTES:
        raise ValueError(f"keys of ChaCha20 have {SUBKEY_BYTES} bytes each")
    columns = np.frombuffer(keys, dtype="<u4").reshape(-1, 8)
    words = np.empty(len(columns), dtype=np.uint64)
    for start in range(0, len(columns), KEYS_AT_ONCE):
        part = slice(start, start + KEYS_AT_ONCE)
        words[part] = _first_words(columns[part])
    return words


def _first_words(keys: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Of keys (n, 8): the rows of the 4 x 4 state are arrays (4, n), one column for each key."""
    count = len(keys)
    a = np.repeat(_CONSTANTS[:, np.newaxis], count, axis=1)
    b = np.array(keys[:, :4].T, dtype=np.uint32, order="C")
    c = np.array(keys[:, 4:].T, dtype=np.uint32, order="C")
    d = np.zeros((4, count), dtype=np.uint32)
    spare = np.empty_like(d)
    for _ in range(_DOUBLE_ROUNDS):
        _quarter_rounds(a, b, c, d, spare)
        # the diagonals become columns, and columns again
        b, c, d = _turned(b, 1), _turned(c, 2), _turned(d, 3)
        _quarter_rounds(a, b, c, d, spare)
        b, c, d = _turned(b, 3), _turned(c, 2), _turned(d, 1)
    low, high = a[0] + _CONSTANTS[0], a[1] + _CONSTANTS[1]
    words: NDArray[np.uint64] = (high.astype(np.uint64) << np.uint64(32)) | low
    return words


def _quarter_rounds(a: _Rows, b: _Rows, c: _Rows, d: _Rows, spare: _Rows) -> None:
    """The quarter round of all columns, in place; additions wrap around."""
    for target, added, mixed, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        np.add(target, added, out=target)
        np.bitwise_xor(mixed, target, out=mixed)
        np.right_shift(mixed, 32 - shift, out=spare)
        np.left_shift(mixed, shift, out=mixed)
        np.bitwise_or(mixed, spare, out=mixed)


def _turned(rows: _Rows, by: int) -> _Rows:
    """The rows from number `by` on, then those before."""
    return np.concatenate((rows[by:], rows[:by]))
