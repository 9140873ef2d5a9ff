"""What one step of a scorecard learner changes: examples added, batches finished."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels
from littled.classes.capabilities import Integers
from littled.learners.contract import Examples, Place
from littled.learners.leader.columns import Columns
from littled.learners.leader.features import SCORE_BITS, FeatureMap, contribution
from littled.learners.leader.judging import COUNTED, Candidate, Judgement
from littled.learners.leader.parameters import POINTS, LeaderParameters
from littled.learners.leader.state import Base, LeaderState, Sequence
from littled.learners.leader.stumps import Stumps, labelled
from littled.mechanisms.noise import NoiseSource, Purpose


class Core(Protocol):
    """What a step needs of a scorecard learner, `littled.learners.leader.learner`."""

    @property
    def parameters(self) -> LeaderParameters:
        """Its public parameters."""

    @property
    def features(self) -> FeatureMap:
        """The features of the class's rows."""

    @property
    def stumps(self) -> Stumps:
        """The stumps that are compared."""

    @property
    def stages(self) -> tuple[int, ...]:
        """Batches of a season after which a stump is drawn."""

    @property
    def period_ends(self) -> dict[int, int]:
        """Batches of a season after which candidates are judged, and those of the period."""

    def card_points(self, state: LeaderState) -> tuple[int, Integers]:
        """The constant and the points of all cells of the scorecard that is judged."""

    def base_scores(self, base: Base, batches: int, cells: NDArray[np.uint32]) -> Integers | int:
        """What rows score by the base."""

    def release(
        self, values: Integers, noise: NoiseSource, place: Place, purpose: Purpose
    ) -> Integers:
        """What becomes public of values at a place."""

    def draw(self, sums: Integers, standing: int, noise: NoiseSource, place: Place) -> int:
        """The number of the stump that is drawn from a stage's examples."""

    def draw_candidate(self, sums: Integers, noise: NoiseSource, place: Place) -> Candidate:
        """The candidate that is drawn from a trial's examples."""

    def kept(self, *, warming: bool) -> int | None:
        """So many columns of a sequence are kept; None for all."""

    def row(self, columns: Columns, *, warming: bool) -> Integers:
        """The sum of columns that is released."""

    def following(self, sequence: Sequence, released: Columns, batches: int) -> Sequence:
        """A sequence with one more release."""

    def after(self, sequence: Sequence, batches: int, *, warming: bool) -> Integers:
        """The weights that follow from the releases of so many batches of a sequence."""

    def centred(self, average: Integers, released: Integers) -> Sequence:
        """The sequence after the warm-up."""


class Working:
    """What one step changes, until its `result`: the state that it began with stays as it is."""

    def __init__(
        self, learner: Core, state: LeaderState, event: Examples, noise: NoiseSource
    ) -> None:
        """Look up what does not change within a sequence: cells, and who is learned from."""
        sequence = state.sequence
        assert sequence is not None, "examples come after a season was opened"
        self.learner, self.event, self.source = learner, event, noise
        self.batches, self.weights, self.average = state.batches, state.weights, state.average
        self.partial, self.moments = sequence.partial, state.moments
        self.base, self.stump, self.judgement = state.base, state.stump, state.judgement
        self.judged, self.cell_sums = state.judged, state.cell_sums
        self.cells = learner.features.cells(event.x)
        self.admitted = np.ones(len(event.y), dtype=np.bool_)
        most = learner.parameters.user_examples_max
        if event.users is not None and state.users_kept is not None and most is not None:
            self.admitted = state.users_kept.admitted(event.users, self.admitted, most)
            kept = state.users_kept.plus(event.users[self.admitted])
            state = replace(state, users_kept=kept)
        self._state = state
        self._card_labels: Labels | None = None
        self._begin(sequence, 0)

    def _begin(self, sequence: Sequence, first: int) -> None:
        """Take up a sequence from example `first` on."""
        self.sequence = sequence
        self._example = contribution(self.learner.features, sequence.centre, sequence.bound)
        self._first = first
        self._lengths = self._example.lengths(self.cells[:, first:])
        self._scores = self._example.scores(self.weights)

    def add(self, first: int, last: int) -> None:
        """Add the examples first..last-1, all of one batch, to its sums."""
        if self.batches < self.learner.parameters.stump_batches:
            signs = self._signs(self.event.y[first:last], first, last)
            self._count(self.learner.stumps.sums(self.cells[:, first:last], signs))
            return
        if self._in_trial:
            self._count(self._right(first, last))
            return
        cells, y = self.cells[:, first:last], self.event.y[first:last]
        p = self.learner.parameters
        if self.judged is not None and self.batches >= p.unjudged:
            self.judged = self.judged + self._right(first, last)
        lengths = self._lengths[first - self._first : last - self._first]
        base = self.learner.base_scores(self.base, self.batches, cells)
        multiples = self._example.multiples(self._scores, cells, lengths, y, base)
        multiples *= self.admitted[first:last]
        features = self.learner.features
        self.partial = self.partial + features.vector(cells, multiples, self.sequence.centre)
        if self.moments is not None:
            moments = self._example.moments(cells[:, self.admitted[first:last]])
            self.moments = self.moments + moments

    def _count(self, sums: Integers) -> None:
        """Add to what a stump, or a candidate, will be drawn from."""
        self.cell_sums = sums if self.cell_sums is None else self.cell_sums + sums

    @property
    def _in_trial(self) -> bool:
        """Whether the batch is one of the trial."""
        p = self.learner.parameters
        return p.trial_after <= self.batches < p.trial_end

    def _signs(self, ones: NDArray[Any], first: int, last: int) -> Integers:
        """1 and -1 for true and false, and 0 for an example that is not learned from."""
        found: Integers = np.where(ones, 1, -1) * self.admitted[first:last]
        return found

    def _right(self, first: int, last: int) -> Integers:
        """How much more often each candidate is right than wrong on examples: int64 (counted,).

        "Never" is right where a label is 0; another one besides where it says 1 rightly.
        """
        if self._card_labels is None:  # a step ends where the next card begins
            self._card_labels = labelled(*self.learner.card_points(self._state), self.cells)
        signs = self._signs(self.event.y[first:last], first, last)
        stump = self.learner.stumps.labels(self.stump, self.cells[:, first:last])
        said = (self._card_labels[first:last], stump, np.zeros_like(stump))
        found: Integers = np.array([2 * signs.dot(each) for each in said]) - signs.sum()
        return found

    def finish(self, place: Place) -> None:
        """Release what belongs to the batch that is full now, and take up what follows from it."""
        p = self.learner.parameters
        if self.batches < p.stump_batches:
            self._end_stage(place)
            return
        if self._in_trial:
            self._end_of_trial(place)
            return
        self._finish_row(place)
        if self.judged is not None and self.batches in self.learner.period_ends:
            counts = self.learner.release(
                p.judging_scale * self.judged, self.source, place, "scorecard-judging"
            )
            examples = self.learner.period_ends[self.batches] * p.batch_examples
            self.judgement = self.judgement.after(
                tuple(counts.tolist()),
                p.judging_scale * examples,
                p.judging_lead,
                p.judging_return,
            )
            self.judged = np.zeros_like(self.judged)

    def _finish_row(self, place: Place) -> None:
        """The row of a batch, and the weights that follow."""
        learner, sequence, warming = self.learner, self.sequence, self.moments is not None
        p = learner.parameters
        kept = learner.kept(warming=warming)
        summed = sequence.summed.plus(self.partial, kept)
        row = learner.row(summed, warming=warming)
        released = learner.release(row, self.source, place, "scorecard")
        heard = sequence.released.plus(released >> p.dropped_bits, kept)
        batches = self.batches + 1 - p.stump_batches - (0 if warming else p.warmup)
        if self.batches >= p.trial_end:
            batches -= p.trial_batches
        self.sequence = replace(learner.following(sequence, heard, batches), summed=summed)
        self.partial = np.zeros_like(self.partial)
        self.weights = learner.after(self.sequence, batches, warming=warming)
        self.average = self.average + (self.weights - self.average) // p.average_batches
        self.batches += 1
        if self.moments is not None and self.batches == p.stump_batches + p.warmup:
            moments = p.moments_scale * self.moments
            released = learner.release(moments, self.source, place, "scorecard-moments")
            sequence = learner.centred(self.average, released)
            self.weights = self.average = sequence.start
            self.moments = None
            self._begin(sequence, place.position + 1 - self.event.place.position)
        else:
            self._scores = self._example.scores(self.weights)

    def _end_stage(self, place: Place) -> None:
        """A batch before the warm-up; at the end of a stage a stump is drawn from its examples.

        In the first season it is published, and scores begin with it; later ones begin with what
        the season before has left, and the stump is one of the candidates only.
        """
        p, learner = self.learner.parameters, self.learner
        self.batches += 1
        if self.batches in learner.stages and self.cell_sums is not None:
            self.stump = learner.draw(self.cell_sums, self.stump, self.source, place)
            self.cell_sums = None
            if not self._state.season:
                self.judgement = Judgement(choice=Candidate.STUMP)
        if self.batches == p.stump_batches:
            if not self._state.season:
                score = (p.stump_points << SCORE_BITS) // POINTS
                self.base = Base(self.stump, score)
                if not p.trial_batches:
                    self.judgement = Judgement()
            if p.judging_scale:
                self.judged = np.zeros(COUNTED, dtype=np.int64)

    def _end_of_trial(self, place: Place) -> None:
        """A batch of the trial; at the end of the last one a candidate is drawn, and published."""
        self.batches += 1
        if self.batches == self.learner.parameters.trial_end and self.cell_sums is not None:
            drawn = self.learner.draw_candidate(self.cell_sums, self.source, place)
            self.judgement, self.cell_sums = Judgement(choice=drawn), None

    def result(self) -> LeaderState:
        """The state after what was added and finished."""
        return replace(
            self._state,
            weights=self.weights,
            average=self.average,
            sequence=replace(self.sequence, partial=self.partial),
            moments=self.moments,
            batches=self.batches,
            base=self.base,
            stump=self.stump,
            judgement=self.judgement,
            judged=self.judged,
            cell_sums=self.cell_sums,
        )
