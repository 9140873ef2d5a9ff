"""Mathematics of Littlestone classes given as boolean matrices; usable without the daemon."""

from littled.littlestone.dimension import (
    CostExceeded,
    littlestone_dimension,
    standard_optimal_algorithm,
)

__all__ = ["CostExceeded", "littlestone_dimension", "standard_optimal_algorithm"]
