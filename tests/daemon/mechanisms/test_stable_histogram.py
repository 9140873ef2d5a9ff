"""Stable histograms: Lemma E on all tiny inputs, its constants reached, and what it excludes."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.budget.events import HistogramSelection
from littled.budget.prices import price
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.stable_histogram import THRESHOLD_MAX, StableHistogram
from support.tails import tail_of

CANDIDATES = 3
# What one example does: a candidate and +1 for a vote, -1 for a veto; or nothing.
Behaviour = tuple[int, int] | None
Outcome = frozenset[int]
Law = dict[Outcome, Fraction]

VOTES: list[Behaviour] = [None, *((candidate, 1) for candidate in range(CANDIDATES))]
VETOES: list[Behaviour] = [*VOTES, *((candidate, -1) for candidate in range(CANDIDATES))]


def scored(examples: Iterable[Behaviour]) -> dict[int, int]:
    """Scores of the candidates with at least one vote."""
    every = [each for each in examples if each is not None]
    return {
        candidate: sum(sign for mine, sign in every if mine == candidate)
        for candidate in range(CANDIDATES)
        if (candidate, 1) in every
    }


@cache
def survival(rate: Fraction, gap: int) -> Fraction:
    """P[nu >= gap] as the mechanism has it."""
    return Fraction(tail_of(rate, gap), 1 << 64)


@cache
def law(rate: Fraction, threshold: int, scores: tuple[tuple[int, int], ...]) -> Law:
    """Law of the set that passes, for given scores."""
    found: Law = {}
    for bits in product((0, 1), repeat=len(scores)):
        mass = Fraction(1)
        for (_, score), bit in zip(scores, bits, strict=True):
            chance = survival(rate, threshold - score)
            mass *= chance if bit else 1 - chance
        passed = frozenset(each for (each, _), bit in zip(scores, bits, strict=True) if bit)
        found[passed] = found.get(passed, Fraction(0)) + mass
    return found


def law_of(rate: Fraction, threshold: int, examples: Iterable[Behaviour]) -> Law:
    return law(rate, threshold, tuple(scored(examples).items()))


def pairs(
    does: list[Behaviour], examples: int
) -> Iterator[tuple[tuple[Behaviour, ...], tuple[Behaviour, ...]]]:
    """All neighbouring data sets of so many examples that differ in the last one."""
    for rest in product(does, repeat=examples - 1):
        for one, other in combinations(does, 2):
            yield (*rest, one), (*rest, other)


def conditioned(here: Law, there: Law) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
    """The larger mass outside of what both can say, and both laws given that they say it."""
    common = [key for key in here if key in there]
    inside = [sum((each[key] for key in common), Fraction(0)) for each in (here, there)]
    return 1 - min(inside), [(here[key] / inside[0], there[key] / inside[1]) for key in common]


def renyi(order: float, both: list[tuple[Fraction, Fraction]]) -> float:
    total = math.fsum(float(p) ** order * float(q) ** (1 - order) for p, q in both)
    return math.log(total) / (order - 1)


@pytest.mark.no_cover
@pytest.mark.parametrize(("does", "change"), [(VOTES, 1), (VETOES, 2)])
@pytest.mark.parametrize(("rate", "threshold"), [(Fraction(1, 2), 2), (Fraction(1, 9), 3)])
def test_lemma_e_holds_for_every_pair_of_neighbours(
    does: list[Behaviour], change: int, rate: Fraction, threshold: int
) -> None:
    event = HistogramSelection(rate, threshold, change, "zcdp")
    losses, outside, seen = [], [], set()
    for one, other in pairs(does, 3 if change == 2 else 4):
        scores = tuple(scored(one).items()), tuple(scored(other).items())
        if scores in seen:
            continue
        seen.add(scores)
        mass, both = conditioned(*(law(rate, threshold, each) for each in scores))
        losses.append(max(abs(math.log(p / q)) for p, q in both))
        outside.append(mass)
        for order in (1.05, 2.0, 8.0):
            for each in (both, [(q, p) for p, q in both]):
                assert renyi(order, each) <= order * float(price(event).rho) + 1e-9
    assert max(losses) == pytest.approx(2 * float(rate), abs=1e-12)
    assert 0 < max(outside) <= event.failure


def test_the_constant_2e_is_reached() -> None:
    """From scores B and B - 1 to B - 1 and B: the first passes and the second does not."""
    rate, threshold = Fraction(1, 7), 5
    here = law(rate, threshold, ((0, threshold), (1, threshold - 1)))
    there = law(rate, threshold, ((0, threshold - 1), (1, threshold)))
    outcome = frozenset({0})
    loss = math.log(here[outcome] / there[outcome])
    assert loss == pytest.approx(2 * float(rate), abs=1e-12)


def test_one_score_that_changes_by_two_costs_more_zcdp_than_two_that_change_by_one() -> None:
    rate, threshold = Fraction(1, 20), 4
    apart = law(rate, threshold, ((0, 3),)), law(rate, threshold, ((0, 5),))
    _, both = conditioned(*apart)
    worst = renyi(1.05, both) / 1.05
    prices = [price(HistogramSelection(rate, threshold, each, "zcdp")).rho for each in (1, 2)]
    assert float(prices[0]) < worst <= float(prices[1])


@pytest.mark.parametrize("threshold", [2, 3, 12])
def test_the_failure_mass_is_what_one_vote_alone_shows(threshold: int) -> None:
    rate = Fraction(2, 3)
    mass, _ = conditioned(law(rate, threshold, ((0, 1),)), law(rate, threshold, ()))
    failure = HistogramSelection(rate, threshold, 1, "pure").failure
    assert 0 <= failure - mass < Fraction(1, 1 << 60)


def test_pure_prices_hold_up_to_delta() -> None:
    rate, threshold = Fraction(1, 2), 4
    delta = HistogramSelection(rate, threshold, 2, "pure").failure
    factor = math.exp(2 * float(rate))
    for one, other in pairs(VETOES, 3):
        for here, there in ((one, other), (other, one)):
            first, second = law_of(rate, threshold, here), law_of(rate, threshold, there)
            excess = math.fsum(
                max(0.0, float(p) - factor * float(second.get(key, 0))) for key, p in first.items()
            )
            assert excess <= float(delta) * (1 + 1e-9)


def test_an_example_that_votes_twice_is_not_covered() -> None:
    rate, threshold = Fraction(1, 2), 3
    here = law(rate, threshold, ((0, 3), (1, 3), (2, 2)))
    there = law(rate, threshold, ((0, 2), (1, 2), (2, 3)))
    assert max(abs(math.log(here[key] / there[key])) for key in here) > 2.9 * float(rate)


# -- the sampler ---------------------------------------------------------------------------------


@given(
    scores=st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-60, 90), max_size=8),
    threshold=st.integers(0, 40) | st.just(THRESHOLD_MAX),
    data=st.data(),
)
def test_a_candidate_passes_iff_its_word_is_below_its_chance(
    scores: list[int], threshold: int, data: st.DataObject
) -> None:
    rate = Fraction(1, 2)
    words = data.draw(
        st.lists(st.integers(0, (1 << 64) - 1), min_size=len(scores), max_size=len(scores))
    )
    found = StableHistogram(rate, threshold).passing(
        np.array(scores, dtype=np.int64), np.array(words, dtype=np.uint64)
    )
    noise = DiscreteLaplace(rate)
    expected = [
        index
        for index, (score, word) in enumerate(zip(scores, words, strict=True))
        if word < tail_of(noise.rate, threshold - score)
    ]
    assert found.tolist() == expected
    assert found.dtype == np.int64


def test_what_is_far_away_is_certain() -> None:
    histogram = StableHistogram(Fraction(1), 30)
    scores = np.array([30 - histogram.reach - 1, 30 + histogram.reach + 1], dtype=np.int64)
    for word in (0, 2**63, 2**64 - 2):
        assert histogram.passing(scores, np.full(2, word, dtype=np.uint64)).tolist() == [1]


def test_without_candidates_nothing_passes() -> None:
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    assert len(StableHistogram(Fraction(1), 3).passing(*nothing)) == 0


def check_bits(draws: int, seed: int) -> None:
    scores, rng = np.array([3, 6, 8], dtype=np.int64), np.random.default_rng(seed)
    histogram = StableHistogram(Fraction(1, 2), 6)
    counts, many = np.zeros(8, dtype=np.int64), np.tile(scores, 10_000)
    for _ in range(draws // 10_000):
        # ten thousand histograms side by side
        words = rng.integers(0, 2**64, len(many), dtype=np.uint64)
        bits = np.zeros(len(many), dtype=np.int64)
        bits[histogram.passing(many, words)] = 1
        counts += np.bincount(bits.reshape(-1, 3) @ np.array([1, 2, 4]), minlength=8)
    for rate, threshold, fits in ((0.5, 6, True), (0.55, 6, False), (0.5, 7, False)):
        a = math.exp(-rate)
        chances = [
            a**gap / (1 + a) if gap > 0 else 1 - a ** (1 - gap) / (1 + a)
            for gap in (threshold - int(score) for score in scores)
        ]
        expected = [
            math.prod(p if number >> i & 1 else 1 - p for i, p in enumerate(chances))
            for number in range(8)
        ]
        p_value = chisquare(counts, np.array(expected) * draws).pvalue
        assert p_value > 1e-4 if fits else p_value < 1e-6


def test_bits_follow_their_law_and_no_other() -> None:
    check_bits(40_000, seed=4)


@pytest.mark.campaign
def test_ten_million_histograms_follow_their_law_and_no_other() -> None:
    check_bits(10_000_000, seed=5)


def test_precision_is_counted_by_candidate() -> None:
    histogram = StableHistogram(Fraction(1), 3)
    assert histogram.total_variation(9) == 9 * Fraction(1, 1 << 64)
    a = math.exp(-1)
    for gap in range(-3, 5):
        ideal = a**gap / (1 + a) if gap > 0 else 1 - a ** (1 - gap) / (1 + a)
        assert float(survival(Fraction(1), gap)) == pytest.approx(ideal, abs=1e-15)
    with pytest.raises(ValueError, match="cannot be negative"):
        histogram.total_variation(-1)


@pytest.mark.parametrize("threshold", [-1, THRESHOLD_MAX + 1])
def test_meaningless_thresholds_are_refused(threshold: int) -> None:
    with pytest.raises(ValueError, match="from 0 to"):
        StableHistogram(Fraction(1), threshold)


@pytest.mark.parametrize(
    ("scores", "words", "sentence"),
    [
        (np.zeros(2), np.zeros(2, dtype=np.uint64), "scores of int64"),
        (np.zeros(2, dtype=np.int64), np.zeros(2), "words of uint64"),
        (np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.uint64), "one word for each score"),
        (np.zeros((1, 1), np.int64), np.zeros((1, 1), np.uint64), "in one dimension"),
    ],
)
def test_other_arrays_are_refused(
    scores: NDArray[np.int64], words: NDArray[np.uint64], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        StableHistogram(Fraction(1), 3).passing(scores, words)


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    assert StableHistogram(0.1, 3) == StableHistogram(Fraction(1, 10), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        StableHistogram("0.1", 3)  # type: ignore[arg-type]
