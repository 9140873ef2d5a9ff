"""Noise for audits in tests: as good for them as the daemon's, and quick."""

import numpy as np
from numpy.typing import NDArray

from littled.auditing.noise import quick_words
from littled.mechanisms.noise import Address


class QuickNoise:
    """Words of SHAKE-128 from key and address: as independent as the daemon's, and sooner there."""

    def __init__(self, key: bytes) -> None:
        """Use this key."""
        self._key = key

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        """Words `offset` to `offset + count` of this address: uint64 (count,)."""
        return quick_words(self._key + address.to_bytes(), offset + count)[offset:]
