"""Audits of online learners, and small ones of every way of selection."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from littled.auditing.online import online_subject
from littled.auditing.subjects.small import HORIZON, alone
from littled.auditing.trials import Subject
from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PaperConstants,
    StreamPlan,
    StreamRequest,
)

# So short that a schedule is better even for ids, which may keep their trigger.
HORIZON_OF_SCHEDULES = 16
NOISE_RATE = Fraction(1, 10)
# Constants with which Algorithms 1 to 4 have a plan for so short a season.
PAPER = PaperConstants(teachers=Fraction(32), threshold=Fraction(1, 1000), draws=Fraction(1, 10))

# Small learners by name: the class, and how the next rule is selected.
PUBLISHING: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("thresholds:2", {"selection": "dense"}),
    "fresh": ("thresholds:2", {"selection": "fresh"}),
    "fresh-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
    "sparse": ("prefixes:8", {"selection": "sparse"}),
    "sparse-scheduled": ("prefixes:8", {"selection": "sparse", "adversary": "none"}),
    "closure": ("conjunctions:3", {"selection": "closure"}),
    "closure-scheduled": ("conjunctions:3", {"selection": "closure", "adversary": "none"}),
    "histogram": ("points:8", {"selection": "histogram"}),
    "histogram-noisy": ("points:8", {"selection": "histogram", "noise_rate": NOISE_RATE}),
    "histogram-scheduled": ("points:8", {"selection": "histogram", "adversary": "none"}),
    "teachers": ("points:8", {"selection": "sparse", "teachers": 2}),
    "paper": ("points:8", {"selection": "paper", "paper": PAPER}),
    "users": ("points:8", {"selection": "histogram"}),
    "users-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS = {"users": 2, "users-scheduled": 2}


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
