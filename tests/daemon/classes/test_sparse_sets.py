"""Sparse sets, whose ids a selection flips, against brute force."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.base import ClassError
from littled.classes.names import class_from_dict, class_from_name
from littled.classes.sparse_sets import MEMBERS_MAX, SparseSets
from littled.classes.wide import to_int
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.rules import PointsRule, Rule
from support.version_spaces import Part, all_sets, column, data_set

examples = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=20)
members = st.sets(st.integers(0, 7), max_size=5)


def published(ids: set[int], bits: int = 3) -> PointsRule:
    return PointsRule(bits=bits, members=tuple(sorted(ids)))


def votes(
    hypotheses: SparseSets, part: Part, rule: Rule, *, vetoes: bool = False
) -> dict[int, int]:
    flips = hypotheses.flips(*data_set(hypotheses, part), rule, vetoes=vetoes)
    ids = [to_int(key) for key in flips.keys]
    assert ids == sorted(set(ids))
    return dict(zip(ids, flips.scores.tolist(), strict=True))


def flipped(hypotheses: SparseSets, ids: set[int], passing: set[int]) -> tuple[int, ...]:
    """The members after these ids have passed, each with one vote."""
    part = [(p, int(p not in ids)) for p in sorted(passing)]
    rule = published(ids, hypotheses.bits)
    flips = hypotheses.flips(*data_set(hypotheses, part), rule, vetoes=False)
    assert len(flips.scores) == len(passing)
    return hypotheses.flipped_rule(flips, np.arange(len(passing)), rule).members


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_dimensions_are_exact(bits: int, most: int) -> None:
    matrix = all_sets(bits, most)
    hypotheses = SparseSets(bits, most)
    assert hypotheses.littlestone_dimension == littlestone_dimension(matrix)
    assert hypotheses.dual_vc_dimension == dual_vapnik_chervonenkis_dimension(matrix)


@pytest.mark.parametrize(
    ("bits", "most", "sentence"),
    [
        (0, 2, "bits from 1 to 128"),
        (129, 2, "bits from 1 to 128"),
        (8, 0, "members from 1 to"),
        (8, MEMBERS_MAX + 1, "members from 1 to"),
    ],
)
def test_parameters_outside_the_limits_are_refused(bits: int, most: int, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        SparseSets(bits, most)


def test_what_the_class_says_of_itself() -> None:
    hypotheses = SparseSets(64, 4)
    assert hypotheses.name == "sparse_sets:64:4"
    assert hypotheses.point_type == "u64"
    assert hypotheses.id_sets is not None
    assert hypotheses.first_rule().members == ()
    assert hypotheses.proposing is None
    assert hypotheses.intersection_closed is None
    assert hypotheses.contains(column(hypotheses, [2**64 - 1]))
    assert not SparseSets(63, 4).contains(column(hypotheses, [2**63]))
    assert (
        class_from_dict(hypotheses.to_dict()) == class_from_name("sparse_sets:64:4") == hypotheses
    )


@given(part=examples, ids=members, vetoes=st.booleans())
def test_votes_are_errors_of_the_published_set(part: Part, ids: set[int], vetoes: bool) -> None:
    wrong = Counter(p for p, label in part if (p in ids) != label)
    right = Counter(p for p, label in part if (p in ids) == label)
    expected = {p: count - right[p] * vetoes for p, count in wrong.items()}
    assert votes(SparseSets(3, 5), part, published(ids), vetoes=vetoes) == expected


@given(part=examples, ids=members, vetoes=st.booleans())
def test_wide_ids_get_the_same_votes(part: Part, ids: set[int], vetoes: bool) -> None:
    wide = [(p << 90 | p, label) for p, label in part]
    rule = published({p << 90 | p for p in ids}, bits=93)
    found = votes(SparseSets(93, 5), wide, rule, vetoes=vetoes)
    expected = votes(SparseSets(3, 5), part, published(ids), vetoes=vetoes)
    assert found == {p << 90 | p: score for p, score in expected.items()}


@given(
    part=examples, ids=members, vetoes=st.booleans(),
    one=st.tuples(st.integers(0, 7), st.integers(0, 1)),
    other=st.tuples(st.integers(0, 7), st.integers(0, 1)),
)  # fmt: skip
def test_one_example_replaced_changes_scores_by_two_in_sum(
    part: Part, ids: set[int], vetoes: bool, one: tuple[int, int], other: tuple[int, int]
) -> None:
    """What Lemma E asks of scores, and of what is a candidate on one side only."""
    hypotheses, rule = SparseSets(3, 5), published(ids)
    first, second = (votes(hypotheses, [*part, each], rule, vetoes=vetoes) for each in (one, other))
    assert sum(abs(first[p] - second[p]) for p in {*first} & {*second}) <= 2
    for here, there in ((first, second), (second, first)):
        alone = {*here} - {*there}
        assert len(alone) <= 1
        assert all(here[p] <= 1 for p in alone)
        if alone and not vetoes:
            # the vote that only one side has leaves one change by 1 for the others
            assert sum(abs(first[p] - second[p]) for p in {*first} & {*second}) <= 1


# --- which ids a set has after a selection --------------------------------------------------------


@given(ids=members, passing=st.sets(st.integers(0, 7), min_size=1), most=st.integers(1, 8))
def test_all_ids_that_pass_are_flipped_where_there_is_room(
    ids: set[int], passing: set[int], most: int
) -> None:
    ids = set(sorted(ids)[:most])
    found = flipped(SparseSets(3, most), ids, passing)
    assert found == tuple(sorted(found))
    assert len(found) <= most
    # members that pass are gone, the smallest of the others that pass are in, no others come
    new = sorted(passing - ids)[:most]
    assert set(new) <= set(found) <= (ids - passing) | set(new)
    if len(ids ^ passing) <= most:
        assert set(found) == ids ^ passing
    else:
        assert len(found) == most


@pytest.mark.parametrize(
    ("ids", "passing", "found"),
    [
        ({10, 20, 30}, {25}, (10, 20, 25)),  # 30 follows 25
        ({10, 20, 30}, {35}, (20, 30, 35)),  # after the largest id comes the smallest
        ({10, 20, 30}, {5, 25}, (5, 20, 25)),
        ({10, 20, 30}, {10, 25}, (20, 25, 30)),  # the place of one that leaves is free
        ({10, 20, 30}, {1, 2, 3, 4}, (1, 2, 3)),
        ({10}, {1, 2}, (1, 2, 10)),
    ],
)
def test_a_full_set_gives_places_to_new_ids(
    ids: set[int], passing: set[int], found: tuple[int, ...]
) -> None:
    assert flipped(SparseSets(8, 3), ids, passing) == found


@given(
    target=st.sets(st.integers(0, 15), min_size=1, max_size=5),
    stale=st.sets(st.integers(0, 15), max_size=5), data=st.data(),
)  # fmt: skip
def test_a_full_set_comes_to_the_target_without_hearing_of_its_old_members(
    target: set[int], stale: set[int], data: st.DataObject
) -> None:
    """Only members of the target are seen; some of those that are missing pass at each call."""
    hypotheses = SparseSets(4, 5)
    found, calls = stale, 0
    while missing := sorted(target - found):
        passing = data.draw(st.sets(st.sampled_from(missing), min_size=1))
        found = set(flipped(hypotheses, found, passing))
        calls += 1
    assert calls <= 5 * 5


def test_keys_are_rising_tuples() -> None:
    assert SparseSets(8, 3).essential_rule((3, 9)) == PointsRule(bits=8, members=(3, 9))
