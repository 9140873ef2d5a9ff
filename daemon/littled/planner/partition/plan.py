"""The plan of a partition learner, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.partition import PartitionLearner, PartitionParameters
from littled.planner.plans import PublishingPlan
from littled_protocol.facts import KindFacts


@dataclass(frozen=True, slots=True)
class PartitionPlan(PublishingPlan[PartitionParameters]):
    """One partition learner with all its parameters."""

    kind: ClassVar[str] = "partition"
    parameters_class: ClassVar[type[PartitionParameters]] = PartitionParameters

    def learner(self, stream: str) -> PartitionLearner:
        """The learner itself."""
        return PartitionLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def facts(self) -> KindFacts:
        """The kind, and how often it releases in the end."""
        return {"kind": self.kind, "epoch_examples": self.parameters.schedule_cap}
