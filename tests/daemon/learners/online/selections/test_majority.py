"""Weighted majorities of stumps: what is convicted, what is published, and what it is good for."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.classes.stumps import Stumps
from littled.learners.online import OnlineLearner
from littled.learners.online.majority_memory import (
    AT_LEAST,
    MajorityMemory,
    MajoritySettings,
    Votes,
)
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.snapshot import pack, unpack
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.set_sample import NONE
from littled_protocol.rules import ScorecardRule
from support.learner_cases import ONLINE
from support.learning import Runner

SETTINGS = MajoritySettings(step=2, levels=3, cap=5, doubt=1, slack=9)
FEATURES, BUCKETS = 3, 5
Counts = dict[tuple[int, int], list[int]]


def of_each(memory: MajorityMemory) -> Counts:
    """The convictions of every threshold of every chain."""
    found = {}
    for chain, (starts, levels) in enumerate(zip(memory.starts, memory.levels, strict=True)):
        ends = (*starts[1:], BUCKETS + 1)
        runs = zip(starts, ends, levels, strict=True)
        found[divmod(chain, 2)] = [level for start, end, level in runs for _ in range(start, end)]
    return found


def says(feature: int, direction: int, threshold: int, row: Any) -> bool:
    return bool((row[feature] >= threshold) == (direction == AT_LEAST))


sets_of_tests = st.dictionaries(st.integers(0, FEATURES - 1), st.integers(0, 1), max_size=FEATURES)
calls = st.lists(st.tuples(sets_of_tests, sets_of_tests), max_size=6)


@settings(max_examples=80)
@given(calls)
def test_whatever_errs_with_a_test_is_convicted_with_it(drawn: Any) -> None:
    """Runs are what each stump's own count says; medians and weights are those of all stumps."""
    memory = MajorityMemory.empty(FEATURES)
    counts = {divmod(chain, 2): [0] * (BUCKETS + 1) for chain in range(2 * FEATURES)}
    for call in drawn:
        cuts = Votes.of(memory, BUCKETS, SETTINGS).cuts
        errors = [(label, tuple(sorted(tests.items()))) for label, tests in enumerate(call)]
        memory = memory.convicted(cuts, errors, BUCKETS, SETTINGS.levels)
        for label, tests in errors:
            for feature, direction in tests:
                # a row on which the test errs, as close to its threshold as can be
                cut = int(cuts[feature, direction])
                at_least = (direction == AT_LEAST) != (label == 1)
                row = dict.fromkeys(range(FEATURES), 0) | {feature: cut if at_least else cut - 1}
                for t in range(BUCKETS + 1):
                    counts[feature, direction][t] += says(feature, direction, t, row) != label
        least = min(min(each) for each in counts.values())
        counts = {key: [min(n - least, SETTINGS.levels) for n in v] for key, v in counts.items()}
        assert of_each(memory) == counts
        assert MajorityMemory.from_dict(memory.to_dict()) == memory
    votes = Votes.of(memory, BUCKETS, SETTINGS)
    for chain, (key, levels) in enumerate(sorted(counts.items())):
        weights = [1 << (2 * (3 - level)) for level in levels]
        assert votes.weights[chain] == sum(weights)
        median = int(votes.cuts[key])
        assert 2 * sum(weights[: median + 1]) >= sum(weights)
        assert 2 * sum(weights[:median]) < sum(weights)


def test_a_majority_of_medians_is_published() -> None:
    votes = Votes((4, 1, 2, 2), np.array([[2, 3], [1, 4]], dtype=np.int64), 5)
    rule = votes.rule()
    rows = np.array([(a, b) for a in range(5) for b in range(5)], dtype=np.uint16)
    for row, label in zip(rows, rule.evaluate(rows), strict=True):
        ones = 4 * (row[0] >= 2) + (row[0] < 3) + 2 * (row[1] >= 1) + 2 * (row[1] < 4)
        assert label == (2 * ones > 9)


def test_nothing_known_is_the_first_rule() -> None:
    """Both directions of each feature contradict each other at the same median."""
    votes = Votes.of(MajorityMemory.empty(4), 9, SETTINGS)
    assert set(votes.cuts.ravel().tolist()) == {4}
    assert not any(map(any, votes.rule().tables))


def test_heavy_chains_have_greater_odds() -> None:
    even = Votes((8,) * 8, np.zeros((4, 2), dtype=np.int64), 5).odds(slack=60)
    assert len(set(even.ravel().tolist())) == 1
    assert even.min() > NONE
    one = Votes((800, 8, 8, 8), np.zeros((2, 2), dtype=np.int64), 5).odds(slack=60)
    assert one[0, 0] > 1000 * one[0, 1]
    tight = Votes((8,) * 8, np.zeros((4, 2), dtype=np.int64), 5).odds(slack=0)
    assert tight.max() < even.min()


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
