"""Small classes against the definitions, and that every class is listed once."""

import re
from itertools import combinations, permutations

import pytest

from littled.laboratory.small_classes import (
    SmallClass,
    all_classes,
    all_rules,
    points,
    supports,
    thresholds,
)
from support.littlestone import Row, dimension_of, soa_of


def rows_of(rules: SmallClass, space: int) -> frozenset[Row]:
    """The rows of a version space, as the naive definitions take them."""
    return frozenset(
        tuple(h >> x & 1 for x in range(rules.points))
        for i, h in enumerate(rules.hypotheses)
        if space >> i & 1
    )


@pytest.mark.parametrize("rules", [thresholds(4), points(4), all_rules(2), *all_classes(3)])
def test_dimension_and_soa_are_those_of_the_definitions(rules: SmallClass) -> None:
    assert rules.dimension == dimension_of(rows_of(rules, rules.everything))
    for space in range(1, rules.everything + 1):
        dimension = dimension_of(rows_of(rules, space))
        soa = soa_of(rows_of(rules, space))
        for x in range(rules.points):
            zero, one = (
                dimension_of(rows_of(rules, rules.restricted(space, x, y))) for y in (0, 1)
            )
            said = rules.soa(space) >> x & 1
            assert said == (one > zero)
            if (
                max(zero, one) == dimension
            ):  # the two definitions differ only where neither keeps it
                assert said == soa[x]


def test_named_classes_have_their_rows() -> None:
    assert thresholds(3).hypotheses == (0b111, 0b110, 0b100, 0)
    assert points(3).hypotheses == (0, 1, 2, 4)
    assert [rules.dimension for rules in (thresholds(7), points(6), all_rules(3))] == [3, 1, 3]


def orbits_by_brute_force(count: int) -> set[frozenset[frozenset[int]]]:
    """All sets of rows, put together by renaming points and turning labels over."""
    found = set()
    for size in range(1, (1 << count) + 1):
        for rows in combinations(range(1 << count), size):
            images = set()
            for order in permutations(range(count)):
                for flipped in range(1 << count):
                    images.add(
                        frozenset(
                            sum((row >> order[x] & 1) << x for x in range(count)) ^ flipped
                            for row in rows
                        )
                    )
            found.add(frozenset(images))
    return found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_class_is_listed_once_up_to_symmetry(count: int) -> None:
    listed = [frozenset(rules.hypotheses) for rules in all_classes(count)]
    orbits = orbits_by_brute_force(count)
    assert len(listed) == len(orbits)
    assert all(sum(rows in orbit for rows in listed) == 1 for orbit in orbits)


def test_the_numbers_of_classes_are_those_of_burnsides_lemma() -> None:
    """Functions of 4 variables with at most 8 ones, up to renaming and turning over variables."""
    sizes = [len(rules.hypotheses) for rules in all_classes(4)]
    assert [sizes.count(k) for k in range(1, 9)] == [1, 4, 6, 19, 27, 50, 56, 74]


def test_supports_are_all_sets_of_points() -> None:
    assert list(supports(2)) == [(0,), (1,), (0, 1)]
    assert len(list(supports(4))) == 15


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: SmallClass(2, []), "at least one row"),
        (lambda: SmallClass(2, [1, 1]), "no row twice"),
        (lambda: SmallClass(2, [4]), "an integer below 4"),
        (lambda: all_classes(6), "1 to 5 points and 1 to 8 rows"),
        (lambda: all_classes(3, 9), "1 to 5 points and 1 to 8 rows"),
    ],
)
def test_what_is_no_small_class_is_refused(made: object, message: str) -> None:
    assert callable(made)
    with pytest.raises(ValueError, match=re.escape(message)):
        made()
