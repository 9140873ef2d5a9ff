"""The plan of a learner that answers questions, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.planner.plans import AnsweringPlan


@dataclass(frozen=True, slots=True)
class PredictionPlan(AnsweringPlan[PredictionParameters]):
    """One learner that answers questions from windows, with all its parameters."""

    kind: ClassVar[str] = "prediction"
    parameters_class: ClassVar[type[PredictionParameters]] = PredictionParameters

    def learner(self, stream: str) -> PredictionLearner:
        """The learner itself."""
        return PredictionLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)
