"""(p, d)-decompositions: trees that split a class until every leaf is irreducible.

Source: Lyu, "Private Learning of Littlestone Classes, Revisited", Definition 4.2 and Claim 4.1.

The paper's trees have two children at every inner node. Here a child whose sub-class is empty is
absent (None): it would be a leaf of dimension -1, which counts for nothing in a degree and has no
SOA hypothesis. p is at least 1: with p = 0 the root is the only tree, and Lemma 4.1 fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX
from oracle.littlestone.irreducibility import Reductions
from oracle.littlestone.subclasses import ListedSubClasses, check_point


@dataclass(frozen=True, slots=True)
class Whole:
    """A leaf: the sub-class of this node is not split."""


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node: the hypotheses that say 0 and 1 at a point; None where there are none."""

    point: int
    zero: "DecompositionTree | None"
    one: "DecompositionTree | None"


DecompositionTree: TypeAlias = Whole | Split


def valid_decomposition(
    matrix: NDArray[np.bool_], p: int, d: int, *, subclasses_max: int = SUBCLASSES_MAX
) -> DecompositionTree:
    """A valid (p, d)-decomposition of a non-empty class, by the greedy construction of Claim 4.1.

    Shapes: `matrix` is boolean, (hypotheses, points).

    Raises ValueError for an empty class, p below 1 and d below the Littlestone dimension,
    CostExceeded after `subclasses_max` sub-classes.
    """
    problem = Problem(ListedSubClasses(matrix, subclasses_max), p, d)
    return problem.greedy(problem.classes.everything)


def is_valid_decomposition(
    matrix: NDArray[np.bool_],
    p: int,
    d: int,
    tree: DecompositionTree,
    *,
    subclasses_max: int = SUBCLASSES_MAX,
) -> bool:
    """Whether `tree` is a valid (p, d)-decomposition of the class (Definition 4.2).

    Shapes: `matrix` is boolean, (hypotheses, points). A child must be None exactly where its
    sub-class is empty.

    Raises like `valid_decomposition`, and ValueError for a point that the class does not have.
    """
    problem = Problem(ListedSubClasses(matrix, subclasses_max), p, d)
    return all(
        node is not None
        and rows != 0
        and depth <= problem.deepest_node(rows)
        and (isinstance(node, Split) or problem.is_leaf(rows, depth))
        for node, rows, depth in _nodes(problem.classes, tree)
        if node is not None or rows != 0
    )


def decomposition_leaves(
    matrix: NDArray[np.bool_], tree: DecompositionTree
) -> list[NDArray[np.bool_]]:
    """The induced decomposition: the sub-class of every leaf, from left to right.

    Shapes: boolean, (members, points) each; equal rows of `matrix` count once.

    Raises ValueError for a point that the class does not have.
    """
    classes = ListedSubClasses(matrix)
    return [classes.matrix_of(rows) for rows in leaves(classes, tree)]


def leaves(classes: ListedSubClasses, tree: DecompositionTree) -> Iterator[int]:
    """The sub-class of every leaf, from left to right."""
    for node, rows, _ in _nodes(classes, tree):
        if isinstance(node, Whole):
            yield rows


def _nodes(
    classes: ListedSubClasses, tree: DecompositionTree
) -> Iterator[tuple[DecompositionTree | None, int, int]]:
    """Every node, absent ones too, with its sub-class and its depth."""
    ahead: list[tuple[DecompositionTree | None, int, int]] = [(tree, classes.everything, 0)]
    while ahead:
        node, rows, depth = ahead.pop()
        yield node, rows, depth
        if isinstance(node, Split):
            check_point(node.point, classes.points)
            for label, child in ((1, node.one), (0, node.zero)):
                ahead.append((child, classes.restricted(rows, node.point, label), depth + 1))


class Problem:
    """One class with one p and d, d at least its dimension: what Definition 4.2 allows in it."""

    def __init__(self, classes: ListedSubClasses, p: int, d: int) -> None:
        """ValueError for an empty class, p below 1 and d below the Littlestone dimension."""
        if p < 1:
            raise ValueError(f"p must be at least 1, not {p}")
        if not classes.everything:
            raise ValueError("a decomposition needs at least one hypothesis")
        dimension = classes.dimension(classes.everything)
        if d < dimension:
            raise ValueError(f"d = {d} is less than the Littlestone dimension {dimension}")
        self.classes = classes
        self.p, self.d = p, d
        self.reductions = Reductions(classes)

    def deepest_node(self, rows: int) -> int:
        """The greatest depth at which the sub-class may stand at a node."""
        return self.p * ((2 << self.d - self.classes.dimension(rows)) - 1)

    def deepest_leaf(self, rows: int) -> int:
        """The greatest depth at which the sub-class may stand at a leaf."""
        return self.p * ((1 << self.d - self.classes.dimension(rows)) - 1)

    def reducing_path(self, rows: int) -> tuple[int, ...] | None:
        """Points that show that the sub-class is too reducible for a leaf; None if it is not."""
        return self.reductions.path(rows, self.p << self.d - self.classes.dimension(rows))

    def is_leaf(self, rows: int, depth: int) -> bool:
        """Whether a leaf with this sub-class is allowed at this depth."""
        return depth <= self.deepest_leaf(rows) and self.reducing_path(rows) is None

    def greedy(self, rows: int) -> DecompositionTree:
        """The subtree of Claim 4.1 below a node that is no deeper than a leaf may be.

        A reducible sub-class is restricted along its SOA hypothesis until its dimension drops; no
        point of the path is superfluous, so that no child on or beside the path is empty. Every
        leaf has dimension at most that of `rows`, and less if `rows` is reducible.
        """
        path = self.reducing_path(rows)
        if path is None:
            return Whole()
        says_one = self.classes.standard_optimal(rows)
        beside: list[tuple[int, int, DecompositionTree]] = []
        for point in path:
            label = says_one >> point & 1
            other = self.classes.restricted(rows, point, 1 - label)
            beside.append((point, label, self.greedy(other)))
            rows = self.classes.restricted(rows, point, label)
        tree = self.greedy(rows)
        for point, label, other_tree in reversed(beside):
            tree = Split(point, other_tree, tree) if label else Split(point, tree, other_tree)
        return tree
