"""Which one? The most frequent item of each window."""

from littled.learners.most_frequent.learner import MostFrequentLearner
from littled.learners.most_frequent.parameters import MostFrequentMethod, MostFrequentParameters

__all__ = ["MostFrequentLearner", "MostFrequentMethod", "MostFrequentParameters"]
