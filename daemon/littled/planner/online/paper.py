"""Paper mode: Algorithms 1 to 4 of Lyu with their parameters; every constant is the caller's.

With d the Littlestone dimension, T the horizon and C the constants of `PaperConstants`:

    K = C d^3 calls,  k = C d^3.5 ln(T) ln(1/delta) / epsilon teachers,  U = C d^3 ln(d ln T) k,
    R = C ln(T) draws a call, made odd,  B = k / 10,  lists of (2^j d^3, d)-essential hypotheses.

The noise of the paper's tests is stated up to constants that it does not give; here the rates are
the largest whose proven price (Lemma D for both tests, Lemma B for the draws) fits into the shares
of epsilon. The paper's B = k / 10 hides a list only if L exp(e (1 - B)) is below delta; where that
fails, or U lies beyond the horizon, the plan is refused with the numbers; so it is where frames,
lists, snapshots or memory could come to more than any plan may (`littled.planner.sizes`).
"""

import math
from fractions import Fraction

from littled.budget.conversion import rho_of_epsilon
from littled.budget.events import CohenLyuStageTest, CohenLyuTrigger, price
from littled.learners.online.parameters import OnlineParameters
from littled.planner.budgets import DELTA_Z_SHARE, Budget, rate_below
from littled.planner.online.ways import Estimate
from littled.planner.plans import LearnerPlan
from littled.planner.requests import LearnerRequest, PaperConstants, PlanError, StreamRequest
from littled.planner.sizes import misfit
from littled.portable import log
from littled_protocol import limits

# Parts of a learner's delta beside the zCDP conversion's: the two tests and the lists.
TRIGGER_FAILURE_SHARE = STAGE_FAILURE_SHARE = Fraction(1, 50)
LIST_FAILURE_SHARE = Fraction(1, 20)
# A list longer than this is no list any more; it does not fit into memory k times.
LIST_CAP_MAX = 1 << 20
TEACHERS_MAX = 1 << 17


def paper_budget(request: StreamRequest) -> Budget:
    """The budget of the stream's learners in paper mode, which divides it in its own way."""
    return Budget(
        request.epsilon, request.delta, request.horizon, len(request.learners), "zcdp", 0.25
    )


def paper_estimate(request: LearnerRequest, budget: Budget) -> Estimate:
    """The paper's learner; PlanError, with the numbers, where its constants make it infeasible.

    Lemma 6.2: at most (K + 1) 3U/2 mistakes on an oblivious realizable stream, with probability
    1 - 1/T^10 for constants that are large enough; for others nothing is promised.
    """
    d = max(request.hypotheses.littlestone_dimension, 1)
    constants, horizon = request.paper, budget.horizon
    epsilon, delta = budget.epsilon / budget.share, budget.delta / budget.share
    log_horizon = log(max(horizon, 3))
    calls = _at_least_one(constants.calls * d**3)
    draws = _at_least_one(constants.draws * Fraction(log_horizon)) | 1
    teachers = _at_least_one(
        constants.teachers * Fraction(d**3 * math.sqrt(d) * log_horizon * -log(delta)) / epsilon
    )
    spread = max(log(d * log_horizon), 1.0)
    threshold = _at_least_one(constants.threshold * Fraction(d**3 * spread) * teachers)
    list_cap = _list_cap(request, d)
    rate = _draw_rate(budget, constants, calls * draws)
    _check(request, budget, calls, draws, teachers, threshold, list_cap, rate)
    trigger_rate, stage_rate = _test_rates(epsilon, delta, constants, d + 1)
    if min(trigger_rate, stage_rate, rate) <= 0:
        raise PlanError(
            f"learner {request.name}: epsilon {float(epsilon)} leaves nothing for one of the "
            "paper's three mechanisms; raise epsilon or lower the constants"
        )
    parameters = OnlineParameters(
        epsilon=budget.epsilon,
        horizon=horizon,
        noise_rate=request.noise_rate,
        trigger_rate=trigger_rate,
        trigger_threshold=threshold,
        selection="sparse",
        selection_rate=rate,
        selection_accounting="zcdp",
        draws=draws,
        calls_max=calls,
        buffer="mistakes",
        list_cap=list_cap,
        bottom_score=teachers // 10,
        teachers=teachers,
        stage_rate=stage_rate,
        tests="cohen_lyu",
        tests_failure=_failure(delta, d + 1),
    )
    plan = LearnerPlan(request.name, request.hypotheses, parameters, request.words)
    reason = misfit(plan)
    if reason is not None:
        raise PlanError(f"learner {request.name}: {reason}")
    return Estimate("paper", plan, min((calls + 1) * threshold, horizon), None)


def _failure(delta: Fraction, segments: int) -> Fraction:
    """One failure mass for the trigger and each of the stage test's segments."""
    return min(delta * TRIGGER_FAILURE_SHARE, delta * STAGE_FAILURE_SHARE / segments)


def _test_rates(
    epsilon: Fraction, delta: Fraction, constants: PaperConstants, segments: int
) -> tuple[Fraction, Fraction]:
    """Largest rates of trigger and stage test within their shares of epsilon, by bisection."""
    failure = _failure(delta, segments)

    def trigger(rate: Fraction) -> Fraction:
        return price(CohenLyuTrigger(rate=rate, failure=failure)).epsilon_pure

    def stage(rate: Fraction) -> Fraction:
        return price(CohenLyuStageTest(rate=rate, failure=failure)).epsilon_pure * segments

    found = []
    for cost, share in ((trigger, constants.trigger_share), (stage, constants.stage_share)):
        low, high = Fraction(0), rate_below(epsilon)
        while high - low > Fraction(1, 1 << 16):
            middle = rate_below((low + high) / 2)
            if cost(middle) <= epsilon * share:
                low = middle
            else:
                high = middle
        found.append(low)
    return found[0], found[1]


def _draw_rate(budget: Budget, constants: PaperConstants, draws: int) -> Fraction:
    """Largest e of so many draws within what the tests leave of epsilon."""
    left = budget.epsilon * (1 - constants.trigger_share - constants.stage_share)
    if left <= 0:
        return Fraction(0)
    rho = rho_of_epsilon(left, budget.delta * DELTA_Z_SHARE) / budget.share
    return rate_below(math.sqrt(float(2 * rho / draws)) * (1 - 1e-9))


def _list_cap(request: LearnerRequest, d: int) -> int:
    """Corollary 4.1: at most p^d 2^(d^2) essential hypotheses, p = 2^(d + 1) d^3 at the last stage.

    No list is longer than the class.
    """
    bound: int = (2 ** (d + 1) * d**3) ** d * 2 ** (d * d)
    return min(bound, request.hypotheses.rule_count or bound)


def _check(
    request: LearnerRequest,
    budget: Budget,
    calls: int,
    draws: int,
    teachers: int,
    threshold: int,
    list_cap: int,
    rate: Fraction,
) -> None:
    """PlanError with the numbers for constants under which the algorithm cannot run."""
    name = f"learner {request.name}"
    if threshold >= budget.horizon:
        raise PlanError(
            f"{name}: the first retrain would come after U = {_count(threshold)} mistakes, beyond "
            f"the horizon of {budget.horizon:,} (k = {_count(teachers)} teachers); lower "
            "paper.teachers or paper.threshold"
        )
    if teachers > TEACHERS_MAX or list_cap > LIST_CAP_MAX:
        raise PlanError(
            f"{name}: k = {_count(teachers)} teachers with lists of up to L = {_count(list_cap)} "
            f"rules are more than {TEACHERS_MAX:,} and {LIST_CAP_MAX:,}; lower paper.teachers or "
            "take a class of smaller dimension"
        )
    if draws > limits.majority_members_max:
        raise PlanError(
            f"{name}: R = {draws:,} draws are more than the {limits.majority_members_max:,} that a "
            "rule may consist of; lower paper.draws"
        )
    if rate <= 0:
        return
    mass = float(budget.delta * LIST_FAILURE_SHARE / (budget.share * calls * draws))
    needed = 1 + math.ceil(log(list_cap / mass) / float(rate))
    if teachers // 10 < needed:
        factor = math.ceil(10 * needed / teachers * float(request.paper.teachers)) + 1
        raise PlanError(
            f"{name}: B = k / 10 = {teachers // 10:,} does not hide a list of L = {list_cap:,} "
            f"rules at rate {float(rate):.3g}; that takes B >= {needed:,}, so paper.teachers = "
            f"{factor} or more"
        )


def _count(number: int) -> str:
    """A count that people can read, however large."""
    return f"{number:,}" if number < 10**9 else f"about 10^{len(str(number)) - 1}"


def _at_least_one(value: Fraction) -> int:
    return max(1, math.ceil(value))
