"""A change of a stream is found by its releases, and noise alone is not taken for one."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.capabilities import Integers
from littled.classes.scorecard import Scorecards
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.leader import LeaderLearner, LeaderParameters
from littled.learners.leader.columns import Columns
from littled.learners.leader.drift import is_longer_than_noise, recent_noise
from littled.learners.leader.parameters import NOISE_VARIANCE
from littled.mechanisms.noise import KeyedNoise
from support.learning import HEAD

F = Fraction
FALLING = LeaderParameters(
    epsilon=F(8), horizon=12_000, batch_examples=20, decay=F(299, 300), learning_rate=F(1, 8),
    scale=2_000, publish_every=1, damping=F(1, 10), falling_after=60, drift_batches=8, drift_lead=5,
)  # fmt: skip
CLASS = Scorecards("8x4cox2")


@pytest.mark.parametrize("lead", [1, 3, 5])
@pytest.mark.parametrize("dimensions", [2, 50])
def test_a_sum_is_longer_than_noise_by_standard_deviations_of_its_square(
    lead: int, dimensions: int
) -> None:
    """d entries of variance v have the squared length d v in the mean, and deviate by v (2d)^.5."""
    variance = 10**12
    for squares, longer in [(0.999, False), (1.001, True)]:
        most = variance * (dimensions + lead * (2 * dimensions) ** 0.5)
        entry = round((most * squares / dimensions) ** 0.5)
        recent = np.full(dimensions, -entry, dtype=np.int64)
        assert is_longer_than_noise(recent, variance, lead) == longer
    assert not is_longer_than_noise(np.zeros(dimensions, dtype=np.int64), variance, lead)


def test_sums_whose_squares_do_not_fit_into_64_bits_are_compared() -> None:
    recent = np.array([1 << 50, -(1 << 50)], dtype=np.int64)
    assert is_longer_than_noise(recent, 1 << 90, 5)
    assert not is_longer_than_noise(recent, 1 << 100, 5)


def test_the_noise_of_a_decaying_sum_is_that_of_all_releases_in_it() -> None:
    """One release after the other alone: the squares of what the sum is at the end add up."""
    p = replace(FALLING, horizon=24 * 20)
    of = LeaderLearner("s/l", CLASS, p)
    rows, one, kept = of.features.dimensions, 1 << 12, of.kept(warming=False)
    opened = of.step(of.initial(), SeasonOpened(0, 0), KeyedNoise(bytes(32))).state.sequence
    assert opened is not None
    ends = []
    for alone in range(p.batches):
        sequence, released = opened, Columns(rows)
        for batch in range(p.batches):
            entries = np.full(rows, one * (batch == alone), dtype=np.int64)
            released = released.plus(entries, kept)
            sequence = of.following(sequence, released, batch + 1)
        assert sequence.recent is not None
        ends.append(F(int(sequence.recent[0]), one))
    squares = sum(each * each for each in ends)
    expected = NOISE_VARIANCE * squares / (1 << 2 * p.dropped_bits)
    assert abs(recent_noise(p)[-1] / expected - 1) < F(1, 1000)


def stream(count: int, change: int) -> tuple[Any, Any]:
    """Labels follow the first column, from `change` on the other way round."""
    generator = np.random.default_rng(5)
    x = np.stack([generator.integers(s, size=count) for s in CLASS.sizes], axis=1)
    y = (x[:, 0] >= 4) ^ (np.arange(count) >= change)
    return x.astype(np.uint16), y.astype(np.uint8)


@dataclass(frozen=True)
class Watched(LeaderLearner):
    """Writes down the batches at which the learning rate began anew."""

    @property
    def began(self) -> list[int]:
        found: list[int] = self.__dict__.setdefault("_began", [])
        return found

    def following(self, sequence: Any, released: Columns, batches: int) -> Any:
        found = super().following(sequence, released, batches)
        if found.since == 1 and batches > 1:
            self.began.append(batches)
        return found


def mistakes(of: LeaderLearner, x: Any, y: Any) -> Integers:
    """On which examples the published rule was wrong."""
    noise = KeyedNoise(bytes(32))
    state, done, wrong = of.step(of.initial(), SeasonOpened(0, 0), noise).state, 0, []
    while done < len(y):
        step = of.step(state, Examples(Place(HEAD, 0, done), x[done:], y[done:]), noise)
        part = slice(done, done + step.consumed)
        wrong.append(state.rule.evaluate(x[part]) != y[part])
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = of.step(state, CallAdmitted(effect.place), noise).state
    return np.concatenate(wrong).astype(np.int64)


@pytest.mark.no_cover
def test_after_a_change_the_rate_begins_anew_and_rules_follow_sooner() -> None:
    x, y = stream(FALLING.horizon, 8_000)
    watched = Watched("s/l", CLASS, FALLING)
    wrong = mistakes(watched, x, y)
    first = 8_000 // 20
    early = [batch for batch in watched.began if batch > 60 and batch <= first]
    soon = [batch for batch in watched.began if first < batch <= first + 30]
    assert len(early) < 4
    assert len(soon) > 5
    alone = replace(watched, parameters=replace(FALLING, drift_batches=0, drift_lead=0))
    without = mistakes(alone, x, y)
    assert wrong[:6_000].sum() == pytest.approx(without[:6_000].sum(), abs=30)
    assert wrong[8_000:].sum() < without[8_000:].sum() / 2
    assert wrong[-1_000:].mean() < 0.1


def test_noise_alone_is_seldom_taken_for_a_change() -> None:
    x, _ = stream(FALLING.horizon, 0)
    y = np.random.default_rng(6).integers(2, size=len(x)).astype(np.uint8)
    watched = Watched("s/l", CLASS, FALLING)
    mistakes(watched, x, y)
    assert len(watched.began) < 6  # of 600 batches
