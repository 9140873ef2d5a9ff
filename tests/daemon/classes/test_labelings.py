"""Labelings and bounds of their number: every class against brute force."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import labelings as labelings_module
from littled.classes import stumps as stumps_module
from littled.classes import table as table_module
from littled.classes.affine import AffineSubspaces
from littled.classes.base import ClassError, Labelings, sauer_shelah
from littled.classes.capabilities import needed
from littled.classes.conjunctions import Conjunctions
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import first_equal, hash_weights
from littled.classes.points import PointFunctions
from littled.classes.prefixes import Prefixes
from littled.classes.sparse_sets import SparseSets
from littled.classes.stumps import Stumps
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.littlestone import vapnik_chervonenkis_dimension
from littled_protocol.rules import Rule
from support.class_cases import every_class
from support.labelings import Pairs, Small, dense, examples, rows, table

# Of every class; together they are many.
CASES = 10


@st.composite
def windows(draw: st.DrawFn) -> tuple[Pairs, list[int]]:
    """Examples (number of a point, label), and a subset of them."""
    number = st.integers(0, 15) | st.integers(0, 2**16)
    pairs = draw(st.lists(st.tuples(number, st.integers(0, 1)), max_size=14))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return pairs, [index for index, is_in in enumerate(chosen) if is_in]


def labelings_of(small: Small, x: NDArray[Any], y: NDArray[np.uint8]) -> Labelings:
    return needed(small.hypotheses.window_labelings).window(x, y)


def candidate_rules(small: Small, pairs: Pairs, subset: list[int]) -> list[Rule]:
    _, x, y = examples(small, pairs)
    found = labelings_of(small, x, y).candidates(np.array(subset, dtype=np.int64))
    assert found.keys.dtype.kind in "iu"
    return [found.rule(index) for index in range(len(found.scores))]


# --- Labelings ------------------------------------------------------------------------------------


@every_class
@settings(max_examples=CASES)
@given(window=windows())
def test_candidates_are_the_labelings(small: Small, window: tuple[Pairs, list[int]]) -> None:
    pairs, subset = window
    places, x, y = examples(small, pairs)
    found = labelings_of(small, x, y).candidates(np.array(subset, dtype=np.int64))
    said = [small.says(found.rule(index)) for index in range(len(found.scores))]
    seen = [places[index] for index in subset]
    labelings = [tuple(row[place] for place in seen) for row in said]
    assert len(set(labelings)) == len(labelings)
    assert set(labelings) == {tuple(row) for row in small.matrix[:, seen].tolist()}
    assert set(said) <= {tuple(row) for row in small.matrix.tolist()}
    assert len(labelings) <= small.hypotheses.labelings_max(len(subset))
    assert found.scores.dtype == np.int64
    labels = y.tolist()
    naive = [sum(r[p] == label for p, label in zip(places, labels, strict=True)) for r in said]
    assert found.scores.tolist() == naive
    for place in {*seen, *places, 0, len(small.points) - 1}:
        labels_here = found.labels(small.column([place]))
        assert labels_here.dtype == np.bool_
        assert labels_here.tolist() == [row[place] for row in said]


@pytest.mark.no_cover
@every_class
@settings(max_examples=CASES)
@given(window=windows(), data=st.data())
def test_candidates_depend_on_the_points_of_the_subset_alone(
    small: Small, window: tuple[Pairs, list[int]], data: st.DataObject
) -> None:
    pairs, subset = window
    other = data.draw(windows(), label="other examples")[0]
    flips = data.draw(st.lists(st.integers(0, 1), min_size=len(subset), max_size=len(subset)))
    mine = [(pairs[i][0], flip) for i, flip in zip(subset, flips, strict=True)]
    order = data.draw(st.permutations(range(len(mine) + len(other))))
    mixed = [(mine + other)[index] for index in order]
    again = [place for place, index in enumerate(order) if index < len(mine)]
    expected = candidate_rules(small, pairs, subset)
    assert candidate_rules(small, mixed, again) == expected
    # neither the order of the subset's examples nor how often a point occurs matters
    repeated = [*mine[::-1], *mine[:2]]
    assert candidate_rules(small, repeated, list(range(len(repeated)))) == expected


@every_class
def test_an_empty_window_has_one_labeling(small: Small) -> None:
    x, y = small.column([]), np.zeros(0, dtype=np.uint8)
    found = labelings_of(small, x, y).candidates(np.zeros(0, dtype=np.int64))
    assert found.scores.tolist() == [0]
    assert small.hypotheses.labelings_max(0) == 1
    assert found.labels(small.column([0])).shape == (1,)


# --- Bounds ---------------------------------------------------------------------------------------

# Classes whose bound of the number of labelings is reached, and those with a bound of the dimension
# only.
EXACT = (Thresholds, PointFunctions, SparseSets, Prefixes)
BOUNDED = (Stumps,)


@every_class
def test_bounds_of_labelings_hold(small: Small) -> None:
    hypotheses = small.hypotheses
    points = min(len(small.points), 10)
    for n in range(5):
        most = max(
            (
                len(np.unique(small.matrix[:, each], axis=0))
                for each in combinations(range(points), n)
            ),
            default=0,
        )
        assert most <= hypotheses.labelings_max(n)
        if isinstance(hypotheses, EXACT) and n <= points:
            assert most == hypotheses.labelings_max(n)


@every_class
def test_bounds_grow_with_the_points(small: Small) -> None:
    bounds = [small.hypotheses.labelings_max(n) for n in (*range(100), 10**3, 10**6)]
    assert bounds == sorted(bounds)
    assert bounds[:2] == [1, min(2, small.hypotheses.labelings_max(1))]


@every_class
def test_vc_dimensions_are_exact_or_bounds(small: Small) -> None:
    exact = vapnik_chervonenkis_dimension(small.matrix)
    if isinstance(small.hypotheses, (*BOUNDED, Table)) or small.hypotheses.name.startswith("cubes"):
        assert exact <= small.hypotheses.vc_dimension <= small.hypotheses.littlestone_dimension
    else:
        assert small.hypotheses.vc_dimension == exact


@pytest.mark.parametrize(
    ("limit", "dimension"),
    [(None, 1), ("DIMENSION_SUBCLASSES_MAX", 4), ("DIMENSION_CELLS_MAX", 4)],
)
def test_vc_dimensions_of_tables_are_exact_or_bounds(
    limit: str | None, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit is not None:
        monkeypatch.setattr(table_module, limit, 3)
    thresholds = np.arange(15) >= np.arange(16)[:, None]
    assert Table.from_matrix([*"abcdefghijklmnop"], thresholds).vc_dimension == dimension


@pytest.mark.parametrize(
    ("hypotheses", "n", "bound"),
    [
        (Thresholds(65536), 10**6, 65537),
        (Thresholds(65536), 1000, 1001),
        (PointFunctions(128), 10**6, 10**6 + 1),
        (Prefixes(128), 10**6, 2 * 10**6),
        (Prefixes(4), 10**6, 32),
        (SparseSets(64, 2), 1000, 1 + 1000 + 499_500),
        (SparseSets(1, 9), 1000, 4),
        (AffineSubspaces(64, 0), 1000, 1001),
        (AffineSubspaces(64, 1), 1000, 1 + 1000 + 499_500),
        (Conjunctions(2), 1000, 10),
        (Conjunctions(64), 2, 4),
        (Stumps(16, 64), 10**6, 2 + 2 * 16 * 63),
        (Stumps(16, 64), 3, 8),
    ],
    ids=str,
)
def test_bounds_of_larger_classes(hypotheses: HypothesisClass, n: int, bound: int) -> None:
    assert hypotheses.labelings_max(n) == bound


@pytest.mark.parametrize(("n", "d"), [(0, 0), (0, 3), (5, 0), (5, 2), (5, 5), (3, 9), (20, 7)])
def test_sauer_and_shelah(n: int, d: int) -> None:
    assert sauer_shelah(n, d) == sum(1 for k in range(d + 1) for _ in combinations(range(n), k))


# --- Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hypotheses", [Conjunctions(13), AffineSubspaces(7, 1)], ids=str)
def test_large_classes_have_no_list(hypotheses: HypothesisClass) -> None:
    assert hypotheses.window_labelings is None


@every_class
def test_small_classes_have_labelings(small: Small) -> None:
    assert small.hypotheses.window_labelings is not None


@pytest.mark.parametrize(
    ("hypotheses", "most"),
    [(PointFunctions(16), 1 << 4), (Prefixes(16), 8), (SparseSets(16, 2), 5)],
    ids=str,
)
def test_too_large_subsets_are_refused_whatever_their_points(
    hypotheses: HypothesisClass, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelings_module, "LABELINGS_MAX", 17)
    sentences = set()
    for x in (np.zeros(40, dtype=np.uint16), np.arange(40, dtype=np.uint16)):
        window = needed(hypotheses.window_labelings).window(x, np.zeros(40, dtype=np.uint8))
        assert len(window.candidates(np.arange(most)).scores) <= 17
        with pytest.raises(ClassError, match="more than 17 labelings of a subset") as caught:
            window.candidates(np.arange(most + 1))
        sentences.add(str(caught.value))
    assert len(sentences) == 1


# --- Shared parts ---------------------------------------------------------------------------------


@given(items=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_equal_items_are_found_whatever_the_hashes(items: Pairs) -> None:
    values = np.array(items, dtype=np.int64).reshape(-1, 2)
    compared: Counter[int] = Counter()

    def equal(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        compared.update(second.tolist())
        assert (values[first, 0] == values[second, 0]).all()
        same: NDArray[np.bool_] = (values[first] == values[second]).all(axis=1)
        return same

    found = first_equal(values[:, 0].astype(np.uint64), equal)
    assert found.tolist() == [items.index(item) for item in items]


def test_weights_are_different_and_always_the_same() -> None:
    weights = hash_weights(100_000)
    assert len(np.unique(weights)) == len(weights)
    assert (hash_weights(10) == weights[:10]).all()
    assert len(hash_weights(0)) == 0


@pytest.mark.parametrize(
    "small", [dense(Stumps(3, 3), rows(Stumps(3, 3))), dense(table(50, 130), list(range(130)))]
)
def test_accidents_of_hashing_do_no_harm(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    places = generator.integers(0, len(small.points), size=12).tolist()
    points = small.column(places)
    hypotheses = small.hypotheses
    assert isinstance(hypotheses, Stumps | Table)
    expected = hypotheses.representatives(points).tolist()
    for module in (stumps_module, table_module):
        monkeypatch.setattr(module, "hash_weights", lambda n: np.ones(n, dtype=np.uint64))
    monkeypatch.setattr(stumps_module, "_COMPARED_MAX", 20)
    assert hypotheses.representatives(points).tolist() == expected
