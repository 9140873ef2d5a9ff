"""What is claimed of a learner is what the plan was accepted for."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from littled.auditing.claims import claims_of
from littled.auditing.subjects import small_plan
from littled.auditing.subjects.online import PUBLISHING
from littled.budget.conversion import epsilon_of_gaussian
from littled.budget.events import ScorecardSeason
from littled.budget.price import Price
from littled.planner import season_cost


@pytest.mark.parametrize("name", PUBLISHING)
def test_a_learner_alone_is_charged_the_caps_of_its_plan(name: str) -> None:
    plan = small_plan(name)
    (learner,) = plan.publishing
    assert season_cost(learner.learner(plan.stream)) == plan.caps
    first, *_ = claims_of(plan.caps, plan.delta_z)
    assert first.epsilon <= float(plan.epsilon)
    assert first.delta <= float(plan.delta)


def test_zcdp_is_claimed_at_many_deltas_and_pure_at_one() -> None:
    pure = Price(Fraction(1), Fraction(0), Fraction(1, 100))
    assert [(each.epsilon, each.delta) for each in claims_of(pure, Fraction(1, 2))] == [(1.0, 0.01)]
    gaussian = claims_of(replace(pure, gaussian=Fraction(1, 10)), Fraction(1, 10**6))
    assert len(gaussian) == 5
    mixed = claims_of(Price(Fraction(1), Fraction(1, 10), Fraction(0)), Fraction(1, 10**6))
    assert len({each.delta for each in mixed}) == 5
    later = sorted(mixed, key=lambda each: each.delta)
    assert all(a.epsilon > b.epsilon > 1 for a, b in pairwise(later))


def test_of_parts_side_by_side_nothing_is_claimed_at_a_larger_delta() -> None:
    """There draws may cost more than what the rest converts to."""
    plan = small_plan("scorecard-trial")
    (learner,) = plan.publishing
    (event, *others) = learner.learner(plan.stream).season_events()
    assert isinstance(event, ScorecardSeason)
    larger, smaller = plan.delta_z * 2, plan.delta_z / 2
    drawn = 2 * event.stump_rate
    assert epsilon_of_gaussian(plan.caps.gaussian, larger) < drawn
    assert drawn <= epsilon_of_gaussian(plan.caps.gaussian, smaller)
    claims = claims_of(plan.caps, plan.delta_z, [*others, event])
    without = claims_of(plan.caps, plan.delta_z, others)
    # the plan's delta is nearly a hundredth, so two of the four are larger
    assert len(claims) == len(without) - 2
    assert max(claim.delta for claim in claims) == float(plan.delta_z + plan.caps.delta)
    assert all(claim.epsilon >= drawn for claim in claims)
