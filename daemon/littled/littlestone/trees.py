"""Shattered trees: what proves that a class has at least some Littlestone dimension.

Source: Lyu, section 4 ("Notation"); Alon et al., section 3.2 ("mistake trees").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from littled.littlestone.subclasses import SUBCLASSES_MAX, SubClasses, as_class, check_point

Examples: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch: the row of a hypothesis that explains every label on the way."""

    hypothesis: int

    def __str__(self) -> str:
        """`rule 3`."""
        return describe_tree(self)


@dataclass(frozen=True, slots=True)
class Node:
    """A point, and the subtrees for the hypotheses that say 0 and 1 there."""

    point: int
    zero: "ShatteredTree"
    one: "ShatteredTree"

    def __str__(self) -> str:
        """A line for each edge, indented by depth."""
        return describe_tree(self)


ShatteredTree: TypeAlias = Leaf | Node


def tree_depth(tree: ShatteredTree) -> int:
    """Depth of the largest complete tree with the same root: the length of a shortest branch."""
    return min(len(examples) for examples, _ in branches(tree))


def branches(tree: ShatteredTree, above: Examples = ()) -> Iterator[tuple[Examples, int]]:
    """The examples (point, label) on the way to each leaf, and the row that the leaf names."""
    if isinstance(tree, Leaf):
        yield above, tree.hypothesis
    else:
        yield from branches(tree.zero, (*above, (tree.point, 0)))
        yield from branches(tree.one, (*above, (tree.point, 1)))


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


def tree_of_depth(classes: SubClasses, rows: int, depth: int) -> ShatteredTree:
    """A complete tree of this depth that the non-empty sub-class `rows` shatters; it must exist."""
    if depth == 0:
        return Leaf(classes.rows[(rows & -rows).bit_length() - 1])
    point = classes.shattering_point(rows, depth)
    zero, one = (classes.restricted(rows, point, label) for label in (0, 1))
    return Node(
        point, tree_of_depth(classes, zero, depth - 1), tree_of_depth(classes, one, depth - 1)
    )


def describe_tree(
    tree: ShatteredTree,
    points: Sequence[str] | None = None,
    rules: Sequence[str] | None = None,
) -> str:
    """A tree for people: a line for each edge, indented by depth, and the rule at each leaf.

    `points` and `rules` are names by number; without them points and rules are numbered.
    """
    return "\n".join(_lines(tree, points, rules, ""))


def _lines(
    tree: ShatteredTree, points: Sequence[str] | None, rules: Sequence[str] | None, indent: str
) -> Iterator[str]:
    """The lines of a subtree below `indent`."""
    if isinstance(tree, Leaf):
        yield indent + _rule_name(tree, rules)
        return
    point = f"point {tree.point}" if points is None else points[tree.point]
    for label, child in enumerate((tree.zero, tree.one)):
        edge = f"{indent}{point} = {label}"
        if isinstance(child, Leaf):
            yield f"{edge}: {_rule_name(child, rules)}"
        else:
            yield edge
            yield from _lines(child, points, rules, indent + "  ")


def _rule_name(leaf: Leaf, rules: Sequence[str] | None) -> str:
    return f"rule {leaf.hypothesis}" if rules is None else rules[leaf.hypothesis]
