"""Hypothesis classes: everything that a learner has to know about the rules it may publish."""

from littled.classes.base import ClassError, HypothesisClass, Proposals
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.registry import class_from_dict, class_from_name
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds

__all__ = [
    "ClassError",
    "HypothesisClass",
    "PointFunctions",
    "Prefixes",
    "Proposals",
    "Table",
    "Thresholds",
    "class_from_dict",
    "class_from_name",
]
