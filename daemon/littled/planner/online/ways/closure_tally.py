"""Closure tallies: each closure that positive examples vote for, as its votes pass a threshold."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.groups import GroupSettings
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.closure_tally import ClosureTally
from littled.planner.budgets import Budget, rate_below
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Estimate, Small, Way, estimated, preference
from littled.planner.online.ways.draft import FRESH_CALLS_MAX
from littled.planner.online.ways.tally import THRESHOLD_SHARES, least_threshold, mistakes_of_one
from littled.portable import expm1, log

# What follows was found by trial on the benchmark's streams (docs/mistakes.md).
# Tests come after so many examples, divided by epsilon: rarer ones have lower thresholds, but wait.
TESTED_EVERY = 8
# So many times the votes that pass are groups, since some come late.
GROUPS_PART = 1.25
# The share of examples that vote by themselves before a season's first call, where a rule has few
# public next ones and where it has not; and so many times the groups afterwards, when what is left
# comes in small parts.
FIRST_SHARE_NEXT, FIRST_SHARE = 0.2, 0.3
LATER_SINGLES = 3
# So many examples in a row inside a group's closure say that it is whole.
STABLE = 5
# Groups begin anew at first after so many times the mistakes that they need.
RENEWED_PART = 4
# Each rule has one vote less after so many examples: what is rarer hardly makes mistakes.
FORGETS_AFTER = 1 << 15
# Mistakes in clusters, as many times those of independent examples.
CLUSTERED = 1.25


class ClosureTallyWay(Way):
    """The rule grows by closures, each at its own time; there is no trigger beside."""

    name = "closure-tally"
    words = "every smallest rule around examples as soon as its own votes pass a threshold"
    small: ClassVar[Mapping[str, Small]] = {
        "closure-tally": ("conjunctions:3", {"selection": "closure-tally"})
    }

    def is_of(self, selection: Selection) -> bool:
        """Where closures are tested one by one."""
        return isinstance(selection, ClosureTally)

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """What one rule costs, once as many votes have passed to start over as a closure needs.

        Rules only grow in a season without such votes.
        """
        p = estimate.plan.parameters
        if not p.starts_over or p.threshold_rate is None:
            return float(p.horizon)
        rates = float(p.selection_rate), float(p.threshold_rate)
        return estimate.expected_mistakes + mistakes_of_one(*rates, p.bottom_score)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class without closures."""
        if (
            reason := super().refusal(request)
        ) or request.hypotheses.intersection_closed is not None:
            return reason
        return f"{request.hypotheses.name} has no closures; use dense or sparse"

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Other rules, noisy labels, users, or an adversary that sees the rule."""
        if request.hypotheses.intersection_closed is None:
            yield "the class is not closed under intersection"
        if request.noise_rate:
            yield "one wrong label spoils a closure: it needs noise_rate 0"
        if request.adversary == "adaptive":
            yield "nothing is known of adversaries that see each rule and keep votes apart"
        if request.adversary == "none" and request.leaves_open:
            yield "independent examples need no tests: closures at public times find more"
        if users:
            yield "it protects single examples only"

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """One plan for each share of epsilon for the noise of spells; nothing is proven of them."""
        if budget.accounting != "pure":
            return []
        epsilon = budget.learning / budget.share
        found = []
        for share in THRESHOLD_SHARES:
            threshold_rate = rate_below(epsilon * Fraction(str(share)))
            rate = rate_below(epsilon - threshold_rate)
            if threshold_rate and rate:
                found += _planned(request, budget, rate, threshold_rate)
        return sorted(found, key=preference)


def _planned(
    request: OnlineRequest, budget: Budget, rate: Fraction, threshold_rate: Fraction
) -> list[Estimate]:
    """The plan with these rates, if its threshold is within the season.

    Expected mistakes are the worse of two streams: parts of the target revealed one at a time, and
    all at once, but in clusters, so that groups have to find them.
    """
    closed = needed(request.hypotheses.intersection_closed)
    parts = request.hypotheses.littlestone_dimension
    every = 1 << max(0, math.floor(log(TESTED_EVERY / float(rate + threshold_rate)) / log(2.0)))
    tests = -(-budget.horizon // every)
    bottom = least_threshold(rate, threshold_rate, budget, tests)
    if bottom >= budget.horizon:
        return []
    following = _next_score(request, float(rate), float(threshold_rate), tests, bottom)
    votes = mistakes_of_one(float(rate), float(threshold_rate), bottom)
    groups = math.ceil(GROUPS_PART * votes)
    first = FIRST_SHARE_NEXT if closed.next_rules_max else FIRST_SHARE
    together = groups * (closed.closure_examples + STABLE * bool(closed.next_rules_max))
    together = math.ceil(together / (1 - first))
    settings = GroupSettings(
        groups=groups,
        singles=round(groups * first / (1 - first)),
        later_singles=LATER_SINGLES * groups,
        stable=STABLE,
        renewed_after=1 << (RENEWED_PART * together - 1).bit_length(),
        next_score=following,
        tested_every=every,
        forgets_after=FORGETS_AFTER,
    )
    parameters = OnlineParameters(
        epsilon=budget.epsilon,
        horizon=budget.horizon,
        noise_rate=Fraction(0),
        trigger_rate=Fraction(0),
        threshold_rate=threshold_rate,
        trigger_threshold=0,
        selection="closure-tally",
        selection_rate=rate,
        selection_accounting="pure",
        draws=1,
        calls_max=min(FRESH_CALLS_MAX, budget.horizon),
        buffer="mistakes",
        bottom_score=bottom,
        fresh=True,
        groups=settings,
        starts_over=True,
    )
    of_a_part = mistakes_of_one(
        float(rate), float(threshold_rate), following if closed.next_rules_max else bottom
    )
    # a test comes half an interval late, while every other example may be wrong
    one_by_one = parts * (of_a_part + every / 4)
    expected = min(max(one_by_one, CLUSTERED * together), float(budget.horizon))
    plan = OnlinePlan(request.name, request.hypotheses, parameters, request.words)
    return [estimated("closure-tally", plan, expected, None, budget)]


def _next_score(
    request: OnlineRequest, rate: float, threshold_rate: float, tests: int, bottom: int
) -> int:
    """Least threshold that none of the next rules passes without votes in a season.

    Except with the failure probability; this is no matter of privacy. At most that of other rules.
    """
    mean = -expm1(-threshold_rate) / -expm1(-threshold_rate - rate)
    most = needed(request.hypotheses.intersection_closed).next_rules_max
    failures = tests * mean * most / float(request.failure_probability)
    return max(1, min(bottom, math.ceil(log(failures) / rate) if failures > 1 else 1))
