"""Mathematics of Littlestone classes given as boolean matrices; usable without the daemon.

A class is a matrix of True and False, or of 1 and 0, (hypotheses, points). Everything is exact, and
stops with CostExceeded where that would cost more than the caller allows.
"""

from littled.littlestone.bounds import Bounds, bounds_and_witness, greedy_tree
from littled.littlestone.dimension import littlestone_dimension
from littled.littlestone.subclasses import CostExceeded
from littled.littlestone.trees import (
    Leaf,
    Node,
    ShatteredTree,
    branches,
    describe_tree,
    tree_depth,
)
from littled.littlestone.vapnik import (
    dual_vapnik_chervonenkis_dimension,
    vapnik_chervonenkis_dimension,
)

__all__ = [
    "Bounds",
    "CostExceeded",
    "Leaf",
    "Node",
    "ShatteredTree",
    "bounds_and_witness",
    "branches",
    "describe_tree",
    "dual_vapnik_chervonenkis_dimension",
    "greedy_tree",
    "littlestone_dimension",
    "tree_depth",
    "vapnik_chervonenkis_dimension",
]
