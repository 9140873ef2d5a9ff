"""Shattered trees as the definition has them: the check of one, and a deepest one of a class."""

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, SubClasses, as_class
from littled.littlestone.trees import ShatteredTree, branches, tree_of_depth
from oracle.littlestone.subclasses import check_point


def is_shattered(matrix: NDArray[np.bool_], tree: ShatteredTree) -> bool:
    """Whether `tree` is complete and every leaf names a row that explains its branch.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Raises ValueError for a point or a row that the class does not have.
    """
    matrix = as_class(matrix)
    found = list(branches(tree))
    for examples, hypothesis in found:
        if not 0 <= hypothesis < len(matrix):
            raise ValueError(f"the class has {len(matrix)} rows, and {hypothesis} is none of them")
        for point, _ in examples:
            check_point(point, matrix.shape[1])
    complete = len({len(examples) for examples, _ in found}) == 1
    return complete and all(
        matrix[hypothesis, point] == bool(label)
        for examples, hypothesis in found
        for point, label in examples
    )


def witness_tree(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> ShatteredTree:
    """A complete tree, as deep as the Littlestone dimension, that a non-empty class shatters.

    Shapes: `matrix` is boolean, (hypotheses, points). Leaves name rows of `matrix`, of equal rows
    the first.

    Raises ValueError for an empty class, which shatters no tree, CostExceeded like
    `littlestone_dimension`.
    """
    classes = SubClasses(matrix, subclasses_max)
    if not classes.everything:
        raise ValueError("a shattered tree needs at least one hypothesis")
    return tree_of_depth(classes, classes.everything, classes.dimension(classes.everything))
