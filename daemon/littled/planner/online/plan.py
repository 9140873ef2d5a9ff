"""The plan of an online learner, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.planner.plans import PublishingPlan


@dataclass(frozen=True, slots=True)
class LearnerPlan(PublishingPlan[OnlineParameters]):
    """One online learner with all its parameters."""

    kind: ClassVar[str] = "online"
    parameters_class: ClassVar[type[OnlineParameters]] = OnlineParameters

    def learner(self, stream: str) -> OnlineLearner:
        """The learner itself."""
        return OnlineLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def needs_process(self) -> bool:
        """Whether a training lists the essential hypotheses of each of many teachers, in Python."""
        return self.parameters.selection == "sparse" and self.parameters.teachers is not None
