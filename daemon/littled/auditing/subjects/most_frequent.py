"""Audits of learners of most frequent items, and small ones of every method."""

from collections.abc import Mapping
from typing import Any

from littled.auditing.subjects.window_values import small_of, window_subject
from littled.auditing.trials import Subject
from littled.budget.unit import Unit
from littled.planner import StreamPlan, StreamRequest
from littled.planner.most_frequent.plan import MostFrequentPlan, MostFrequentRequest

# Small learners by name: the class, and how a value is drawn.
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "most-frequent-exponential": ("points:3", {"method": "exponential"}),
    "most-frequent-stable": ("points:8", {"method": "stable"}),
    "most-frequent-strings": ("strings:2", {"method": "stable"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS: dict[str, Unit] = {}


class MostFrequentAudits:
    """The audits of learners of most frequent items."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `SMALL`."""
        return small_of(MostFrequentRequest, SMALL, OF_USERS)

    def subject(self, stream: StreamPlan, plan: MostFrequentPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its window is too long."""
        p = plan.parameters
        bottom = p.bottom_score
        return window_subject(stream, plan, name, bottom)
