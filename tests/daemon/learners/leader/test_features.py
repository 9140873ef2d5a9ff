"""What an example adds to a batch's sum: exact, never longer than its limit, towards its label."""

import math
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.classes.capabilities import Integers
from littled.classes.scorecard import Scorecards
from littled.learners.leader.features import MARGINS, Contribution, FeatureMap
from littled.learners.leader.parameters import LENGTH_MAX, RESIDUAL_STEPS

# More cosines than some columns have buckets for; of two columns of categories one has many.
COSINES, FLAGS_FROM = 5, 7
CLASSES = ("4x3", "2x2c", "m4x5cox2", "64", "3x64xm9co")


def every_row(hypotheses: Scorecards) -> Any:
    """Every row of a class, or many of one with many."""
    if np.prod(hypotheses.sizes) <= 2_000:
        rows = np.array(list(product(*map(range, hypotheses.sizes))), dtype=np.uint16)
    else:
        generator = np.random.default_rng(1)
        columns = [generator.integers(size, size=2_000) for size in hypotheses.sizes]
        rows = np.stack(columns, axis=1).astype(np.uint16)
    return rows if len(hypotheses.sizes) > 1 else rows[:, 0].astype(np.uint8)


def features_of(hypotheses: Scorecards, row: Any) -> Integers:
    """The features of one row, looked up one after the other."""
    buckets = np.atleast_1d(row).tolist()
    encoded = hypotheses.features(COSINES, FLAGS_FROM)
    parts = [t[b] for t, b in zip(encoded.tables, buckets, strict=True)]
    return np.concatenate(([encoded.constant], *parts))


def centre_of(hypotheses: Scorecards, seed: int) -> Integers:
    generator = np.random.default_rng(seed)
    centre = generator.integers(-600, 600, size=hypotheses.features(COSINES, FLAGS_FROM).dimensions)
    centre[0] = 0
    return centre


def weights_of(hypotheses: Scorecards, seed: int, size: int) -> Integers:
    return np.random.default_rng(seed).integers(
        -size, size, size=hypotheses.features(COSINES, FLAGS_FROM).dimensions
    )


def test_margins_are_where_a_residual_loses_a_step() -> None:
    with localcontext() as context:
        context.prec = 50
        steps = 2 * RESIDUAL_STEPS
        for place, margin in enumerate(MARGINS.tolist()):
            k = RESIDUAL_STEPS - place
            for value, least in ((margin, True), (margin + 1, False)):
                miss = steps / (1 + (Decimal(value) / 2**16).exp())
                assert (miss >= Decimal(k) - Decimal("0.5")) == least


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_example_adds_more_than_its_limit(name: str, seed: int) -> None:
    hypotheses = Scorecards(name)
    features = FeatureMap(hypotheses, COSINES, FLAGS_FROM)
    x = every_row(hypotheses)
    centre = centre_of(hypotheses, seed) * seed
    longest = 0
    for bound, size in ((300, 1 << 20), (1024, 1 << 28), (2048, 1 << 33)):
        contribution = Contribution(features, centre, bound)
        weights = weights_of(hypotheses, seed, size)
        cells = features.cells(x)
        lengths, scores = contribution.lengths(cells), contribution.scores(weights)
        for label in (0, 1):
            y = np.full(len(x), label, dtype=np.uint8)
            multiples = contribution.multiples(scores, cells, lengths, y)
            assert ((multiples >= 0) if label else (multiples <= 0)).all()
            for i in range(len(x)):
                vector = features.vector(cells[:, i : i + 1], multiples[i : i + 1], centre)
                assert (
                    vector.tolist()
                    == (int(multiples[i]) * (features_of(hypotheses, x[i]) - centre)).tolist()
                )
                squares = sum(v * v for v in vector.tolist())
                assert squares <= LENGTH_MAX**2
                longest = max(longest, squares)
    assert longest > 0.9 * LENGTH_MAX**2  # the limit is reached, so it is no idle one


@pytest.mark.parametrize("name", ["3x2c", "64x64x2cx7x24x101", "x".join(["2c"] * 300)])
def test_roots_of_all_squares_up_to_the_greatest_are_rounded_up(name: str) -> None:
    features = FeatureMap(Scorecards(name), COSINES, FLAGS_FROM)
    contribution = Contribution(features, np.zeros(features.dimensions, dtype=np.int64), 1)
    least = features.constant**2
    most = least + sum(
        int((table.astype(np.int64) ** 2).sum(axis=1).max()) for table in features.encoded.tables
    )
    # where roots change
    roots = np.arange(features.constant, math.isqrt(most) + 1) ** 2
    squares = np.unique(np.clip([roots - 1, roots, roots + 1], least, most))
    assert len(contribution._roots) == (most >> contribution._stretch_bits) + 1
    contribution.__dict__["_squares"] = squares - least  # a cell for each of these
    lengths = contribution.lengths(np.arange(len(squares), dtype=np.uint32)[np.newaxis])
    assert lengths.tolist() == [math.isqrt(one - 1) + 1 for one in squares.tolist()]


@pytest.mark.parametrize("name", CLASSES)
def test_sums_of_rows_are_those_of_each_row(name: str) -> None:
    hypotheses = Scorecards(name)
    features = FeatureMap(hypotheses, COSINES, FLAGS_FROM)
    x, centre = every_row(hypotheses)[:200], centre_of(hypotheses, 3)
    cells = features.cells(x)
    rows = np.array([features_of(hypotheses, row) for row in x])
    assert features.rows(cells).tolist() == rows.tolist()
    multiples = np.random.default_rng(2).integers(-5_000, 5_000, size=len(x))
    expected = ((rows - centre) * multiples[:, np.newaxis]).sum(axis=0)
    assert features.vector(cells, multiples, centre).tolist() == expected.tolist()
    contribution = Contribution(features, centre, 1)
    squares = ((rows - centre) ** 2).sum(axis=1)
    lengths = contribution.lengths(cells)
    assert ((lengths - 1) ** 2 < squares).all()
    assert (squares <= lengths**2).all()
    weights = weights_of(hypotheses, 4, 1 << 30)
    of_cells, constant = contribution.scores(weights)
    limited = np.clip(weights >> 8, -(1 << 27), 1 << 27)
    assert (of_cells[cells].sum(axis=0) + constant).tolist() == ((rows - centre) @ limited).tolist()


@pytest.mark.parametrize("name", CLASSES)
def test_moments_of_one_row_are_within_their_limits(name: str) -> None:
    hypotheses = Scorecards(name)
    features, usual = FeatureMap(hypotheses, COSINES, FLAGS_FROM), hypotheses.USUAL_LENGTH
    contribution = Contribution(
        features, np.zeros(hypotheses.features(COSINES, FLAGS_FROM).dimensions, np.int64), usual
    )
    x = every_row(hypotheses)
    cells = features.cells(x)
    for i in range(len(x)):
        *row, square = contribution.moments(cells[:, i : i + 1]).tolist()
        assert sum(v * v for v in row) <= usual**2
        assert 0 <= square <= usual
    together = contribution.moments(cells)
    each = sum(contribution.moments(cells[:, i : i + 1]) for i in range(len(x)))
    assert together.tolist() == np.asarray(each).tolist()
    assert contribution.moments(cells[:, :0]).tolist() == [0] * (
        hypotheses.features(COSINES, FLAGS_FROM).dimensions + 1
    )


@given(score=st.integers(-(1 << 20), 1 << 20), label=st.integers(0, 1))
def test_a_residual_is_the_nearest_step_to_the_miss_and_at_most_a_half(
    score: int, label: int
) -> None:
    hypotheses = Scorecards("2")
    features = FeatureMap(hypotheses, COSINES, FLAGS_FROM)
    contribution = Contribution(
        features, np.zeros(hypotheses.features(COSINES, FLAGS_FROM).dimensions, np.int64), 1024
    )
    cells = features.cells(np.zeros(1, dtype=np.uint8))
    lengths = np.array([1024])
    scores = np.zeros(2, dtype=np.int64), score * 1024
    y = np.array([label], dtype=np.uint8)
    (found,) = contribution.multiples(scores, cells, lengths, y).tolist()
    miss = label - 1 / (1 + np.exp(-score / 2**16))
    steps = 2 * RESIDUAL_STEPS * min(abs(miss), 0.5)
    step = LENGTH_MAX // RESIDUAL_STEPS // 1024
    assert abs(abs(found) / step - steps) <= 0.5 + 1e-3
    assert found * miss >= 0
