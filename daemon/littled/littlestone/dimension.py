"""Littlestone dimension and the standard optimal algorithm of a finite class.

A class is a boolean matrix: rows are hypotheses, columns are points. Sub-classes are Python
integers used as bit sets of rows, so that restriction is one bitwise operation and the recursion
is memoised on the sub-class itself. The problem is hard in general, hence the cost limit.
"""

import numpy as np
from numpy.typing import NDArray

SUBCLASSES_MAX = 1_000_000


class CostExceeded(Exception):
    """The exact answer would visit more sub-classes than the caller allowed."""


def _row_set(column: NDArray[np.bool_]) -> int:
    """Bit set of the rows that say 1 in this column."""
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")


def _column_sets(matrix: NDArray[np.bool_]) -> list[int]:
    """The row set of each distinct non-constant column."""
    everything = (1 << len(matrix)) - 1
    return sorted({_row_set(column) for column in matrix.T} - {0, everything})


class _Dimensions:
    """Memoised Littlestone dimensions of the sub-classes of one matrix."""

    def __init__(self, matrix: NDArray[np.bool_], subclasses_max: int) -> None:
        rows = np.unique(np.asarray(matrix, dtype=bool), axis=0)
        self.columns = _column_sets(rows)
        self.everything = (1 << len(rows)) - 1
        self.subclasses_max = subclasses_max
        self.known: dict[int, int] = {}

    def of(self, rows: int) -> int:
        """Dimension of the sub-class `rows`; -1 for the empty class, as is usual."""
        size = rows.bit_count()
        if size <= 1:
            return size - 1
        if rows in self.known:
            return self.known[rows]
        if len(self.known) >= self.subclasses_max:
            raise CostExceeded(
                f"the exact Littlestone dimension needs more than {self.subclasses_max} sub-classes"
            )
        upper = size.bit_length() - 1
        best = 0
        for column in self.columns:
            ones, zeros = rows & column, rows & ~column
            smaller = min(ones.bit_count(), zeros.bit_count())
            if smaller == 0 or smaller.bit_length() - 1 < best:
                continue  # a split cannot beat 1 + log2 of its smaller side
            first, second = (ones, zeros) if ones.bit_count() == smaller else (zeros, ones)
            side = self.of(first)
            if side >= best:
                best = max(best, 1 + min(side, self.of(second)))
            if best == upper:
                break
        self.known[rows] = best
        return best


def littlestone_dimension(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> int:
    """Exact Littlestone dimension of the class whose rows are `matrix`.

    Shapes: `matrix` is boolean, (hypotheses, points). Repeated rows count once; the empty class
    has dimension -1, a single hypothesis 0.

    Source: Littlestone 1988; Lyu, section 4 ("Notation"): the depth of the deepest complete tree
    every branch of which is explained by a hypothesis of the *restricted* class.

    Raises CostExceeded after `subclasses_max` memoised sub-classes.
    """
    dimensions = _Dimensions(matrix, subclasses_max)
    return dimensions.of(dimensions.everything) if len(matrix) else -1


def standard_optimal_algorithm(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> NDArray[np.bool_]:
    """The SOA hypothesis of a non-empty class, shape (points,).

    Source: Lyu, section 4: 0 where restricting to label 0 keeps the dimension, else 1.

    Raises ValueError for an empty class, CostExceeded like `littlestone_dimension`.
    """
    if not len(matrix):
        raise ValueError("the standard optimal algorithm needs at least one hypothesis")
    rows = np.unique(np.asarray(matrix, dtype=bool), axis=0)
    dimensions = _Dimensions(rows, subclasses_max)
    whole = dimensions.of(dimensions.everything)
    answer = np.ones(rows.shape[1], dtype=bool)
    for point, column in enumerate(rows.T):
        if dimensions.of(dimensions.everything & ~_row_set(column)) == whole:
            answer[point] = False
    return answer
