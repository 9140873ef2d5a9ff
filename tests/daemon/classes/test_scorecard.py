"""The class of scorecards: what its features are, its rules, and what its name may be."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from littled.classes.base import ClassError
from littled.classes.names import class_from_dict, class_from_name
from littled.classes.scorecard import Scorecards
from littled_protocol.rules import ScorecardRule
from littled_protocol.rules.scorecards import POINTS_MAX


def reference(column: str, flags_from: int = 0) -> Any:
    """The features of one column by numpy's cosines, before they are scaled."""
    size = int(column.strip("mco"))
    before, behind = int(column.startswith("m")), int(column.endswith("o"))
    inner = size - before - behind
    parts = []
    if inner == 2:
        parts.append(np.array([-1.0, 1.0]))
    elif inner > 2:
        buckets = np.arange(inner)
        many = "c" in column and 0 < flags_from <= inner <= 512
        orders = range(1, min(1 if many else 4, inner - 1) + 1)
        parts += [np.cos(np.pi * j * buckets / (inner - 1)) / j**0.75 for j in orders]
        if "c" in column and inner <= 512:
            flag = math.sqrt(min(2, inner / 32)) if many else 0.2
            parts += [flag * (buckets == v) for v in range(inner)]
    parts = [np.pad(part, (before, behind)) for part in parts]
    if before:
        parts.append(0.8 * (np.arange(size) == 0))
    if behind:
        parts.append(0.8 * (np.arange(size) == size - 1))
    return np.stack(parts, axis=1)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "name", ["64x2x7c", "m65x8cox2c", "3", "m2xm3o", "513cx512c", "1000x64000"]
)
@pytest.mark.parametrize("flags_from", [0, 7])
def test_features_are_scaled_cosines_and_flags(name: str, flags_from: int) -> None:
    hypotheses = Scorecards(name)
    parts = [reference(column, flags_from) for column in name.split("x")]
    scale = 1024 / math.sqrt(0.25 + sum((part**2).sum(axis=1).mean() for part in parts))
    features = hypotheses.features(4, flags_from)
    assert abs(features.constant - scale / 2) < 0.51
    for found, part in zip(features.tables, parts, strict=True):
        assert found.shape == part.shape
        assert np.abs(found - part * scale).max() < 0.51
    assert features.dimensions == 1 + sum(part.shape[1] for part in parts)


def test_flags_of_more_categories_are_longer_up_to_a_limit() -> None:
    lengths = {}
    for categories in (8, 9, 32, 64, 100, 512, 513):
        features = Scorecards(f"{categories}cx3").features(4, flags_from=9)
        flags = features.tables[0][:, 1:]
        lengths[categories] = flags.max() / (2 * features.constant) if flags.shape[1] else 0
    assert lengths[9] == pytest.approx(math.sqrt(9 / 32), rel=0.02)
    assert lengths[32] == pytest.approx(1, rel=0.02)
    for most in (64, 100, 512):
        assert lengths[most] == pytest.approx(math.sqrt(2), rel=0.02)
    for alike in ("8cx3", "513cx3", "64x3"):
        found, before = Scorecards(alike).features(4, 9), Scorecards(alike).features(4)
        for one, other in zip(found.tables, before.tables, strict=True):
            assert (one == other).all()


def test_features_are_the_same_for_ever() -> None:
    features = Scorecards("5x2xm4co").features(4)
    assert features.constant == 290
    assert [table.tolist() for table in features.tables] == GOLDEN


def test_columns_have_as_many_cosines_as_are_asked_for() -> None:
    features = Scorecards("64x5x2").features(16)
    assert [table.shape for table in features.tables] == [(64, 16), (5, 4), (2, 1)]
    cosines = features.tables[0]
    expected = np.cos(np.pi * 15 * np.arange(64) / 63) / 15**0.75
    assert np.abs(cosines[:, 14] / cosines[0, 0] - expected).max() < 0.002
    squares = features.constant**2 + sum((t**2).sum(axis=1).mean() for t in features.tables)
    assert abs(squares / 1024**2 - 1) < 0.01
    for wrong in (0, 65):
        with pytest.raises(ValueError, match="1 to 64 cosines"):
            Scorecards("64").features(wrong)


GOLDEN: list[list[list[int]]] = [
    [
        [579, 345, 254, 205],
        [410, 0, -180, -205],
        [0, -345, 0, 205],
        [-410, 0, 180, -205],
        [-579, 345, -254, 205],
    ],
    [[-579], [579]],
    [[0, 464, 0], [-579, 0, 0], [579, 0, 0], [0, 0, 464]],
]


def test_points_of_all_buckets_are_those_of_columns_and_are_limited() -> None:
    hypotheses = Scorecards("3x2")
    rule = hypotheses.rule_of(-4, np.array([1, -2, 3, 40, 5]))
    assert rule == ScorecardRule(-4, ((1, -2, 3), (40, 5)))
    beyond = hypotheses.rule_of(10**9, np.array([10**9, -(10**9), 0, 0, 0]))
    assert beyond == ScorecardRule(POINTS_MAX, ((POINTS_MAX, -POINTS_MAX, 0), (0, 0)))


def test_weights_and_ordered_buckets_have_their_places() -> None:
    hypotheses = Scorecards("m5x2x4cox3co")
    features = hypotheses.features(4)
    counts = [len(table.T) for table in features.tables]
    assert [len(range(*each.indices(10**6))) for each in features.places] == counts
    weights = np.arange(features.dimensions)
    parts = [weights[each] for each in features.places]
    assert np.concatenate([weights[:1], *parts]).tolist() == weights.tolist()
    assert hypotheses.ordered == (range(1, 5), range(2), range(3), range(2))


def test_the_first_rule_is_never_and_the_longest_has_the_longest_numbers() -> None:
    hypotheses = Scorecards("64x3c")
    rows = np.array(list(product(range(64), range(3))), dtype=np.uint16)
    assert not hypotheses.first_rule().evaluate(rows).any()
    longest = hypotheses.longest_rule
    assert longest.tables == ((-POINTS_MAX,) * 64, (-POINTS_MAX,) * 3)
    assert longest.x_type == hypotheses.point_type == "u16x2"
    assert Scorecards("300").point_type == Scorecards("300").longest_rule.x_type == "u16"


def test_a_domain_has_the_buckets_of_each_column() -> None:
    hypotheses = Scorecards("4x2")
    assert hypotheses.contains(np.array([[3, 1], [0, 0]], dtype=np.uint16))
    assert hypotheses.contains(np.zeros((0, 2), dtype=np.uint16))
    assert not hypotheses.contains(np.array([[3, 2]], dtype=np.uint16))
    assert not Scorecards("4").contains(np.array([4], dtype=np.uint8))


def test_a_chunk_that_some_rule_fits_is_learned_without_errors() -> None:
    hypotheses = Scorecards("4x3x2")
    rows = np.array(list(product(range(4), range(3), range(2))), dtype=np.uint16)
    target = ScorecardRule(-5, ((0, 3, 1, 4), (2, 0, 3), (0, 1)))
    labels = target.evaluate(rows)
    assert 0 < labels.sum() < len(labels)
    rule = hypotheses.empirical_rule(rows, labels)
    assert (rule.evaluate(rows) == labels).all()
    order = np.random.default_rng(1).permutation(len(rows))
    assert hypotheses.empirical_rule(rows[order], labels[order]) == rule


def test_a_chunk_that_nothing_fits_gets_the_best_rule_that_was_met() -> None:
    hypotheses = Scorecards("2x2")
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint16)
    labels = np.array([0, 1, 1, 0], dtype=np.uint8)
    assert (hypotheses.empirical_rule(rows, labels).evaluate(rows) != labels).sum() <= 2
    nothing = hypotheses.empirical_rule(rows[:0], labels[:0])
    assert nothing == hypotheses.first_rule()


def test_dimensions_are_bounds() -> None:
    """Every labeling of as many points as the dimension says, and no more, at a small size."""
    hypotheses = Scorecards("2x2")
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint16)
    rules = [ScorecardRule(c, ((0, a), (0, b))) for c, a, b in product(range(-3, 4), repeat=3)]
    labelings = {tuple(rule.evaluate(rows).tolist()) for rule in rules}
    shattered = [
        k
        for k in range(1, 5)
        if any(
            len({tuple(labels[i] for i in chosen) for labels in labelings}) == 2**k
            for chosen in product(range(4), repeat=k)
            if len(set(chosen)) == k
        )
    ]
    assert max(shattered) == hypotheses.vc_dimension == 3
    assert hypotheses.littlestone_dimension >= math.log2(len(labelings))


def test_a_class_is_written_and_read() -> None:
    hypotheses = class_from_name("scorecard:64xm7cox2")
    assert hypotheses == Scorecards("64xm7cox2")
    assert hypotheses.name == "scorecard:64xm7cox2"
    assert class_from_dict(hypotheses.to_dict()) == hypotheses


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("", "scorecard needs the buckets of 1 to"),
        ("64x", "scorecard needs the buckets of 1 to"),
        ("64y2", "as 64x2x7c, not '64y2'"),
        ("c7", "as 64x2x7c, not 'c7'"),
        ("x".join(["2"] * 1025), "scorecard needs the buckets of 1 to"),
        ("1x2", "2 to 65536 buckets a column"),
        ("65537", "2 to 65536 buckets a column"),
        ("60000x60000", "at most 65536 buckets in all, not 120000"),
    ],
)
def test_what_no_row_can_have_is_refused(columns: str, sentence: str) -> None:
    with pytest.raises(ClassError, match=sentence):
        Scorecards(columns)
