"""The best way of selection for one learner, or why there is none."""

from collections.abc import Sequence
from itertools import product

from littled.planner.budgets import Budget
from littled.planner.online.request import OnlineRequest
from littled.planner.online.sizes import misfit
from littled.planner.online.ways.base import Estimate, Way, preference
from littled.planner.online.ways.register import allowed_ways


def best_way(request: OnlineRequest, budget: Budget) -> Estimate | None:
    """The best plan of all ways that are open; PlanError where what is asked is infeasible."""
    users = bool(budget.user_examples_max)
    found = [
        estimate
        for way in allowed_ways(request)
        if way.why_not(request, users=users) is None and (estimate := way.estimate(request, budget))
    ]
    return min(found, key=preference, default=None)


def found_plans(
    request: OnlineRequest, ways: Sequence[Way], budgets: Sequence[Budget]
) -> list[Estimate]:
    """Every plan of some ways that the budget pays for, however it is divided."""
    return [
        estimate
        for way, budget in product(ways, budgets)
        if way.why_not(request, users=bool(budget.user_examples_max)) is None
        for estimate in way.estimates(request, budget)
    ]


def why_no_way(request: OnlineRequest, budgets: Sequence[Budget]) -> str | None:
    """Why none of the ways that are open has a plan; None if the budget is too small for all."""
    ways, users = allowed_ways(request), any(budget.user_examples_max for budget in budgets)
    reasons = [way.why_not(request, users=users) for way in ways]
    if all(reasons):
        return f"no way of selection applies: {'; '.join(map(str, reasons))}"
    found = found_plans(request, ways, budgets)
    reason = misfit(min(found, key=preference).plan) if found else None
    if any(misfit(estimate.plan) is None for estimate in found):
        return None
    return reason
