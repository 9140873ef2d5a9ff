"""Thresholds inside a class, found from shattered trees and turned into them.

A class *contains k thresholds* if it has points x_1, .., x_k and hypotheses h_1, .., h_k such that
h_i(x_j) = 1 exactly where i <= j.

Source: Alon, Bun, Livni, Malliaris and Moran, "Private and Online Learnability are Equivalent",
Theorem 10 (Shelah, Hodges), with the constructions of its Appendix A.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, as_class
from littled.littlestone.trees import Leaf, Node, ShatteredTree, branches, tree_depth
from oracle.littlestone.subclasses import ListedSubClasses, bits_of, check_point
from oracle.littlestone.trees import is_shattered
from oracle.littlestone.trees import witness_tree as deepest_tree


class ThresholdsInside(NamedTuple):
    """Columns x_1, .., x_k and rows h_1, .., h_k with h_i(x_j) = 1 exactly where i <= j."""

    points: tuple[int, ...]
    rows: tuple[int, ...]


def are_thresholds(matrix: NDArray[np.bool_], points: Sequence[int], rows: Sequence[int]) -> bool:
    """Whether these columns and rows of `matrix` are thresholds, in this order.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Raises ValueError for a point or a row that the class does not have.
    """
    matrix = as_class(matrix)
    for point in points:
        check_point(point, matrix.shape[1])
    if any(not 0 <= row < len(matrix) for row in rows):
        raise ValueError(f"the class has rows 0 to {len(matrix) - 1} only")
    size = len(points)
    found = matrix[np.ix_(np.array(rows, dtype=np.intp), np.array(points, dtype=np.intp))]
    return len(rows) == size and bool(np.array_equal(found, np.triu(np.ones((size, size), bool))))


def thresholds_from_tree(
    matrix: NDArray[np.bool_],
    tree: ShatteredTree | None = None,
    *,
    subclasses_max: int = SUBCLASSES_MAX,
) -> ThresholdsInside:
    """floor(log2(d + 1)) thresholds of a non-empty class of Littlestone dimension d.

    With `tree`, d is the depth of that tree, which the class must shatter; without, a deepest one
    is searched for.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Alon et al., Theorem 10, item 1, which promises floor(log2 d). The proof gives a little
    more: for d >= 2^(t+1) - 1 it has hypotheses h_0, .., h_(t+1) and points x_0, .., x_t with
    h_i(x_j) = 1 exactly where i <= j. Without the last hypothesis these are t + 1 thresholds.

    Raises ValueError for an empty class and for a tree that it does not shatter, CostExceeded like
    `littlestone_dimension`.
    """
    if tree is None:
        tree = deepest_tree(matrix, subclasses_max=subclasses_max)
    elif not is_shattered(matrix, tree):
        raise ValueError("the class does not shatter this tree")
    steps = (tree_depth(tree) + 1).bit_length() - 1
    points, rows = _chain(as_class(matrix), tree, steps)
    return ThresholdsInside(tuple(points), tuple(rows[:-1]))


def _chain(
    matrix: NDArray[np.bool_], tree: ShatteredTree, steps: int
) -> tuple[list[int], list[int]]:
    """`steps` points and `steps` + 1 rows as in the proof; the tree has depth 2^steps - 1 or more.

    Source: Alon et al., Appendix A, the induction on t = `steps` - 1. By Lemma 31 the tree has a
    subtree of height 2^t at whose inner nodes one of its rows says 1 (red) or 0 (blue) throughout.
    """
    row = next(leaf for _, leaf in branches(tree))
    if steps == 0:
        return [], [row]
    height, red = _tallest(matrix[row], tree, 1)
    if height >= 1 << steps - 1:
        assert isinstance(red, Node)
        points, rows = _chain(matrix, red.zero, steps - 1)
        return [red.point, *points], [row, *rows]
    _, blue = _tallest(matrix[row], tree, 0)
    assert isinstance(blue, Node)
    points, rows = _chain(matrix, blue.one, steps - 1)
    return [*points, blue.point], [*rows, row]


def _tallest(
    labels: NDArray[np.bool_], tree: ShatteredTree, label: int
) -> tuple[int, ShatteredTree]:
    """Height of the tallest subtree (Alon et al., Appendix A) whose inner nodes all have `label`.

    The subtree comes with it; some of its branches may be longer than its height.
    """
    if isinstance(tree, Leaf):
        return 0, tree
    zero, one = _tallest(labels, tree.zero, label), _tallest(labels, tree.one, label)
    taller = zero if zero[0] >= one[0] else one
    height = 1 + min(zero[0], one[0])
    if bool(labels[tree.point]) == bool(label) and height > taller[0]:
        return height, Node(tree.point, zero[1], one[1])
    return taller


def tree_from_thresholds(
    matrix: NDArray[np.bool_], points: Sequence[int], rows: Sequence[int]
) -> ShatteredTree:
    """A shattered tree of depth floor(log2 k) from k >= 1 thresholds: binary search.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Alon et al., Theorem 10, item 2, with the construction of its Appendix A.

    Raises ValueError for columns and rows that are no thresholds in this order.
    """
    if not rows or not are_thresholds(matrix, points, rows):
        raise ValueError("these points and rows are no thresholds: h_i(x_j) = 1 exactly if i <= j")
    return _binary_search(points, rows[: 1 << len(rows).bit_length() - 1], 0)


def _binary_search(points: Sequence[int], rows: Sequence[int], first: int) -> ShatteredTree:
    """The tree that finds one of 2^t thresholds, the first of which has number `first`."""
    if len(rows) == 1:
        return Leaf(rows[0])
    half = len(rows) // 2
    one = _binary_search(points, rows[:half], first)
    return Node(points[first + half - 1], _binary_search(points, rows[half:], first + half), one)


def largest_thresholds(
    matrix: NDArray[np.bool_], *, subclasses_max: int = SUBCLASSES_MAX
) -> ThresholdsInside:
    """As many thresholds as the class contains.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Exact: thresholds are chosen from the first to the last. What can follow depends on two sets
    alone: the rows that say 0 at all points chosen so far, and the points at which all rows chosen
    so far say 1. Counting labels in these sets bounds what can follow.

    Raises CostExceeded after `subclasses_max` choices of a threshold.
    """
    return _Ladder(ListedSubClasses(matrix, subclasses_max)).longest()


class _State(NamedTuple):
    """The thresholds chosen so far, and the sets of rows and points that can follow them."""

    points: tuple[int, ...]
    rows: tuple[int, ...]
    rows_left: int
    points_left: int


class _Ladder:
    """The search for most thresholds, depth first, most promising first."""

    def __init__(self, classes: ListedSubClasses) -> None:
        self._classes = classes
        self._says_one = [classes.hypothesis(row) for row in range(len(classes.rows))]

    def longest(self) -> ThresholdsInside:
        """As many thresholds as there are."""
        best = start = self._trimmed(
            _State((), (), self._classes.everything, (1 << self._classes.points) - 1)
        )
        enough = self._room(start)
        ahead = [self._next(start)]
        while ahead and len(best.rows) < enough:
            state = next(ahead[-1], None)
            if state is None:
                ahead.pop()
                continue
            if len(state.rows) > len(best.rows):
                best = state
            if len(state.rows) + self._room(state) > len(best.rows):
                ahead.append(self._next(state))
        return ThresholdsInside(best.points, tuple(self._classes.rows[row] for row in best.rows))

    def _next(self, state: _State) -> Iterator[_State]:
        """States with one more threshold; rows that say 1 often and points that say 0 often first.

        For one row, a point at which no more rows say 0 than at another leads to nothing better.
        """
        says_one, ones = self._says_one, self._classes.ones
        chosen = sorted(
            bits_of(state.rows_left),
            key=lambda row: -(says_one[row] & state.points_left).bit_count(),
        )
        columns = sorted(
            bits_of(state.points_left), key=lambda x: (ones[x] & state.rows_left).bit_count()
        )
        for row in chosen:
            tried: list[int] = []
            for point in columns:
                left = state.rows_left & ~ones[point]
                if not says_one[row] >> point & 1 or any(left & ~each == 0 for each in tried):
                    continue
                tried.append(left)
                self._classes.charge(what="choices of thresholds")
                yield self._trimmed(
                    _State(
                        (*state.points, point),
                        (*state.rows, row),
                        left,
                        state.points_left & says_one[row],
                    )
                )

    def _trimmed(self, state: _State) -> _State:
        """The state without rows that say 0 at every point left, and points of the same kind."""
        rows = sum(
            1 << row for row in bits_of(state.rows_left) if self._says_one[row] & state.points_left
        )
        points = sum(1 << x for x in bits_of(state.points_left) if self._classes.ones[x] & rows)
        return state._replace(rows_left=rows, points_left=points)

    def _room(self, state: _State) -> int:
        """A bound on how many thresholds can follow.

        Of m more, the i-th row says 1 at m - i + 1 points, and at the i-th point m - i rows say 0.
        """
        rows = {self._says_one[row] & state.points_left for row in bits_of(state.rows_left)}
        points = {self._classes.ones[x] & state.rows_left for x in bits_of(state.points_left)}
        size = state.rows_left.bit_count()
        return min(
            _staircase([row.bit_count() for row in rows]),
            _staircase([size - point.bit_count() + 1 for point in points]),
        )


def _staircase(counts: list[int]) -> int:
    """The greatest m such that some m of the counts are at least m, m - 1, .., 1."""
    least, found = len(counts), 0
    for number, count in enumerate(sorted(counts, reverse=True)):
        least = min(least, count + number)
        if least <= number:
            break
        found = number + 1
    return found
