"""Exact coins: digit by digit, every probability is the one that was asked for."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from littled.mechanisms.flips import toss
from littled.mechanisms.noise import Address, KeyedNoise

ADDRESS = Address(b"head", "s/l", "predict/flip", 3)


class Digits:
    """A source whose words are the digits of one uniform number, in base 2^64."""

    def __init__(self, *words: int) -> None:
        self.given = words
        self.read = 0

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        self.read = max(self.read, offset + count)
        return np.array(self.given[offset : offset + count], dtype=np.uint64)


@given(st.fractions(0, 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_toss_compares_a_uniform_number_with_the_probability(
    probability: Fraction, first: int, second: int
) -> None:
    uniform = Fraction((first << 64) + second, 1 << 128)
    # whatever the digits after these are, unless these are the probability's own
    if uniform <= probability < uniform + Fraction(1, 1 << 128):
        return
    assert toss(probability, Digits(first, second, 0), ADDRESS) == (uniform < probability)


@given(st.integers(1, 2**70), st.integers(2, 2**70))
def test_the_digits_of_the_probability_itself_are_read_on(part: int, whole: int) -> None:
    probability = Fraction(part % whole, whole)
    digits = [(probability.numerator << 64 * i) // probability.denominator % 2**64 for i in (1, 2)]
    source = Digits(*digits, 0, 0)
    said = toss(probability, source, ADDRESS)
    # the number so far is below or equal; with zeros to follow it is below, if anything is left
    assert said == ((probability.numerator << 128) % probability.denominator != 0)


@pytest.mark.parametrize("probability", [Fraction(1, 2), Fraction(3, 2**64), Fraction(1, 2**130)])
def test_a_dyadic_probability_is_exact(probability: Fraction) -> None:
    digits = [
        (probability.numerator << 64 * i) // probability.denominator % 2**64 for i in (1, 2, 3)
    ]
    assert not toss(probability, Digits(*digits), ADDRESS)
    last = max(i for i, digit in enumerate(digits) if digit)
    below = [*digits[:last], digits[last] - 1, *digits[last + 1 :]]
    assert toss(probability, Digits(*below), ADDRESS)


def test_certain_coins_read_nothing() -> None:
    source = Digits()
    assert toss(Fraction(1), source, ADDRESS)
    assert not toss(Fraction(0), source, ADDRESS)
    assert source.read == 0


def test_one_word_is_read_but_for_accidents() -> None:
    source = Digits(2**63, 0)
    assert not toss(Fraction(1, 3), source, ADDRESS)
    assert source.read == 1


def test_coins_follow_their_probability() -> None:
    noise = KeyedNoise(bytes(32))
    tosses = [
        toss(Fraction(1, 10), noise, Address(b"h", "s/l", "predict/flip", 1, draw))
        for draw in range(20_000)
    ]
    # the standard deviation is 42
    assert abs(sum(tosses) - 2000) < 170


@pytest.mark.campaign
@pytest.mark.parametrize("probability", [Fraction(1, 10), Fraction(1, 3)])
def test_ten_million_coins_follow_their_probability(probability: Fraction) -> None:
    count, ones, rng = 10_000_000, 0, np.random.default_rng(6)
    for _ in range(count // 100_000):
        words = rng.integers(0, 2**64, 100_000, dtype=np.uint64).tolist()
        ones += sum(toss(probability, Digits(word, 0), ADDRESS) for word in words)
    p = float(probability)
    assert chisquare([ones, count - ones], [p * count, (1 - p) * count]).pvalue > 1e-4
    # one in a hundred more would be seen
    p *= 1.01
    assert chisquare([ones, count - ones], [p * count, (1 - p) * count]).pvalue < 1e-6


@pytest.mark.parametrize("probability", [Fraction(-1, 3), Fraction(4, 3)])
def test_what_is_no_probability_is_refused(probability: Fraction) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        toss(probability, Digits(0), ADDRESS)


def test_a_float_is_a_probability_as_it_is_written_and_text_is_none() -> None:
    below = (1 << 64) // 10  # the first digits of one tenth; those of the float are larger
    assert toss(0.1, Digits(below - 1), ADDRESS)  # type: ignore[arg-type]
    assert not toss(0.1, Digits(below + 1), ADDRESS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Fraction"):
        toss("0.1", Digits(0), ADDRESS)  # type: ignore[arg-type]
