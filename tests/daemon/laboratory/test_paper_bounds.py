"""Lyu's claims: constants, splits, and the learner of paper mode call by call."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from littled.laboratory import paper_bounds as lyu
from littled.planner.online.paper import threshold_needed
from littled.planner.online.request import PaperConstants
from littled.planner.requests import PlanError

QUICK = PaperConstants(teachers=Fraction(32), threshold=Fraction(1), draws=Fraction(1, 10))
HORIZON = 100_000


@pytest.fixture(scope="module")
def followed() -> lyu.Followed:
    learner = lyu.paper_learner("thresholds:2", HORIZON, QUICK)
    return lyu.follow(learner, ((1, 1), (0, 1)), seed=1, horizon=HORIZON)


def test_a_run_is_held_against_the_claims(followed: lyu.Followed) -> None:
    call, *_ = followed.calls
    p = followed.parameters
    assert call.threshold == p.trigger_threshold
    assert abs(call.mistakes - p.trigger_threshold) < p.trigger_threshold / 2
    assert followed.claim_6_1
    assert followed.lemma_6_1
    assert followed.lemma_6_2
    # every teacher lists the rules that fit, of which there are at least two of three
    assert call.most == p.teachers
    score = float(p.selection_rate) * (call.most - p.bottom_score)
    assert 1 / (1 + 3 * math.exp(score)) <= call.bottom <= 1 / (1 + math.exp(score))
    assert followed.claim_6_4


def test_with_few_examples_a_teacher_claim_6_3_fails(followed: lyu.Followed) -> None:
    assert not followed.claim_6_3


def test_claims_that_fail_are_seen(followed: lyu.Followed) -> None:
    call = followed.calls[0]

    def with_calls(*calls: lyu.Call) -> lyu.Followed:
        return replace(followed, calls=calls)

    assert not with_calls(replace(call, mistakes=call.threshold // 3)).claim_6_1
    assert not with_calls(replace(call, bottom=0.02)).claim_6_4
    assert not with_calls(call, replace(call, bottom=1.05 * call.bottom)).claim_6_4
    assert with_calls(call, replace(call, bottom=1.2 * call.bottom)).claim_6_4
    assert with_calls(call, replace(call, stage=call.stage + 1)).claim_6_4
    assert with_calls(replace(call, nested=True)).claim_6_3
    assert not replace(followed, halted=True).lemma_6_1
    limit = 3 * (followed.parameters.calls_max + 1) * followed.parameters.trigger_threshold // 2
    assert replace(followed, mistakes=limit).lemma_6_2
    assert not replace(followed, mistakes=limit + 1).lemma_6_2


def test_constants_that_have_no_plan_are_refused() -> None:
    with pytest.raises(PlanError, match=r"does not hide a list"):
        lyu.paper_learner("thresholds:2", HORIZON, PaperConstants())


def test_constants_satisfy_what_they_are_for() -> None:
    d, horizon, cap = 1, 1e6, 5
    need = lyu.constants_needed(d, horizon, 1.0, 1e-6, cap)
    assert need.claim_6_2 == threshold_needed(d, 10**6) == 39461
    unit_k = math.log(horizon) * math.log(1e6)
    teachers = need.lists * unit_k
    # the rate that K calls of R draws leave is what hides the lists and shows the candidates
    rho = (math.sqrt(math.log(1e6) + 0.5) - math.sqrt(math.log(1e6))) ** 2
    rate = math.sqrt(2 * rho / (need.lemma_6_1 * 15))
    assert math.exp(-rate * teachers * (2 / 3 - 1 / 10)) <= 0.01
    hidden = cap * math.exp(rate * (1 - teachers / 10))
    assert hidden <= 1.001 * 1e-6 / 20 / (need.lemma_6_1 * 15)
    # in a stage p(u) grows by 1.1 a call, from what it is where every list has every rule
    growing = rate * 0.9 * teachers + math.log(teachers * cap) - math.log(100)
    assert need.lemma_6_1 >= 2 * (1 + growing / math.log(1.1)) * 0.999


def test_lemma_6_2_covers_no_usable_horizon() -> None:
    for d, cap in ((1, 5), (2, 4)):
        assert lyu.constants_needed(d, 1e6, 1, 1e-6, cap).mistakes > 1e14
        need = lyu.least_horizon(d, 1, 1e-6, cap)
        assert need.mistakes <= need.horizon
        assert lyu.constants_needed(d, need.horizon / 10, 1, 1e-6, cap).mistakes > need.horizon / 10


def test_shares_within_a_fifth_are_within() -> None:
    sizes = np.array([100, 100])
    assert lyu.within(np.array([10, 12]), sizes, 1)
    assert not lyu.within(np.array([10, 13]), sizes, 1)
    assert not lyu.within(np.array([0, 1]), sizes, 1)
    assert not lyu.within(np.array([10, 12]), sizes, 2)


def test_claim_6_2_begins_to_hold_for_errors_of_a_tenth_and_never_for_single_ones() -> None:
    tenth = Fraction(1, 10)
    few, many = (lyu.split(share, 5, tenth, 1, 20).kept for share in (500, 16_000))
    assert few < 10
    assert many == 20
    assert lyu.split(16_000, 5, Fraction(0), 1, 20).kept == 0
