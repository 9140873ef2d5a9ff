"""Laboratory only: uniform numbers for simulations, the same in every run.

They come from the keyed stream of the daemon (`littled.mechanisms.noise`) under a key that
everybody knows, so they protect nobody; and nobody is in the data, as every stream of the
laboratory is made up.
"""

import numpy as np
from numpy.typing import NDArray

from littled.mechanisms.noise import KEY_BYTES, Address, KeyedNoise

# One key for all: what is printed has to be the same tomorrow.
KEY = bytes(KEY_BYTES)


def key(seed: int) -> bytes:
    """The noise key of a learner in a simulated run."""
    return seed.to_bytes(KEY_BYTES, "little")


def words(experiment: str, seed: int, count: int) -> NDArray[np.uint64]:
    """Uniform words of one experiment: uint64 (count,)."""
    address = Address(b"", experiment, "select", seed)
    return KeyedNoise(KEY).words(address, count)


def uniforms(experiment: str, seed: int, count: int) -> NDArray[np.float64]:
    """Uniform numbers from 0 to 1: float64 (count,)."""
    whole = words(experiment, seed, count) >> np.uint64(11)
    return whole.astype(np.float64) * 2.0**-53
