"""Version spaces of conjunctions against all rules of few bits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import conjunction_spaces
from littled.classes.base import ClassError, DataSet
from littled.classes.capabilities import needed
from littled.classes.conjunctions import Conjunctions
from littled.littlestone import littlestone_dimension
from littled_protocol.rules import ConjunctionRule, Words
from oracle.classes import conjunctions
from oracle.classes.spaces import solved
from oracle.littlestone.dimension import standard_optimal_algorithm
from oracle.littlestone.essential import essential_hypotheses

Part = list[tuple[int, int]]


def matrix_of(bits: int) -> NDArray[np.bool_]:
    """What every rule says to every point."""
    hypotheses = Conjunctions(bits)
    points = np.arange(1 << bits)
    few = needed(hypotheses.dense)
    rules = [few.rule(index) for index in range(few.rule_count)]
    return np.array([rule.evaluate(points) for rule in rules], dtype=bool)


MATRICES = {bits: matrix_of(bits) for bits in (1, 2, 3)}


def data_sets(parts: list[Part]) -> list[DataSet]:
    return [
        (
            np.array([point for point, _ in part], dtype=np.uint8),
            np.array([label for _, label in part], dtype=np.uint8),
        )
        for part in parts
    ]


def consistent(
    matrix: NDArray[np.bool_], parts: list[Part], tolerance: Fraction
) -> NDArray[np.bool_]:
    """Which rows err little enough on every part."""
    good = np.ones(len(matrix), dtype=bool)
    for part in parts:
        points = [point for point, _ in part]
        labels = np.array([label for _, label in part], dtype=bool)
        wrong = (matrix[:, points] != labels).sum(axis=1)
        good &= wrong * tolerance.denominator <= tolerance.numerator * len(part)
    return good


@st.composite
def spaces(draw: st.DrawFn, most: int = 3) -> tuple[int, list[Part]]:
    """A width and labelled data, some of a rule of the class and some not."""
    bits = draw(st.integers(1, most))
    target = draw(st.sampled_from(list(MATRICES[bits])))
    noise = st.sampled_from([0, 0, 0, 0, 1] if draw(st.booleans()) else [0])
    example = st.tuples(st.integers(0, (1 << bits) - 1), noise)
    parts = draw(st.lists(st.lists(example, max_size=7), max_size=3))
    return bits, [[(x, int(target[x]) ^ wrong) for x, wrong in part] for part in parts]


tolerances = st.sampled_from([Fraction(n, 6) for n in (1, 2, 3)])


@given(spaces())
def test_without_errors_dimension_and_soa_are_exact(case: tuple[int, list[Part]]) -> None:
    bits, parts = case
    space = solved(Conjunctions(bits), data_sets(parts), Fraction(0))
    rows = MATRICES[bits][consistent(MATRICES[bits], parts, Fraction(0))]
    assert space.littlestone_dimension == littlestone_dimension(rows)
    if len(rows):
        labels = space.standard_optimal_rule().evaluate(np.arange(1 << bits))
        np.testing.assert_array_equal(labels, standard_optimal_algorithm(rows))
    else:
        with pytest.raises(ClassError, match="empty version space"):
            space.standard_optimal_rule()


@given(spaces(), tolerances)
def test_with_errors_the_dimension_is_a_bound_that_a_rule_attains(
    case: tuple[int, list[Part]], tolerance: Fraction
) -> None:
    bits, parts = case
    space = solved(Conjunctions(bits), data_sets(parts), tolerance)
    rows = MATRICES[bits][consistent(MATRICES[bits], parts, tolerance)]
    bound = space.littlestone_dimension
    assert littlestone_dimension(rows) <= bound
    assert (bound == -1) == (not len(rows))
    if len(rows) and any(tolerance * len(part) >= 1 for part in parts):
        rule = space.standard_optimal_rule()
        # the conjunction of all literals that a consistent rule may have is inside all of them
        assert not (rule.evaluate(np.arange(1 << bits)) & ~rows.all(axis=0)).any()


@given(spaces(), st.sampled_from([Fraction(0), Fraction(1, 6), Fraction(1, 2)]), st.data())
def test_the_list_is_the_version_space_and_is_cut_best_first(
    case: tuple[int, list[Part]], tolerance: Fraction, data: st.DataObject
) -> None:
    bits, parts = case
    hypotheses = Conjunctions(bits)
    space = solved(hypotheses, data_sets(parts), tolerance)
    matrix = MATRICES[bits]
    keys = space.essential(1000)
    rules = [hypotheses.essential_rule(key) for key in keys]
    assert len(set(rules)) == len(rules)
    said = {tuple(rule.evaluate(np.arange(1 << bits))) for rule in rules}
    assert said == set(map(tuple, matrix[consistent(matrix, parts, tolerance)].astype(int)))

    def badness(rule: ConjunctionRule) -> tuple[int, int]:
        errors = sum(int(rule.evaluate(np.array([x]))[0]) != y for part in parts for x, y in part)
        return errors, -(rule.ones.bit_count() + rule.zeros.bit_count())

    assert list(map(badness, rules)) == sorted(map(badness, rules))
    cap = data.draw(st.integers(1, 6))
    assert space.essential(cap) == keys[:cap]


@given(spaces(2), st.sampled_from([Fraction(0), Fraction(1, 3)]))
@settings(max_examples=60)
def test_the_list_is_essential_by_definition(
    case: tuple[int, list[Part]], tolerance: Fraction
) -> None:
    bits, parts = case
    hypotheses = Conjunctions(bits)
    rows = MATRICES[bits][consistent(MATRICES[bits], parts, tolerance)]
    exact = essential_hypotheses(rows, 2 * bits, bits + 1)
    keys = hypotheses.essential_list(data_sets(parts), tolerance, 1000)
    listed = [hypotheses.essential_rule(key).evaluate(np.arange(1 << bits)) for key in keys]
    assert sorted(map(tuple, np.array(listed, dtype=bool))) == sorted(map(tuple, exact))


# --- Wide classes ---------------------------------------------------------------------------------


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search where all rules could be looked at, for as long as it takes."""
    monkeypatch.setattr(conjunction_spaces, "ALL_RULES_BITS_MAX", 0)
    monkeypatch.setattr(conjunction_spaces, "SEARCH_STEPS_MAX", 10_000)


@pytest.mark.usefixtures("searching")
@given(case=spaces(), tolerance=st.sampled_from([Fraction(0), Fraction(1, 6), Fraction(1, 2)]))
def test_a_long_search_finds_every_rule_around_a_positive_point(
    case: tuple[int, list[Part]], tolerance: Fraction
) -> None:
    bits, parts = case
    hypotheses = Conjunctions(bits)
    space = solved(hypotheses, data_sets(parts), tolerance)
    matrix = MATRICES[bits]
    rows = matrix[consistent(matrix, parts, tolerance)]
    positive = [point for part in parts for point, label in part if label]
    around = rows[rows[:, positive].any(axis=1)] if positive else rows[:0]
    never = rows[~rows.any(axis=1)]
    keys = space.essential(1000)
    said = {tuple(hypotheses.essential_rule(key).evaluate(np.arange(1 << bits))) for key in keys}
    assert len(said) == len(keys)
    assert said == set(map(tuple, np.concatenate((around, never)).astype(int)))
    assert (space.littlestone_dimension == -1) == (not len(rows))


@pytest.mark.parametrize("bits", [9, 64, 65, 128])
def test_teachers_with_enough_examples_list_the_target(bits: int) -> None:
    generator = np.random.default_rng(bits)
    hypotheses = Conjunctions(bits)
    target = ConjunctionRule(bits, 0b101, 0b010)
    free = (1 << bits) - 1 & ~0b111
    for tolerance in (Fraction(0), Fraction(1, 10)):
        inside = [int.from_bytes(generator.bytes(16)) & free | 0b101 for _ in range(20)]
        outside = [point ^ 0b001 << int(generator.integers(3)) for point in inside]
        words = [[p >> 64, p % 2**64] if bits > 64 else p for p in inside + outside]
        x = np.array(words, dtype=np.uint64)
        if bits == 9:
            x = x.astype(np.uint16)
        y = np.repeat(np.array([1, 0], dtype=np.uint8), 20)
        space = solved(hypotheses, [(x, y), (x[10:30], y[10:30])], tolerance)
        rules = [hypotheses.essential_rule(key) for key in space.essential(32)]
        assert target in rules
        assert len(rules) <= 32
        for rule in rules:
            wrong = int(np.count_nonzero(rule.evaluate(x) != y))
            assert wrong <= tolerance * 40
        assert 0 <= space.littlestone_dimension <= bits + 1
        assert space.standard_optimal_rule().x_type == hypotheses.point_type


def test_without_data_the_version_space_is_the_class() -> None:
    hypotheses = Conjunctions(100)
    space = solved(hypotheses, [], Fraction(1, 10))
    assert space.littlestone_dimension == hypotheses.littlestone_dimension == 101
    assert space.standard_optimal_rule().describe(Words()) == "always 1"
    keys = space.essential(10)
    assert [hypotheses.essential_rule(key).describe(Words()) for key in keys] == ["never 1"]


def test_labels_0_at_all_points_leave_the_rule_that_is_always_0() -> None:
    hypotheses = Conjunctions(4)
    x, y = np.arange(16, dtype=np.uint8), np.zeros(16, dtype=np.uint8)
    space = solved(hypotheses, [(x[:8], y[:8]), (x[8:], y[8:])], Fraction(0))
    assert space.littlestone_dimension == 0
    assert space.standard_optimal_rule() == hypotheses.first_rule()
    assert [hypotheses.essential_rule(key) for key in space.essential(9)] == [
        hypotheses.first_rule()
    ]


def test_too_many_negative_points_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2**32, size=60, dtype=np.uint32)
    y = np.zeros(60, dtype=np.uint8)
    y[0] = 1
    hypotheses = Conjunctions(32)
    exact = solved(hypotheses, [(x, y)], Fraction(0)).littlestone_dimension
    monkeypatch.setattr(conjunctions, "HITTING_STEPS_MAX", 50)
    space = solved(hypotheses, [(x, y)], Fraction(0))
    assert exact < space.littlestone_dimension < 32
    # the rule is then the closure of the one positive point
    only = int(x[0])
    assert space.standard_optimal_rule() == ConjunctionRule(32, only, ~only & 2**32 - 1)
