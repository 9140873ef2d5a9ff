"""The plan of a window learner, as a store keeps it."""

from dataclasses import dataclass
from typing import ClassVar

from littled.learners.batch import BatchLearner, BatchParameters
from littled.planner.plans import PublishingPlan
from littled_protocol.facts import KindFacts


@dataclass(frozen=True, slots=True)
class BatchPlan(PublishingPlan[BatchParameters]):
    """One window learner with all its parameters."""

    kind: ClassVar[str] = "batch"
    parameters_class: ClassVar[type[BatchParameters]] = BatchParameters

    def learner(self, stream: str) -> BatchLearner:
        """The learner itself."""
        return BatchLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def facts(self) -> KindFacts:
        """The kind, and where windows are."""
        p = self.parameters
        return {"kind": self.kind, "method": p.method, "window_examples": p.window}

    @property
    def needs_process(self) -> bool:
        """Whether a window lists the essential rules of each of many chunks, in Python."""
        return self.parameters.method == "teachers"
