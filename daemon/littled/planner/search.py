"""The search for a plan of a stream: every division of its budget, the best plan of each learner.

How learners of a kind are planned under one division is the kind's own
(`littled.planner.planning`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, get_args

from littled.budget.conversion import guarantee
from littled.budget.events import Accounting
from littled.budget.price import Price
from littled.learners.measured import QualitySettings
from littled.planner.budgets import DELTA_Z_SHARE, GAUSSIAN_SHARE, Budget
from littled.planner.capacity import misfit_together
from littled.planner.planning import Estimated, planning_of
from littled.planner.plans import Plan, StreamPlan
from littled.planner.quality import QUALITY_SHARE, measured, quality_cost, quality_of
from littled.planner.requests import PlanError, Request, StreamRequest
from littled.portable import log

TRIGGER_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
# With longer fractions the trigger's 64-bit arithmetic could overflow.
NOISE_RATE_DENOMINATOR_MAX = 10**9
# Different requests whose plans are remembered: a configuration may mix so many sorts of streams.
REQUESTS_REMEMBERED = 256


def plan_stream(request: StreamRequest) -> StreamPlan:
    """The plan with the fewest expected mistakes whose caps are within (epsilon, delta).

    Learners share the budget evenly; one way of accounting and one share for the trigger serve
    them all, so that their prices add up to the caps exactly. Learners that answer questions are
    planned for the most answers or the least excess error; where there are online learners too,
    their mistakes, excess errors and inverse numbers of answers are multiplied.

    Raises PlanError if the learners read different points, if what is asked contradicts itself, if
    the budget is too small, or if a plan could take more than `littled.planner.capacity` allows.
    Streams that differ in nothing but their names are planned once.
    """
    return replace(_plan_stream(replace(request, name="")), stream=request.name)


@lru_cache(maxsize=REQUESTS_REMEMBERED)
def _plan_stream(request: StreamRequest) -> StreamPlan:
    """The plan of a stream without a name, which no price and no reason depends on."""
    plans = tuple(estimate.plan for estimate in best_estimates(request))
    settings = measuring_of(request)
    return _checked(request, tuple(measured(plan, settings) for plan in plans))


def decided(request: StreamRequest) -> StreamRequest:
    """The request with a share that tells how good rules are, where nothing was said about that.

    It is the usual one where that leaves a plan, and none elsewhere.
    """
    if request.quality is not None:
        return request
    share = QUALITY_SHARE if _is_planned(replace(request, name="", quality=QUALITY_SHARE)) else 0
    return replace(request, quality=Fraction(share))


@lru_cache(maxsize=REQUESTS_REMEMBERED)
def _is_planned(request: StreamRequest) -> bool:
    """Whether there is a plan; where there is none, nobody looks for it again either."""
    try:
        _plan_stream(request)
    except PlanError:
        return False
    return True


def best_estimates(request: StreamRequest) -> tuple[Estimated, ...]:
    """The best estimates, one a learner, in the order in which the learners step.

    Raises PlanError where there is no plan. What differs in nothing but the name has the same.
    """
    return _best_estimates(replace(request, name=""))


@lru_cache(maxsize=REQUESTS_REMEMBERED)
def _best_estimates(request: StreamRequest) -> tuple[Estimated, ...]:
    check_requests(request)
    ordered = sorted(request.learners, key=lambda learner: learner.name)
    best: tuple[float, tuple[Estimated, ...]] | None = None
    exact = False
    for budget in budgets_of(request):
        if exact and not budget.gaussian:
            break  # the same noise would cost more
        found = [planning_of(learner.kind).best(learner, budget) for learner in ordered]
        feasible = tuple(estimate for estimate in found if estimate is not None)
        if len(feasible) == len(ordered):
            cost = _cost(ordered, feasible)
            if best is None or cost < best[0]:
                best, exact = (cost, feasible), budget.gaussian
    if best is None:
        raise PlanError(_why_not(request))
    return best[1]


def check_requests(request: StreamRequest) -> None:
    """PlanError for what cannot be planned whatever the budget."""
    learners = request.learners
    if request.schema is None and len({one.hypotheses.point_type for one in learners}) != 1:
        kinds = ", ".join(f"{x.name} reads {x.hypotheses.point_type}" for x in learners)
        raise PlanError(f"all learners of a stream must read one type of x: {kinds}")
    for learner in learners:
        if learner.noise_rate.denominator > NOISE_RATE_DENOMINATOR_MAX:
            raise PlanError(f"learner {learner.name}: noise_rate may have at most 9 decimal places")
        planning_of(learner.kind).check(learner, request)


def _cost(requests: Sequence[Request], estimates: Sequence[Estimated]) -> float:
    """What a plan should have little of, as a logarithm."""
    mistakes, rest = 0.0, 0.0
    for request, estimate in zip(requests, estimates, strict=True):
        cost = planning_of(request.kind).cost(request, estimate)
        mistakes += cost.mistakes
        rest += cost.logarithm
    return rest + (log(mistakes) if mistakes else 0.0)


def measuring_of(request: StreamRequest) -> QualitySettings | None:
    """How the rules of each learner that publishes any are measured; None if they are not."""
    return quality_of(request, _publishing(request))


def _publishing(request: StreamRequest) -> int:
    """How many learners publish rules."""
    return sum(planning_of(learner.kind).publishes for learner in request.learners)


def budgets_of(request: StreamRequest) -> Iterator[Budget]:
    """Every way to divide the budget that the search tries; first as GDP, where all can be."""
    untriggered = sum(not planning_of(learner.kind).has_trigger for learner in request.learners)
    cost = quality_cost(measuring_of(request), users=request.unit.is_user)
    shares = TRIGGER_SHARES if untriggered < len(request.learners) else (0.0,)
    gaussian = all(planning_of(learner.kind).gaussian for learner in request.learners)
    for share, accounting in product(shares, get_args(Accounting)):
        budget = Budget(
            request.epsilon,
            request.delta,
            request.horizon,
            len(request.learners),
            accounting,
            share,
            untriggered,
            request.unit,
            request.users_expected,
            cost * _publishing(request),
        )
        if gaussian and accounting == "zcdp":
            yield replace(budget, gaussian=True)
        yield budget


def _why_not(request: StreamRequest) -> str:
    """One sentence on why no plan was found."""
    budgets = tuple(budgets_of(request))
    for learner in request.learners:
        reason = planning_of(learner.kind).why_not(learner, request, budgets)
        if reason is not None:
            return f"learner {learner.name}: {reason}"
    return (
        f"epsilon {float(request.epsilon)} with delta {float(request.delta)} does not pay for the "
        f"calls that its learners need over {request.horizon} examples; raise epsilon or delta"
    )


def _checked(request: StreamRequest, plans: tuple[Plan[Any], ...]) -> StreamPlan:
    """The plan with its caps, once exact arithmetic has shown that they keep the promise."""
    caps = sum((plan.season_cost(request.name) for plan in plans), Price.zero())
    delta_z = Fraction(0)
    if caps.rho or caps.gaussian:
        delta_z = request.delta * (DELTA_Z_SHARE if caps.rho else GAUSSIAN_SHARE)
    epsilon, delta = guarantee(caps, delta_z)
    if epsilon > request.epsilon or delta > request.delta:
        raise PlanError(
            f"the best plan found does not keep within epsilon "
            f"{float(request.epsilon)} and delta {float(request.delta)}; raise delta"
        )
    reason = misfit_together(plans)
    if reason is not None:
        raise PlanError(reason)
    return StreamPlan(
        request.name,
        request.epsilon,
        request.delta,
        delta_z,
        request.horizon,
        caps,
        plans,
        request.unit,
        request.schema,
    )
