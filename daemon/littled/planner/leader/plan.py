"""The plan of a scorecard learner, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.leader import LeaderLearner, LeaderParameters
from littled.planner.plans import PublishingPlan
from littled_protocol.facts import KindFacts


@dataclass(frozen=True, slots=True)
class LeaderPlan(PublishingPlan[LeaderParameters]):
    """One scorecard learner with all its parameters."""

    kind: ClassVar[str] = "leader"
    parameters_class: ClassVar[type[LeaderParameters]] = LeaderParameters

    def learner(self, stream: str) -> LeaderLearner:
        """The learner itself."""
        return LeaderLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def facts(self) -> KindFacts:
        """The kind, and how often it releases."""
        return {"kind": self.kind, "batch_examples": self.parameters.batch_examples}
