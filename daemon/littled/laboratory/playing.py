"""Laboratory only: online learners on made-up streams, whose next example may follow from the rule.

A source names an example that the published rule gets wrong, or None if it has no more. It is
repeated until another rule is published, which is the worst that a source can do within an epoch.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.laboratory.draws import key
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.planner.online.plan import OnlinePlan
from littled_protocol.columns import point_type
from littled_protocol.rules import Rule

Source = Callable[[Rule], tuple[int, int] | None]

HEAD = bytes(32)
BATCH = 1 << 16


def alone(request: OnlineRequest, horizon: int) -> StreamRequest:
    """One learner on a stream of its own, at (1, 1e-6)."""
    return StreamRequest("lab", Fraction(1), Fraction(1, 10**6), horizon, (request,))


def planned(request: OnlineRequest, horizon: int) -> OnlineLearner:
    """That learner; PlanError, with the numbers, where there is no plan."""
    (plan,) = plan_stream(alone(request, horizon)).publishing
    assert isinstance(plan, OnlinePlan)
    return OnlineLearner("lab/lab", plan.hypotheses, plan.parameters)


@dataclass(frozen=True, slots=True)
class Turn:
    """One call that a learner made: the state after it, the epoch's mistakes, and all so far."""

    state: OnlineState
    epoch_mistakes: int
    mistakes: int
    called: bool
    """False for the last turn, which ends without a call."""


def play(learner: OnlineLearner, source: Source, horizon: int, seed: int) -> Iterator[Turn]:
    """One turn a call, and a last one for what comes after the last call.

    Ends when the source has no more, the horizon is reached, or the learner halts. Every call is
    admitted: the budget of the plan is the learner's own.
    """
    dtype = point_type(learner.hypotheses.point_type).dtype
    noise, position, mistakes = KeyedNoise(key(seed)), 0, 0
    state = learner.step(learner.initial(), SeasonOpened(0, 0), noise).state
    while position < horizon and not state.halted:
        example = source(state.rule)
        if example is None:
            break
        count = min(BATCH, horizon - position)
        x, y = np.full(count, example[0], dtype), np.full(count, example[1], np.uint8)
        step = learner.step(state, Examples(Place(HEAD, position, position), x, y), noise)
        position, mistakes, state = position + step.consumed, mistakes + step.consumed, step.state
        for effect in step.effects:
            if isinstance(effect, CallRequested):
                made = state.mistakes
                state = learner.step(state, CallAdmitted(effect.place), noise).state
                yield Turn(state, made, mistakes, called=True)
    yield Turn(state, state.mistakes, mistakes, called=False)


def says(rule: Rule, hypotheses: HypothesisClass, point: int) -> int:
    """The label that a rule gives to one point."""
    dtype = point_type(hypotheses.point_type).dtype
    return int(rule.evaluate(np.array([point], dtype))[0])


def in_order(hypotheses: HypothesisClass, stream: tuple[tuple[int, int], ...]) -> Source:
    """A fixed stream: each (point, label) until a rule gets it right, then the next one."""
    waiting = list(stream)

    def source(rule: Rule) -> tuple[int, int] | None:
        while waiting and says(rule, hypotheses, waiting[0][0]) == waiting[0][1]:
            waiting.pop(0)
        return waiting[0] if waiting else None

    return source


def evader(hypotheses: HypothesisClass, points: int) -> Source:
    """Somebody who sees each rule, and names a point that it gets wrong if most rules are right.

    What is named stays realizable: a rule of the class fits all of it. Of all such points it takes
    the one that leaves the most rules, the first of them.
    """
    few = needed(hypotheses.dense)
    rules = [few.rule(index) for index in range(few.rule_count)]
    table = [[says(rule, hypotheses, x) for x in range(points)] for rule in rules]
    fitting = set(range(len(rules)))

    def source(rule: Rule) -> tuple[int, int] | None:
        left = {
            (x, y): {i for i in fitting if table[i][x] == y}
            for x in range(points)
            for y in [1 - says(rule, hypotheses, x)]
        }
        example = max(left, key=lambda each: len(left[each]))
        if not left[example]:
            return None
        fitting.intersection_update(left[example])
        return example

    return source
