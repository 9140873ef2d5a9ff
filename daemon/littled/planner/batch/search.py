"""The search for a window learner's plan: the least window for an error, or the least error.

Prices are exact; how good a rule is comes from `bounds`, where it is proven, and `estimates`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from littled.classes.base import errors_allowed
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch import BatchParameters, Method
from littled.learners.batch.methods import selection_of
from littled.planner.batch import boosting, bounds, estimates
from littled.planner.batch.costs import candidates_max, memory_bytes_max, snapshot_bytes_max
from littled.planner.batch.plan import BatchPlan
from littled.planner.batch.request import BATCH_METHODS, BatchRequest, problem
from littled.planner.budgets import Budget, hiding_score, rate_below
from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX, fits_a_frame
from littled.planner.online.sizes import CANDIDATES_MAX
from littled.planner.planning import Cost, Planning
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import budgets_of, check_requests
from littled.portable import exp, log

# Chunks of one window, each with a list of its own that is made one after the other.
CHUNKS_MAX = 2048
# Numbers of chunks that are tried grow by this factor.
CHUNKS_RATIO = 1.12
# Lists of essential rules of a class that does not say how long they are.
LIST_CAP = 64
# Of a learner's part of delta, so much is left for finite precision.
PRECISION_SHARE = Fraction(1, 128)
# Of a learner's part of epsilon, so much is for stage tests where there are any.
STAGE_SHARE = Fraction(1, 4)
# The errors that lists of teachers allow are multiples of a millionth.
TOLERANCES = 1_000_000
# The least error is found up to this factor.
ERROR_RATIO = 1.01
# Classes that nobody named are not chosen with a larger error, or with fewer windows in a season.
WORTHWHILE_ERROR = 1 / 20
WORTHWHILE_WINDOWS = 10


@dataclass(frozen=True, slots=True)
class Chances:
    """That a window's rule is worse than alpha: what is proven (None: nothing) and expected."""

    proven: float | None
    expected: float


@dataclass(frozen=True, slots=True)
class BatchEstimate:
    """One method's plan, and what is known of its rules.

    `proven` and `expected`: the least alpha (where the window is given) or the least window (where
    alpha is) for the failure that is asked for, None where there is none.
    """

    plan: BatchPlan
    proven: float | None
    expected: float | None

    @property
    def method(self) -> Method:
        """How rules are drawn."""
        return self.plan.parameters.method

    @property
    def preference(self) -> tuple[bool, float]:
        """What is proven comes first; the less the better."""
        if self.proven is not None:
            return False, self.proven
        return True, math.inf if self.expected is None else self.expected


class BatchPlanning(Planning[BatchRequest, BatchEstimate, BatchPlan]):
    """How window learners are planned, and what they take."""

    has_trigger: ClassVar[bool] = False
    takes_less: ClassVar[str] = " or a smaller window"

    def check(self, request: BatchRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        wrong = problem(request, stream.horizon)
        if wrong is not None:
            raise PlanError(f"learner {request.name}: {wrong}")

    def best(self, request: BatchRequest, budget: Budget) -> BatchEstimate | None:
        """The best plan of all methods that the request leaves open."""
        return best_batch(request, budget)

    def cost(self, request: BatchRequest, estimate: BatchEstimate) -> Cost:
        """The window or the error, as it was not asked for; what is proven before the rest."""
        unproven, value = estimate.preference
        least = value if math.isfinite(value) else 1.0
        return Cost(logarithm=log(max(least, 1e-300)) + (1000.0 if unproven else 0.0))

    def is_worthwhile(
        self, request: BatchRequest, estimate: BatchEstimate, stream: StreamRequest
    ) -> bool:
        """Whether rules err by at most 1/20, or a season has ten windows and more.

        A scorecard is where it has a plan at all, except of one column, of which rules say more.
        """
        rules = request.hypotheses.additive
        if rules is not None:
            return len(rules.sizes) > 1
        _, least = estimate.preference
        if request.alpha is None:
            return least <= WORTHWHILE_ERROR
        return least * WORTHWHILE_WINDOWS <= stream.horizon

    def why_not(
        self, request: BatchRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why no method applies, or no window of a season is enough."""
        if any(best_batch(request, budget) for budget in budgets):
            return None
        reasons = [why_not(request, method) for method in open_methods(request)]
        if all(reasons):
            return f"{request.method} does not apply: {reasons[0]}"
        if request.hypotheses.additive is not None:
            return _too_small(request, stream, budgets)
        if request.alpha is not None:
            return (
                f"no window of a season of {stream.horizon:,} examples is enough for an error of "
                f"{float(request.alpha):g} in {100 * float(1 - request.beta):g} % of the "
                "windows; allow a greater error, or raise epsilon or the horizon"
            )
        return f"a window of {request.window or 0:,} examples is too large, or the budget too small"

    def snapshot_bytes_max(self, plan: BatchPlan) -> int:
        """Most bytes of the learner's state in a snapshot."""
        return snapshot_bytes_max(plan)

    def memory_bytes_max(self, plan: BatchPlan) -> int:
        """Memory of a window and of the draw from it."""
        return memory_bytes_max(plan)


def _too_small(request: BatchRequest, stream: StreamRequest, budgets: tuple[Budget, ...]) -> str:
    """What window a scorecard needs, or what to take in its place."""

    def good(n: int) -> bool:
        asked = replace(request, window=n)
        return any(best_batch(asked, budget) for budget in budgets)

    n = needed(request.window)
    for budget in budgets:
        p = drafted(request, budget, "boosted", n, 0.0, 0)
        if p is not None and (found := misfit(_plan_of(request, p))) is not None:
            return found
    least = boosting.least_window(good, n, stream.horizon)
    if least is None:
        return (
            f"no window of {n:,} examples or more in a season of {stream.horizon:,} is for a "
            'scorecard at this budget; take class = "stumps", or raise epsilon or the horizon'
        )
    return (
        f"in a window of {n:,} examples a scorecard would err more than one stump at this budget; "
        f'take class = "stumps", or a window of {least:,} or more'
    )


def why_not(request: BatchRequest, method: Method) -> str | None:
    """Why this method does not apply to this class, whatever the budget; None if it does."""
    hypotheses, noisy = request.hypotheses, bool(request.noise_rate)
    closed, few = hypotheses.intersection_closed is not None, hypotheses.dense is not None
    reasons: dict[Method, tuple[tuple[bool, str], ...]] = {
        "dense": ((not few, "the class has too many rules to weigh each of them"),),
        "histogram": ((hypotheses.id_sets is None, "the rules are no sets of ids"),),
        "proposals": (
            (hypotheses.proposing is None, "an example does not propose a short list of rules"),
        ),
        "closure": (
            (not closed, "the class is not closed under intersection"),
            (noisy, "one wrong label spoils a closure: it needs noise_rate 0"),
        ),
        "teachers": (
            (hypotheses.version_spaces is None, "the class has no lists of essential rules"),
            (
                closed and not few,
                "chunks propose closures of this class, lists of one rule",
            ),
            (noisy, "one wrong label spoils a list of essential rules: it needs noise_rate 0"),
        ),
        "boosted": ((hypotheses.additive is None, "the rules do not add up points"),),
    }
    return next((reason for holds, reason in reasons[method] if holds), None)


def best_batch(request: BatchRequest, budget: Budget) -> BatchEstimate | None:
    """The best plan under one way to divide the budget; None if no method can do what is asked."""
    found = [
        option for method in open_methods(request) if (option := estimate(request, budget, method))
    ]
    return min(found, key=lambda option: option.preference, default=None)


def open_methods(request: BatchRequest) -> tuple[Method, ...]:
    """The methods that the request leaves open."""
    return BATCH_METHODS if request.method == "auto" else (request.method,)


@lru_cache(maxsize=256)
def estimate(request: BatchRequest, budget: Budget, method: Method) -> BatchEstimate | None:
    """The plan of one method; None where it does not apply or no window fits into a season."""
    if why_not(request, method) is not None:
        return None
    if method == "boosted":
        return _boosted(request, budget)
    if request.window is not None:
        return _least_error(request, budget, method, request.window)
    return _least_window(request, budget, method)


def _boosted(request: BatchRequest, budget: Budget) -> BatchEstimate | None:
    """Of a scorecard, whose window is given; None where one stump is expected to err less."""
    n, rules = needed(request.window), needed(request.hypotheses.additive)
    parameters = drafted(request, budget, "boosted", n, 0.0, 0)
    if parameters is None:
        return None
    expected = boosting.expected(rules, parameters)
    if expected > boosting.stump_expected(rules, n, budget):
        return None
    return _estimated(request, parameters, None, expected)


def _least_error(
    request: BatchRequest, budget: Budget, method: Method, n: int
) -> BatchEstimate | None:
    """The least errors for a window; lists of teachers allow for what is expected."""

    def least(chance: Callable[[Chances], float | None]) -> float | None:
        return _least_alpha(lambda alpha: _good(request, budget, method, n, alpha, chance))

    expected, proven = least(lambda found: found.expected), least(lambda found: found.proven)
    found = _best(request, budget, method, n, expected if expected is not None else 0.5)
    return None if found is None else _estimated(request, found[0], proven, expected)


def _least_window(request: BatchRequest, budget: Budget, method: Method) -> BatchEstimate | None:
    """The least windows for an error; the plan's is the proven one, if there is one."""
    alpha = float(request.alpha or 0)

    def least(chance: Callable[[Chances], float | None]) -> int | None:
        return _least_count(
            lambda n: _good(request, budget, method, n, alpha, chance), budget.horizon
        )

    expected, proven = least(lambda found: found.expected), least(lambda found: found.proven)
    n = proven if proven is not None else expected
    if n is None:
        return None
    found = _best(request, budget, method, n, alpha)
    return None if found is None else _estimated(request, found[0], proven, expected)


def _estimated(
    request: BatchRequest, parameters: BatchParameters, proven: float | None, expected: float | None
) -> BatchEstimate | None:
    """The estimate of a plan; None where it exceeds a limit."""
    plan = _plan_of(request, parameters)
    return None if misfit(plan) is not None else BatchEstimate(plan, proven, expected)


def _plan_of(request: BatchRequest, parameters: BatchParameters) -> BatchPlan:
    return BatchPlan(request.name, request.hypotheses, parameters, request.words)


def misfit(plan: BatchPlan) -> str | None:
    """Why the plan exceeds one of the limits for one learner, and what to change; or None."""
    for what, most, found in (
        ("candidates", CANDIDATES_MAX, candidates_max(plan)),
        ("bytes of memory", MEMORY_BYTES_MAX, memory_bytes_max(plan)),
        ("bytes in a snapshot", SNAPSHOT_BYTES_MAX, snapshot_bytes_max(plan)),
    ):
        if found > most:
            return f"a window can come to {found:,} {what}, more than {most:,}; make it smaller"
    if not fits_a_frame(plan.hypotheses, 1):
        return f"a rule of {plan.hypotheses.name} does not fit into a frame"
    return None


def _good(
    request: BatchRequest,
    budget: Budget,
    method: Method,
    n: int,
    alpha: float,
    chance: Callable[[Chances], float | None],
) -> bool:
    found = _best(request, budget, method, n, alpha)
    value = None if found is None else chance(found[1])
    return value is not None and value <= float(request.beta)


def _least_count(good: Callable[[int], bool], most: int) -> int | None:
    """The least number up to `most` that is good, if all greater ones are."""
    high = 1
    while not good(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _least_alpha(good: Callable[[float], bool]) -> float | None:
    """The least error below 1/2 that is good, up to `ERROR_RATIO`."""
    low, high = 1e-7, 0.5
    if not good(high):
        return None
    while high > low * ERROR_RATIO:
        middle = exp((log(low) + log(high)) / 2)
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def _best(
    request: BatchRequest, budget: Budget, method: Method, n: int, alpha: float
) -> tuple[BatchParameters, Chances] | None:
    """The best number of chunks for a window of n, with its chances; None without any."""
    best: tuple[BatchParameters, Chances] | None = None
    for chunks in _chunk_numbers(method, n):
        parameters = drafted(request, budget, method, n, alpha, chunks)
        if parameters is not None:
            chances = chances_of(request, parameters, alpha)
            if best is None or chances.expected < best[1].expected:
                best = parameters, chances
    return best


def _chunk_numbers(method: Method, n: int) -> Iterator[int]:
    if method not in ("closure", "teachers"):
        yield 0
        return
    chunks = 1
    while chunks <= min(n, CHUNKS_MAX):
        yield chunks
        chunks = max(chunks + 1, int(chunks * CHUNKS_RATIO))


def drafted(
    request: BatchRequest, budget: Budget, method: Method, n: int, alpha: float, chunks: int
) -> BatchParameters | None:
    """Parameters whose price is within a learner's part of the budget; None if there are none."""
    tolerance = Fraction(0)
    if method == "teachers":
        tolerance = Fraction(int(alpha * TOLERANCES), TOLERANCES)
    prices = _Prices(budget, max(1, min(budget.horizon // n, budget.unit.examples)))
    base = BatchParameters(
        method="dense",
        epsilon=budget.epsilon,
        horizon=budget.horizon,
        window=n,
        rate=prices.of_draw,
        accounting=budget.accounting,
        noise_rate=request.noise_rate,
        user_examples_max=budget.user_examples_max,
    )
    found = _with_method(request.hypotheses, base, prices, method, chunks, tolerance)
    if found is None or not found.rate:
        return None
    try:
        selection_of(request.hypotheses, found)
    except ValueError:
        return None
    return found


def _with_method(
    hypotheses: HypothesisClass,
    base: BatchParameters,
    prices: "_Prices",
    method: Method,
    chunks: int,
    tolerance: Fraction,
) -> BatchParameters | None:
    """The parameters of one method."""
    if method == "dense":
        return base
    if method == "boosted":
        return boosting.with_rounds(needed(hypotheses.additive), base, prices.of_draws)
    if method == "histogram":
        rate = prices.of_histogram(2 if base.vetoes else 1)
        return replace(
            base, method=method, rate=rate, bottom_score=prices.threshold(rate)
        ) if rate else None  # fmt: skip
    if method == "proposals":
        cap = needed(hypotheses.proposing).proposals_per_example
        bottom = prices.bottom(base.rate, cap, prices.budget.unit.examples, 1)
        return replace(base, method=method, list_cap=cap, bottom_score=bottom)
    stages = method == "teachers" and _stages_differ(hypotheses, base, chunks, tolerance)
    stage_rate, rate = prices.of_lists(stages)
    if not rate or (stages and not stage_rate):
        return None
    cap = 1 if method == "closure" else _list_cap(hypotheses, stages=stages)
    bottom = prices.bottom(rate, cap, 1, prices.windows)
    return replace(
        base, method=method, rate=rate, chunks=chunks, list_cap=cap, bottom_score=bottom,
        tolerance=tolerance if stages else Fraction(0),
        stage_rate=stage_rate if stages else None, noise_rate=Fraction(0),
    )  # fmt: skip


def _stages_differ(
    hypotheses: HypothesisClass, base: BatchParameters, chunks: int, tolerance: Fraction
) -> bool:
    """Whether lists allow other errors at the last stage than at the first; else they allow none.

    Where users are protected a chunk can have any number of examples.
    """
    dimension = max(hypotheses.littlestone_dimension, 1)
    share = 1 - Fraction(1, 2 * dimension)
    first = last = tolerance * share
    for _ in range(dimension):
        last *= share
    if base.user_examples_max is not None:
        return errors_allowed(first, base.window) > 0
    sizes = {base.window // chunks, -(-base.window // chunks)}
    return any(errors_allowed(first, size) != errors_allowed(last, size) for size in sizes)


def _list_cap(hypotheses: HypothesisClass, *, stages: bool) -> int:
    """The longest list of essential rules that a chunk can have, as far as the class says."""
    if hypotheses.dense is not None:
        return hypotheses.dense.rule_count
    if hypotheses.proposing is not None and not stages:
        return hypotheses.proposing.proposals_per_example
    return 1 if hypotheses.id_sets is not None and not stages else LIST_CAP


@dataclass(frozen=True, slots=True)
class _Prices:
    """The largest rates that a learner's part of the budget pays for, and what hides lists.

    A window learner has no trigger; `windows` of a season have examples of one user.
    """

    budget: Budget
    windows: int

    @property
    def _untriggered(self) -> Budget:
        """Where prices are pure, triggers of other learners are paid from their own parts."""
        if self.budget.accounting == "pure":
            return replace(self.budget, trigger_share=0.0)
        return self.budget

    @property
    def of_draw(self) -> Fraction:
        """e of one draw whose scores are counts of examples."""
        return self._untriggered.selection_rate(1)

    def of_draws(self, draws: int) -> Fraction:
        """The same of so many draws from one window."""
        return self._untriggered.selection_rate(draws)

    def of_histogram(self, change: int) -> Fraction:
        """e of a histogram whose scores change so much."""
        return self._untriggered.histogram_rate(change)

    def of_lists(self, stages: bool) -> tuple[Fraction, Fraction]:
        """Rates of the stage tests, if there are any, and of the draw; 0 for none."""
        whole = self.budget.learning / self.budget.share
        if not stages:
            return Fraction(0), self._untriggered.list_rate(1, self.windows)
        if self.budget.accounting != "pure":  # what tests cost is pure, and so has to be the draw
            return Fraction(0), Fraction(0)
        tests = rate_below(whole * STAGE_SHARE / self.windows)
        return tests, rate_below((whole / self.windows - tests) / 2)

    def bottom(self, rate: Fraction, cap: int, most: int, draws: int) -> int:
        """Least B that hides the lists of so many draws, `most` of them one user's in each."""
        if not rate:
            return 0
        return max(1, hiding_score(log(cap * draws) - log(float(self._failure)), rate, most))

    def threshold(self, rate: Fraction) -> int:
        """Least B of a histogram."""
        logarithm = -log(float(self._failure) * (1 + exp(-rate)))
        most = self.budget.unit.examples
        return max(most + 1, hiding_score(logarithm, rate, most))

    @property
    def _failure(self) -> Fraction:
        """A learner's part of delta, less what is for finite precision."""
        budget = self.budget
        kept = Fraction(1, 4) if budget.accounting == "zcdp" else Fraction(1)
        return budget.delta * kept / budget.share * (1 - PRECISION_SHARE)


def chances_of(request: BatchRequest, p: BatchParameters, alpha: float) -> Chances:
    """How likely a window's rule is worse than alpha, by method."""
    hypotheses, n, noise = request.hypotheses, p.window, request.noise_rate
    positives = float(request.positives)
    if p.method == "dense":
        rules = needed(hypotheses.dense).rule_count
        proven = bounds.dense_failure(rules, n, alpha, p.rate, noise)
        dimension = hypotheses.vc_dimension
        expected = estimates.dense_expected(dimension, n, alpha, p.rate, noise)
        return Chances(proven, min(proven, expected))
    if p.method == "histogram":
        members = hypotheses.littlestone_dimension
        found = bounds.histogram_failure(members, n, alpha, p.rate, p.bottom_score, noise)
        return Chances(found, found)
    if p.method == "proposals":
        proven = bounds.proposals_failure(p.list_cap, n, alpha, p.rate, p.bottom_score, noise)
        expected = estimates.proposals_expected(
            p.list_cap, n, alpha, p.rate, p.bottom_score, noise, positives
        )
        return Chances(proven, min(proven, expected))
    size = n // p.chunks
    if p.method == "closure":
        named = estimates.closure_named(hypotheses, size, positives)
        return Chances(None, estimates.chunks_expected(p.chunks, named, p.rate, p.bottom_score))
    return _of_teachers(hypotheses, p, size, alpha, positives)


def _of_teachers(
    hypotheses: HypothesisClass, p: BatchParameters, size: int, alpha: float, positives: float
) -> Chances:
    listed = estimates.listed_chance(hypotheses, size, positives)
    dimension = hypotheses.vc_dimension
    expected = estimates.lists_expected(dimension, p.chunks, size, alpha, p.rate)
    few = hypotheses.dense
    expected += estimates.chunks_expected(
        p.chunks, listed, p.rate, p.bottom_score, others_say_nothing=few is None
    )
    proven = None
    if few is not None and p.stage_rate is None:
        proven = bounds.lists_failure(few.rule_count, p.chunks, size, alpha, p.rate, p.bottom_score)
    return Chances(proven, min(1.0, expected))


# -- what else could have been done --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BatchComparison:
    """What one method comes to, or why it cannot: `estimate` is None then."""

    method: Method
    chosen: bool
    estimate: BatchEstimate | None
    remark: str = ""


def compare_batch(stream: StreamRequest) -> tuple[BatchComparison, ...]:
    """Every method for the only learner of a stream, the chosen one first."""
    (request,) = stream.learners
    assert isinstance(request, BatchRequest)
    check_requests(stream)
    budgets = tuple(budgets_of(stream))
    found: dict[Method, BatchEstimate] = {}
    for method in BATCH_METHODS:
        options = [option for budget in budgets if (option := estimate(request, budget, method))]
        if options:
            found[method] = min(options, key=lambda option: option.preference)
    feasible = [method for method in open_methods(request) if method in found]
    chosen = min(feasible, key=lambda method: found[method].preference, default=None)
    ordered = sorted(BATCH_METHODS, key=lambda method: method != chosen)
    return tuple(
        BatchComparison(
            method,
            method == chosen,
            found.get(method),
            _remark(request, method, found.get(method), chosen=method == chosen),
        )
        for method in ordered
    )


def _remark(
    request: BatchRequest, method: Method, found: BatchEstimate | None, *, chosen: bool
) -> str:
    if chosen and request.method != "auto":
        return "chosen: asked for"
    if chosen:
        wanted = "window" if request.window is None else "error"
        known = "proven" if found is not None and found.proven is not None else "estimated"
        return f"chosen: least {known} {wanted}"
    if found is None:
        return why_not(request, method) or "a season is too short for a window that is enough"
    return ""
