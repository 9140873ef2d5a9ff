"""The search for a plan of an online learner: every way of selection, the fewest mistakes."""

from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from littled.planner.budgets import Budget
from littled.planner.online.choosing import best_way, why_no_way
from littled.planner.online.comparing import Comparison, compared
from littled.planner.online.costs import retrain_memory_bytes
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import PAPER_LIMITS, OnlineRequest
from littled.planner.online.sizes import snapshot_bytes_max
from littled.planner.online.ways.base import Estimate, preference
from littled.planner.online.ways.register import allowed_ways
from littled.planner.planning import Cost, Planning
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import best_estimates, budgets_of

# Classes that nobody named are not chosen where more than one example in so many may be a mistake.
WORTHWHILE_SHARE = 50


class OnlinePlanning(Planning[OnlineRequest, Estimate, OnlinePlan]):
    """How online learners are planned, and what they take."""

    has_trigger: ClassVar[bool] = True

    def check(self, request: OnlineRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        if request.hypotheses.not_online is not None:
            raise PlanError(f"learner {request.name}: {request.hypotheses.not_online}")
        if not 0 < request.failure_probability < 1:
            raise PlanError(f"learner {request.name}: failure_probability must be between 0 and 1")
        for way in allowed_ways(request):
            if way.alone and stream.unit.is_user:
                raise PlanError(f"learner {request.name}: {PAPER_LIMITS}; take another selection")
            if way.alone and len(stream.learners) > 1:
                raise PlanError(
                    f"learner {request.name}: {way.name} mode divides a whole budget; give it a "
                    "stream alone"
                )

    def best(self, request: OnlineRequest, budget: Budget) -> Estimate | None:
        """The best plan of all ways that the request leaves open."""
        return best_way(request, budget)

    def cost(self, request: OnlineRequest, estimate: Estimate) -> Cost:
        """The mistakes that are expected."""
        return Cost(mistakes=preference(estimate))

    def is_worthwhile(
        self, request: OnlineRequest, estimate: Estimate, stream: StreamRequest
    ) -> bool:
        """Whether at most one example in 50 is expected to be a mistake on a bad stream."""
        return self.cost(request, estimate).mistakes * WORTHWHILE_SHARE <= stream.horizon

    def why_not(
        self, request: OnlineRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why no way applies, or every plan exceeds a limit."""
        return why_no_way(request, budgets)

    def snapshot_bytes_max(self, plan: OnlinePlan) -> int:
        """Most bytes of the learner's state in a snapshot."""
        return snapshot_bytes_max(plan)

    def memory_bytes_max(self, plan: OnlinePlan) -> int:
        """Memory of a joint training."""
        return retrain_memory_bytes(plan)


def compare_ways(request: StreamRequest, name: str | None = None) -> tuple[Comparison, ...]:
    """Every way for the learner of this name, or for the only one, the chosen way first.

    Each with the learner's share of the stream's budget. The last row is the baseline "experts" of
    Asi, Feldman, Koren and Talwar (2023). PlanError without a plan. What differs in nothing but
    names is compared once.
    """
    (learner,) = (asked for asked in request.learners if name in (None, asked.name))
    (best,) = (found for found in best_estimates(request) if found.plan.name == learner.name)
    assert isinstance(learner, OnlineRequest)
    assert isinstance(best, Estimate)
    unnamed = replace(request, name="", learners=tuple(map(_unnamed, request.learners)))
    return _compared(unnamed, _unnamed(learner), replace(best, plan=_unnamed(best.plan)))


@lru_cache(maxsize=64)
def _compared(
    request: StreamRequest, learner: OnlineRequest, best: Estimate
) -> tuple[Comparison, ...]:
    return compared(request, learner, best, tuple(budgets_of(request)))


def _unnamed(one: Any) -> Any:
    """The request or the plan of a learner without its name."""
    return replace(one, name="")
