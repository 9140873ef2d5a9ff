"""The scorecard learner: it follows the noisy leader on features of rows."""

from littled.learners.scorecard.learner import ScorecardLearner, ScorecardState
from littled.learners.scorecard.parameters import ScorecardParameters

__all__ = ["ScorecardLearner", "ScorecardParameters", "ScorecardState"]
