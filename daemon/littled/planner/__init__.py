"""Plans: from what a configuration asks for to every parameter of a learner, without any data."""

from littled.planner.plans import LearnerPlan, PredictionPlan, StreamPlan
from littled.planner.prediction.search import PredictionComparison
from littled.planner.requests import (
    EXCESS_ERROR,
    METHODS,
    UNITS,
    LearnerRequest,
    PaperConstants,
    PlanError,
    PredictionRequest,
    StreamRequest,
)
from littled.planner.search import (
    Comparison,
    compare_predictions,
    compare_ways,
    plan_stream,
    season_cost,
)

__all__ = [
    "EXCESS_ERROR",
    "METHODS",
    "UNITS",
    "Comparison",
    "LearnerPlan",
    "LearnerRequest",
    "PaperConstants",
    "PlanError",
    "PredictionComparison",
    "PredictionPlan",
    "PredictionRequest",
    "StreamPlan",
    "StreamRequest",
    "compare_predictions",
    "compare_ways",
    "plan_stream",
    "season_cost",
]
