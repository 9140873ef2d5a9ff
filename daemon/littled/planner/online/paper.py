"""Paper mode: Algorithms 1 to 4 of Lyu with their parameters; every constant is the caller's.

With d the Littlestone dimension, T the horizon and C the constants of `PaperConstants`:

    K = C d^3 calls,  k = C d^3.5 ln(T) ln(1/delta) / epsilon teachers,  U = C d^3 ln(d ln T) k,
    R = C ln(T) draws a call, made odd,  B = k / 10,  lists of (2^j d^3, d)-essential hypotheses.

Lemma 6.2 is about oblivious adversaries, and independent examples are a case of these. Against an
adaptive one R is also what the remark after the lemma asks for: so many draws that their majority
is close to the vote of the whole law at every point at once, by the dual VC dimension or by a union
over the points (`littled.planner.bounds.draws_for_majority`).

A class says from which p on what it lists are the (p, d)-essential hypotheses whatever the data are
(`HypothesisClass.essential_p_min`). Where 2 d^3, the p of the first stage, is smaller, the plan is
refused: the learner would run with other lists than the paper's.

The noise of the paper's tests is stated up to constants that it does not give; here the rates are
the largest whose proven price (Lemma D for both tests, Lemma B for the draws) fits into the shares
of epsilon. The paper's B = k / 10 hides a list only if L exp(e (1 - B)) is below delta; where that
fails, or U lies beyond the horizon, the plan is refused with the numbers; so it is where frames,
lists, snapshots or memory could come to more than any plan may (`littled.planner.sizes`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from littled.budget.conversion import rho_of_epsilon
from littled.budget.events import CohenLyuStageTest, CohenLyuTrigger
from littled.budget.prices import price
from littled.classes.capabilities import needed
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.teachers import Teachers
from littled.planner.bounds import draws_for_majority
from littled.planner.budgets import DELTA_Z_SHARE, Budget, rate_below
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import PAPER_LIMITS, OnlineRequest, PaperConstants
from littled.planner.online.sizes import misfit
from littled.planner.online.ways.base import Estimate, Small, Way
from littled.planner.online.ways.draft import log_points
from littled.planner.requests import PlanError, StreamRequest
from littled.portable import log
from littled_protocol import limits

# Parts of a learner's delta beside the zCDP conversion's: the two tests and the lists.
TRIGGER_FAILURE_SHARE = STAGE_FAILURE_SHARE = Fraction(1, 50)
LIST_FAILURE_SHARE = Fraction(1, 20)
# A list longer than this is no list any more; it does not fit into memory k times.
LIST_CAP_MAX = 1 << 20
TEACHERS_MAX = 1 << 17
# The majority of a call's draws may be wrong where less than half of the law's mass is wrong, by so
# much; a published rule that errs then errs with a constant share of the law, as Claim 6.4 needs.
MAJORITY_DEVIATION = 0.25
# Claims 6.1 and 6.2 hold except with probability T to the power of minus this.
FAILURE_EXPONENT = 10

# Constants with which Algorithms 1 to 4 have a plan for as short a season as audits have.
SMALL = PaperConstants(teachers=Fraction(32), threshold=Fraction(1, 1000), draws=Fraction(1, 10))


class PaperWay(Way):
    """The paper's algorithms with their tests; for the laboratory."""

    name = "paper"
    words = "Algorithms 1 to 4 with the paper's parameters"
    small: ClassVar[Mapping[str, Small]] = {
        "paper": ("points:8", {"selection": "paper", "paper": SMALL}),
    }
    alone = True

    def is_of(self, selection: Selection) -> bool:
        """Where teachers list, and the paper's tests are made."""
        return isinstance(selection, Teachers) and selection.parameters.tests == "cohen_lyu"

    def is_open(self, request: OnlineRequest) -> bool:
        """Only if it is asked for."""
        return request.asks_for(self.name)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No number of teachers of one's own."""
        if request.teachers is None:
            return None
        return (
            "in paper mode the number of teachers follows from the constants; set paper.teachers "
            "instead of teachers"
        )

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Users."""
        if users:
            yield PAPER_LIMITS

    def budgets(self, request: StreamRequest, budgets: Sequence[Budget]) -> Sequence[Budget]:
        """One: constants divide it."""
        return (replace(paper_budget(request), measuring=budgets[0].measuring),)

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """The one plan that there is."""
        return [paper_estimate(request, budget)]


def paper_budget(request: StreamRequest) -> Budget:
    """The budget of the stream's learners in paper mode, which divides it in its own way."""
    return Budget(
        request.epsilon, request.delta, request.horizon, len(request.learners), "zcdp", 0.25
    )


def paper_estimate(request: OnlineRequest, budget: Budget) -> Estimate:
    """The paper's learner; PlanError, with the numbers, where its constants make it infeasible.

    Lemma 6.2: at most (K + 1) 3U/2 mistakes on an oblivious realizable stream, with probability
    1 - 1/T^10 for constants that are large enough; for others nothing is promised.
    """
    d = max(request.hypotheses.littlestone_dimension, 1)
    constants, horizon = request.paper, budget.horizon
    epsilon, delta = budget.learning / budget.share, budget.delta / budget.share
    log_horizon = log(max(horizon, 3))
    calls = _at_least_one(constants.calls * d**3)
    draws = _draws(request, calls, log_horizon)
    teachers = _at_least_one(
        constants.teachers * Fraction(d**3 * math.sqrt(d) * log_horizon * -log(delta)) / epsilon
    )
    spread = Fraction(d**3 * _spread(d, log_horizon))
    threshold = _at_least_one(constants.threshold * spread * teachers)
    list_cap = _list_cap(request, d)
    rate = _draw_rate(budget, constants, calls * draws)
    _check_lists(request, d)
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
    plan = OnlinePlan(request.name, request.hypotheses, parameters, request.words)
    reason = misfit(plan)
    if reason is not None:
        raise PlanError(f"learner {request.name}: {reason}")
    return Estimate("paper", plan, min((calls + 1) * threshold, horizon), None)


def threshold_needed(dimension: int, horizon: int) -> int:
    """The least constant C of U for which Chernoff's bound gives Claim 6.2 its chance, T^-10.

    For one hypothesis that errs on a tenth of a teacher's n = U / k = C d^3 ln(d ln T) examples the
    bound is exp(-(1 / (5d))^2 (n / 10) / 3), so n is at least 7,500 d^2 ln T. The claim is about
    all hypotheses and pairs of teachers at once, which takes more still: below this number Lemma
    6.2 promises nothing about mistakes. Utility only.
    """
    d, log_horizon = max(dimension, 1), log(max(horizon, 3))
    examples = 3 * 10 * (5 * d) ** 2 * FAILURE_EXPONENT * log_horizon
    return math.ceil(examples / (d**3 * _spread(d, log_horizon)))


def _spread(d: int, log_horizon: float) -> float:
    """ln(d ln T), and 1 where that is less."""
    return max(log(d * log_horizon), 1.0)


def _draws(request: OnlineRequest, calls: int, log_horizon: float) -> int:
    """R, odd: C ln T, and against an adaptive adversary enough for every point at once."""
    draws = _at_least_one(request.paper.draws * Fraction(log_horizon)) | 1
    if request.adversary != "adaptive":
        return draws
    hypotheses = request.hypotheses
    failure = float(request.failure_probability) / 3 / calls
    everywhere = draws_for_majority(
        log_points(hypotheses.point_type), hypotheses.dual_vc_dimension, MAJORITY_DEVIATION, failure
    )
    return max(draws, everywhere)


def _check_lists(request: OnlineRequest, d: int) -> None:
    """PlanError where the class lists other rules than the (2 d^3, d)-essential ones."""
    least, p = needed(request.hypotheses.version_spaces).essential_p_min(d), 2 * d**3
    if least is not None and p < least:
        raise PlanError(
            f"learner {request.name}: the lists of {request.hypotheses.name} are its (p, d)-"
            f"essential rules for p >= {least:,} only, and the paper has p = 2 d^3 = {p:,} at its "
            "first stage; take sparse selection with a number of teachers, for example teachers = "
            "200"
        )


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
    left = budget.learning * (1 - constants.trigger_share - constants.stage_share)
    if left <= 0:
        return Fraction(0)
    rho = rho_of_epsilon(left, budget.delta * DELTA_Z_SHARE) / budget.share
    return rate_below(math.sqrt(float(2 * rho / draws)) * (1 - 1e-9))


def _list_cap(request: OnlineRequest, d: int) -> int:
    """Corollary 4.1: at most p^d 2^(d^2) essential hypotheses, p = 2^(d + 1) d^3 at the last stage.

    No list is longer than the class.
    """
    bound: int = (2 ** (d + 1) * d**3) ** d * 2 ** (d * d)
    few = request.hypotheses.dense
    return bound if few is None else min(bound, few.rule_count)


def _check(
    request: OnlineRequest,
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
            f"rule may consist of; {_fewer_draws(request)}"
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


def _fewer_draws(request: OnlineRequest) -> str:
    """What makes R smaller."""
    if request.adversary == "adaptive":
        return 'lower paper.draws, or set adversary = "oblivious" if nobody sees the rule first'
    return "lower paper.draws"


def _count(number: int) -> str:
    """A count that people can read, however large."""
    return f"{number:,}" if number < 10**9 else f"about 10^{len(str(number)) - 1}"


def _at_least_one(value: Fraction) -> int:
    return max(1, math.ceil(value))
