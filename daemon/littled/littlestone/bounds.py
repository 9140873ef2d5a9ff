"""Certified bounds on a Littlestone dimension that is too costly to find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, CostExceeded, SubClasses, as_class
from littled.littlestone.trees import Leaf, Node, ShatteredTree, tree_depth, tree_of_depth

# Levels of the tree on which an upper bound looks for a point that could be the root.
LEVELS = 2


class Bounds(NamedTuple):
    """The dimension is at least `lower` and at most `upper`."""

    lower: int
    upper: int


def bounds_and_witness(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> tuple[Bounds, ShatteredTree]:
    """Certified bounds on the Littlestone dimension, equal where it is found, and a witness.

    The witness is a tree of depth `lower` that the class shatters.

    Shapes: `matrix` is boolean, (hypotheses, points), with at least one row.

    Finding the dimension is hard. n^O(log n) steps are enough for a matrix of n cells; a polynomial
    number most probably is not (Frances and Litman 1998), and under the randomised exponential-time
    hypothesis even a good approximation takes almost n^O(log n) (Manurangsi and Rubinstein 2017).
    So the search stops after `subclasses_max` sub-classes, and then

    - `lower` is the depth of the witness;
    - `upper` is the greatest depth that is not refuted: a class that shatters a tree of depth k has
      2^k rows, and a point that leaves dimension k - 1 on both sides. It is refuted by counting
      rows, by what the search has refuted, and by both for every root and its children.

    Raises ValueError for the empty class, which shatters no tree.
    """
    classes = SubClasses(matrix, subclasses_max)
    everything = classes.everything
    if not everything:
        raise ValueError("a shattered tree needs at least one hypothesis")
    try:
        found = classes.dimension(everything)
        return Bounds(found, found), tree_of_depth(classes, everything, found)
    except CostExceeded:
        lower, _ = classes.bounds(everything)
    upper = _upper_bound(classes)
    tree = greedy_tree(matrix, upper)
    if tree_depth(tree) <= lower:
        tree = tree_of_depth(classes, everything, lower)
    return Bounds(tree_depth(tree), upper), tree


def greedy_tree(matrix: NDArray[np.bool_], depth: int) -> ShatteredTree:
    """A complete shattered tree of at most this depth, found without any search.

    Every sub-class is divided at the point that divides it most evenly, and what comes out is cut
    to the length of its shortest branch.

    Shapes: `matrix` is boolean, (hypotheses, points), with at least one row.
    """
    matrix = as_class(matrix)
    _, first = np.unique(matrix, axis=0, return_index=True)
    tree = _evenly_divided(matrix, first, depth)
    return _cut(tree, tree_depth(tree))


def _evenly_divided(matrix: NDArray[np.bool_], rows: NDArray[np.intp], depth: int) -> ShatteredTree:
    """The tree below these rows, not cut yet; branches end early where one row is left."""
    if depth == 0 or len(rows) == 1:
        return Leaf(int(rows[0]))
    members = matrix[rows]
    point = int(np.abs(2 * members.sum(axis=0, dtype=np.int64) - len(rows)).argmin())
    zero, one = rows[~members[:, point]], rows[members[:, point]]
    return Node(
        point,
        _evenly_divided(matrix, zero, depth - 1),
        _evenly_divided(matrix, one, depth - 1),
    )


def _cut(tree: ShatteredTree, depth: int) -> ShatteredTree:
    """The first `depth` levels; a node that is cut off becomes one of its leaves."""
    if isinstance(tree, Leaf):
        return tree
    if depth == 0:
        return _cut(tree.zero, 0)
    return Node(tree.point, _cut(tree.zero, depth - 1), _cut(tree.one, depth - 1))


def _upper_bound(classes: SubClasses) -> int:
    """The greatest depth that is not refuted."""
    lower, upper = classes.bounds(classes.everything)
    while upper > lower and _refuted(classes, classes.everything, upper, LEVELS):
        upper -= 1
    return upper


def _refuted(classes: SubClasses, rows: int, depth: int, levels: int) -> bool:
    """Whether `rows` certainly shatters no tree of this depth, looking at so many levels of it."""
    if classes.bounds(rows)[1] < depth:
        return True
    if levels == 0 or classes.bounds(rows)[0] >= depth:
        return False
    return all(
        _refuted(classes, part, depth - 1, levels - 1)
        or _refuted(classes, rows ^ part, depth - 1, levels - 1)
        for part in classes.parts(rows)
    )
