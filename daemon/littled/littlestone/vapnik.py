"""Vapnik-Chervonenkis dimension of a finite class and of its dual.

Source: Vapnik and Chervonenkis 1971; Assouad 1983 for the dual class.
"""

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, SubClasses, as_class


def vapnik_chervonenkis_dimension(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> int:
    """Size of the largest set of points on which the class shows every pattern of labels.

    Shapes: `matrix` is boolean, (hypotheses, points). The empty class has dimension -1.

    To find it is hard as well (Papadimitriou and Yannakakis 1996).

    Raises CostExceeded after `subclasses_max` sub-classes, one for each pattern on each shattered
    set of points that is tried.
    """
    classes = SubClasses(matrix, subclasses_max)
    if not classes.everything:
        return -1
    columns = classes.parts(classes.everything)
    return _Shattering(classes).largest([classes.everything], columns)


def dual_vapnik_chervonenkis_dimension(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> int:
    """Vapnik-Chervonenkis dimension of the dual class, whose hypotheses are the points.

    Shapes: `matrix` is boolean, (hypotheses, points). A class without points has dimension -1.

    Raises CostExceeded like `vapnik_chervonenkis_dimension`.
    """
    return vapnik_chervonenkis_dimension(as_class(matrix).T, subclasses_max=subclasses_max)


class _Shattering:
    """The search for a largest shattered set; `_best` is the size of the largest found so far."""

    def __init__(self, classes: SubClasses) -> None:
        self._classes = classes
        self._best = 0

    def largest(self, patterns: list[int], columns: list[int], size: int = 0) -> int:
        """The largest size after trying to add some of `columns` to a shattered set of this size.

        `patterns` holds the non-empty sub-class of every pattern on the set. Points come in one
        order, and a point that fails to divide one of them never divides it later either.
        """
        self._best = max(self._best, size)
        dividing = [column for column in columns if _divides(column, patterns)]
        for number, column in enumerate(dividing):
            room = min(pattern.bit_count() for pattern in patterns).bit_length() - 1
            if size + min(room, len(dividing) - number) <= self._best:
                break
            self._classes.charge(2 * len(patterns))
            finer = [pattern & column for pattern in patterns]
            finer += [pattern & ~column for pattern in patterns]
            self.largest(finer, dividing[number + 1 :], size + 1)
        return self._best


def _divides(column: int, patterns: list[int]) -> bool:
    """Whether both labels occur in every pattern."""
    return all(0 != pattern & column != pattern for pattern in patterns)
