"""Audits of learners of one-way sequences, and small ones of every method."""

from collections.abc import Mapping
from typing import Any

from littled.auditing.subjects.window_values import small_of, window_subject
from littled.auditing.trials import Subject
from littled.budget.unit import Unit
from littled.planner import StreamPlan, StreamRequest
from littled.planner.sequences.plan import SequencesPlan, SequencesRequest

# Small learners by name: the class, and how an index is drawn.
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "sequence-exponential": ("oneway:3", {"method": "exponential"}),
    "sequence-stable": ("oneway:3", {"method": "stable"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS: dict[str, Unit] = {}


class SequencesAudits:
    """The audits of learners of one-way sequences."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `SMALL`."""
        return small_of(SequencesRequest, SMALL, OF_USERS)

    def subject(self, stream: StreamPlan, plan: SequencesPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its window is too long."""
        p = plan.parameters
        return window_subject(stream, plan, name, p.threshold)
