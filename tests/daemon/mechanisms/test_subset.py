"""Random subsets: the exact law of their size, uniform sets of each size, the words they read."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.subset import SIZE_WORDS, BernoulliSubset

NOISE = KeyedNoise(bytes(range(32)))


def address(draw: int) -> Address:
    return Address(b"head", "s/l", "predict/subset", 3, draw)


class Given:
    """A source that gives these words and then counts up."""

    def __init__(self, words: list[int]) -> None:
        self.given = words

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        places = range(offset, offset + count)
        return np.array([self.given[i] if i < len(self.given) else i for i in places], np.uint64)


def size_words(uniform: int) -> NDArray[np.uint64]:
    return np.array([uniform % 2**64, uniform >> 64], dtype=np.uint64)


def law_of_size(draw: Callable[[int], int], low: int, high: int) -> dict[int, Fraction]:
    """Probability of every size when the uniform number has 128 bits; sizes rise with it."""
    starts, top = {draw(0): 0}, draw(2**128 - 1)
    for size in range(min(starts) + 1, top + 1):
        inside, outside = max(starts.values()), 2**128 - 1
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if draw(middle) < size else (inside, middle)
        starts[size] = outside
    assert low <= min(starts) <= top <= high
    ends = [*sorted(starts.values())[1:], 2**128]
    return {
        size: Fraction(end - start, 2**128)
        for (size, start), end in zip(sorted(starts.items()), ends, strict=True)
    }


@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1, 97)])
def test_the_law_of_the_size_is_binomial_up_to_its_bound(count: int, rate: Fraction) -> None:
    subset = BernoulliSubset(count, rate)
    law = law_of_size(lambda uniform: subset.size(size_words(uniform)), 0, count)
    ideal = [comb(count, m) * rate**m * (1 - rate) ** (count - m) for m in range(count + 1)]
    distance = sum(abs(law.get(m, Fraction(0)) - p) for m, p in enumerate(ideal)) / 2
    assert distance <= subset.total_variation < Fraction(1, 1 << 120)
    assert subset.size_max == max(law)


def test_sizes_of_a_large_window_follow_the_binomial_law() -> None:
    count, rate = 1_000_000, Fraction(1, 50)
    subset = BernoulliSubset(count, rate)
    rng = np.random.default_rng(5)
    sizes = [subset.size(rng.integers(0, 2**64, 2, dtype=np.uint64)) for _ in range(20_000)]
    # 140 is the standard deviation; the mean of 20,000 draws is within 6 of 0.99 of it
    assert abs(np.mean(sizes) - 20_000) < 6
    assert abs(np.std(sizes) - 140) < 5
    assert subset.size_max - 20_000 < 14 * 140
    assert subset.total_variation < Fraction(1, 1 << 106)


def check_sets(count: int, rate: Fraction, samples: int) -> None:
    subset = BernoulliSubset(count, rate)
    seen = Counter(tuple(subset.sample(NOISE, address(draw)).tolist()) for draw in range(samples))
    sets = [each for size in range(count + 1) for each in combinations(range(count), size)]
    law = [rate ** len(each) * (1 - rate) ** (count - len(each)) for each in sets]
    assert set(seen) <= set(sets)
    expected = np.array([float(p) * samples for p in law])
    assert chisquare([seen[each] for each in sets], expected).pvalue > 1e-4
    wrong = np.array([float(p) for p in reversed(law)]) * samples
    if rate != Fraction(1, 2):
        assert chisquare([seen[each] for each in sets], wrong).pvalue < 1e-6


@pytest.mark.no_cover
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)])
def test_every_set_has_its_probability(rate: Fraction) -> None:
    check_sets(5, rate, 10_000)


@pytest.mark.campaign
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)])
def test_every_set_has_its_probability_in_three_million_samples(rate: Fraction) -> None:
    check_sets(5, rate, 3_333_334)


@given(st.integers(0, 3000), st.fractions(0, 1), st.integers(0, 2**40))
def test_samples_are_distinct_rising_and_always_the_same(
    count: int, rate: Fraction, draw: int
) -> None:
    subset = BernoulliSubset(count, rate)
    indices = subset.sample(NOISE, address(draw))
    assert indices.dtype == np.int64
    assert len(indices) == subset.size(NOISE.words(address(draw), SIZE_WORDS)) <= subset.size_max
    assert bool((np.diff(indices) > 0).all())
    assert not len(indices) or (indices[0] >= 0 and indices[-1] < count)
    assert np.array_equal(indices, subset.sample(NOISE, address(draw)))


@pytest.mark.parametrize(
    ("count", "rate"),
    [(1 << 16, Fraction(1, 3)), ((1 << 16) + 1, Fraction(1, 200)), (70_000, Fraction(2, 3))],
)
def test_indices_are_spread_evenly_in_lanes_of_either_width(count: int, rate: Fraction) -> None:
    seen = np.zeros(16, dtype=np.int64)
    for draw in range(40):
        indices = BernoulliSubset(count, rate).sample(NOISE, address(draw))
        seen += np.bincount(indices * 16 // count, minlength=16)
    law = np.bincount(np.arange(count) * 16 // count) / count
    assert chisquare(seen, law * seen.sum()).pvalue > 1e-4


def test_values_drawn_before_and_values_too_large_are_dropped() -> None:
    # a size of 2 of 5, in lanes of 16 bits: 7 is too large, and 3 comes twice; no round uses more
    # values than are missing, so the next round begins with its own words
    subset = BernoulliSubset(5, Fraction(1, 2))
    two = next(u << 120 for u in range(256) if subset.size(size_words(u << 120)) == 2)
    rounds = [7 | 3 << 16 | 3 << 32 | 4 << 48, 0, 3 | 4 << 16, 0, 1 | 4 << 16, 0]
    source = Given([*(int(each) for each in size_words(two)), *rounds])
    assert subset.sample(source, address(0)).tolist() == [1, 3]


def test_a_round_without_any_index_is_followed_by_another() -> None:
    subset = BernoulliSubset(5, Fraction(1, 2))
    one = next(u << 120 for u in range(256) if subset.size(size_words(u << 120)) == 1)
    source = Given([*(int(each) for each in size_words(one)), 2**64 - 1, 2**64 - 1, 2])
    assert subset.sample(source, address(0)).tolist() == [2]


@pytest.mark.parametrize("count", [0, 1, 9])
def test_the_ends(count: int) -> None:
    for draw in range(5):
        assert not len(BernoulliSubset(count, Fraction(0)).sample(NOISE, address(draw)))
        whole = BernoulliSubset(count, Fraction(1)).sample(NOISE, address(draw))
        assert whole.tolist() == list(range(count))


@pytest.mark.parametrize(
    ("count", "rate", "sentence"),
    [
        (-1, Fraction(1, 2), "0 to 2\\^32 indices"),
        (2**32 + 1, Fraction(1, 2), "0 to 2\\^32 indices"),
        (3, Fraction(-1, 2), "from 0 to 1"),
        (3, Fraction(3, 2), "from 0 to 1"),
    ],
)
def test_other_parameters_are_refused(count: int, rate: Fraction, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        BernoulliSubset(count, rate)


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    assert BernoulliSubset(3, 0.1) == BernoulliSubset(3, Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        BernoulliSubset(3, "0.1")  # type: ignore[arg-type]
