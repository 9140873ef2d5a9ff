"""What is asked of a learner of one-way sequences, and its plan as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.sequences import SequencesLearner, SequencesParameters
from littled.planner.window_values import ValuePlan, ValueRequest


@dataclass(frozen=True, slots=True)
class SequencesRequest(ValueRequest):
    """What a configuration asks of one learner of one-way sequences."""

    kind: ClassVar[str] = "sequences"


@dataclass(frozen=True, slots=True)
class SequencesPlan(ValuePlan[SequencesParameters]):
    """One learner of one-way sequences with all its parameters."""

    kind: ClassVar[str] = "sequences"
    parameters_class: ClassVar[type[SequencesParameters]] = SequencesParameters
    learner_class: ClassVar[type[SequencesLearner]] = SequencesLearner
