"""Audits of online learners, and small ones of every way of selection."""

from collections.abc import Mapping

from littled.auditing.online import online_subject
from littled.auditing.subjects.small import HORIZON, alone
from littled.auditing.trials import Subject
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlinePlan, OnlineRequest, StreamPlan, StreamRequest
from littled.planner.online.ways.base import Small
from littled.planner.online.ways.register import WAYS

# So short that a schedule is better even for ids, which may keep their trigger.
HORIZON_OF_SCHEDULES = 16

# Small learners by name: the class, and how the next rule is selected; those of users at the end.
PUBLISHING: dict[str, Small] = {
    **{name: small for way in WAYS.values() for name, small in way.small.items()},
    "users": ("points:8", {"selection": "histogram"}),
    "users-fresh": ("thresholds:2", {"selection": "fresh"}),
    "users-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS = {"users": 2, "users-fresh": 1, "users-scheduled": 2}


class OnlineAudits:
    """The audits of online learners."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `PUBLISHING`."""
        return {
            name: alone(
                OnlineRequest(name, class_from_name(class_name), **asked),
                HORIZON_OF_SCHEDULES if "adversary" in asked else HORIZON,
                Unit(OF_USERS.get(name)),
            )
            for name, (class_name, asked) in PUBLISHING.items()
        }

    def subject(self, stream: StreamPlan, plan: OnlinePlan, name: str) -> Subject:
        """The audit of one learner of a stream."""
        return online_subject(stream, plan, name)
