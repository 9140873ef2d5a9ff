"""Version spaces of affine subspaces against explicit classes."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import affine_spaces
from littled.classes.affine import AffineSubspaces
from littled.classes.affine_spaces import (
    NOWHERE,
    canonical,
    hull,
    is_inside,
    reduced,
)
from littled.classes.base import ClassError
from littled.littlestone import littlestone_dimension
from littled_protocol.rules import AffineRule
from oracle.classes import affine
from oracle.classes.spaces import solved
from support.version_spaces import (
    Part,
    all_subspaces,
    check_dimension_and_soa,
    data_set,
    essential,
    listed,
    parts_of,
    restricted,
    span,
    tolerances,
)

LARGE = AffineSubspaces(64, 3)
matrix_of = cache(all_subspaces)


def space(hypotheses: AffineSubspaces, parts: list[Part], tolerance: Fraction) -> Any:
    return solved(hypotheses, [data_set(hypotheses, part) for part in parts], tolerance)


@given(points=st.lists(st.integers(0, 63), min_size=1, max_size=8), other=st.integers(0, 63))
def test_hulls_are_canonical_and_hold_what_they_span(points: list[int], other: int) -> None:
    around = hull(points)
    assert around is not None
    offset, basis = around
    members = span(points)
    assert {x for x in range(64) if is_inside(x, around)} == members
    assert AffineRule(6, basis, offset).basis == basis
    assert around == hull(reversed(points)) == hull(members) == hull(points[1:], (points[0], ()))
    assert reduced(other, basis) == min(x ^ offset ^ other for x in members)
    assert canonical(other if other in members else offset, basis[::-1]) == around


def test_nothing_has_no_hull() -> None:
    assert hull([]) is None
    assert hull([], (4, (3,))) == (4, (3,))


CLASSES = [(1, 0), (1, 1), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3)]


@settings(max_examples=200)
@given(which=st.sampled_from(CLASSES), parts=parts_of(8, count=2), tolerance=tolerances())
def test_dimension_and_soa(which: tuple[int, int], parts: list[Part], tolerance: Fraction) -> None:
    bits, dimension = which
    inside = [[(x % (1 << bits), label) for x, label in part] for part in parts]
    matrix = matrix_of(bits, dimension)
    check_dimension_and_soa(AffineSubspaces(bits, dimension), matrix, inside, tolerance)


@st.composite
def noisy(draw: Any, bits: int) -> Part:
    """What one subspace says of a few points, with some labels wrong."""
    points = st.integers(0, (1 << bits) - 1)
    target = span(draw(st.lists(points, max_size=3)))
    flips = st.integers(0, 7).map(lambda x: int(x == 0))
    examples = draw(st.lists(st.tuples(points, flips), max_size=8))
    return [(x, int(x in target) ^ flip) for x, flip in examples]


@given(part=noisy(4), tolerance=tolerances(), dimension=st.integers(0, 2))
def test_dimension_and_soa_of_one_subspace_with_noise(
    part: Part, tolerance: Fraction, dimension: int
) -> None:
    matrix = matrix_of(4, dimension)
    if len(restricted(matrix, [part], tolerance)) <= 60:
        check_dimension_and_soa(AffineSubspaces(4, dimension), matrix, [part], tolerance)


def conditions(rows: NDArray[np.bool_], parts: list[Part]) -> tuple[int, int, int]:
    """m, the number of points on which traces differ, and the number of seen points."""
    seen = sorted({point for part in parts for point, _ in part})
    traces = {tuple(row[seen]) for row in rows}
    undecided = sum(len(set(column)) > 1 for column in zip(*traces, strict=True))
    return min(int(row.sum()).bit_length() - 1 for row in rows), undecided, len(seen)


def check_essential(
    bits: int, r: int, parts: list[Part], tolerance: Fraction, p: int
) -> tuple[int, bool] | None:
    """Compare the list with the definition where the theorem speaks; say of which kind it is."""
    rows = restricted(matrix_of(bits, r), parts, tolerance)
    found = listed(AffineSubspaces(bits, r), parts, tolerance, 1 << bits)
    assert bool(found) == bool(len(rows))
    if not len(rows):
        return None
    least, undecided, seen = conditions(rows, parts)
    t = r - least
    room = t == 0 or (seen + p * 2 ** (r + 2 - t)) * 2**r < 1 << bits
    if not room or (p < undecided and least >= 0):
        return None
    assert found == essential(rows, p, r + 1)
    return least, undecided > 0


@settings(max_examples=200)
@given(
    which=st.sampled_from([(3, 0), (3, 1), (3, 2), (4, 0), (4, 1)]),
    parts=parts_of(8, sizes=5, count=2),
    tolerance=tolerances(),
    p=st.sampled_from([1, 2, 3, 6]),
)
def test_essential_lists(
    which: tuple[int, int], parts: list[Part], tolerance: Fraction, p: int
) -> None:
    check_essential(*which, parts, tolerance, p)


@given(part=noisy(5), tolerance=tolerances(), p=st.sampled_from([1, 2, 3]))
def test_essential_lists_around_a_point(part: Part, tolerance: Fraction, p: int) -> None:
    check_essential(5, 1, [[(9, 1)], part[:5]], tolerance, p)


def test_the_conditions_of_the_theorem_are_met_in_every_way() -> None:
    kinds = {
        check_essential(bits, 1, parts, tolerance, p)
        for bits, parts, tolerance in [
            (4, [[(1, 0)]], Fraction(0)),
            (5, [[(1, 1)]], Fraction(0)),
            (5, [[(1, 1), (2, 1)]], Fraction(0)),
            (5, [[(1, 1), (2, 1)], [(1, 1)]], Fraction(1, 2)),
            (5, [[(1, 1), (2, 1), (4, 1)]], Fraction(1, 3)),
        ]
        for p in (1, 2, 3)
    }
    assert kinds >= {(-1, False), (0, False), (0, True), (1, False), (1, True)}


def test_no_errors_on_a_large_domain() -> None:
    part = [(1 << 60, 1), (5, 1), (5, 1), (9, 0)]
    found = space(LARGE, [part], Fraction(0))
    assert found.littlestone_dimension == 2
    assert found.standard_optimal_rule() == AffineRule(64, (1 << 60 ^ 5,), 5)
    assert found.essential(10) == [(5, (1 << 60 ^ 5,))]
    assert found.essential(0) == []


@pytest.mark.parametrize(
    "part", [[(5, 1), (5, 0)], [(1 << i, 1) for i in range(5)], [(1, 1), (2, 1), (4, 1), (7, 0)]]
)
def test_an_empty_version_space(part: Part) -> None:
    found = space(LARGE, [part], Fraction(0))
    assert found.littlestone_dimension == -1
    assert found.essential(10) == []
    with pytest.raises(ClassError, match="empty version space"):
        found.standard_optimal_rule()


def test_the_class_itself() -> None:
    found = space(LARGE, [], Fraction(0))
    assert found.littlestone_dimension == LARGE.littlestone_dimension == 4
    assert found.essential(10) == [NOWHERE]
    assert found.standard_optimal_rule() == LARGE.first_rule()


def test_a_hull_is_found_once_though_others_span_what_is_left_out() -> None:
    plane = [(x, 1) for x in (0, 1, 2, 3)]
    found = space(LARGE, [plane], Fraction(1, 4))
    assert found.essential(10) == [(0, (2, 1))]
    # with 4 outside the plane, it can be left out; or one other point, which drops no dimension
    found = space(LARGE, [[*plane, (4, 1)]], Fraction(1, 5))
    assert found.essential(10) == [(0, (2, 1))]


@pytest.mark.parametrize("limit", ["SMALL_BITS_MAX", "SUBCLASSES_MAX"])
@given(parts=parts_of(8, count=2), tolerance=tolerances(), dimension=st.integers(0, 3))
def test_beyond_a_limit_the_dimension_is_an_upper_bound(
    limit: str, parts: list[Part], tolerance: Fraction, dimension: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine, limit, 0)
        found = space(AffineSubspaces(3, dimension), parts, tolerance)
        bound = found.littlestone_dimension
        if bound >= 0:
            found.standard_optimal_rule()
    exact = littlestone_dimension(restricted(matrix_of(3, dimension), parts, tolerance))
    assert exact <= bound <= dimension + 1


@given(parts=parts_of(8, sizes=9, count=2), tolerance=tolerances())
def test_beyond_the_limit_of_steps_every_hull_found_is_consistent(
    parts: list[Part], tolerance: Fraction
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine_spaces, "SEARCH_STEPS_MAX", 1)
        found = listed(AffineSubspaces(3, 2), parts, tolerance, 8)
    rows = restricted(matrix_of(3, 2), parts, tolerance)
    assert set(found) <= {tuple(map(bool, row)) for row in rows}


def test_many_examples_end_in_time() -> None:
    generator = np.random.default_rng(2)
    inside = [(int(x) << 40 | int(x) & 7, 1) for x in generator.integers(0, 8, 5000)]
    outside = [(int(x), 0) for x in generator.integers(2**60, 2**62, 20_000)]
    keys = space(LARGE, [inside + outside], Fraction(1, 50)).essential(100)
    assert keys == [hull([x for x, _ in inside])]
    wrong = [(int(x), 1) for x in generator.integers(2**60, 2**62, 2000)]
    assert space(LARGE, [wrong + outside], Fraction(1, 20)).essential(100) == []
