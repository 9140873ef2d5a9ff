"""The search for a plan of an online learner: every way of selection, the fewest mistakes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from littled.planner.budgets import Budget
from littled.planner.online.costs import retrain_memory_bytes, retrain_seconds
from littled.planner.online.experts import (
    EXPERTS_LIMITS,
    EXPERTS_REMARK,
    EXPERTS_UNIT,
    experts_mistakes,
)
from littled.planner.online.paper import paper_budget, paper_estimate
from littled.planner.online.plan import LearnerPlan
from littled.planner.online.request import (
    PAPER_LIMITS,
    WAYS,
    LearnerRequest,
    Way,
    allowed_ways,
)
from littled.planner.online.schedules import SCHEDULED_WAYS, ScheduledDraft
from littled.planner.online.sizes import misfit, snapshot_bytes_max
from littled.planner.online.ways import Draft, Estimate, preference
from littled.planner.planning import Cost, Planning
from littled.planner.requests import PlanError, StreamRequest, Unit
from littled.planner.search import best_estimates, budgets_of


class OnlinePlanning(Planning[LearnerRequest, Estimate, LearnerPlan]):
    """How online learners are planned, and what they take."""

    has_trigger: ClassVar[bool] = True

    def check(self, request: LearnerRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        if request.selection == "paper" and stream.unit == "user":
            raise PlanError(f"learner {request.name}: {PAPER_LIMITS}; take another selection")
        if request.selection == "paper" and len(stream.learners) > 1:
            raise PlanError(
                f"learner {request.name}: paper mode divides a whole budget; give it a stream alone"
            )
        if not 0 < request.failure_probability < 1:
            raise PlanError(f"learner {request.name}: failure_probability must be between 0 and 1")
        allowed_ways(request)

    def best(self, request: LearnerRequest, budget: Budget) -> Estimate | None:
        """The best plan of all ways that the request leaves open."""
        unit = _unit(budget)
        found = [
            estimate
            for way in allowed_ways(request)
            if applies(request, way, unit) and (estimate := _estimate(request, budget, way))
        ]
        return min(found, key=preference, default=None)

    def cost(self, request: LearnerRequest, estimate: Estimate) -> Cost:
        """The mistakes that are expected."""
        return Cost(mistakes=preference(estimate))

    def why_not(
        self, request: LearnerRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why no way applies, or every plan exceeds a limit."""
        ways = allowed_ways(request)
        reasons = [why_not(request, way, stream.unit) for way in ways]
        if all(reasons):
            return f"no way of selection applies: {'; '.join(map(str, reasons))}"
        found = _found(request, ways, budgets, stream.unit)
        reason = misfit(min(found, key=preference).plan) if found else None
        if reason is None or any(misfit(estimate.plan) is None for estimate in found):
            return None
        return reason

    def snapshot_bytes_max(self, plan: LearnerPlan) -> int:
        """Most bytes of the learner's state in a snapshot."""
        return snapshot_bytes_max(plan)

    def memory_bytes_max(self, plan: LearnerPlan) -> int:
        """Memory of a joint training."""
        return retrain_memory_bytes(plan)


def _estimate(request: LearnerRequest, budget: Budget, way: Way) -> Estimate | None:
    """The best plan of one way that exceeds no limit."""
    found = _estimates(request, budget, way)
    return next((estimate for estimate in found if misfit(estimate.plan) is None), None)


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


def _found(
    learner: LearnerRequest, ways: Iterable[Way], budgets: Iterable[Budget], unit: Unit
) -> list[Estimate]:
    """Every plan of some ways that the budget pays for, however it is divided."""
    return [
        estimate
        for way, budget in product(ways, budgets)
        if applies(learner, way, unit)
        for estimate in _estimates(learner, budget, way)
    ]


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
    (learner,) = (asked for asked in request.learners if name in (None, asked.name))
    (best,) = (found for found in best_estimates(request) if found.plan.name == learner.name)
    assert isinstance(learner, LearnerRequest)
    assert isinstance(best, Estimate)
    others = (_other(request, learner, way) for way in WAYS if way != best.way)
    asked = learner.selection != "auto" or learner.teachers is not None
    remark = "chosen: asked for" if asked else "chosen: fewest expected mistakes"
    chosen = _row(best, chosen=True, remark=remark)
    return (chosen, *others, _experts_row(request, learner))


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
    found = sorted(_found(asked, (way,), budgets_of(request), request.unit), key=preference)
    if not found:
        return Comparison(way, False, remark="the budget does not pay for enough calls")
    fitting = next((estimate for estimate in found if misfit(estimate.plan) is None), None)
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
