"""Shattered trees: what proves that a class has at least some Littlestone dimension.

Source: Lyu, section 4 ("Notation"); Alon et al., section 3.2 ("mistake trees").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from littled.littlestone.subclasses import SubClasses

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
