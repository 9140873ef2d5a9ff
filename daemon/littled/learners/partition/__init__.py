"""The learner of unions of blocks: noisy counts of labels in the parts of a public partition."""

from littled.learners.partition.learner import PartitionLearner, PartitionState
from littled.learners.partition.parameters import PartitionParameters

__all__ = ["PartitionLearner", "PartitionParameters", "PartitionState"]
