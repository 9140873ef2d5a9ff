"""What is claimed of a learner is what the plan was accepted for."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from littled.auditing.claims import claims_of
from littled.auditing.subjects import small_plan
from littled.auditing.subjects.online import PUBLISHING
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
