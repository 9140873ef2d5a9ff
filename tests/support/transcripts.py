"""Laws of whole transcripts of short seasons, by trying every outcome of every mechanism.

The mechanisms are replaced by their ideal laws; what is run is all the rest of the learner. The
noise of a trigger's threshold is summed over, not tried: on each path the trigger is asked whether
it fires and answers both ways, and the chance of all answers of an epoch is computed at the end.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.events import PrecisionLoss, PrivacyEvent, price
from littled.budget.price import Price
from littled.learners.online import USER_PURPOSE, OnlineLearner, OnlineState, Published
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.noise import Address
from littled.mechanisms.sparse_sample import SparseSample
from littled.mechanisms.stable_histogram import StableHistogram
from support.learning import Runner, column

# Points and labels, and users where users are protected.
Stream = tuple[tuple[int, ...], ...]
Law = dict[tuple[Any, ...], float]
# Gaps of an epoch's tests, the threshold's noise left out, and whether each of them fired.
Tests = tuple[tuple[int, bool], ...]


class Choices:
    """Outcomes in the order in which they are asked for: the given ones, then the first of each."""

    def __init__(self) -> None:
        self.begin([])

    def begin(self, given: Sequence[int], epochs: tuple[Tests, ...] = ()) -> None:
        self.given, self.probability = given, 1.0
        self.taken: list[int] = []
        self.counts: list[int] = []
        self.epochs = epochs

    def choose(self, weights: NDArray[np.float64]) -> int:
        self.probability *= float(weights[self.take(len(weights))] / weights.sum())
        return self.taken[-1]

    def take(self, count: int) -> int:
        """One of so many outcomes, whose chance is reckoned elsewhere."""
        number = len(self.taken)
        self.taken.append(self.given[number] if number < len(self.given) else 0)
        self.counts.append(count)
        return self.taken[-1]

    def others(self) -> Iterator[list[int]]:
        """Ways on that were not given and not taken."""
        for at in range(len(self.given), len(self.taken)):
            for index in range(1, self.counts[at]):
                yield [*self.taken[:at], index]


def tails(rate: Fraction, gaps: NDArray[np.int64]) -> NDArray[np.float64]:
    """P[nu >= gap]."""
    a = np.exp(-float(rate))
    tail = a ** np.maximum(gaps, 1 - gaps) / (1 + a)
    chances: NDArray[np.float64] = np.where(gaps > 0, tail, 1 - tail)
    return chances


def above(rate: Fraction, gap: int) -> NDArray[np.float64]:
    """P[Below] and P[Above]."""
    tail = float(tails(rate, np.array([gap]))[0])
    return np.array([1 - tail, tail])


@lru_cache(maxsize=1 << 16)
def chance(rate: Fraction, tests: Tests) -> float:
    """The probability of an epoch's tests, the threshold's noise summed over."""
    reach = int(45 / rate)
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-float(rate) * np.abs(noise))
    weights /= weights.sum()
    for gap, fired in tests:
        tail = tails(rate, gap + noise)
        weights = weights * (tail if fired else 1 - tail)
    return float(weights.sum())


@dataclass(frozen=True)
class ChosenFresh(CohenLyuTest):
    choices: Choices = field(compare=False)

    def first_above(self, gaps: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        fired = (i for i, g in enumerate(gaps) if self.choices.choose(above(self.rate, int(g))))
        return next(fired, None)


@dataclass(frozen=True)
class ChosenAbove(AboveThreshold):
    choices: Choices = field(compare=False)

    def threshold_noise(self, words: NDArray[np.uint64]) -> int:
        self.choices.epochs += ((),)
        return 0

    def first_above(self, gaps: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        for i, gap in enumerate(gaps.tolist()):
            fired = bool(self.choices.take(2))
            *before, last = self.choices.epochs
            self.choices.epochs = (*before, (*last, (gap, fired)))
            if fired:
                return i
        return None


@dataclass(frozen=True)
class ChosenSample(SparseSample):
    choices: Choices = field(compare=False)

    def sample(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> int | None:
        weights = np.exp(float(self.rate) * np.append(scores, self.bottom_score))
        index = self.choices.choose(weights)
        return index if index < len(scores) else None


@dataclass(frozen=True)
class ChosenExponential(ExponentialMechanism):
    choices: Choices = field(compare=False)

    def sample(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> int:
        return self.choices.choose(np.exp(float(self.rate) * scores))


@dataclass(frozen=True)
class ChosenHistogram(StableHistogram):
    choices: Choices = field(compare=False)

    def passing(self, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        assert len(scores) == len(words)
        gaps = self.threshold - scores
        bits = [self.choices.choose(above(self.rate, int(gap))) for gap in gaps]
        return np.flatnonzero(bits).astype(np.int64)


def with_choices(learner: OnlineLearner, choices: Choices) -> OnlineLearner:
    p = learner.parameters
    chosen = OnlineLearner(learner.name, learner.hypotheses, p)
    kind = ChosenFresh if p.tests == "cohen_lyu" else ChosenAbove
    sample = ChosenSample(p.selection_rate, p.list_cap, p.bottom_score, choices)
    trigger = kind(p.trigger_rate, choices) if p.schedule_first is None else None
    dense = ChosenExponential(p.selection_rate, choices)
    chosen.__dict__.update(_trigger=trigger, _sparse=sample, _dense=dense)
    chosen.__dict__["_histogram"] = ChosenHistogram(p.selection_rate, p.bottom_score, choices)
    if p.stage_rate is not None and p.tests == "cohen_lyu":
        chosen.__dict__["_fresh_stage_test"] = ChosenFresh(p.stage_rate, choices)
    return chosen


@dataclass(frozen=True)
class SecretWords:
    """No noise but the secret words, which are given.

    The words that choose a position's teacher and place in the background are functions of the
    position; the word of a user is theirs in the table.
    """

    users: Mapping[int, int] = field(default_factory=dict)
    priorities: Sequence[int] = ()

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        if address.purpose == USER_PURPOSE:
            user = int.from_bytes(address.chain_head[:8], "little")
            return np.full(count, self.users[user], dtype=np.uint64)
        places = np.arange(address.position + offset, address.position + offset + count)
        if address.purpose == "teacher":
            return (places % 3).astype(np.uint64)
        if address.purpose == "buffer" and self.priorities:
            return np.array(self.priorities, dtype=np.uint64)[places]
        return np.zeros(count, dtype=np.uint64)


def law_of(learner: OnlineLearner, examples: Stream, words: SecretWords = SecretWords()) -> Law:
    """The probability of every transcript, given the secret words."""
    choices, law = Choices(), defaultdict[tuple[Any, ...], float](float)
    runner = Runner(with_choices(learner, choices), words)
    runner.open()
    rate = learner.parameters.trigger_rate

    def explore(
        at: int,
        state: OnlineState,
        said: tuple[Any, ...],
        probability: float,
        epochs: tuple[Tests, ...],
    ) -> None:
        if at == len(examples):
            for tests in epochs:
                probability *= chance(rate, tests)
            law[said] += probability
            return
        point, label, *user = examples[at]
        x, y = column(learner.hypotheses, [point]), np.array([label], dtype=np.uint8)
        users = np.array([user * 2], dtype=np.uint64) if user else None
        ways = [list[int]()]
        while ways:
            choices.begin(ways.pop(), epochs)
            runner.state = state
            more = tuple(
                (each.kind, each.position, each.rule)
                for each in runner.feed(x, y, at, users)
                if isinstance(each, Published)
            )
            reached, share, tested = runner.state, choices.probability, choices.epochs
            ways.extend(choices.others())
            explore(at + 1, reached, said + more, probability * share, tested)

    explore(0, runner.state, (), 1.0, ())
    assert sum(law.values()) == pytest.approx(1)
    return law


def failure_mass(here: Law, there: Law, epsilon: float) -> float:
    factor = float(np.exp(epsilon))
    return sum(max(0.0, p - factor * there.get(said, 0.0)) for said, p in here.items())


def charged(learner: OnlineLearner) -> Price:
    """All that a season costs at the most, but for finite precision."""
    events: list[PrivacyEvent] = [
        each for each in learner.season_events() if not isinstance(each, PrecisionLoss)
    ]
    events += [learner.call_event()] * learner.parameters.calls_max
    return sum(map(price, events), Price.zero())
