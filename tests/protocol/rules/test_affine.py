"""Affine subspaces on every point of small domains, and wide ones against plain reduction."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import xor
from typing import Any

import numpy as np
import pytest

from littled_protocol.rules import AffineRule, RuleError, Words
from support.rules import cleared, column, labels_by_sql, labels_of, reduced_basis


def span(vectors: tuple[int, ...]) -> set[int]:
    """All sums of some of the vectors."""
    chosen = (part for size in range(len(vectors) + 1) for part in combinations(vectors, size))
    return {reduce(xor, part, 0) for part in chosen}


def all_rules(bits: int) -> list[AffineRule]:
    """Every affine subspace of a small domain, each from all its bases and offsets."""
    vectors = range(1, 2**bits)
    bases = {reduced_basis(chosen) for r in range(bits + 1) for chosen in combinations(vectors, r)}
    spaces = {(basis, cleared(point, basis)) for basis in bases for point in range(2**bits)}
    return [AffineRule(bits, (), None), *(AffineRule(bits, *space) for space in sorted(spaces))]


@pytest.mark.parametrize(("bits", "spaces"), [(1, 4), (2, 12), (3, 52)])
def test_every_subspace_on_every_point(bits: int, spaces: int) -> None:
    points = list(range(2**bits))
    rules = all_rules(bits)
    for rule in rules[1:]:
        inside = {x ^ (rule.offset or 0) for x in span(rule.basis)}
        assert labels_of(rule, points) == [int(x in inside) for x in points]
        assert labels_by_sql(rule, points, 5) == labels_of(rule, points)
    assert labels_of(rules[0], points) == labels_by_sql(rules[0], points) == [0] * 2**bits
    # One form for every subspace, the empty one included.
    functions = {tuple(labels_of(rule, points)) for rule in rules}
    assert len(rules) == len(functions) == spaces


@pytest.mark.parametrize("bits", [16, 33, 64, 65, 128])
@pytest.mark.parametrize("part", [0, 1, 2, 3, 4])
def test_wide_subspaces_hold_their_points_and_no_others(bits: int, part: int) -> None:
    generator = np.random.default_rng(bits + part)
    dimension = part * bits // 4
    vectors = [int.from_bytes(generator.bytes(16)) % 2**bits for _ in range(dimension)]
    basis = reduced_basis(vectors)
    offset = int.from_bytes(generator.bytes(16)) % 2**bits
    rule = AffineRule(bits, basis, cleared(offset, basis))
    inside = [
        reduce(xor, (v for v in vectors if generator.integers(2)), offset) for _ in range(300)
    ]
    near = [x ^ (1 << int(generator.integers(bits))) for x in inside]
    others = [int.from_bytes(generator.bytes(16)) % 2**bits for _ in range(300)]
    assert labels_of(rule, inside) == [1] * 300
    expected = [int(cleared(x ^ offset, basis) == 0) for x in near + others]
    assert labels_of(rule, near + others) == expected
    assert (sum(expected) < 600) == (len(basis) < bits)


def test_many_points_are_evaluated_part_by_part() -> None:
    rule = AffineRule(32, (0b1100, 0b11), 0)
    points = np.arange(100_000)
    assert np.flatnonzero(rule.evaluate(points)).tolist() == sorted(span(rule.basis))
    hyperplane = AffineRule(3, (0b101, 0b011), 0)
    points = (points % 8).astype(np.uint8)
    even = np.bitwise_count(points) % 2 == 0
    np.testing.assert_array_equal(hyperplane.evaluate(points), even)
    wide = column(AffineRule(128, (), 0), [1 << 64, 0, 1])
    assert AffineRule(128, (), 0).evaluate(wide[::-1]).tolist() == [0, 1, 0]


def test_subspaces_are_said_by_their_vectors_or_their_parities() -> None:
    words = Words("id", "", 2, "yes", "no")
    assert AffineRule(8, (8, 2), 5).describe(Words()) == "1 if x in 5 xor span(8, 2)"
    assert AffineRule(8, (8, 2), 5).describe(words) == "yes if (id - 2) in 5 xor span(8, 2)"
    assert AffineRule(8, (), 5).describe(words) == "yes if id is 7"
    assert AffineRule(128, (), 5).describe(words) == f"yes if id is {5:032x}"
    assert AffineRule(8, (), None).describe(words) == "never yes"
    assert AffineRule(2, (2, 1), 0).describe(words) == "always yes"
    many = AffineRule(16, tuple(2**bit for bit in range(15, 9, -1)), 1)
    shown = "32768, 16384, 8192, 4096, 2048"
    assert many.condition() == f"x in 1 xor span({shown}, ... 6 vectors)"
    parity = AffineRule(4, (0b1001, 0b0101), 0b10)
    assert parity.condition() == ("bit 1 of x is 1 and an even number of bits 0, 2 and 3 of x is 1")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ((129, (), 0), "bits needs an integer from 1 to 128"),
        ((8, [1], 0), "basis needs a tuple of at most 8 vectors"),
        ((1, (1, 1), 0), "basis needs a tuple of at most 1 vectors"),
        ((8, (0,), 0), "a vector of the basis needs an integer from 1"),
        ((8, (256,), 0), "a vector of the basis needs an integer from 1"),
        ((8, (2, 8), 0), "falling order"),
        ((8, (2, 2), 0), "falling order"),
        ((8, (3, 1), 0), "highest bits are set in no other"),
        ((8, (3, 2), 0), "highest bits are set in no other"),
        ((8, (2,), 2), "offset needs to be without"),
        ((8, (), 256), "offset needs an integer from 0 to 255"),
        ((8, (1,), None), "always 0 needs no basis"),
    ],
)
def test_subspaces_that_cannot_be(fields: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(RuleError, match=sentence):
        AffineRule(*fields)
