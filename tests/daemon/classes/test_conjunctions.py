"""Conjunctions against brute force: all rules of few bits, and closures teacher by teacher."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.base import ClassError
from littled.classes.capabilities import needed
from littled.classes.conjunctions import Conjunctions
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.columns import point_type
from littled_protocol.rules import ConjunctionRule, MajorityRule, Rule


def column(hypotheses: Conjunctions, points: list[int]) -> NDArray[Any]:
    """Points in the class's own column type."""
    return point_type(hypotheses.point_type).decode(points, len(points))


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_dimensions_are_exact(bits: int) -> None:
    hypotheses = Conjunctions(bits)
    few, points = needed(hypotheses.dense), column(hypotheses, list(range(1 << bits)))
    rules = [few.rule(index).evaluate(points) for index in range(few.rule_count)]
    matrix = np.array(rules, dtype=bool)
    assert littlestone_dimension(matrix) == hypotheses.littlestone_dimension
    assert dual_vapnik_chervonenkis_dimension(matrix) == hypotheses.dual_vc_dimension


# --- Closures -------------------------------------------------------------------------------------

WIDTHS = [3, 8, 20, 64, 65, 128]


def smallest(bits: int, points: set[int], around: Rule) -> ConjunctionRule:
    """The literals that all points, and all points of conjunctions, have in common."""
    mask = (1 << bits) - 1
    ones = zeros = mask
    for member in around.members if isinstance(around, MajorityRule) else (around,):
        assert isinstance(member, ConjunctionRule)
        ones, zeros = ones & member.ones, zeros & member.zeros
    for point in points:
        ones, zeros = ones & point, zeros & ~point
    return ConjunctionRule(bits, ones, zeros)


def brute_closures(
    hypotheses: Conjunctions, examples: list[tuple[int, int, int]], published: Rule
) -> Counter[Rule]:
    """The votes for closures, one teacher after the other; examples (point, label, teacher)."""
    votes: Counter[Rule] = Counter()

    def says(rule: Rule, point: int) -> int:
        return int(rule.evaluate(column(hypotheses, [point]))[0])

    for teacher in {number for _, _, number in examples}:
        mine = [(point, label) for point, label, number in examples if number == teacher]
        positive = {point for point, label in mine if label}
        if not any(says(published, point) == 0 for point in positive):
            continue
        closure = smallest(hypotheses.bits, positive, published)
        if not any(says(closure, point) for point, label in mine if not label):
            votes[closure] += 1
    return votes


def votes_of(
    hypotheses: Conjunctions, examples: list[tuple[int, int, int]], published: Rule, alone: bool
) -> Counter[Rule]:
    """What `closures` counts."""
    x = column(hypotheses, [point for point, _, _ in examples])
    y = np.array([label for _, label, _ in examples], dtype=np.uint8)
    teachers = None if alone else np.array([number for _, _, number in examples], dtype=np.int64)
    proposals = hypotheses.closures(x, y, teachers, published)
    assert proposals.scores.dtype == np.int64
    scores = proposals.scores.tolist()
    found = [hypotheses.closed_rule(proposals, index) for index in range(len(scores))]
    assert len(set(found)) == len(found)
    return Counter(dict(zip(found, scores, strict=True)))


@st.composite
def lessons(draw: st.DrawFn) -> tuple[Conjunctions, list[tuple[int, int, int]], Rule]:
    """A class, examples of some teachers that are close to each other, and a published rule."""
    bits = draw(st.sampled_from(WIDTHS))
    whole = (1 << bits) - 1
    centre = draw(st.integers(0, whole))
    places = draw(st.lists(st.integers(0, bits - 1), min_size=1, max_size=4))
    near = st.integers(0, 15).map(
        lambda flips: centre ^ sum({1 << p for i, p in enumerate(places) if flips >> i & 1})
    )
    point = near | near | st.integers(0, whole)
    example = st.tuples(point, st.sampled_from([0, 1, 1, 1]), st.integers(-2, 4))
    examples = draw(st.lists(example, max_size=14))
    never = ConjunctionRule(bits, whole, whole)
    rules = [smallest(bits, {draw(near), draw(near)}, never), never, ConjunctionRule(bits, 0, 0)]
    published = draw(st.sampled_from([*rules, MajorityRule((rules[0], rules[0], never))]))
    return Conjunctions(bits), examples, published


@given(lessons(), st.booleans())
def test_closures_are_those_of_each_teacher(
    lesson: tuple[Conjunctions, list[tuple[int, int, int]], Rule], alone: bool
) -> None:
    hypotheses, examples, published = lesson
    if alone:
        examples = [(point, label, number) for number, (point, label, _) in enumerate(examples)]
    assert votes_of(hypotheses, examples, published, alone) == brute_closures(
        hypotheses, examples, published
    )


@given(lessons(), st.booleans(), st.data())
def test_one_example_moves_at_most_one_vote(
    lesson: tuple[Conjunctions, list[tuple[int, int, int]], Rule],
    alone: bool,
    data: st.DataObject,
) -> None:
    hypotheses, examples, published = lesson
    if not examples:
        return
    place = data.draw(st.integers(0, len(examples) - 1))
    others = examples[:place] + examples[place + 1 :]
    point, label = data.draw(st.sampled_from(examples))[:2]
    replaced = [*others, (point, 1 - label, examples[place][2])]
    before = votes_of(hypotheses, examples, published, alone)
    for neighbour in (others, replaced):
        after = votes_of(hypotheses, neighbour, published, alone)
        moved = [
            after[rule] - before[rule] for rule in before | after if after[rule] != before[rule]
        ]
        assert sorted(moved) in ([], [-1], [1], [-1, 1])


def test_many_teachers_agree_on_the_target() -> None:
    hypotheses = Conjunctions(64)
    generator = np.random.default_rng(2)
    target = ConjunctionRule(64, 7 << 50, 5 << 30)
    x = generator.integers(0, 2**64, size=100_000, dtype=np.uint64)
    x[::2] = (x[::2] | np.uint64(7 << 50)) & ~np.uint64(5 << 30)
    teachers = generator.integers(0, 4000, size=len(x))
    proposals = hypotheses.closures(x, target.evaluate(x), teachers, hypotheses.first_rule())
    best = int(proposals.scores.argmax())
    assert hypotheses.closed_rule(proposals, best) == target
    assert proposals.scores[best] > 3400
    assert proposals.scores.sum() == 4000


@pytest.mark.parametrize("bits", [1, 5, 64, 128])
def test_enough_examples_span_most_closures(bits: int) -> None:
    hypotheses = Conjunctions(bits)
    enough = hypotheses.closure_examples
    assert 5 * bits <= 1 << enough - 1
    assert 5 * bits > 1 << enough - 2
    generator = np.random.default_rng(bits)
    spanned = 0
    for _ in range(300):
        bytes_ = [int.from_bytes(generator.bytes(16)) % 2**bits for _ in range(enough)]
        proposals = hypotheses.closures(
            column(hypotheses, bytes_),
            np.ones(enough, dtype=np.uint8),
            np.zeros(enough, dtype=np.int64),
            hypotheses.first_rule(),
        )
        spanned += hypotheses.closed_rule(proposals, 0) == ConjunctionRule(bits, 0, 0)
    assert spanned >= 0.75 * 300


@pytest.mark.parametrize("bits", [0, 129])
def test_widths_that_cannot_be(bits: int) -> None:
    with pytest.raises(ClassError, match="bits from 1 to 128"):
        Conjunctions(bits)
