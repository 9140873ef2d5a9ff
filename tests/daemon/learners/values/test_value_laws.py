"""Values of windows against what they are charged: every sample of a few examples, all neighbours.

Windows over a few numbers or items are enumerated completely (`support.window_laws`), every outcome
of every draw: for no two samples that differ in one example does the law of the release exceed the
epsilon and delta of the learner's own events. The tables also say by what factor a claim may exceed
the truth. The same windows with planted faults exceed it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.prices import price
from littled.classes.integers import Integers
from littled.classes.names import class_from_name
from littled.learners.batch.learner import WindowLearner
from littled.learners.batch.methods import Draw, Window
from littled.learners.minimum import MinimumLearner, MinimumParameters
from littled.learners.minimum.draws import Exponential, Stable, draw_of
from littled.learners.most_frequent import MostFrequentLearner, MostFrequentParameters
from littled.learners.most_frequent.draws import Stable as StableItems
from littled.mechanisms.noise import Address, KeyedNoise
from littled_protocol.rules import AtLeastRule, PointsRule, Rule
from support.learning import HEAD
from support.window_laws import Labelled, Law, Sample, WindowCase

F = Fraction
FOUR = range(4)
SINCE = MinimumParameters("exponential", F(8), 3, 3, F(1), rank=2)
SINCE_STABLE = MinimumParameters(
    "stable", F(8), 4, 4, F(1, 2), rank=2, span=2, length_rate=F(1, 2), prefix_rate=F(3),
    bottom_score=2, least_count=1,
)  # fmt: skip
WHICH = MostFrequentParameters("exponential", F(8), 3, 3, F(1))
WHICH_STABLE = MostFrequentParameters("stable", F(8), 3, 3, F(3), bottom_score=2)


def minimum(parameters: MinimumParameters, bits: int = 2) -> MinimumLearner:
    return MinimumLearner("s/l", Integers(bits), parameters)


def items(parameters: MostFrequentParameters, name: str = "points:2") -> MostFrequentLearner:
    return MostFrequentLearner("s/l", class_from_name(name), parameters)


def in_any_order(sample: Sample) -> Sample:
    """Samples that differ in order, or in points with label 0, are one and the same."""
    return tuple(sorted(each if each.y else Labelled(0, 0) for each in sample))


# The learner; by what factors the claimed epsilon and delta may exceed the truth; 0: any.
CASES: dict[str, tuple[WindowLearner, float, float]] = {
    "minimum": (minimum(SINCE), 1.35, 0),
    "minimum, first of few": (minimum(replace(SINCE, rank=1)), 1.35, 0),
    "minimum, all of them": (minimum(replace(SINCE, rank=3)), 2.1, 0),
    "minimum, stable": (minimum(SINCE_STABLE), 1.8, 0),
    "most frequent": (items(WHICH), 1.25, 0),
    "most frequent, stable": (items(WHICH_STABLE), 2.15, 1.1),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value_costs_what_it_is_charged(name: str) -> None:
    learner, factor, delta_factor = CASES[name]
    case = WindowCase(learner, FOUR)
    case.check(case.laws(in_any_order), factor, delta_factor)


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_examples_does_not_matter(name: str) -> None:
    learner, _, _ = CASES[name]
    case = WindowCase(learner, FOUR)
    every = [Labelled(x, y) for x in (0, 2, 3) for y in (0, 1)]
    for sample in list(product(every, repeat=learner.parameters.window))[::101]:
        assert case.law(sample) == case.law(in_any_order(sample))


# --- the law itself, in the plainest way ----------------------------------------------------------


def plain_distance(numbers: Sequence[int], target: int, window: int, number: int) -> int:
    """How far a number is from having `target` examples up to it; 4 stands for never."""
    upto = window if number == 4 else sum(x <= number for x in numbers)
    return max(0, target - upto, sum(x < number for x in numbers) - target)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_minimum_has_the_law_of_the_definition(rank: int) -> None:
    learner = minimum(replace(SINCE, rank=rank))
    case = WindowCase(learner, FOUR)
    for numbers in [(), (0,), (3,), (1, 1), (0, 3), (2, 2, 2), (0, 1, 3), (3, 3, 0)]:
        sample = tuple(Labelled(x, 1) for x in numbers) + (Labelled(0, 0),) * (3 - len(numbers))
        distances = [plain_distance(numbers, rank, 3, number) for number in range(5)]
        assert min(distances) == 0
        weights = [np.exp(-float(d)) for d in distances]
        law: Law = case.law(sample)
        for number, weight in enumerate(weights):
            rule = AtLeastRule(2, None if number == 4 else number)
            assert law[rule] / 2**160 == pytest.approx(weight / sum(weights))


def test_a_most_frequent_item_has_the_law_of_the_definition() -> None:
    case = WindowCase(items(WHICH), FOUR)
    for reported in [(), (1,), (1, 1), (1, 3), (2, 2, 0), (3, 3, 3)]:
        sample = tuple(Labelled(x, 1) for x in reported) + (Labelled(0, 0),) * (3 - len(reported))
        weights = [np.exp(reported.count(item)) for item in FOUR]
        law: Law = case.law(sample)
        for item, weight in enumerate(weights):
            found = law[PointsRule(2, (item,))] / 2**160
            assert found == pytest.approx(weight / sum(weights))


# --- planted faults -------------------------------------------------------------------------------


class NoNoise(Exponential):
    """The number with the least distance, without noise."""

    def drawn(self, numbers: Any, draw: Draw) -> int:
        starts, _, distances = self._ranges(numbers)
        return starts[distances.index(min(distances))]


class TwiceTheScore(Exponential):
    """Every distance counts twice."""

    def _ranges(self, numbers: Any) -> tuple[list[int], list[int], list[int]]:
        starts, sizes, distances = super()._ranges(numbers)
        return starts, sizes, [2 * distance for distance in distances]


class NoBottom(StableItems):
    """The score of bottom does not hide what one example says: it is left out."""

    def drawn(self, items: list[int], counts: Any, draw: Draw) -> int | None:
        return super().drawn(items, counts + self.parameters.bottom_score, draw)


class FirstCome(StableItems):
    """Of equally frequent items the one that came first."""

    def select(self, window: Window, draw: Draw) -> Rule:
        came = Counter(window.x[window.y == 1].tolist())
        most = came.most_common(1)
        return self._items.item_rule(most[0][0]) if most else self.hypotheses.first_rule()


FAULTS = {
    "minimum": (NoNoise, TwiceTheScore),
    "most frequent, stable": (NoBottom, FirstCome),
}


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name, each in FAULTS.items() for fault in each]
)
def test_planted_faults_exceed_what_is_charged(name: str, fault: Any) -> None:
    learner, _, _ = CASES[name]
    kind: Any = type(learner)

    class Faulty(kind):  # type: ignore[misc]
        @property
        def _selection(self) -> Any:
            return fault(self.hypotheses, self.parameters)

    case = WindowCase(Faulty("s/l", learner.hypotheses, learner.parameters), FOUR)
    assert case.exceeds(case.laws())


# --- twins ----------------------------------------------------------------------------------------


numbers_of_a_window = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 1)), min_size=9, max_size=9
)
WIDE = replace(SINCE_STABLE, horizon=9, window=9, rank=4, span=3)


def positives(window: Sequence[tuple[int, int]]) -> Any:
    return np.sort(np.array([x for x, y in window if y], dtype=np.uint8))


@given(numbers_of_a_window, st.integers(0, 8), st.integers(0, 15), st.integers(0, 1))
def test_neighbours_change_every_score_by_one_at_the_most(
    window: list[tuple[int, int]], at: int, x: int, y: int
) -> None:
    other = [*window[:at], (x, y), *window[at + 1 :]]
    here, there = positives(window), positives(other)
    draw = Stable(Integers(4), WIDE)
    for number in range(17):
        assert abs(draw._distance(here, number) - draw._distance(there, number)) <= 1
    one, two = draw._span(here), draw._span(there)
    assert len(one) == len(two) == 6
    assert sum((Counter(one) - Counter(two)).values()) <= 1
    assert np.abs(draw._scores(one) - draw._scores(two)).max() <= 1


@given(
    numbers_of_a_window,
    st.integers(0, 8),
    st.integers(0, 15),
    st.integers(0, 1),
    st.binary(min_size=32, max_size=32),
)
def test_twins_that_draw_the_same_say_the_same(
    window: list[tuple[int, int]], at: int, x: int, y: int, key: bytes
) -> None:
    """With the same noise a window's rule is a function of what is drawn, and of nothing else."""
    other = [*window[:at], (x, y), *window[at + 1 :]]
    noise = KeyedNoise(key)
    place = Draw(noise, Address(HEAD, "s/l", "select", 8))
    for parameters in (WIDE, replace(SINCE, horizon=9, window=9, rank=4)):
        chosen = draw_of(Integers(4), parameters)
        rules = []
        for each in (window, other):
            x_, y_ = (np.array(column, dtype=np.uint8) for column in zip(*each, strict=True))
            rules.append(chosen.select(Window(x_, y_, np.zeros(9, dtype=np.int64)), place))
        assert all(isinstance(rule, AtLeastRule) and rule.bits == 4 for rule in rules)
        if chosen.drawn(positives(window), place) == chosen.drawn(positives(other), place):
            assert rules[0].to_json() == rules[1].to_json()


# --- users ----------------------------------------------------------------------------------------


def users_of(given_by: Sequence[int]) -> list[int]:
    return [1 + user for user in given_by]


@pytest.mark.parametrize("name", ["minimum", "most frequent, stable"])
def test_all_that_one_user_gives_costs_what_it_is_charged(name: str) -> None:
    """A user of two examples of a window of three, against whatever else they may have given."""
    learner, _, _ = CASES[name]
    parameters: Any = learner.parameters
    of_users = replace(parameters, user_examples_max=2)
    if name != "minimum":
        of_users = replace(of_users, bottom_score=4)
    case = WindowCase(replace(learner, parameters=of_users), FOUR)
    epsilon, delta = case.claim
    every = [Labelled(x, y) for x, y in ((0, 0), (0, 1), (1, 1), (3, 1))]
    for third in every[:3]:
        laws = [
            case.law((a._replace(user=7), b._replace(user=7), third._replace(user=8)))
            for a, b in product(every, repeat=2)
        ]
        for here, there in product(laws, repeat=2):
            assert case.beyond(here, there, epsilon) <= delta + F(1, 1 << 60)
    assert sum((price(e).delta for e in case.learner.season_events()), F(0)) < 1
