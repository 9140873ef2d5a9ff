"""Lemma D: kappa as a supremum, hockey-stick divergences of exact laws, and the vector path."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.budget.events import CohenLyuStageTest, CohenLyuTrigger, TriggerSeason
from littled.budget.prices import kappa_upper, price
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from support.tails import tail_of

Law = NDArray[np.float64]

STEPS = 8
# All sequences of counts with steps of 0 and 1: (256, 8).
COUNTS = np.cumsum(np.array(list(product((0, 1), repeat=STEPS))), axis=1)
RATES = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)]


def above(rate: Fraction, gaps: NDArray[np.int64]) -> Law:
    """P[nu >= gap] for nu discrete Laplace, from its formula."""
    a = np.exp(-float(rate))
    tail = a ** np.abs(np.where(gaps > 0, gaps, 1 - gaps)) / (1 + a)
    found: NDArray[np.float64] = np.where(gaps > 0, tail, 1 - tail)
    return found


def position_law(chances: Law) -> Law:
    """P[the first end is at step t] and P[no end], for rows of P[end at t]: (rows, steps + 1)."""
    on = np.cumprod(1 - chances, axis=1)
    before = np.concatenate((np.ones_like(on[:, :1]), on[:, :-1]), axis=1)
    return np.concatenate((before * chances, on[:, -1:]), axis=1)


def failure_mass(here: Law, there: Law, epsilon: float) -> float:
    """The largest hockey-stick divergence of a row: the least delta at this epsilon."""
    return float(np.maximum(here - np.exp(epsilon) * there, 0).sum(axis=1).max())


def trigger_law(rate: Fraction, threshold: int) -> Callable[[NDArray[np.int64]], Law]:
    return lambda queries: position_law(above(rate, threshold - queries))


def constant_changes(steps: int) -> NDArray[np.int64]:
    """c from step t* on, for every t* and both signs."""
    rows = [c * (np.arange(steps) >= start) for start in range(steps) for c in (-1, 1)]
    return np.array(rows, dtype=np.int64)


# --- kappa ----------------------------------------------------------------------------------------


@pytest.mark.no_cover
@pytest.mark.parametrize("rate", [Fraction(1, 1000), *RATES, Fraction(12)])
def test_kappa_is_the_largest_loss_of_going_on_per_hazard(rate: Fraction) -> None:
    """With 4000 bits: no gap exceeds it, gap 1 reaches it, the price's bound is just above."""
    with mpmath.workprec(4000):
        e = mpmath.mpf(rate.numerator) / rate.denominator
        a = mpmath.exp(-e)

        def below(gap: int) -> mpmath.mpf:
            return 1 - a**gap / (1 + a) if gap >= 1 else a ** (1 - gap) / (1 + a)

        losses = {
            g: mpmath.log(below(g) / below(g - 1)) / -mpmath.log(below(g)) for g in range(-40, 41)
        }
        kappa = e / mpmath.log(1 + a)
        tiny = mpmath.mpf(2) ** -200
        assert max(losses, key=losses.__getitem__) == 1
        assert abs(losses[1] - kappa) < tiny * kappa
        # it falls to both sides of gap 1, as the proof says
        ordered = [losses[g] for g in range(1, 41)]
        assert all(x > y - tiny for x, y in pairwise(ordered))
        bound = kappa_upper(rate)
        assert (
            kappa
            <= mpmath.mpf(bound.numerator) / bound.denominator
            <= kappa * (1 + mpmath.mpf(10) ** -40)
        )


@pytest.mark.parametrize("rate", RATES)
def test_above_and_below_are_mirrored(rate: Fraction) -> None:
    gaps = np.arange(-30, 31)
    assert np.allclose(above(rate, gaps), 1 - above(rate, 1 - gaps), rtol=1e-12)
    table = np.array([tail_of(rate, int(g)) / 2**64 for g in gaps])
    assert np.allclose(above(rate, gaps), table, atol=1e-15)


# --- the trigger ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("failure", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_fires_cost_what_the_event_says(rate: Fraction, failure: Fraction) -> None:
    """All sequences, every t*, both neighbours: the hockey-stick divergence is at most f."""
    cost = price(CohenLyuTrigger(rate, failure))
    epsilon, worst = float(cost.epsilon_pure), 0.0
    for threshold in (-4, 0, 1, 2, 4, 8):
        law = trigger_law(rate, threshold)
        here = law(COUNTS)
        for change in constant_changes(STEPS):
            worst = max(worst, failure_mass(here, law(COUNTS + change), epsilon))
    assert worst <= float(cost.delta) + 1e-12


def flat_failure(rate: Fraction, gap: int, steps: int, epsilon: float) -> float:
    """The least delta for `steps` equal gaps, all smaller by 1 for the neighbour."""
    gaps = np.full((1, steps), gap)
    here, there = (position_law(above(rate, each)) for each in (gaps, gaps - 1))
    return failure_mass(here, there, epsilon)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("gap", [1, 3, 6])
def test_long_waits_stay_within_the_price(rate: Fraction, gap: int) -> None:
    """While nothing fires, every step costs in proportion to its hazard, up to kappa times it."""
    failure = Fraction(1, 1000)
    epsilon = float(price(CohenLyuTrigger(rate, failure)).epsilon_pure)
    steps = 2 * int(np.log(1000) / float(above(rate, np.array([gap]))[0])) + 8
    assert flat_failure(rate, gap, min(steps, 20_000), epsilon) <= float(failure)


@pytest.mark.parametrize("rate", RATES)
def test_waits_at_gap_one_use_most_of_the_price(rate: Fraction) -> None:
    failure = Fraction(1, 10**6)
    less = 0.75 * float(price(CohenLyuTrigger(rate, failure)).epsilon_pure)
    reached = max(flat_failure(rate, 1, steps, less) for steps in range(1, 300))
    assert reached > float(failure)


def test_a_trigger_for_the_price_of_the_other_variant_is_caught() -> None:
    rate = Fraction(1, 2)
    cheap = float(price(TriggerSeason(rate)).epsilon_pure)
    assert flat_failure(rate, 1, 200, cheap) > 0.1


def test_the_failure_mass_is_needed() -> None:
    """Without it no finite epsilon holds: the longer nothing fires, the more it says."""
    rate, gaps = Fraction(1), np.full((1, 400), 3)
    here, there = (position_law(above(rate, each)) for each in (gaps, gaps - 1))
    assert float(np.log(here[0, -1] / there[0, -1])) > 10


@given(
    drops=st.lists(st.integers(0, 1), min_size=1, max_size=25),
    start=st.integers(0, 24),
    threshold=st.integers(-5, 25),
    rate=st.sampled_from(RATES),
    exponent=st.integers(1, 12),
)
def test_no_sequence_exceeds_the_price(
    drops: list[int], start: int, threshold: int, rate: Fraction, exponent: int
) -> None:
    cost = price(CohenLyuTrigger(rate, Fraction(1, 2**exponent)))
    queries = np.cumsum(drops)[None, :]
    change = (np.arange(len(drops)) >= start).astype(np.int64)
    law = trigger_law(rate, threshold)
    for first, second in ((queries, queries + change), (queries + change, queries)):
        mass = failure_mass(law(first), law(second), float(cost.epsilon_pure))
        assert mass <= float(cost.delta) + 1e-12


# --- segments of stage tests ----------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("failure", [Fraction(1, 2), Fraction(1, 50)])
def test_segments_cost_what_the_event_says(rate: Fraction, failure: Fraction) -> None:
    """Five tests, gaps of every size, changes of -1, 0 and 1 in any order."""
    steps = 5
    cost = price(CohenLyuStageTest(rate, failure))
    gaps = np.array(list(product((-6, -1, 0, 1), repeat=steps)))
    here, worst = position_law(1 - above(rate, gaps)), 0.0
    for change in product((-1, 0, 1), repeat=steps):
        there = position_law(1 - above(rate, gaps + np.array(change)))
        worst = max(worst, failure_mass(here, there, float(cost.epsilon_pure)))
    assert worst <= float(cost.delta) + 1e-12


@pytest.mark.parametrize("rate", RATES)
def test_a_segment_loses_both_of_its_terms(rate: Fraction) -> None:
    """Above at a falling count costs kappa times its hazard, Below at a risen one e on top."""
    gaps, hazard = np.array([[0, 0]]), float(np.log1p(np.exp(-float(rate))))
    here = position_law(1 - above(rate, gaps))
    there = position_law(1 - above(rate, gaps + np.array([[1, -1]])))
    loss = float(np.log(here[0, 1] / there[0, 1]))
    assert loss == pytest.approx(float(rate) + float(kappa_upper(rate)) * hazard)
    assert loss > 1.9 * max(float(rate), float(kappa_upper(rate)) * hazard)


# --- the vector path ------------------------------------------------------------------------------

GAPS = st.one_of(st.integers(-60, 60), st.integers(-(2**63), 2**63 - 1))
WORDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 2, 2**64 - 1]))


@given(
    st.lists(st.tuples(GAPS, WORDS), max_size=12), st.sampled_from([Fraction(1, 2), Fraction(3)])
)
def test_vectors_agree_with_the_definition(steps: list[tuple[int, int]], rate: Fraction) -> None:
    noise = DiscreteLaplace(rate)
    first = next(
        (i for i, (gap, word) in enumerate(steps) if word < tail_of(noise.rate, gap)), None
    )
    gaps = np.array([gap for gap, _ in steps], dtype=np.int64)
    words = np.array([word for _, word in steps], dtype=np.uint64)
    assert CohenLyuTest(rate).first_above(gaps, words) == first


def check_fires(epochs: int, seed: int) -> None:
    rate, rng = Fraction(1, 2), np.random.default_rng(seed)
    queries = np.arange(STEPS) // 2
    test, counts = CohenLyuTest(rate), np.zeros(STEPS + 1, dtype=np.int64)
    for start in range(0, epochs, 100_000):
        size = min(100_000, epochs - start)
        for row in rng.integers(0, 2**64, (size, STEPS), dtype=np.uint64):
            fired = test.first_above(3 - queries, row)
            counts[STEPS if fired is None else fired] += 1
    law = position_law(above(rate, (3 - queries)[None, :]))[0]
    assert chisquare(counts, law * epochs).pvalue > 1e-4
    other = position_law(above(rate * 3 / 2, (3 - queries)[None, :]))[0]
    assert chisquare(counts, other * epochs).pvalue < 1e-6


@pytest.mark.no_cover
def test_fires_follow_their_exact_law() -> None:
    check_fires(30_000, seed=3)


@pytest.mark.campaign
def test_ten_million_epochs_follow_their_exact_law() -> None:
    check_fires(10_000_000, seed=4)


def test_precision_error_counts_every_step_and_nothing_else() -> None:
    test = CohenLyuTest(Fraction(1, 2))
    assert test.precision_error(0) == 0
    assert test.precision_error(1 << 20) == Fraction(1, 1 << 44)
    with pytest.raises(ValueError, match="negative"):
        test.precision_error(-1)


def test_beyond_its_reach_no_word_is_above() -> None:
    test, zeros = CohenLyuTest(Fraction(1)), np.zeros(2, dtype=np.uint64)
    assert test.first_above(np.full(2, test.reach + 1), zeros) is None
    assert test.first_above(np.array([test.reach + 1, test.reach]), zeros) == 1


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    assert CohenLyuTest(0.1) == CohenLyuTest(Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        CohenLyuTest("0.1")  # type: ignore[arg-type]
