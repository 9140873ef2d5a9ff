"""The learner of most frequent items: which one? One item from each window, for ever.

Source: Bun, "A Computational Separation between Private Learning and Online Learning", Definition
14 and Theorem 15: Freq_pure ("exponential"), and Freq_approx with sparse sampling (Lyu, Algorithm
1) in place of a histogram ("stable").

Examples with label 1 report their item, those with label 0 nothing. What is published is the rule
x == a, or "never" where no item is frequent enough. Windows, prices and users are those of
`littled.learners.batch.learner`.
"""

from dataclasses import dataclass
from functools import cached_property

from littled.learners.batch.learner import WindowDraw, WindowLearner
from littled.learners.most_frequent.draws import draw_of
from littled.learners.most_frequent.parameters import MostFrequentParameters


@dataclass(frozen=True)
class MostFrequentLearner(WindowLearner):
    """The most frequent item of each window, for one class with public parameters."""

    parameters: MostFrequentParameters

    @cached_property
    def _selection(self) -> WindowDraw:
        return draw_of(self.hypotheses, self.parameters)
