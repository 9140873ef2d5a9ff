"""What learners that publish a value of each window are asked, and how they are planned.

Prices are exact; what is proven of a value is utility, in floating point. A method comes with a
*margin*, a number of examples that follows from the rates and beta; a window is enough for an error
alpha if alpha times its examples is a small multiple of the margin.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch import WindowLearner
from littled.learners.window_values import ValueParameters
from littled.planner.budgets import Budget
from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX, fits_a_frame
from littled.planner.planning import Cost, Planning
from littled.planner.plans import PublishingPlan
from littled.planner.requests import PlanError, StreamRequest
from littled.portable import log
from littled_protocol import limits
from littled_protocol.columns import point_type
from littled_protocol.facts import KindFacts
from littled_protocol.rules import Words

BETA = Fraction(1, 10)
AUTO = "auto"
# Besides points and labels an example is sorted, and its item has a count.
EXAMPLE_BYTES = 160
USER_BYTES = 40
STATE_BYTES = limits.frame_bytes_max + 4096
# Classes that nobody named are not chosen with a larger error, or with fewer windows in a season.
WORTHWHILE_ERROR = 1 / 20
WORTHWHILE_WINDOWS = 10


@dataclass(frozen=True, slots=True)
class ValueRequest:
    """What a configuration asks of a learner that publishes a value of each window.

    Either `window`, n examples in each, or `alpha`, the error of its value as a share of n: then
    the planner finds the other. In both cases a value may be worse with probability `beta`.
    """

    kind: ClassVar[str]

    name: str
    hypotheses: HypothesisClass
    window: int | None = None
    alpha: Fraction | None = None
    beta: Fraction = BETA
    method: str = AUTO
    words: Words = field(default_factory=Words)

    @property
    def noise_rate(self) -> Fraction:
        """None is asked for: whatever the labels are, examples with label 1 count."""
        return Fraction(0)


V = TypeVar("V", bound=ValueParameters)


@dataclass(frozen=True, slots=True)
class ValuePlan(PublishingPlan[V]):
    """One learner that publishes a value of each window, with all its parameters."""

    learner_class: ClassVar[type[WindowLearner]]

    def learner(self, stream: str) -> WindowLearner:
        """The learner itself."""
        return self.learner_class(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    @property
    def facts(self) -> KindFacts:
        """The kind, and where windows are."""
        p = self.parameters
        return {"kind": self.kind, "method": p.method, "window_examples": p.window}


R = TypeVar("R", bound=ValueRequest)
P = TypeVar("P", bound=ValuePlan[Any])


@dataclass(frozen=True, slots=True)
class ValueEstimate(Generic[P]):
    """One method's plan, with the margin and the error alpha that are proven for its window."""

    plan: P
    margin: int
    alpha: float


@dataclass(frozen=True, slots=True)
class Margin:
    """What is proven of one method: `examples`, and the parameters that are its own."""

    examples: int
    own: dict[str, Any]


class ValuePlanning(Planning[R, ValueEstimate[P], P], Generic[R, P]):
    """How learners of one kind are planned that publish a value of each window, and what they take.

    - `methods`: what `auto` chooses from. `ratio`: alpha n is to be so many times the margin, where
      a kind does not say otherwise.
    """

    has_trigger: ClassVar[bool] = False
    takes_less: ClassVar[str] = " or a smaller window"
    methods: ClassVar[tuple[str, ...]]
    ratio: ClassVar[int] = 1

    @abstractmethod
    def margin(self, request: R, budget: Budget, method: str, n: int) -> Margin | None:
        """The least margin of a method for windows of n; None where the budget pays for none."""

    @abstractmethod
    def planned(
        self, request: R, budget: Budget, method: str, n: int, margin: Margin, alpha: Fraction
    ) -> P | None:
        """The plan; None where the window is too small for it."""

    @abstractmethod
    def misfit(self, request: R, method: str) -> str | None:
        """Why a method does not apply to the class, in a sentence, or None."""

    def error(self, request: R, margin: Margin, n: int) -> Fraction:
        """The error alpha that is proven of windows of n with this margin."""
        return Fraction(max(self.ratio * margin.examples, 1), n)

    def examples_for(self, request: R, margin: Margin, alpha: Fraction) -> int:
        """The least n whose `error` with this margin is at most alpha."""
        return math.ceil(max(self.ratio * margin.examples, 1) / alpha)

    # -- what all of them do -----------------------------------------------------------------

    def check(self, request: R, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        wrong = _problem(request, stream.horizon)
        if wrong is not None:
            raise PlanError(f"learner {request.name}: {wrong}")

    def best(self, request: R, budget: Budget) -> ValueEstimate[P] | None:
        """The best plan of all methods that the request leaves open."""
        found = [
            option
            for method in self.open_methods(request)
            if (option := self.estimate(request, budget, method)) is not None
        ]
        return min(found, key=lambda option: self._wanted(request, option), default=None)

    def open_methods(self, request: R) -> tuple[str, ...]:
        """The methods that the request leaves open."""
        return self.methods if request.method == AUTO else (request.method,)

    def estimate(self, request: R, budget: Budget, method: str) -> ValueEstimate[P] | None:
        """The plan of one method; None where it does not apply or no window fits into a season."""
        if self.misfit(request, method) is not None:
            return None
        budget = untriggered(budget)
        n = request.window
        if n is None:
            n = self._least_window(request, budget, method)
        margin = None if n is None else self.margin(request, budget, method, n)
        if n is None or margin is None:
            return None
        alpha = self.error(request, margin, n)
        plan = self.planned(request, budget, method, n, margin, request.alpha or alpha)
        if plan is None or self._exceeds(plan):
            return None
        return ValueEstimate(plan, margin.examples, float(alpha))

    def _least_window(self, request: R, budget: Budget, method: str) -> int | None:
        """The least window for alpha: a margin grows with n at the most as a logarithm does."""
        alpha = request.alpha
        assert alpha is not None
        n = 1
        while n <= budget.horizon:
            margin = self.margin(request, budget, method, n)
            if margin is None:
                return None
            needed = max(n, self.examples_for(request, margin, alpha))
            if needed == n:
                plan = self.planned(request, budget, method, n, margin, alpha)
                if plan is not None:
                    return n
                needed = n + 1
            n = needed
        return None

    def _wanted(self, request: R, option: ValueEstimate[P]) -> float:
        """The error or the window, whichever was not asked for; the less the better."""
        return option.alpha if request.alpha is None else option.plan.parameters.window

    def cost(self, request: R, estimate: ValueEstimate[P]) -> Cost:
        """The window or the error, as it was not asked for."""
        return Cost(logarithm=log(max(self._wanted(request, estimate), 1e-300)))

    def is_worthwhile(self, request: R, estimate: ValueEstimate[P], stream: StreamRequest) -> bool:
        """Whether values err by at most 1/20, or a season has ten windows and more."""
        wanted = self._wanted(request, estimate)
        if request.alpha is None:
            return wanted <= WORTHWHILE_ERROR
        return wanted * WORTHWHILE_WINDOWS <= stream.horizon

    def why_not(self, request: R, stream: StreamRequest, budgets: tuple[Budget, ...]) -> str | None:
        """Why no method applies, or no window of a season is enough."""
        if any(self.best(request, budget) for budget in budgets):
            return None
        reasons = [self.misfit(request, method) for method in self.open_methods(request)]
        if all(reasons):
            return f"{request.method} does not apply: {reasons[0]}"
        if request.window is None:
            return (
                f"no window of a season of {stream.horizon:,} examples is enough for an error of "
                f"{float(request.alpha or 0):g} in {100 * float(1 - request.beta):g} % of the "
                "windows; allow a greater error, or raise epsilon or the horizon"
            )
        return (
            f"a window of {request.window:,} examples is too small for what the budget pays for; "
            "raise epsilon, or take a larger window"
        )

    def snapshot_bytes_max(self, plan: P) -> int:
        """Most bytes of the learner's state in a snapshot: a window, and who was counted."""
        p = plan.parameters
        users = p.user_examples_max is not None
        row = point_type(plan.hypotheses.point_type).itemsize_bytes + 1 + (16 if users else 0)
        return int(p.window * row + (p.horizon * 20 if users else 0) + STATE_BYTES)

    def memory_bytes_max(self, plan: P) -> int:
        """Memory of a window and of the draw from it."""
        p = plan.parameters
        users = USER_BYTES * p.horizon if p.user_examples_max is not None else 0
        item = 4 * point_type(plan.hypotheses.point_type).itemsize_bytes
        return int(self.snapshot_bytes_max(plan) + (EXAMPLE_BYTES + item) * p.window + users)

    def _exceeds(self, plan: P) -> bool:
        """Whether the plan exceeds one of the limits for one learner."""
        return (
            self.memory_bytes_max(plan) > MEMORY_BYTES_MAX
            or self.snapshot_bytes_max(plan) > SNAPSHOT_BYTES_MAX
            or not fits_a_frame(plan.hypotheses, 1)
        )


def untriggered(budget: Budget) -> Budget:
    """The budget without a part for a trigger, where triggers of others are paid from their own."""
    return replace(budget, trigger_share=0.0) if budget.accounting == "pure" else budget


def common(budget: Budget, method: str, n: int, rate: Fraction) -> dict[str, Any]:
    """The parameters that every learner of values has."""
    return {
        "method": method,
        "epsilon": budget.epsilon,
        "horizon": budget.horizon,
        "window": n,
        "rate": rate,
        "accounting": budget.accounting,
        "user_examples_max": budget.user_examples_max,
    }


def _problem(request: ValueRequest, horizon: int) -> str | None:
    """What is wrong with a request whatever the budget, in a sentence; None if nothing is."""
    window, alpha = request.window, request.alpha
    wrong = (
        (
            (window is None) == (alpha is None),
            "give either window or alpha, and the planner finds the other",
        ),
        (
            window is not None and not 1 <= window <= horizon,
            f"window must be from 1 to the stream's horizon of {horizon:,} examples, or no window "
            "would ever be full",
        ),
        (
            alpha is not None and not 0 < alpha <= Fraction(1, 2),
            "alpha must be above 0, at most 0.5",
        ),
        (not 0 < request.beta < 1, "beta must be between 0 and 1"),
    )
    return next((sentence for holds, sentence in wrong if holds), None)
