"""How a rule about a one-way sequence is drawn from one window.

1. An index i, or "never", as `littled.learners.minimum.draws` draws a robust minimum of the indices
   of the examples with label 1.
2. Each of these examples with an index up to i names the string and the bit of i: by forward
   computation where it is earlier. One whose string is not formed names nothing.
3. A stable histogram of what they name. The least that passes, in the order of strings, is
   published with i. If nothing passes, "never" is.

In which order examples came does not matter. The proof is in PRIVACY.md, section 20.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from littled.budget.events import HistogramSelection, PrivacyEvent
from littled.classes.capabilities import Sequences, needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.integers import Integers
from littled.classes.wide import rising
from littled.learners.batch.methods import Draw, Window
from littled.learners.minimum.draws import MinimumDraw, draw_of
from littled.learners.sequences.parameters import SequencesParameters
from littled.mechanisms.stable_histogram import StableHistogram
from littled_protocol.rules import Rule

# The draws before it take the words of 0, 1 and 2.
_HISTOGRAM = 3


@dataclass(frozen=True)
class SequencesDraw:
    """What is drawn from a window, for one class with public parameters.

    ValueError, one sentence, for a class without sequences.
    """

    hypotheses: HypothesisClass
    parameters: SequencesParameters

    def __post_init__(self) -> None:
        """Check the class."""
        if self.hypotheses.sequences is None:
            raise ValueError(f"{self.hypotheses.name} has no rules that continue a string")

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """The draws of an index, and one histogram."""
        p = self.parameters
        histogram = HistogramSelection(
            rate=p.vote_rate,
            threshold=p.threshold,
            change=1,  # nothing vetoes
            accounting=p.accounting,
            user_examples_max=p.user_examples_max or 0,
        )
        return (*self._minimum.season_events(), histogram)

    def precision_error(self) -> Fraction:
        """That of the draw of an index, and of a histogram of as many strings as examples."""
        histogram = self._histogram.total_variation(self.parameters.window)
        return self._minimum.precision_error() + histogram

    def select(self, window: Window, draw: Draw) -> Rule:
        """The rule that continues a string from the drawn index on, or the one that is always 0."""
        positive = window.x[window.y == 1]
        indices = self._sequences.indices(positive)
        index = self._minimum.drawn(indices.take(rising(indices), axis=0), draw)
        if index >> self._sequences.index_bits:  # never
            return self.hypotheses.first_rule()
        votes = self._sequences.votes(positive, index)
        named = sorted(votes)
        counts = np.array([votes[each] for each in named], dtype=np.int64)
        passing = self._histogram.passing(counts, draw.words("select", len(named), _HISTOGRAM))
        if not len(passing):
            return self.hypotheses.first_rule()
        sigma, bit = named[passing[0]]
        return self._sequences.continuing_rule(index, sigma, bit)

    @cached_property
    def _sequences(self) -> Sequences:
        return needed(self.hypotheses.sequences)

    @cached_property
    def _minimum(self) -> MinimumDraw:
        return draw_of(Integers(self._sequences.index_bits), self.parameters)

    @cached_property
    def _histogram(self) -> StableHistogram:
        return StableHistogram(self.parameters.vote_rate, self.parameters.threshold)
