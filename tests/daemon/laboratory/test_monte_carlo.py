"""The Monte-Carlo variant against D_k itself and against runs that are listed one by one."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest

from littled.laboratory.global_stability import first_difference, hypothesis_of, rounds
from littled.laboratory.monte_carlo import algorithm_g, stopped_rounds
from littled.laboratory.small_classes import SmallClass, points, thresholds

N_LISTED = 4


def listed_first_round(rules: SmallClass, target: int) -> dict[int, Fraction]:
    """Frequencies of SOA(S T) for D_1 with N = 4, n = 1 and uniform points: at most two tries."""
    x_all = range(rules.points)
    single = Fraction(1, rules.points)
    law: dict[int, Fraction] = defaultdict(Fraction)

    def tries(p: Fraction, left: int) -> None:
        for a, b in product(x_all, repeat=2):
            runs = [((x, target >> x & 1),) for x in (a, b)]
            f, g = (hypothesis_of(rules, run) for run in runs)
            q = p * single * single
            if f == g:
                if left > 2:
                    tries(q, left - 2)
                continue
            x = first_difference(f, g)
            for y in (0, 1):
                won = (*(runs[0] if f >> x & 1 != y else runs[1]), (x, y))
                for z in x_all:
                    law[hypothesis_of(rules, (*won, (z, target >> z & 1)))] += q * single / 2

    tries(Fraction(1), N_LISTED)
    return dict(law)


@pytest.mark.parametrize("rules", [thresholds(3), points(3)])
def test_the_first_round_is_that_of_all_tries_within_n(rules: SmallClass) -> None:
    for target in rules.hypotheses:
        _, found = stopped_rounds(rules, target, [1] * rules.points, 1, N_LISTED, 1)
        assert found.frequencies == listed_first_round(rules, target)


@pytest.mark.parametrize("rules", [thresholds(3), points(3)])
def test_what_is_cut_off_is_below_markovs_bound_and_vanishes(rules: SmallClass) -> None:
    weights, d = [1] * rules.points, rules.dimension
    for target in rules.hypotheses:
        free = list(rounds(rules, target, weights, 1, d))
        last = [Fraction(1)] * (d + 1)
        for units in (8, 16):
            found = stopped_rounds(rules, target, weights, 1, units, d)
            for cut, whole, before in zip(found, free, last, strict=False):
                assert 0 <= cut.failed <= min(whole.examples / units, before)
                for f, p in whole.frequencies.items():
                    assert p - cut.failed <= cut.frequencies.get(f, 0) <= p
            last = [each.failed for each in found]


def test_g_mixes_all_rounds_and_has_a_frequent_hypothesis() -> None:
    rules = thresholds(3)
    law = algorithm_g(rules, 0b110, [1, 1, 1], 1, 16)
    assert sum(law.values()) == 1
    parts = stopped_rounds(rules, 0b110, [1, 1, 1], 1, 16, 2)
    assert law[None] == sum(each.failed for each in parts) / 3
    # A, Theorem 23 with the cut-off that its proof could have
    best = max(p for f, p in law.items() if f is not None)
    assert best >= max(each.most_frequent[1] for each in rounds(rules, 0b110, [1] * 3, 1, 2)) / 6
