"""What else could have been done: every way of selection beside the one that was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from littled.planner.budgets import Budget
from littled.planner.online.choosing import found_plans
from littled.planner.online.costs import retrain_memory_bytes, retrain_seconds
from littled.planner.online.experts import (
    EXPERTS_LIMITS,
    EXPERTS_REMARK,
    EXPERTS_UNIT,
    experts_mistakes,
)
from littled.planner.online.request import OnlineRequest
from littled.planner.online.sizes import misfit
from littled.planner.online.ways.base import Estimate, Way, preference
from littled.planner.online.ways.register import WAYS
from littled.planner.requests import PlanError, StreamRequest

# Why a plan was chosen, where the planner did: `littled.planner.online.ways.base.preference`.
FEWEST = "chosen: fewest expected mistakes"
PROVEN = "chosen: proven, and hardly more expected mistakes than the fewest"
LASTING = "chosen: fewest expected mistakes of those whose users last"
TOGETHER = "chosen: goes best with the other learners"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one way of selection would do in a season, or why it cannot.

    Mistakes are utility only: `expected` on a stream that is bad for this way, `guaranteed` but
    for the failure probability; None where nothing is known. `retrain_seconds` and `memory_bytes`
    are models of one joint training on one core of a usual machine. `mistakes_if_chosen`: expected
    where somebody who sees each published rule chooses the examples; the horizon where they may
    never end. `mistakes_a_change`: further ones each time the rule that fits changes, as
    `Way.mistakes_a_change` says.
    """

    way: str
    chosen: bool
    expected_mistakes: float | None = None
    guaranteed_mistakes: float | None = None
    mistakes_if_chosen: float | None = None
    mistakes_a_change: float | None = None
    calls_max: int | None = None
    retrain_seconds: float | None = None
    memory_bytes: int | None = None
    remark: str = ""


def compared(
    request: StreamRequest, learner: OnlineRequest, best: Estimate, budgets: Sequence[Budget]
) -> tuple[Comparison, ...]:
    """Every way for this learner, the chosen way first; `budgets`: all that the search tries.

    The last row is the baseline "experts" of Asi, Feldman, Koren and Talwar (2023).
    """
    asked = not learner.leaves_open or learner.teachers is not None
    remark = "chosen: asked for" if asked else FEWEST
    if WAYS[best.way].is_usual(learner):
        remark = "chosen: noise_rate is not given"
    others = [
        _other(request, learner, way, budgets) for way in WAYS.values() if way.name != best.way
    ]
    if remark == FEWEST and any(_fewer(row, best, learner) for row in others):
        remark = _other_reason(request, best)
    return (_row(best, chosen=True, remark=remark), *others, _experts_row(request, learner))


def _fewer(row: Comparison, best: Estimate, learner: OnlineRequest) -> bool:
    """Whether a way that could have been chosen is expected to make fewer mistakes."""
    expected = row.expected_mistakes
    is_open = WAYS[row.way].is_open(learner)
    return is_open and expected is not None and expected < best.expected_mistakes


def _other_reason(request: StreamRequest, best: Estimate) -> str:
    """Why a plan is preferred to one that is expected to make fewer mistakes."""
    if best.guaranteed_mistakes is not None:
        return PROVEN
    return LASTING if request.unit.is_user else TOGETHER


def _row(estimate: Estimate, *, chosen: bool, remark: str = "") -> Comparison:
    parameters = estimate.plan.parameters
    users = parameters.user_examples_max is not None
    return Comparison(
        way=estimate.way,
        chosen=chosen,
        expected_mistakes=estimate.expected_mistakes,
        guaranteed_mistakes=estimate.guaranteed_mistakes,
        mistakes_if_chosen=estimate.mistakes_if_chosen,
        mistakes_a_change=None if users else WAYS[estimate.way].mistakes_a_change(estimate),
        calls_max=parameters.calls_max,
        retrain_seconds=retrain_seconds(estimate.plan),
        memory_bytes=retrain_memory_bytes(estimate.plan),
        remark=remark,
    )


def _other(
    request: StreamRequest, learner: OnlineRequest, way: Way, budgets: Sequence[Budget]
) -> Comparison:
    """The row of a way that was not chosen."""
    asked = way.supposed(learner)
    reason = way.why_not(asked, users=request.unit.is_user)
    if reason is not None:
        return Comparison(way.name, False, remark=reason)
    if way.alone and len(request.learners) > 1:
        return Comparison(way.name, False, remark="needs a stream for this learner alone")
    try:
        found = found_plans(asked, (way,), way.budgets(request, budgets))
    except PlanError as error:
        return Comparison(way.name, False, remark=str(error).partition(": ")[2])
    found = sorted(found, key=preference)
    if not found:
        return Comparison(way.name, False, remark="the budget does not pay for enough calls")
    fitting = next((plan for plan in found if misfit(plan.plan) is None), None)
    if fitting is None:
        return Comparison(way.name, False, remark=misfit(found[0].plan) or "")
    remark = "users may run out" if fitting.shortage > 1 else ""
    if any(each.is_usual(learner) for each in WAYS.values()):
        remark = "if a rule fits the stream: noise_rate = 0"
    remark = remark or way.other_remark(learner)
    return _row(fitting, chosen=False, remark=remark)


def _experts_row(request: StreamRequest, learner: OnlineRequest) -> Comparison:
    if request.unit.is_user:
        return Comparison("experts", False, remark=EXPERTS_UNIT)
    shared = len(request.learners)
    alone = replace(request, epsilon=request.epsilon / shared, delta=request.delta / shared)
    found = experts_mistakes(alone, learner)
    if found is None:
        return Comparison("experts", False, remark=EXPERTS_LIMITS)
    return Comparison(
        way="experts",
        chosen=False,
        expected_mistakes=found.expected_mistakes,
        calls_max=found.calls_max,
        remark=EXPERTS_REMARK,
    )
