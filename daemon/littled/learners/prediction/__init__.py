"""Private predictions: single answers from a window of examples, without ever publishing a rule."""

from littled.learners.prediction.learner import PredictionLearner, Prepared
from littled.learners.prediction.parameters import Method, PredictionParameters
from littled.learners.prediction.stable import StablePredictor

__all__ = [
    "Method",
    "PredictionLearner",
    "PredictionParameters",
    "Prepared",
    "StablePredictor",
]
