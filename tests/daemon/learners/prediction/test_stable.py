"""The stable predictor: its law, its stability, and classes that are refused."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from littled.budget.rounding import exp_upper
from littled.classes.affine import AffineSubspaces
from littled.classes.hypothesis import HypothesisClass
from littled.classes.thresholds import Thresholds
from littled.learners.prediction.stable import StablePredictor
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.subset import BernoulliSubset
from support.answer_laws import columns, stable_law
from support.rows import Rows, all_rows, scattered_row

WINDOW = ((0, 0), (1, 1), (2, 1), (1, 0))
ASKED = np.arange(3, dtype=np.uint8)
RATE, Q = Fraction(1, 2), Fraction(1, 3)
ADDRESS = Address(b"head", "s/l", "predict", 4)


def check_law(hypotheses: HypothesisClass, answers: int) -> None:
    predictor = StablePredictor("s/l", hypotheses, len(WINDOW), RATE, Q)
    prepared = predictor.prepare(*columns(WINDOW))
    law = stable_law(hypotheses, WINDOW, ASKED, exp_upper(RATE), Q)
    said = predictor.answer(prepared, np.tile(ASKED, answers), KeyedNoise(bytes(32)), ADDRESS)
    assert said.dtype == np.uint8
    for point, p in zip(ASKED, law, strict=True):
        ones, ideal = int(said[point :: len(ASKED)].sum()), float(p) * answers
        assert chisquare([ones, answers - ones], [ideal, answers - ideal]).pvalue > 1e-4
        # the test would see an answer that is 15 in 100 off
        off = ideal + 3 * answers / 20 * (1 if p < Fraction(4, 5) else -1)
        assert chisquare([ones, answers - ones], [off, answers - off]).pvalue < 1e-4


class Many(Rows):
    """A class that knows no better bound than one labeling for each set of points."""

    def labelings_max(self, n: int) -> int:
        return 1 << n


CLASSES = [Rows(all_rows(3), scattered_row), Thresholds(3)]


@pytest.mark.no_cover
@pytest.mark.parametrize("hypotheses", CLASSES)
def test_answers_follow_the_law_of_their_definition(hypotheses: HypothesisClass) -> None:
    check_law(hypotheses, 800)


@pytest.mark.campaign
@pytest.mark.parametrize("hypotheses", CLASSES)
def test_many_answers_follow_the_law_of_their_definition(hypotheses: HypothesisClass) -> None:
    check_law(hypotheses, 40_000)


def test_finite_precision_is_that_of_subset_and_selection() -> None:
    predictor = StablePredictor("s/l", Thresholds(3), 100, RATE, Q)
    subset = BernoulliSubset(100, Q)
    assert predictor.candidates_max == Thresholds(3).labelings_max(subset.size_max)
    assert predictor.precision_error > subset.total_variation
    assert predictor.precision_error < Fraction(1, 1 << 110)


def test_no_noise_is_used_twice_and_answers_do_not_depend_on_their_batch() -> None:
    predictor = StablePredictor("s/l", Thresholds(3), len(WINDOW), RATE, Q)
    prepared, noise = predictor.prepare(*columns(WINDOW)), KeyedNoise(bytes(32))
    points = np.tile(ASKED, 20)
    whole = predictor.answer(prepared, points, noise, ADDRESS)
    parts = [
        predictor.answer(
            prepared, points[at : at + 7], noise, Address(b"head", "s/l", "predict", 4, at)
        )
        for at in range(0, 60, 7)
    ]
    assert np.array_equal(whole, np.concatenate(parts))
    assert len({bytes(whole[at::3]) for at in range(3)}) == 3


def test_classes_and_windows_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="exactly 9 examples"):
        StablePredictor("s/l", Thresholds(3), 9, RATE, Q).prepare(*columns(WINDOW))
    with pytest.raises(ValueError, match="cannot list the labelings"):
        StablePredictor("s/l", AffineSubspaces(64, 3), 9, RATE, Q)
    with pytest.raises(ValueError, match="use a smaller subset_rate"):
        StablePredictor("s/l", Many(all_rows(3)), 100, RATE, Q)
    with pytest.raises(TypeError, match="Fraction"):
        StablePredictor("s/l", Thresholds(3), 9, "0.5", Q)  # type: ignore[arg-type]
