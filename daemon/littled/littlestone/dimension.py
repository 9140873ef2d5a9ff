"""Littlestone dimension of a finite class.

Source: Littlestone 1988; Lyu, "Private Learning of Littlestone Classes, Revisited", section 4.
"""

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, SubClasses


def littlestone_dimension(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> int:
    """Exact Littlestone dimension of the class whose rows are `matrix`.

    Shapes: `matrix` is boolean, (hypotheses, points). Repeated rows count once; the empty class
    has dimension -1, a single hypothesis 0.

    Source: Littlestone 1988; Lyu, section 4 ("Notation"): the depth of the deepest complete tree
    every branch of which is explained by a hypothesis of the *restricted* class.

    Raises CostExceeded after `subclasses_max` memoised sub-classes; `bounds_and_witness` then
    still has certified bounds.
    """
    classes = SubClasses(matrix, subclasses_max)
    return classes.dimension(classes.everything)
