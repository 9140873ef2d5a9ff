"""Votes for closures: who votes when, and how the rules that have votes are tested (Lemma J).

A positive example on which the published rule errs votes by itself for the smallest rule around
both, or joins its group. Which of the two, and which group, its position's secret word says,
whatever the example is. So one replaced example changes one vote: its own, or that of its group.

A rule that only grows never leaves a target that has changed. So an example that no rule around the
published one fits votes for the class's smallest rule, with which everything begins anew, if the
parameters say so (`starts_over`): by itself, or in the place of its group's vote for a closure.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.classes.capabilities import IntersectionClosed, needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.wide import as_pairs, to_int
from littled.learners.contract import Examples, Place
from littled.learners.online.closure_tallies import (
    ClosureTallies,
    Group,
    Watched,
    carried,
    first_of,
)
from littled.learners.online.groups import GroupSettings
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.state import OnlineState
from littled.learners.online.tallies import CALL_DRAW, NEVER, SEASON_DRAW
from littled.learners.online.values import ParameterValues
from littled.mechanisms.tallies import TallyTests
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class ClosureVotes:
    """The votes of a learner with these parameters, for a class that has closures."""

    parameters: ParameterValues
    hypotheses: HypothesisClass

    @cached_property
    def tests(self) -> TallyTests:
        """The mechanism, of as many tests as a season can have."""
        p = self.parameters
        assert p.threshold_rate is not None
        steps = -(-p.horizon // self._settings.tested_every)
        return TallyTests(p.selection_rate, p.threshold_rate, steps)

    def begun(
        self,
        published: Rule,
        left: Mapping[Rule, int],
        place: Place,
        noise: LearnerNoise,
        position: int,
    ) -> ClosureTallies:
        """Tests from a position on, of what votes have `left` and of all that are always tested.

        A rho of its own is drawn for each rule, at `place`.
        """
        always = self._closed.next_rules(published)
        rules = [*always, *sorted(left.keys() - set(always), key=repr)]
        draw = CALL_DRAW if position > place.position else SEASON_DRAW
        width = self.tests.words
        words = noise.source.words(noise.address(place, "tally-spell", draw), width * len(rules))
        watched = {}
        for number, (rule, row) in enumerate(zip(rules, words.reshape(-1, width), strict=True)):
            is_next = number < len(always)
            gap = self._threshold(is_next=is_next) + self.tests.threshold_noise(row)
            gap += left.get(rule, 0)
            watched[rule] = Watched(gap, self._passes(gap, row, position), is_next)
        return ClosureTallies.of(watched)

    def voting(self, published: Rule, y: Labels, mistake: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Places of the examples that can vote: (m,) of n, for y: (n,) and mistake: (n,)."""
        over = self.parameters.starts_over and published != self.smallest
        return np.flatnonzero(mistake if over else mistake & (y == 1))

    def following(self, published: Rule, passed: Collection[Rule]) -> Rule | None:
        """The smallest rule around the published one and those that passed; None without one.

        The smallest of the class if that has passed.
        """
        over = self.smallest in passed
        return self.smallest if over else around_all(self._closed, published, passed)

    def after_call(
        self, tallies: ClosureTallies, published: Rule, place: Place, noise: LearnerNoise
    ) -> ClosureTallies:
        """The tests of the next epoch: those of what has not passed, around the new rule.

        Nothing is left where the smallest rule has passed.
        """
        waiting = {
            rule: one for rule, one in tallies.watched.items() if one.passes != place.position
        }
        over = self.smallest in tallies.passing(place.position)
        left = {} if over else carried(waiting, self._own_threshold, published, self._joined)
        return self.begun(published, left, place, noise, place.position + 1)

    def forgotten(
        self, tallies: ClosureTallies, published: Rule, place: Place, noise: LearnerNoise
    ) -> ClosureTallies:
        """The same groups, and tests from this place on of rules that have one vote less each."""
        args = tallies.watched, self._own_threshold, published, self._joined
        begun = self.begun(published, carried(*args, forgotten=1), place, noise, place.position)
        return replace(begun, groups=tallies.groups)

    def counted(
        self,
        state: OnlineState,
        tallies: ClosureTallies,
        part: Examples,
        places: NDArray[np.int64],
        words: NDArray[np.uint64],
        noise: LearnerNoise,
    ) -> ClosureTallies:
        """With the votes of some examples of a part of an epoch, until a rule passes.

        places: (m,) of those that vote, rising, as `voting` has them; words: (n,) secret words of
        all n of the part. A vote's noise is drawn at the position of the example that gives it.
        """
        watched, groups, first = dict(tallies.watched), dict(tallies.groups), tallies.first
        begins, calls = part.place.position, self._calls(state)
        over = self._starting_over(state.rule, part.x[places], part.y[places])
        points = zip(as_pairs(part.x[places]), over.tolist(), strict=True)
        for index, (pair, anew) in zip(places.tolist(), points, strict=True):
            if first < begins + index:
                break
            point = None if anew else to_int(pair)
            earlier = begins + index - state.epoch_position
            voter = self._settings.voter(int(words[index]), earlier, calls)
            if voter is None:
                rule = self._around(state.rule, point)
            else:
                group = self._joined_by(groups.get(voter), state.rule, point, watched)
                news = group is not groups.get(voter) and group.voted
                groups[voter] = group
                rule = group.closure if news else None
            if rule is None or rule == state.rule:
                continue
            before = watched.get(rule)
            watched[rule] = self._voted(before, part.place_of(index), noise)
            first = min(first, watched[rule].passes)
            if before is not None and before.passes == first < watched[rule].passes:
                first = first_of(watched.values())
        return replace(tallies, watched=watched, groups=groups, first=first)

    def _joined_by(
        self,
        group: Group | None,
        published: Rule,
        point: int | None,
        watched: Mapping[Rule, Watched],
    ) -> Group:
        """The group with one example more; the same object if it has voted already.

        `point` is None for an example that votes to start over: its group has voted, for that. So
        has one whose closure is no rule of the class; or it never votes, if nothing starts over.
        """
        if group is None:
            group = Group(published)
        if group.voted:
            return group
        closure = None if point is None else self._closed.around(group.closure, point)
        if closure is None:
            return Group(self.smallest if self.parameters.starts_over else published, voted=True)
        held = group.held + 1 if closure == group.closure else 0
        done = held >= self._settings.stable or self._closed.is_whole(closure)
        alone = watched.get(closure)
        return Group(closure, held, done or (alone is not None and alone.is_next))

    def _starting_over(self, published: Rule, x: Points, y: Labels) -> NDArray[np.bool_]:
        """Which of the examples that can vote, (m,), do so for the smallest rule."""
        if not self.parameters.starts_over:
            return np.zeros(len(y), dtype=np.bool_)
        return self._closed.contradicts(published, x, y)

    def _around(self, rule: Rule, point: int | None) -> Rule | None:
        """The smallest rule around a rule and a point; that of the class without a point."""
        return self.smallest if point is None else self._closed.around(rule, point)

    def _joined(self, rule: Rule, published: Rule) -> Rule | None:
        """Where what a rule's votes have left goes to: those to start over stay what they are."""
        return rule if rule == self.smallest else self._closed.joined(rule, published)

    def _calls(self, state: OnlineState) -> int:
        """Calls since everything began: none again once the season has started over."""
        return 0 if self.parameters.starts_over and state.rule == self.smallest else state.calls

    def _voted(self, watched: Watched | None, place: Place, noise: LearnerNoise) -> Watched:
        """A rule with one vote more, given by the example at this place."""
        words = noise.source.words(noise.address(place, "tally"), self.tests.words)
        if watched is None:
            gap = self._threshold(is_next=False) + self.tests.threshold_noise(words) - 1
            return Watched(gap, self._passes(gap, words, place.position), is_next=False)
        gap = watched.gap - 1
        return Watched(gap, self._passes(gap, words, place.position), watched.is_next)

    def _passes(self, gap: int, words: NDArray[np.uint64], position: int) -> int:
        """After which position a rule passes that has this gap from `position` on."""
        wait = self.tests.wait(gap, words)
        if wait is None:
            return NEVER
        every = self._settings.tested_every
        return self._settings.first_test(position) + (wait - 1) * every

    def _threshold(self, *, is_next: bool) -> int:
        return self._settings.next_score if is_next else self.parameters.bottom_score

    def _own_threshold(self, watched: Watched) -> int:
        return self._threshold(is_next=watched.is_next)

    @cached_property
    def smallest(self) -> Rule:
        """The rule of the class that each other one is around."""
        return self.hypotheses.first_rule()

    @cached_property
    def _closed(self) -> IntersectionClosed:
        return needed(self.hypotheses.intersection_closed)

    @property
    def _settings(self) -> GroupSettings:
        assert self.parameters.groups is not None
        return self.parameters.groups


def around_all(closed: IntersectionClosed, published: Rule, rules: Iterable[Rule]) -> Rule | None:
    """The smallest rule around the published one and these; None if the class has none."""
    found: Rule | None = published
    for rule in rules:
        found = None if found is None else closed.joined(found, rule)
    return found
