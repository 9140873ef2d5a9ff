"""Points against a rising list of bounds, whole columns at a time, also of 128 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points, point_type

_WORD = 2**64 - 1


class Bounds:
    """Rising numbers that cut all points of a scalar type into stretches. Immutable."""

    __slots__ = ("_high", "_low", "_shared")

    def __init__(self, bounds: Sequence[int], x_type: str) -> None:
        """Prepare for these bounds, different points of this type in rising order."""
        kind = point_type(x_type)
        low = np.array([bound & _WORD for bound in bounds], dtype=np.uint64)
        if kind.columns == 1:
            self._high: NDArray[Any] | None = None
            self._low: NDArray[Any] = low.astype(kind.dtype)
            return
        self._high, self._low = np.array([b >> 64 for b in bounds], dtype=np.uint64), low
        # Where a point has the high word of several bounds, the low word decides.
        _, firsts, counts = np.unique(self._high, return_index=True, return_counts=True)
        self._shared = list(zip(firsts.tolist(), counts.tolist(), strict=True))

    def __len__(self) -> int:
        """Number of bounds."""
        return len(self._low)

    def below(self, points: Points) -> NDArray[np.int64]:
        """Return how many bounds are at most each point (n,) or (n, 2), int64 (n,)."""
        if self._high is None:
            narrow: NDArray[np.int64] = np.searchsorted(self._low, points, side="right")
            return narrow
        high, low = points[:, 0], points[:, 1]
        found: NDArray[np.int64] = np.searchsorted(self._high, high, side="left")
        first_of = np.flatnonzero(np.searchsorted(self._high, high, side="right") > found)
        if not len(first_of):
            return found
        order = np.argsort(found[first_of], kind="stable")
        ordered = first_of[order]
        ends = np.searchsorted(found[ordered], [first for first, _ in self._shared], side="right")
        start = 0
        for (first, count), end in zip(self._shared, ends.tolist(), strict=True):
            same = ordered[start:end]
            lows = self._low[first : first + count]
            found[same] = first + np.searchsorted(lows, low[same], side="right")
            start = end
        return found
