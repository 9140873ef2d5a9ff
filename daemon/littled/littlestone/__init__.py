"""Mathematics of Littlestone classes given as boolean matrices; usable without the daemon.

A class is a boolean matrix, (hypotheses, points). Everything is exact, and stops with CostExceeded
where that would cost more than the caller allows.
"""

from littled.littlestone.bounds import Bounds, bounds_and_witness, littlestone_bounds
from littled.littlestone.decomposition import (
    DecompositionTree,
    Split,
    Whole,
    decomposition_leaves,
    is_valid_decomposition,
    valid_decomposition,
)
from littled.littlestone.dimension import (
    littlestone_dimension,
    restrict,
    standard_optimal_algorithm,
)
from littled.littlestone.essential import (
    decomposition_dimension,
    essential_hypotheses,
    optimal_decomposition,
)
from littled.littlestone.irreducibility import is_irreducible, reducibility
from littled.littlestone.subclasses import CostExceeded
from littled.littlestone.thresholds import (
    ThresholdsInside,
    are_thresholds,
    largest_thresholds,
    thresholds_from_tree,
    tree_from_thresholds,
)
from littled.littlestone.trees import (
    Leaf,
    Node,
    ShatteredTree,
    describe_tree,
    is_shattered,
    tree_depth,
    witness_tree,
)
from littled.littlestone.vapnik import (
    dual_vapnik_chervonenkis_dimension,
    vapnik_chervonenkis_dimension,
)

__all__ = [
    "Bounds",
    "CostExceeded",
    "DecompositionTree",
    "Leaf",
    "Node",
    "ShatteredTree",
    "Split",
    "ThresholdsInside",
    "Whole",
    "are_thresholds",
    "bounds_and_witness",
    "decomposition_dimension",
    "decomposition_leaves",
    "describe_tree",
    "dual_vapnik_chervonenkis_dimension",
    "essential_hypotheses",
    "is_irreducible",
    "is_shattered",
    "is_valid_decomposition",
    "largest_thresholds",
    "littlestone_bounds",
    "littlestone_dimension",
    "optimal_decomposition",
    "reducibility",
    "restrict",
    "standard_optimal_algorithm",
    "thresholds_from_tree",
    "tree_depth",
    "tree_from_thresholds",
    "valid_decomposition",
    "vapnik_chervonenkis_dimension",
    "witness_tree",
]
