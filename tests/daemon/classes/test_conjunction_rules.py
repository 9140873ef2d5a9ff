"""All conjunctions of few bits against brute force, by their numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.conjunction_rules import DENSE_BITS_MAX, ConjunctionRules
from littled_protocol.rules import ConjunctionRule


def matrix_of(rules: ConjunctionRules) -> NDArray[np.bool_]:
    """What every rule says to every point."""
    points = np.arange(1 << rules.bits, dtype=np.uint16)
    says = [rules.rule(index).evaluate(points) for index in range(rules.rule_count)]
    return np.array(says, dtype=bool)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_rule_has_one_number(bits: int) -> None:
    matrix = matrix_of(ConjunctionRules(bits))
    assert len(np.unique(matrix, axis=0)) == len(matrix) == 3**bits + 1
    assert not matrix[-1].any()
    assert matrix[-2].all()


@pytest.mark.parametrize("bits", [1, 2, 3])
@given(
    parts=st.lists(
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=8), max_size=3
    )
)
def test_scores_count_agreements(bits: int, parts: list[list[tuple[int, int]]]) -> None:
    rules = ConjunctionRules(bits)
    matrix = matrix_of(rules)
    statistics = rules.empty_statistics()
    expected = np.zeros(len(matrix), dtype=np.int64)
    for part in parts:
        x = [point % (1 << bits) for point, _ in part]
        y = np.array([label for _, label in part], dtype=np.uint8)
        statistics = rules.add(statistics, np.array(x, dtype=np.uint16), y)
        expected += (matrix[:, x] == y).sum(axis=1)
    scores = rules.scores(statistics)
    assert scores.dtype == np.int64
    np.testing.assert_array_equal(scores, expected)


def test_the_widest_dense_class_finds_its_rule() -> None:
    rules = ConjunctionRules(DENSE_BITS_MAX)
    generator = np.random.default_rng(1)
    x = generator.integers(0, 1 << DENSE_BITS_MAX, size=20_000, dtype=np.uint16)
    target = ConjunctionRule(DENSE_BITS_MAX, 0b1000_0000_0001, 0b0100_0000_0000)
    y = target.evaluate(x)
    scores = rules.scores(rules.add(rules.empty_statistics(), x, y))
    assert rules.rule(int(scores.argmax())) == target
    for index in generator.integers(0, len(scores), size=50):
        rule = rules.rule(int(index))
        assert scores[index] == np.count_nonzero(rule.evaluate(x) == y)
