"""The private online learner: a published rule, and a new one when it errs too often."""

from littled.learners.online.learner import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.state import OnlineState, Step
from littled.learners.online.values import EpochSettings

__all__ = ["EpochSettings", "OnlineLearner", "OnlineParameters", "OnlineState", "Step"]
