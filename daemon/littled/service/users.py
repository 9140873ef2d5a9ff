"""The keyed hash on arrival: what stands for a user in a store.

A digest that came over the wire has no key, so that anybody could look for the id behind it by
trying ids. Before anything of a batch is stored, each digest u is replaced by

    F(u) = AES-256(subkey, u) XOR u
    subkey = BLAKE2b-256(the stream's name, key = the store's 256-bit key)

and nothing but this function ever sees what came. The purpose of the subkey is in the hash's person
field, and the stream's name keeps one user of two streams apart.

The claim is computational, as that of the noise: BLAKE2b with a key is taken to be a pseudo-random
function and AES a pseudo-random permutation. Then F is a pseudo-random function, up to q^2 / 2^128
for q users, and who does not have the key can neither find an id by trying nor tell two users of
one stream from two of another. Who has the key can try ids, and has the examples anyway. The XOR is
what makes F a function of one way, which a cipher alone is not for who has its key. A cipher, as it
hashes a column in one call: ten thousand users take less than a tenth of a millisecond.
"""

from hashlib import blake2b

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES

from littled_protocol import limits

_SUBKEY_BYTES = 32
# Separates this use of the store's key from that for noise.
_PERSON = b"littled users 1"


class UserHash:
    """The keyed hash of one stream's users; used by one thread at a time.

    `repr` does not show the key.
    """

    __slots__ = ("_encryptor",)

    def __init__(self, key: bytes, stream: str) -> None:
        """Use the store's key, 32 bytes, for the stream of this name."""
        subkey = blake2b(
            stream.encode(), digest_size=_SUBKEY_BYTES, key=key, person=_PERSON
        ).digest()
        # Block by block: every block is a user of its own, and equal users have to stay equal.
        self._encryptor = Cipher(AES(subkey), modes.ECB()).encryptor()  # noqa: S305

    def __repr__(self) -> str:
        """The type only: a key has no place in a log or a traceback."""
        return "UserHash(...)"

    def column(self, users: bytes) -> memoryview:
        """Return what is stored for a column of the wire, 16 bytes for each user; read-only.

        A view, as what is stored is joined from several of them, and copied then. ValueError for a
        column of another length.
        """
        if len(users) % limits.user_bytes:
            raise ValueError(f"a user has {limits.user_bytes} bytes")
        # Room for one block less a byte more than is written, which the cipher asks for.
        room = np.empty(len(users) + limits.user_bytes - 1, dtype=np.uint8)
        self._encryptor.update_into(users, room.data)
        hashed = room[: len(users)]
        hashed ^= np.frombuffer(users, dtype=np.uint8)
        return hashed.data.toreadonly()
