"""The learner of one-way sequences: a rule from each window, for ever.

Source: Bun, "A Computational Separation between Private Learning and Online Learning", Algorithm 1:
Theorem 16 with Min_pure for an index ("exponential"), Theorem 17 with Min_approx ("stable"), and
Freq_approx for its string in both. Its first step is left out: "never" is an index beyond all
others, so that no count of positive examples has to be released.

Windows, prices and users are those of `littled.learners.batch.learner`.
"""

from dataclasses import dataclass
from functools import cached_property

from littled.learners.batch.learner import WindowDraw, WindowLearner
from littled.learners.sequences.draws import SequencesDraw
from littled.learners.sequences.parameters import SequencesParameters


@dataclass(frozen=True)
class SequencesLearner(WindowLearner):
    """A rule about a one-way sequence from each window, for one class with public parameters."""

    parameters: SequencesParameters

    @cached_property
    def _selection(self) -> WindowDraw:
        return SequencesDraw(self.hypotheses, self.parameters)
