"""Every class against brute force on domains small enough to enumerate."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import table as table_module
from littled.classes.affine import AffineSubspaces
from littled.classes.base import ClassError, DataSet
from littled.classes.capabilities import needed
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import RepresentedRules
from littled.classes.names import class_from_dict
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.codec import encode
from littled_protocol.columns import point_type
from littled_protocol.messages import Release
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    PointsRule,
    PrefixRule,
    Rule,
    TableRule,
)
from oracle.classes.spaces import solved
from oracle.littlestone.dimension import standard_optimal_algorithm
from oracle.littlestone.essential import essential_hypotheses
from support.class_cases import CASES, SUITE
from support.rules import cleared, reduced_basis

BITS = 3
POINTS = range(1 << BITS)
TABLE = needed(CASES["table"].suite)
DENSE = [hypotheses for hypotheses in SUITE if hypotheses.dense is not None]


def named(hypotheses: HypothesisClass) -> str:
    return hypotheses.name


every_class = pytest.mark.parametrize("hypotheses", SUITE, ids=named)
every_dense_class = pytest.mark.parametrize("hypotheses", DENSE, ids=named)


def column(hypotheses: HypothesisClass, points: Any) -> NDArray[Any]:
    """Points in the class's own column type; the bits of a number are the features of a row."""
    kind = point_type(hypotheses.point_type)
    values: list[Any] = [int(point) for point in points]
    if kind.columns > 1:
        values = [[value >> bit & 1 for bit in range(kind.columns)] for value in values]
    return kind.decode(values, len(values))


def all_rules(hypotheses: HypothesisClass) -> list[Rule]:
    """Every rule of the class."""
    if (few := hypotheses.dense) is not None:
        return [few.rule(index) for index in range(few.rule_count)]
    rules: list[Rule] = [hypotheses.first_rule()]  # always 0, for all these classes
    if isinstance(hypotheses, AffineSubspaces):
        vectors = range(1, 1 << BITS)
        sizes = range(hypotheses.dimension + 1)
        bases = {reduced_basis(part) for size in sizes for part in combinations(vectors, size)}
        spaces = {(basis, cleared(point, basis)) for basis in bases for point in POINTS}
        return rules + [AffineRule(BITS, *space) for space in sorted(spaces)]
    if isinstance(hypotheses, Prefixes):
        lengths = range(BITS + 1)
        return rules + [PrefixRule(BITS, v, n) for n in lengths for v in range(1 << n)]
    most = hypotheses.members if isinstance(hypotheses, SparseSets) else 1
    sizes = range(1, most + 1)
    return rules + [PointsRule(BITS, part) for size in sizes for part in combinations(POINTS, size)]


def says(rule: Rule, hypotheses: HypothesisClass) -> tuple[int, ...]:
    return tuple(int(v) for v in rule.evaluate(column(hypotheses, POINTS)))


MATRICES = {
    each.name: np.array([says(rule, each) for rule in all_rules(each)], dtype=bool)
    for each in SUITE
}

Part = list[tuple[int, int]]
examples = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=12)


def data_set(hypotheses: HypothesisClass, pairs: Part) -> DataSet:
    x = column(hypotheses, [p for p, _ in pairs])
    return x, np.array([label for _, label in pairs], dtype=np.uint8)


def consistent(
    hypotheses: HypothesisClass, parts: list[Part], limit: Fraction
) -> NDArray[np.bool_]:
    """The rows of the rules that err little enough on every part."""
    matrix = MATRICES[hypotheses.name]
    good = np.ones(len(matrix), dtype=bool)
    for part in parts:
        labels = np.array([label for _, label in part], dtype=bool)
        wrong = (matrix[:, [point for point, _ in part]] != labels).sum(axis=1)
        good &= wrong * limit.denominator <= limit.numerator * len(part)
    return matrix[good]


@every_class
def test_rules_of_a_class_are_different(hypotheses: HypothesisClass) -> None:
    matrix = MATRICES[hypotheses.name]
    assert len(np.unique(matrix, axis=0)) == len(matrix)
    assert tuple(map(bool, says(hypotheses.first_rule(), hypotheses))) in set(map(tuple, matrix))


@every_class
def test_dimension_is_exact(hypotheses: HypothesisClass) -> None:
    exact = littlestone_dimension(MATRICES[hypotheses.name])
    assert hypotheses.littlestone_dimension == exact


@every_class
def test_dual_dimension_is_a_bound(hypotheses: HypothesisClass) -> None:
    exact = dual_vapnik_chervonenkis_dimension(MATRICES[hypotheses.name])
    slack = {TABLE.name: 1}.get(hypotheses.name, 0)
    assert exact <= hypotheses.dual_vc_dimension <= exact + slack


@pytest.mark.parametrize("size", range(1, 20))
def test_thresholds_dimension_is_exact(size: int) -> None:
    matrix = np.arange(size) >= np.arange(size + 1)[:, None]
    assert littlestone_dimension(matrix) == Thresholds(size).littlestone_dimension


# --- Dense selection ------------------------------------------------------------------------------


@every_dense_class
@given(first=examples, second=examples)
def test_scores_count_agreements(hypotheses: HypothesisClass, first: Part, second: Part) -> None:
    rules = needed(hypotheses.dense)
    statistics = rules.empty_statistics()
    for part in (first, second):
        statistics = rules.add(statistics, *data_set(hypotheses, part))
    scores = rules.scores(statistics)
    matrix = MATRICES[hypotheses.name]
    assert scores.tolist() == [sum(row[x] == y for x, y in first + second) for row in matrix]


@every_dense_class
def test_numbered_rules_say_their_labels(hypotheses: HypothesisClass) -> None:
    matrix, rules = MATRICES[hypotheses.name], hypotheses.window_labelings
    assert isinstance(rules, RepresentedRules)
    for point in POINTS:
        labels = rules.labels_of(np.arange(len(matrix)), column(hypotheses, [point]))
        np.testing.assert_array_equal(labels, matrix[:, point])


@every_dense_class
@given(part=examples, data=st.data())
def test_one_example_changes_every_score_by_at_most_one(
    hypotheses: HypothesisClass, part: Part, data: st.DataObject
) -> None:
    def scores(pairs: Part) -> NDArray[np.int64]:
        rules = needed(hypotheses.dense)
        return rules.scores(rules.add(rules.empty_statistics(), *data_set(hypotheses, pairs)))

    one, other = (data.draw(st.tuples(st.integers(0, 7), st.integers(0, 1))) for _ in range(2))
    added = scores([*part, one]) - scores(part)
    assert set(added.tolist()) <= {0, 1}
    assert set((scores([*part, other]) - scores([*part, one])).tolist()) <= {-1, 0, 1}


@dataclass(frozen=True)
class Unbounded(Thresholds):
    """Thresholds that know no bound for their dual dimension."""

    dual_vc_dimension = HypothesisClass.dual_vc_dimension


def test_the_dual_dimension_is_bounded_by_that_of_the_class() -> None:
    assert Unbounded(8).dual_vc_dimension == 2**2 - 1 >= Thresholds(8).dual_vc_dimension


# --- Proposals ------------------------------------------------------------------------------------


@given(pairs=examples)
def test_proposals_are_votes_for_proposed_rules(pairs: Part) -> None:
    hypotheses = Prefixes(3)
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


@every_class
def test_an_example_proposes_at_most_the_declared_number(hypotheses: HypothesisClass) -> None:
    proposing, closed = hypotheses.proposing, hypotheses.intersection_closed
    first = hypotheses.first_rule()
    for point in POINTS:
        for label in (0, 1):
            x, y = data_set(hypotheses, [(point, label)])
            if proposing is not None:
                proposals, most = proposing.proposals(x, y), proposing.proposals_per_example
                assert len(proposals.scores) == (most if label else 0)
            if closed is not None:
                closures = closed.closures(x, y, None, first)
                assert closures.scores.tolist() == [1] * label


# --- Version spaces -------------------------------------------------------------------------------


@every_class
@given(parts=st.lists(examples, max_size=3))
def test_version_spaces_without_errors_have_exact_dimensions_and_soas(
    hypotheses: HypothesisClass, parts: list[Part]
) -> None:
    sets = [data_set(hypotheses, p) for p in parts]
    space = solved(hypotheses, sets, Fraction(0))
    keys = needed(hypotheses.version_spaces).version_space(sets, Fraction(0)).essential(1000)
    rows = consistent(hypotheses, parts, Fraction(0))
    assert space.littlestone_dimension == littlestone_dimension(rows)
    if len(rows):
        found = says(space.standard_optimal_rule(), hypotheses)
        assert found == tuple(map(int, standard_optimal_algorithm(rows)))
        assert keys
    else:
        assert keys == []
        with pytest.raises(ClassError, match="empty version space has no standard optimal rule"):
            space.standard_optimal_rule()


@pytest.mark.parametrize("hypotheses", [Thresholds(8), TABLE, Stumps(3, 2)], ids=named)
@given(parts=st.lists(examples, max_size=3), tolerance=st.sampled_from(["1/10", "1/4", "1/2"]))
def test_version_spaces_with_errors_have_exact_dimensions_and_soas(
    hypotheses: HypothesisClass, parts: list[Part], tolerance: str
) -> None:
    sets = [data_set(hypotheses, part) for part in parts]
    space = solved(hypotheses, sets, Fraction(tolerance))
    rows = consistent(hypotheses, parts, Fraction(tolerance))
    assert space.littlestone_dimension == littlestone_dimension(rows)
    if len(rows):
        found = says(space.standard_optimal_rule(), hypotheses)
        assert found == tuple(map(int, standard_optimal_algorithm(rows)))


@every_dense_class
@given(parts=st.lists(examples, max_size=3), tolerance=st.sampled_from(["0", "1/10", "1/4"]))
def test_dense_classes_list_their_version_space(
    hypotheses: HypothesisClass, parts: list[Part], tolerance: str
) -> None:
    sets = [data_set(hypotheses, part) for part in parts]
    spaces = needed(hypotheses.version_spaces)
    keys = spaces.essential_list(sets, Fraction(tolerance), 1000)
    listed = [says(spaces.essential_rule(key), hypotheses) for key in keys]
    assert len(set(listed)) == len(keys)
    assert set(listed) == set(map(tuple, consistent(hypotheses, parts, Fraction(tolerance)) * 1))


@pytest.mark.parametrize("more", [0, 1], ids=["d = LDim", "d = LDim + 1"])
@pytest.mark.parametrize("hypotheses", [Thresholds(8), TABLE, Stumps(3, 2)], ids=named)
@given(parts=st.lists(examples, max_size=2))
def test_listed_rules_are_essential_by_definition(
    hypotheses: HypothesisClass, more: int, parts: list[Part]
) -> None:
    sets = [data_set(hypotheses, part) for part in parts]
    d = hypotheses.littlestone_dimension + more
    p = needed(hypotheses.version_spaces).essential_p_min(d)
    assert p is not None
    rows = consistent(hypotheses, parts, Fraction(1, 4))
    exact = essential_hypotheses(rows, p, d)
    spaces = needed(hypotheses.version_spaces)
    keys = spaces.essential_list(sets, Fraction(1, 4), 1000)
    listed = {says(spaces.essential_rule(key), hypotheses) for key in keys}
    assert listed == set(map(tuple, exact * 1))


@every_class
@given(part=examples, cap=st.integers(1, 5))
def test_essential_list_is_cut_to_the_cap(
    hypotheses: HypothesisClass, part: Part, cap: int
) -> None:
    sets = [data_set(hypotheses, part)]
    spaces = needed(hypotheses.version_spaces)
    whole = spaces.essential_list(sets, Fraction(1, 4), 1000)
    keys: list[Hashable] = spaces.essential_list(sets, Fraction(1, 4), cap)
    assert len(keys) == len(set(keys)) == min(cap, len(whole))
    assert set(keys) <= set(whole)


# --- Descriptions and domains ---------------------------------------------------------------------


@every_class
def test_descriptions_make_equal_classes(hypotheses: HypothesisClass) -> None:
    again = class_from_dict(hypotheses.to_dict())
    assert again == hypotheses
    assert again.name == hypotheses.name
    assert again.first_rule() == hypotheses.first_rule()


@pytest.mark.parametrize("bits", [1, 8, 20, 63, 64, 65, 100, 128])
@pytest.mark.parametrize("of_bits", [Prefixes, PointFunctions, Conjunctions])
def test_domain_check_is_exact(of_bits: type[Any], bits: int) -> None:
    hypotheses = of_bits(bits)
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


# --- Tables ---------------------------------------------------------------------------------------


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


def test_the_soa_of_a_table_is_a_row_where_it_can_be() -> None:
    matrix = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]], dtype=bool)
    table = Table.from_matrix(["none", "c", "b", "a"], matrix)
    space = solved(table, [], Fraction(0))
    assert space.standard_optimal_rule() == table.rule(0)
    others = Table.from_matrix(["c", "b", "a"], matrix[1:])
    rule = solved(others, [], Fraction(0)).standard_optimal_rule()
    assert isinstance(rule, TableRule)
    assert (rule.name, rule.digest) == ("standard optimal rule", others.digest)
    assert rule.evaluate(np.arange(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("rows", ["!", "AAA", "AAAA"])
def test_damaged_tables_get_a_sentence(rows: str) -> None:
    with pytest.raises(ClassError, match="damaged"):
        class_from_dict({**TABLE.to_dict(), "rows": rows})


def test_costly_tables_have_bounds_and_majorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "DIMENSION_SUBCLASSES_MAX", 3)
    matrix = np.array([[row >> bit & 1 for bit in range(5)] for row in range(1, 30)], dtype=bool)
    table = Table.from_matrix([str(row) for row in range(1, 30)], matrix)
    assert table.littlestone_dimension == 4
    space = solved(table, [], Fraction(0))
    assert space.littlestone_dimension == 4
    majority = 2 * matrix.sum(axis=0) > len(matrix)
    labels = space.standard_optimal_rule().evaluate(np.arange(5))
    np.testing.assert_array_equal(labels, majority)


def test_large_tables_have_bounds_and_majorities() -> None:
    generator = np.random.default_rng(0)
    matrix = generator.integers(0, 2, size=(400, 200)).astype(bool)
    table = Table.from_matrix([f"r{i}" for i in range(400)], matrix)
    assert table.littlestone_dimension == 8
    y = matrix[7, :3].astype(np.uint8)
    space = solved(table, [(np.arange(3, dtype=np.uint8), y)], Fraction(0))
    rows = matrix[(matrix[:, :3] == y.astype(bool)).all(axis=1)]
    assert 20 < len(rows) < 100
    assert space.littlestone_dimension <= len(rows).bit_length() - 1
    whole = solved(table, [], Fraction(0)).standard_optimal_rule()
    majority = (2 * matrix.sum(axis=0) > 400).astype(int)
    assert whole.evaluate(np.arange(200)).tolist() == majority.tolist()


# --- what a release can hold ----------------------------------------------------------------------


def wire_bytes(rule: Rule) -> int:
    """Length of the frame that publishes the rule."""
    return len(encode(Release("s/l", 1, "rule", 0, 0, 0, rule.to_dict())))


def some_rules(hypotheses: HypothesisClass, rng: np.random.Generator) -> Iterator[Rule]:
    """Rules of classes too large to list: at both ends, and in between."""

    def number(bits: int) -> int:
        return int.from_bytes(rng.bytes(16), "big") >> 128 - bits if bits else 0

    for _ in range(60):
        match hypotheses:
            case PointFunctions(bits):
                yield PointsRule(bits, (number(bits),))
            case SparseSets(bits, members):
                ids = {number(bits) for _ in range(members)}
                yield PointsRule(bits, tuple(sorted(ids)))
            case Prefixes(bits):
                length = int(rng.integers(0, bits + 1))
                yield PrefixRule(bits, number(length), length)
            case AffineSubspaces(bits, dimension):
                basis = reduced_basis([number(bits) for _ in range(dimension)])
                yield AffineRule(bits, basis, cleared(number(bits), basis))
            case Conjunctions(bits):
                ones = number(bits)
                yield ConjunctionRule(bits, ones, number(bits) & ~ones)


@every_class
def test_no_rule_is_longer_on_the_wire_than_the_longest(hypotheses: HypothesisClass) -> None:
    longest = wire_bytes(hypotheses.longest_rule)
    assert max(map(wire_bytes, all_rules(hypotheses))) == longest


@pytest.mark.parametrize(
    "hypotheses",
    [
        *(Thresholds(70_000), Stumps(200, 300), Conjunctions(9), Conjunctions(32)),
        *(PointFunctions(32), PointFunctions(128), Prefixes(20), Prefixes(128), Conjunctions(128)),
        *(SparseSets(16, 1024), SparseSets(128, 40), SparseSets(4, 100)),
        *(AffineSubspaces(bits, d) for bits, d in ((9, 4), (17, 5), (20, 20), (32, 31), (128, 9))),
        Table.from_matrix(["a", "b\u00e9\u00e9", "cccc"], np.eye(3, dtype=bool)),
    ],
    ids=named,
)
def test_no_rule_of_wide_points_is_longer_than_the_longest(hypotheses: HypothesisClass) -> None:
    longest = wire_bytes(hypotheses.longest_rule)
    rng = np.random.default_rng(3)
    some = [hypotheses.first_rule(), *some_rules(hypotheses, rng)]
    if (few := hypotheses.dense) is not None:
        chosen = {*range(0, few.rule_count, max(1, few.rule_count // 500)), few.rule_count - 1}
        some += [few.rule(index) for index in sorted(chosen)]
    assert max(map(wire_bytes, some)) <= longest
    if isinstance(hypotheses, AffineSubspaces) and hypotheses.dimension < hypotheses.bits:
        assert hypotheses.longest_rule.offset
