"""Relabelling: its exact law, and its price on all neighbours."""

import math
from fractions import Fraction

import pytest

from littled.laboratory.agnostic import (
    AgnosticLearner,
    exact_ratio,
    expected_excess,
    samples,
    subsampled,
    subset_ratio,
)
from littled.laboratory.small_classes import SmallClass, all_rules, points, thresholds


def learner(rules: SmallClass, labels: str = "2", votes: str = "3/2") -> AgnosticLearner:
    return AgnosticLearner(rules, Fraction(labels), Fraction(votes))


def test_labelings_are_one_rule_for_each_way_to_label_the_points() -> None:
    assert learner(thresholds(3)).labelings(((0, 0), (2, 1))) == [0b111, 0b110, 0]
    assert learner(thresholds(3)).labelings(()) == [0b111]


def test_the_law_draws_a_labeling_and_then_a_rule() -> None:
    found = learner(thresholds(1)).law(((0, 1),))
    # agreement 1 against 0: 2/3 to 1/3; then 3/5 to 2/5 for the rule that fits
    right = Fraction(2, 3) * Fraction(3, 5) + Fraction(1, 3) * Fraction(2, 5)
    assert found == (right, 1 - right)


@pytest.mark.parametrize("rules", [thresholds(2), points(2), all_rules(2)])
@pytest.mark.parametrize("rates", [("2", "3/2"), ("3", "2")])
def test_the_price_holds_on_all_neighbours(rules: SmallClass, rates: tuple[str, str]) -> None:
    relabelling = learner(rules, *rates)
    assert 1 < exact_ratio(relabelling, 2) <= relabelling.price
    assert 1 < subset_ratio(relabelling, 3) <= relabelling.dagan_feldman


def test_a_part_of_the_sample_is_cheaper() -> None:
    assert subsampled(1.0, 1.0) == pytest.approx(1.0)
    assert subsampled(1.0, 0.1) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)))


def test_expected_excess_is_the_mean_over_all_samples() -> None:
    relabelling, target, noise = learner(thresholds(2)), 0b10, Fraction(1, 4)
    by_hand = Fraction(0)
    for sample in samples(2, 2):
        p = Fraction(1)
        for x, y in sample:
            p *= Fraction(1, 2) * (noise if target >> x & 1 != y else 1 - noise)
        for row, q in zip(relabelling.rules.hypotheses, relabelling.law(sample), strict=True):
            by_hand += p * q * Fraction((row ^ target).bit_count(), 2) * (1 - 2 * noise)
    found = expected_excess(relabelling, target, 2, noise)
    assert found.relabelled == pytest.approx(float(by_hand))
    assert 0 < found.direct < found.relabelled


def test_more_examples_lose_less() -> None:
    strong = learner(thresholds(2), "4", "4")
    losses = [expected_excess(strong, 0b10, n, Fraction(1, 10)).relabelled for n in (1, 3, 6)]
    assert losses == sorted(losses, reverse=True)
