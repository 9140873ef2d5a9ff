"""Restriction and the standard optimal algorithm of a finite class.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", section 4.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, as_class
from oracle.littlestone.subclasses import ListedSubClasses, check_point


def restrict(matrix: NDArray[np.bool_], examples: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """The rows that are consistent with every example (point, label), in their order.

    Shapes: `matrix` is boolean, (hypotheses, points); so is the answer, which may have no rows.

    Source: Lyu, section 4 ("Notation"): the restriction class of a sequence of examples.

    Raises ValueError for a point that the class does not have and a label other than 0 and 1.
    """
    matrix = as_class(matrix)
    kept = np.ones(len(matrix), dtype=bool)
    for point, label in examples:
        check_point(point, matrix.shape[1])
        if label not in (0, 1):
            raise ValueError(f"a label is 0 or 1, not {label}")
        kept &= matrix[:, point] == bool(label)
    return matrix[kept]


def standard_optimal_algorithm(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> NDArray[np.bool_]:
    """The SOA hypothesis of a non-empty class, shape (points,).

    Source: Lyu, section 4: 0 where restricting to label 0 keeps the dimension, else 1.

    Raises ValueError for an empty class, CostExceeded like `littlestone_dimension`.
    """
    classes = ListedSubClasses(matrix, subclasses_max)
    if not classes.everything:
        raise ValueError("the standard optimal algorithm needs at least one hypothesis")
    answer: NDArray[np.bool_] = classes.as_rows([classes.standard_optimal(classes.everything)])[0]
    return answer
