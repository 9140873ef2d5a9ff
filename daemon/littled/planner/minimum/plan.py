"""What is asked of a learner of robust minima, and its plan as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.minimum import MinimumLearner, MinimumParameters
from littled.planner.window_values import ValuePlan, ValueRequest


@dataclass(frozen=True, slots=True)
class MinimumRequest(ValueRequest):
    """What a configuration asks of one learner of robust minima."""

    kind: ClassVar[str] = "minimum"


@dataclass(frozen=True, slots=True)
class MinimumPlan(ValuePlan[MinimumParameters]):
    """One learner of robust minima with all its parameters."""

    kind: ClassVar[str] = "minimum"
    parameters_class: ClassVar[type[MinimumParameters]] = MinimumParameters
    learner_class: ClassVar[type[MinimumLearner]] = MinimumLearner
