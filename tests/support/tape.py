"""Noise for tests: a tape addressed by purpose, position and draw, however a stream is cut."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.noise import Address


class TapeNoise:
    """The same words for the same purpose and position, whatever the history; remembers requests.

    The daemon's noise is bound to the history and so differs between neighbouring streams and
    between two ways to cut one stream; with this tape such runs can be compared word by word.
    """

    def __init__(self, seed: int = 0, constant: int | None = None) -> None:
        self.seed, self.constant = seed, constant
        self.requests: list[tuple[str, str, int, int]] = []

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        self.requests.append((address.learner, address.purpose, address.position + offset, count))
        if self.constant is not None:
            return np.full(count, self.constant, dtype=np.uint64)
        if address.purpose in {"trigger", "buffer", "pool", "teacher"}:
            each = [self._word(address, address.position + offset + i, 0) for i in range(count)]
        else:
            each = [self._word(address, address.position, offset + i) for i in range(count)]
        return np.array(each, dtype=np.uint64)

    def _word(self, address: Address, position: int, index: int) -> int:
        text = f"{self.seed}/{address.learner}/{address.purpose}/{position}/{address.draw}/{index}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
