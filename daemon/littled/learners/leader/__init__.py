"""The scorecard learner: it follows the noisy leader on features of rows."""

from littled.learners.leader.learner import LeaderLearner, LeaderState
from littled.learners.leader.parameters import LeaderParameters

__all__ = ["LeaderLearner", "LeaderParameters", "LeaderState"]
