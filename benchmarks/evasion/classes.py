"""Which evader plays against which class."""

from functools import cache
from typing import Any

from benchmarks.evasion.closed import ClosedGame
from benchmarks.evasion.finite import FiniteGame
from benchmarks.evasion.game import Game
from benchmarks.evasion.ids import IdGame
from benchmarks.evasion.prefixes import PrefixGame
from benchmarks.evasion.stumps import StumpGame
from benchmarks.evasion.thresholds import ThresholdGame
from benchmarks.learning.runs import hypotheses_of
from littled.classes.affine import AffineSubspaces
from littled.classes.conjunctions import Conjunctions
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.thresholds import Thresholds


@cache
def game_of(class_name: str) -> Game[Any]:
    """The evader of a class, made once in a process."""
    hypotheses = hypotheses_of(class_name)
    found: Game[Any] = FiniteGame(hypotheses)
    match hypotheses:
        case Thresholds():
            found = ThresholdGame(hypotheses)
        case Prefixes():
            found = PrefixGame(hypotheses)
        case PointFunctions():
            found = IdGame(hypotheses, hypotheses.bits, 1)
        case SparseSets():
            found = IdGame(hypotheses, hypotheses.bits, hypotheses.members)
        case Stumps():
            found = StumpGame(hypotheses)
        case AffineSubspaces():
            found = ClosedGame(hypotheses)
        case Conjunctions() if hypotheses.dense is None:
            found = ClosedGame(hypotheses)
    return found
