"""What a way of selection is to the planner: when it applies, and its plans under a budget.

Every estimate is for a realizable stream (or one with the given noise rate) and is utility only.
`guaranteed` is a bound that holds, except with the failure probability, whatever oblivious
realizable stream comes (an adaptive one where that was asked for); it rests on
`littled.planner.bounds` and is None where nothing is proven.

Where users are protected, all of this is about streams in which no user makes the published rules
err more often than a season counts. What is kept of a user is soon used up if users give many
examples, so it is mistakes wherever that will do, and few others. A learner that needs examples of
every epoch ("fresh") is chosen where there are enough users (`littled.planner.online.users`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from littled.learners.online.selections.base import Selection
from littled.planner.budgets import Budget
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest
from littled.planner.online.sizes import misfit
from littled.planner.online.users import users_needed
from littled.planner.requests import StreamRequest

# A plan whose number of calls is proven to suffice is preferred to one with so much fewer mistakes.
UNPROVEN_FACTOR = 1.15

Small = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A feasible plan of one learner with what it is expected to do in a season.

    `way` is the name of a way of selection. `mistakes_if_chosen`: expected where somebody who sees
    each published rule chooses the examples, the horizon where they may never end; None where that
    is not known. `shortage`: how many times as many users it needs as there are, where users are
    protected and that is above 1.
    """

    way: str
    plan: OnlinePlan
    expected_mistakes: float
    guaranteed_mistakes: float | None
    mistakes_if_chosen: float | None = None
    shortage: float = 1.0


def estimated(
    way: str,
    plan: OnlinePlan,
    expected: float,
    guaranteed: float | None,
    budget: Budget,
    if_chosen: float | None = None,
) -> Estimate:
    """What a plan under this budget is expected to do."""
    needed = users_needed(plan, expected) if budget.unit.is_user else 0
    shortage = max(1.0, needed / budget.users)
    return Estimate(way, plan, expected, guaranteed, if_chosen, shortage)


def preference(estimate: Estimate) -> float:
    """Fewest expected mistakes; a plan with a proven bound may have somewhat more.

    Those of a plan whose users may run out count as more, by the square of its shortage.
    """
    proven = estimate.guaranteed_mistakes is not None
    counted = estimate.expected_mistakes * estimate.shortage * estimate.shortage
    return counted * (1.0 if proven else UNPROVEN_FACTOR)


class Way(ABC):
    """One way of selection; `name` as it is asked for, `words` for people.

    small: small learners of this way for audits, by name: the class, and what is asked besides.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    small: ClassVar[Mapping[str, Small]]
    # Whether it needs the whole budget of a stream.
    alone: ClassVar[bool] = False

    @abstractmethod
    def is_of(self, selection: Selection) -> bool:
        """Whether a plan that selects like this is of this way; so it is of one way only."""

    def is_open(self, request: OnlineRequest) -> bool:
        """Whether the request asks for this way, or leaves it to the planner."""
        return request.teachers is None if request.leaves_open else request.asks_for(self.name)

    def is_usual(self, request: OnlineRequest) -> bool:
        """Whether it alone is to be taken, as nothing is told of the stream."""
        return False

    def refusal(self, request: OnlineRequest) -> str | None:
        """How a request that asks for this way contradicts itself; None if it does not."""
        if request.teachers is not None:
            return f"{self.name} selection has no teachers of its own; use sparse"
        return None

    @abstractmethod
    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Every reason why this way does not apply to this learner, whatever the budget."""

    def why_not(self, request: OnlineRequest, *, users: bool) -> str | None:
        """The first reason; None if it applies."""
        return next(self.reasons(request, users=users), None)

    @abstractmethod
    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """All plans of this way that the budget pays for, the best first.

        PlanError, with the numbers, where what was asked for is infeasible.
        """

    def supposed(self, request: OnlineRequest) -> OnlineRequest:
        """The request as if it left this way open, for comparisons."""
        return replace(request, teachers=None)

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """Further mistakes that are expected each time the rule that fits becomes another one.

        Of a tally each time an id comes or goes. The horizon where later rules may never be found,
        None where it is not known, as where users are protected. Shares of what is expected of one
        rule were measured (docs/planning.md, "When the best rule changes").
        """
        return None

    def other_remark(self, request: OnlineRequest) -> str:
        """What to say of it where another way is chosen; "" for its words."""
        return ""

    def budgets(self, request: StreamRequest, budgets: Sequence[Budget]) -> Sequence[Budget]:
        """Those of the ways to divide the stream's budget that matter to this way."""
        return budgets

    def estimate(self, request: OnlineRequest, budget: Budget) -> Estimate | None:
        """The best plan of this way within all limits, None if the budget pays for none."""
        found = self.estimates(request, budget)
        return next((estimate for estimate in found if misfit(estimate.plan) is None), None)
