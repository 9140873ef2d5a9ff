"""The version space of any class, with its dimension and its standard optimal rule."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.classes.affine import AffineSubspaces
from littled.classes.base import DataSet
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.numbered import NumberedVersionSpaces
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from oracle.classes.affine import SolvedSubspaces
from oracle.classes.conjunctions import SolvedConjunctions
from oracle.classes.numbered import SolvedRows, SolvedStumps, SolvedThresholds
from oracle.classes.prefixes import SolvedPrefixes
from oracle.classes.sets import SolvedSets
from oracle.classes.solved import Solved


def solved(
    hypotheses: HypothesisClass, data_sets: Sequence[DataSet], tolerance: Fraction
) -> Solved:
    """The same rules as `hypotheses.version_space`; TypeError for a class that is not known."""
    found: Solved
    match hypotheses:
        case AffineSubspaces(bits=bits, dimension=dimension):
            found = SolvedSubspaces.of(bits, dimension, data_sets, tolerance)
        case Conjunctions(bits=bits):
            found = SolvedConjunctions.of(bits, data_sets, tolerance)
        case PointFunctions(bits=bits):
            found = SolvedSets.of(bits, 1, data_sets, tolerance)
        case Prefixes(bits=bits):
            found = SolvedPrefixes.of(bits, data_sets, tolerance)
        case SparseSets(bits=bits, members=members):
            found = SolvedSets.of(bits, members, data_sets, tolerance)
        case NumberedVersionSpaces():
            found = _numbered(hypotheses, hypotheses.version_space(data_sets, tolerance).numbers)
        case _:
            raise TypeError(f"no version spaces of {hypotheses.name} are known")
    return found


def _numbered(hypotheses: HypothesisClass, numbers: NDArray[np.int64]) -> Solved:
    """The version space of the rules with these numbers."""
    match hypotheses:
        case Stumps():
            return SolvedStumps(numbers, hypotheses)
        case Table():
            return SolvedRows(numbers, hypotheses)
        case Thresholds():
            return SolvedThresholds(numbers, hypotheses)
        case _:
            raise TypeError(f"no dimension of version spaces of {hypotheses.name} is known")
