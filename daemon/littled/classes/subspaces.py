"""All affine subspaces of few bits, as sets of points: bit x of a mask says whether x is inside."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from littled.classes.affine_spaces import hull
from littled.classes.base import Labels, Points, Scores
from littled.classes.labelings import RepresentedRules
from littled_protocol.rules import AffineRule

# Up to this width a mask is one word; there are 26,387 subspaces then, and nothing.
LISTED_BITS_MAX = 6

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subspaces(RepresentedRules):
    """The affine subspaces of at most some dimension, and nothing, in rising order of dimensions.

    `masks` (rules,) are their points; nothing, which is always 0, is the first.
    """

    bits: int
    masks: NDArray[np.uint64]

    def rule(self, index: int) -> AffineRule:
        """The subspace with this number."""
        mask = int(self.masks[index])
        around = hull(x for x in range(1 << self.bits) if mask >> x & 1)
        if around is None:
            return AffineRule(self.bits, (), None)
        return AffineRule(self.bits, around[1], around[0])

    def labels_of(self, numbers: Numbers, point: Points) -> NDArray[np.bool_]:
        """What the subspaces with these numbers say to one point."""
        labels: NDArray[np.bool_] = self.masks[numbers] >> np.uint64(point[0]) & np.uint64(1) == 1
        return labels

    def representatives(self, points: Points) -> Numbers:
        """The subspaces spanned by some of these points (n,), and nothing, rising.

        A labeling is represented by the hull of the points labeled 1. Of all that hold the same of
        the points it is the first, as all others around these have a greater dimension.
        """
        seen = np.bitwise_or.reduce(np.uint64(1) << points.astype(np.uint64))
        _, first = np.unique(self.masks & seen, return_index=True)
        return np.sort(first)

    def agreements(self, x: Points, y: Labels) -> Scores:
        """Agreements of every subspace with labeled examples, (rules,)."""
        zeros, ones = (np.bincount(x[y == label], minlength=1 << self.bits) for label in (0, 1))
        scores = np.full(len(self.masks), zeros.sum(), dtype=np.int64)
        for point in np.flatnonzero(zeros != ones).tolist():
            inside = (self.masks >> np.uint64(point) & np.uint64(1)).astype(np.int64)
            scores += inside * (ones[point] - zeros[point])
        return scores


@cache
def all_subspaces(bits: int, dimension: int) -> Subspaces:
    """The subspaces of at most `dimension` of at most LISTED_BITS_MAX bits."""
    masks, linear = [0], {1}
    for size in range(dimension + 1):
        if size:
            linear = {
                mask | _translated(mask, vector)
                for mask in linear
                for vector in range(1, 1 << bits)
                if not mask >> vector & 1
            }
        masks += sorted({_translated(mask, x) for mask in linear for x in range(1 << bits)})
    return Subspaces(bits, np.array(masks, dtype=np.uint64))


def _translated(mask: int, vector: int) -> int:
    """The set of all x ^ vector for points x of a set."""
    for bit, halves in enumerate(_LOWER_HALVES):
        if vector >> bit & 1:
            shift = 1 << bit
            mask = (mask & halves) << shift | (mask >> shift) & halves
    return mask


# For every bit the points, of LISTED_BITS_MAX bits, that lack it.
_LOWER_HALVES = [
    sum(1 << x for x in range(1 << LISTED_BITS_MAX) if not x >> bit & 1)
    for bit in range(LISTED_BITS_MAX)
]
