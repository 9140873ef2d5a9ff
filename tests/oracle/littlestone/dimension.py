"""Restriction of a finite class.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", section 4.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import as_class
from oracle.littlestone.subclasses import check_point


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
