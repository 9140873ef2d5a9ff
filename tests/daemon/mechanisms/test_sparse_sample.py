"""Sparse sampling: Lemma B on all tiny inputs, with proposals and vetoes, and what it excludes."""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.budget.events import SparseSelection
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.sparse_sample import BOTTOM_SCORE_MAX, SparseSample
from support.tails import weight_of

CANDIDATES, LIST_CAP = 3, 2
BOTTOM = "bottom"

# What one example does: (proposed, vetoed).
Behaviour = tuple[frozenset[int], frozenset[int]]
Outcome = int | str
Law = dict[Outcome, Fraction]


def subsets(most: int) -> list[frozenset[int]]:
    """Sets of at most `most` candidates."""
    sizes = (combinations(range(CANDIDATES), size) for size in range(most + 1))
    return [frozenset(each) for each in chain.from_iterable(sizes)]


NOTHING: frozenset[int] = frozenset()
PROPOSE = [(each, NOTHING) for each in subsets(LIST_CAP)]
VETO = [(NOTHING, each) for each in subsets(CANDIDATES) if each]
BEHAVIOURS: list[Behaviour] = [*PROPOSE, *VETO]


def offered(examples: Iterable[Behaviour]) -> dict[Outcome, int]:
    """Scores of the candidates with at least one proposal: proposals minus vetoes."""
    every = list(examples)
    return {
        candidate: sum((candidate in yes) - (candidate in no) for yes, no in every)
        for candidate in range(CANDIDATES)
        if any(candidate in yes for yes, _ in every)
    }


@lru_cache(maxsize=100_000)
def law(rate: Fraction, bottom: int, examples: tuple[Behaviour, ...]) -> Law:
    """Output law by the integer weights of the mechanism itself."""
    mechanism = ExponentialMechanism(rate)
    scores: dict[Outcome, int] = {BOTTOM: bottom, **offered(examples)}
    highest = max(scores.values())
    weights = {key: weight_of(mechanism.rate, highest - score) for key, score in scores.items()}
    return {key: Fraction(weight, sum(weights.values())) for key, weight in weights.items()}


def pairs(examples: int) -> Iterable[tuple[tuple[Behaviour, ...], tuple[Behaviour, ...]]]:
    """All neighbouring data sets with so many examples that differ in the last one.

    The others in any one order: scores are sums over examples.
    """
    for rest in combinations_with_replacement(BEHAVIOURS, examples - 1):
        for one, other in combinations(BEHAVIOURS, 2):
            yield (*rest, one), (*rest, other)


def conditioned(here: Law, there: Law) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
    """The larger mass outside the common support, and both laws conditioned on it."""
    common = [key for key in here if key in there]
    inside = [sum((each[key] for key in common), Fraction(0)) for each in (here, there)]
    both = [(here[key] / inside[0], there[key] / inside[1]) for key in common]
    return 1 - min(inside), both


def renyi(order: float, both: list[tuple[Fraction, Fraction]]) -> float:
    total = math.fsum(float(p) ** order * float(q) ** (1 - order) for p, q in both)
    return math.log(total) / (order - 1)


PARAMETERS = [(Fraction(1, 2), 2), (Fraction(1, 2), 8), (Fraction(2), 3), (Fraction(1, 9), 20)]


@pytest.mark.parametrize(("rate", "bottom"), PARAMETERS)
def test_lemma_b_holds_for_every_pair_of_neighbours(rate: Fraction, bottom: int) -> None:
    delta = SparseSelection(rate, LIST_CAP, bottom, 1, "zcdp").failure
    ranges, outside = [], []
    for one, other in pairs(2):
        mass, both = conditioned(law(rate, bottom, one), law(rate, bottom, other))
        ratios = [math.log(p / q) for p, q in both]
        ranges.append(max(ratios) - min(ratios))
        outside.append(mass)
        assert max(map(abs, ratios)) <= 2 * float(rate) + 1e-12
        for order in (1.05, 2.0, 8.0):
            assert renyi(order, both) <= order * float(rate) ** 2 / 2 + 1e-9
    assert max(ranges) == pytest.approx(2 * float(rate), abs=1e-12)
    assert 0 < max(outside) <= delta


@pytest.mark.parametrize(("rate", "bottom"), PARAMETERS[:2])
def test_a_draw_is_pure_at_twice_the_rate_up_to_delta(rate: Fraction, bottom: int) -> None:
    delta = float(SparseSelection(rate, LIST_CAP, bottom, 1, "pure").failure)
    factor = math.exp(2 * float(rate))
    for one, other in pairs(2):
        for here, there in ((one, other), (other, one)):
            first, second = law(rate, bottom, here), law(rate, bottom, there)
            excess = math.fsum(
                max(0.0, float(p) - factor * float(second.get(key, 0))) for key, p in first.items()
            )
            assert excess <= delta * (1 + 1e-12)


@pytest.mark.no_cover
def test_three_examples_change_nothing() -> None:
    rate, bottom = Fraction(1, 2), 4
    delta = SparseSelection(rate, LIST_CAP, bottom, 1, "zcdp").failure
    for one, other in pairs(3):
        mass, both = conditioned(law(rate, bottom, one), law(rate, bottom, other))
        assert mass <= delta
        ratios = [math.log(p / q) for p, q in both]
        assert max(ratios) - min(ratios) <= 2 * float(rate) + 1e-12


def test_the_bound_of_the_lost_mass_is_nearly_reached() -> None:
    rate, bottom = Fraction(1), 12
    lost = conditioned(
        law(rate, bottom, ((NOTHING, NOTHING), (frozenset({0, 1}), NOTHING))),
        law(rate, bottom, ((NOTHING, NOTHING), (NOTHING, NOTHING))),
    )[0]
    delta = SparseSelection(rate, LIST_CAP, bottom, 1, "zcdp").failure
    assert 0.999 * delta < lost <= delta


def test_an_example_that_proposes_and_vetoes_is_not_covered() -> None:
    rate = Fraction(1, 2)
    rest = (frozenset({0, 1}), NOTHING)
    one = (rest, (frozenset({0}), frozenset({1})))
    other = (rest, (frozenset({1}), frozenset({0})))
    _, both = conditioned(law(rate, 2, one), law(rate, 2, other))
    ratios = [math.log(p / q) for p, q in both]
    assert max(ratios) - min(ratios) > 3.9 * float(rate)


def test_lists_longer_than_the_cap_are_not_covered() -> None:
    rate, bottom = Fraction(1), 12
    delta = SparseSelection(rate, 2, bottom, 1, "zcdp").failure
    lost, _ = conditioned(
        law(rate, bottom, ((frozenset({0, 1, 2}), NOTHING),)),
        law(rate, bottom, ((NOTHING, NOTHING),)),
    )
    assert lost > delta


# -- the sampler ---------------------------------------------------------------------------------


def words_of(uniform: int) -> NDArray[np.uint64]:
    """The 256-bit integer as four words, lowest first."""
    return np.frombuffer(uniform.to_bytes(32, "little"), dtype="<u8").astype(np.uint64)


@given(st.lists(st.integers(-30, 30), max_size=6), st.integers(0, 2**256 - 1))
def test_bottom_is_one_more_candidate(scores: list[int], uniform: int) -> None:
    sparse = SparseSample(Fraction(1, 3), list_cap=4, bottom_score=7)
    drawn = sparse.sample(np.array(scores, dtype=np.int64), words_of(uniform))
    with_bottom = np.array([*scores, 7], dtype=np.int64)
    index = ExponentialMechanism(Fraction(1, 3)).sample(with_bottom, words_of(uniform))
    assert drawn == (None if index == len(scores) else index)


def test_without_candidates_bottom_is_certain() -> None:
    sparse = SparseSample(Fraction(1), list_cap=1, bottom_score=0)
    for uniform in (0, 2**255, 2**256 - 1):
        assert sparse.sample(np.zeros(0, dtype=np.int64), words_of(uniform)) is None


def check_draws(draws: int, seed: int) -> None:
    scores, rng = np.array([6, 5, 5, 0, -20], dtype=np.int64), np.random.default_rng(seed)
    sparse = SparseSample(Fraction(1, 2), list_cap=3, bottom_score=4)
    counts = np.zeros(6, dtype=np.int64)
    for _ in range(draws // 2_000):
        words = rng.integers(0, 2**64, (2_000, SparseSample.WORDS), dtype=np.uint64)
        drawn = (sparse.sample(scores, each) for each in words)
        counts += np.bincount([5 if each is None else each for each in drawn], minlength=6)
    for bottom, rate, fits in (
        (4, 0.5, True),
        (4, 0.75, False),
        (4, 1 / 3, False),
        (5, 0.5, False),
    ):
        weights = np.exp(rate * np.append(scores, bottom))
        # the last candidate is too rare for a class of its own
        observed = np.append(counts[[0, 1, 2, 5]], counts[3] + counts[4])
        expected = np.append(weights[[0, 1, 2, 5]], weights[3] + weights[4])
        p_value = chisquare(observed, expected / expected.sum() * draws).pvalue
        assert p_value > 1e-4 if fits else p_value < 1e-6


@pytest.mark.no_cover
def test_draws_follow_their_law_and_no_other() -> None:
    check_draws(8_000, seed=4)


@pytest.mark.campaign
def test_ten_million_draws_follow_their_law_and_no_other() -> None:
    check_draws(10_000_000, seed=5)


def test_precision_counts_bottom_as_a_candidate() -> None:
    sparse = SparseSample(Fraction(1), list_cap=1, bottom_score=3)
    assert sparse.total_variation(9) == ExponentialMechanism(Fraction(1)).total_variation(10)


@pytest.mark.parametrize(
    ("list_cap", "bottom", "sentence"),
    [
        (0, 3, "at least one candidate"),
        (1, -1, "from 0 to"),
        (1, BOTTOM_SCORE_MAX + 1, "from 0 to"),
    ],
)
def test_meaningless_parameters_are_refused(list_cap: int, bottom: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SparseSample(Fraction(1), list_cap=list_cap, bottom_score=bottom)


@pytest.mark.parametrize("scores", [np.zeros(2), np.zeros((2, 1), dtype=np.int64)])
def test_other_scores_are_refused(scores: NDArray[np.int64]) -> None:
    with pytest.raises(ValueError, match="scores of int64 in one dimension"):
        SparseSample(Fraction(1), list_cap=1, bottom_score=3).sample(scores, words_of(0))


def test_floats_are_rates_as_they_are_written_and_text_is_none() -> None:
    made = SparseSample(0.1, list_cap=1, bottom_score=3)  # type: ignore[arg-type]
    assert made == SparseSample(Fraction(1, 10), list_cap=1, bottom_score=3)
    with pytest.raises(TypeError, match="Fraction"):
        SparseSample("0.1", list_cap=1, bottom_score=3)  # type: ignore[arg-type]
