"""Learners of one chunk, and of many at once: every class against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.classes import table as table_module
from littled.classes.affine import AffineSubspaces
from littled.classes.chunks import chunk_votes
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from support.class_cases import SMALL, every_class
from support.labelings import Pairs, Small, examples, table

# Of every class; together they are many.
CASES = 10


@every_class
@settings(max_examples=CASES)
@given(pairs=st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 1)), max_size=20))
def test_a_rule_with_the_fewest_errors_is_learned(small: Small, pairs: Pairs) -> None:
    places, x, y = examples(small, pairs)
    rule = small.hypotheses.empirical_rule(x, y)
    said = small.says(rule)
    agreements = sum(said[p] == label for p, label in zip(places, y.tolist(), strict=True))
    assert agreements == small.agreements(places, y).max()
    assert said in {tuple(row) for row in small.matrix.tolist()}
    assert small.hypotheses.empirical_rule(x[::-1].copy(), y[::-1].copy()) == rule


@every_class
@settings(max_examples=CASES)
@given(
    numbered=st.lists(
        st.tuples(st.integers(0, 15), st.integers(0, 1), st.integers(0, 4)), max_size=30
    )
)
def test_many_chunks_learn_what_each_one_does(
    small: Small, numbered: list[tuple[int, int, int]]
) -> None:
    _, x, y = examples(small, [(place, label) for place, label, _ in numbered])
    numbers = np.array([number for _, _, number in numbered], dtype=np.int64)
    found = small.hypotheses.empirical_rules(x, y, numbers, 6)
    chunks = [numbers == number for number in range(6)]
    assert found == [small.hypotheses.empirical_rule(x[mine], y[mine]) for mine in chunks]


@every_class
@settings(max_examples=CASES)
@given(places=st.lists(st.integers(0, 15), max_size=8), most=st.integers(1, 400))
def test_votes_are_counted_at_every_point(small: Small, places: list[int], most: int) -> None:
    pairs = [(place, place % 2) for place in places]
    _, x, y = examples(small, pairs)
    first, other = small.hypotheses.first_rule(), small.hypotheses.empirical_rule(x, y)
    votes = small.hypotheses.ballot([first] * most + [other])(x)
    assert votes.dtype == np.int64
    expected = most * first.evaluate(x).astype(np.int64) + other.evaluate(x)
    assert votes.tolist() == expected.tolist()
    assert small.hypotheses.ballot([])(x).tolist() == [0] * len(x)


WIDE: list[HypothesisClass] = [
    *(Conjunctions(20), Conjunctions(100), AffineSubspaces(20, 2), AffineSubspaces(100, 3)),
]


@pytest.mark.parametrize("hypotheses", WIDE, ids=str)
@given(data=st.data())
def test_wide_classes_learn_a_consistent_rule_where_there_is_one(
    hypotheses: HypothesisClass, data: st.DataObject
) -> None:
    bits = 20 if hypotheses.point_type == "u32" else 100
    few = st.integers(0, 7).map(lambda p: p << (bits - 3) | p)
    positive = data.draw(st.lists(few, min_size=1, max_size=3))
    x = Small(hypotheses, positive, np.zeros((0, 0), dtype=bool)).column(range(len(positive)))
    target = hypotheses.empirical_rule(x, np.ones(len(x), dtype=np.uint8))
    assert target.evaluate(x).all()
    points = data.draw(st.lists(few | st.integers(0, 2**bits - 1), max_size=30))
    mixed = Small(hypotheses, points, np.zeros((0, 0), dtype=bool)).column(range(len(points)))
    y = target.evaluate(mixed)
    assert (hypotheses.empirical_rule(mixed, y).evaluate(mixed) == y).all()


def test_wide_conjunctions_with_errors_are_better_than_nothing() -> None:
    x = np.array([0b01, 0b11, 0b11, 0b00], dtype=np.uint32)
    contradicted = np.array([1, 1, 1, 1, 0], dtype=np.uint8)
    around = Conjunctions(20).empirical_rule(np.append(x, x[:1]), contradicted)
    assert around.evaluate(x).all()
    alone = Conjunctions(20).empirical_rule(np.array([1, 1, 1]), np.array([1, 0, 0], np.uint8))
    assert alone == Conjunctions(20).first_rule()


@given(size=st.sampled_from([16, 992]), cut=st.integers(0, 15), seed=st.integers(0, 100))
def test_thresholds_of_chunks_err_to_both_sides(size: int, cut: int, seed: int) -> None:
    x = (np.random.default_rng(seed).permutation(16) * (size // 16)).astype(np.uint16)
    target = size // 16 * cut + 1
    rule = Thresholds(size).empirical_rule(x, (x >= target).astype(np.uint8))
    # no point tells the thresholds from the target to the next point apart
    assert rule == Thresholds(size).rule((target + target - 1 + size // 16 + 1) // 2)


@pytest.mark.no_cover
@given(
    numbered=st.lists(
        st.tuples(st.integers(0, 15), st.integers(0, 1), st.integers(0, 4)), max_size=30
    )
)
def test_tables_learn_the_same_from_few_chunks_at_a_time(
    numbered: list[tuple[int, int, int]],
) -> None:
    (small,) = (small for small in SMALL if small.hypotheses == table(50, 130))
    assert isinstance(small.hypotheses, Table)
    _, x, y = examples(small, [(place, label) for place, label, _ in numbered])
    numbers = np.array([number for _, _, number in numbered], dtype=np.int64)
    expected = small.hypotheses.empirical_rules(x, y, numbers, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "_CELLS_MAX", 2 * 50)
        assert small.hypotheses.empirical_rules(x, y, numbers, 5) == expected


def test_tables_learn_from_a_chunk_too_large_for_narrow_counts() -> None:
    small = Table.from_matrix(["a", "b"], np.array([[False, True], [True, False]]))
    x = np.zeros(100_000, dtype=np.uint8)
    y = np.ones(100_000, dtype=np.uint8)
    assert small.empirical_rule(x, y) == small.rule(1)
    assert small.empirical_rule(x, 1 - y) == small.rule(0)


@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 1)), max_size=30)
)
def test_votes_of_chunks(values: list[tuple[int, int, int]]) -> None:
    chunk, value, y = (np.array([each[i] for each in values], dtype=np.int64) for i in range(3))
    found = chunk_votes(value, y.astype(np.uint8), chunk, 6)
    pairs = list(zip(found.chunk.tolist(), found.value.tolist(), strict=True))
    assert pairs == sorted({each[:2] for each in values})
    expected = [sum(2 * label - 1 for *pair, label in values if tuple(pair) == p) for p in pairs]
    assert found.votes.tolist() == expected
    best = found.best(found.votes, 4).tolist()
    for number in range(4):
        mine = [place for place, pair in enumerate(pairs) if pair[0] == number]
        most = [p for p in mine if expected[p] == max(expected[q] for q in mine)]
        assert best[number] == (most[(len(most) - 1) // 2] if most else -1)
