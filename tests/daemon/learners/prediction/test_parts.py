"""Parts of all predictors: addresses of noise, chunks and votes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from littled.learners.prediction.parts import check_window, chunk_rules, draws
from littled.mechanisms.noise import Address, KeyedNoise, Purpose
from support.rows import Rows, all_rows

NOISE = KeyedNoise(bytes(32))
ADDRESS = Address(b"head", "s/l", "predict", 4, 10)
CLASS = Rows(all_rows(2))


def test_every_answer_and_purpose_has_an_address_of_its_own() -> None:
    made = list(draws(NOISE, ADDRESS, 3))
    purposes: tuple[Purpose, ...] = ("predict/subset", "predict/flip")
    addresses = {draw.at(purpose) for draw in made for purpose in purposes}
    assert len(addresses) == 6
    assert {each.draw for each in addresses} == {10, 11, 12}
    assert {each.purpose for each in addresses} == set(purposes)
    assert {(each.chain_head, each.learner, each.position) for each in addresses} == {
        (b"head", "s/l", 4)
    }
    expected = NOISE.words(replace(ADDRESS, purpose="predict/vote", draw=11), 2)
    assert np.array_equal(made[1].words("predict/vote", 2), expected)


def test_tosses_of_different_purposes_are_independent() -> None:
    tosses = [
        (draw.toss("predict/flip", Fraction(1, 2)), draw.toss("predict/vote", Fraction(1, 2)))
        for draw in draws(NOISE, ADDRESS, 400)
    ]
    for pair in ((False, False), (False, True), (True, False), (True, True)):
        assert 60 < tosses.count(pair) < 140


def test_an_example_is_in_the_chunk_of_its_position() -> None:
    x = np.array([0, 0, 1, 0, 1, 1], dtype=np.uint8)
    y = np.array([1, 0, 1, 1, 0, 0], dtype=np.uint8)
    rules = chunk_rules(CLASS, x, y, 3)
    assert rules == [CLASS.empirical_rule(x[i::3], y[i::3]) for i in range(3)]
    for at in range(6):
        other = y.copy()
        other[at] ^= 1
        changed = chunk_rules(CLASS, x, other, 3)
        assert [i for i in range(3) if changed[i] != rules[i]] in ([], [at % 3])


@pytest.mark.parametrize("lengths", [(3, 4), (4, 3), (5, 5)])
def test_a_window_has_exactly_its_examples(lengths: tuple[int, int]) -> None:
    x, y = (np.zeros(length, dtype=np.uint8) for length in lengths)
    with pytest.raises(ValueError, match="exactly 4 examples"):
        check_window(x, y, 4)
    check_window(x[:3].repeat(2)[:4], np.zeros(4, dtype=np.uint8), 4)
