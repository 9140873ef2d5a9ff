"""Integers from a least one on: the domain, rules, and what one chunk teaches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.base import ClassError
from littled.classes.integers import Integers
from littled_protocol.rules import AtLeastRule


def test_widths_that_no_points_have_are_refused() -> None:
    for bits in (0, 129):
        with pytest.raises(ClassError, match="from 1 to 128"):
            Integers(bits)


def test_the_domain_has_all_numbers_of_its_bits() -> None:
    assert Integers(3).contains(np.array([0, 7], dtype=np.uint8))
    assert not Integers(3).contains(np.array([8], dtype=np.uint8))
    assert Integers(65).contains(np.array([[1, 2**64 - 1]], dtype=np.uint64))
    assert not Integers(65).contains(np.array([[2, 0]], dtype=np.uint64))


def test_the_number_beyond_all_is_never() -> None:
    assert Integers(3).rule_from(8) == Integers(3).first_rule() == AtLeastRule(3, None)
    assert Integers(3).rule_from(7) == Integers(3).longest_rule == AtLeastRule(3, 7)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=9))
def test_a_chunk_teaches_a_rule_with_the_fewest_errors(chunk: list[tuple[int, int]]) -> None:
    made = Integers(3)
    x, y = (np.array([each[i] for each in chunk], dtype=np.uint8) for i in (0, 1))
    errors = [int((made.rule_from(v).evaluate(x) != y).sum()) for v in range(9)]
    assert int((made.empirical_rule(x, y).evaluate(x) != y).sum()) == min(errors)
