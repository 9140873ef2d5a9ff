"""Every class against brute force on domains small enough to enumerate."""

from collections.abc import Hashable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import (
    ClassError,
    HypothesisClass,
    PointFunctions,
    Prefixes,
    Table,
    Thresholds,
    class_from_dict,
    class_from_name,
)
from littled.classes.base import DataSet
from littled.littlestone import littlestone_dimension
from littled_protocol.columns import point_type
from littled_protocol.rules import PointsRule, PrefixRule, Rule

BITS = 3
TABLE = Table.from_matrix(
    [f"r{i}" for i in range(6)],
    np.array([[bool(row * 5 >> bit & 1) for bit in range(8)] for row in range(6)]),
)
CLASSES: list[HypothesisClass] = [Thresholds(8), PointFunctions(BITS), Prefixes(BITS), TABLE]
POINTS = np.arange(8)


def column(hypotheses: HypothesisClass, points: Any) -> NDArray[Any]:
    """Points in the class's own column type."""
    kind = point_type(hypotheses.point_type)
    return kind.decode([int(p) for p in points], len(points))


def all_rules(hypotheses: HypothesisClass) -> list[Rule]:
    """Every rule of the class, without the constant 0 that learners may publish besides."""
    if hypotheses.rule_count is not None:
        return [hypotheses.rule(index) for index in range(hypotheses.rule_count)]
    if isinstance(hypotheses, PointFunctions):
        return [PointsRule(bits=BITS, members=(a,)) for a in range(8)]
    return [
        PrefixRule(bits=BITS, value=value, length=length)
        for length in range(BITS + 1)
        for value in range(1 << length)
    ]


def says(rule: Rule, hypotheses: HypothesisClass) -> tuple[int, ...]:
    return tuple(int(v) for v in rule.evaluate(column(hypotheses, POINTS)))


examples = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=12)


def data_set(hypotheses: HypothesisClass, pairs: list[tuple[int, int]]) -> DataSet:
    x = column(hypotheses, [p for p, _ in pairs])
    return x, np.array([label for _, label in pairs], dtype=np.uint8)


@pytest.mark.parametrize("hypotheses", CLASSES, ids=lambda c: c.name)
def test_dimension_is_exact_or_a_tight_bound(hypotheses: HypothesisClass) -> None:
    rules = {says(rule, hypotheses) for rule in all_rules(hypotheses)}
    exact = littlestone_dimension(np.array(sorted(rules), dtype=bool))
    assert exact <= hypotheses.littlestone_dimension <= exact + (hypotheses.name == "prefixes:3")


@pytest.mark.parametrize("size", range(1, 20))
def test_thresholds_dimension_is_exact(size: int) -> None:
    matrix = np.arange(size) >= np.arange(size + 1)[:, None]
    assert littlestone_dimension(matrix) == Thresholds(size).littlestone_dimension


@pytest.mark.parametrize("hypotheses", [Thresholds(8), TABLE], ids=lambda c: c.name)
@given(first=examples, second=examples)
def test_scores_count_agreements(
    hypotheses: HypothesisClass, first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    statistics = hypotheses.empty_statistics()
    for part in (first, second):
        statistics = hypotheses.add(statistics, *data_set(hypotheses, part))
    scores = hypotheses.scores(statistics)
    for index, rule in enumerate(all_rules(hypotheses)):
        table = says(rule, hypotheses)
        assert scores[index] == sum(table[x] == y for x, y in first + second)


@pytest.mark.parametrize("hypotheses", [PointFunctions(3), Prefixes(3)], ids=lambda c: c.name)
@given(pairs=examples)
def test_proposals_are_votes_for_proposed_rules(
    hypotheses: HypothesisClass, pairs: list[tuple[int, int]]
) -> None:
    proposals = hypotheses.proposals(*data_set(hypotheses, pairs))
    found = {
        hypotheses.proposed_rule(proposals, index): int(score)
        for index, score in enumerate(proposals.scores)
    }
    expected = {}
    for rule in all_rules(hypotheses):
        table = says(rule, hypotheses)
        positive = sum(table[x] for x, y in pairs if y)
        if positive:
            expected[rule] = positive - sum(table[x] for x, y in pairs if not y)
    assert found == expected


@pytest.mark.parametrize("hypotheses", [PointFunctions(3), Prefixes(3)], ids=lambda c: c.name)
def test_an_example_proposes_at_most_the_declared_number(hypotheses: HypothesisClass) -> None:
    for point, label in product(range(8), range(2)):
        proposals = hypotheses.proposals(*data_set(hypotheses, [(point, label)]))
        assert len(proposals.scores) == (hypotheses.proposals_per_example if label else 0)


@pytest.mark.parametrize("hypotheses", CLASSES, ids=lambda c: c.name)
@given(parts=st.lists(examples, max_size=3), tolerance=st.sampled_from(["0", "1/10", "1/4"]))
def test_essential_list_is_the_version_space_or_the_soa(
    hypotheses: HypothesisClass, parts: list[list[tuple[int, int]]], tolerance: str
) -> None:
    limit = Fraction(tolerance)
    sets = [data_set(hypotheses, part) for part in parts]
    keys = hypotheses.essential_list(sets, limit, 1000)
    listed = [says(hypotheses.essential_rule(key), hypotheses) for key in keys]
    consistent = set()
    for rule in all_rules(hypotheses):
        table = says(rule, hypotheses)
        errors = [sum(table[x] != y for x, y in part) for part in parts]
        if all(e <= limit * len(part) for e, part in zip(errors, parts, strict=True)):
            consistent.add(table)
    unseen_allowed = all(sum(y for _, y in part) <= limit * len(part) for part in parts)
    if hypotheses.rule_count is None and unseen_allowed:
        assert listed == [(0,) * 8]
    else:
        assert len(listed) == len(keys)
        assert set(listed) == consistent


@pytest.mark.parametrize("hypotheses", CLASSES, ids=lambda c: c.name)
@given(part=examples, cap=st.integers(1, 5))
def test_essential_list_is_cut_to_the_cap(
    hypotheses: HypothesisClass, part: list[tuple[int, int]], cap: int
) -> None:
    sets = [data_set(hypotheses, part)]
    whole = hypotheses.essential_list(sets, Fraction(1, 4), 1000)
    keys: list[Hashable] = hypotheses.essential_list(sets, Fraction(1, 4), cap)
    assert len(keys) == len(set(keys)) == min(cap, len(whole))
    assert set(keys) <= set(whole)


@pytest.mark.parametrize("hypotheses", CLASSES, ids=lambda c: c.name)
def test_descriptions_make_equal_classes(hypotheses: HypothesisClass) -> None:
    again = class_from_dict(hypotheses.to_dict())
    assert again == hypotheses
    assert again.name == hypotheses.name
    assert again.first_rule() == hypotheses.first_rule()


@pytest.mark.parametrize("bits", [1, 8, 20, 63, 64, 65, 100, 128])
def test_domain_check_is_exact(bits: int) -> None:
    hypotheses = Prefixes(bits)
    largest = (1 << bits) - 1
    kind = point_type(hypotheses.point_type)

    def wide(value: int) -> NDArray[Any]:
        if kind.name == "u128":
            return np.array([[value >> 64, value & (2**64 - 1)]], dtype=np.uint64)
        return kind.decode([value], 1)

    assert hypotheses.contains(wide(largest))
    assert hypotheses.contains(wide(largest)[:0])
    if bits < 8 * kind.itemsize_bytes:
        assert not hypotheses.contains(wide(largest + 1))


def test_wide_prefixes_find_the_block_of_their_examples() -> None:
    block = int.from_bytes(bytes.fromhex("20010db8")) << 96
    inside = [block | i << 60 for i in range(40)]
    pairs = np.array([[a >> 64, a & (2**64 - 1)] for a in inside], dtype=np.uint64)
    labels = np.ones(len(pairs), dtype=np.uint8)
    proposals = Prefixes(128).proposals(pairs, labels)
    best = proposals.scores == 40
    lengths = sorted(int(length) for length in proposals.keys[best][:, 0])
    assert lengths == list(range(63))  # 2^60 * 40 spans the low 66 bits: 62 bits are common


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("threshold:256", "there is no class"),
        ("thresholds", "whole number"),
        ("thresholds:x", "whole number"),
        ("thresholds:0", "size from 1"),
        ("thresholds:99999999", "size from 1"),
        ("points:129", "bits from 1 to 128"),
        ("prefixes:0", "bits from 1 to 128"),
        ("table:rules.csv", "there is no class"),
    ],
)
def test_bad_names_get_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        class_from_name(name)


def test_good_names() -> None:
    assert class_from_name("thresholds:256") == Thresholds(256)
    assert class_from_name("points:64") == PointFunctions(64)
    assert class_from_name("prefixes:128") == Prefixes(128)


@pytest.mark.parametrize(
    ("names", "rows", "sentence"),
    [
        (["a", "a"], [[0, 1], [1, 0]], "a name of its own"),
        (["a", ""], [[0, 1], [1, 0]], "a name of its own"),
        (["a", "b"], [[0, 1], [0, 1]], "same rule twice"),
        ([], np.zeros((0, 2)), "at least one point"),
    ],
)
def test_bad_tables_get_a_sentence(names: list[str], rows: Any, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        Table.from_matrix(names, np.array(rows, dtype=bool))


def test_dense_classes_say_what_to_use_instead() -> None:
    with pytest.raises(ClassError, match="use sparse"):
        Prefixes(8).empty_statistics()
    x, y = data_set(Thresholds(8), [(1, 1)])
    with pytest.raises(ClassError, match="use dense"):
        Thresholds(8).proposals(x, y)
