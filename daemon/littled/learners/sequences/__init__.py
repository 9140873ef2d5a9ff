"""One-way sequences from windows, after Bun's private learner."""

from littled.learners.sequences.learner import SequenceLearner
from littled.learners.sequences.parameters import SequenceParameters

__all__ = ["SequenceLearner", "SequenceParameters"]
