"""Ids of up to 128 bits as rows (high, low) of two uint64: numpy has no wider integer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.uint64]


def as_pairs(points: NDArray[np.unsignedinteger[Any]]) -> Pairs:
    """(n, 2) uint64 view or copy of scalar (n,) or wide (n, 2) columns."""
    if points.ndim == 2:
        return points.astype(np.uint64, copy=False)
    pairs = np.zeros((len(points), 2), dtype=np.uint64)
    pairs[:, 1] = points
    return pairs


def to_int(pair: NDArray[np.uint64]) -> int:
    """The integer behind one (high, low) pair."""
    return int(pair[0]) << 64 | int(pair[1])


def fits_bits(points: NDArray[np.unsignedinteger[Any]], bits: int) -> bool:
    """Whether every id is below 2^bits."""
    if not len(points) or bits == 128:
        return True
    if points.ndim == 1:
        return bits >= 64 or int(points.max()) >> bits == 0
    high_bits = max(bits - 64, 0)
    if int(points[:, 0].max()) >> high_bits:
        return False
    return bits >= 64 or int(points[:, 1].max()) >> bits == 0
