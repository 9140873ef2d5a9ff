"""Point functions against brute force; their version spaces are those of sets of one id."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.base import ClassError
from littled.classes.points import NOTHING, PointFunctions
from littled.classes.wide import to_int
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from support.version_spaces import (
    Part,
    a_part,
    check_dimension_and_soa,
    column,
    data_set,
    essential,
    listed,
    parts_of,
    restricted,
    tolerances,
)

CLASS = PointFunctions(3)
POINTS = 8
MATRIX = np.vstack((np.zeros((1, POINTS), dtype=bool), np.eye(POINTS, dtype=bool)))


def test_dimensions_are_exact() -> None:
    assert littlestone_dimension(MATRIX) == CLASS.littlestone_dimension == 1
    assert dual_vapnik_chervonenkis_dimension(MATRIX) == CLASS.dual_vc_dimension == 1


@pytest.mark.parametrize("bits", [0, 129])
def test_widths_outside_the_domain_are_refused(bits: int) -> None:
    with pytest.raises(ClassError, match="bits from 1 to 128"):
        PointFunctions(bits)


@given(
    part=a_part(POINTS, sizes=20), published=st.none() | st.integers(0, 7), vetoes=st.booleans(),
    wide=st.booleans(), data=st.data(),
)  # fmt: skip
def test_an_id_that_passes_takes_the_place_of_the_published_one(
    part: Part, published: int | None, vetoes: bool, wide: bool, data: st.DataObject
) -> None:
    shift = 100 if wide else 0
    hypotheses = PointFunctions(103) if wide else CLASS
    rule = hypotheses.essential_rule(NOTHING if published is None else published << shift)
    examples = [(p << shift, label) for p, label in part]
    flips = hypotheses.flips(*data_set(hypotheses, examples), rule, vetoes=vetoes)
    wrong = Counter(p for p, label in part if (p == published) != label)
    right = Counter(p for p, label in part if (p == published) == label)
    assert [to_int(key) >> shift for key in flips.keys] == sorted(wrong)
    assert flips.scores.tolist() == [wrong[p] - right[p] * vetoes for p in sorted(wrong)]
    if not wrong:
        return
    numbers = st.sets(st.integers(0, len(wrong) - 1), min_size=1)
    passing = np.array(sorted(data.draw(numbers)), dtype=np.int64)
    new = [p for p in np.array(sorted(wrong))[passing].tolist() if p != published]
    found = hypotheses.flipped_rule(flips, passing, rule)
    assert found.members == ((new[0] << shift,) if new else ())


@given(parts=parts_of(POINTS), tolerance=tolerances())
def test_dimension_and_soa_of_version_spaces(parts: list[Part], tolerance: Fraction) -> None:
    check_dimension_and_soa(CLASS, MATRIX, parts, tolerance)


@given(parts=parts_of(POINTS), tolerance=tolerances(), p=st.integers(1, 9))
def test_essential_lists(parts: list[Part], tolerance: Fraction, p: int) -> None:
    rows = restricted(MATRIX, parts, tolerance)
    found = listed(CLASS, parts, tolerance, POINTS)
    assert bool(found) == bool(len(rows))
    unseen = POINTS - len({point for part in parts for point, _ in part})
    nothing = bool(len(rows)) and not rows.any(axis=1).all()
    if (2 * p + 1 <= unseen) if nothing else (p >= len(rows)):
        assert found == essential(rows, p, 1)


def test_keys_name_ids_or_nothing() -> None:
    sets = [data_set(CLASS, [(5, 1), (2, 0)])]
    assert CLASS.essential_list(sets, Fraction(0), 10) == [5]
    assert CLASS.essential_list(sets, Fraction(1, 2), 10) == [NOTHING]
    assert CLASS.essential_rule(NOTHING) == CLASS.first_rule()
    assert CLASS.essential_list(sets, Fraction(0), 0) == []


def test_a_teacher_with_many_examples_is_quick() -> None:
    hypotheses = PointFunctions(64)
    x = column(hypotheses, [7, *range(1000, 100_000)])
    y = np.zeros(len(x), dtype=np.uint8)
    y[:9000] = 1
    assert hypotheses.essential_list([(x, y)], Fraction(1, 10), 10) == [NOTHING]
    x[:9000] = 7
    y[:9900] = 1
    assert hypotheses.essential_list([(x, y)], Fraction(1, 100), 10) == [7]
    assert hypotheses.essential_list([(x, y)], Fraction(1, 1000), 10) == []
