"""The stable predictor: uniformly stable answers, which are no private ones.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions", Theorem 1 and
appendix B, with a subset of independent members.

Answer. A random subset T holds every index of the window with probability q. Candidates are one
rule for each labeling of T's points by the class, chosen by these points alone. A candidate h is
drawn with probability proportional to exp(e * agreements with all n examples); the answer is h(x).
Every answer draws T and h anew.

Guarantee: replacing one example changes the probability of an answer by at most
s = q + (1 - q) tanh(e / 2) (proof: PRIVACY.md, section 13). That is
uniform stability s, which limits what one example can do to an answer, whoever wrote it. It is
(0, s)-DP and no more: an answer that is impossible without an example may give it away, so the
private learner adds a flip.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from littled.classes.base import Candidates, Labelings, Labels, Points
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import LABELINGS_MAX
from littled.learners.prediction.parts import Draw, check_window, draws
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address, NoiseSource
from littled.mechanisms.subset import BernoulliSubset
from littled.written import write_exactly


@dataclass(frozen=True)
class StablePredictor:
    """Answers about one class at `rate` e from windows of `window` examples, `subset_rate` q.

    `name` is "stream/learner" and separates the noise of learners on one stream. ValueError, one
    sentence, where the class cannot list the labelings of such subsets.
    """

    name: str
    hypotheses: HypothesisClass
    window: int
    rate: Fraction
    subset_rate: Fraction

    def __post_init__(self) -> None:
        """Check the parameters against the class."""
        write_exactly(self, "rate", "subset_rate")
        _ = self._selection
        if self.hypotheses.window_labelings is None:
            raise ValueError(f"{self.hypotheses.name} cannot list the labelings of a subset")
        # no subset that can be drawn is refused later, when its size would have to be explained
        if self.candidates_max > LABELINGS_MAX:
            raise ValueError(
                f"{self.hypotheses.name} may have more than {LABELINGS_MAX} labelings of a subset "
                f"of {self._subset.size_max} examples; use a smaller subset_rate"
            )

    @property
    def candidates_max(self) -> int:
        """Most candidates that a subset can have."""
        return self.hypotheses.labelings_max(self._subset.size_max)

    @property
    def precision_error(self) -> Fraction:
        """Bound on the total variation of one answer from the ideal one."""
        return self._subset.total_variation + self._selection.total_variation(self.candidates_max)

    def prepare(self, x: Points, y: Labels) -> Labelings:
        """The work on a window that is done once; ValueError unless it has `window` examples."""
        check_window(x, y, self.window)
        return needed(self.hypotheses.window_labelings).window(x, y)

    def answer(
        self, prepared: Labelings, points: Points, noise: NoiseSource, address: Address
    ) -> Labels:
        """One answer for each point, uint8 (m,), each with noise of its own."""
        answers = (
            self.label(prepared, points[j : j + 1], draw)
            for j, draw in enumerate(draws(noise, address, len(points)))
        )
        return np.fromiter(answers, dtype=np.uint8, count=len(points))

    def label(self, prepared: Labelings, point: Points, draw: Draw) -> bool:
        """The answer to one point, a column of length 1."""
        candidates, index = self.select(prepared, draw)
        return bool(candidates.labels(point)[index])

    def select(self, prepared: Labelings, draw: Draw) -> tuple[Candidates, int]:
        """The candidates of a fresh subset, and which of them is drawn."""
        candidates = prepared.candidates(self._subset.sample(draw.noise, draw.at("predict/subset")))
        words = draw.words("predict/select", ExponentialMechanism.WORDS)
        return candidates, self._selection.sample(candidates.scores, words)

    @cached_property
    def _subset(self) -> BernoulliSubset:
        return BernoulliSubset(self.window, self.subset_rate)

    @cached_property
    def _selection(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.rate)
