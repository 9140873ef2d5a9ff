"""Hypothesis classes: everything that a learner has to know about the rules it may publish."""

from littled.classes.affine import AffineSubspaces
from littled.classes.base import ClassError
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.registry import class_from_dict, class_from_name
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds

__all__ = [
    "AffineSubspaces",
    "ClassError",
    "Conjunctions",
    "HypothesisClass",
    "PointFunctions",
    "Prefixes",
    "SparseSets",
    "Stumps",
    "Table",
    "Thresholds",
    "class_from_dict",
    "class_from_name",
]
