"""The search for a plan of private predictions: every method, either accounting, the best answers.

Either as many answers a window as the budget pays for at a wanted excess error, or the least excess
error for a wanted number of answers. Excess errors are heuristics (`prediction_errors`), prices are
exact: what the search in floating point comes up with is rounded so that it costs less, and priced.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from littled.budget.events import PrecisionLoss
from littled.budget.prices import price
from littled.learners.online.values import Accounting
from littled.learners.prediction import Method, PredictionLearner, PredictionParameters
from littled.planner.budgets import Budget
from littled.planner.planning import Cost, Planning
from littled.planner.prediction.costs import answer_seconds, memory_bytes, prepare_seconds
from littled.planner.prediction.errors import ErrorModel
from littled.planner.prediction.methods import Allowance, Found, best_parameters, lists_subsets
from littled.planner.prediction.plan import PredictionPlan
from littled.planner.prediction.request import METHODS, PredictionRequest
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import budgets_of, check_requests
from littled.portable import log

# Nobody asks more of one window; rates at which more could be answered say nothing.
ANSWERS_MAX = 10**9
# Numbers of answers are searched up to this ratio.
SEARCH_RATIO = 1.01
# Chosen numbers are rounded to so many binary digits, in the direction that costs less.
DIGITS = 14
# Rounding leaves room for the difference between floating point and exact prices.
SHRINK, SHRINKS = 1 - 1e-9, 3

PUBLISHED_RULE = "rule"


@dataclass(frozen=True, slots=True)
class PredictionEstimate:
    """A feasible plan of one learner, and the excess error that is expected of its answers."""

    plan: PredictionPlan
    expected_excess_error: float

    @property
    def method(self) -> Method:
        """How answers are made."""
        return self.plan.parameters.method

    @property
    def answers(self) -> int:
        """Answers a window."""
        return self.plan.parameters.answers_max


# Classes that nobody named are not chosen with a larger excess error.
WORTHWHILE_ERROR = 1 / 20


class PredictionPlanning(Planning[PredictionRequest, PredictionEstimate, PredictionPlan]):
    """How learners that answer questions are planned, and what they take."""

    publishes: ClassVar[bool] = False
    has_trigger: ClassVar[bool] = False
    takes_less: ClassVar[str] = " or a smaller window"

    def check(self, request: PredictionRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        name = request.name
        if stream.unit.is_user:
            raise PlanError(
                f"learner {name}: private answers protect single examples only; give it a "
                'stream with unit = "example"'
            )
        if not 1 <= request.window <= stream.horizon:
            raise PlanError(
                f"learner {name}: window must be from 1 to the stream's horizon of "
                f"{stream.horizon:,} examples, or no window would ever be full"
            )
        if (request.excess_error is None) == (request.answers is None):
            raise PlanError(f"learner {name}: give either excess_error or answers")
        if request.excess_error is not None and not 0 < request.excess_error < Fraction(1, 2):
            raise PlanError(f"learner {name}: excess_error must be between 0 and 0.5")
        if request.answers is not None and request.answers < 1:
            raise PlanError(f"learner {name}: answers must be at least 1")

    def best(self, request: PredictionRequest, budget: Budget) -> PredictionEstimate | None:
        """The best plan of all methods that the request leaves open."""
        return best_prediction(request, budget)

    def cost(self, request: PredictionRequest, estimate: PredictionEstimate) -> Cost:
        """The excess error, or the inverse of the number of answers."""
        return Cost(logarithm=log(max(preference(request, estimate), 1e-300)))

    def is_worthwhile(
        self, request: PredictionRequest, estimate: PredictionEstimate, stream: StreamRequest
    ) -> bool:
        """Whether answers err by as much as is wanted, or by at most 1/20."""
        wanted = float(request.excess_error or WORTHWHILE_ERROR)
        return estimate.expected_excess_error <= wanted

    def why_not(
        self, request: PredictionRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why no method applies, or none answers as is wanted."""
        reasons = [why_not(request, method) for method in open_methods(request)]
        if all(reasons):
            return f"{request.method} does not apply: {reasons[0]}"
        if best_under(request, budgets) is not None:
            return None
        alone = best_under(replace(request, excess_error=None, answers=1), budgets)
        if alone is None or request.excess_error is None:
            return (
                f"epsilon {float(stream.epsilon)} does not pay for {request.answers or 1} answers "
                "a window; raise epsilon or ask for fewer answers"
            )
        return (
            "even a single answer a window would have an expected excess error of about "
            f"{alone.expected_excess_error:.2g}, above {float(request.excess_error)}; "
            "give it larger windows or a larger epsilon"
        )

    def snapshot_bytes_max(self, plan: PredictionPlan) -> int:
        """Nothing: what is answered from is read from the journal again."""
        return 0

    def memory_bytes_max(self, plan: PredictionPlan) -> int:
        """Memory of a window and its answers."""
        return memory_bytes(plan)


def preference(request: PredictionRequest, estimate: PredictionEstimate) -> float:
    """What the request wants little of: excess error, or the inverse of the number of answers."""
    if request.answers is not None:
        return estimate.expected_excess_error
    return 1 / estimate.answers


def open_methods(request: PredictionRequest) -> tuple[Method, ...]:
    """The methods that the request leaves open."""
    return METHODS if request.method == "auto" else (request.method,)


def best_prediction(request: PredictionRequest, budget: Budget) -> PredictionEstimate | None:
    """The best plan under one way to divide the budget, None if no method answers as is wanted."""
    found = [
        estimate
        for method in open_methods(request)
        if why_not(request, method) is None and (estimate := _estimate(request, budget, method))
    ]
    return min(found, key=lambda estimate: preference(request, estimate), default=None)


def why_not(request: PredictionRequest, method: Method) -> str | None:
    """Why this method does not apply to this class, whatever the budget; None if it does."""
    if method == "dense" and request.hypotheses.dense is None:
        return "the class has too many rules to weigh each of them"
    if method in ("stability", "relabelling") and not lists_subsets(_model(request)):
        return "the labelings of a subset are too many to be listed"
    return None


def _model(request: PredictionRequest) -> ErrorModel:
    return ErrorModel(request.hypotheses, request.window, float(request.noise_rate))


@lru_cache(maxsize=1024)
def _estimate(
    request: PredictionRequest, budget: Budget, method: Method
) -> PredictionEstimate | None:
    """The best parameters of one method, priced exactly; None where they do not fit."""
    model = _model(request)
    answers = request.answers or _most_answers(request, budget, method, model)
    for shrinks in range(SHRINKS):
        allowance = _allowance(budget, answers, SHRINK - shrinks / 1000)
        found = best_parameters(method, model, allowance) if answers else None
        plan = found and _priced(request, budget, found, answers)
        if found and plan:
            return PredictionEstimate(plan, found.error)
    return None


def _most_answers(
    request: PredictionRequest, budget: Budget, method: Method, model: ErrorModel
) -> int:
    """About how many answers err by no more than is wanted; 0 for none."""
    wanted = float(request.excess_error or 0)

    def good(answers: int) -> bool:
        found = best_parameters(method, model, _allowance(budget, answers))
        return found is not None and found.error <= wanted

    if not good(1):
        return 0
    low, high = 1, 16
    while high < ANSWERS_MAX and good(high):
        low, high = high, 16 * high
    high = min(high, ANSWERS_MAX)
    while high > max(low * SEARCH_RATIO, low + 1):
        middle = math.isqrt(low * high)
        middle = min(max(middle, low + 1), high - 1)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _allowance(budget: Budget, answers: int, share: float = SHRINK) -> Allowance:
    """What each of so many answers may cost."""
    amount = float(budget.answers_amount) * share / max(answers, 1)
    return Allowance(budget.accounting, amount, float(budget.failure) * share / max(answers, 1))


def _priced(
    request: PredictionRequest, budget: Budget, found: Found, answers: int
) -> PredictionPlan | None:
    """The plan with exact parameters; None if it costs more than its part of the budget.

    Where the number of answers is the planner's, it is as many as the exact price allows for.
    """
    try:
        learner = PredictionLearner("", request.hypotheses, _exact(request, budget, found, answers))
        one = price(learner.answers_event(1))
        loss = price(PrecisionLoss(learner.precision_error(), budget.epsilon))
    except ValueError:
        return None
    most = min(
        _times(one.epsilon_pure + one.rho, budget.answers_amount),
        _times(one.delta, budget.failure),
        _times(loss.delta, budget.precision),
    )
    if most < answers and (request.answers is not None or not most):
        return None
    parameters = replace(learner.parameters, answers_max=request.answers or most)
    return PredictionPlan(request.name, request.hypotheses, parameters, request.words)


def _times(part: Fraction, whole: Fraction) -> int:
    """How often `part` fits into `whole`, at most `ANSWERS_MAX`."""
    return min(math.floor(whole / part), ANSWERS_MAX) if part else ANSWERS_MAX


def _exact(
    request: PredictionRequest, budget: Budget, found: Found, answers: int
) -> PredictionParameters:
    """Parameters as short fractions: rates rounded down, the flip up."""
    window = request.window
    return PredictionParameters(
        method=found.method,
        epsilon=budget.epsilon,
        window=window,
        answers_max=answers,
        accounting=budget.accounting,
        rate=below(found.rate),
        subset_rate=below(found.subset_rate),
        flip=-below(-found.flip),
        chunks=found.chunks,
        vote_rate=below(found.vote_rate),
        net=Fraction(round(found.net * (window - 1)), window - 1) if found.net else Fraction(0),
    )


def below(value: float) -> Fraction:
    """The largest fraction of `DIGITS` binary digits that is at most `value`."""
    _, exponent = math.frexp(value)
    scale = Fraction(2) ** (DIGITS - exponent)
    return math.floor(Fraction(value) * scale) / scale


# -- what else could have been done --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PredictionComparison:
    """What one method would do in a window, or why it cannot.

    Errors and times are models. An answer costs `epsilon` in pure accounting, None where no pure
    price is proven, and is booked as `booked` for the `accounting` of the row. `answers` is None
    where there is no limit.
    """

    method: str
    chosen: bool
    answers: int | None = None
    expected_excess_error: float | None = None
    accounting: Accounting | None = None
    epsilon_per_answer: float | None = None
    booked_per_answer: float | None = None
    prepare_seconds: float | None = None
    answer_seconds: float | None = None
    memory_bytes: int | None = None
    remark: str = ""


def compare_predictions(stream: StreamRequest) -> tuple[PredictionComparison, ...]:
    """Every method for the only learner of a stream, the best one that is open to it first.

    Then one published rule. The first row is marked as chosen only if it has a plan.
    """
    (request,) = stream.learners
    assert isinstance(request, PredictionRequest)
    check_requests(stream)
    budgets = tuple(budgets_of(stream))
    found = {method: _best_of(request, budgets, method) for method in METHODS}
    feasible = {method: estimate for method in open_methods(request) if (estimate := found[method])}
    chosen = min(feasible, key=lambda method: preference(request, feasible[method]), default=None)
    ordered = sorted(METHODS, key=lambda method: method != chosen)
    rows = [
        _row(request, estimate, chosen=method == chosen)
        if (estimate := found[method])
        else PredictionComparison(method, False, remark=_unable(request, budgets, method))
        for method in ordered
    ]
    return (*rows, _published_row(request, budgets))


def _best_of(
    request: PredictionRequest, budgets: tuple[Budget, ...], method: Method
) -> PredictionEstimate | None:
    return best_under(replace(request, method=method), budgets)


def best_under(
    request: PredictionRequest, budgets: tuple[Budget, ...]
) -> PredictionEstimate | None:
    """The best plan under any of these ways to divide the budget."""
    found = [estimate for budget in budgets if (estimate := best_prediction(request, budget))]
    return min(found, key=lambda estimate: preference(request, estimate), default=None)


def _row(
    request: PredictionRequest, estimate: PredictionEstimate, *, chosen: bool
) -> PredictionComparison:
    plan = estimate.plan
    booked = price(plan.learner("").answers_event(1))
    return PredictionComparison(
        method=estimate.method,
        chosen=chosen,
        answers=estimate.answers,
        expected_excess_error=estimate.expected_excess_error,
        accounting=plan.parameters.accounting,
        epsilon_per_answer=pure_epsilon(plan),
        booked_per_answer=float(booked.epsilon_pure + booked.rho),
        prepare_seconds=prepare_seconds(plan),
        answer_seconds=answer_seconds(plan),
        memory_bytes=memory_bytes(plan),
        remark=_chosen_remark(request) if chosen else "",
    )


def pure_epsilon(plan: PredictionPlan) -> float | None:
    """The pure epsilon of one answer, however it is booked; None where none is proven."""
    parameters = plan.parameters
    if parameters.method == "majority" and parameters.accounting == "zcdp":
        return None
    pure = replace(plan, parameters=replace(parameters, accounting="pure"))
    return float(price(pure.learner("").answers_event(1)).epsilon_pure)


def _chosen_remark(request: PredictionRequest) -> str:
    if request.method != "auto":
        return "chosen: asked for"
    wanted = "most answers" if request.answers is None else "least expected excess error"
    return f"chosen: {wanted}"


def _unable(request: PredictionRequest, budgets: tuple[Budget, ...], method: Method) -> str:
    """Why a method has no plan."""
    reason = why_not(request, method)
    if reason is not None:
        return reason
    alone = _best_of(replace(request, excess_error=None, answers=1), budgets, method)
    if request.answers is not None or alone is None:
        return "the budget does not pay for the answers"
    return f"a single answer would err by about {alone.expected_excess_error:.2g} more"


def _published_row(request: PredictionRequest, budgets: tuple[Budget, ...]) -> PredictionComparison:
    """One rule for each window, drawn by the exponential mechanism at the price of all answers."""
    if request.hypotheses.dense is None:
        return PredictionComparison(
            PUBLISHED_RULE, False, remark="the class has too many rules to publish the best of all"
        )
    best = _best_of(replace(request, excess_error=None, answers=1), budgets, "dense")
    if best is None:
        return PredictionComparison(PUBLISHED_RULE, False, remark="the budget is too small")
    return PredictionComparison(
        PUBLISHED_RULE,
        False,
        expected_excess_error=best.expected_excess_error,
        accounting=best.plan.parameters.accounting,
    )
