"""Tally selection: every id once its own mistakes pass a threshold."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from littled.budget.events import TallySeason
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.tally import Tally
from littled.planner.budgets import Budget, rate_below
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Estimate, Small, Way, estimated, preference
from littled.planner.online.ways.draft import FRESH_CALLS_MAX
from littled.portable import exp, expm1, log

# Shares of epsilon that are tried for the noise of a spell.
THRESHOLD_SHARES = (0.15, 0.2, 0.25, 0.3, 0.4)
# The part of the failure probability for noise that takes a published id away. Each that it takes
# costs as many mistakes as one that comes, and a larger part saves few: a vote for a factor of 2.
TAKEN_AWAY_SHARE = 0.1
# Noise of a spell beyond this many multiples of 1/rate does not occur in the model.
NOISE_RANGE = 30


class TallyWay(Way):
    """Ids are flipped, each at its own time; there is no trigger beside."""

    name = "tally"
    words = "every id as soon as its own mistakes pass a threshold"
    small: ClassVar[Mapping[str, Small]] = {"tally": ("points:8", {"selection": "tally"})}

    def is_of(self, selection: Selection) -> bool:
        """Where ids are watched."""
        return isinstance(selection, Tally)

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """The mean of an id that comes and one that goes: as many come as go."""
        p = estimate.plan.parameters
        rates = float(p.selection_rate), float(p.threshold_rate or 0)
        goes = p.bottom_score if p.published_score is None else p.published_score
        return (mistakes_of_one(*rates, p.bottom_score) + mistakes_of_one(*rates, goes)) / 2

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class of other rules than sets."""
        if (reason := super().refusal(request)) or request.hypotheses.id_sets is not None:
            return reason
        return (
            f"{request.hypotheses.name} has no rules that are sets of ids; use points or "
            "sparse_sets, or another selection"
        )

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Other rules, noisy labels, or users."""
        if request.hypotheses.id_sets is None:
            yield "the rules are no sets of ids"
        if request.noise_rate:
            yield "wrong labels would add up: it needs noise_rate 0"
        if users:
            yield "it protects single examples only"

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """One plan for each share of epsilon for the noise of spells.

        What it costs is pure, so it shares a budget of pure sums.

        What is proven is for realizable streams, whoever chooses them, from the empty set on. Only
        members that the published set lacks are ever wrong, and nothing else passes, but for a
        published one that noise alone takes away: none does except with probability f / 10. One
        with B + rho mistakes passes at once, and rho is above ln(members / (0.9 f)) / e_1 for none
        of them except with probability 0.9 f.
        """
        if budget.accounting != "pure":
            return []
        epsilon = budget.learning / budget.share
        found = []
        for share in THRESHOLD_SHARES:
            threshold_rate = rate_below(epsilon * Fraction(str(share)))
            rate = rate_below(epsilon - threshold_rate)
            if not threshold_rate or not rate:
                continue
            bottom = least_threshold(rate, threshold_rate, budget)
            if bottom < budget.horizon:
                found.append(_planned(request, budget, rate, threshold_rate, bottom))
        return sorted(found, key=preference)


def _planned(
    request: OnlineRequest, budget: Budget, rate: Fraction, threshold_rate: Fraction, bottom: int
) -> Estimate:
    members = request.hypotheses.littlestone_dimension
    failure = float(request.failure_probability)
    published = published_threshold(
        rate, threshold_rate, members, budget.horizon, failure * TAKEN_AWAY_SHARE
    )
    parameters = OnlineParameters(
        epsilon=budget.epsilon,
        horizon=budget.horizon,
        noise_rate=Fraction(0),
        trigger_rate=Fraction(0),
        threshold_rate=threshold_rate,
        trigger_threshold=0,
        selection="tally",
        selection_rate=rate,
        selection_accounting="pure",
        draws=1,
        calls_max=min(FRESH_CALLS_MAX, budget.horizon),
        buffer="mistakes",
        bottom_score=bottom,
        fresh=True,
        published_score=published,
    )
    failure *= 1 - TAKEN_AWAY_SHARE
    most = math.ceil(log(members / failure) / float(threshold_rate))
    expected = members * mistakes_of_one(float(rate), float(threshold_rate), bottom)
    horizon = float(budget.horizon)
    guaranteed = min(horizon, float(members * (bottom + most)))
    expected = min(expected, horizon)
    plan = OnlinePlan(request.name, request.hypotheses, parameters, request.words)
    return estimated("tally", plan, expected, guaranteed, budget, expected)


def published_threshold(
    rate: Fraction, threshold_rate: Fraction, members: int, steps: int, failure: float
) -> int:
    """Least B' with which noise alone takes none of so many published ids away in so many steps.

    Except with probability `failure`, at the most. Who is published is no secret, so it hides
    nothing: it is about mistakes alone.
    """
    hiding, own = float(rate), float(threshold_rate)
    mean = -expm1(-own) / -expm1(-own - hiding)
    return max(1, math.ceil(log(members * steps * mean / failure) / hiding))


def least_threshold(
    rate: Fraction, threshold_rate: Fraction, budget: Budget, tests: int | None = None
) -> int:
    """Least B that hides single votes in so many tests, within the learner's part of delta.

    Without a number there is a test after each example.
    """
    steps = budget.horizon if tests is None else tests
    hiding, own = float(rate), float(threshold_rate)
    mean = -expm1(-own) / -expm1(-own - hiding)
    failure = steps * mean * (1 + exp(-hiding)) / float(budget.failure)
    # one less than floats say, and then what exact bounds say
    bottom = max(2, math.floor(log(failure) / hiding))
    event = TallySeason(rate, threshold_rate, bottom, steps)
    while replace(event, threshold=bottom).failure > budget.failure:
        bottom += 1
    return bottom


@lru_cache(maxsize=256)
def mistakes_of_one(rate: float, threshold_rate: float, bottom: int) -> float:
    """Expected mistakes of an id until it passes, if there is nothing but its mistakes.

    Slower streams have more tests between two mistakes, and so fewer mistakes.
    """
    falls, stays = exp(-rate), exp(-threshold_rate)
    # of an id with this gap before its next mistake: how many more there will be
    gap, passes, further = 0, 1.0, 0.0
    expected, mass = 0.0, 1.0 - stays
    while gap < bottom + math.ceil(NOISE_RANGE / threshold_rate):
        gap, further, passes = gap + 1, 1.0 + (1.0 - passes) * further, passes * falls
        if gap >= bottom:
            expected += mass * further
            mass *= stays
    return expected
