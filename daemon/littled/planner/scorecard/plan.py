"""The plan of a scorecard learner, as a store keeps it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from littled.learners.scorecard import ScorecardLearner, ScorecardParameters
from littled.planner.plans import PublishingPlan


@dataclass(frozen=True, slots=True)
class ScorecardPlan(PublishingPlan[ScorecardParameters]):
    """One scorecard learner with all its parameters."""

    kind: ClassVar[str] = "scorecard"
    parameters_class: ClassVar[type[ScorecardParameters]] = ScorecardParameters

    def learner(self, stream: str) -> ScorecardLearner:
        """The learner itself."""
        return ScorecardLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def facts(self) -> dict[str, Any]:
        """The kind, and how often it releases."""
        return {"kind": self.kind, "batch_examples": self.parameters.batch}
