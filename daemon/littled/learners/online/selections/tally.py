"""Tally selection: every id is flipped as soon as a threshold of its own is passed (Lemma T).

The thresholds are the trigger (`littled.learners.online.trigger.Tallying`): an epoch ends when an
id passes. So there is nothing left to draw in a call.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from littled.budget.events import PrivacyEvent, TallySeason
from littled.classes.base import Points, Proposals
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.keeping import Keeping, Nothing
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Selection, Work
from littled.learners.online.state import OnlineState
from littled.learners.online.tallies import Tallies, pairs_of, published_spells, tests_of
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule

# Of an id that is watched: what a mapping holds of it, two mappings while a batch is counted, and
# the columns of a snapshot.
WATCHED_BYTES = 600


@dataclass(frozen=True)
class Tallied(Selection):
    """Each candidate has a threshold of its own, and whatever passes ends the epoch."""

    def wrong(self) -> Iterator[str]:
        """Whatever belongs to a trigger that counts all mistakes, users, or noise in labels."""
        p = self.parameters
        yield from super().wrong()
        if not p.fresh or p.draws != 1 or p.buffer != "mistakes" or p.teachers is not None:
            yield f"{self.words} selection is fresh, keeps mistakes, has neither teachers nor draws"
        if p.trigger_rate or p.trigger_threshold or p.ladder or p.tests != "above_threshold":
            yield f"{self.words} selection has no trigger: neither rate, threshold nor ladder"
        if p.schedule_first is not None:
            yield f"{self.words} selection has no schedule"
        if p.threshold_rate is None or p.selection_accounting != "pure":
            yield f"{self.words} selection has a threshold_rate, and is booked as pure"
        if p.noise_rate or p.user_examples_max is not None:
            yield f"{self.words} selection needs noise_rate 0, and protects single examples only"

    @property
    def keeps_rows(self) -> bool:
        """Votes alone."""
        return False

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """None beside what is tested."""
        return 0

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """A rule is made of what passes, and compared with what has votes."""
        return Work()


@dataclass(frozen=True)
class Tally(Tallied):
    """Sets of ids, each of which is watched by itself."""

    @property
    def words(self) -> str:
        """The word of the parameters."""
        return "tally"

    def wrong_published_score(self) -> Iterator[str]:
        """Nothing: it is what that is for."""
        return iter(())

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """Rules that are no sets."""
        if hypotheses.id_sets is None:
            yield f"{hypotheses.name} has no rules that are sets of ids; tally selection needs them"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """All that passes in a season."""
        p = self.parameters
        assert p.threshold_rate is not None
        return TallySeason(
            rate=p.selection_rate,
            threshold_rate=p.threshold_rate,
            threshold=p.bottom_score,
            steps=p.horizon,
        )

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of a vote for each example of a season, and of what begins without votes.

        Whatever is published had a vote, or was published when the season began.
        """
        p, spells = self.parameters, 0
        if p.published_score is not None:
            spells = p.horizon + hypotheses.littlestone_dimension
        return tests_of(p).total_variation(p.horizon + spells)

    def keeping(self, hypotheses: HypothesisClass) -> Keeping:
        """No example is kept: its vote is in the tallies."""
        return Nothing(hypotheses, self.parameters)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The ids that pass here are flipped; spells end of these, and of what the rule changes."""
        tallies = state.tallies or Tallies()
        assert isinstance(tallies, Tallies)
        passing = tallies.passing(place.position)
        flips = Proposals(np.ones(len(passing), dtype=np.int64), pairs_of(passing))
        every = np.arange(len(passing), dtype=np.int64)
        rule = needed(hypotheses.id_sets).flipped_rule(flips, every, state.rule)
        watched = list(tallies.watched)
        points = points_of(watched, hypotheses.point_type)
        changed = rule.evaluate(points) != state.rule.evaluate(points)
        ended = {id_ for id_, now in zip(watched, changed.tolist(), strict=True) if now}
        left = tallies.without({*passing, *ended})
        ids = [id_ for id_ in needed(hypotheses.id_sets).ids_of(rule) if id_ not in left.watched]
        spells = published_spells(self.parameters, ids, place.position + 1, place, noise)
        left = Tallies.of({**left.watched, **spells})
        return replace(state, tallies=left if left.watched else None), rule

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of all that can be watched: an id for each example of a season."""
        return self.parameters.horizon * WATCHED_BYTES


def points_of(ids: list[int], kind: str) -> Points:
    """Ids as a column of points of this type."""
    pairs, columns = pairs_of(ids), point_type(kind)
    return pairs if columns.columns > 1 else pairs[:, 1].astype(columns.dtype)
