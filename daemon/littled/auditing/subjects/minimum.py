"""Audits of learners of robust minima, and small ones of every method."""

from collections.abc import Mapping
from typing import Any

from littled.auditing.subjects.window_values import small_of, window_subject
from littled.auditing.trials import Subject
from littled.budget.unit import Unit
from littled.planner import StreamPlan, StreamRequest
from littled.planner.minimum.plan import MinimumPlan, MinimumRequest

# Small learners by name: the class, and how a value is drawn.
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "minimum-exponential": ("integers:3", {"method": "exponential"}),
    "minimum-stable": ("integers:3", {"method": "stable"}),
    "minimum-users": ("integers:3", {"method": "exponential"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS: dict[str, Unit] = {"minimum-users": Unit(2)}


class MinimumAudits:
    """The audits of learners of robust minima."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `SMALL`."""
        return small_of(MinimumRequest, SMALL, OF_USERS)

    def subject(self, stream: StreamPlan, plan: MinimumPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its window is too long."""
        p = plan.parameters
        bottom = p.rank
        return window_subject(stream, plan, name, bottom)
