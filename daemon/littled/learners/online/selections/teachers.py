"""Sparse selection with k teachers: Algorithm 4 of Lyu, over lists of essential hypotheses.

A plan that the planner chooses has `Teachers`: no stage test, and bottom counts as Below. The
stage tests of the paper (`StagedTeachers`) are for the laboratory: only paper mode has them.

Where Algorithm 4 is silent:

- *No stage left* (j* > d + 1, after d + 1 Belows): no test, no draw; calls keep the rule and are
  charged as priced. Without stage tests the last stage stays.
- *Empty lists*, of one teacher or of all of them (a teacher without examples, data that contradict
  every hypothesis): whoever proposes nothing adds no score; with no candidate at all a draw is
  bottom, and uses up its noise all the same.
- *Bottoms among R draws*: a bottom has no vote. If most draws are bottom the call keeps the rule
  (and without stage tests counts as Below); else the majority of the others is published, which is
  0 where as many say 0 as 1.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import CohenLyuStageTest, PrivacyEvent, StageTest
from littled.classes.base import DataSet, errors_allowed
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import INTEGER_BYTES
from littled.learners.contract import Place
from littled.learners.online.buffer import Buffer
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.selections.base import Load, Work, sparse_event
from littled.learners.online.selections.proposals import SparseDraws
from littled.learners.online.state import OnlineState
from littled.learners.users import user_numbers
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled_protocol.rules import Rule

# The last essential list of each teacher, with the errors it allowed on each of its data sets.
Lists = dict[int, tuple[tuple[int, ...], list[Hashable]]]

# Of the process in which the lists of teachers are made (`littled.service.training`).
PROCESS_BYTES = 50_000_000
# Kept examples in the learner, in one column, in a snapshot and a pipe, and in the other process.
ROW_COPIES_PROCESS = 9
# Of what one teacher has of one epoch: two views and what holds them.
SHARE_BYTES = 350
# A key on a list, among the votes and in the order of candidates, beside the key itself.
KEY_BYTES = 300


@dataclass(frozen=True)
class Teachers(SparseDraws):
    """Teachers with lists, and no stage test: bottom is taken as Below."""

    @property
    def teachers(self) -> int:
        """How many there are: k."""
        assert self.parameters.teachers is not None
        return self.parameters.teachers

    @property
    def words(self) -> str:
        """How many teachers."""
        return f"{self.teachers} teachers"

    def wrong(self) -> Iterator[str]:
        """Fresh selections, which nobody has shown to be of use here."""
        yield from super().wrong()
        if self.parameters.fresh:
            yield "fresh needs selections without essential lists"

    def misfits(self, hypotheses: HypothesisClass) -> Iterator[str]:
        """A class without essential lists."""
        if hypotheses.version_spaces is None:
            yield f"{hypotheses.name} has no version spaces; use dense"

    def event(self, epochs: int = 1) -> PrivacyEvent:
        """The draws of the sparse sampling, in each epoch."""
        return sparse_event(self.parameters, self.parameters.draws * epochs)

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """Algorithm 4 at the present stage.

        A call that ends in bottom is taken as Below: the stage advances for the next call, at no
        further cost.
        """
        votes = self._votes(hypotheses, state, {})
        rule = self._drawn_rule(hypotheses, votes, place, noise)
        if rule is None:
            state = replace(state, stage=min(state.stage + 1, stages(hypotheses)))
        return state, rule

    def _votes(
        self, hypotheses: HypothesisClass, state: OnlineState, known: Lists
    ) -> Counter[Hashable]:
        """On how many lists each essential hypothesis is, at the present stage."""
        lists = self._lists(hypotheses, state, known)
        # no longer than its cap and no key twice, whatever the class says: Lemma B rests on it
        return Counter(
            key for found in lists for key in dict.fromkeys(found[: self.parameters.list_cap])
        )

    def _lists(
        self, hypotheses: HypothesisClass, state: OnlineState, known: Lists
    ) -> Iterator[list[Hashable]]:
        """Lists L_1..L_k of essential hypotheses at the present stage (Algorithm 4, lines 3-6).

        `known` holds those of the stage before in this call. A version space depends on the
        tolerance only through the errors that it allows on each data set; from one stage to the
        next these change for few teachers, and they never rise again.
        """
        spaces = needed(hypotheses.version_spaces)
        dimension = max(hypotheses.littlestone_dimension, 1)
        tolerance = Fraction(1, 10) * (1 - Fraction(1, 5 * dimension)) ** state.stage
        shares = [_split(epoch, self.teachers) for epoch in state.archive]
        for teacher, data_sets in enumerate(zip(*shares, strict=True)):
            allowed = tuple([errors_allowed(tolerance, len(y)) for _, y in data_sets])
            if teacher not in known or known[teacher][0] != allowed:
                cap = self.parameters.list_cap
                known[teacher] = allowed, spaces.essential_list(data_sets, tolerance, cap)
            yield known[teacher][1]

    def _drawn_rule(
        self,
        hypotheses: HypothesisClass,
        votes: Counter[Hashable],
        place: Place,
        noise: LearnerNoise,
    ) -> Rule | None:
        """The majority of the draws among everything that is on a list."""
        keys = sorted(votes, key=repr)
        scores = np.array([votes[key] for key in keys], dtype=np.int64)
        drawn = self._drawn(scores, place, noise)
        spaces = needed(hypotheses.version_spaces)
        return self._majority([spaces.essential_rule(keys[index]) for index in drawn])

    @property
    def lists_by_teacher(self) -> bool:
        """It does."""
        return True

    def candidates_max(self, hypotheses: HypothesisClass, examples: int) -> int:
        """As many as all lists hold."""
        return self.teachers * self.parameters.list_cap

    def work(self, hypotheses: HypothesisClass, load: Load) -> Work:
        """One unit for what each teacher has of each epoch."""
        return Work(teachers=self.teachers, epochs=load.epochs)

    def memory_bytes(self, hypotheses: HypothesisClass, load: Load) -> int:
        """Of what is kept, of all lists, and of the version space of one teacher at a time."""
        p, epochs = self.parameters, load.epochs
        own = examples_of_one_teacher(load.rows, self.teachers, p.user_examples_max or 1)
        keys, spaces = self.teachers * p.list_cap, needed(hypotheses.version_spaces)
        return (
            PROCESS_BYTES
            + self._rows_bytes(hypotheses, load.rows, ROW_COPIES_PROCESS)
            + load.rows * INTEGER_BYTES
            + self.teachers * epochs * SHARE_BYTES
            + keys * (KEY_BYTES + spaces.key_bytes(own))
            + spaces.space_bytes(own, epochs)
        )


@dataclass(frozen=True)
class StagedTeachers(Teachers):
    """Algorithm 4 with its stage tests; for the laboratory."""

    def _wrong_stages(self) -> Iterator[str]:
        return iter(())

    @property
    def _rate(self) -> Fraction:
        assert self.parameters.stage_rate is not None
        return self.parameters.stage_rate

    @property
    def _has_fresh_noise(self) -> bool:
        return self.parameters.tests == "cohen_lyu"

    def season_events(self, hypotheses: HypothesisClass) -> list[PrivacyEvent]:
        """One segment of the stage test ends at each Below; d + 1 segments at the most."""
        segment: PrivacyEvent = StageTest(rate=self._rate)
        if self._has_fresh_noise:
            segment = CohenLyuStageTest(rate=self._rate, failure=self.parameters.tests_failure)
        return [segment] * stages(hypotheses)

    def precision_error(self, hypotheses: HypothesisClass) -> Fraction:
        """That of all draws and of all tests of a season."""
        return super().precision_error(hypotheses) + self._tests_precision_error(
            self.parameters.calls_max + stages(hypotheses)
        )

    def _tests_precision_error(self, tests: int) -> Fraction:
        if self._has_fresh_noise:
            return self._fresh_test.precision_error(tests)
        return tests * sum((noise.total_variation for noise in self._noises), Fraction(0))

    def select(
        self, hypotheses: HypothesisClass, state: OnlineState, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, Rule | None]:
        """Algorithm 4: the stage advances until its test says Above."""
        known: Lists = {}
        while state.stage <= stages(hypotheses):
            votes = self._votes(hypotheses, state, known)
            most = max(votes.values(), default=0)
            state, above = self._stage_test(state, most, place, noise)
            if above:
                return state, self._drawn_rule(hypotheses, votes, place, noise)
            state = replace(state, stage=state.stage + 1)
        return state, None

    def _stage_test(
        self, state: OnlineState, most: int, place: Place, noise: LearnerNoise
    ) -> tuple[OnlineState, bool]:
        """Algorithm 4, line 8: is some hypothesis on more than 4k/5 lists? Halts on Below."""
        if self._has_fresh_noise:
            gap = 4 * self.teachers // 5 + 1 - most
            words = noise.source.words(noise.address(place, "stage-query", state.stage), 1)
            above = self._fresh_test.first_above(np.array([gap], dtype=np.int64), words)
            return state, above is not None
        for_threshold, for_query = self._noises
        rho = state.stage_noise
        if rho is None:
            address = noise.address(place, "stage-threshold", state.stage)
            rho = for_threshold.sample(noise.source.words(address, DiscreteLaplace.WORDS))
        address = noise.address(place, "stage-query", state.stage)
        nu = for_query.sample(noise.source.words(address, DiscreteLaplace.WORDS))
        above = 5 * (most + nu - rho) > 4 * self.teachers
        return replace(state, stage_noise=rho if above else None), above

    @cached_property
    def _noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        return DiscreteLaplace(self._rate / 2), DiscreteLaplace(self._rate / 4)

    @cached_property
    def _fresh_test(self) -> CohenLyuTest:
        return CohenLyuTest(self._rate)


def stages(hypotheses: HypothesisClass) -> int:
    """Stages of Algorithm 4 for a class of Littlestone dimension d: d + 1."""
    return hypotheses.littlestone_dimension + 1


def teachers_of(archive: Sequence[Buffer], teachers: int | None) -> NDArray[np.int64] | None:
    """The teacher of each example that a season has kept; None: each is one of its own.

    Without a number of teachers a user is a teacher with all of their examples.
    """
    if teachers is not None:
        return _numbers(np.concatenate([epoch.teacher for epoch in archive]), teachers)
    users = [epoch.users for epoch in archive if epoch.users is not None]
    return user_numbers(np.concatenate(users)) if users else None


def _numbers(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
    """The teacher of each position: its secret word modulo k (Algorithm 3, line 19).

    The paper splits E into equal parts; that would move other examples when one is added, so the
    teacher of a position is fixed by its word alone.
    """
    return (words % np.uint64(teachers)).astype(np.int64)


def _split(epoch: Buffer, teachers: int) -> list[DataSet]:
    """One data set a teacher, of an epoch's examples."""
    teacher = _numbers(epoch.teacher, teachers)
    order = np.argsort(teacher, kind="stable")
    cuts = np.searchsorted(teacher[order], np.arange(teachers + 1))
    x, y = epoch.x[order], epoch.y[order]
    return [(x[a:b], y[a:b]) for a, b in pairwise(cuts.tolist())]


def examples_of_one_teacher(examples: int, teachers: int, of_a_user: int = 1) -> int:
    """Most examples that secret words give to one of k teachers, except with a chance below 2^-64.

    m + t or more, with m = examples / k the mean, come to one teacher with probability at most
    exp(-t^2 / (2m + 2t/3)), by Chernoff's bound; whoever chooses the examples does not know the
    words. With t = 10 sqrt(m) + 100 that is below exp(-49) for every m. Where up to c examples of a
    user have one word, it is so for m / c and t / c.
    """
    mean = -(-examples // teachers)
    return min(examples, mean + 10 * math.isqrt(mean * of_a_user) + 100 * of_a_user)
