"""From pure private learners to online learners."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from littled.laboratory import pure_to_online as online
from littled.laboratory.small_classes import SmallClass, all_rules, points, thresholds
from littled.laboratory.stable_learner import Infeasible


def test_runs_that_are_asked_for_are_exponential_in_the_sample() -> None:
    asked = online.experts_promised(1.0, 10, 0.25, 0.05)
    assert 2**asked == pytest.approx(math.exp(10) * math.log(20) / 0.75)
    assert online.experts_for(1.0, 5, 0.25, 0.05) == math.ceil(math.exp(5) * math.log(20) / 0.75)
    with pytest.raises(Infeasible, match=r"2\^53\.9 experts"):
        online.experts_for(1.0, online.sample_size(8, 0.25, 0.25, 1.0), 0.25, 0.05)


def test_uniform_learning_is_refused() -> None:
    with pytest.raises(Infeasible, match="infinite expected description"):
        online.uniform_experts("points")


@pytest.mark.parametrize("rules", [thresholds(3), points(3), all_rules(2)])
def test_pure_privacy_bounds_the_law_on_the_dummy(rules: SmallClass) -> None:
    base = Fraction(5, 3)
    laws = []
    for sample in product(product(range(rules.points), (0, 1)), repeat=2):
        weights = [base ** sum(h >> x & 1 == y for x, y in sample) for h in rules.hypotheses]
        laws.append([w / sum(weights) for w in weights])
    dummy = Fraction(1, len(rules.hypotheses))
    least = min(dummy / p for law in laws for p in law)
    assert online.smallest_ratio(rules, base, 2) == least >= base**-4


def test_a_run_on_the_dummy_is_good_with_the_share_of_good_rules() -> None:
    assert online.dummy_chance(thresholds(7), 0, Fraction(1, 4)) == Fraction(2, 8)
    assert online.dummy_chance(points(4), 0, Fraction(1, 4)) == 1


def test_weighted_majority_keeps_its_bound() -> None:
    """Littlestone and Warmuth: 2.41 (best + log2 experts)."""
    rng = np.arange(600).reshape(6, 100)
    advice = (rng * 7919 % 13) < 6
    labels = advice[2] ^ (np.arange(100) % 10 == 0)
    found = online.follow(advice, labels)
    assert found.best == 10
    assert found.best <= found.mistakes <= 2.41 * (found.best + math.log2(6))


def test_experts_of_dense_runs_come_close_to_the_best() -> None:
    found = online.dense_runs(thresholds(7), 0b1111000, 64, 500, 1)
    assert (found.best, found.experts) == (0, 64)
    assert found.mistakes <= 2.41 * 6


def test_experts_of_random_sets_do_as_well_for_ids_of_any_length() -> None:
    found = [online.point_runs(1 << bits, 0.25, 64, 500, 1) for bits in (8, 60)]
    assert all(each.best <= 0.25 * 500 for each in found)
    assert all(each.mistakes <= 2.41 * (each.best + 6) for each in found)
    assert online.random_sets(0.25, 0.25) == math.ceil(16 * math.log(8))


def test_descriptions_grow_with_the_ids_without_limit() -> None:
    found = [online.mean_description(bits, 20, 1.0) for bits in (4, 8, 12, 16, 18)]
    assert found == sorted(found)
    assert found[-1] - found[-2] > 2
