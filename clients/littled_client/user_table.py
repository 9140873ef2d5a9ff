"""A table from users to their digests, asked about a whole batch at once.

A dictionary of Python is asked for one user after the other, and the memory makes each wait: for
100,000 users that takes twenty times as long as sending them. Here the ids of a batch become rows
of words, and numpy looks all of them up together.

It is a hash table with open addressing. A place is free while the first word of its digest is 0, so
a digest that begins with 64 zero bits is made again each time, and nothing else comes of it. At
most `PROBES` places are looked at: ids that somebody has chosen to collide are as slow as new ones,
and no slower.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Users

Words = NDArray[np.uint64]
"""Ids as rows of words, (n, w): different ids differ in their rows."""

# Longer texts are left to whoever looks them up one by one.
TEXT_BYTES_MAX: Final = 64
# A table of so many users is emptied; it has four times as many places then, of 32 bytes for short
# ids. With twice as many, some users of each batch find all their places taken.
USERS_MAX: Final = 1 << 17
PROBES: Final = 8

_PLACES_MIN: Final = 1 << 10
_WORD_BYTES: Final = 8
_WORD_BITS: Final = 64
# Odd numbers without a pattern, one for each word of an id.
_FACTORS: Final = np.frombuffer(blake2b(digest_size=TEXT_BYTES_MAX).digest(), "<u8") | np.uint64(1)


def text_words(texts: bytes, count: int) -> Words | None:
    """Return the rows of `count` texts, each of which ends with a zero byte.

    None where one is empty, has a zero byte or is longer than TEXT_BYTES_MAX.
    """
    ends = np.flatnonzero(np.frombuffer(texts, dtype=np.uint8) == 0)
    if len(ends) != count:
        return None
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts
    longest = int(lengths.max())
    if not lengths.min() or longest > TEXT_BYTES_MAX:
        return None
    size = -(-longest // _WORD_BYTES) * _WORD_BYTES
    # One window begins at each byte; what is behind the end of a text is cleared.
    windows = np.ndarray(len(texts), f"V{size}", texts + bytes(size), strides=(1,))
    words: Words = windows[starts].view("<u8").reshape(count, -1)
    words &= _masks(size).take(lengths, axis=0)
    return words


def cell_words(cells: NDArray[np.bytes_]) -> Words | None:
    """Return the rows of texts (n,) that numpy pads with zero bytes; None as `text_words`."""
    size = -(-cells.itemsize // _WORD_BYTES) * _WORD_BYTES
    if not 0 < size <= TEXT_BYTES_MAX:
        return None
    words: Words = cells.astype(f"S{size}").view("<u8").reshape(len(cells), -1)
    return words if (words != 0).any(axis=1).all() else None


def integer_words(integers: NDArray[Any]) -> Words:
    """Return the rows of integers (n,) of at most 64 bits with a sign."""
    return integers.astype(np.int64).view(np.uint64).reshape(-1, 1)


class UserTable:
    """Digests of users that were seen, by the rows of their ids; ids of one kind only."""

    def __init__(self) -> None:
        """Know nobody."""
        self._empty(_PLACES_MIN, 1)

    def find(self, words: Words) -> tuple[Users, NDArray[np.int64]]:
        """Return the digests (n, 2) of n ids, and which of them are not known."""
        words = self._fitted(words)
        if not self.count:
            return np.zeros((len(words), 2), dtype=np.uint64), np.arange(len(words))
        at = self._first_places(words)
        rows = self._rows.take(at, axis=0)
        found = rows[:, :2].copy()
        asked = np.flatnonzero(~_equal(rows, words))
        rows = rows[asked]
        missing = []
        for probe in range(1, PROBES):
            free = rows[:, 0] == 0
            missing.append(asked[free])
            asked = asked[~free]
            if not len(asked):
                break
            rows = self._rows.take(self._later(at[asked], probe), axis=0)
            found[asked] = rows[:, :2]
            other = ~_equal(rows, words[asked])
            asked, rows = asked[other], rows[other]
        return found, np.concatenate((*missing, asked))

    def add(self, words: Words, digests: Users) -> None:
        """Remember different users that are not known."""
        if self.count + len(words) > USERS_MAX:
            self._empty(_PLACES_MIN, 1)
            words, digests = words[:USERS_MAX], digests[:USERS_MAX]
        words = self._fitted(words)
        if 2 * (self.count + len(words)) > len(self._rows):
            self._grow(self.count + len(words))
        self._put(np.concatenate((digests, words), axis=1))

    def _empty(self, places: int, width: int) -> None:
        """Forget everybody; places: a power of two, width: words of an id."""
        self.count = 0
        # Two words of a digest, and then those of the id.
        self._rows: Words = np.zeros((places, 2 + width), dtype=np.uint64)

    def _grow(self, users: int) -> None:
        """Make room for so many users, and three times as many while that is little."""
        rows = self._rows[self._rows[:, 0] != 0]
        places = 1 << (4 * 2 * users - 1).bit_length()
        self._empty(min(places, 4 * USERS_MAX), rows.shape[1] - 2)
        self._put(rows)

    def _put(self, rows: Words) -> None:
        at = self._first_places(rows[:, 2:])
        for probe in range(PROBES):
            places = self._later(at, probe)
            free = self._rows[places, 0] == 0
            # Of those that come to one place the last one gets it, and all see who did.
            self._rows[places[free]] = rows[free]
            others = ~_equal(self._rows[places], rows[:, 2:])
            self.count += int(np.count_nonzero(free & ~others))
            if not others.any():
                return
            at, rows = at[others], rows[others]

    def _fitted(self, words: Words) -> Words:
        """Return rows as wide as those of the table, which are made wider where that is needed."""
        width, wanted = self._rows.shape[1] - 2, words.shape[1]
        if wanted > width:
            self._rows = np.pad(self._rows, ((0, 0), (0, wanted - width)))
        return words if wanted >= width else np.pad(words, ((0, 0), (0, width - wanted)))

    def _first_places(self, words: Words) -> NDArray[np.int64]:
        """Return where each id is looked for first; words of 0 at the end change nothing."""
        mixed = words[:, 0] * _FACTORS[0]
        for index in range(1, words.shape[1]):
            mixed += words[:, index] * _FACTORS[index]
        mixed = (mixed ^ (mixed >> np.uint64(32))) * _FACTORS[0]
        bits = len(self._rows).bit_length() - 1
        places: NDArray[np.int64] = (mixed >> np.uint64(_WORD_BITS - bits)).astype(np.int64)
        return places

    def _later(self, at: NDArray[np.int64], probe: int) -> NDArray[np.int64]:
        """Return where ids are looked for next: 0, 1, 3, 6, 10, ... places further."""
        return (at + probe * (probe + 1) // 2) & (len(self._rows) - 1)


def _equal(rows: Words, words: Words) -> NDArray[np.bool_]:
    """Whether each row of a table is taken, by the user beside it."""
    same: NDArray[np.bool_] = rows[:, 0] != 0
    for index in range(words.shape[1]):
        same &= rows[:, 2 + index] == words[:, index]
    return same


@cache
def _masks(size: int) -> Words:
    """Return the mask for a text of each length up to `size` bytes, (size + 1, words)."""
    ends = np.arange(size + 1)[:, np.newaxis]
    masks: Words = (np.uint8(255) * (np.arange(size) < ends)).view("<u8")
    return masks
