"""Several learners on one stream against every adaptive adversary: their prices add up, no more.

The real engine and the real desk are run through every outcome of the noise, as single learners are
in `tests/daemon/learners/online/test_laws.py`. The adversary sees the releases of all learners, the
ledger, and the answers to questions that it chooses as it goes.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import PrivacyEvent
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.planner.prediction.plan import PredictionPlan
from littled_protocol.rules import Words
from support.enumeration import (
    Case,
    VariantPlan,
    anything,
    asked,
    online_plan,
    stream_of,
)

F = Fraction
ONE_POINT, THRESHOLDS = class_from_name("thresholds:1"), class_from_name("thresholds:2")
TABLE = Table.from_matrix(["never", "late", "always"], np.array([[0, 0], [0, 1], [1, 1]], bool))
SETS = class_from_name("sparse_sets:1:2")
SCHEDULED = OnlineParameters(
    epsilon=F(8), horizon=4, noise_rate=F(0), trigger_rate=F(0), trigger_threshold=0,
    selection="dense", selection_rate=F(3, 4), selection_accounting="pure", draws=1, calls_max=2,
    buffer="examples", fresh=True, schedule_first=1,
)  # fmt: skip
ONE_CALL = replace(SCHEDULED, schedule_first=2, calls_max=1)
TRIGGERED = replace(
    ONE_CALL, schedule_first=None, fresh=False, trigger_rate=F(6), trigger_threshold=1
)
LOW = replace(TRIGGERED, selection_rate=F(1, 2))
HISTOGRAM = replace(
    ONE_CALL, selection="histogram", bottom_score=2, selection_rate=F(1), buffer="mistakes",
    mistakes_max=8,
)  # fmt: skip
Z = F(1, 50)
ZCDP: dict[str, Any] = {"selection_accounting": "zcdp"}
ANY, ANY_ONE = anything(range(2)), anything(range(1))

# --- two online learners --------------------------------------------------------------------------

ONLINE: dict[str, Case] = {
    # neither sees enough examples for its bounded range, and the two ranges are reached together
    "dense, dense": Case(
        stream_of(
            online_plan("late", THRESHOLDS, SCHEDULED), online_plan("table", TABLE, ONE_CALL)
        ),
        [ANY] * 3, 1.38,
    ),
    # a third example would be needed for two ids that both are near their threshold
    "dense, histogram": Case(
        stream_of(
            online_plan("late", THRESHOLDS, ONE_CALL),
            online_plan("sets", SETS, replace(HISTOGRAM, schedule_first=3)),
        ),
        [ANY] * 3, 1.86, 1.01,
    ),
    # an example is in one epoch of each, and these overlap
    "dense, capped": Case(
        stream_of(
            online_plan("late", THRESHOLDS, replace(SCHEDULED, schedule_cap=1, calls_max=3)),
            online_plan("table", TABLE, ONE_CALL),
        ),
        [ANY] * 3, 1.38,
    ),
    # both triggers count the same examples
    "triggers": Case(
        stream_of(online_plan("late", ONE_POINT, TRIGGERED), online_plan("low", ONE_POINT, LOW)),
        [ANY_ONE] * 2, 1.41, 0, 12,
    ),
    # the caps have room for one call: who comes second is refused it and halts
    "one call for two": Case(
        stream_of(
            online_plan("late", ONE_POINT, TRIGGERED), online_plan("low", ONE_POINT, LOW),
            refused=1,
        ),
        [ANY_ONE] * 2, 1.31, 0, 12,
    ),
    # two seasons of two examples each cost an example what one of them costs
    "seasons": Case(
        stream_of(
            online_plan("late", THRESHOLDS, replace(SCHEDULED, horizon=2, calls_max=1)),
            online_plan("table", TABLE, replace(SCHEDULED, horizon=2, calls_max=1)),
        ),
        [ANY_ONE, ANY, ANY_ONE, ANY], 1.53,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLINE)
def test_two_online_learners_cost_what_both_are_charged(name: str) -> None:
    ONLINE[name].check()


# --- an online learner beside one that answers ----------------------------------------------------


def answering(method: Any, **parameters: Any) -> PredictionPlan:
    """Windows of two examples, two answers each."""
    values = {"window": 2, "answers_max": 2, **parameters}
    return PredictionPlan("near", THRESHOLDS, PredictionParameters(method, F(8), **values), Words())


def beside(answers: PredictionPlan, online: OnlineParameters = ONE_CALL, **options: Any) -> Any:
    return stream_of(
        online_plan("late", THRESHOLDS, replace(online, selection_rate=F(1, 2))), answers, **options
    )


ASK = asked("near", range(2))
AFTER_BOTH = (ANY, ANY, ASK, ASK)
ANSWERS: dict[str, Case] = {
    "dense": Case(beside(answering("dense", rate=F(1, 2))), AFTER_BOTH, 1.33),
    # the second answer comes after another example, and can depend on what was released for it
    "dense, adaptive": Case(
        beside(answering("dense", rate=F(1, 2)), replace(ONE_CALL, schedule_first=3)),
        (ANY_ONE, ANY_ONE, ASK, ANY_ONE, ASK), 1.27,
    ),
    "realizable": Case(
        beside(answering("realizable", chunks=2, vote_rate=F(1))), AFTER_BOTH, 1.4
    ),
    "averaging": Case(beside(answering("averaging", chunks=2, flip=F(1, 10))), AFTER_BOTH, 1.07),
    "stability": Case(
        beside(answering("stability", rate=F(1, 2), subset_rate=F(1, 5), flip=F(1, 10),
                         answers_max=1)),
        (ANY_ONE, ANY_ONE, ASK), 1.83,
    ),
    # its proof is for any window, and so for far more than what two examples can do
    "relabelling": Case(
        beside(answering("relabelling", rate=F(1, 10), subset_rate=F(1, 5), flip=F(1, 10),
                         chunks=2, vote_rate=F(1, 10), net=F(1, 2), answers_max=1)),
        (ANY_ONE, ANY_ONE, ASK), 2.42,
    ),
    "majority": Case(
        beside(answering("majority", chunks=2, vote_rate=F(4), answers_max=1)),
        (ANY_ONE, ANY_ONE, ASK), 1.24, 0, 16,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_beside_a_rule_cost_what_both_are_charged(name: str) -> None:
    ANSWERS[name].check()


def test_a_window_that_is_spent_refuses_and_says_nothing_more() -> None:
    case = ANSWERS["dense"]
    replace(case, turns=[ANY_ONE, ANY, ASK, ASK, ASK], factor=1.4).check()


# --- zCDP -----------------------------------------------------------------------------------------

MIXED: dict[str, tuple[Case, float]] = {
    "two rules": (
        Case(
            stream_of(
                online_plan("late", THRESHOLDS, replace(ONE_CALL, schedule_first=3, **ZCDP)),
                online_plan("table", TABLE, replace(ONE_CALL, schedule_first=3, **ZCDP)),
                delta_z=Z,
            ),
            [ANY_ONE, ANY, ANY], 1.22,
        ),
        1.04,
    ),
    "answers": (
        Case(
            beside(
                answering("dense", rate=F(1, 2), accounting="zcdp"), replace(ONE_CALL, **ZCDP),
                delta_z=Z,
            ),
            (ANY_ONE, ANY, ASK, ASK), 1.19,
        ),
        1.02,
    ),
    "pure and zCDP": (
        Case(
            beside(answering("realizable", chunks=2, vote_rate=F(1, 2), accounting="zcdp"),
                   delta_z=Z),
            (ANY_ONE, ANY, ASK, ASK), 1.49,
        ),
        1.62,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_every_order_of_both_is_bounded(name: str) -> None:
    case, most = MIXED[name]
    factors = case.orders(case.check(), (1.1, 2.0, 4.0, 16.0))
    assert 1 - 1e-9 <= min(factors) <= most


# --- variants that must be caught -----------------------------------------------------------------


class Unpaid(OnlineLearner):
    """Books nothing when its season opens, and nothing for its calls."""

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        return ()


class HalfPaid(PredictionLearner):
    """Books one answer of two."""

    def window_events(self) -> tuple[PrivacyEvent, ...]:
        return (self.answers_event(1),)


@dataclass(frozen=True, slots=True)
class HalfPaidPlan(PredictionPlan):
    def learner(self, stream: str) -> PredictionLearner:
        return HalfPaid(f"{stream}/{self.name}", self.hypotheses, self.parameters)


def test_a_learner_that_books_nothing_is_caught() -> None:
    late = online_plan("late", THRESHOLDS, replace(ONE_CALL, schedule_first=3))
    free = VariantPlan("table", TABLE, late.parameters, Words(), Unpaid)
    assert Case(stream_of(late, free), [ANY_ONE, ANY, ANY], 0).exceeds()


def test_answers_that_are_not_paid_for_are_caught() -> None:
    plan = answering("averaging", chunks=2, flip=F(1, 10))
    unpaid = HalfPaidPlan(plan.name, plan.hypotheses, plan.parameters, plan.words)
    assert Case(beside(unpaid), AFTER_BOTH, 0).exceeds()
