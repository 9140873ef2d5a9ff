"""One-way sequences from windows, after Bun's private learner."""

from littled.learners.sequences.learner import SequencesLearner
from littled.learners.sequences.parameters import SequencesParameters

__all__ = ["SequencesLearner", "SequencesParameters"]
