"""The private online learner: a published rule, and a new one when it errs too often."""

from littled.learners.online.learner import OnlineLearner
from littled.learners.online.parameters import OnlineParameters, Rung
from littled.learners.online.state import OnlineState, Step

__all__ = ["OnlineLearner", "OnlineParameters", "OnlineState", "Rung", "Step"]
