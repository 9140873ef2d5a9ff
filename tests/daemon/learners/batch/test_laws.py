"""What windows release against what they are charged: every sample, and all its neighbours.

Windows of four examples over a few points are enumerated completely (`support.window_laws`): for no
two samples that differ in one example does the law of the release exceed the epsilon and delta of
the learner's own events. The tables also say by what factor a claim may exceed the truth.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from littled.budget.prices import price
from littled.budget.rounding import exp_upper
from littled.classes.base import DataSet, Scores
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, BatchParameters, BatchState, boosting, methods
from littled.learners.batch.boosting import residuals
from littled.learners.batch.methods import (
    Boosted,
    Dense,
    Draw,
    Histogram,
    Selection,
    Teachers,
    Window,
    selection_of,
)
from littled.learners.contract import Place, Published, Step
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.rules import Rule
from support.enumeration import Renyi
from support.learning import HEAD
from support.outcomes import ONE, Outcomes
from support.small_classes import Cubes
from support.window_laws import Labelled, Law, Sample, WindowCase, every_example
from support.window_variants import Remembering, Uncapped

F = Fraction
THREE, FOUR, ONE_POINT = range(3), range(4), range(1)
DENSE = BatchParameters(method="dense", epsilon=F(8), horizon=4, window=4, rate=F(3, 4))
HISTOGRAM = replace(DENSE, method="histogram", rate=F(1), bottom_score=2)
VETOES = replace(HISTOGRAM, noise_rate=F(1, 10))
PROPOSALS = replace(DENSE, method="proposals", rate=F(4), bottom_score=3, list_cap=3)
CLOSURE = replace(DENSE, method="closure", rate=F(4), bottom_score=2, list_cap=1, chunks=4)
TEACHERS = replace(CLOSURE, method="teachers", list_cap=4)
BOOSTED = replace(DENSE, method="boosted", rate=F(3), rounds=2, step=4)
LARGE_STEPS = replace(BOOSTED, rounds=3, step=600)
# Of two examples a chunk one may be wrong at the stages 1 and 2, and none at stage 3.
STAGES = replace(
    TEACHERS, rate=F(2), chunks=2, tolerance=F(9, 10), stage_rate=F(16), accounting="pure"
)


@dataclass(frozen=True)
class Talkative(Cubes):
    """Who has an example with label 1 offers more rules than may be, and one of them twice."""

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        offered: list[Hashable] = [frozenset({point}) for point in (1, 1, 2, 3, 0)]
        return offered if any(y.any() for _, y in data_sets) else []


def of(name: str | HypothesisClass, parameters: BatchParameters) -> BatchLearner:
    """The learner of a class."""
    hypotheses = class_from_name(name) if isinstance(name, str) else name
    return BatchLearner("s/l", hypotheses, parameters)


def in_any_order(chunks: int, sample: Sample) -> Sample:
    """Samples that differ in the order of chunks, or of examples in one, come to the same one.

    Without chunks: in the order of the examples.
    """
    parts = sorted(tuple(sorted(sample[chunk::chunks])) for chunk in range(chunks))
    return tuple(each for examples in zip(*parts, strict=True) for each in examples)


def laws_of(case: WindowCase) -> dict[Sample, Law]:
    """The laws of all samples, of those that differ in their order alone once."""
    chunks = case.learner._chunks
    canonical: Callable[[Sample], Sample] = partial(in_any_order, chunks or 1)
    return case.laws(canonical)


# The learner; its points; by what factors the claimed epsilon and delta may exceed the truth.
CASES: dict[str, tuple[BatchLearner, Sequence[Any], float, float]] = {
    "dense, thresholds": (of("thresholds:3", DENSE), THREE, 1.05, 0),
    "dense, conjunctions": (of("conjunctions:2", replace(DENSE, rate=F(2))), FOUR, 1.05, 0),
    # half of delta's share of the outcomes shows the other half of epsilon
    "histogram, points": (of("points:2", HISTOGRAM), FOUR, 1.6, 1.001),
    "histogram, vetoes": (of("points:2", VETOES), FOUR, 1.35, 1.001),
    "histogram, sets": (of("sparse_sets:2:2", HISTOGRAM), FOUR, 1.6, 1.001),
    "proposals": (of("prefixes:2", PROPOSALS), FOUR, 1.01, 1.51),
    "closure, affine": (of("affine:2:1", CLOSURE), FOUR, 1.2, 1.02),
    # with two chunks no two candidates are on enough lists to exceed bottom
    "closure, two chunks": (of("conjunctions:2", replace(CLOSURE, chunks=2)), FOUR, 2.6, 1.02),
    "teachers, thresholds": (of("thresholds:3", TEACHERS), THREE, 1.1, 0),
    "teachers, two chunks": (of("thresholds:3", replace(TEACHERS, chunks=2)), THREE, 2.0, 0),
    "teachers, points": (of("points:2", replace(TEACHERS, list_cap=1)), FOUR, 1.2, 1.1),
    "teachers, prefixes": (of("prefixes:2", replace(TEACHERS, bottom_score=3)), FOUR, 0, 0),
    "teachers, stages": (of("thresholds:3", STAGES), THREE, 0, 0),
    "teachers, stages of points": (of("points:2", replace(STAGES, chunks=1)), range(3), 0, 0),
    # after steps of a few points nothing is decided, and residuals are as large as before
    "boosted, small steps": (of("scorecard:2", BOOSTED), range(2), 1.02, 0),
    # after large ones residuals are 0, or as large as they may be
    "boosted, large steps": (of("scorecard:2", LARGE_STEPS), range(2), 1.45, 0),
    "boosted, two columns": (
        of("scorecard:2x2c", replace(BOOSTED, step=110)), ((0, 0), (1, 0), (1, 1)), 0, 0
    ),
    # the two that are left are one and the same
    "teachers, lists that are too long": (
        of(Talkative(2), replace(TEACHERS, bottom_score=3, list_cap=2)), ONE_POINT, 0, 2.1
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_window_costs_what_it_is_charged(name: str) -> None:
    learner, points, factor, delta_factor = CASES[name]
    case = WindowCase(learner, points, tail_bits=10 if "stages" in name else 24)
    case.check(laws_of(case), factor, delta_factor)


@pytest.mark.parametrize("name", ["dense, thresholds", "teachers, two chunks", "proposals"])
def test_laws_do_not_depend_on_the_order_of_chunks_or_of_their_examples(name: str) -> None:
    learner, points, _, _ = CASES[name]
    case = WindowCase(learner, points)
    for sample in list(product(every_example(points), repeat=4))[::97]:
        assert case.law(sample) == case.law(in_any_order(learner.parameters.chunks or 1, sample))


@pytest.mark.parametrize(
    "name", ["dense, thresholds", "histogram, points", "proposals", "boosted, large steps"]
)
def test_a_window_booked_as_zcdp_costs_what_that_converts_to(name: str) -> None:
    learner, points, _, _ = CASES[name]
    booked = replace(learner, parameters=replace(learner.parameters, accounting="zcdp"))
    case = WindowCase(booked, points, delta_z=F(1, 50))
    case.check(laws_of(case), 0)


# --- stage tests ----------------------------------------------------------------------------------

SegmentLaw = dict[tuple[bool, ...], Fraction]


class PlainQuery(Teachers):
    """Draws noise for the threshold of the stage tests, and none for the queries."""

    def _above(self, most: int, rho: int, stage: int, draw: Draw) -> bool:
        return 2 * (most - rho) >= self.parameters.chunks


def segment_law(selection: Teachers, most: Sequence[int]) -> tuple[SegmentLaw, Fraction]:
    """Of the tests of these queries, to the first Above; and what values left out come to."""
    outcomes, law = Outcomes(12), SegmentLaw()

    def run() -> tuple[bool, ...]:
        outcomes.noise.begin(3, {})
        draw = Draw(outcomes.noise, Address(HEAD, "s/l", "select", 3))
        rho = selection._threshold_noise(draw)
        said = list[bool]()
        while len(said) < len(most) and not any(said):
            stage = len(said) + 1
            said.append(selection._above(most[stage - 1], rho, stage, draw))
        return tuple(said)

    for told, mass in outcomes.all(run):
        law[told] = law.get(told, Fraction(0)) + Fraction(mass, ONE)
    return law, Fraction(outcomes.tails, ONE)


@pytest.mark.parametrize("kind", [Teachers, PlainQuery])
def test_stage_tests_cost_their_rate_once(kind: type[Teachers]) -> None:
    """Queries near k/2 that change by 1 in any direction, however many stages are tested."""
    rate, near = F(6), (4, 5, 6)
    selection = kind(
        class_from_name("thresholds:3"),
        replace(STAGES, window=20, horizon=20, chunks=10, stage_rate=rate),
    )
    laws = {most: segment_law(selection, most) for most in product(near, repeat=3)}
    ratio, worst = exp_upper(rate), Fraction(0)
    for (here, (law, tails)), (there, (other, _)) in product(laws.items(), repeat=2):
        if all(abs(a - b) <= 1 for a, b in zip(here, there, strict=True)):
            beyond = (p - ratio * other.get(said, 0) for said, p in law.items())
            worst = max(worst, sum((each for each in beyond if each > 0), -tails))
    assert (worst > 0) == (kind is not Teachers)


# --- two windows ----------------------------------------------------------------------------------


PAIRS = replace(DENSE, horizon=4, window=2, rate=F(2))


def two_windows(kind: type[BatchLearner]) -> dict[Sample, Law]:
    """For all samples of two windows of two examples the law of the second release."""
    case = WindowCase(kind("s/l", class_from_name("thresholds:1"), PAIRS), ONE_POINT)
    return {s: case.law(s) for s in product(every_example(ONE_POINT), repeat=4)}


def test_a_window_knows_nothing_of_the_one_before() -> None:
    """So an example of the first window decides nothing about the second one's release."""
    laws = two_windows(BatchLearner)
    assert all(law == laws[(*sample[2:], *sample[2:])] for sample, law in laws.items())


# --- users ----------------------------------------------------------------------------------------

USERS = replace(PAIRS, rate=F(1), user_examples_max=1)
# Who has given enough before the windows that are compared.
SPENT = 3
OTHERS = 100


@dataclass(frozen=True)
class UserCase:
    """Two windows in which one user has these positions, against somebody else at the same ones.

    The adversary chooses the user's examples on either side, those of the second window knowing
    what the first has released. On the other side they may be another user's, the same user's, or
    those of somebody who has given all that counts in an earlier window: then nothing of them is
    learned from, as if there were no such user.
    """

    learner: BatchLearner
    positions: Sequence[int]
    word: int = 0

    def worst(self) -> Fraction:
        """The largest hockey-stick divergence at the claimed epsilon, less the claimed delta."""
        sides = [Side(self, user) for user in (1, 2, SPENT)]
        pairs = ((sides[0], other) for other in sides)
        both = {pair for here, there in pairs for pair in ((here, there), (there, here))}
        epsilon, delta = WindowCase(self.learner, ONE_POINT).claim
        ratio = exp_upper(epsilon)
        return max(self._of_sides(*pair, ratio) for pair in both) - delta

    def _of_sides(self, here: "Side", there: "Side", ratio: Fraction) -> Fraction:
        """The best that an adversary does with the user's examples on these two sides."""
        worst = 0
        for left, right in self._alike(here.windows[0], there.windows[0]):
            ours, theirs = here.law(left), there.law(right)
            value = 0
            for released, mass in ours.items():
                other = theirs.get(released, 0)
                value += max(
                    hockey_stick(here.law(left, a, released), there.law(right, b, released),
                                 mass, other, ratio)
                    for a, b in self._alike(here.windows[1], there.windows[1])
                )  # fmt: skip
            worst = max(worst, value)
        return Fraction(worst, ONE**2 * ratio.denominator)

    def windows(self, user: int, positions: Sequence[int]) -> list[Sample]:
        """Every window with these positions, the user's being this user's."""
        choices = [
            [
                Labelled(x, y, *((user, self.word) if at in self.positions else (OTHERS + at, 1)))
                for x, y in ((0, 0), (0, 1))
            ]
            for at in positions
        ]
        return list(product(*choices))

    @staticmethod
    def _alike(left: list[Sample], right: list[Sample]) -> list[tuple[Sample, Sample]]:
        """Pairs of windows in which all that is others' is the same."""
        return [
            (one, two)
            for one, two in product(left, right)
            if all(a == b for a, b in zip(one, two, strict=True) if a.user >= OTHERS)
        ]


class Side:
    """One side: its windows, and the laws of their releases, found out when they are asked for."""

    def __init__(self, case: UserCase, user: int) -> None:
        self.windows = case.windows(user, (0, 1)), case.windows(user, (2, 3))
        self._before = (Labelled(0, 1, SPENT, case.word),) * 2
        self._case = WindowCase(case.learner, ONE_POINT)
        self._known: dict[Any, Law] = {}

    def law(self, first: Sample, second: Sample = (), published: Rule | None = None) -> Law:
        """Of the last of these windows, after one in which `SPENT` gives enough."""
        key = first, second, published
        if key not in self._known:
            self._known[key] = self._case.law((*self._before, *first, *second), published)
        return self._known[key]


def hockey_stick(here: Law, there: Law, ours: int, theirs: int, ratio: Fraction) -> int:
    """Of two laws with these probabilities of what was released before them.

    In units of 1 / ONE^2 over the ratio's denominator.
    """
    ours, theirs = ours * ratio.denominator, theirs * ratio.numerator
    return sum(max(0, ours * mass - theirs * there.get(rule, 0)) for rule, mass in here.items())


def user_learner(**changes: Any) -> BatchLearner:
    """A window of two examples, and three windows a season."""
    parameters = replace(USERS, horizon=6, **changes)
    return of("scorecard:2" if parameters.rounds else "thresholds:1", parameters)


SPARSE_USERS = {"method": "teachers", "chunks": 2, "list_cap": 2, "rate": F(2)}
BOOSTED_USERS: dict[str, Any] = {"method": "boosted", "rate": F(1), "rounds": 2, "step": 600}
USER_CASES: dict[str, UserCase] = {
    "dense, one example": UserCase(user_learner(), (0,)),
    "dense, one of each window": UserCase(user_learner(), (0, 2)),
    "dense, everything": UserCase(user_learner(), (0, 1, 2, 3)),
    "dense, two of each window": UserCase(user_learner(user_examples_max=2), (0, 1, 2, 3)),
    "dense, two": UserCase(user_learner(user_examples_max=2), (0, 2)),
    "boosted, one of each window": UserCase(
        user_learner(**BOOSTED_USERS, user_examples_max=2), (0, 2)
    ),
    "boosted, two of one window": UserCase(
        user_learner(**BOOSTED_USERS, user_examples_max=2), (0, 1)
    ),
    "boosted, everything": UserCase(user_learner(**BOOSTED_USERS), (0, 1, 2, 3)),
    "teachers, one of each window": UserCase(
        user_learner(**SPARSE_USERS, bottom_score=2, user_examples_max=2), (0, 2)
    ),
    "teachers, two of one window": UserCase(
        user_learner(**SPARSE_USERS, bottom_score=2, user_examples_max=2), (0, 1)
    ),
    "teachers, everything": UserCase(
        user_learner(**SPARSE_USERS, bottom_score=3, user_examples_max=2), (0, 1, 2, 3), 1
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", USER_CASES)
def test_all_that_one_user_gives_costs_what_it_is_charged(name: str) -> None:
    assert USER_CASES[name].worst() <= Fraction(1, 1 << 100)


# --- variants that must be caught -----------------------------------------------------------------


class HalfTheNoise(Dense):
    """Draws at twice the rate that it books."""

    @property
    def _mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(2 * self.parameters.rate)


class MoreRounds(Boosted):
    """Draws in one round more than it books."""

    def season_events(self) -> Any:
        event: Any = super().season_events()[0]
        return (replace(event, draws=self.parameters.rounds - 1),)


class CountedTwice(Boosted):
    """Counts an example in two cells of a column."""

    def _stump(self, number: int, scores: Scores, words: Any) -> int:
        return super()._stump(number, 2 * scores, words)


class VetoesForNothing(Histogram):
    """Lets examples veto that are booked as if they did not."""

    def season_events(self) -> Any:
        event: Any = super().season_events()[0]
        return (replace(event, change=1),)


class LongLists(Teachers):
    """Takes lists as they come."""

    def _lists(self, data: list[DataSet], stage: int) -> list[list[Hashable]]:
        cap = self.parameters.list_cap
        spaces = needed(self.hypotheses.version_spaces)
        return [spaces.essential_list([chunk], F(0), cap) for chunk in data]


class Sorted(BatchLearner):
    """Splits the sorted examples into equal parts, so that one example moves others."""

    def _window(self, state: BatchState, noise: NoiseSource) -> Window:
        window, count = super()._window(state, noise), len(state.pieces[0][1])
        ranks = np.empty(count, dtype=np.int64)
        ranks[np.lexsort((window.y, window.x))] = np.arange(count)
        return replace(window, chunks=ranks * self.parameters.chunks // count)


class Silent(BatchLearner):
    """Draws nothing from a window without a single example."""

    def _train(self, state: BatchState, place: Place, noise: NoiseSource) -> Step[BatchState]:
        step = super()._train(state, place, noise)
        if any(len(y) for _, y, _ in state.pieces):
            return step
        kept = replace(step.state, rule=state.rule)
        (effect,) = step.effects
        assert isinstance(effect, Published)
        return replace(step, state=kept, effects=(replace(effect, rule=state.rule),))


FAULTS: dict[str, tuple[type[Selection], str | HypothesisClass, BatchParameters, Any]] = {
    "half the noise": (HalfTheNoise, "thresholds:3", DENSE, THREE),
    "a round that is not booked": (MoreRounds, "scorecard:2", BOOSTED, range(2)),
    "examples in two cells": (CountedTwice, "scorecard:2", BOOSTED, range(2)),
    "lists that are too long": (
        LongLists, Talkative(2), replace(TEACHERS, bottom_score=3, list_cap=2), ONE_POINT
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_exceed_what_is_charged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, hypotheses, parameters, points = FAULTS[name]
    monkeypatch.setitem(methods._METHODS, parameters.method, kind)
    case = WindowCase(of(hypotheses, parameters), points)
    assert case.exceeds(laws_of(case))


@pytest.mark.long
def test_residuals_without_a_limit_exceed_what_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what is decided is wrong a whole example counts, not half of one."""

    def unlimited(scores: Any, y: Any) -> Any:
        found = residuals(scores, y)
        against = np.where(y == 1, scores, -scores) < 0
        return np.where(against, 2 * found, found)

    monkeypatch.setattr(boosting, "residuals", unlimited)
    case = WindowCase(of("scorecard:2", LARGE_STEPS), range(2))
    assert case.exceeds(laws_of(case))


def test_vetoes_that_are_not_paid_for_exceed_what_is_charged() -> None:
    """Pure prices are the same with vetoes and without: it is zCDP that is another."""
    learner = of("points:1", replace(VETOES, accounting="zcdp", rate=F(1, 4)))
    unpaid = VetoesForNothing(learner.hypotheses, learner.parameters)
    case = WindowCase(learner, range(2))
    laws, reached = laws_of(case), 0.0
    for order, (here, there) in product((1.1, 2.0, 4.0), case.neighbours(laws)):
        if here.keys() == there.keys():
            renyi = Renyi(order)
            value = sum(renyi.of(mass, there[rule]) for rule, mass in here.items())
            reached = max(reached, renyi.divergence(value) / order)
    (paid,), (less,) = (
        [float(price(event).rho) for event in each.season_events()]
        for each in (selection_of(learner.hypotheses, learner.parameters), unpaid)
    )
    assert 1.5 * less < reached <= paid


@pytest.mark.long
@pytest.mark.parametrize("kind", [BatchLearner, Sorted])
def test_a_split_that_moves_other_examples_exceeds_what_is_charged(kind: Any) -> None:
    parameters = replace(TEACHERS, list_cap=1, chunks=2)
    case = WindowCase(kind("s/l", class_from_name("points:2"), parameters), THREE)
    # sorted examples come to the same in any order
    canonical = partial(in_any_order, 1 if kind is Sorted else 2)
    assert case.exceeds(case.laws(canonical)) == (kind is Sorted)


def test_examples_of_an_earlier_window_are_noticed() -> None:
    laws = two_windows(Remembering)
    assert any(law != laws[(*sample[2:], *sample[2:])] for sample, law in laws.items())


class ByPosition(BatchLearner):
    """Deals out the examples of one user to several chunks."""

    def _window(self, state: BatchState, noise: NoiseSource) -> Window:
        window = super()._window(state, noise)
        return replace(window, chunks=np.arange(len(window.y)) % self.parameters.chunks)


@pytest.mark.parametrize("kind", [BatchLearner, ByPosition])
def test_a_user_in_several_chunks_exceeds_what_is_charged(kind: Any) -> None:
    parameters = replace(user_learner(**SPARSE_USERS, bottom_score=2).parameters, horizon=2)
    more = replace(parameters, rate=F(4), user_examples_max=2)
    case = WindowCase(kind("s/l", class_from_name("thresholds:1"), more), ONE_POINT)
    epsilon, delta = case.claim
    laws = [
        case.law([Labelled(0, y, user=1, word=1) for y in labels])
        for labels in product((0, 1), repeat=2)
    ]
    beyond = [case.beyond(a, b, epsilon, upper=False) for a, b in product(laws, repeat=2)]
    assert (max(beyond) > delta) == (kind is ByPosition)


USER_FAULTS: dict[str, tuple[type[BatchLearner], str]] = {
    "users counted anew in each window": (Uncapped, "dense, one of each window"),
    "nothing drawn from empty windows": (Silent, "dense, everything"),
}


@pytest.mark.parametrize("name", USER_FAULTS)
def test_planted_faults_exceed_what_users_are_charged(name: str) -> None:
    kind, case = USER_FAULTS[name]
    found = USER_CASES[case]
    faulty = kind("s/l", found.learner.hypotheses, found.learner.parameters)
    assert replace(found, learner=faulty).worst() > 0
