"""What is asked of a learner of most frequent items, and its plan as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.most_frequent import MostFrequentLearner, MostFrequentParameters
from littled.planner.window_values import ValuePlan, ValueRequest


@dataclass(frozen=True, slots=True)
class MostFrequentRequest(ValueRequest):
    """What a configuration asks of one learner of most frequent items."""

    kind: ClassVar[str] = "most_frequent"


@dataclass(frozen=True, slots=True)
class MostFrequentPlan(ValuePlan[MostFrequentParameters]):
    """One learner of most frequent items with all its parameters."""

    kind: ClassVar[str] = "most_frequent"
    parameters_class: ClassVar[type[MostFrequentParameters]] = MostFrequentParameters
    learner_class: ClassVar[type[MostFrequentLearner]] = MostFrequentLearner
