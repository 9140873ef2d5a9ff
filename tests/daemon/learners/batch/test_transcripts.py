"""Several windows of one stream by exact enumeration: together they cost what one of them does.

The real engine is run through every outcome of its noise (`support.enumeration`), and every
adaptive adversary is tried: one example of its choice differs, in any window, and all others may
depend on what was released before. What is claimed is the charge of one window.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, BatchParameters
from littled.learners.online.parameters import OnlineParameters
from littled.planner import StreamPlan
from littled.planner.batch.plan import BatchPlan
from littled_protocol.rules import Words
from support.enumeration import (
    Case,
    Example,
    Turn,
    anything,
    fixed,
    of_user,
    online_plan,
    stream_of,
)
from support.window_variants import Remembering, Uncapped

F = Fraction
DENSE = BatchParameters(method="dense", epsilon=F(8), horizon=4, window=2, rate=F(3, 4))
HISTOGRAM = replace(DENSE, method="histogram", rate=F(1), bottom_score=2)
PROPOSALS = replace(DENSE, method="proposals", rate=F(2), bottom_score=3, list_cap=2)
CLOSURE = replace(DENSE, method="closure", rate=F(2), bottom_score=2, list_cap=1, chunks=2)
TEACHERS = replace(CLOSURE, method="teachers", list_cap=2)
# Of two examples a chunk one may be wrong at first, and none at the last stage.
STAGES = replace(
    TEACHERS, chunks=1, tolerance=F(9, 10), stage_rate=F(16), accounting="pure"
)  # fmt: skip
ANY, ANY_ONE = anything(range(2)), anything(range(1))


def windows(name: str, parameters: BatchParameters) -> BatchPlan:
    return BatchPlan("windows", class_from_name(name), parameters, Words())


def of(name: str, parameters: BatchParameters) -> StreamPlan:
    return stream_of(windows(name, parameters))


# A stream, what the adversary may do, and by what factors the claims may exceed the truth: for a
# single window they are in `test_laws`, and more windows do not come closer.
CASES: dict[str, Case] = {
    "dense": Case(of("thresholds:2", DENSE), [ANY] * 4, 1.26),
    "three windows": Case(
        of("thresholds:2", replace(DENSE, horizon=3, window=1)), [ANY] * 3, 1.53
    ),
    # the last example is in no window, and nothing is released after it
    "left over": Case(
        of("thresholds:1", replace(DENSE, horizon=5)), [ANY_ONE] * 5, 1.5
    ),
    "two seasons": Case(
        of("thresholds:1", replace(DENSE, horizon=2, window=1)), [ANY_ONE] * 4, 2.02
    ),
    "histogram": Case(of("points:1", HISTOGRAM), [ANY] * 4, 2.35, 1.01),
    "vetoes": Case(of("points:1", replace(HISTOGRAM, noise_rate=F(1, 10))), [ANY] * 4, 1.3, 1.01),
    "proposals": Case(of("prefixes:1", PROPOSALS), [ANY] * 4, 1.1, 1.8),
    "closure": Case(of("affine:1:1", CLOSURE), [ANY] * 4, 3.29, 1.14),
    "teachers": Case(of("thresholds:2", TEACHERS), [ANY] * 4, 3.25, 1.82),
    "stages": Case(of("thresholds:3", STAGES), [ANY_ONE] * 4, 0, 0, 10),
}  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CASES)
def test_two_windows_cost_what_one_is_charged(name: str) -> None:
    CASES[name].check()


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_windows_is_charged_as_one(name: str) -> None:
    """Only finite precision, the last event, grows with them."""
    (plan,) = CASES[name].plan.publishing
    learner = plan.learner("s")
    assert isinstance(learner, BatchLearner)
    parameters = learner.parameters
    alone = replace(learner, parameters=replace(parameters, horizon=parameters.window))
    assert learner.season_events()[:-1] == alone.season_events()[:-1]


# --- longer streams -------------------------------------------------------------------------------

STREAM = (1, 1), (1, 1), (0, 0), (1, 1), (1, 0), (0, 1), (1, 1), (0, 0)
LONG: dict[str, tuple[str, BatchParameters, float, float]] = {
    "dense": ("thresholds:2", DENSE, 1.26, 0),
    "histogram": ("points:1", HISTOGRAM, 2.35, 1.01),
    "vetoes": ("points:1", replace(HISTOGRAM, noise_rate=F(1, 10)), 1.3, 1.01),
    "proposals": ("prefixes:1", PROPOSALS, 1.11, 1.83),
    "closure": ("affine:1:1", CLOSURE, 3.29, 1.14),
    "teachers": ("thresholds:2", TEACHERS, 3.25, 2.55),
}


def long(name: str) -> Case:
    """Four windows of one stream, against every stream that differs from it at one position."""
    of_class, parameters, factor, delta_factor = LONG[name]
    stream = of(of_class, replace(parameters, horizon=8))
    return Case(stream, fixed([Example(x, y) for x, y in STREAM], range(2)), factor, delta_factor)


@pytest.mark.parametrize("name", LONG)
def test_four_windows_cost_what_one_is_charged(name: str) -> None:
    long(name).check()


# --- beside other learners, and booked as zCDP ----------------------------------------------------

ONLINE = OnlineParameters(
    epsilon=F(8), horizon=4, noise_rate=F(0), trigger_rate=F(0), trigger_threshold=0,
    selection="dense", selection_rate=F(1, 2), selection_accounting="pure", draws=1, calls_max=1,
    buffer="examples", fresh=True, schedule_first=3,
)  # fmt: skip


def beside(
    parameters: BatchParameters, online: OnlineParameters = ONLINE, **options: Any
) -> StreamPlan:
    late = online_plan("late", class_from_name("thresholds:2"), online)
    return stream_of(windows("thresholds:2", parameters), late, **options)


@pytest.mark.no_cover
def test_windows_beside_an_online_learner_cost_what_both_are_charged() -> None:
    Case(beside(DENSE), [ANY] * 4, 1.5).check()


@pytest.mark.no_cover
def test_every_order_of_windows_and_of_an_online_learner_is_bounded() -> None:
    online = replace(ONLINE, selection_accounting="zcdp")
    booked = beside(replace(DENSE, accounting="zcdp"), online, delta_z=F(1, 50))
    case = Case(booked, [ANY_ONE, ANY, ANY, ANY], 1.6)
    factors = case.orders(case.check(), (1.1, 2.0, 4.0, 16.0))
    assert 1 - 1e-9 <= min(factors) <= 1.6


# --- users ----------------------------------------------------------------------------------------

USERS = replace(DENSE, rate=F(1, 2), user_examples_max=1)
OF_LISTS: dict[str, Any] = {
    "method": "teachers", "chunks": 2, "list_cap": 2, "bottom_score": 3, "rate": F(2),
    "user_examples_max": 2,
}  # fmt: skip
THEIRS = Turn(tuple(Example(0, y, teacher=1, user=9) for y in (0, 1)))
USERS_OWN = of_user(range(1)), of_user(range(2))
USER_CASES: dict[str, Case] = {
    "one example": Case(of("thresholds:2", USERS), [USERS_OWN[1], THEIRS] * 2, 1.32),
    "one of each window": Case(
        of("thresholds:1", replace(USERS, user_examples_max=2)), [USERS_OWN[0], THEIRS] * 2, 1.63
    ),
    "everything": Case(of("thresholds:1", USERS), [USERS_OWN[0]] * 4, 2.02),
    "histogram": Case(
        of("points:1", replace(HISTOGRAM, rate=F(1, 2), bottom_score=3, user_examples_max=2)),
        [USERS_OWN[1], THEIRS] * 2, 0,
    ),
    "teachers": Case(
        of("thresholds:1", replace(USERS, **OF_LISTS)),
        [USERS_OWN[0], THEIRS] * 2, 0,
    ),
    "three windows": Case(
        of("thresholds:1", replace(USERS, horizon=6, user_examples_max=2)),
        [USERS_OWN[0], THEIRS] * 3, 1.63,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", USER_CASES)
def test_all_windows_cost_a_user_what_they_are_charged(name: str) -> None:
    USER_CASES[name].check()


# --- variants that must be caught -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariantPlan(BatchPlan):
    """A plan for another learner than the real one."""

    learner_class: type[BatchLearner] = BatchLearner

    def learner(self, stream: str) -> BatchLearner:
        return self.learner_class(f"{stream}/{self.name}", self.hypotheses, self.parameters)


FAULTS: dict[str, tuple[type[BatchLearner], Case]] = {
    "examples of earlier windows": (Remembering, CASES["dense"]),
    "users counted anew": (
        Uncapped,
        Case(of("thresholds:1", replace(USERS, horizon=6)), [USERS_OWN[0], THEIRS] * 3, 0),
    ),
}


# `test_laws` notices it as well, with the laws of two windows.
LONG_FAULTS = {"examples of earlier windows"}


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in LONG_FAULTS)) for name in FAULTS],
)
def test_a_planted_fault_exceeds_what_is_charged(name: str) -> None:
    kind, case = FAULTS[name]
    (plan,) = case.plan.publishing
    variant = VariantPlan(plan.name, plan.hypotheses, plan.parameters, plan.words, kind)
    assert replace(case, plan=stream_of(variant)).exceeds()
