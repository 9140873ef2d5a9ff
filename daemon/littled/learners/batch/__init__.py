"""The window learner: one rule from each window of examples, for ever."""

from littled.learners.batch.learner import BatchLearner, BatchState, WindowLearner
from littled.learners.batch.parameters import BatchParameters, Method

__all__ = ["BatchLearner", "BatchParameters", "BatchState", "Method", "WindowLearner"]
