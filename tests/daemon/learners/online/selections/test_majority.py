"""Weighted majorities of stumps: what is convicted of errors, and what it is good for."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.stumps import Stumps
from littled.learners.online import OnlineLearner
from littled.learners.online.majority_memory import AT_LEAST, MajorityMemory, MajoritySettings
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.snapshot import pack, unpack
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.set_sample import SetSample
from littled_protocol.rules import ScorecardRule
from support.learner_cases import ONLINE
from support.learning import Runner

FEATURES, BUCKETS = 3, 5


def says(feature: int, direction: int, threshold: int, row: Any) -> bool:
    return bool((row[feature] >= threshold) == (direction == AT_LEAST))


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_counted_by_label(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stumps = Stumps(FEATURES, BUCKETS)
    x = rng.integers(0, BUCKETS, (40, FEATURES)).astype(np.uint16)
    y = rng.integers(0, 2, 40).astype(np.uint8)
    cuts = rng.integers(0, BUCKETS + 1, (FEATURES, 2))
    found = stumps.cut_errors(stumps.add(stumps.empty_statistics(), x, y), cuts)
    for label in (0, 1):
        for feature in range(FEATURES):
            for direction in (0, 1):
                t = int(cuts[feature, direction])
                wrong = [says(feature, direction, t, row) != label for row in x[y == label]]
                assert found[label, feature, direction] == sum(wrong)


def longer(**changes: Any) -> OnlineLearner:
    parameters = replace(
        ONLINE["majority"][1], horizon=20_000, calls_max=200, trigger_rate=Fraction(1, 5),
        selection_rate=Fraction(2, 5), trigger_threshold=60, ladder=(),
        memory=MajoritySettings(step=6, levels=8, cap=60, doubt=100, slack=8), **changes,
    )  # fmt: skip
    return OnlineLearner("s/l", Stumps(4, 16), parameters)


@pytest.mark.parametrize("seed", range(4))
def test_whoever_chooses_one_of_the_features_is_found_out(seed: int) -> None:
    """Each row is one on which the published majority errs, though one stump fits all of them."""
    runner, position = Runner(longer(), KeyedNoise(bytes([seed]) * 32)), 0
    runner.open()
    rng = np.random.default_rng(seed)
    feature, threshold = int(rng.integers(4)), int(rng.integers(1, 16))
    rows = rng.integers(0, 16, (4000, 4)).astype(np.uint16)
    labels = (rows[:, feature] >= threshold).astype(np.uint8)
    mistakes = 0
    for _ in range(2000):
        wrong = np.flatnonzero(runner.state.rule.evaluate(rows) != labels)
        if not len(wrong):
            break
        x = rows[wrong[:1]]
        for _ in runner.feed(x, labels[wrong[:1]], position):
            pass
        position, mistakes = position + 1, mistakes + 1
    assert isinstance(runner.state.rule, ScorecardRule)
    assert mistakes < 1200


def test_a_draw_sees_the_mistakes_of_its_label_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one example would be in both draws of a call."""
    seen: list[int] = []
    monkeypatch.setattr(SetSample, "sample", lambda of, counts, *rest: seen.append(counts.max()))
    runner = Runner(longer(), KeyedNoise(bytes(32)))
    runner.open()
    x = np.zeros((90, 4), dtype=np.uint16)
    for _ in runner.feed(x, np.ones(90, dtype=np.uint8), 0):
        pass
    assert seen[0] == 0 < seen[1]


def test_a_snapshot_goes_on_as_the_learner_does() -> None:
    """In the middle of a season, with what was convicted."""
    learner, noise = longer(), KeyedNoise(bytes(32))
    rng = np.random.default_rng(5)
    x = rng.integers(0, 16, (600, 4)).astype(np.uint16)
    y = (x[:, 1] < 9).astype(np.uint8)
    first, second = Runner(learner, noise), Runner(learner, noise)
    first.open()
    for _ in first.feed(x[:300], y[:300], 0):
        pass
    assert first.state.memory != MajorityMemory.empty(4)
    second.state = state_from_dict(unpack(pack(state_to_dict(first.state))))
    for runner in (first, second):
        for _ in runner.feed(x[300:], y[300:], 300):
            pass
    assert pack(state_to_dict(first.state)) == pack(state_to_dict(second.state))
