"""Sets of tests that are drawn by the one that failed least: every weight, error and edge."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.mechanisms.set_sample import NONE, SetSample, WeighedSets, _table
from support.outcomes import sets

RATE = Fraction(1, 3)
GOLDEN = [((0, 1),), ((0, 1),), (), None, ((2, 1),), None, (), None]
COUNTS = np.array([[0, 2], [3, 1], [2, 2]], dtype=np.int64)
ODDS = np.array([[7, 300], [20, 0], [1, 5]], dtype=np.int64)


def words_of(mechanism: SetSample, odds: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 64, mechanism.words(odds), dtype=np.uint64)


def weight_of(drawn: tuple[tuple[int, int], ...], odds: Any) -> int:
    """The public weight of a set."""
    groups = dict(drawn)
    return prod(int(odds[i, groups[i]]) if i in groups else NONE for i in range(len(odds)))


@pytest.mark.no_cover
# Without doubt there are the same sets, and no bottom; weights without it are tested below.
@pytest.mark.parametrize("doubt", [pytest.param(0, marks=pytest.mark.long), 3])
def test_every_point_is_a_candidates(doubt: int) -> None:
    """With the weights 9, 4, 1 of scores 2, 1, 0: as many points as public weight times these."""
    counts = np.array([[0, 2], [1, 0]], dtype=np.int64)
    odds = np.array([[2, 3], [5, 1]], dtype=np.int64)
    weighed = WeighedSets.of(counts, odds, (9, 4, 1), doubt)
    found = Counter(weighed.at(point) for point in range(weighed.total))
    expected = Counter[Any]({None: doubt * (NONE + 5) * (NONE + 6)} if doubt else {})
    for one in product((None, 0, 1), repeat=2):
        drawn = tuple((group, test) for group, test in enumerate(one) if test is not None)
        score = min((int(counts[test]) for test in drawn), default=2)
        expected[drawn] = weight_of(drawn, odds) * (1, 4, 9)[score]
    assert found == expected


@settings(max_examples=60)
@given(
    st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=1, max_size=3),
    st.lists(st.tuples(*[st.integers(0, 400)] * 2), min_size=3, max_size=3),
    st.integers(0, 5),
)
def test_weights_are_those_of_the_law(counted: Any, odds: Any, doubt: int) -> None:
    """Of the candidates, and of a score that is the least count, or for the empty set the most."""
    counts = np.array(counted, dtype=np.int64)
    of = np.array(odds[: len(counted)], dtype=np.int64)
    mechanism = SetSample(RATE, 6, doubt)
    weighed = WeighedSets.of(counts, of, _table(RATE, 200, 6), doubt)
    law = dict(sets(mechanism, counts, of))
    assert sum(law.values()) <= 1 << 160
    low = weighed.bottom
    assert abs(Fraction(low, weighed.total) - Fraction(law.get(None, 0), 1 << 160)) < 1e-30
    for level, step, public in weighed.levels:
        assert step > 0
        assert public == prod((NONE + np.where(counts >= level, of, 0).sum(axis=1)).tolist())


def test_the_least_count_decides() -> None:
    """At a high rate nothing is drawn but tests of the greatest count; the others are in no set."""
    mechanism = SetSample(Fraction(60), 3, 1)
    for seed in range(30):
        drawn = mechanism.sample(COUNTS, ODDS, words_of(mechanism, ODDS, seed))
        assert drawn in ((), ((1, 0),))


def test_tests_without_odds_are_in_no_set() -> None:
    mechanism = SetSample(RATE, 3, 0)
    none = np.zeros_like(ODDS)
    assert mechanism.sample(COUNTS, none, words_of(mechanism, none, 0)) is None
    for seed in range(200):
        drawn = mechanism.sample(COUNTS, ODDS, words_of(mechanism, ODDS, seed))
        assert drawn is not None
        assert (1, 1) not in drawn


def test_replayed_draws_are_the_same_for_ever() -> None:
    mechanism = SetSample(RATE, 3, 1)
    drawn = [mechanism.sample(COUNTS, ODDS, words_of(mechanism, ODDS, seed)) for seed in range(8)]
    assert drawn == GOLDEN


def test_errors_are_bounded() -> None:
    assert SetSample(RATE, 3, 100).total_variation() == Fraction(1, 1 << 127)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SetSample(RATE, 0, 1), "end between 1 and 65536"),
        (lambda: SetSample(RATE, 3, -1), "weight of bottom"),
        (lambda: SetSample(Fraction(0), 3, 1), "a rate must be from"),
        (lambda: draw(COUNTS[:2], ODDS), "two tests a group"),
        (lambda: draw(COUNTS + 1, ODDS), "a count of a draw of sets is out of range"),
        (lambda: draw(COUNTS, -ODDS), "must be from 0 to 2"),
        (lambda: SetSample(RATE, 3, 1).sample(COUNTS, ODDS, np.zeros(1, np.uint64)), "as many as"),
    ],
)
def test_what_means_nothing_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def draw(counts: Any, odds: Any) -> Any:
    mechanism = SetSample(RATE, 3, 1)
    return mechanism.sample(counts, odds, words_of(mechanism, np.abs(odds), 0))
