"""Since when? A private robust minimum of each window of numbers."""

from littled.learners.minimum.learner import MinimumLearner
from littled.learners.minimum.parameters import MinimumMethod, MinimumParameters

__all__ = ["MinimumLearner", "MinimumMethod", "MinimumParameters"]
