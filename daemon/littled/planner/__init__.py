"""Plans: from what a configuration asks for to every parameter of a learner, without any data."""

from littled.planner.plans import LearnerPlan, StreamPlan
from littled.planner.requests import (
    LearnerRequest,
    PaperConstants,
    PlanError,
    StreamRequest,
)
from littled.planner.search import Comparison, compare_ways, plan_stream
from littled.planner.sizes import CANDIDATES_MAX
from littled.planner.ways import Estimate

__all__ = [
    "CANDIDATES_MAX",
    "Comparison",
    "Estimate",
    "LearnerPlan",
    "LearnerRequest",
    "PaperConstants",
    "PlanError",
    "StreamPlan",
    "StreamRequest",
    "compare_ways",
    "plan_stream",
]
