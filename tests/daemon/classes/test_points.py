"""Point functions against brute force; their version spaces are those of sets of one id."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes import ClassError, PointFunctions
from littled.classes.points import NOTHING
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


@given(part=a_part(POINTS, sizes=20), wide=st.booleans())
def test_proposals_count_positive_minus_negative_examples(part: Part, wide: bool) -> None:
    examples = [(p << 100 if wide else p, label) for p, label in part]
    hypotheses = PointFunctions(103) if wide else CLASS
    proposals = hypotheses.proposals(*data_set(hypotheses, examples), hypotheses.first_rule())
    counts = Counter(examples)
    expected = {p: n - counts[p, 0] for (p, label), n in counts.items() if label}
    found = [to_int(key) for key in proposals.keys]
    assert dict(zip(found, proposals.scores.tolist(), strict=True)) == expected
    assert len(set(found)) == len(found)
    for index, point in enumerate(found):
        rule = hypotheses.proposed_rule(proposals, index, hypotheses.first_rule())
        assert rule.members == (point,)


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
