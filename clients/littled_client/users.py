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

from littled_client.errors import ExampleError
from littled_protocol import limits
from littled_protocol.columns import Users, decode_users

# Digests kept after a batch: some 20 MB, and many times as fast for users that come again soon.
REMEMBERED_USERS_MAX = 1 << 17

_ID_TYPES = frozenset({str, bytes, int})
# A copy of an empty hash is made faster than a new one; this runs for every new user.
_EMPTY = blake2b(digest_size=limits.user_bytes)


def user_digest(user: Any) -> bytes:
    """Return the 16 bytes that stand for a user, given as str, bytes or an integer.

    Raises ExampleError for anything else, and for an empty id.
    """
    text = user_text(user)
    if text is None:
        raise ExampleError("a user needs a name: a text, bytes or an integer, and no empty one")
    digest = _EMPTY.copy()
    digest.update(text)
    return digest.digest()


class _Known(dict[str | bytes | int, bytes]):
    """Digests by user; one that is asked for is made."""

    def __missing__(self, user: str | bytes | int) -> bytes:
        digest = self[user] = user_digest(user)
        return digest


class UserDigests:
    """Makes the digests of batches, and remembers those of users that it has seen."""

    def __init__(self) -> None:
        """Know nobody."""
        self._known = _Known()

    def one(self, user: Any) -> bytes:
        """Return the 16 bytes of one user; raises ExampleError as `user_digest` does."""
        return self._digests([user])[0] if type(user) in _ID_TYPES else user_digest(user)

    def array(self, users: Any) -> Users:
        """Return the digests (n, 2) of n users, given as a sequence or an array of ids.

        An array (n, 2) of uint64 holds digests already, as recordings and sources give them.
        Raises ExampleError when one of them names no user.
        """
        if isinstance(users, np.ndarray):
            if users.ndim == 2 and users.shape[1] == 2 and users.dtype == np.uint64:
                return users
            users = users.tolist() if users.ndim == 1 else None
        if not isinstance(users, Iterable) or isinstance(users, str | bytes):
            raise ExampleError("users needs one user for each example")
        ids = list(users)
        return decode_users(b"".join(self._digests(ids)), len(ids))

    def _digests(self, ids: list[Any]) -> list[bytes]:
        if not set(map(type, ids)) <= _ID_TYPES:
            # True equals 1 as a key, and integers of numpy are not found at once.
            return [user_digest(user) for user in ids]
        digests = list(map(self._known.__getitem__, ids))
        if len(self._known) > REMEMBERED_USERS_MAX:
            self._known.clear()
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
