"""The exact laws of D_k against samples that are listed one by one, and A's statements on them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import pytest

from littled.laboratory.global_stability import (
    Failures,
    Round,
    beginning,
    best_cut,
    check,
    extended,
    first_difference,
    hypothesis_of,
    loss,
    observation_24,
    promised,
    rounds,
    samples_of,
)
from littled.laboratory.small_classes import (
    SmallClass,
    all_classes,
    all_rules,
    points,
    supports,
    thresholds,
)

Sample = tuple[tuple[int, int], ...]


def listed(
    rules: SmallClass, target: int, weights: Sequence[int], n: int, k: int
) -> Mapping[Sample, Fraction]:
    """The law of D_k over whole samples, by its definition: every pair of runs, both labels."""
    if not k:
        return {(): Fraction(1)}
    runs = with_fresh(listed(rules, target, weights, n, k - 1), target, weights, n)
    law: dict[Sample, Fraction] = defaultdict(Fraction)
    for (a, p), (b, q) in product(runs.items(), repeat=2):
        f, g = hypothesis_of(rules, a), hypothesis_of(rules, b)
        if f == g:
            continue
        x = first_difference(f, g)
        for y in (0, 1):
            law[(*(a if f >> x & 1 != y else b), (x, y))] += p * q / 2
    return {s: p / sum(law.values()) for s, p in law.items()}


def with_fresh(
    law: Mapping[Sample, Fraction], target: int, weights: Sequence[int], n: int
) -> Mapping[Sample, Fraction]:
    after: dict[Sample, Fraction] = defaultdict(Fraction)
    for (s, p), fresh in product(law.items(), product(range(len(weights)), repeat=n)):
        q = p
        for x in fresh:
            q *= Fraction(weights[x], sum(weights))
        if q:
            after[(*s, *((x, target >> x & 1) for x in fresh))] += q
    return after


@pytest.mark.parametrize(
    ("rules", "weights", "n"),
    [
        (thresholds(3), [1, 1, 1], 1),
        (thresholds(3), [1, 2, 0], 1),
        (points(3), [3, 1, 1], 1),
        (all_rules(2), [1, 1], 1),
        (all_rules(2), [1, 1], 0),
    ],
)
def test_the_law_of_d_k_is_that_of_its_definition(
    rules: SmallClass, weights: list[int], n: int
) -> None:
    for target in rules.hypotheses:
        for found in rounds(rules, target, weights, n, 2):
            law = listed(rules, target, weights, n, found.k)
            frequencies: dict[int, Fraction] = defaultdict(Fraction)
            for s, p in with_fresh(law, target, weights, n).items():
                frequencies[hypothesis_of(rules, s)] += p
            assert found.frequencies == frequencies
            true = sum(
                p for s, p in law.items() if all(target >> x & 1 == y for x, y in s)
            )  # fresh examples are true in any case
            assert found.agreement == true
            assert set(law) == samples_of(rules, target, supported(weights), n, found.k)


def supported(weights: Sequence[int]) -> tuple[int, ...]:
    return tuple(x for x, weight in enumerate(weights) if weight)


def test_an_example_that_no_rule_fits_turns_one_label() -> None:
    """A, Definition 11."""
    rules = points(3)
    state = extended(rules, beginning(rules), 0, 1, agrees=True)
    assert state.hypothesis == 0b001
    state = extended(rules, state, 1, 1, agrees=True)
    assert (state.space, state.hypothesis) == (0, 0b011)
    state = extended(rules, state, 0, 0, agrees=True)
    assert state.hypothesis == 0b010


def test_expected_examples_count_every_run_that_is_drawn() -> None:
    """Lemma 27: two runs of n examples a round, repeated until they differ."""
    found = list(rounds(thresholds(3), 0b110, [1, 1, 1], 1, 2))
    again = [each.collision for each in found]
    first = 2 / (1 - again[0])
    assert [each.examples for each in found] == [0, first, (2 * first + 2) / (1 - again[1])]


@pytest.mark.parametrize(
    ("rules", "sizes", "least"),
    [
        (points(6), (0, 1, 2), "25/36"),
        (thresholds(3), (0, 1, 2), "11/18"),
        (thresholds(7), (0, 1), "3/7"),
    ],
)
def test_least_best_frequencies(rules: SmallClass, sizes: tuple[int, ...], least: str) -> None:
    found = [
        check(rules, target, [1] * rules.points, n) for n in sizes for target in rules.hypotheses
    ]
    assert min(each.best for each in found) == Fraction(least)
    assert not any(each.broken for each in found)


def test_statements_hold_of_every_class_over_three_points() -> None:
    runs = 0
    for rules in all_classes(3):
        for target, support in product(rules.hypotheses, supports(3)):
            weights = [int(x in support) for x in range(3)]
            assert check(rules, target, weights, 1).broken == ()
            runs += 1
            assert all(observation_24(rules, target, support, 1, k) for k in range(2))
    assert runs == 616


def test_a_statement_that_does_not_hold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_a_liar(*_: object) -> list[Round]:
        return [
            Round(0, {0b11: Fraction(1, 5), 0b01: Fraction(4, 5)}, Fraction(1), Fraction(9)),
            Round(1, {0b00: Fraction(1)}, Fraction(1, 100), Fraction(17)),
        ]

    monkeypatch.setattr("littled.laboratory.global_stability.rounds", of_a_liar)
    rules = SmallClass(2, [0b00, 0b11])
    found: Failures = check(rules, 0b00, [1, 1], 1)
    assert set(found.broken) == {
        "Proposition 7",
        "Lemma 27",
        "the recursion of rho in Lemma 25",
    }


def test_frequencies_that_are_promised() -> None:
    assert [promised(d) for d in (0, 1, 2)] == [
        Fraction(1, 16),
        Fraction(1, 256),
        Fraction(1, 65536),
    ]
    # the proof's recursion gives so much at d = 1 exactly, and Theorem 23 as printed from then on
    assert 0 <= Fraction(1, 3) - best_cut(1) < Fraction(1, 1 << 60)
    for d in (1, 2, 3, 4):
        cut, rho = best_cut(d), Fraction(1)
        for _ in range(d):
            rho = (rho * rho - cut) / 2
        assert rho >= cut >= 2 * Fraction(1, 1 << (1 << d + 1)) > promised(d)


def test_loss_is_the_weight_of_the_points_that_differ() -> None:
    assert loss(0b101, 0b001, [1, 1, 2]) == Fraction(1, 2)
    assert loss(0b001, 0b001, [1, 1, 2]) == 0
