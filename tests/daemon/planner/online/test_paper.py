"""Paper mode: the paper's formulas, prices within the budget, and refusals with the numbers."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.conversion import guarantee
from littled.budget.prices import price
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.planner import (
    OnlineRequest,
    PaperConstants,
    PlanError,
    StreamRequest,
    plan_stream,
)
from littled.planner.bounds import draws_for_majority
from littled.planner.online.paper import (
    MAJORITY_DEVIATION,
    paper_budget,
    paper_estimate,
    threshold_needed,
)
from oracle.littlestone.essential import essential_hypotheses

ENOUGH = PaperConstants(teachers=Fraction(60))


def request(
    name: str = "points:64", horizon: int = 10**6, constants: PaperConstants = ENOUGH, **more: Any
) -> StreamRequest:
    learner = OnlineRequest("l", class_from_name(name), selection="paper", paper=constants, **more)
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), horizon, (learner,))


def learner_of(asked: StreamRequest) -> OnlineRequest:
    (learner,) = asked.learners
    assert isinstance(learner, OnlineRequest)
    return learner


def test_parameters_are_the_papers() -> None:
    """d = 1: K = 1, k = 60 ln(T) ln(1/delta), U = ln(ln T) k, R = ln(T) made odd, B = k / 10."""
    parameters = plan_stream(request()).publishing[0].parameters
    logarithm = math.log(10**6)
    assert parameters.calls_max == 1
    assert parameters.teachers == math.ceil(60 * logarithm**2)
    assert parameters.trigger_threshold == math.ceil(
        Fraction(math.log(logarithm)) * parameters.teachers
    )
    assert parameters.draws == 15
    assert parameters.bottom_score == parameters.teachers // 10
    # p = 2^2 at the second stage of d = 1: p^1 2^1 = 8
    assert parameters.list_cap == 8
    assert parameters.tests == "cohen_lyu"
    assert parameters.buffer == "mistakes"


def test_the_plan_keeps_its_promise_with_the_proven_prices() -> None:
    plan = plan_stream(request())
    learner = plan.publishing[0].learner("s")
    kinds = [event.name for event in learner.season_events()]
    assert kinds == ["cohen_lyu_trigger", "cohen_lyu_stage_test", "cohen_lyu_stage_test",
                     "precision_loss"]  # fmt: skip
    epsilon, delta = guarantee(plan.caps, plan.delta_z)
    assert Fraction(9, 10) < epsilon <= 1
    assert delta <= Fraction(1, 10**6)
    trigger = price(learner.season_events()[0]).epsilon_pure
    assert Fraction(24, 100) < trigger <= Fraction(1, 4)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (request("thresholds:256"), "U = about 10.* beyond the horizon of 1,000,000"),
        (request(constants=PaperConstants()), "B = k / 10 = 19 does not hide .*takes B >="),
        (request(constants=replace(ENOUGH, draws=Fraction(100))), "R = 1,38. draws"),
        (request("thresholds:3", 10**12), "more than 131,072"),
        (request(constants=replace(ENOUGH, trigger_share=Fraction(1, 10**6))), "raise epsilon"),
        (request(teachers=30), "paper.teachers instead"),
    ],
)  # fmt: skip
def test_infeasible_constants_are_refused_with_the_numbers(
    asked: StreamRequest, sentence: str
) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(asked)


def test_the_number_that_a_refusal_names_suffices() -> None:
    with pytest.raises(PlanError) as refusal:
        plan_stream(request(constants=PaperConstants()))
    named = int(str(refusal.value).rsplit("paper.teachers = ", 1)[1].split()[0])
    assert plan_stream(request(constants=PaperConstants(teachers=Fraction(named))))


def test_paper_mode_divides_a_whole_budget() -> None:
    learner = learner_of(request())
    both = (learner, replace(learner, name="other", selection="auto"))
    with pytest.raises(PlanError, match="give it a stream alone"):
        plan_stream(replace(request(), learners=both))


def test_the_estimate_is_the_papers_bound() -> None:
    learner = learner_of(request())
    found = paper_estimate(learner, paper_budget(request()))
    assert found.expected_mistakes == 2 * found.plan.parameters.trigger_threshold
    assert found.guaranteed_mistakes is None


@pytest.mark.parametrize("adversary", ["none", "oblivious"])
def test_independent_examples_are_an_oblivious_stream(adversary: Any) -> None:
    assert plan_stream(request(adversary=adversary)) == plan_stream(request())


def test_a_majority_serves_every_point_against_an_adaptive_adversary() -> None:
    """The remark after Lemma 6.2: the dual VC dimension of point functions is 1."""
    enough = replace(ENOUGH, teachers=Fraction(300), threshold=Fraction(1))
    asked = request(constants=enough, adversary="adaptive")
    parameters = plan_stream(asked).publishing[0].parameters
    assert parameters.calls_max == 1
    assert parameters.draws == draws_for_majority(
        64 * math.log(2), 1, MAJORITY_DEVIATION, 0.05 / 3 / parameters.calls_max
    )
    oblivious = plan_stream(request(constants=enough)).publishing[0].parameters
    assert parameters.draws > oblivious.draws


def test_too_many_draws_against_an_adaptive_adversary_are_refused() -> None:
    constants = replace(ENOUGH, draws=Fraction(100))
    with pytest.raises(PlanError, match=r'R = 1,38. draws .* or set adversary = "oblivious"'):
        plan_stream(request(constants=constants, adversary="adaptive"))


def table(rows: list[list[int]]) -> HypothesisClass:
    """A table of these rows, by the names r0, r1 and so on."""
    return Table.from_matrix(
        [f"r{number}" for number in range(len(rows))], np.array(rows, dtype=np.bool_)
    )


def test_lists_that_are_not_the_papers_are_refused() -> None:
    """Of 20 singletons, d = 1, one rule is (p, 1)-essential at p = 2 and 4, and 20 are listed."""
    singletons = table(np.eye(20, dtype=np.uint8).tolist())
    assert singletons.littlestone_dimension == 1
    small = np.eye(7, dtype=np.bool_)
    assert [len(essential_hypotheses(small, p, 1)) for p in (2, 4, 6)] == [1, 1, 7]
    asked = request()
    learner = learner_of(asked)
    with pytest.raises(PlanError, match=r"rules for p >= 19 only, and the paper has p = .* = 2 "):
        plan_stream(replace(asked, learners=(replace(learner, hypotheses=singletons),)))
    three = table([[0, 0], [0, 1], [1, 0]])
    assert needed(three.version_spaces).essential_p_min(1) == 2
    assert plan_stream(replace(asked, learners=(replace(learner, hypotheses=three),)))


@pytest.mark.parametrize(("dimension", "constant"), [(0, 39_461), (1, 39_461), (8, 2_753)])
def test_what_claim_6_2_takes(dimension: int, constant: int) -> None:
    """exp(-(1 / 5d)^2 (n / 10) / 3) <= T^-10 for n = C d^3 ln(d ln T), and not for C - 1."""
    assert threshold_needed(dimension, 10**6) == constant
    d, logarithm = max(dimension, 1), math.log(10**6)
    for offset, enough in ((0, True), (-1, False)):
        examples = (constant + offset) * d**3 * math.log(d * logarithm)
        assert (examples / (750 * d**2) >= 10 * logarithm) is enough
