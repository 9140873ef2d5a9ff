"""Conjunctions on every point of small domains."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from littled_protocol.rules import ConjunctionRule, RuleError, Words
from littled_protocol.rules.conjunctions import named_bits, said_bits
from support.rules import labels_by_sql, labels_of


@pytest.mark.parametrize("bits", [1, 3, 4])
def test_every_conjunction_on_every_point(bits: int) -> None:
    points = list(range(2**bits))
    seen = set()
    for literals in product((None, 0, 1), repeat=bits):
        ones = sum(1 << i for i, literal in enumerate(literals) if literal == 1)
        zeros = sum(1 << i for i, literal in enumerate(literals) if literal == 0)
        rule = ConjunctionRule(bits, ones, zeros)
        labels = labels_of(rule, points)
        assert labels == [
            int(all(b is None or x >> i & 1 == b for i, b in enumerate(literals))) for x in points
        ]
        assert labels_by_sql(rule, points, -3) == labels
        seen.add(tuple(labels))
    never = ConjunctionRule(bits, 2**bits - 1, 2**bits - 1)
    assert labels_of(never, points) == labels_by_sql(never, points) == [0] * 2**bits
    # Different conjunctions are different rules, and none but the last is always 0.
    assert len(seen) == 3**bits
    assert (0,) * 2**bits not in seen


def test_conjunctions_are_said_by_their_bits() -> None:
    words = Words("x", "", 2, "yes", "no")
    assert (
        ConjunctionRule(8, 9, 32).describe(Words())
        == "1 if bits 0 and 3 of x are 1 and bit 5 of x is 0"
    )
    assert ConjunctionRule(8, 0, 1).describe(words) == "yes if bit 0 of (x - 2) is 0"
    assert ConjunctionRule(128, 1 << 127, 0).describe(words) == "yes if bit 127 of x is 1"
    assert ConjunctionRule(8, 0, 0).describe(words) == "always yes"
    assert ConjunctionRule(8, 255, 255).describe(words) == "never yes"
    assert said_bits(0, 0, "x") == ""
    assert named_bits(0b1111111, "x") == "7 bits of x (0, 1, 2, 3, 4, ...)"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ((0, 0, 0), "bits needs an integer from 1 to 128"),
        ((8, 256, 0), "ones needs an integer from 0 to 255"),
        ((8, 0, -1), "zeros needs an integer from 0 to 255"),
        ((8, 1, 1), "one of ones and zeros, or all bits in both"),
        ((8, 255, 254), "one of ones and zeros, or all bits in both"),
        ((8, True, 0), "ones needs an integer"),
    ],
)
def test_conjunctions_that_cannot_be(fields: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(RuleError, match=sentence):
        ConjunctionRule(*fields)
