"""Adaptive adversaries and streams that no rule fits."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.laboratory import adaptive
from littled.laboratory.small_classes import SmallClass, points, thresholds
from littled.planner import OnlineRequest


def misled_by_hand(rules: SmallClass, draws: int, law: tuple[Fraction, ...]) -> Fraction:
    """By every sequence of draws."""
    labels = adaptive.labels_of(rules)
    misled = Fraction(0)
    for drawn in product(range(len(law)), repeat=draws):
        p = Fraction(1)
        for rule in drawn:
            p *= law[rule]
        for x in range(rules.points):
            said = 2 * sum(labels[rule, x] for rule in drawn) > draws
            mass = sum(w for w, row in zip(law, labels, strict=True) if bool(row[x]) == said)
            if mass < Fraction(1, 3):
                misled += p
                break
    return misled


@pytest.mark.parametrize("rules", [thresholds(2), points(2)])
@pytest.mark.parametrize("draws", [1, 3])
def test_the_chance_to_mislead_is_that_of_the_worst_law(rules: SmallClass, draws: int) -> None:
    laws = [
        (Fraction(a, 6), Fraction(b, 6), Fraction(6 - a - b, 6))
        for a in range(7)
        for b in range(7 - a)
    ]
    worst = max(misled_by_hand(rules, draws, law) for law in laws)
    assert adaptive.misleading(rules, draws) == pytest.approx(float(worst))


def test_fewer_draws_suffice_than_are_proven() -> None:
    found = adaptive.draws_needed(thresholds(3), 0.05, (1, 3, 5, 7, 9, 11))
    assert 1 < found.least < found.proven
    assert found.dual_dimension == 1
    with pytest.raises(ValueError, match="3 draws are not enough"):
        adaptive.draws_needed(thresholds(3), 0.05, (1, 3))


def test_what_is_proven_grows_by_a_sum_when_t_grows_by_a_factor() -> None:
    """O(log T) for chains, whoever chooses the examples."""
    first, second = (adaptive.proven_mistakes("prefixes:128", 10**k) or 0 for k in (4, 6))
    assert 900 < first < second < first + 100


def test_an_evader_does_no_more_to_halving_than_is_proven() -> None:
    request = OnlineRequest("lab", class_from_name("thresholds:16"), adversary="adaptive")
    found = adaptive.evaded(request, 16, seed=1)
    assert 2 <= found.calls <= 5
    assert 2 * found.threshold * 0.7 < found.mistakes <= 300
    assert (found.draws, found.halted) == (1, False)


def test_regret_on_fair_coins_is_about_the_root() -> None:
    found = [adaptive.agnostic_regret("thresholds:16", length, 3) for length in (1 << 8, 1 << 12)]
    assert all(-1 < each.by_root < 3 for each in found)
    assert [each.root for each in found] == [16, 64]


def test_the_stream_of_coins_is_the_same_in_every_run() -> None:
    first, second = (adaptive.agnostic_regret("thresholds:16", 256, 2) for _ in range(2))
    assert first == second
    assert np.isfinite(first.regret)
