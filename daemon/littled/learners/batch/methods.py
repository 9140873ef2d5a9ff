"""How the window learner draws a rule from one window: six methods with one interface.

A method sees one window and its chunks, and nothing older: no buffer, no published rule. Each
states what a season of its windows costs and how far its noise is from the ideal one. The proofs
are in PRIVACY.md, section 15; the mechanisms are those of the online learner.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import (
    DenseSelection,
    HistogramSelection,
    PrivacyEvent,
    SparseSelection,
    StageTest,
)
from littled.classes.base import (
    DataSet,
    Labels,
    Points,
    Scores,
    errors_allowed,
    members_of_chunks,
)
from littled.classes.capabilities import (
    IdSets,
    IntersectionClosed,
    NumberedRules,
    ProposedRules,
    VersionSpaces,
    needed,
)
from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch.boosting import RESIDUAL_STEPS, Booster
from littled.learners.batch.parameters import BatchParameters
from littled.learners.batch.parameters import Method as MethodName
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address, NoiseSource, Purpose
from littled.mechanisms.sparse_sample import SparseSample
from littled.mechanisms.stable_histogram import StableHistogram
from littled_protocol.rules import Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Window:
    """The examples of one window that are learned from, private: x (n,) or (n, 2), y (n,).

    chunks: the chunk of each example, int64 (n,), for methods that have chunks.
    """

    x: Points
    y: Labels
    chunks: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draw:
    """The noise of one window's release: the addresses at the position of its last example."""

    noise: NoiseSource
    place: Address

    def words(self, purpose: Purpose, count: int, draw: int = 0) -> NDArray[np.uint64]:
        """The first `count` words of one purpose."""
        return self.noise.words(replace(self.place, purpose=purpose, draw=draw), count)


@dataclass(frozen=True)
class Selection(ABC):
    """One method for one class with public parameters."""

    hypotheses: HypothesisClass
    parameters: BatchParameters

    @abstractmethod
    def misfit(self) -> str | None:
        """Why the class does not go with the method or its parameters, in a sentence, or None."""

    @abstractmethod
    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What all windows of a season cost together; finite precision is not in it."""

    @abstractmethod
    def precision_error(self) -> Fraction:
        """Bound on the total variation of one window's release from the ideal one."""

    @abstractmethod
    def select(self, window: Window, draw: Draw) -> Rule | None:
        """The rule of one window; None for bottom, after which the published rule stays."""


class Dense(Selection):
    """The exponential mechanism over all rules, score = agreements (Alon et al., Lemma 29)."""

    def misfit(self) -> str | None:
        """Needs a class with few rules."""
        if self.hypotheses.dense is None:
            return f"{self.hypotheses.name} has too many rules to weigh each of them"
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw."""
        p = self.parameters
        return (DenseSelection(p.rate, 1, p.accounting, p.user_examples_max or 0),)

    def precision_error(self) -> Fraction:
        """That of one draw."""
        return self._mechanism.total_variation(self._rules.rule_count)

    def select(self, window: Window, draw: Draw) -> Rule:
        """One rule out of all; never bottom."""
        scores = self._rules.agreements(window.x, window.y)
        words = draw.words("select", ExponentialMechanism.WORDS)
        return self._rules.rule(self._mechanism.sample(scores, words))

    @cached_property
    def _rules(self) -> NumberedRules:
        return needed(self.hypotheses.dense)

    @cached_property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.rate)


class Histogram(Selection):
    """The ids whose noisy number of positive examples, less negative ones, reaches B (Lemma E).

    An example votes for its id as an error of the rule that is always 0, a constant: so every
    window is judged by its own examples alone.
    """

    def misfit(self) -> str | None:
        """Needs rules that are sets of ids."""
        if self.hypotheses.id_sets is None:
            return f"{self.hypotheses.name} has no rules that are sets of ids"
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One histogram."""
        p = self.parameters
        change, most = 2 if p.vetoes else 1, p.user_examples_max or 0
        return (HistogramSelection(p.rate, p.bottom_score, change, p.accounting, most),)

    def precision_error(self) -> Fraction:
        """That of one histogram with as many candidates as the window has examples."""
        return self._mechanism.total_variation(self.parameters.window)

    def select(self, window: Window, draw: Draw) -> Rule | None:
        """The set of all ids that pass; None if none does."""
        nothing = self.hypotheses.first_rule()
        flips = self._sets.flips(window.x, window.y, nothing, vetoes=self.parameters.vetoes)
        passing = self._mechanism.passing(flips.scores, draw.words("select", len(flips.scores)))
        return self._sets.flipped_rule(flips, passing, nothing) if len(passing) else None

    @cached_property
    def _sets(self) -> IdSets:
        return needed(self.hypotheses.id_sets)

    @cached_property
    def _mechanism(self) -> StableHistogram:
        return StableHistogram(self.parameters.rate, self.parameters.bottom_score)


class _Sparse(Selection):
    """Sparse sampling (Lemma B): over proposed rules, and bottom with the score B."""

    @property
    @abstractmethod
    def _candidates_max(self) -> int:
        """Most candidates that a window can have."""

    def precision_error(self) -> Fraction:
        """That of one draw."""
        return self._mechanism.total_variation(self._candidates_max)

    def _event(self, draws: int, user_examples_max: int = 0) -> SparseSelection:
        p = self.parameters
        return SparseSelection(
            p.rate, p.list_cap, p.bottom_score, draws, p.accounting, user_examples_max
        )

    def _draw(self, scores: Scores, draw: Draw) -> int | None:
        return self._mechanism.sample(scores, draw.words("select", SparseSample.WORDS))

    @cached_property
    def _mechanism(self) -> SparseSample:
        p = self.parameters
        return SparseSample(p.rate, list_cap=p.list_cap, bottom_score=p.bottom_score)


class Proposals(_Sparse):
    """Every positive example proposes its rules, every negative one vetoes those that hold it."""

    def misfit(self) -> str | None:
        """Needs short lists of rules per example, none longer than the cap."""
        proposing = self.hypotheses.proposing
        if proposing is None:
            return f"an example of {self.hypotheses.name} does not propose a short list of rules"
        if (most := proposing.proposals_per_example) > self.parameters.list_cap:
            return (
                f"an example of {self.hypotheses.name} proposes up to {most} rules, more than "
                f"list_cap {self.parameters.list_cap}"
            )
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw."""
        return (self._event(1, self.parameters.user_examples_max or 0),)

    def select(self, window: Window, draw: Draw) -> Rule | None:
        """One proposed rule, or bottom."""
        proposals = self._proposing.proposals(window.x, window.y)
        index = self._draw(proposals.scores, draw)
        return None if index is None else self._proposing.proposed_rule(proposals, index)

    @cached_property
    def _proposing(self) -> ProposedRules:
        return needed(self.hypotheses.proposing)

    @property
    def _candidates_max(self) -> int:
        return self.parameters.window * self.parameters.list_cap


class Closure(_Sparse):
    """Each chunk proposes the smallest rule around its positive examples, if it has no errors."""

    def misfit(self) -> str | None:
        """Needs a class that is closed under intersection."""
        if self.hypotheses.intersection_closed is None:
            return f"{self.hypotheses.name} is not closed under intersection"
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw for each window with examples of one user: the list of one chunk is replaced."""
        return (self._event(self.parameters.user_windows_max),)

    def select(self, window: Window, draw: Draw) -> Rule | None:
        """One closure, or bottom."""
        nothing = self.hypotheses.first_rule()
        proposals = self._closed.closures(window.x, window.y, window.chunks, nothing)
        index = self._draw(proposals.scores, draw)
        return None if index is None else self._closed.closed_rule(proposals, index)

    @cached_property
    def _closed(self) -> IntersectionClosed:
        return needed(self.hypotheses.intersection_closed)

    @property
    def _candidates_max(self) -> int:
        return self.parameters.chunks


class Teachers(_Sparse):
    """Each chunk proposes its essential rules (Lyu, Theorem 3).

    Stage j = 1, ..., d + 1 lists the essential rules of those that err on at most a share of
    tau_j = tolerance (1 - 1/(2d))^j of the chunk. It is the one to draw from if some rule is on
    half of all lists, by a noisy test; if no stage is, the window comes to bottom. Where all stages
    allow the same errors there is one stage and no test.

    The theorem takes (p_j, d)-essential rules for p_j = 2^j n d, and its proof serves for greater
    p_j as well. The classes list what is essential for every p that is large enough, so the lists
    of stage j are those for p_j = 2^j n d or more: `littled.planner.batch.paper.EssentialLists`.
    """

    def misfit(self) -> str | None:
        """Needs lists, and stage tests where the stages differ, as far as this is public."""
        if self.hypotheses.version_spaces is None:
            return f"{self.hypotheses.name} has no lists of essential rules"
        p = self.parameters
        if p.tolerance and p.user_examples_max is not None:
            differ = self._allowed(1, p.window) > 0  # a chunk may have any number of examples
        else:
            sizes = {p.window // p.chunks, -(-p.window // p.chunks)}
            differ = any(self._allowed(1, s) != self._allowed(self._stages, s) for s in sizes)
        if differ and p.stage_rate is None:
            return "lists that change from stage to stage need a stage_rate"
        if not differ and p.stage_rate is not None:
            return "all stages allow the same errors: leave out stage_rate"
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """Tests of the stages, if there are any, and a draw, as often as for closures."""
        p, times = self.parameters, self.parameters.user_windows_max
        tests = [StageTest(p.stage_rate)] * times if p.stage_rate is not None else []
        return (*tests, self._event(times))

    def precision_error(self) -> Fraction:
        """That of one draw and of all tests before it."""
        if self.parameters.stage_rate is None:
            return super().precision_error()
        one = sum((noise.total_variation for noise in self._noises), Fraction(0))
        return super().precision_error() + self._stages * one

    def select(self, window: Window, draw: Draw) -> Rule | None:
        """A rule of the first stage with a common one, or bottom."""
        parts = members_of_chunks(window.chunks, self.parameters.chunks)
        data = [(window.x.take(part, axis=0), window.y.take(part)) for part in parts]
        if self.parameters.stage_rate is None:
            return self._of_stage(self._votes(data, 1), draw)
        rho = self._threshold_noise(draw)
        for stage in range(1, self._stages + 1):
            votes = self._votes(data, stage)
            if self._above(max(votes.values(), default=0), rho, stage, draw):
                return self._of_stage(votes, draw)
        return None

    def _votes(self, data: list[DataSet], stage: int) -> Counter[Hashable]:
        """How many chunks list each rule."""
        return Counter(key for listed in self._lists(data, stage) for key in listed)

    def _lists(self, data: list[DataSet], stage: int) -> list[list[Hashable]]:
        """The list of each chunk.

        None is longer than its cap and none has a key twice, whatever the class says: Lemma B rests
        on it.
        """
        tolerance, cap = self._tolerance(stage), self.parameters.list_cap
        lists = (self._spaces.essential_list([chunk], tolerance, cap) for chunk in data)
        return [list(dict.fromkeys(listed[:cap])) for listed in lists]

    def _of_stage(self, votes: Counter[Hashable], draw: Draw) -> Rule | None:
        keys = sorted(votes, key=repr)
        index = self._draw(np.array([votes[key] for key in keys], dtype=np.int64), draw)
        return None if index is None else self._spaces.essential_rule(keys[index])

    @cached_property
    def _spaces(self) -> VersionSpaces:
        return needed(self.hypotheses.version_spaces)

    def _threshold_noise(self, draw: Draw) -> int:
        """The one noise on the threshold of all of a window's stage tests."""
        return self._noises[0].sample(draw.words("stage-threshold", DiscreteLaplace.WORDS))

    def _above(self, most: int, rho: int, stage: int, draw: Draw) -> bool:
        """Whether the largest number of lists that a rule is on, with fresh noise, is k/2 or more.

        The first stage that is ends the tests: Lemma C, for the queries with their signs turned.
        """
        nu = self._noises[1].sample(draw.words("stage-query", DiscreteLaplace.WORDS, stage))
        return 2 * (most + nu - rho) >= self.parameters.chunks

    @property
    def _stages(self) -> int:
        return self.hypotheses.littlestone_dimension + 1

    def _tolerance(self, stage: int) -> Fraction:
        dimension = max(self.hypotheses.littlestone_dimension, 1)
        return self.parameters.tolerance * (1 - Fraction(1, 2 * dimension)) ** stage

    def _allowed(self, stage: int, size: int) -> int:
        """Errors that a rule may have on so many examples."""
        return errors_allowed(self._tolerance(stage), size)

    @cached_property
    def _noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        """Of the threshold and of a query."""
        assert self.parameters.stage_rate is not None
        rate = self.parameters.stage_rate
        return DiscreteLaplace(rate / 2), DiscreteLaplace(rate / 4)

    @property
    def _candidates_max(self) -> int:
        return self.parameters.chunks * self.parameters.list_cap


class Boosted(Selection):
    """A scorecard from stumps, one for each round, by the exponential mechanism (`boosting`).

    A unit of e is what an example counts at the most, as it is for `Dense`: `RESIDUAL_STEPS` of a
    score.
    """

    def misfit(self) -> str | None:
        """Needs rules that add up points."""
        if self.hypotheses.additive is None:
            return f"{self.hypotheses.name} has no rules that add up points"
        return None

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """A draw for each round."""
        p = self.parameters
        return (DenseSelection(p.rate, p.rounds, p.accounting, p.user_examples_max or 0),)

    def precision_error(self) -> Fraction:
        """That of all draws of a window."""
        one = self._mechanism.total_variation(self._booster.candidates)
        return self.parameters.rounds * one

    def select(self, window: Window, draw: Draw) -> Rule:
        """One scorecard; never bottom."""
        # all at one address, so that whoever trains elsewhere asks for it once
        words = draw.words("select", ExponentialMechanism.WORDS * self.parameters.rounds)
        return self._booster.scorecard(
            window.x, window.y, lambda number, scores: self._stump(number, scores, words)
        )

    def _stump(self, number: int, scores: Scores, words: NDArray[np.uint64]) -> int:
        """The place of the stump that a round draws, by words of its own."""
        first = number * ExponentialMechanism.WORDS
        return self._mechanism.sample(scores, words[first : first + ExponentialMechanism.WORDS])

    @cached_property
    def _booster(self) -> Booster:
        p = self.parameters
        return Booster(needed(self.hypotheses.additive), p.rounds, p.step)

    @cached_property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.rate / RESIDUAL_STEPS)


_METHODS: dict[MethodName, type[Selection]] = {
    "dense": Dense,
    "histogram": Histogram,
    "proposals": Proposals,
    "closure": Closure,
    "teachers": Teachers,
    "boosted": Boosted,
}


def selection_of(hypotheses: HypothesisClass, parameters: BatchParameters) -> Selection:
    """The method that the parameters name; ValueError, one sentence, for what does not fit."""
    found = _METHODS[parameters.method](hypotheses, parameters)
    problem = found.misfit()
    if problem is not None:
        raise ValueError(problem)
    return found
