"""Plans: from what a configuration asks for to every parameter of a learner, without any data."""

from littled.planner.plans import AnyPlan, LearnerPlan, PredictionPlan, StreamPlan
from littled.planner.prediction_search import PredictionComparison
from littled.planner.requests import (
    EXCESS_ERROR,
    METHODS,
    UNITS,
    LearnerRequest,
    PaperConstants,
    PlanError,
    PredictionRequest,
    StreamRequest,
    Unit,
)
from littled.planner.search import (
    Comparison,
    compare_predictions,
    compare_ways,
    plan_stream,
    season_cost,
)
from littled.planner.sizes import CANDIDATES_MAX
from littled.planner.ways import Estimate

__all__ = [
    "CANDIDATES_MAX",
    "EXCESS_ERROR",
    "METHODS",
    "UNITS",
    "AnyPlan",
    "Comparison",
    "Estimate",
    "LearnerPlan",
    "LearnerRequest",
    "PaperConstants",
    "PlanError",
    "PredictionComparison",
    "PredictionPlan",
    "PredictionRequest",
    "StreamPlan",
    "StreamRequest",
    "Unit",
    "compare_predictions",
    "compare_ways",
    "plan_stream",
    "season_cost",
]
