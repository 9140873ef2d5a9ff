"""The search for a plan: every way, every division of the budget, the fewest expected mistakes.

Learners that answer questions are planned by `littled.planner.prediction.search`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import get_args

from littled.budget.conversion import guarantee
from littled.budget.events import price
from littled.budget.price import Price
from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import Accounting
from littled.planner.budgets import DELTA_Z_SHARE, Budget
from littled.planner.online.costs import retrain_memory_bytes, retrain_seconds
from littled.planner.online.experts import (
    EXPERTS_LIMITS,
    EXPERTS_REMARK,
    EXPERTS_UNIT,
    experts_mistakes,
)
from littled.planner.online.paper import paper_budget, paper_estimate
from littled.planner.online.schedules import SCHEDULED_WAYS, ScheduledDraft
from littled.planner.online.ways import Draft, Estimate, preference
from littled.planner.plans import AnyPlan, LearnerPlan, StreamPlan
from littled.planner.prediction.search import (
    PredictionComparison,
    PredictionEstimate,
    best_prediction,
    compare_methods,
    open_methods,
    window_cost,
)
from littled.planner.prediction.search import preference as prediction_preference
from littled.planner.prediction.search import why_not as prediction_why_not
from littled.planner.requests import (
    PAPER_LIMITS,
    WAYS,
    AnyRequest,
    LearnerRequest,
    PlanError,
    PredictionRequest,
    StreamRequest,
    Unit,
    Way,
    allowed_ways,
    check_requests,
)
from littled.planner.sizes import misfit, misfit_together
from littled.portable import log

TRIGGER_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


AnyEstimate = Estimate | PredictionEstimate


def plan_stream(request: StreamRequest) -> StreamPlan:
    """The plan with the fewest expected mistakes whose caps are within (epsilon, delta).

    Learners share the budget evenly; one way of accounting and one share for the trigger serve
    them all, so that their prices add up to the caps exactly. Learners that answer questions are
    planned for the most answers or the least excess error; where there are online learners too,
    their mistakes, excess errors and inverse numbers of answers are multiplied.

    Raises PlanError if the learners read different points, if what is asked contradicts itself, if
    the budget is too small, or if a plan could take more than `littled.planner.sizes` allows.
    """
    return _checked(request, tuple(each.plan for each in _best(request)))


@lru_cache(maxsize=16)
def _best(request: StreamRequest) -> tuple[AnyEstimate, ...]:
    """The best estimates, one a learner, in the order in which the learners step."""
    check_requests(request)
    ordered = sorted(request.learners, key=lambda each: each.name)
    ways = {each.name: allowed_ways(each) for each in ordered if isinstance(each, LearnerRequest)}
    best: tuple[float, tuple[AnyEstimate, ...]] | None = None
    for budget in _budgets(request):
        found = [_best_of_learner(each, budget, ways.get(each.name, ())) for each in ordered]
        feasible = tuple(each for each in found if each is not None)
        if len(feasible) == len(ordered):
            cost = _cost(ordered, feasible)
            if best is None or cost < best[0]:
                best = (cost, feasible)
    if best is None:
        raise PlanError(_why_not(request))
    return best[1]


def _cost(requests: Sequence[AnyRequest], estimates: Sequence[AnyEstimate]) -> float:
    """What a plan should have little of, as a logarithm."""
    mistakes, rest = 0.0, 0.0
    for request, estimate in zip(requests, estimates, strict=True):
        if isinstance(estimate, Estimate):
            mistakes += preference(estimate)
        elif isinstance(request, PredictionRequest):
            rest += log(max(prediction_preference(request, estimate), 1e-300))
    return rest + (log(mistakes) if mistakes else 0.0)


def _budgets(request: StreamRequest) -> Iterator[Budget]:
    """Every way to divide the budget that the search tries."""
    predictions = sum(isinstance(each, PredictionRequest) for each in request.learners)
    shares = TRIGGER_SHARES if predictions < len(request.learners) else (0.0,)
    for share, accounting in product(shares, get_args(Accounting)):
        yield Budget(
            request.epsilon,
            request.delta,
            request.horizon,
            len(request.learners),
            accounting,
            share,
            predictions,
            request.user_examples_max if request.unit == "user" else 0,
        )


def _best_of_learner(
    request: AnyRequest, budget: Budget, ways: tuple[Way, ...]
) -> AnyEstimate | None:
    """The best of what is open to this learner."""
    if isinstance(request, PredictionRequest):
        return best_prediction(request, budget)
    unit = _unit(budget)
    found = [
        each
        for way in ways
        if applies(request, way, unit) and (each := _estimate(request, budget, way))
    ]
    return min(found, key=preference, default=None)


def _estimate(request: LearnerRequest, budget: Budget, way: Way) -> Estimate | None:
    """The best plan of one way that exceeds no limit."""
    found = _estimates(request, budget, way)
    return next((each for each in found if misfit(each.plan) is None), None)


def _estimates(request: LearnerRequest, budget: Budget, way: Way) -> list[Estimate]:
    """All plans of one way that the budget pays for, the best first."""
    if way == "paper":
        return [paper_estimate(request, budget)]
    if request.adversary == "none" and way in SCHEDULED_WAYS:
        return _independent_estimates(request, budget, way)
    return Draft(request, budget).estimates(way)


def _independent_estimates(request: LearnerRequest, budget: Budget, way: Way) -> list[Estimate]:
    """With a schedule; a set of ids may keep its trigger, if that is reckoned to be better.

    How rare ids are is not known, so that an id may have to wait for the end of a long epoch; a
    trigger counts its mistakes and does not make it wait.
    """
    scheduled = ScheduledDraft(request, budget).estimate(way)
    found = [] if scheduled is None else [scheduled]
    if way == "histogram":
        found += Draft(request, budget).estimates(way)
    return sorted(found, key=preference)


def _unit(budget: Budget) -> Unit:
    return "user" if budget.user_examples_max else "example"


def applies(request: LearnerRequest, way: Way, unit: Unit = "example") -> bool:
    """Whether the class has what this way needs."""
    return why_not(request, way, unit) is None


def why_not(request: LearnerRequest, way: Way, unit: Unit = "example") -> str | None:
    """Why this way does not apply to this learner, whatever the budget; None if it does."""
    hypotheses, users = request.hypotheses, unit == "user"
    independent = request.adversary == "none" and not users
    reasons: dict[Way, tuple[tuple[bool, str], ...]] = {
        "dense": (
            (hypotheses.rule_count is None, "the class has too many rules to weigh each of them"),
            (independent, "where examples are independent, fresh knows as much at a lower price"),
        ),
        "fresh": (
            (hypotheses.rule_count is None, "the class has too many rules to weigh each of them"),
            (
                bool(request.noise_rate) and request.adversary != "none",
                "one epoch says too little where labels are noisy",
            ),
            (request.adversary == "adaptive", "an adaptive adversary calls for a memory"),
            (
                users and request.selection != "fresh",
                "users who have given all that is kept leave later epochs empty; ask for it where "
                "they give no more",
            ),
        ),
        "sparse": (
            (
                hypotheses.proposals_per_example is None,
                "an example does not propose a short list of rules",
            ),
        ),
        "closure": (
            (not hypotheses.has_closures, "the class is not closed under intersection"),
            (bool(request.noise_rate), "one wrong label spoils a closure: it needs noise_rate 0"),
            (
                request.adversary == "adaptive",
                "no majority of closures is defined, which an adaptive adversary calls for",
            ),
        ),
        "histogram": ((not hypotheses.has_flips, "the rules are no sets of ids"),),
        "teachers": ((request.teachers is None, "needs to be asked for, by a number of teachers"),),
        "paper": ((users, PAPER_LIMITS),),
    }
    return next((reason for holds, reason in reasons[way] if holds), None)


def _why_not(request: StreamRequest) -> str:
    """One sentence on why no plan was found."""
    for each in request.learners:
        if isinstance(each, PredictionRequest):
            answering = [prediction_why_not(each, method) for method in open_methods(each)]
            if all(answering):
                return f"learner {each.name}: {each.method} does not apply: {answering[0]}"
            if best_prediction_of(request, each) is None:
                return _too_few_answers(request, each)
            continue
        reasons = [why_not(each, way, request.unit) for way in allowed_ways(each)]
        if all(reasons):
            return (
                f"learner {each.name}: no way of selection applies: {'; '.join(map(str, reasons))}"
            )
        found = _found(request, each, allowed_ways(each))
        reason = misfit(min(found, key=preference).plan) if found else None
        if reason is not None and not any(misfit(estimate.plan) is None for estimate in found):
            return f"learner {each.name}: {reason}"
    return (
        f"epsilon {float(request.epsilon)} with delta {float(request.delta)} does not pay for the "
        f"calls that its learners need over {request.horizon} examples; raise epsilon or delta"
    )


def _found(
    request: StreamRequest, learner: LearnerRequest, ways: tuple[Way, ...]
) -> list[Estimate]:
    """Every plan of some ways that the budget pays for, however it is divided."""
    return [
        estimate
        for way, budget in product(ways, _budgets(request))
        if applies(learner, way, request.unit)
        for estimate in _estimates(learner, budget, way)
    ]


def best_prediction_of(
    request: StreamRequest, learner: PredictionRequest
) -> PredictionEstimate | None:
    """The best plan of one learner under any division of the stream's budget."""
    found = [each for budget in _budgets(request) if (each := best_prediction(learner, budget))]
    return min(found, key=lambda each: prediction_preference(learner, each), default=None)


def _too_few_answers(request: StreamRequest, learner: PredictionRequest) -> str:
    """Why a learner that answers questions has no plan."""
    alone = best_prediction_of(request, replace(learner, excess_error=None, answers=1))
    if alone is None or learner.excess_error is None:
        return (
            f"learner {learner.name}: epsilon {float(request.epsilon)} does not pay for "
            f"{learner.answers or 1} answers a window; raise epsilon or ask for fewer answers"
        )
    return (
        f"learner {learner.name}: even a single answer a window would have an expected excess "
        f"error of about {alone.expected_excess_error:.2g}, above {float(learner.excess_error)}; "
        "give it larger windows or a larger epsilon"
    )


def _checked(request: StreamRequest, plans: tuple[AnyPlan, ...]) -> StreamPlan:
    """The plan with its caps, once exact arithmetic has shown that they keep the promise."""
    caps = sum((_caps(plan, request.name) for plan in plans), Price.zero())
    delta_z = request.delta * DELTA_Z_SHARE if caps.rho else Fraction(0)
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
        request.user_examples_max,
    )


def _caps(plan: AnyPlan, stream: str) -> Price:
    """Everything that a season of this learner can be charged."""
    if not isinstance(plan, LearnerPlan):
        return window_cost(plan)
    return season_cost(plan.learner(stream))


def season_cost(learner: OnlineLearner) -> Price:
    """What a season can cost in all: what is charged when it opens, and every call."""
    fixed = sum((price(event) for event in learner.season_events()), Price.zero())
    return fixed + price(learner.call_event()) * learner.parameters.calls_max


# -- what else could have been done --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one way of selection would do in a season, or why it cannot.

    Mistakes are utility only: `expected` on a stream that is bad for this way, `guaranteed` but
    for the failure probability; None where nothing is known. `retrain_seconds` and `memory_bytes`
    are models of one joint training on one core of a usual machine.
    """

    way: str
    chosen: bool
    expected_mistakes: float | None = None
    guaranteed_mistakes: float | None = None
    calls_max: int | None = None
    retrain_seconds: float | None = None
    memory_bytes: int | None = None
    remark: str = ""


def compare_ways(request: StreamRequest, name: str | None = None) -> tuple[Comparison, ...]:
    """Every way for the learner of this name, or for the only one, the chosen way first.

    Each with the learner's share of the stream's budget. The last row is the baseline "experts" of
    Asi, Feldman, Koren and Talwar (2023). PlanError without a plan.
    """
    (learner,) = (each for each in request.learners if name in (None, each.name))
    (best,) = (each for each in _best(request) if each.plan.name == learner.name)
    assert isinstance(learner, LearnerRequest)
    assert isinstance(best, Estimate)
    others = (_other(request, learner, way) for way in WAYS if way != best.way)
    asked = learner.selection != "auto" or learner.teachers is not None
    remark = "chosen: asked for" if asked else "chosen: fewest expected mistakes"
    chosen = _row(best, chosen=True, remark=remark)
    return (chosen, *others, _experts_row(request, learner))


def compare_predictions(request: StreamRequest) -> tuple[PredictionComparison, ...]:
    """Every method for the only learner of `request`, which answers questions; see there."""
    (learner,) = request.learners
    assert isinstance(learner, PredictionRequest)
    check_requests(request)
    return compare_methods(learner, tuple(_budgets(request)))


def _row(estimate: Estimate, *, chosen: bool, remark: str = "") -> Comparison:
    parameters = estimate.plan.parameters
    return Comparison(
        way=estimate.way,
        chosen=chosen,
        expected_mistakes=estimate.expected_mistakes,
        guaranteed_mistakes=estimate.guaranteed_mistakes,
        calls_max=parameters.calls_max,
        retrain_seconds=retrain_seconds(estimate.plan),
        memory_bytes=retrain_memory_bytes(estimate.plan),
        remark=remark,
    )


def _other(request: StreamRequest, learner: LearnerRequest, way: Way) -> Comparison:
    """The row of a way that was not chosen."""
    asked = learner if way == "teachers" else replace(learner, teachers=None)
    reason = why_not(asked, way, request.unit)
    if reason is not None:
        return Comparison(way, False, remark=reason)
    if way == "paper":
        return _paper_row(request, asked)
    found = sorted(_found(request, asked, (way,)), key=preference)
    if not found:
        return Comparison(way, False, remark="the budget does not pay for enough calls")
    fitting = next((each for each in found if misfit(each.plan) is None), None)
    if fitting is None:
        return Comparison(way, False, remark=misfit(found[0].plan) or "")
    return _row(fitting, chosen=False)


def _paper_row(request: StreamRequest, learner: LearnerRequest) -> Comparison:
    if len(request.learners) > 1:
        return Comparison("paper", False, remark="needs a stream for this learner alone")
    try:
        found = paper_estimate(learner, paper_budget(request))
    except PlanError as error:
        return Comparison("paper", False, remark=str(error).partition(": ")[2])
    return _row(found, chosen=False)


def _experts_row(request: StreamRequest, learner: LearnerRequest) -> Comparison:
    if request.unit == "user":
        return Comparison("experts", False, remark=EXPERTS_UNIT)
    shared = len(request.learners)
    alone = replace(request, epsilon=request.epsilon / shared, delta=request.delta / shared)
    found = experts_mistakes(alone, learner)
    if found is None:
        return Comparison("experts", False, remark=EXPERTS_LIMITS)
    return Comparison(
        "experts", False, found.expected_mistakes, None, found.calls_max, remark=EXPERTS_REMARK
    )
