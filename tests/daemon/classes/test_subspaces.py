"""Listed subspaces against spans of points."""

import numpy as np
import pytest

from littled.classes.affine import AffineSubspaces
from littled.classes.capabilities import needed
from littled.classes.subspaces import LISTED_BITS_MAX, all_subspaces
from support.version_spaces import all_subspaces as by_spans


@pytest.mark.parametrize("bits", range(1, 5))
def test_all_subspaces_are_listed_in_the_order_of_their_dimensions(bits: int) -> None:
    for dimension in range(bits + 1):
        found = all_subspaces(bits, dimension)
        points = np.arange(1 << bits, dtype=np.uint8)
        rules = [found.rule(number) for number in range(len(found.masks))]
        assert rules[0] == AffineSubspaces(bits, dimension).first_rule()
        said = [tuple(map(bool, rule.evaluate(points))) for rule in rules]
        assert len(set(said)) == len(said)
        assert set(said) == {tuple(row) for row in by_spans(bits, dimension).tolist()}
        sizes = [sum(each) for each in said]
        assert sizes == sorted(sizes)


@pytest.mark.no_cover
def test_the_widest_list_has_as_many_subspaces_as_there_are() -> None:
    found = all_subspaces(LISTED_BITS_MAX, LISTED_BITS_MAX)
    assert len(np.unique(found.masks)) == len(found.masks) == 26_387 + 1
    sizes, counts = np.unique(np.bitwise_count(found.masks), return_counts=True)
    assert sizes.tolist() == [0, 1, 2, 4, 8, 16, 32, 64]
    # Gaussian binomial coefficients 1, 63, 651, 1395, 651, 63, 1 times the number of translates
    assert counts.tolist() == [1, 64, 2016, 10_416, 11_160, 2604, 126, 1]


def test_scores_of_the_widest_list() -> None:
    generator = np.random.default_rng(0)
    x = np.concatenate((np.arange(64), generator.integers(0, 64, size=236))).astype(np.uint8)
    y = generator.integers(0, 2, size=300).astype(np.uint8)
    hypotheses = AffineSubspaces(6, 3)
    found = needed(hypotheses.window_labelings).window(x, y).candidates(np.arange(300))
    assert len(found.scores) == len(all_subspaces(6, 3).masks)
    for index in generator.integers(0, len(found.scores), size=50).tolist():
        assert found.scores[index] == (found.rule(index).evaluate(x) == y).sum()
