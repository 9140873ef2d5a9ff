"""Plans of scorecard learners: within the budget, using it, or refused with a reason."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.conversion import gaussian_of_epsilon, guarantee
from littled.budget.normal import PI_UPPER
from littled.budget.prices import price
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.learners.leader import LeaderParameters
from littled.learners.leader.learner import season_event
from littled.learners.leader.parameters import SCALE_MAX
from littled.planner import PlanError, StreamPlan, StreamRequest, plan_stream
from littled.planner.leader.plan import LeaderPlan
from littled.planner.leader.request import LeaderRequest
from littled.planner.leader.search import (
    SCORE_NOISE,
    LeaderPlanning,
    judging_share,
    planned,
    score_noise,
)
from littled.planner.online.request import OnlineRequest
from littled.planner.search import budgets_of

NAME = "scorecard:64x64x7cox2"


def asked(name: str = NAME, **changes: Any) -> StreamRequest:
    request = StreamRequest(
        "s", Fraction(1), Fraction(1, 10**6), 100_000,
        (LeaderRequest("l", class_from_name(name)),),
    )  # fmt: skip
    return replace(request, **changes)


def parameters(**changes: Any) -> LeaderParameters:
    found: LeaderParameters = plan_stream(asked(**changes)).plans[0].parameters
    return found


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(20)])
@pytest.mark.parametrize("horizon", [200, 5_000, 100_000, 10_000_000])
@pytest.mark.parametrize("unit", [EXAMPLE, Unit(3)])
def test_a_plan_keeps_its_promise_and_uses_it(epsilon: Fraction, horizon: int, unit: Unit) -> None:
    plan = plan_stream(asked(epsilon=epsilon, horizon=horizon, unit=unit))
    proven, delta = guarantee(plan.caps, plan.delta_z)
    assert proven <= epsilon
    assert delta <= Fraction(1, 10**6)
    p = plan.plans[0].parameters
    if p.scale < SCALE_MAX:
        largest = gaussian_of_epsilon(epsilon, plan.delta_z)
        assert plan.caps.gaussian > largest * Fraction(9, 10)
    assert p.user_examples_max == (3 if unit.is_user else None)
    assert StreamPlan.from_dict(plan.to_dict()) == plan


def test_the_noise_of_a_score_is_what_was_chosen() -> None:
    p = parameters(horizon=15_000)
    # as it would be if it were spread over the season; learning makes up for the difference
    squares = [sum((c / p.scale) ** 2 for c in each.coefficients) for each in (p, undamped(p))]
    spread = replace(undamped(p), scale=int(p.scale * (squares[0] / squares[1]) ** 0.5))
    assert abs(score_noise(spread) / SCORE_NOISE - 1) < 0.1
    assert 1 < score_noise(p) / SCORE_NOISE < 1.5
    p = parameters()
    # more budget, and longer seasons, let it learn faster at the same noise
    assert parameters(epsilon=Fraction(4)).learning_rate > p.learning_rate
    assert parameters(epsilon=Fraction(4)).batch_examples < p.batch_examples


def undamped(p: LeaderParameters) -> LeaderParameters:
    return replace(p, damping=Fraction(0))


def test_a_high_rate_falls_where_there_are_batches_enough_and_not_too_many() -> None:
    p = parameters()
    assert (p.falling_after, p.drift_batches, p.drift_lead) == (p.all_batches // 10, 32, 5)
    for changes in (
        {"epsilon": Fraction(1, 10)}, {"horizon": 10_000}, {"horizon": 1_000_000},
    ):  # fmt: skip
        q = parameters(**changes)
        assert (q.falling_after, q.drift_batches, q.drift_lead) == (0, 0, 0)


def test_the_noise_of_a_score_with_a_falling_rate_is_that_of_all_releases() -> None:
    """Of each release: what undoes coefficients, times the rates and decays that follow it."""
    p = replace(
        parameters(), horizon=60 * parameters().batch_examples, falling_after=10, warmup=0,
        warmup_scale=0, moments_scale=0, judging_scale=0, judging_first=0, judging_last=0,
    )  # fmt: skip
    end, squares = p.batches, 0.0
    for first in range(end):
        entry = 0.0
        for batch in range(first, end):
            rate = (1 + batch / 10) ** -0.75 * float(p.decay) ** (end - 1 - batch)
            entry += rate * p.roots[batch - first] / 2**16
        squares += entry**2
    one = replace(p, falling_after=0, drift_batches=0, drift_lead=0)
    constant = 0.0
    current = 0.0
    for root in p.roots[:end]:
        current = current * float(p.decay) + root / 2**16
        constant += current**2
    found = score_noise(p) / score_noise(one)
    assert found == pytest.approx((squares / constant) ** 0.5, rel=0.01)
    assert found < 1


def test_the_warmup_is_a_small_part_and_left_out_where_its_mean_would_be_noise() -> None:
    p = parameters()
    assert 0 < p.warmup * p.batch_examples <= 100_000 / 20
    low = parameters(epsilon=Fraction(1, 10), horizon=50_000)
    assert 50_000 / 20 < low.warmup * low.batch_examples <= 50_000 / 10
    assert parameters(horizon=500).warmup == 0
    assert parameters(epsilon=Fraction(1, 125)).warmup == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("unit", [EXAMPLE, Unit(3)])
def test_the_stump_and_judging_are_paid_from_the_budget(epsilon: Fraction, unit: Unit) -> None:
    plan = plan_stream(asked(epsilon=epsilon, unit=unit))
    p, amount = plan.plans[0].parameters, plan.caps.gaussian
    event = season_event(p)
    if epsilon < 1 and unit.is_user:
        # a stump is drawn from examples of its own, at the whole price
        drawn = event.stump_rate**2 * PI_UPPER / 4
        assert Fraction(99, 100) * amount < drawn <= amount
        assert 0 < p.stump_batches * p.batch_examples <= 100_000 / 10
    judged = Fraction(event.judging, 2 * event.variance) / amount
    assert Fraction(9, 1000) < judged < Fraction(71, 1000)
    assert p.periods[0] > p.stump_batches
    assert p.periods[-1] > p.all_batches * 3 / 4


def test_a_learner_alone_has_draws_that_are_pure_and_a_trial() -> None:
    plan = plan_stream(asked(epsilon=Fraction(1, 10)))
    p = plan.plans[0].parameters
    event = season_event(p)
    assert event == plan.publishing[0].learner("s").season_events()[0]
    assert p.conversion_delta == event.conversion_delta == plan.delta_z
    # a draw costs the epsilon of the whole season
    season = guarantee(plan.caps, plan.delta_z)[0]
    whole = season - plan.caps.epsilon_pure
    assert whole * Fraction(9999, 10000) < 2 * event.stump_rate <= whole
    assert price(event).gaussian == plan.caps.gaussian
    assert 100_000 / 20 < p.stump_batches * p.batch_examples < 100_000 / 10
    assert 0 < p.trial_batches * p.batch_examples < 100_000 / 20
    assert p.stump_batches + p.warmup <= p.trial_after < 0.15 * p.all_batches
    # which is taken at its word, so periods are long from the first one on
    assert p.judging_first == p.judging_last
    # where there are others, or users, nothing of it
    other = LeaderRequest("m", class_from_name(NAME))
    two = asked(epsilon=Fraction(1, 10), learners=(*asked().learners, other))
    for request in (two, asked(epsilon=Fraction(1, 10), unit=Unit(1))):
        q = plan_stream(request).plans[0].parameters
        assert (q.trial_batches, q.conversion_delta) == (0, 0)
        assert q.stump_batches > 0


def test_a_plan_whose_draws_are_beside_the_rest_needs_all_of_its_caps() -> None:
    plan = plan_stream(asked(epsilon=Fraction(1, 10)))
    more = replace(plan.caps, gaussian=plan.caps.gaussian * 2)
    rho = replace(plan.caps, rho=Fraction(1, 1000))
    for changes in ({"caps": more}, {"caps": rho}, {"delta_z": plan.delta_z / 2}):
        with pytest.raises(ValueError, match="learner l: scorecard_season has a conversion_delta"):
            replace(plan, **changes)
        stored = replace(plan_stream(asked()), **changes).to_dict()
        stored["learners"] = plan.to_dict()["learners"]
        with pytest.raises(ValueError, match="learner l: scorecard_season has a conversion_delta"):
            StreamPlan.from_dict(stored)


def test_only_a_small_budget_for_the_season_begins_with_a_stump() -> None:
    """Where a stump needs a larger part of the season than an 80th."""
    for epsilon, horizon, begins in [
        (Fraction(1), 20_000, True),
        (Fraction(1), 100_000, False),
        (Fraction(1, 10), 100_000, True),
        (Fraction(1, 10), 330_000, True),
        (Fraction(1, 10), 10_000_000, False),
    ]:
        p = parameters(epsilon=epsilon, horizon=horizon)
        assert bool(p.stump_batches) == begins == bool(p.stump_points)
        assert p.judging_scale > 0


def test_noise_is_spread_over_an_eighth_of_the_batches_or_about_as_many() -> None:
    damped = {n: parameters(horizon=n).damping for n in (10_000, 100_000, 1_000_000)}
    assert damped[10_000] == Fraction(1, 100)
    middle = parameters(horizon=90_000)
    assert 200 < (1 / middle.damping) == 90_000 // middle.batch_examples // 8 < 300
    assert damped[1_000_000] == Fraction(1, 300)


def test_a_low_rate_has_longer_batches_and_a_noisy_lead_has_to_be_larger() -> None:
    p, low = parameters(), parameters(epsilon=Fraction(1, 10))
    assert low.learning_rate < p.learning_rate / 5
    assert low.batch_examples > 10 * p.batch_examples
    assert (p.judging_lead, low.judging_lead) == (0, 2)


def test_judging_takes_more_where_examples_say_less() -> None:
    shares = [judging_share(n, 0.02) for n in (10_000, 100_000, 10**7)]
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], shares[2]) == (0.07, 0.01)


@pytest.mark.parametrize(
    ("name", "cosines"),
    [("256", 32), ("256x256", 32), ("64x64x9", 14), ("x".join(["64"] * 9), 4), ("2x2x300", 32)],
)
def test_few_columns_have_more_cosines(name: str, cosines: int) -> None:
    assert (
        parameters(learners=(LeaderRequest("l", class_from_name(f"scorecard:{name}")),)).cosines
        == cosines
    )


def test_long_seasons_have_longer_batches_and_bounded_states() -> None:
    p = parameters(horizon=10_000_000)
    assert p.all_batches == 16_366
    assert parameters(horizon=1_000_000).batch_examples == 256
    # a batch moves scores by no more than in short seasons, or nearly
    assert [round(float(q.learning_rate * q.batch_examples)) for q in (p, parameters())] == [8, 4]
    # and few sums of batches are kept
    assert len(p.coefficients) < 1_000
    (plan,) = plan_stream(asked(horizon=10_000_000)).of(LeaderPlan)
    assert LeaderPlanning().snapshot_bytes_max(plan) < 2_000_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": Fraction(1, 10**5)}, "too small for a scorecard over 100,000 examples"),
        ({"horizon": 10**14}, "too small for a scorecard over 100,000,000,000,000 examples"),
    ],
)
def test_what_no_budget_pays_for_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan_stream(asked(**changes))


def test_other_classes_and_rules_that_fit_no_frame_are_refused() -> None:
    stumps = LeaderRequest("l", class_from_name("stumps:3:8"))
    with pytest.raises(PlanError, match="kind leader needs the class scorecard, not stumps:3:8"):
        plan_stream(asked(learners=(stumps,)))


def test_shapes_of_rules_are_in_the_plan_and_cost_nothing() -> None:
    request = LeaderRequest("l", class_from_name(NAME), columns_max=2, monotone="r--f")
    plan = plan_stream(asked(learners=(request,)))
    p = plan.plans[0].parameters
    assert replace(p, columns_max=None, monotone="") == parameters()
    assert StreamPlan.from_dict(plan.to_dict()) == plan
    with pytest.raises(PlanError, match="monotone needs one letter for each column"):
        plan_stream(asked(learners=(replace(request, monotone="r"),)))


def test_no_other_kind_selects_among_scorecards() -> None:
    online = OnlineRequest("l", class_from_name(NAME))
    with pytest.raises(PlanError, match="learner l: "):
        plan_stream(asked(learners=(online,)))


def test_scorecards_alone_are_booked_as_gdp_and_beside_others_as_zcdp() -> None:
    card, stumps = (
        LeaderRequest("card", class_from_name("scorecard:64x64")),
        OnlineRequest("one", class_from_name("stumps:2:64")),
    )
    alone = plan_stream(asked(learners=(card, replace(card, name="other"))))
    assert {plan.parameters.accounting for plan in alone.plans} == {"gaussian"}
    assert alone.delta_z == alone.delta * Fraction(999, 1000)
    assert alone.caps.gaussian > 0 == alone.caps.rho
    mixed = plan_stream(asked(learners=(card, stumps)))
    assert mixed.plans[0].parameters.accounting == "zcdp"
    assert mixed.caps.rho > 0 == mixed.caps.gaussian
    assert "accounting" not in mixed.plans[0].parameters.to_dict()
    for plan in (alone, mixed):
        assert StreamPlan.from_dict(plan.to_dict()) == plan


def test_noise_is_less_than_in_zcdp_by_what_gdp_saves() -> None:
    (exact, zcdp) = (
        planned(class_from_name(NAME).additive, replace(budget, measuring=Fraction(0)))
        for budget in tuple(budgets_of(asked(epsilon=Fraction(1, 10))))[1:]
    )
    assert exact is not None
    assert zcdp is not None
    assert (exact.accounting, zcdp.accounting) == ("gaussian", "zcdp")
    # also because a larger part of delta is left for the conversion
    assert 1.08 < exact.judging_scale / zcdp.judging_scale < 1.12


def test_where_delta_has_no_room_for_rounded_noise_it_is_zcdp() -> None:
    changes: tuple[dict[str, Any], ...] = {"epsilon": Fraction(20)}, {"delta": Fraction(1, 10**15)}
    for each in changes:
        plan = plan_stream(asked(**each))
        assert plan.plans[0].parameters.accounting == "zcdp"
        assert plan.caps.gaussian == 0


def test_two_learners_share_a_budget() -> None:
    scorecard = LeaderRequest("card", class_from_name("scorecard:64x64"))
    stumps = OnlineRequest("one", class_from_name("stumps:2:64"))
    plan = plan_stream(asked(learners=(scorecard, stumps)))
    assert [each.kind for each in plan.plans] == ["leader", "online"]
    alone = plan_stream(asked(learners=(scorecard,))).plans[0].parameters
    assert plan.plans[0].parameters.scale < alone.scale
