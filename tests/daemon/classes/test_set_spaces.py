"""Version spaces of sparse sets against explicit classes."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import set_spaces
from littled.classes.base import ClassError
from littled.classes.sparse_sets import SparseSets
from littled.littlestone import littlestone_dimension
from oracle.classes import sets
from oracle.classes.spaces import solved
from support.version_spaces import (
    Part,
    all_sets,
    check_dimension_and_soa,
    data_set,
    essential,
    listed,
    parts_of,
    restricted,
    tolerances,
)

LARGE = SparseSets(64, 4)


CLASSES = {(bits, most): all_sets(bits, most) for bits, most in [(2, 3), (3, 1), (3, 2), (3, 3)]}
SIXTEEN = all_sets(4, 2)


def space(hypotheses: SparseSets, parts: list[Part], tolerance: Fraction) -> Any:
    return solved(hypotheses, [data_set(hypotheses, part) for part in parts], tolerance)


@settings(max_examples=150)
@given(which=st.sampled_from(sorted(CLASSES)), parts=parts_of(4), tolerance=tolerances())
def test_dimension_and_soa(which: tuple[int, int], parts: list[Part], tolerance: Fraction) -> None:
    check_dimension_and_soa(SparseSets(*which), CLASSES[which], parts, tolerance)


@given(parts=parts_of(8, sizes=9, count=2), tolerance=tolerances(), most=st.integers(1, 3))
def test_dimension_and_soa_of_noisy_data(parts: list[Part], tolerance: Fraction, most: int) -> None:
    check_dimension_and_soa(SparseSets(3, most), CLASSES[3, most], parts, tolerance)


@given(parts=parts_of(2, sizes=9, count=2), tolerance=tolerances())
def test_ids_with_many_errors_either_way(parts: list[Part], tolerance: Fraction) -> None:
    hypotheses, matrix = SparseSets(2, 3), CLASSES[2, 3]
    check_dimension_and_soa(hypotheses, matrix, parts, tolerance)
    rows = restricted(matrix, parts, tolerance)
    found = listed(hypotheses, parts, tolerance, 4)
    assert bool(found) == bool(len(rows))
    assert set(found) <= {tuple(map(bool, row)) for row in rows}


@pytest.mark.parametrize("most", [2, 3])
def test_unseen_ids_may_be_asked_for_before_seen_ones(most: int) -> None:
    # both ids or none: to tell which would leave no budget in one case
    parts = [[(0, 0), (1, 1)], [(0, 1), (1, 0)]]
    check_dimension_and_soa(SparseSets(3, most), CLASSES[3, most], parts, Fraction(1, 2))
    found = space(SparseSets(64, most), parts, Fraction(1, 2))
    assert found.littlestone_dimension == most


def conditions(rows: NDArray[np.bool_], parts: list[Part], most: int) -> tuple[int, int, int, int]:
    """m, t, the number of ids on which parts differ, and the number of unseen ids."""
    seen = sorted({point for part in parts for point, _ in part})
    traces = {tuple(row[seen]) for row in rows}
    least = min(map(sum, traces))
    undecided = sum(len(set(column)) > 1 for column in zip(*traces, strict=True))
    return least, most - least, undecided, rows.shape[1] - len(seen)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(
    parts=parts_of(4, sizes=5, count=2),
    tolerance=tolerances(),
    p=st.sampled_from([1, 2, 3, 6]),
    large=st.booleans(),
)
def test_essential_lists(parts: list[Part], tolerance: Fraction, p: int, large: bool) -> None:
    hypotheses, matrix = (SparseSets(4, 2), SIXTEEN) if large else (SparseSets(3, 3), CLASSES[3, 3])
    rows = restricted(matrix, parts, tolerance)
    found = listed(hypotheses, parts, tolerance, matrix.shape[1])
    assert bool(found) == bool(len(rows))
    if not len(rows):
        return
    most = hypotheses.members
    least, t, undecided, unseen = conditions(rows, parts, most)
    few = p >= undecided or least == 0
    if few and (t == 0 or p * 2 ** (most - t + 1) + t <= unseen):
        assert found == essential(rows, p, most)


@pytest.mark.no_cover
def test_the_conditions_of_the_theorem_are_met_in_every_way() -> None:
    kinds = set()
    for part, tolerance in [
        ([(0, 1)], Fraction(0)),
        ([(0, 1), (1, 1), (2, 1)], Fraction(1, 3)),
        ([(0, 1), (1, 1)], Fraction(1, 2)),
        ([(0, 1), (0, 1), (1, 0)], Fraction(1, 3)),
        ([(0, 0)], Fraction(0)),
    ]:
        rows = restricted(SIXTEEN, [part], tolerance)
        least, t, undecided, unseen = conditions(rows, [part], 2)
        for p in sorted({max(undecided, 1), 4, 7, 15} - set(range(undecided))):
            if t == 0 or p * 2 ** (3 - t) + t <= unseen:
                kinds.add((least, undecided > 0))
                assert listed(SparseSets(4, 2), [part], tolerance, 16) == essential(rows, p, 2)
    assert kinds == {(0, False), (1, False), (1, True), (2, True)}


def test_no_errors_on_a_large_domain() -> None:
    spread = [(1 << 60, 1), (5, 1), (5, 1), (9, 0)]
    found = space(LARGE, [spread], Fraction(0))
    assert found.littlestone_dimension == 2
    assert found.standard_optimal_rule().members == (5, 1 << 60)
    assert found.essential(10) == [(5, 1 << 60)]


@pytest.mark.parametrize(
    ("part", "tolerance"),
    [
        ([(5, 1), (5, 0)], Fraction(0)),
        ([(i, 1) for i in range(5)], Fraction(0)),
        ([(5, 1), (5, 1), (5, 0), (5, 0)], Fraction(1, 4)),
        ([(i, 1) for i in range(5) for _ in range(2)], Fraction(1, 10)),
    ],
)
def test_an_empty_version_space(part: Part, tolerance: Fraction) -> None:
    found = space(LARGE, [part], tolerance)
    assert found.littlestone_dimension == -1
    assert found.essential(10) == []
    with pytest.raises(ClassError, match="empty version space"):
        found.standard_optimal_rule()


def test_one_positive_example_of_many_may_be_left_out() -> None:
    part = [*((i, 1) for i in (3, 4, 5, 6)), *((i, 0) for i in range(100, 106))]
    found = space(LARGE, [part, part], Fraction(1, 10))
    whole = {(3, 4, 5), (3, 4, 6), (3, 5, 6), (4, 5, 6)}
    assert set(found.essential(10)) == whole
    assert len(found.essential(10)) == 4
    assert len(set(found.essential(3)) & whole) == len(found.essential(3)) == 3


def test_ids_that_can_only_be_left_out_together() -> None:
    first = [*[(1, 1)] * 3, *[(2, 1)] * 2, (3, 0)]
    second = [*[(1, 1)] * 3, *[(3, 1)] * 2, (2, 0)]
    found = space(LARGE, [first, second], Fraction(1, 3))
    assert found.essential(10) == [(1,)]


@pytest.mark.parametrize("cap", [1, 2])
def test_a_list_is_not_cut_before_the_smallest_sets_are_known(cap: int) -> None:
    # 1 can be left out at once, but 2 and 3 instead of it are more
    first = [(1, 1), *[(2, 1)] * 2, *[(9, 0)] * 3]
    second = [(1, 1), *[(3, 1)] * 2, *[(9, 0)] * 3]
    assert space(LARGE, [first, second], Fraction(1, 3)).essential(cap) == [(1,)]


def test_a_domain_that_is_used_up() -> None:
    found = space(SparseSets(4, 9), [[(i, i % 2) for i in range(12)]], Fraction(0))
    assert found.littlestone_dimension == 3
    assert found.standard_optimal_rule().members == (1, 3, 5, 7, 9, 11)
    found = space(SparseSets(4, 11), [[(i, i % 2) for i in range(12)]], Fraction(0))
    assert found.littlestone_dimension == 4
    assert found.standard_optimal_rule().members == (1, 3, 5, 7, 9, 11, 12, 13, 14, 15)


def test_a_large_budget_is_no_deep_recursion() -> None:
    part = [(0, 1), (1, 1), (2, 0)]
    for bits in (11, 64):
        found = space(SparseSets(bits, 1024), [part], Fraction(1, 3))
        # at most one error: a tree for 3 bits with budget 3, and an unseen id for each id more
        small = restricted(all_sets(4, 3), [part], Fraction(1, 3))
        assert found.littlestone_dimension == 1024 - 3 + littlestone_dimension(small)


LIMITS = ["FAMILY_MAX", "UNDECIDED_MAX", "GAME_STATES_MAX", "GAME_DEPTH_MAX"]


@pytest.mark.parametrize("limit", LIMITS)
@given(parts=parts_of(8, sizes=9, count=2), tolerance=tolerances())
def test_beyond_a_limit_the_dimension_is_an_upper_bound(
    limit: str, parts: list[Part], tolerance: Fraction
) -> None:
    hypotheses, matrix = SparseSets(3, 3), CLASSES[3, 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, limit, 1)
        found = space(hypotheses, parts, tolerance)
        bound = found.littlestone_dimension
        if bound >= 0:
            found.standard_optimal_rule()
    assert littlestone_dimension(restricted(matrix, parts, tolerance)) <= bound <= 3


@given(parts=parts_of(8, sizes=9, count=2), tolerance=tolerances())
def test_beyond_the_limit_of_steps_every_set_found_is_consistent(
    parts: list[Part], tolerance: Fraction
) -> None:
    rows = {tuple(row) for row in restricted(CLASSES[3, 3].astype(int), parts, tolerance).tolist()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_spaces, "SEARCH_STEPS_MAX", 1)
        found: Any = space(SparseSets(3, 3), parts, tolerance).essential(100)
    assert {tuple(int(p in key) for p in range(8)) for key in found} <= rows


def test_many_examples_end_in_time() -> None:
    many = [(i, 1) for i in range(3000)] + [(i, 0) for i in range(5000, 40_000)]
    assert space(LARGE, [many], Fraction(1, 10)).essential(5) == [()]
    assert space(LARGE, [many], Fraction(1, 20)).essential(5) == []
    part = [(i, 1) for i in range(100)] + [(i, 0) for i in range(1000, 1960)]
    (found, *_) = space(LARGE, [part, part[:1]], Fraction(96, 1060)).essential(5)
    assert isinstance(found, tuple)
    assert len(found) == 4
    assert 0 in found
