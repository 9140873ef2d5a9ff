"""The users of a batch: from a program's own ids to the digests that travel.

An id never leaves the client. What is sent is the BLAKE2b digest, of 16 bytes and without a key, of
one text: a str in UTF-8, bytes as they are, an integer in decimal digits. So 17, "17" and b"17" are
one user; "Ann", "ann" and "Ann " are three, as nothing is trimmed, folded or normalised. Every
client has to make the same text of the same user, or the user counts as several.

A digest without a key hides an id only from those who cannot guess it. The daemon puts a keyed one
in its place before anything is stored.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_client.arrays import as_given
from littled_client.errors import ExampleError
from littled_client.user_table import UserTable, Words, cell_words, integer_words, text_words
from littled_protocol import limits
from littled_protocol.columns import Users, decode_users

# From so many users on a batch is looked up as a whole.
LARGE_BATCH_MIN = 256
# Digests of users of small batches, and of ids that do not go into a table, kept after a batch, and
# bytes of the ids that they are of: some 20 MB for short ids.
REMEMBERED_USERS_MAX = 1 << 17
REMEMBERED_BYTES_MAX = 1 << 24

_NAMELESS = "a user needs a name: a text, bytes or an integer, and no empty one"
_ID_TYPES = frozenset({str, bytes, int})
# A copy of an empty hash is made faster than a new one; this runs for every new user.
_EMPTY = blake2b(digest_size=limits.user_bytes)


def user_digest(user: Any) -> bytes:
    """Return the 16 bytes that stand for a user, given as str, bytes or an integer.

    Raises ExampleError for anything else, and for an empty id.
    """
    text = user_text(user)
    if text is None:
        raise ExampleError(_NAMELESS)
    return _digests_of([text])[0]


class UserDigests:
    """Makes the digests of batches, and remembers those of users that it has seen.

    Large batches of short texts, or of integers, are looked up as a whole (`UserTable`).
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._texts = UserTable()
        self._integers = UserTable()
        self._asked: set[UserTable] = set()
        self._known: dict[str | bytes | int, bytes] = {}
        self._known_bytes = 0

    def one(self, user: Any) -> bytes:
        """Return the 16 bytes of one user; raises ExampleError as `user_digest` does."""
        return self._digests([user])[0] if type(user) in _ID_TYPES else user_digest(user)

    def array(self, users: Any) -> Users:
        """Return the digests (n, 2) of n users, given as a sequence or an array of ids.

        An array (n, 2) of uint64 holds digests already, as recordings and sources give them.
        Raises ExampleError when one of them names no user, or is masked.
        """
        users = as_given("users", users)
        if isinstance(users, np.ndarray):
            if users.ndim == 2 and users.shape[1] == 2 and users.dtype == np.uint64:
                return users
            if users.ndim == 1 and len(users) >= LARGE_BATCH_MIN:
                found = self._found_in_array(users)
                if found is not None:
                    return found
            users = users.tolist() if users.ndim == 1 else None
        if not isinstance(users, Iterable) or isinstance(users, str | bytes):
            raise ExampleError("users needs one user for each example")
        ids = list(users)
        words = _words_of(ids) if len(ids) >= LARGE_BATCH_MIN else None
        if words is not None:
            return self._found(self._table_of(isinstance(ids[0], int)), words, ids)
        return decode_users(b"".join(self._digests(ids)), len(ids))

    def _found_in_array(self, users: NDArray[Any]) -> Users | None:
        """Return the digests of ids in an array, None where they have to be looked at singly."""
        words = None
        if users.dtype.kind == "S":
            words = cell_words(users)
        elif users.dtype.kind in "iu" and np.can_cast(users.dtype, np.int64):
            words = integer_words(users)
        if words is None:
            return None
        return self._found(self._table_of(users.dtype.kind != "S"), words, users)

    def _table_of(self, integers: bool) -> UserTable:
        return self._integers if integers else self._texts

    def _found(self, table: UserTable, words: Words, ids: list[str] | NDArray[Any]) -> Users:
        """Return the digests of ids, all of one kind, and remember those that are new."""
        digests, missing = table.find(words)
        if len(missing):
            places = missing.tolist()
            asked = [ids[at] for at in places] if isinstance(ids, list) else ids[missing].tolist()
            # Their last places.
            new = dict(zip(asked, places, strict=True))
            texts = _texts(list(new), {type(asked[0])})
            made = decode_users(b"".join(_digests_of(texts)), len(new))
            if len(new) == len(asked):
                digests[missing] = made
            else:
                numbers = dict(zip(new, range(len(new)), strict=True))
                digests[missing] = made[list(map(numbers.__getitem__, asked))]
            if table in self._asked:  # after a single batch, as HTTP has them, nobody asks again
                table.add(words[list(new.values())], made)
        self._asked.add(table)
        return digests

    def _digests(self, ids: list[Any]) -> list[bytes]:
        kinds = set(map(type, ids))
        if not kinds <= _ID_TYPES:
            # True equals 1 as a key, and integers of numpy are not found at once.
            return [user_digest(user) for user in ids]
        known = self._known
        found: list[Any] = list(map(known.get, ids))
        if None not in found:
            return found
        missing = (user for user, digest in zip(ids, found, strict=True) if digest is None)
        new = list(dict.fromkeys(missing))
        texts = _texts(new, kinds)
        made = _digests_of(texts)
        known.update(zip(new, made, strict=True))
        self._known_bytes += sum(map(len, texts))
        # Where all of a batch are new, and no two are one user, they stand as the ids do.
        digests = made if len(new) == len(ids) else list(map(known.__getitem__, ids))
        if len(known) > REMEMBERED_USERS_MAX or self._known_bytes > REMEMBERED_BYTES_MAX:
            self._known = {}
            self._known_bytes = 0
        return digests


def _words_of(ids: list[Any]) -> Words | None:
    """Return the rows of ids, None where they are not of one kind or too long for a table."""
    kind = type(ids[0])
    try:
        if issubclass(kind, str):
            return text_words(("\0".join(ids) + "\0").encode(), len(ids))
        if kind not in _ID_TYPES or set(map(type, ids)) != {kind}:
            return None
        if kind is bytes:
            return text_words(b"\0".join(ids) + b"\0", len(ids))
        return integer_words(np.array(ids, dtype=np.int64))
    except (TypeError, UnicodeEncodeError, OverflowError):
        return None


def _texts(ids: list[Any], kinds: set[type]) -> list[bytes]:
    """Return the texts of ids of these types at once; raises ExampleError as `user_digest` does."""
    texts = ids
    try:
        if kinds == {str}:
            texts = list(map(str.encode, ids))
        elif kinds == {int}:
            texts = list(map(b"%d".__mod__, ids))
        elif kinds != {bytes}:
            texts = [user_text(user) or b"" for user in ids]
    except ValueError:  # no UTF-8, or more digits than Python writes
        texts = [b""]
    if not all(texts):
        raise ExampleError(_NAMELESS)
    return texts


def _digests_of(texts: list[bytes]) -> list[bytes]:
    """Return the digests of texts; nothing is called for each of them but the hash itself."""
    empty, digests = _EMPTY.copy, []
    for text in texts:
        digest = empty()
        digest.update(text)
        digests.append(digest.digest())
    return digests


def hash_users(users: Any) -> Users:
    """Return the digests (n, 2) of n users; see `UserDigests.array`."""
    return UserDigests().array(users)


def user_text(user: Any) -> bytes | None:
    """Return the text that is hashed for a user, None for what names no user."""
    if isinstance(user, str | bytes):
        try:
            return (user.encode() if isinstance(user, str) else user) or None
        except UnicodeEncodeError:
            return None
    if isinstance(user, bool | np.bool_):
        return None
    try:
        return b"%d" % operator.index(user)
    except (TypeError, ValueError):
        return None
