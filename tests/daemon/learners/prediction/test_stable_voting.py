"""Stable voting: distances, whole transcripts by enumeration, caps, noise."""

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.budget.events import PrecisionLoss, PredictionStableVoting
from littled.budget.prices import price
from littled.mechanisms.noise import Address, KeyedNoise
from oracle.learners.stable_voting import StableVoting, StableVotingState, majority_and_distance
from support.rows import Rows, all_rows

VOTERS, THRESHOLD = 7, 3
RATE, VOTE_RATE = Fraction(2), Fraction(1, 2)
ADDRESS = Address(b"head", "s/l", "predict", 4)
CLASS = Rows(all_rows(3))
ASKED = np.array([0, 1, 2], dtype=np.uint8)
# What each voter says to the three points.
VOTES = ((1, 1, 0), (1, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 0))


def voting(**changes: object) -> StableVoting:
    values = {
        "name": "s/l", "hypotheses": CLASS, "window": 3 * VOTERS, "chunks": VOTERS, "rate": RATE,
        "vote_rate": VOTE_RATE, "threshold": THRESHOLD, "answers_max": 50, "unstable_max": 2,
        "epsilon": Fraction(8), **changes,
    }  # fmt: skip
    return StableVoting(**values)  # type: ignore[arg-type]


def window(votes: Sequence[Sequence[int]]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Examples from which each voter learns what it is to say: one at each point."""
    x = np.repeat(ASKED, VOTERS)
    return x, np.array(votes, dtype=np.uint8).T.reshape(-1)


# -- distance --------------------------------------------------------------------------------------


def test_the_distance_is_the_number_of_changes_that_the_majority_stands() -> None:
    for voters in range(1, 9):
        for ones in range(voters + 1):
            label, distance = majority_and_distance(ones, voters - ones)
            assert label == int(ones > voters - ones)
            step = -1 if label else 1
            for changed in range(distance + 1):
                moved = ones + step * changed
                assert majority_and_distance(moved, voters - moved)[0] == label
            moved = ones + step * (distance + 1)
            if 0 <= moved <= voters:
                assert majority_and_distance(moved, voters - moved) == (1 - label, 0)


# -- transcripts by enumeration --------------------------------------------------------------------

Transcript = tuple[tuple[int, bool], ...]
NOISE_MAX = 60


@cache
def laplace(rate: float) -> NDArray[np.float64]:
    weights = np.exp(-rate * np.abs(np.arange(-NOISE_MAX, NOISE_MAX + 1)))
    result: NDArray[np.float64] = weights / weights.sum()
    return result


def passing(distance: int, threshold: int) -> NDArray[np.float64]:
    """P[distance + nu >= U + r] for every r."""
    tail = np.cumsum(laplace(float(RATE) / 4)[::-1])[::-1]
    gap = threshold + np.arange(-NOISE_MAX, NOISE_MAX + 1) - distance
    at = np.clip(gap + NOISE_MAX, 0, 2 * NOISE_MAX)
    return np.where(gap > NOISE_MAX, 0.0, tail[at])


def transcripts(
    ones: Sequence[int], unstable_max: int, threshold: int = THRESHOLD
) -> dict[Transcript, float]:
    """The law of all answers to points with so many votes for 1, from the definition."""
    law: dict[Transcript, float] = defaultdict(float)

    def explore(said: Transcript, probability: float, given: NDArray[np.float64]) -> None:
        unstable = sum(not stable for _, stable in said)
        if len(said) == len(ones) or unstable == unstable_max:
            law[said] += probability * float(given.sum())
            return
        votes = ones[len(said)]
        label, distance = majority_and_distance(votes, VOTERS - votes)
        above = passing(distance, threshold)
        explore((*said, (label, True)), probability, given * above)
        below = probability * float((given * (1 - above)).sum())
        one = 1 / (1 + math.exp(-float(VOTE_RATE) * (2 * votes - VOTERS)))
        for answer, share in ((1, one), (0, 1 - one)):
            explore((*said, (answer, False)), below * share, laplace(float(RATE) / 2))

    explore((), 1.0, laplace(float(RATE) / 2))
    assert sum(law.values()) == pytest.approx(1)
    return law


def excess(here: dict[Transcript, float], there: dict[Transcript, float], epsilon: float) -> float:
    """The least delta for this epsilon, both ways."""
    return max(
        sum(max(0.0, p - math.exp(epsilon) * other.get(said, 0.0)) for said, p in one.items())
        for one, other in ((here, there), (there, here))
    )


@pytest.mark.parametrize("unstable_max", [1, 2])
@pytest.mark.parametrize("threshold", [THRESHOLD, 12])
def test_whole_transcripts_cost_at_most_their_price(unstable_max: int, threshold: int) -> None:
    cost = price(PredictionStableVoting(RATE, VOTE_RATE, threshold, unstable_max))
    epsilon, delta = float(cost.epsilon_pure), float(cost.delta)
    worst, little = 0.0, 0.0
    for ones in ((4, 7, 3), (3, 3, 4), (5, 4, 0), (4, 4, 4)):
        here = transcripts(ones, unstable_max, threshold)
        # one voter changes any of its answers
        for change in product((-1, 0, 1), repeat=3):
            moved = [each + by for each, by in zip(ones, change, strict=True)]
            if all(0 <= each <= VOTERS for each in moved):
                there = transcripts(moved, unstable_max, threshold)
                worst = max(worst, excess(here, there, epsilon))
                little = max(little, excess(here, there, epsilon / 4))
    # the failure mass is not there for nothing, and without the epsilon it is not enough
    assert delta / 20 < worst <= delta + 1e-9
    assert little > delta or threshold == THRESHOLD


# -- every adversary, by enumeration ---------------------------------------------------------------

Masses = NDArray[np.float64]


class Adversary:
    """The most that a choice of points after each answer can gain, over all pairs of neighbours.

    A point is a pair of votes for 1, one of each side, that differ by one at most: as if one voter
    could say anything anywhere. A transcript's state is its probability jointly with each threshold
    noise, on both sides; what it gains is the excess of the first side over exp(epsilon) times the
    other one. Probabilities are floats and noise beyond 60 is left out, so gains are right to 1e-9.
    """

    def __init__(self, voters: int, threshold: int, epsilon: float) -> None:
        self.factor = math.exp(epsilon)
        votes = [
            (here, there)
            for here, there in product(range(voters + 1), repeat=2)
            if abs(here - there) <= 1
        ]
        self.points = [
            tuple(self._side(ones, voters, threshold) for ones in each) for each in votes
        ]

    def _side(self, ones: int, voters: int, threshold: int) -> tuple[int, Masses, Masses]:
        """The majority, P[stable] for each threshold noise, and the coin."""
        label, distance = majority_and_distance(ones, voters - ones)
        one = 1 / (1 + math.exp(-float(VOTE_RATE) * (2 * ones - voters)))
        return label, passing(distance, threshold), np.array((1 - one, one))

    def segment(self, here: float, there: float, answers: int, unstable: int) -> float:
        """The most to gain from so many answers with a new segment, at these probabilities."""
        noise = laplace(float(RATE) / 2)
        return self.gain(here * noise, there * noise, answers, unstable)

    def gain(self, here: Masses, there: Masses, answers: int, unstable: int) -> float:
        if not answers or not unstable:
            return max(0.0, float(here.sum() - self.factor * there.sum()))
        return max(self._at(each, here, there, answers - 1, unstable) for each in self.points)

    def _at(self, point: Any, here: Masses, there: Masses, answers: int, unstable: int) -> float:
        """Gained if the next point is this one: over what may be answered to it."""
        (label, stable, coin), (other_label, other_stable, other_coin) = point
        above, other_above = here * stable, there * other_stable
        if label == other_label:
            gained = self.gain(above, other_above, answers, unstable)
        else:
            gained = float(above.sum())  # impossible on the other side
        below, other_below = float((here - above).sum()), float((there - other_above).sum())
        return gained + sum(
            self.segment(below * p, other_below * r, answers, unstable - 1)
            for p, r in zip(coin, other_coin, strict=True)
        )


@pytest.mark.parametrize("unstable_max", [1, 2])
@pytest.mark.parametrize("threshold", [THRESHOLD, 12])
@pytest.mark.parametrize("answers", [2, pytest.param(3, marks=pytest.mark.campaign)])
def test_no_adversary_gains_more_than_the_price(
    unstable_max: int, threshold: int, answers: int
) -> None:
    """Eight voters, of an example each, and every next point after every answer."""
    cost = price(PredictionStableVoting(RATE, VOTE_RATE, threshold, unstable_max))
    epsilon, delta = float(cost.epsilon_pure), float(cost.delta)
    gained = Adversary(8, threshold, epsilon).segment(1.0, 1.0, answers, unstable_max)
    assert delta / 1.2 < gained <= delta + 1e-9


def check_transcripts(count: int) -> None:
    made, prepared = voting(), voting().prepare(*window(VOTES))
    ones = [sum(each) for each in zip(*VOTES, strict=True)]
    assert ones == [6, 4, 1]
    law, seen = transcripts(ones, 2), defaultdict[Transcript, int](int)
    for position in range(count):
        address = Address(b"head", "s/l", "predict", position)
        _, said = made.answer(StableVotingState(), prepared, ASKED, KeyedNoise(bytes(32)), address)
        seen[tuple(zip(said.labels.tolist(), said.stable.tolist(), strict=True))] += 1
    assert set(seen) <= set(law)
    common = [each for each, p in law.items() if p * count >= 5]
    observed = [seen[each] for each in common]
    expected = [law[each] * count for each in common]
    observed.append(count - sum(observed))
    expected.append(count - sum(expected))
    assert len(common) > 8
    assert chisquare(observed, expected).pvalue > 1e-4


def test_answers_follow_their_law() -> None:
    check_transcripts(1500)


@pytest.mark.campaign
def test_answers_of_many_windows_follow_their_law() -> None:
    check_transcripts(100_000)


# -- caps, state, noise ----------------------------------------------------------------------------


def answers(made: StableVoting, points: NDArray[np.uint8]) -> tuple[StableVotingState, int, int]:
    prepared = made.prepare(*window(VOTES))
    state, said = made.answer(StableVotingState(), prepared, points, KeyedNoise(bytes(32)), ADDRESS)
    assert len(said.labels) == len(said.stable) == state.answers
    return state, state.answers, int((~said.stable).sum())


def test_a_window_ends_with_its_last_unstable_answer_or_its_last_answer() -> None:
    contested = np.full(200, 1, dtype=np.uint8)
    state, given, unstable = answers(voting(threshold=40, unstable_max=3), contested)
    assert given == unstable == state.unstable == 3
    state, given, unstable = answers(voting(threshold=1, rate=Fraction(60)), contested[:0])
    assert (given, unstable, state) == (0, 0, StableVotingState())
    # a distance of 2 and hardly any noise: every answer is stable
    sure = np.zeros(200, dtype=np.uint8)
    state, given, unstable = answers(voting(threshold=1, rate=Fraction(60)), sure)
    assert (given, unstable) == (50, 0)
    assert state.threshold_noise is not None


def test_answers_do_not_depend_on_how_points_are_cut() -> None:
    made, noise = voting(unstable_max=20), KeyedNoise(bytes(32))
    prepared, points = made.prepare(*window(VOTES)), np.tile(ASKED, 12)
    state, whole = made.answer(StableVotingState(), prepared, points, noise, ADDRESS)
    labels, at = [], StableVotingState()
    for start in range(0, 36, 5):
        address = Address(b"head", "s/l", "predict", 4, start)
        at, said = made.answer(at, prepared, points[start : start + 5], noise, address)
        labels += said.labels.tolist()
    assert labels == whole.labels.tolist()
    assert at == state


def test_a_window_costs_its_unstable_answers_and_precision() -> None:
    made = voting(unstable_max=4)
    event, loss = made.window_events()
    assert event == PredictionStableVoting(RATE, VOTE_RATE, THRESHOLD, 4)
    assert isinstance(loss, PrecisionLoss)
    assert loss.total_variation == made.precision_error < Fraction(1, 1 << 60)
    assert price(event).epsilon_pure == 4 * (RATE + 2 * VOTE_RATE)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"chunks": 0}, "chunks must be from 1"),
        ({"chunks": 100}, "chunks must be from 1"),
        ({"answers_max": 0}, "at least 1"),
        ({"unstable_max": 0}, "at least 1"),
        ({"threshold": 0}, "threshold of prediction_stable_voting must be at least 1"),
        ({"rate": Fraction(0)}, "a rate must be from"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        voting(**changes)


def test_a_window_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="exactly 21 examples"):
        voting().prepare(ASKED, np.zeros(3, dtype=np.uint8))
