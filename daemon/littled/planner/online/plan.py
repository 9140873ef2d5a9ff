"""The plan of an online learner, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.register import selection_of
from littled.planner.plans import PublishingPlan


@dataclass(frozen=True, slots=True)
class OnlinePlan(PublishingPlan[OnlineParameters]):
    """One online learner with all its parameters."""

    kind: ClassVar[str] = "online"
    parameters_class: ClassVar[type[OnlineParameters]] = OnlineParameters

    def learner(self, stream: str) -> OnlineLearner:
        """The learner itself."""
        return OnlineLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def needs_process(self) -> bool:
        """Whether a training lists the essential hypotheses of each of many teachers, in Python."""
        return self.selection.lists_by_teacher

    @property
    def selection(self) -> Selection:
        """The way in which it selects rules."""
        return selection_of(self.parameters)
