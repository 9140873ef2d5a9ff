"""The benchmark of one-way sequences: its laws, its search, and learners that follow in order."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.separation import literal
from benchmarks.separation.ordering import Forward, follow, halving
from benchmarks.separation.sampling import (
    GRID,
    LAWS,
    NEAR,
    indices,
    least,
    missed,
    parameters,
    real,
    strings,
    succeeds,
)
from littled_protocol.rules.sequences import leaf_of


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("bits", [16, 128])
def test_what_is_missed_is_the_share_below_an_index(law: str, bits: int) -> None:
    found = sorted(indices(np.random.default_rng(1), bits, law, 4000))
    assert 0 <= found[0] <= found[-1] < 1 << bits
    coins = np.arange(NEAR) % 2 == 0
    assert missed(bits, law, found[2000], coins) == pytest.approx(0.9 / 2 / 2, abs=0.02)
    assert missed(bits, law, 1 << bits, coins) == pytest.approx(0.45, abs=0.01)


def test_a_tenth_of_the_strings_is_forged_and_has_the_label_0() -> None:
    seed = bytes(range(16))
    x, y = strings(np.random.default_rng(1), seed, 8, "even", 500)
    honest = np.array([bytes(row[1:]) == leaf_of(seed, int(row[0]), 8).sigma for row in x])
    assert 20 < (~honest).sum() < 90
    assert not y[~honest].any()


@pytest.mark.long
def test_large_windows_succeed_and_small_ones_do_not_as_on_real_strings() -> None:
    rank = Fraction(3, 4)
    assert parameters(16, "stable", 60, rank) is None
    for n, good in ((GRID[-40], True), (200, False)):
        assert succeeds(16, "even", "exponential", rank, n, 1) == good
    assert real(16, "near", "exponential", rank, 1500, 1)
    found = least(16, "even", "exponential", rank, 5)
    assert 300 < found < 1500


def test_forward_order_is_easy_and_reverse_order_is_not() -> None:
    easy, hard = follow(16, "forward", 300), follow(16, "reverse", 300)
    assert easy.mistakes["computes forward"] <= 1
    assert 110 < hard.mistakes["computes forward"] < 190
    assert hard.course[-1] == hard.mistakes["computes forward"]
    assert 110 < hard.mistakes["logistic regression"] < 190


def test_halving_makes_at_most_as_many_mistakes_as_seeds_have_bits() -> None:
    found = halving(5, 32)
    assert found.seeds == 32
    assert found.most <= 5


def test_a_learner_that_computes_forward_is_told_nothing_by_bits() -> None:
    learner = Forward(np.random.default_rng(0), 8)
    seed = bytes(16)
    learner.learn(9, leaf_of(seed, 9, 8).sigma, 0)
    learner.learn(200, leaf_of(seed, 200, 8).sigma, 1)
    assert [learner.predict(i, b"") for i in range(10, 40)] == [
        leaf_of(seed, i, 8).bit for i in range(10, 40)
    ]


def test_the_printed_algorithm_needs_examples_for_every_bit_of_a_pair() -> None:
    """At k = kappa = 16 it fails where it would do if Freq_pure cost k bits (Bun, Theorem 16)."""
    few = literal.least(16, 16, 10)
    assert few < 20_000
    assert sum(literal.succeeds(16, 257, few, run) for run in range(10)) == 0
    assert sum(literal.succeeds(16, 257, 60_000, run) for run in range(10)) >= 9
