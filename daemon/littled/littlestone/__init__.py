"""Mathematics of Littlestone classes given as boolean matrices; usable without the daemon.

A class is a boolean matrix, (hypotheses, points). Everything is exact, and stops with CostExceeded
where that would cost more than the caller allows.
"""

from littled.littlestone.bounds import bounds_and_witness
from littled.littlestone.dimension import littlestone_dimension
from littled.littlestone.subclasses import CostExceeded
from littled.littlestone.trees import Leaf, ShatteredTree, describe_tree
from littled.littlestone.vapnik import (
    dual_vapnik_chervonenkis_dimension,
    vapnik_chervonenkis_dimension,
)

__all__ = [
    "CostExceeded",
    "Leaf",
    "ShatteredTree",
    "bounds_and_witness",
    "describe_tree",
    "dual_vapnik_chervonenkis_dimension",
    "littlestone_dimension",
    "vapnik_chervonenkis_dimension",
]
