"""Stumps against brute force on rows of few features and buckets."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.base import ClassError, DataSet
from littled.classes.stumps import Stumps
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol import limits
from littled_protocol.rules import MajorityRule, StumpRule, Words
from oracle.classes.numbered import OPTIMAL_RULES_MAX, SolvedStumps
from oracle.classes.spaces import solved
from oracle.littlestone.dimension import standard_optimal_algorithm
from oracle.littlestone.essential import essential_hypotheses

SHAPES = [(2, 2), (2, 3), (3, 2), (2, 4)]


def rows_of(hypotheses: Stumps) -> NDArray[np.uint16]:
    """Every row of the domain."""
    rows = product(range(hypotheses.buckets), repeat=hypotheses.features)
    return np.array(list(rows), dtype=np.uint16)


def matrix_of(hypotheses: Stumps) -> NDArray[np.bool_]:
    """What every rule says to every row."""
    rows = rows_of(hypotheses)
    rules = [hypotheses.rule(index) for index in range(hypotheses.rule_count)]
    return np.array([rule.evaluate(rows) for rule in rules], dtype=bool)


def examples_of(hypotheses: Stumps, size: int = 8) -> st.SearchStrategy[DataSet]:
    """Some labelled rows."""
    example = st.tuples(st.integers(0, len(rows_of(hypotheses)) - 1), st.integers(0, 1))

    def data_set(pairs: list[tuple[int, int]]) -> DataSet:
        rows = rows_of(hypotheses)[[row for row, _ in pairs]]
        return rows, np.array([label for _, label in pairs], dtype=np.uint8)

    return st.lists(example, max_size=size).map(data_set)


@pytest.mark.parametrize(("features", "buckets"), [*SHAPES, (3, 3), (4, 5)])
def test_every_rule_has_one_number(features: int, buckets: int) -> None:
    hypotheses = Stumps(features, buckets)
    assert hypotheses.rule_count == 2 * features * (buckets - 1) + 2
    matrix = matrix_of(hypotheses)
    assert len(np.unique(matrix, axis=0)) == len(matrix)
    half = len(matrix) // 2
    np.testing.assert_array_equal(matrix[half:], ~matrix[:half])
    assert hypotheses.rule(0).describe(Words()) == "always 1"
    assert hypotheses.rule(half).describe(Words()) == "never 1"
    assert hypotheses.rule(1) == StumpRule(features, buckets, 0, 1, at_least=True)
    last = StumpRule(features, buckets, features - 1, buckets - 1, at_least=False)
    assert hypotheses.rule(2 * half - 1) == last


@pytest.mark.parametrize(("features", "buckets"), SHAPES)
def test_dimensions_are_exact(features: int, buckets: int) -> None:
    hypotheses = Stumps(features, buckets)
    matrix = matrix_of(hypotheses)
    assert littlestone_dimension(matrix) == hypotheses.littlestone_dimension
    assert dual_vapnik_chervonenkis_dimension(matrix) == hypotheses.dual_vc_dimension


@pytest.mark.parametrize(("features", "buckets"), SHAPES)
@given(data=st.data())
def test_scores_count_agreements(features: int, buckets: int, data: st.DataObject) -> None:
    hypotheses = Stumps(features, buckets)
    parts = data.draw(st.lists(examples_of(hypotheses), max_size=3))
    statistics = hypotheses.empty_statistics()
    expected = np.zeros(hypotheses.rule_count, dtype=np.int64)
    for x, y in parts:
        statistics = hypotheses.add(statistics, x, y)
        expected += [
            np.count_nonzero(hypotheses.rule(index).evaluate(x) == y)
            for index in range(hypotheses.rule_count)
        ]
    scores = hypotheses.scores(statistics)
    assert scores.dtype == np.int64
    np.testing.assert_array_equal(scores, expected)


def test_many_features_are_counted_like_few() -> None:
    hypotheses = Stumps(16, 64)
    generator = np.random.default_rng(0)
    x = generator.integers(0, 64, size=(5000, 16), dtype=np.uint16)
    y = (x[:, 3] >= 7).astype(np.uint8)
    scores = hypotheses.scores(hypotheses.add(hypotheses.empty_statistics(), x, y))
    best = int(scores.argmax())
    assert hypotheses.rule(best).describe(Words()) == "1 if feature 3 of x >= 7"
    assert scores[best] == len(y)
    for index in generator.integers(0, hypotheses.rule_count, size=50):
        agreements = np.count_nonzero(hypotheses.rule(int(index)).evaluate(x) == y)
        assert scores[index] == agreements


def test_the_door_refuses_rows_with_a_feature_too_large() -> None:
    hypotheses = Stumps(2, 4)
    assert hypotheses.contains(np.array([[3, 0], [0, 3]], dtype=np.uint16))
    assert hypotheses.contains(np.zeros((0, 2), dtype=np.uint16))
    assert not hypotheses.contains(np.array([[3, 0], [0, 4]], dtype=np.uint16))


@pytest.mark.parametrize(("features", "buckets"), [(2, 2), (2, 3), (3, 2)])
@given(data=st.data())
def test_any_set_of_stumps_has_the_dimension_and_the_soa_of_its_rows(
    features: int, buckets: int, data: st.DataObject
) -> None:
    hypotheses = Stumps(features, buckets)
    numbers = data.draw(st.sets(st.integers(0, hypotheses.rule_count - 1)))
    space = SolvedStumps(np.array(sorted(numbers), dtype=np.int64), hypotheses)
    rows = matrix_of(hypotheses)[sorted(numbers)]
    assert space.littlestone_dimension == littlestone_dimension(rows)
    if not numbers:
        with pytest.raises(ClassError, match="empty version space"):
            space.standard_optimal_rule()
        return
    labels = space.standard_optimal_rule().evaluate(rows_of(hypotheses))
    np.testing.assert_array_equal(labels, standard_optimal_algorithm(rows))


@pytest.mark.parametrize(("features", "buckets"), [(2, 2), (2, 3)])
@given(data=st.data(), tolerance=st.sampled_from([Fraction(0), Fraction(1, 4)]))
def test_the_essential_list_is_the_version_space(
    features: int, buckets: int, data: st.DataObject, tolerance: Fraction
) -> None:
    hypotheses = Stumps(features, buckets)
    sets = data.draw(st.lists(examples_of(hypotheses, 4), max_size=2))
    matrix = matrix_of(hypotheses)
    good = np.ones(len(matrix), dtype=bool)
    for x, y in sets:
        wrong = np.array(
            [np.count_nonzero(hypotheses.rule(i).evaluate(x) != y) for i in range(len(matrix))]
        )
        good &= wrong * tolerance.denominator <= tolerance.numerator * len(y)
    space = hypotheses.version_space(sets, tolerance)
    keys = space.essential(1000)
    assert keys == np.flatnonzero(good).tolist()
    listed = [hypotheses.essential_rule(key).evaluate(rows_of(hypotheses)) for key in keys]
    exact = essential_hypotheses(matrix[good], 2, hypotheses.littlestone_dimension)
    assert sorted(map(tuple, np.array(listed, dtype=bool))) == sorted(map(tuple, exact))


def test_the_soa_of_very_many_stumps_is_that_of_a_part_that_can_be_published() -> None:
    hypotheses = Stumps(16, 64)
    assert OPTIMAL_RULES_MAX == 1023
    rule = solved(hypotheses, [], Fraction(0)).standard_optimal_rule()
    assert isinstance(rule, MajorityRule)
    assert len(rule.members) == OPTIMAL_RULES_MAX
    single = SolvedStumps(np.array([5]), hypotheses)
    assert single.standard_optimal_rule() == hypotheses.rule(5)


@pytest.mark.parametrize(
    ("features", "buckets", "sentence"),
    [
        (1, 4, "2 to 1024 features"),
        (limits.row_features_max + 1, 2, "2 to 1024 features"),
        (2, 1, "2 to 65536 buckets"),
        (2, 65537, "2 to 65536 buckets"),
        (1024, 65536, "more than 1048576; use fewer features or buckets"),
    ],
)
def test_stumps_that_cannot_be(features: int, buckets: int, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        Stumps(features, buckets)
