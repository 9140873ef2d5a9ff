"""All samplers side by side: every entry of their tables, their error bounds, and golden values.

Tables are checked against exact rationals or against intervals of integers with directed rounding,
which share no code with the mechanisms: exp by its alternating series. Golden values are for ever:
a journal must replay to the same bits, so a change of any of them is a change of the format.
Draws by the ten million are in the module of each mechanism.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate
from math import comb, factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.flips import toss
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.noisy_majority import NoisyMajority
from littled.mechanisms.powers import RATE_MIN, scaled_exponential
from littled.mechanisms.sparse_sample import SparseSample
from littled.mechanisms.stable_histogram import StableHistogram
from littled.mechanisms.subset import SIZE_WORDS, BernoulliSubset, _size_table
from littled.mechanisms.votes import PRECISION, VoteCoin
from support.tails import tail_of, weight_of

Words = NDArray[np.uint64]
# Integers (low, high) with low <= 2^BITS times the number <= high.
Interval = tuple[int, int]

BITS = 640
ONE = 1 << BITS
# Terms of a series whose argument is at most 1; 1 / 110! is below 2^-590.
TERMS = 110
RATES = [Fraction(1, 100), Fraction(1, 7), Fraction(1, 2), Fraction(22_937, 65_536), Fraction(3)]


# --- Intervals ------------------------------------------------------------------------------------


def times(one: Interval, other: Interval) -> Interval:
    """Of the product of two numbers that are not negative."""
    return one[0] * other[0] >> BITS, -(-one[1] * other[1] >> BITS)


def exponential(exponent: Fraction) -> Interval:
    """Of exp(-exponent), exponent > 0: partial sums of the alternating series lie on both sides."""
    halvings = max(0, exponent.numerator // exponent.denominator).bit_length() + 8
    small = exponent / (1 << halvings)
    sums = accumulate(
        ((-1) ** k * small.numerator**k << BITS) // (small.denominator**k * factorial(k))
        for k in range(TERMS)
    )
    *_, before, last = sums
    # each of the terms was rounded down by less than 1
    found = min(before, last), max(before, last) + TERMS
    for _ in range(halvings):
        found = times(found, found)
    return found


def powers(base: Interval) -> Iterator[Interval]:
    """Of base^0, base^1, base^2, ..."""
    found = ONE, ONE
    while True:
        yield found
        found = times(found, base)


def floor_of(interval: Interval, bits: int) -> int:
    """floor(2^bits times the number), where the interval is narrow enough to know it."""
    low, high = (end >> (BITS - bits) for end in interval)
    assert low == high, "the interval holds a multiple of 2^-bits"
    return low


def quotient(one: Interval, other: Interval) -> Interval:
    """Of the quotient of two positive numbers."""
    return (one[0] << BITS) // other[1], -((-one[1] << BITS) // other[0])


def odds_to_chance(odds: Interval) -> Interval:
    """Of x / (1 + x), which grows with x."""
    return (odds[0] << BITS) // (ONE + odds[0]), -((-odds[1] << BITS) // (ONE + odds[1]))


def fraction(end: int) -> Fraction:
    return Fraction(end, ONE)


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(5, 2), Fraction(100)])
def test_intervals_are_narrow_and_agree_with_the_powers_of_others(exponent: Fraction) -> None:
    low, high = exponential(exponent)
    assert 0 < low < high < low + (1 << 60)
    half = exponential(exponent / 2)
    square = times(half, half)
    assert max(low, square[0]) <= min(high, square[1])
    # (1 - x/n)^n < exp(-x) < (1 + x/n)^-n
    n = 4096
    assert fraction(high) > (1 - exponent / n) ** n
    assert fraction(low) < 1 / (1 + exponent / n) ** n


# --- Every entry of every table -------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
def test_every_weight_of_a_selection_is_the_floor_of_its_exponential(rate: Fraction) -> None:
    mechanism = ExponentialMechanism(rate)
    for distance, power in enumerate(powers(exponential(rate))):
        weight = weight_of(mechanism.rate, distance)
        assert weight == floor_of(power, 127)
        if not weight:
            break
    assert distance > 88 / float(rate)


def survival(rate: Fraction) -> Callable[[int], int]:
    """floor(2^64 P[Z >= gap]) for discrete Laplace noise Z."""
    base = exponential(rate)
    plus = ONE + base[0], ONE + base[1]
    tails = [0]
    for number, power in enumerate(powers(base)):
        if number:
            tails.append(floor_of(quotient(power, plus), 64))
            if not tails[-1]:
                break

    def at(gap: int) -> int:
        if gap > 0:
            return tails[min(gap, len(tails) - 1)]
        return 2**64 - 1 - at(1 - gap)

    return at


@pytest.mark.parametrize("rate", RATES)
def test_every_tail_decides_every_test_that_reads_it(rate: Fraction) -> None:
    """Above, both kinds of tests and histograms: yes for the last word below a tail, no from it."""
    exact, reach = survival(rate), DiscreteLaplace(rate).reach
    gaps = np.arange(-reach - 3, reach + 4, dtype=np.int64)
    tails = [exact(int(gap)) for gap in gaps]
    assert [tail_of(rate, int(gap)) for gap in gaps] == tails
    assert exact(reach) > 0 == exact(reach + 1)
    first = np.array(tails, dtype=np.uint64)
    last = np.array([max(each - 1, 0) for each in tails], dtype=np.uint64)
    histogram = StableHistogram(rate, 5)
    assert not len(histogram.passing(5 - gaps, first))
    assert histogram.passing(5 - gaps, last).tolist() == np.flatnonzero(first).tolist()
    for test in (AboveThreshold(rate), CohenLyuTest(rate)):
        assert test.first_above(gaps, first) is None
        for at in range(len(gaps)):
            fired = test.first_above(gaps[at : at + 1], last[at : at + 1])
            assert fired == (0 if tails[at] else None)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("voters", [1, 2, 9, 64])
def test_every_threshold_of_a_vote_is_within_its_bound(rate: Fraction, voters: int) -> None:
    coin, ones = VoteCoin(rate, voters), np.arange(voters + 1, dtype=np.int64)
    worst = Fraction(0)
    for count in range(voters + 1):
        lead, threshold = 2 * count - voters, Fraction(coin.threshold(count), 1 << 64)
        if not lead:
            assert threshold == Fraction(1, 2)
            continue
        ends = odds_to_chance(exponential(rate * abs(lead)))
        chances = [fraction(end) if lead < 0 else 1 - fraction(end) for end in ends]
        worst = max(worst, *(abs(threshold - chance) for chance in chances))
    assert PRECISION / 64 < worst <= PRECISION
    first = np.array([coin.threshold(int(each)) for each in ones], dtype=np.uint64)
    assert not coin.answers(ones, first).any()
    last = np.maximum(first, 1) - np.uint64(1)
    assert coin.answers(ones, last).tolist() == (first > 0).tolist()


@pytest.mark.parametrize(
    ("count", "rate"),
    [(1, Fraction(1, 3)), (64, Fraction(1, 2)), (500, Fraction(1, 50)), (300, Fraction(9, 10))],
)
def test_every_running_sum_of_a_subset_size_is_within_its_bound(count: int, rate: Fraction) -> None:
    subset = BernoulliSubset(count, rate)
    first, sums = _size_table(count, rate)
    inside, outside = rate.numerator, rate.denominator - rate.numerator
    whole = rate.denominator**count
    exact = list(
        accumulate(comb(count, m) * inside**m * outside ** (count - m) for m in range(count + 1))
    )
    bound = subset.total_variation
    assert not first or Fraction(exact[first - 1], whole) <= bound
    for place, entry in enumerate(sums):
        assert abs(Fraction(entry, 1 << 128) - Fraction(exact[first + place], whole)) <= bound
        # a size has the numbers from the sum before it up to its own
        uniform = np.array([entry % 2**64, entry >> 64], dtype=np.uint64)
        assert subset.size(uniform) == first + sum(each <= entry for each in sums)
    rest = 1 - Fraction(exact[min(first + len(sums), count)], whole)
    assert rest <= bound < Fraction(1, 1 << 110)


@pytest.mark.parametrize("rate", [RATE_MIN, *RATES])
def test_factors_of_products_are_lower_bounds_less_than_two_units_off(rate: Fraction) -> None:
    for exponent in (rate * (1 << level) for level in range(24)):
        if exponent > 200:  # no product has such a factor
            break
        low, high = exponential(exponent)
        factor = scaled_exponential(exponent, 256) << (BITS - 256)
        assert factor <= high
        assert low < factor + (2 << (BITS - 256))


@pytest.mark.campaign
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 4999)])
def test_every_entry_of_long_tables_is_exact(rate: Fraction) -> None:
    test_every_weight_of_a_selection_is_the_floor_of_its_exponential(rate)
    exact, noise = survival(rate), DiscreteLaplace(rate)
    for gap in range(-noise.reach - 1, noise.reach + 2):
        assert tail_of(noise.rate, gap) == exact(gap)


# --- Error bounds hold, and say something ---------------------------------------------------------


def last_with(magnitude: int, noise: DiscreteLaplace) -> int:
    """How many of the 2^191 numbers are sampled as more than this magnitude."""
    low, high = 0, 1 << 191
    while low < high:
        middle = (low + high) // 2
        words = np.frombuffer((2 * middle).to_bytes(24, "little"), dtype="<u8").astype(np.uint64)
        if noise.sample(words) <= magnitude:
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(3)])
def test_the_whole_law_of_a_noise_is_within_its_bound_and_hardly_closer(rate: Fraction) -> None:
    """The total variation, over every magnitude that a sample can have."""
    noise, base = DiscreteLaplace(rate), exponential(rate)
    plus = ONE + base[0], ONE + base[1]
    largest = noise.sample(np.zeros(3, dtype=np.uint64))
    powers_of = powers(base)
    tails = [quotient(next(powers_of), plus) for _ in range(largest + 2)]
    above = [Fraction(last_with(magnitude, noise), 1 << 191) for magnitude in range(largest + 1)]
    distance, before = Fraction(0), (Fraction(1), Fraction(1), Fraction(1))
    for magnitude, real in enumerate(above):
        low, high = (2 * fraction(each) for each in tails[magnitude + 1])
        # P[|Z| = magnitude], as it is and as it should be
        here, least, most = before[0] - real, before[1] - high, before[2] - low
        distance += max(abs(here - least), abs(here - most)) / 2
        before = real, low, high
    distance += before[2]
    assert distance <= noise.total_variation
    # the bound is one for all rates of a kind, and no more than some binary digits above the truth
    assert noise.total_variation < distance * (1 << 12)


@pytest.mark.parametrize("rate", RATES)
def test_bounds_are_small_beside_what_they_are_charged_with(rate: Fraction) -> None:
    """A million of everything stays below 2^-40."""
    million = 1_000_000
    for bound in (
        AboveThreshold(rate).precision_error(million),
        CohenLyuTest(rate).precision_error(million),
        million * DiscreteLaplace(rate).total_variation,
        million * ExponentialMechanism(rate).total_variation(million),
        million * SparseSample(rate, 3, 4).total_variation(million),
        StableHistogram(rate, 3).total_variation(million),
        million * BernoulliSubset(million, Fraction(1, 100)).total_variation,
        million * PRECISION,
    ):
        assert 0 < bound < Fraction(1, 1 << 40)


# --- Golden values --------------------------------------------------------------------------------

NOISE = KeyedNoise(bytes(range(32)))
HEAD = bytes(range(100, 132))
SCORES = np.array([4, 4, 3, 1, 0, -2, -9, 2], dtype=np.int64)
DRAWS = 400


def address(number: int) -> Address:
    return Address(HEAD, "flights/late", "select", 12_345 + number, number % 3)


def words(number: int, count: int) -> Words:
    return NOISE.words(address(number), count)


def majority(kind: str, number: int) -> int:
    made = NoisyMajority(Fraction(1, 5), 9, kind)  # type: ignore[arg-type]
    ones = number % 10
    return made.answer(ones, 9 - ones, words(number, made.words))


GAPS = np.arange(12, dtype=np.int64)[::-1].copy()
SAMPLERS: dict[str, Callable[[int], object]] = {
    "threshold noise": lambda n: AboveThreshold(Fraction(1, 10)).threshold_noise(words(n, 3)),
    "above threshold": lambda n: AboveThreshold(Fraction(1, 2)).first_above(GAPS, words(n, 12)),
    "cohen lyu": lambda n: CohenLyuTest(Fraction(1, 3)).first_above(GAPS, words(n, 12)),
    "discrete laplace": lambda n: DiscreteLaplace(Fraction(22_937, 65_536)).sample(words(n, 3)),
    "exponential": lambda n: ExponentialMechanism(Fraction(1, 2)).sample(SCORES, words(n, 4)),
    "flips": lambda n: int(toss(Fraction(1, 3), NOISE, address(n))),
    "majority, laplace": lambda n: majority("laplace", n),
    "majority, concentrated": lambda n: majority("concentrated", n),
    "sparse sample": lambda n: SparseSample(Fraction(1, 2), 3, 4).sample(SCORES, words(n, 4)),
    "stable histogram": lambda n: (
        StableHistogram(Fraction(1, 2), 3).passing(SCORES, words(n, 8)).tolist()
    ),
    "subset": lambda n: BernoulliSubset(20, Fraction(1, 5)).sample(NOISE, address(n)).tolist(),
    "large subset": lambda n: (
        BernoulliSubset(70_000, Fraction(1, 5000)).sample(NOISE, address(n)).tolist()
    ),
    "subset size": lambda n: BernoulliSubset(10**6, Fraction(1, 9)).size(words(n, SIZE_WORDS)),
    "votes": lambda n: VoteCoin(Fraction(1, 4), 12).answers(np.arange(13), words(n, 13)).tolist(),
}
GOLDEN: dict[str, tuple[str, str]] = {
    "threshold noise": ("-25", "2cbc9a9b27b086ac"),
    "above threshold": ("10", "d3e50d0adb1963c9"),
    "cohen lyu": ("10", "ccc55438df16c5d7"),
    "discrete laplace": ("-7", "19dea684ae5029a0"),
    "exponential": ("5", "2614e10e28519e7f"),
    "flips": ("0", "a1d76fb08f1764fe"),
    "majority, laplace": ("0", "c3d1643f020498d3"),
    "majority, concentrated": ("0", "bdb9a747fd32d1ff"),
    "sparse sample": ("5", "38135ea4edc82bc7"),
    "stable histogram": ("[0, 1, 2]", "427a4a3f995dbe4b"),
    "subset": ("[5]", "10296f9457c9cf84"),
    "large subset": (
        "[11627, 16030, 17775, 36649, 43765, 55292, 55436, 61872]", "831ab5204d19e953",
    ),
    "subset size": ("110550", "96dfd221bbf13feb"),
    "votes": ("[0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1]", "2e1e095cd516d1fd"),
}  # fmt: skip


def drawn(name: str) -> tuple[str, str]:
    """The first draw, and a digest of `DRAWS` of them."""
    found = [SAMPLERS[name](number) for number in range(DRAWS)]
    digest = blake2b(repr(found).encode(), digest_size=8).hexdigest()
    return repr(found[0]), digest


@pytest.mark.no_cover
@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_are_these_for_ever(name: str) -> None:
    assert drawn(name) == GOLDEN[name]
