"""Closure tallies: the published rule grows by each closure that passes a threshold (Lemma J).

The thresholds are the trigger (`littled.learners.online.trigger.ClosureTallying`): an epoch ends
when a closure passes. So there is nothing left to select in a call; the noise of the next epoch's
tests is drawn.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from littled.budget.events import PrivacyEvent, TallySeason
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import Place
from littled.learners.online.closure_tallies import ClosureTallies
from littled.learners.online.closure_votes import ClosureVotes
from littled.learners.online.keeping import EPOCH_BYTES, Keeping, Nothing
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load
from littled.learners.online.selections.tally import Tallied
from littled.learners.online.state import OnlineState
from littled.learners.online.values import ParameterValues
from littled_protocol.rules import Rule

# Of a rule that is tested, while a batch is counted, tests begin anew or a snapshot is made: so
# many bytes, and so many for each character of its text.
WATCHED_BYTES, CHARACTER_BYTES = 400, 8
# And in a snapshot: its gap, when it passes, of a group its number and what it has held.
STORED_NUMBERS_BYTES = 40


@dataclass(frozen=True)
class ClosureTally(Tallied):
    """Closures that examples vote for, each of which is tested by itself."""

    @property
    def words(self) -> str:
        """The word of the parameters."""
        return "closure tally"

    def wrong(self) -> Iterator[str]:
        """Whatever belongs to a trigger that counts all mistakes, users, or noise in labels."""
        yield from super().wrong()
        if self.parameters.groups is None:
            yield f"{self.words} selection needs the settings of groups"

    def wrong_groups(self) -> Iterator[str]:
        """Nothing: it is what they are for."""
        return iter(())

    def wrong_start(self) -> Iterator[str]:
        """Teachers, which there are none of; single examples and groups can always start over."""
        return self._wrong_start_together()

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class that has no closures."""
        if hypotheses.intersection_closed is None:
            yield f"{hypotheses.name} is not closed under intersection; use dense or sparse"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """All that passes in a season."""
        p = self.parameters
        assert p.threshold_rate is not None
        assert p.groups is not None
        return TallySeason(
            rate=p.selection_rate,
            threshold_rate=p.threshold_rate,
            threshold=p.bottom_score,
            steps=-(-p.horizon // p.groups.tested_every),
        )

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of a vote for each example, and of all that is drawn anew whenever tests begin."""
        p, always = self.parameters, needed(hypotheses.intersection_closed).next_rules_max
        assert p.groups is not None
        times = p.calls_max + 1 + p.horizon // p.groups.forgets_after + 1
        anew = times * (p.horizon + always)
        return ClosureVotes(p, hypotheses).tests.total_variation(p.horizon + anew)

    def keeping(self, hypotheses: HypothesisClass) -> Keeping:
        """No example is kept: its vote, or its group's closure, is in the tallies."""
        return VotesAlone(hypotheses, self.parameters)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """The smallest rule around the published one and all that pass here, or that of the class.

        None, and the published rule stays, if the class has no such rule.
        """
        tallies = state.tallies
        assert isinstance(tallies, ClosureTallies)
        votes = ClosureVotes(self.parameters, hypotheses)
        rule = votes.following(state.rule, tallies.passing(place.position))
        left = votes.after_call(tallies, rule or state.rule, place, noise)
        return replace(state, tallies=left), rule

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of all that can be tested, and of the groups."""
        return rules_max(self.parameters, hypotheses) * (
            WATCHED_BYTES + CHARACTER_BYTES * text_of(hypotheses)
        )


@dataclass(frozen=True)
class VotesAlone(Nothing):
    """No examples: the rules that have votes, and the closures of groups."""

    def stored_bytes(self, rows: int) -> int:
        """Rules, gaps, when they pass, and what groups have held."""
        of_a_rule = text_of(self.hypotheses) + STORED_NUMBERS_BYTES
        return rules_max(self.parameters, self.hypotheses) * of_a_rule + EPOCH_BYTES


def rules_max(parameters: ParameterValues, hypotheses: HypothesisClass) -> int:
    """Rules that are held at the most, and groups.

    An example gives one vote, or belongs to a group. In N positions there are N votes. A rule whose
    first vote was k times N positions ago has had k + 1 votes, or it is forgotten: so at most N / 1
    + N / 2 + N / 3 + ... are held, of as many terms as a season has stretches of N positions.
    """
    assert parameters.groups is not None
    every = min(parameters.groups.forgets_after, parameters.horizon)
    stretches = parameters.horizon // every + 2
    held = every * stretches.bit_length()  # which is above 1 + 1/2 + 1/3 + ...
    return held + needed(hypotheses.intersection_closed).next_rules_max


def text_of(hypotheses: HypothesisClass) -> int:
    """Characters of the class's longest rule as a text with names and decimal numbers.

    Stored rules have the same names, and numbers that are no longer.
    """
    return len(repr(hypotheses.longest_rule))
