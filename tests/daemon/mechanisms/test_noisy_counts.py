"""Noise on counts: the law of what is released, and how far from it the sampler may be."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.noisy_counts import NoisyCounts
from support.outcomes import ONE, laplace

TAIL_BITS = 20


def law_of(counts: tuple[int, ...], rate: Fraction) -> dict[tuple[int, ...], Fraction]:
    """How likely each release is, as the sampler makes it; what is rarer than 2^-20 is left out."""
    noise = laplace(rate, TAIL_BITS)
    found: dict[tuple[int, ...], Fraction] = {}
    for outcome in product(noise, repeat=len(counts)):
        released = tuple(count + z for count, (z, _) in zip(counts, outcome, strict=True))
        mass = Fraction(1)
        for _, share in outcome:
            mass *= Fraction(share, ONE)
        found[released] = found.get(released, Fraction(0)) + mass
    return found


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ((5,), (6,), 1),
        ((0,), (1,), 1),
        ((2, 3), (3, 2), 2),
        ((2, 3), (2, 4), 1),
        ((4, 4), (4, 4), 0),
    ],
)
def test_counts_cost_what_they_differ_by(
    rate: Fraction, one: tuple[int, ...], other: tuple[int, ...], apart: int
) -> None:
    here, there = law_of(one, rate), law_of(other, rate)
    bound = DiscreteLaplace(rate)
    ratio = max(here[z] / there[z] for z in here.keys() & there.keys())
    # P[z] is proportional to exp(-rate |z|)
    b = Fraction(*laplace_ratio(bound))
    assert ratio <= b**apart * Fraction(1001, 1000)
    assert ratio >= b**apart * Fraction(999, 1000), "it is not tight"


def laplace_ratio(noise: DiscreteLaplace) -> tuple[int, int]:
    """P[0] / P[1] of the sampler, which is exp(rate)."""
    law = dict(laplace(noise.rate, TAIL_BITS))
    return law[0], law[1]


def test_each_count_gets_a_noise_of_its_own_from_its_own_words() -> None:
    counts = NoisyCounts(Fraction(1, 2))
    words = KeyedNoise(bytes(32)).words(Address(bytes(32), "s/l", "quality", 7), 6).reshape(2, 3)
    noise = DiscreteLaplace(Fraction(1, 2))
    expected = 10 + noise.sample(words[0]), 20 + noise.sample(words[1])
    assert counts.released((10, 20), words) == expected
    assert counts.released((), words[:0]) == ()
    with pytest.raises(ValueError, match="2 counts takes 3 words for each"):
        counts.released((1, 2), words.reshape(3, 2))
    with pytest.raises(ValueError, match="1 counts"):
        counts.released((1,), words)


def test_precision_adds_up() -> None:
    counts = NoisyCounts(Fraction(1, 40))
    one = DiscreteLaplace(Fraction(1, 40)).total_variation
    assert counts.precision_error(0) == 0
    assert counts.precision_error(48) == 48 * one
    with pytest.raises(ValueError, match="negative"):
        counts.precision_error(-1)
    assert np.isfinite(float(one))
    with pytest.raises(ValueError, match="rate"):
        NoisyCounts(Fraction(0))
