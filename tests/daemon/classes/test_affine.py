"""Affine subspaces against brute force, closures against sets of points."""

from collections import Counter
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.affine import AffineSubspaces
from littled.classes.affine_spaces import hull
from littled.classes.base import ClassError
from littled.classes.names import class_from_dict, class_from_name
from littled.littlestone import dual_vapnik_chervonenkis_dimension, littlestone_dimension
from littled_protocol.rules import AffineRule, MajorityRule, Rule
from support.version_spaces import all_subspaces, column, span

# (teacher, point, label)
Example = tuple[int, int, int]
Votes = dict[frozenset[int], int]
POINTS = 16


def closures(
    hypotheses: AffineSubspaces, examples: list[Example], published: Rule, *, own: bool = False
) -> dict[AffineRule, int]:
    x = column(hypotheses, [point for _, point, _ in examples])
    y = np.array([label for _, _, label in examples], dtype=np.uint8)
    teachers = np.array([teacher for teacher, _, _ in examples], dtype=np.int64)
    found = hypotheses.closures(x, y, None if own else teachers, published)
    rules = [hypotheses.closed_rule(found, index) for index in range(len(found.scores))]
    assert len(set(rules)) == len(rules)
    assert found.scores.dtype == np.int64
    return dict(zip(rules, found.scores.tolist(), strict=True))


def members(rule: Rule, hypotheses: AffineSubspaces) -> frozenset[int]:
    points = column(hypotheses, range(1 << hypotheses.bits))
    return frozenset(np.flatnonzero(rule.evaluate(points)).tolist())


def as_sets(hypotheses: AffineSubspaces, votes: dict[AffineRule, int]) -> Votes:
    return {members(rule, hypotheses): score for rule, score in votes.items()}


def expected(hypotheses: AffineSubspaces, examples: list[Example], inside: frozenset[int]) -> Votes:
    """Closures as sets of points, one teacher after the other."""
    votes: Counter[frozenset[int]] = Counter()
    for teacher in {teacher for teacher, _, _ in examples}:
        mine = [(point, label) for other, point, label in examples if other == teacher]
        positive = {point for point, label in mine if label}
        closure = span([*inside, *positive])
        fits = len(closure) <= 1 << hypotheses.dimension
        if positive - inside and fits and all(x not in closure for x, label in mine if not label):
            votes[closure] += 1
    return dict(votes)


def rule_of(hypotheses: AffineSubspaces, points: list[int]) -> AffineRule:
    return hypotheses.essential_rule(hull(points))


@st.composite
def situations(draw: Any) -> tuple[AffineSubspaces, list[Example], list[int]]:
    """A class over 4 bits, examples of a few teachers near one subspace, published points."""
    hypotheses = AffineSubspaces(4, draw(st.integers(0, 4)))
    target = span(draw(st.lists(st.integers(0, 15), min_size=1, max_size=4)))
    flips = st.integers(0, 9).map(lambda x: int(x == 0))
    teacher = st.integers(-2, 3).map(lambda x: x * 10**15)
    raw = draw(st.lists(st.tuples(teacher, st.integers(0, 15), flips), max_size=24))
    published = draw(st.lists(st.integers(0, 15), max_size=min(hypotheses.dimension + 1, 3)))
    return hypotheses, [(t, x, int(x in target) ^ flip) for t, x, flip in raw], published


@pytest.mark.parametrize(
    ("bits", "dimension"), [(bits, r) for bits in (1, 2, 3) for r in range(bits + 1)] + [(4, 1)]
)
def test_dimensions(bits: int, dimension: int) -> None:
    hypotheses = AffineSubspaces(bits, dimension)
    matrix = all_subspaces(bits, dimension)
    assert hypotheses.littlestone_dimension == littlestone_dimension(matrix)
    exact = dual_vapnik_chervonenkis_dimension(matrix)
    assert exact <= hypotheses.dual_vc_dimension
    assert exact == hypotheses.dual_vc_dimension or dimension > 0


@pytest.mark.parametrize(
    ("bits", "dimension", "sentence"),
    [(0, 0, "bits from 1"), (129, 1, "bits from 1"), (8, 9, "from 0 to 8"), (8, -1, "from 0 to 8")],
)
def test_parameters_outside_the_limits_are_refused(
    bits: int, dimension: int, sentence: str
) -> None:
    with pytest.raises(ClassError, match=sentence):
        AffineSubspaces(bits, dimension)


def test_what_the_class_says_of_itself() -> None:
    hypotheses = AffineSubspaces(64, 8)
    assert hypotheses.name == "affine:64:8"
    assert hypotheses.point_type == "u64"
    assert hypotheses.intersection_closed is not None
    assert hypotheses.first_rule() == AffineRule(64, (), None)
    assert hypotheses.proposing is None
    assert hypotheses.contains(column(hypotheses, [2**64 - 1]))
    assert not AffineSubspaces(63, 8).contains(column(hypotheses, [2**63]))
    assert class_from_dict(hypotheses.to_dict()) == class_from_name("affine:64:8") == hypotheses


@pytest.mark.parametrize("dimension", [0, 1, 5])
def test_closure_examples_are_usually_enough(dimension: int) -> None:
    hypotheses = AffineSubspaces(32, dimension)
    generator = np.random.default_rng(dimension)
    whole = 0
    for _ in range(400):
        points = generator.integers(0, 1 << dimension, hypotheses.closure_examples).tolist()
        whole += len(span(points)) == 1 << dimension
    assert whole > 400 * 15 // 16


@pytest.mark.no_cover
@settings(max_examples=300)
@given(situation=situations())
def test_closures_of_teachers(situation: tuple[AffineSubspaces, list[Example], list[int]]) -> None:
    hypotheses, examples, points = situation
    published = rule_of(hypotheses, points)
    found = as_sets(hypotheses, closures(hypotheses, examples, published))
    assert found == expected(hypotheses, examples, span(points))


@given(situation=situations())
def test_without_teachers_every_example_is_its_own(
    situation: tuple[AffineSubspaces, list[Example], list[int]],
) -> None:
    hypotheses, examples, points = situation
    published = rule_of(hypotheses, points)
    alone = [(number, point, label) for number, (_, point, label) in enumerate(examples)]
    found = closures(hypotheses, examples, published, own=True)
    assert found == closures(hypotheses, alone, published)
    assert as_sets(hypotheses, found) == expected(hypotheses, alone, span(points))


def embedding(bits: int, seed: int) -> list[int]:
    """A shift and images of four unit vectors, independent, with bits in both words."""
    generator = np.random.default_rng(seed)
    while True:
        rows = [int.from_bytes(generator.bytes(16), "big") >> (128 - bits) for _ in range(5)]
        around = hull([0, *rows[1:]])
        if around is not None and len(around[1]) == 4:
            return rows


def embedded(point: int, rows: list[int]) -> int:
    return reduce(int.__xor__, (rows[i + 1] for i in range(4) if point >> i & 1), rows[0])


@given(
    situation=situations(),
    bits=st.sampled_from([5, 32, 63, 64, 65, 100, 128]),
    seed=st.integers(0, 9),
    own=st.booleans(),
)
def test_closures_of_any_width_are_images_of_narrow_ones(
    situation: tuple[AffineSubspaces, list[Example], list[int]], bits: int, seed: int, own: bool
) -> None:
    narrow, examples, points = situation
    wide = AffineSubspaces(bits, narrow.dimension)
    rows = embedding(bits, seed)
    images = [(teacher, embedded(point, rows), label) for teacher, point, label in examples]
    found = closures(wide, images, rule_of(wide, [embedded(p, rows) for p in points]), own=own)
    votes = closures(narrow, examples, rule_of(narrow, points), own=own)
    expected_rules = {
        rule_of(wide, [embedded(p, rows) for p in members(rule, narrow)]): score
        for rule, score in votes.items()
    }
    assert found == expected_rules


@given(
    situation=situations(),
    other=st.tuples(st.integers(0, 15), st.integers(0, 1)),
    at=st.integers(0, 23),
)
def test_one_example_replaced_moves_one_vote_at_most(
    situation: tuple[AffineSubspaces, list[Example], list[int]], other: tuple[int, int], at: int
) -> None:
    hypotheses, examples, points = situation
    published = rule_of(hypotheses, points)
    before = [*examples, (0, 5, 1)]
    neighbours = before.copy()
    at %= len(before)
    neighbours[at] = (before[at][0], *other)
    first, second = (closures(hypotheses, each, published) for each in (before, neighbours))
    changes = {rule: second.get(rule, 0) - first.get(rule, 0) for rule in {*first, *second}}
    moved = sorted(change for change in changes.values() if change)
    assert moved in ([], [-1], [1], [-1, 1])
    assert all(first[rule] == 1 for rule in first.keys() - second.keys())
    assert all(second[rule] == 1 for rule in second.keys() - first.keys())


@given(situation=situations())
def test_a_teacher_proposes_one_rule_at_most(
    situation: tuple[AffineSubspaces, list[Example], list[int]],
) -> None:
    hypotheses, examples, points = situation
    votes = closures(hypotheses, examples, rule_of(hypotheses, points))
    assert sum(votes.values()) <= len({teacher for teacher, _, _ in examples})


def test_closures_grow_from_publication_to_publication() -> None:
    hypotheses = AffineSubspaces(128, 3)
    generator = np.random.default_rng(7)
    vectors = [int.from_bytes(generator.bytes(16), "big") for _ in range(4)]
    target = sorted(
        {
            vectors[0] ^ a * vectors[1] ^ b * vectors[2] ^ c * vectors[3]
            for a in (0, 1)
            for b in (0, 1)
            for c in (0, 1)
        }
    )
    published = hypotheses.first_rule()
    sizes = []
    for _ in range(5):
        examples = [(point % 3, point, 1) for point in target]
        votes = closures(hypotheses, examples, published, own=True)
        if not votes:
            break
        published = max(votes, key=lambda rule: (votes[rule], rule.basis))
        sizes.append(int(published.evaluate(column(hypotheses, target)).sum()))
    assert sizes == [1, 2, 4, 8]
    assert published == rule_of(hypotheses, target)


@given(
    situation=situations(),
    sets=st.lists(st.lists(st.integers(0, 15), max_size=2), min_size=1, max_size=3),
)
def test_a_majority_counts_as_the_hull_of_its_members(
    situation: tuple[AffineSubspaces, list[Example], list[int]], sets: list[list[int]]
) -> None:
    _, examples, _ = situation
    hypotheses = AffineSubspaces(4, 4)
    majority = MajorityRule(tuple(rule_of(hypotheses, points) for points in sets))
    around = rule_of(hypotheses, [point for points in sets for point in points])
    assert closures(hypotheses, examples, majority) == closures(hypotheses, examples, around)


@pytest.mark.parametrize("bits", [16, 64, 128])
def test_many_teachers_agree_on_one_subspace(bits: int) -> None:
    hypotheses = AffineSubspaces(bits, 5)
    generator = np.random.default_rng(5)
    basis = [int.from_bytes(generator.bytes(16), "big") >> (128 - bits) for _ in range(6)]
    chosen = generator.integers(0, 2, (30_000, 5))
    inside = [
        reduce(int.__xor__, (v for v, bit in zip(basis[1:], row, strict=True) if bit), basis[0])
        for row in chosen.tolist()
    ]
    x: NDArray[Any] = column(hypotheses, inside)
    y = np.ones(len(x), dtype=np.uint8)
    teachers = generator.integers(0, 600, len(x))
    found = hypotheses.closures(x, y, teachers, hypotheses.first_rule())
    best = hypotheses.closed_rule(found, int(found.scores.argmax()))
    assert best == rule_of(hypotheses, inside)
    assert found.scores.max() > 590
