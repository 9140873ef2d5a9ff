"""Closure selection: sparse sampling over the smallest rules around teachers' examples.

The ladder may change how many teachers the examples are shared out to; without a number, every
example is a teacher of its own, or every user where users are protected.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import PrivacyEvent
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Work, columns, sparse_event
from littled.learners.online.selections.proposals import SparseDraws
from littled.learners.online.selections.teachers import teachers_of
from littled.learners.online.state import OnlineState
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class Closures(SparseDraws):
    """Each teacher proposes one closure at the most."""

    @property
    def words(self) -> str:
        """The word of the parameters."""
        return "closure"

    def wrong(self) -> Iterator[str]:
        """Longer lists, or several draws."""
        yield from self._wrong_stages()
        if self.parameters.list_cap != 1:
            yield (
                "closure selection needs list_cap 1, as a teacher proposes one closure at the most"
            )
        if self.parameters.draws != 1:
            yield (
                "closure selection needs draws 1, as a majority is no rule of the class from which "
                "the next closure could grow; for adaptive adversaries use dense or sparse"
            )

    def wrong_start(self) -> Iterator[str]:
        """What remembers examples of before."""
        if not self.parameters.fresh:
            yield from super().wrong_start()
        elif not self.parameters.starts_over:
            yield from self._wrong_start_together()

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class that has no closures."""
        if hypotheses.intersection_closed is None:
            yield f"{hypotheses.name} is not closed under intersection; use dense or sparse"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """The draw of the sparse sampling, in each epoch."""
        return sparse_event(self.parameters, self.parameters.draws * epochs)

    @property
    def _offered_max(self) -> int:
        """Most candidates that a selection of one season can have, with any settings."""
        p = self.parameters
        return p.list_cap * max(
            p.horizon if settings.teachers is None else settings.teachers
            for settings in p.all_settings
        )

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """One draw among the closures that teachers propose.

        A position's secret word chooses its teacher anew for every number of teachers, whatever the
        examples are: in each call the data of one teacher differ between neighbours. So it is with
        the secret word of a user.

        With `starts_over` who has an example that no rule around the published one fits proposes
        the smallest rule of the class, and nothing else. With `starts_over_together` so does who
        has examples that no such rule fits together: all who would propose a closure and have none.
        """
        x, y = columns(state.archive)
        numbers = teachers_of(state.archive, self.settings(state).teachers)
        closed, smallest = needed(hypotheses.intersection_closed), hypotheses.first_rule()
        over, votes = np.zeros(len(y), dtype=np.bool_), 0
        begun = self.parameters.starts_over and state.rule != smallest
        if begun:
            over, votes = _proposing_anew(closed.contradicts(state.rule, x, y), numbers)
        x, y, others = x[~over], y[~over], numbers if numbers is None else numbers[~over]
        proposals = closed.closures(x, y, others, state.rule)
        if begun and self.parameters.starts_over_together:
            # whoever has a positive point outside proposes its closure once, or has none
            outside = state.rule.evaluate(x) < y
            votes += _proposing_anew(outside, others)[1] - int(proposals.scores.sum())
        scores = np.append(proposals.scores, votes) if votes else proposals.scores
        rules = [
            smallest if votes and index == len(scores) - 1 else closed.closed_rule(proposals, index)
            for index in self._drawn(scores, place, noise)
        ]
        return state, self._majority(rules)

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """As many as there can be examples."""
        return examples

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """One unit for each candidate."""
        return Work(candidates=self.candidates_max(hypotheses, load.examples))

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of what is kept, and of all closures."""
        closed = needed(hypotheses.intersection_closed)
        closing = closed.closing_bytes(load.examples, self._proposing_max(load.examples))
        return self._rows_bytes(hypotheses, load.rows) + closing

    def _proposing_max(self, examples: int) -> int:
        """Most teachers of one call, of so many examples at the most.

        Where each example is one, they are those of an epoch with these settings' threshold, if the
        calls see their own epoch only.
        """
        all_settings, fresh = self.parameters.all_settings, self.parameters.fresh
        spare = max(settings.trigger_threshold for settings in all_settings) if fresh else 0
        return max(
            examples - spare + (settings.trigger_threshold if fresh else 0)
            if settings.teachers is None
            else min(settings.teachers, examples)
            for settings in all_settings
        )


def _proposing_anew(
    wrong: NDArray[np.bool_], numbers: NDArray[np.int64] | None
) -> tuple[NDArray[np.bool_], int]:
    """The examples (n,) of teachers who have one of the `wrong` ones (n,), and how many these are.

    numbers: (n,) the teacher of each; None where each example is one.
    """
    if numbers is None:
        return wrong, int(wrong.sum())
    teachers = np.unique(numbers[wrong])
    return np.isin(numbers, teachers), len(teachers)
