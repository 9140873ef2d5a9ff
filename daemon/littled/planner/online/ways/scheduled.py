"""Plans whose epochs end at public times: what they have in common; see `schedules`."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.values import scheduled_calls
from littled.planner.budgets import Budget
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.planner.online.ways.base import Estimate, estimated, preference
from littled.planner.online.ways.draft import (
    BACKGROUND_EXAMPLES_NOISY,
    TriggeredWay,
    proposals_per_example,
)
from littled.portable import exp, log

# Mistakes that an epoch keeps at the most, or examples where these propose paths of rules.
MISTAKES_MAX = 1 << 20
KEPT_EXAMPLES = 1 << 15
# Where users are protected, as each epoch may keep mistakes of users of its own.
MISTAKES_OF_USERS_MAX = 1 << 18


@dataclass(frozen=True, slots=True)
class ScheduledDraft:
    """One learner on independent examples, one way and one way to divide the budget.

    `way` is the way's name, `selection` the word that its parameters have.
    """

    request: OnlineRequest
    budget: Budget
    way: str
    selection: str

    @property
    def alone(self) -> Budget:
        """The budget without a trigger.

        Pure sums of learners may be divided as one likes. Where several are converted together,
        what others spend on their triggers stays unspent here.
        """
        if self.budget.accounting == "pure" or self.budget.share == 1:
            return replace(self.budget, trigger_share=0.0)
        return self.budget

    @property
    def rate(self) -> Fraction:
        """e of the one selection that is paid for."""
        return self.alone.selection_rate(1)

    @property
    def most_calls(self) -> int:
        """Calls of the schedule with the most of them."""
        return scheduled_calls(1, self.budget.horizon)

    @property
    def decay(self) -> float:
        """By how much a wrong prediction lowers a rule's weight on average: c.

        A noisy label raises it instead. Above ln((1 - noise) / noise) / 2 a larger e is of no use:
        the likeliest rule is the drawn one then, and noise decides which it is.
        """
        rate, noise = float(self.rate), float(self.request.noise_rate)
        if noise:
            rate = min(rate, log((1 - noise) / noise) / 2)
        return 1 - (1 - noise) * exp(-rate) - noise * exp(rate)

    @property
    def kept(self) -> int:
        """Examples of an epoch that single ones propose from."""
        most = CANDIDATES_MAX // proposals_per_example(self.request)
        return min(BACKGROUND_EXAMPLES_NOISY if self.request.noise_rate else KEPT_EXAMPLES, most)

    @property
    def mistakes(self) -> int:
        """Mistakes that an epoch keeps at the most."""
        return MISTAKES_OF_USERS_MAX if self.budget.user_examples_max else MISTAKES_MAX

    def made(self, first: int, expected: float, **more: Any) -> Estimate:
        """The plan with epochs from `first` on."""
        more.setdefault("selection_rate", self.rate)
        request, horizon = self.request, self.budget.horizon
        parameters = OnlineParameters(
            epsilon=self.budget.epsilon,
            horizon=horizon,
            noise_rate=request.noise_rate,
            trigger_rate=Fraction(0),
            trigger_threshold=0,
            selection=self.selection,
            selection_accounting=self.budget.accounting,
            draws=1,
            calls_max=scheduled_calls(first, horizon, more.get("schedule_cap")),
            fresh=True,
            schedule_first=first,
            user_examples_max=self.budget.user_examples_max,
            **more,
        )
        plan = OnlinePlan(request.name, request.hypotheses, parameters, request.words)
        return estimated(self.way, plan, expected, None, self.budget)


class ScheduledWay(TriggeredWay):
    """A way whose epochs follow a schedule where examples are independent."""

    # Whether it may have a trigger all the same, where that is reckoned to be better.
    may_keep_trigger: ClassVar[bool] = False

    @abstractmethod
    def scheduled(self, draft: ScheduledDraft) -> Estimate | None:
        """The best plan with a schedule, None if the budget pays for none."""

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """Those with a schedule where nobody chooses the order of the examples."""
        if request.adversary != "none":
            return super().estimates(request, budget)
        draft = ScheduledDraft(request, budget, self.name, self.selection)
        found = self.scheduled(draft) if draft.rate > 0 else None
        planned = [] if found is None else [found]
        if self.may_keep_trigger:
            planned += super().estimates(request, budget)
        return sorted(planned, key=preference)
