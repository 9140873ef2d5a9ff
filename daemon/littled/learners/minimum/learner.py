"""The learner of robust minima: since when? One number from each window, for ever.

Source: Bun, "A Computational Separation between Private Learning and Online Learning", Definition
12 and Theorem 13: Min_pure ("exponential"), and in place of Min_approx, whose interior point of
Kaplan and others has no constants, one level of the recursion of Bun, Nissim, Stemmer and Vadhan,
"Differentially Private Release and Learning of Threshold Functions" ("stable").

Examples with label 1 count, those with label 0 stand for a number beyond all others. What is
published is the rule x >= v, or "never": where fewer than T examples have label 1, there is no such
number. Windows, prices and users are those of `littled.learners.batch.learner`.
"""

from dataclasses import dataclass
from functools import cached_property

from littled.learners.batch.learner import WindowDraw, WindowLearner
from littled.learners.minimum.draws import draw_of
from littled.learners.minimum.parameters import MinimumParameters


@dataclass(frozen=True)
class MinimumLearner(WindowLearner):
    """A robust minimum of each window's numbers, for one class with public parameters."""

    parameters: MinimumParameters

    @cached_property
    def _selection(self) -> WindowDraw:
        return draw_of(self.hypotheses, self.parameters)
