"""Sparse selection where every example is a teacher of its own: proposals minus vetoes."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from littled.budget.events import PrivacyEvent
from littled.classes.base import Scores
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Selection, Work, columns, sparse_event
from littled.learners.online.state import OnlineState
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import Rule

# Of a candidate that is proposed.
CANDIDATE_BYTES = 130


@dataclass(frozen=True)
class SparseDraws(Selection):
    """What all selections by the sparse sampling of Lemma B have in common."""

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of all draws of a season."""
        draws = self.parameters.calls_max * self.parameters.draws
        return draws * self._mechanism.total_variation(self._offered_max)

    @property
    def _offered_max(self) -> int:
        """Most candidates that a selection of one season can have; each list is cut to its cap."""
        p = self.parameters
        return (p.horizon if p.teachers is None else p.teachers) * p.list_cap

    def _drawn(self, scores: Scores, place: Place, noise: LearnerNoise) -> list[int]:
        """The draws of one call that are not bottom."""
        draws = (
            self._mechanism.sample(scores, noise.source.words(address, SparseSample.WORDS))
            for address in noise.draws(place, self.parameters.draws)
        )
        return [index for index in draws if index is not None]

    @cached_property
    def _mechanism(self) -> SparseSample:
        p = self.parameters
        return SparseSample(p.selection_rate, list_cap=p.list_cap, bottom_score=p.bottom_score)


@dataclass(frozen=True)
class Proposing(SparseDraws):
    """Each example proposes a short list of rules, or vetoes rules."""

    @property
    def words(self) -> str:
        """The word of the parameters."""
        return "sparse"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """No short lists, or longer ones than the parameters say."""
        name, proposing = hypotheses.name, hypotheses.proposing
        cap = self.parameters.list_cap
        if proposing is None:
            yield f"{name} has no short lists of rules per example; use dense"
        elif cap < (most := proposing.proposals_per_example):
            yield f"an example of {name} proposes up to {most} rules, more than list_cap {cap}"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """The draws of the sparse sampling."""
        return sparse_event(
            self.parameters,
            self.parameters.draws,
            user_examples_max=self._user_examples_max,
            epochs=self._apart(epochs),
        )

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The majority of the draws among everything that is proposed."""
        x, y = columns(state.archive)
        proposing = needed(hypotheses.proposing)
        proposals = proposing.proposals(x, y)
        drawn = self._drawn(proposals.scores, place, noise)
        return state, self._majority([proposing.proposed_rule(proposals, i) for i in drawn])

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """As many as all examples propose."""
        return examples * needed(hypotheses.proposing).proposals_per_example

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """One unit for each candidate."""
        return Work(candidates=self.candidates_max(hypotheses, load.examples))

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of what is kept, and of all candidates."""
        proposing = self.candidates_max(hypotheses, load.examples) * CANDIDATE_BYTES
        return self._rows_bytes(hypotheses, load.rows) + proposing
