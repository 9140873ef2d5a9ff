"""Decomposition dimension, optimal decompositions and essential hypotheses of a finite class.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Definitions 4.2 and 4.3.

How the exact search works. Whether a subtree can hang below a node depends on the node's sub-class
and depth alone, and only gets easier higher up, since Definition 4.2 bounds depths from above; so
two numbers per sub-class say all that is known. Three remarks make the search small:

- A split that leaves one child empty never helps. Put the other child in the node's place: every
  node below moves up by one, which keeps all bounds, and the leaves stay what they were. So only
  points that divide the sub-class are tried, and of points that divide it alike only one.
- A node no deeper than a leaf of its sub-class may be can always be completed without leaves of a
  larger dimension, and if the sub-class is too reducible for a leaf even with smaller ones only:
  that is the construction of Claim 4.1, started in the middle of a tree.
- Follow the labels of a node's SOA hypothesis downwards (as in the proof of Lemma 4.3). Where the
  sub-class is k-irreducible, its dimension survives k steps. If k steps lead to where a node of
  that dimension is too deep, the way ends before, in a leaf of the same dimension; and that leaf
  has the same SOA hypothesis, or one more example would have reduced the dimension.
"""

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, CostExceeded, as_class
from oracle.littlestone.decomposition import DecompositionTree, Problem, Split, leaves
from oracle.littlestone.subclasses import ListedSubClasses

# Splits on one branch that the search follows; each is two levels of recursion.
SEARCH_DEPTH_MAX = 300


def decomposition_dimension(
    matrix: NDArray[np.bool_], p: int, d: int, *, subclasses_max: int = SUBCLASSES_MAX
) -> int:
    """The (p, d)-decomposition dimension: least degree of a valid tree; -1 for the empty class.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Lyu, Definition 4.2. Exact.

    Raises ValueError for p below 1 and d below the Littlestone dimension, CostExceeded after
    `subclasses_max` sub-classes.
    """
    if not len(matrix):
        return -1
    return _best(Problem(ListedSubClasses(matrix, subclasses_max), p, d))[0]


def optimal_decomposition(
    matrix: NDArray[np.bool_], p: int, d: int, *, subclasses_max: int = SUBCLASSES_MAX
) -> DecompositionTree:
    """A valid (p, d)-decomposition of least degree; there may be others.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Lyu, Definition 4.2.

    Raises like `decomposition_dimension`, and ValueError for the empty class.
    """
    return _best(Problem(ListedSubClasses(matrix, subclasses_max), p, d))[1]


def essential_hypotheses(
    matrix: NDArray[np.bool_], p: int, d: int, *, subclasses_max: int = SUBCLASSES_MAX
) -> NDArray[np.bool_]:
    """The (p, d)-essential hypotheses, shape (hypotheses, points), in lexicographic order.

    Each is the SOA hypothesis of a leaf of dimension t = `decomposition_dimension` in *every*
    optimal decomposition. It need not be a row of `matrix`. The empty class has none.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Source: Lyu, Definition 4.3. Exact: the candidates are the SOA hypotheses of the leaves of
    dimension t in one optimal tree, and each is essential unless some optimal tree avoids it. For
    t = 0 they are the rows of `matrix` (Corollary 4.1, item 4).

    Raises like `decomposition_dimension`.
    """
    if not len(matrix):
        return as_class(matrix)
    problem = Problem(ListedSubClasses(matrix, subclasses_max), p, d)
    classes = problem.classes
    degree, tree = _best(problem)
    if degree == 0:
        return _sorted(classes.matrix_of(classes.everything))
    candidates = {
        classes.standard_optimal(rows)
        for rows in leaves(classes, tree)
        if classes.dimension(rows) == degree
    }
    return _sorted(
        classes.as_rows(
            each
            for each in candidates
            if not _Search(problem, degree, each).fits(classes.everything)
        )
    )


def _sorted(matrix: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows in lexicographic order."""
    return np.array(sorted(matrix.tolist()), dtype=bool).reshape(matrix.shape)


def _best(problem: Problem) -> tuple[int, DecompositionTree]:
    """The least degree, and a valid tree that has it."""
    classes = problem.classes
    tree = problem.greedy(classes.everything)
    degree = _degree(classes, tree)
    while degree > 0:
        search = _Search(problem, degree - 1)
        if not search.fits(classes.everything):
            break
        tree = search.tree(classes.everything)
        degree = _degree(classes, tree)
    return degree, tree


def _degree(classes: ListedSubClasses, tree: DecompositionTree) -> int:
    """The largest dimension at a leaf."""
    return max(classes.dimension(rows) for rows in leaves(classes, tree))


class _Search:
    """The search for valid trees whose leaves have dimension at most `degree`.

    With `avoided`, the bit set of a hypothesis, no leaf of dimension `degree` may have it as its
    SOA hypothesis.
    """

    def __init__(self, problem: Problem, degree: int, avoided: int | None = None) -> None:
        self._problem, self._classes = problem, problem.classes
        self._degree, self._avoided = degree, avoided
        self._bounds: dict[int, tuple[int, int]] = {}  # greatest depth that fits, least that fails

    def fits(self, rows: int, depth: int = 0) -> bool:
        """Whether such a subtree can hang below a node with these rows at this depth."""
        if self._completes(rows, depth):
            return True
        fitting, failing = self._bounds.get(rows, (-1, self._deepest(rows) + 1))
        if depth <= fitting or depth >= failing:
            return depth <= fitting
        if rows not in self._bounds:
            self._classes.charge()
        if depth >= SEARCH_DEPTH_MAX:
            raise CostExceeded(
                f"decompositions are not searched beyond {SEARCH_DEPTH_MAX} splits on a branch"
            )
        found = not self._is_hopeless(rows, depth) and self._fitting_part(rows, depth) is not None
        self._bounds[rows] = (depth, failing) if found else (fitting, depth)
        return found

    def _completes(self, rows: int, depth: int) -> bool:
        """Whether `Problem.greedy` gives such a subtree here (the second remark above)."""
        dimension = self._classes.dimension(rows)
        if dimension > self._degree or depth > self._problem.deepest_leaf(rows):
            return False
        return (
            dimension < self._degree
            or self._avoided is None
            or self._classes.standard_optimal(rows) != self._avoided
            or self._problem.reducing_path(rows) is not None
        )

    def _deepest(self, rows: int) -> int:
        """The greatest depth at which a subtree may hang that is not given by `_completes`.

        A node of dimension 1 has a child with a single hypothesis. That is a leaf, which may be no
        deeper than the node: p * (2^d - 1) for both. So the node must stand above that.
        """
        return self._problem.deepest_node(rows) - (self._classes.dimension(rows) == 1)

    def _is_hopeless(self, rows: int, depth: int) -> bool:
        """Whether the third remark above rules out every such subtree."""
        dimension = self._classes.dimension(rows)
        if dimension < self._degree or (
            dimension == self._degree and self._classes.standard_optimal(rows) != self._avoided
        ):
            return False
        steps = self._deepest(rows) + 1 - depth
        return self._problem.reductions.path(rows, steps) is None

    def _fitting_part(self, rows: int, depth: int) -> int | None:
        """A part such that subtrees fit below both it and the rest, one level further down."""
        for part in self._classes.parts(rows):
            if self.fits(part, depth + 1) and self.fits(rows ^ part, depth + 1):
                return part
        return None

    def tree(self, rows: int, depth: int = 0) -> DecompositionTree:
        """Such a subtree; it must exist."""
        if self._completes(rows, depth):
            return self._problem.greedy(rows)
        part = self._fitting_part(rows, depth)
        assert part is not None
        point = self._classes.point_of(rows, part)
        zero, one = (self._classes.restricted(rows, point, label) for label in (0, 1))
        return Split(point, self.tree(zero, depth + 1), self.tree(one, depth + 1))
