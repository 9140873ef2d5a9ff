"""The scorecard learner: it follows the noisy leader on features of rows."""

from littled.learners.leader.learner import LeaderLearner
from littled.learners.leader.parameters import LeaderParameters
from littled.learners.leader.state import LeaderState

__all__ = ["LeaderLearner", "LeaderParameters", "LeaderState"]
