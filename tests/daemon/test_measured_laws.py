"""What it costs to say how good rules are: every adaptive adversary, every outcome of the noise.

The real engine is run, as in `tests/daemon/test_stream_laws.py`: the adversary sees rules, figures
and the ledger, and chooses examples by them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from littled.classes.names import class_from_name
from littled.learners.batch import BatchParameters
from littled.learners.contract import Examples, Step
from littled.learners.measured import Counting, MeasuredLearner, QualitySettings
from littled.learners.online.parameters import OnlineParameters
from littled.planner.batch.plan import BatchPlan
from littled.planner.online.plan import OnlinePlan
from littled_protocol.rules import Words
from support.enumeration import Case, anything, of_user, online_plan, stream_of

pytestmark = pytest.mark.long

F = Fraction
ONE_POINT, THRESHOLDS = class_from_name("thresholds:1"), class_from_name("thresholds:2")
# Draws with rates so small that what a season costs is mostly what its figures cost.
SCHEDULED = OnlineParameters(
    epsilon=F(8), horizon=4, noise_rate=F(0), trigger_rate=F(0), trigger_threshold=0,
    selection="dense", selection_rate=F(1, 8), selection_accounting="pure", draws=1, calls_max=2,
    buffer="examples", fresh=True, schedule_first=1,
)  # fmt: skip
WINDOWS = BatchParameters("dense", epsilon=F(8), horizon=2, window=1, rate=F(1, 8))
TRIGGERED = replace(
    SCHEDULED, schedule_first=None, fresh=False, trigger_rate=F(4), trigger_threshold=1, calls_max=1
)
SHORT = replace(SCHEDULED, horizon=2, calls_max=1)
USERS = replace(SCHEDULED, user_examples_max=1, calls_max=1, schedule_first=3)
ANY, ANY_ONE = anything(range(2)), anything(range(1))
TWICE, ONCE = QualitySettings(F(1), 1, 2), QualitySettings(F(1), 3, 1)


def measured(parameters: OnlineParameters, quality: QualitySettings, one: bool = False) -> Any:
    hypotheses = ONE_POINT if one else THRESHOLDS
    return replace(online_plan("late", hypotheses, parameters), quality=quality)


def windows(quality: QualitySettings) -> BatchPlan:
    return BatchPlan("late", ONE_POINT, WINDOWS, Words(), quality=quality)


CASES: dict[str, Case] = {
    # the rule may change within a period, and examples may be chosen by it
    "a schedule": Case(stream_of(measured(SCHEDULED, ONCE)), [ANY_ONE, ANY, ANY_ONE], 1.3, 0, 14),
    # an example is in one of two periods, and the second one's examples may be chosen by the first
    "two periods": Case(
        stream_of(measured(SHORT, TWICE, one=True)), [ANY_ONE] * 2, 1.3, 0, 14
    ),
    "windows": Case(stream_of(windows(TWICE)), [ANY_ONE] * 2, 1.3, 0, 14),
    # beside a trigger, which counts the same mistakes
    "a trigger": Case(
        stream_of(measured(TRIGGERED, QualitySettings(F(1), 2, 1), one=True)),
        [ANY_ONE] * 2, 1.6, 0, 10,
    ),
    # one user, whose period is the first or the second by their hash, against anybody else
    "users": Case(
        stream_of(measured(USERS, QualitySettings(F(1), 2, 1), one=True)),
        [of_user(range(1)), of_user(range(1))], 1.4, 0, 12,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_figures_cost_what_they_are_charged(name: str) -> None:
    CASES[name].check()


# --- planted faults -------------------------------------------------------------------------------


class Never(MeasuredLearner[Any]):
    """Does not forget a period's count."""

    @property
    def _nothing(self) -> Counting:
        return Counting()

    def step(self, state: Any, event: Any, noise: Any) -> Step[Any]:
        step = super().step(state, event, noise)
        if step.effects and isinstance(event, Examples):
            seen = event.take(slice(step.consumed))
            kept = replace(self._counted(state, 0, seen, step.wrong), first_version=None)
            return replace(step, state=replace(step.state, counting=kept))
        return step


class EveryExample(MeasuredLearner[Any]):
    """Counts all that a user gives."""

    def _counted(self, state: Any, period: int, seen: Examples, wrong: Any) -> Counting:
        now = state.counting
        first = state.learner.version if now.first_version is None else now.first_version
        mistakes = int((state.learner.rule.evaluate(seen.x) != seen.y).sum())
        right = now.right + len(seen.y) - mistakes
        return Counting(first, now.wrong + mistakes, right, now.users)


@dataclass(frozen=True, slots=True)
class FaultyPlan(OnlinePlan):
    """A plan for another learner around the real one."""

    faulty: Callable[..., Any] = MeasuredLearner

    def running(self, stream: str) -> Any:
        users = self.parameters.user_examples_max is not None
        return self.faulty(self.learner(stream), self.quality, users)


def faulty(name: str, learner: Callable[..., Any]) -> Case:
    (plan,) = CASES[name].plan.plans
    values = plan.name, plan.hypotheses, plan.parameters, plan.words
    quality = plan.quality  # type: ignore[attr-defined]
    stream = stream_of(FaultyPlan(*values, learner, quality=quality))
    return replace(CASES[name], plan=stream)


@pytest.mark.parametrize(("name", "learner"), [("two periods", Never), ("users", EveryExample)])
def test_planted_faults_exceed_what_is_charged(name: str, learner: Any) -> None:
    assert faulty(name, learner).exceeds()


def test_half_the_noise_exceeds_what_is_charged() -> None:
    case = CASES["two periods"]
    (plan,) = case.plan.publishing
    stream = stream_of(replace(plan, quality=QualitySettings(F(2), 1, 2)))
    claimed = replace(stream, epsilon=case.plan.epsilon, delta=case.plan.delta)
    assert replace(case, plan=claimed).exceeds()
