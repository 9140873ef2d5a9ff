"""Sparse sets, built up one id a selection, against brute force."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes import ClassError, SparseSets, class_from_dict, class_from_name
from littled.classes.sparse_sets import MEMBERS_MAX
from littled.classes.wide import to_int
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.rules import MajorityRule, PointsRule, Rule
from support.version_spaces import Part, all_sets, column, data_set

examples = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=20)
members = st.sets(st.integers(0, 7), max_size=5)


def published(ids: set[int], bits: int = 3) -> PointsRule:
    return PointsRule(bits=bits, members=tuple(sorted(ids)))


def votes(hypotheses: SparseSets, part: Part, rule: Rule) -> dict[int, int]:
    proposals = hypotheses.proposals(*data_set(hypotheses, part), rule)
    ids = [to_int(key) for key in proposals.keys]
    assert len(set(ids)) == len(ids)
    return dict(zip(ids, proposals.scores.tolist(), strict=True))


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
    assert hypotheses.builds_up
    assert hypotheses.first_rule().members == ()
    assert hypotheses.proposals_per_example == 1
    assert not hypotheses.has_closures
    assert hypotheses.contains(column(hypotheses, [2**64 - 1]))
    assert not SparseSets(63, 4).contains(column(hypotheses, [2**63]))
    assert (
        class_from_dict(hypotheses.to_dict()) == class_from_name("sparse_sets:64:4") == hypotheses
    )


@given(part=examples, ids=members)
def test_proposals_are_votes_for_ids_that_are_not_published(part: Part, ids: set[int]) -> None:
    counts = Counter(part)
    lacking = {p for p, label in part if label and p not in ids and len(ids) < 4}
    expected = {p: counts[p, 1] - counts[p, 0] for p in lacking}
    assert votes(SparseSets(3, 4), part, published(ids)) == expected


@given(part=examples, ids=members)
def test_wide_ids_get_the_same_votes(part: Part, ids: set[int]) -> None:
    wide = [(p << 90 | p, label) for p, label in part]
    found = votes(SparseSets(93, 4), wide, published({p << 90 | p for p in ids}, bits=93))
    expected = votes(SparseSets(3, 4), part, published(ids))
    assert found == {p << 90 | p: score for p, score in expected.items()}


@given(part=examples, ids=members)
def test_a_proposed_rule_has_one_id_more(part: Part, ids: set[int]) -> None:
    hypotheses = SparseSets(3, 4)
    rule = published(ids)
    proposals = hypotheses.proposals(*data_set(hypotheses, part), rule)
    for index, key in enumerate(proposals.keys):
        proposed = hypotheses.proposed_rule(proposals, index, rule)
        assert proposed.members == tuple(sorted({*ids, to_int(key)}))
        assert len(proposed.members) == len(ids) + 1 <= 4


@given(part=examples, sets=st.lists(members, min_size=1, max_size=5))
def test_a_majority_counts_as_the_ids_it_says_1_to(part: Part, sets: list[set[int]]) -> None:
    hypotheses = SparseSets(3, 4)
    majority = MajorityRule(tuple(published(ids) for ids in sets))
    held = {p for p in range(8) if majority.evaluate(column(hypotheses, [p]))[0]}
    assert votes(hypotheses, part, majority) == votes(hypotheses, part, published(held))
    proposals = hypotheses.proposals(*data_set(hypotheses, part), majority)
    for index, key in enumerate(proposals.keys):
        proposed = hypotheses.proposed_rule(proposals, index, majority)
        assert proposed.members == tuple(sorted({*held, to_int(key)}))


@given(part=examples, other=st.tuples(st.integers(0, 7), st.integers(0, 1)), ids=members)
def test_one_example_replaced_changes_scores_by_an_interval_of_2(
    part: Part, other: tuple[int, int], ids: set[int]
) -> None:
    before = [*part, (0, 1)]
    first, second = (votes(SparseSets(3, 4), p, published(ids)) for p in (before, [*part, other]))
    changes = {p: second.get(p, 0) - first.get(p, 0) for p in {*first, *second}}
    for p in {*first} ^ {*second}:
        assert first.get(p, 1) <= 1
        assert second.get(p, 1) <= 1
    common = [changes[p] for p in {*first} & {*second}]
    assert max(common, default=0) - min(common, default=0) <= 2
    assert sum(change != 0 for change in common) <= 2


@given(part=examples)
def test_each_positive_example_proposes_its_id_only(part: Part) -> None:
    hypotheses = SparseSets(3, 4)
    for point, label in part:
        assert votes(hypotheses, [(point, label)], published(set())) == (
            {point: 1} if label else {}
        )


def test_keys_are_rising_tuples() -> None:
    assert SparseSets(8, 3).essential_rule((3, 9)) == PointsRule(bits=8, members=(3, 9))
