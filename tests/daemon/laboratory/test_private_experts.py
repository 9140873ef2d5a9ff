"""All rules of a class as experts, drawn privately."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.laboratory import private_experts as lab

LABELS = lab.labels_of("thresholds:16")


def test_all_rules_of_a_class_are_experts() -> None:
    assert LABELS.shape == (17, 16)
    assert sorted(LABELS.sum(axis=1).tolist()) == list(range(17))


@pytest.mark.parametrize("hold", [1, 7])
def test_all_draws_together_keep_within_the_budget_and_use_it(hold: int) -> None:
    experts = lab.experts_for(65, 1_000, hold)
    epsilon, delta = experts.guarantee
    assert experts.draws == -(-1_000 // hold)
    assert Fraction(999, 1000) < epsilon <= 1
    assert delta <= lab.DELTA
    more = replace(experts, rate=experts.rate * Fraction(101, 100))
    assert more.guarantee[0] > 1


def test_a_budget_that_is_not_needed_is_left() -> None:
    """For few examples the rate with the least regret is below what may be spent."""
    experts = lab.experts_for(2, 1 << 20, hold=1 << 12)
    assert experts.guarantee[0] < 1
    assert experts.rate == pytest.approx(math.sqrt(8 * math.log(2) / (1 << 32)), rel=1e-3)


def test_the_bound_grows_with_the_root() -> None:
    bounds = [lab.experts_for(65, 4**k, 1).bound / 2**k for k in (6, 8, 10)]
    assert max(bounds) < 1.001 * min(bounds)
    held = lab.best_hold(65, 4**8)
    assert lab.experts_for(65, 4**8, held).bound < bounds[1] * 2**8 / 2


def test_expected_mistakes_keep_to_the_bound_on_every_stream() -> None:
    """Every stream of five examples over two points, at three rates: the inequality."""
    labels = lab.labels_of("thresholds:2").astype(np.int64)
    examples = [(x, y) for x in range(2) for y in range(2)]
    for rate in (0.05, 0.5, 2.0):
        bound = math.log(3) / rate + rate * 5 / 8
        for stream in product(examples, repeat=5):
            lost, expected = np.zeros(3), 0.0
            for x, y in stream:
                weights = np.exp(-rate * lost)
                wrong = labels[:, x] != y
                expected += weights[wrong].sum() / weights.sum()
                lost += wrong
            assert expected <= lost.min() + bound


def watched(stream: list[tuple[int, bool]], experts: lab.Experts) -> list[NDArray[np.bool_]]:
    """The rules that somebody sees who names these examples."""
    seen = []

    def choose(t: int, last: NDArray[np.bool_] | None) -> tuple[int, bool]:
        if last is not None:
            seen.append(last.copy())
        return stream[t]

    lab.follow(LABELS, experts, choose, seed=5)
    return seen


@pytest.mark.parametrize("hold", [1, 3])
def test_a_rule_follows_from_earlier_examples_alone(hold: int) -> None:
    experts = lab.Experts(len(LABELS), 30, hold, Fraction(4))
    stream = [(7, t % 3 > 0) for t in range(30)]
    first, second = watched(stream, experts), watched([*stream[:12], (2, True)] * 3, experts)
    assert all((a == b).all() for a, b in zip(first[:13], second[:13], strict=True))
    assert any((a != b).any() for a, b in zip(first[13:], second[13:], strict=False))
    # what is drawn is held as long as the plan says
    blocks = [first[at : at + hold] for at in range(0, 29, hold)]
    assert all((rule == block[0]).all() for block in blocks for rule in block)


def test_mistakes_are_those_of_what_was_published_before_the_example() -> None:
    """With a rate so large that the best rule is drawn, followed by hand."""
    experts = lab.Experts(len(LABELS), 40, 1, Fraction(60))
    stream = [(x % 16, x % 16 >= 5) for x in range(40)]
    found = lab.follow(LABELS, experts, lambda t, _: stream[t], seed=1)
    assert found.best == 0
    rules = watched(stream, experts)
    wrong = sum(bool(rule[x]) != y for rule, (x, y) in zip(rules[:-1], stream[1:-1], strict=True))
    assert wrong <= found.mistakes <= wrong + 2
    assert found.regret == found.mistakes < 10


def test_drawn_anew_it_keeps_to_the_bound_where_held_rules_do_not() -> None:
    anew, held = (lab.experts_for(len(LABELS), 1_000, hold) for hold in (1, 16))
    against = lab.contrarian(2, 1_000, 16)
    assert lab.follow(LABELS, anew, against, 2).regret <= anew.bound
    assert lab.follow(LABELS, held, against, 2).regret > held.bound
    coins = lab.coins(2, 1_000, 16)
    assert lab.follow(LABELS, held, coins, 2).regret <= held.bound


def test_the_planned_learner_is_followed_rule_by_rule() -> None:
    """Who contradicts the published rule makes a learner err that keeps it."""
    fair = lab.follow_capped("thresholds:16", 300, lab.coins(1, 300, 16), 1)
    contrary = lab.follow_capped("thresholds:16", 300, lab.contrarian(1, 300, 16), 1)
    assert fair.mistakes < 200
    assert contrary.mistakes > 270
    assert 0 <= contrary.best < 200
