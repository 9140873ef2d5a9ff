"""Values that others keep for a store and can neither read nor make up.

A mark has heads of chains over examples, by which whoever reads it could test a guess of them. So
what leaves the machine is sealed: ChaCha20-Poly1305, under a key that follows from the noise key
and from 16 bytes drawn for each value, bound to the name that the value stands under. An older
value of the same name can be put back; noticing that is for whoever compares.
"""

import secrets
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from littled.store.errors import StoreRefused

_SALT_BYTES = 16
_KEY_BYTES = 32
_NO_NONCE = bytes(12)  # no key is used twice


class Seal:
    """Seals and opens values with the noise key of a store."""

    def __init__(self, key: bytes | None) -> None:
        """Take the noise key; None where it cannot be read, and then nothing can be."""
        self._key = key

    def close(self, name: str, value: bytes) -> bytes:
        """A value sealed under a name, 32 bytes longer."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return salt + self._cipher(salt).encrypt(_NO_NONCE, value, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        """What `close` has sealed under this name; ValueError for anything else."""
        salt, rest = sealed[:_SALT_BYTES], sealed[_SALT_BYTES:]
        try:
            return self._cipher(salt).decrypt(_NO_NONCE, rest, name.encode())
        except InvalidTag:
            raise ValueError("it was not sealed under this name with this key") from None

    def _cipher(self, salt: bytes) -> ChaCha20Poly1305:
        if self._key is None:
            raise StoreRefused("a high-water mark in etcd cannot be read without the noise key")
        person = b"littled seal 1"
        return ChaCha20Poly1305(
            blake2b(salt, key=self._key, digest_size=_KEY_BYTES, person=person).digest()
        )
