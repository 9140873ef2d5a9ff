"""Histogram selection: every id whose noisy count of votes passes is flipped at once (Lemma E)."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from littled.budget.events import HistogramSelection, PrivacyEvent
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Selection, Work, columns
from littled.learners.online.selections.proposals import CANDIDATE_BYTES
from littled.learners.online.state import OnlineState
from littled.mechanisms.stable_histogram import StableHistogram
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class Histogram(Selection):
    """Sets of ids."""

    @property
    def words(self) -> str:
        """The word of the parameters."""
        return "histogram"

    def wrong(self) -> Iterator[str]:
        """Neither teachers nor several draws."""
        if self.parameters.teachers is not None:
            yield "histogram selection has no teachers; use sparse or closure"
        yield from super().wrong()
        if self.parameters.draws != 1:
            yield "histogram selection needs draws 1, as it releases everything that passes"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """Rules that are no sets."""
        if hypotheses.id_sets is None:
            yield (
                f"{hypotheses.name} has no rules that are sets of ids, which histogram selection "
                "needs"
            )

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """One histogram."""
        p = self.parameters
        return HistogramSelection(
            rate=p.selection_rate,
            threshold=p.bottom_score,
            change=2 if self._vetoes else 1,
            accounting=p.selection_accounting,
            user_examples_max=self._user_examples_max,
            epochs=self._apart(epochs),
        )

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """An example adds one candidate at the most to every histogram that it is in."""
        p = self.parameters
        candidates = p.horizon if p.fresh else p.calls_max * p.horizon
        return self._mechanism.total_variation(candidates)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """Every id that passes is flipped at once; None if none does.

        The ids are in rising order, and each has one word of the call's one address. How many words
        are read depends on the examples, which nobody sees: no other draw has this address. That a
        neighbour may give an id another word is of no matter, see the mechanism.
        """
        x, y = columns(state.archive)
        sets = needed(hypotheses.id_sets)
        flips = sets.flips(x, y, state.rule, vetoes=self._vetoes)
        (address,) = noise.draws(place, 1)
        words = noise.source.words(address, len(flips.scores))
        passing = self._mechanism.passing(flips.scores, words)
        if not len(passing):
            return state, None
        return state, sets.flipped_rule(flips, passing, state.rule)

    @cached_property
    def _mechanism(self) -> StableHistogram:
        return StableHistogram(self.parameters.selection_rate, self.parameters.bottom_score)

    @property
    def _vetoes(self) -> bool:
        """Whether an example on which the rule is right counts against flipping its id.

        Where some rule fits all examples, an id whose label is contradicted once has to be flipped.
        """
        return self.parameters.noise_rate > 0

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """One for each example."""
        return examples

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """One unit for each candidate."""
        return Work(candidates=self.candidates_max(hypotheses, load.examples))

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of what is kept, and of all candidates."""
        flipping = self.candidates_max(hypotheses, load.examples) * CANDIDATE_BYTES
        return self._rows_bytes(hypotheses, load.rows) + flipping
