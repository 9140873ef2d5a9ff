"""Noise for audits alone: quick, from keys of their own.

An audit never uses the key of a store. Its keys are new in every audit, or follow from a seed so
that an audit can be repeated; every run of a mechanism has one of its own.
"""

from hashlib import blake2b, shake_128

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.noise import KEY_BYTES

SEED_MAX = (1 << 64) - 1

_PERSON = b"littled audit 1"


def derived_key(key: bytes, *numbers: int) -> bytes:
    """A key of `KEY_BYTES` bytes of its own for each sequence of numbers from 0 to 2^64 - 1."""
    place = b"".join(number.to_bytes(8, "little") for number in numbers)
    return blake2b(place, digest_size=KEY_BYTES, key=key, person=_PERSON).digest()


def key_of_seed(seed: int) -> bytes:
    """The key with which an audit can be repeated; `seed` is from 0 to `SEED_MAX`."""
    return derived_key(b"seed", seed)


def quick_words(key: bytes, count: int) -> NDArray[np.uint64]:
    """Uniform words from this key: uint64 (count,)."""
    return np.frombuffer(shake_128(key).digest(8 * count), dtype="<u8")
