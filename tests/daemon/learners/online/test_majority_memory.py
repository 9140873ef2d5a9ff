"""The memory of a weighted majority: convictions in runs, medians, odds and what is published."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.learners.online.majority_memory import (
    AT_LEAST,
    MajorityMemory,
    MajoritySettings,
    Votes,
)
from littled.mechanisms.set_sample import NONE

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


@pytest.mark.no_cover
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
