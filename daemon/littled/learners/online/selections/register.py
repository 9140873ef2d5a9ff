"""All ways of selection, by the word that is stored for each: the one place that reads it."""

from collections.abc import Callable

from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.chain import Chain
from littled.learners.online.selections.closure import Closures
from littled.learners.online.selections.closure_tally import ClosureTally
from littled.learners.online.selections.dense import Dense
from littled.learners.online.selections.histogram import Histogram
from littled.learners.online.selections.lengths import Lengths
from littled.learners.online.selections.majority import WeightedMajority
from littled.learners.online.selections.path import Path
from littled.learners.online.selections.proposals import Proposing
from littled.learners.online.selections.tally import Tally
from littled.learners.online.selections.teachers import StagedTeachers, Teachers
from littled.learners.online.values import ParameterValues


def _sparse(parameters: ParameterValues) -> Selection:
    """Over what single examples propose, or over the lists of a number of teachers."""
    if parameters.teachers is None:
        return Proposing(parameters)
    return (Teachers if parameters.stage_rate is None else StagedTeachers)(parameters)


SELECTIONS: dict[str, Callable[[ParameterValues], Selection]] = {
    "dense": Dense,
    "sparse": _sparse,
    "closure": Closures,
    "histogram": Histogram,
    "tally": Tally,
    "closure-tally": ClosureTally,
    "chain": Chain,
    "path": Path,
    "lengths": Lengths,
    "majority": WeightedMajority,
}


def selection_of(parameters: ParameterValues) -> Selection:
    """The way of selection of these parameters; KeyError for a word that nobody knows."""
    return SELECTIONS[parameters.selection](parameters)
