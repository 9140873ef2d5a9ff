"""What an audit is about: the learners of a configuration, or one small learner of each kind."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from littled.auditing.online import online_subject
from littled.auditing.prediction import ANSWERS, prediction_subject
from littled.auditing.trials import Subject
from littled.classes import class_from_name
from littled.learners.prediction import Method
from littled.planner import (
    LearnerPlan,
    LearnerRequest,
    PaperConstants,
    PredictionRequest,
    StreamPlan,
    StreamRequest,
    plan_stream,
)

# A season that is short and a budget that is large: what there is to see, few runs show.
EPSILON, DELTA, HORIZON = Fraction(4), Fraction(1, 100), 64
# So short that a schedule is better even for ids, which may keep their trigger.
HORIZON_OF_SCHEDULES = 16
NOISE_RATE = Fraction(1, 10)
WINDOW = 24
# Constants with which Algorithms 1 to 4 have a plan for so short a season.
PAPER = PaperConstants(teachers=Fraction(32), threshold=Fraction(1, 1000), draws=Fraction(1, 10))

# Small learners by name: the class, and how the next rule is selected.
PUBLISHING: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("thresholds:2", {"selection": "dense"}),
    "fresh": ("thresholds:2", {"selection": "fresh"}),
    "fresh-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
    "sparse": ("prefixes:8", {"selection": "sparse"}),
    "sparse-scheduled": ("prefixes:8", {"selection": "sparse", "adversary": "none"}),
    "closure": ("conjunctions:3", {"selection": "closure"}),
    "closure-scheduled": ("conjunctions:3", {"selection": "closure", "adversary": "none"}),
    "histogram": ("points:8", {"selection": "histogram"}),
    "histogram-noisy": ("points:8", {"selection": "histogram", "noise_rate": NOISE_RATE}),
    "histogram-scheduled": ("points:8", {"selection": "histogram", "adversary": "none"}),
    "teachers": ("points:8", {"selection": "sparse", "teachers": 2}),
    "paper": ("points:8", {"selection": "paper", "paper": PAPER}),
    "users": ("points:8", {"selection": "histogram"}),
    "users-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
}
# And those that answer questions: how.
ANSWERING: dict[str, Method] = {
    "answers-dense": "dense",
    "answers-stability": "stability",
    "answers-realizable": "realizable",
    "answers-averaging": "averaging",
    "answers-majority": "majority",
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS = {"users": 2, "users-scheduled": 2}
SMALL = (*PUBLISHING, *ANSWERING)


@cache
def small_plan(name: str) -> StreamPlan:
    """The plan of one of the `SMALL` learners, alone on its stream."""
    if name in PUBLISHING:
        class_name, asked = PUBLISHING[name]
        horizon = HORIZON_OF_SCHEDULES if "adversary" in asked else HORIZON
        return _plan(LearnerRequest(name, class_from_name(class_name), **asked), horizon)
    request = PredictionRequest(
        name,
        class_from_name("thresholds:2"),
        WINDOW,
        excess_error=None,
        answers=ANSWERS,
        method=ANSWERING[name],
    )
    return _plan(request, HORIZON)


def _plan(request: LearnerRequest | PredictionRequest, horizon: int) -> StreamPlan:
    most = OF_USERS.get(request.name)
    return plan_stream(
        StreamRequest(
            "small",
            EPSILON,
            DELTA,
            horizon,
            (request,),
            unit="example" if most is None else "user",
            user_examples_max=most or 1,
        )
    )


def subjects_of(plan: StreamPlan, learner: str | None = None) -> Iterator[Subject]:
    """The audits of a plan: one for each learner, or for the one of this name.

    NoStreams for a learner that cannot be audited.
    """
    for each in plan.plans:
        name = f"{plan.stream}/{each.name}"
        if learner not in (None, each.name):
            continue
        if isinstance(each, LearnerPlan):
            yield online_subject(plan, each, name)
        else:
            yield prediction_subject(plan, each, name)
