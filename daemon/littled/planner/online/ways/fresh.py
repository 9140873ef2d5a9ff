"""Fresh dense selection: among all rules of a class, each call by examples of its own."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.pool import PoolSettings
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.dense import Dense
from littled.learners.online.values import EpochSettings
from littled.planner.bounds import calls_expected, fires_beyond
from littled.planner.budgets import Budget
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import USUAL_SHARE, drawn_laws, planned
from littled.planner.online.warmup import ENDS, warmup_ends
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.dense import TOO_MANY_RULES, too_many_rules
from littled.planner.online.ways.draft import (
    BACKGROUND_OF_USERS,
    EXCEEDANCES,
    MARGINS,
    THRESHOLD_SHARE,
    Draft,
    TriggeredWay,
    short_rate,
)
from littled.planner.online.ways.scheduled import ScheduledDraft, ScheduledWay
from littled.portable import LN2, exp, expm1, log, log1p

# Of a pool: its slots, the fewest that are worth while, and the bytes that it may take.
POOL_SLOTS, POOL_SLOTS_MIN, POOL_BYTES_MAX = 16, 8, 1 << 25
# One in so many is held back: the more, the longer after a drift does the pool speak for what was.
POOL_ONE_IN = 8
# Where users are protected: one in so many, of which a slot keeps the first by their secret words.
POOL_ONE_IN_OF_USERS, POOL_OF_USERS = 4, 512
# The first examples of an epoch, in multiples of U, none of which is held back.
POOL_OWN = 16
# Calls after which a pool is emptied, in multiples of those expected.
POOL_CALLS = 4 / 3
# Steps of a season whose noise alone may be expected to fire where there is a pool.
# In a chain, where draws say less, fewer.
POOL_EXCEEDANCES, POOL_EXCEEDANCES_OF_CHAIN = 30.0, 8.0
# By how much of U epochs grow from call to call beyond the expected number, and for how many.
POOL_GROWTH, POOL_LADDER = 1 / 16, 64
# Fresh dense selections beyond the expected number, over which epochs grow by half of U each.
GROWTH_CALLS = 30
# Of what is expected of one rule, for each change.
CHANGE_SHARE = 0.5


class FreshWay(ScheduledWay):
    """All rules are weighed by the examples of one epoch."""

    name, selection = "fresh", "dense"
    trigger_share_max = 0.4  # a draw that sees little has to tell more rules apart than two
    words = "among all rules of the class, each call by examples of its own"
    small: ClassVar[Mapping[str, Small]] = {
        "fresh": ("thresholds:2", {"selection": "fresh"}),
        "fresh-warmup": ("stumps:2:2", {"selection": "fresh"}),
        "fresh-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Dense and fresh, without a cap on its epochs."""
        return (
            isinstance(selection, Dense)
            and selection.parameters.fresh
            and selection.parameters.schedule_cap is None
        )

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """What came before is forgotten, but for the pool; a schedule does not notice."""
        parameters = estimate.plan.parameters
        if parameters.schedule_first is not None or parameters.noise_rate:
            return None
        return CHANGE_SHARE * estimate.expected_mistakes

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class with too many rules."""
        return super().refusal(request) or too_many_rules(request, self.name)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Too many rules, or a stream that calls for a memory."""
        if request.hypotheses.dense is None:
            yield TOO_MANY_RULES
        if request.noise_rate and request.adversary != "none":
            yield "one epoch says too little where labels are noisy"
        if request.adversary == "adaptive":
            yield "an adaptive adversary calls for a memory"

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """With a schedule where that was asked for, or no users are protected.

        What a schedule has kept of users, every example, is soon used up if they give many.
        """
        if budget.user_examples_max and not request.asks_for(self.name):
            return TriggeredWay.estimates(self, request, budget)
        return super().estimates(request, budget)

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Fresh selections among all rules: one is paid for, any number can be made.

        A selection knows its own epoch only, which holds every example since the last one. The
        expected number of calls is that of a learner that remembers; a stream that goes round in
        three or more regions can make this one forget, so nothing is proven. Whenever there are
        more calls than expected, epochs were too short for what is to be learned: from then on
        each is longer than the last.

        A pool remembers other regions, if it is not too large. Of users only the mistakes are kept,
        and a background that says where the rule is right. It is a sample, so in a long chain it
        does not tell rules apart that are nearly alike. There a pool leaves thresholds as they are,
        and there is none where it needs more users than there are.
        """
        slots = pool_slots(draft.request.hypotheses)
        if slots and not draft.budget.user_examples_max:
            yield from _pooled(draft, slots)
            return
        keep: dict[str, Any] = {"buffer": "examples"}
        if draft.budget.user_examples_max:
            draft = replace(draft, threshold_share=THRESHOLD_SHARE)
            keep = {"buffer": "both", "background_max": BACKGROUND_OF_USERS}
        rules = log(needed(draft.request.hypotheses.dense).rule_count)
        rate = draft.budget.selection_rate(1)
        if rate <= 0:
            return
        least = first_threshold(rules, float(rate))
        for exceedances, margin in product(EXCEEDANCES, MARGINS):
            threshold = math.ceil(draft.trigger.reach(exceedances) + margin / float(rate))
            usual = fires_beyond(
                rules, short_rate(float(rate)), threshold, draft.trigger.threshold_rate
            )
            calls = calls_expected(usual)
            growth = (math.ceil(threshold * (1 + step / 2)) for step in range(1, GROWTH_CALLS + 1))
            ladder = tuple(map(EpochSettings, (*[threshold] * math.floor(calls), *growth)))
            first = max(threshold, least)
            parameters = draft.parameters(1, first, fresh=True, ladder=ladder, **keep)
            parameters = replace(parameters, calls_max=draft.fresh_calls)
            expected = first + (calls - 1) * threshold
            if parameters.background_max and draft.request.hypotheses.nested is not None:
                expected += mistakes_unresolved(
                    exp(rules), parameters.background_max * float(rate), threshold, draft.endless
                )
            if draft.budget.user_examples_max:
                held = replace(parameters, pool=_pool_of_users(draft, parameters))
                yield draft.made(held, expected, None, draft.endless)
            yield draft.made(parameters, expected, None, draft.endless)

    def scheduled(self, draft: ScheduledDraft) -> Estimate:
        """All rules by weight; mistakes beyond the noise rate."""
        rules = float(needed(draft.request.hypotheses.dense).rule_count)
        first, expected = planned(
            draft.budget.horizon, drawn_laws, (rules, draft.decay), (USUAL_SHARE,)
        )
        return draft.made(first, expected, buffer="examples")


def first_threshold(rules: float, decay: float) -> int:
    """U of a first epoch, half of whose examples are mistakes, before rules are told apart.

    rules: the logarithm of their number. It is half as many mistakes as a rule that errs on half of
    all examples needs to be drawn no longer, whichever it is.
    """
    return math.ceil((rules + 1) / (2 * (LN2 - log1p(exp(-decay)))))


def mistakes_unresolved(rules: float, resolved: float, threshold: int, horizon: float) -> float:
    """Mistakes of rules of a chain that a sample of examples does not tell from the right one.

    A sample of b examples tells about b e_s rules apart. So a drawn rule errs on a share of
    examples that is exponential of mean 1 / (b e_s), and is the right one with a chance that makes
    1 / chance calls. Or the season ends before: of n such epochs of U mistakes the longest takes as
    long as all others together, which saves a logarithm.
    """
    until_found = threshold * (1 / -expm1(-resolved / rules) - 1)
    season = horizon / resolved
    return min(until_found, season / max(1.0, log(season / threshold)))


def pool_slots(hypotheses: HypothesisClass) -> int:
    """Slots of a pool: as many as there is room for, a power of two; 0 if that is too few."""
    room = POOL_BYTES_MAX // needed(hypotheses.dense).empty_statistics().nbytes
    slots = min(POOL_SLOTS, 1 << max(room.bit_length() - 1, 0))
    return slots if room >= POOL_SLOTS_MIN else 0


def pool_calls(hypotheses: HypothesisClass) -> float:
    """Calls of a learner that remembers, with the first, on a stream that is bad for it.

    Each part of the stream splits the rules that fit what came before in halves, so the drawn one
    errs on every other part. In a chain a rule can err that is nearly right, and it takes ln N.
    """
    rules = log(needed(hypotheses.dense).rule_count)
    return 1 + (rules if hypotheses.nested is not None else rules / (2 * LN2))


def _pooled(draft: Draft, slots: int) -> Iterator[Estimate]:
    """Each call sees its epoch and what earlier ones have held back for it.

    The first rules are those of a warm-up; without one the first epoch waits until rules are told
    apart, as nothing is held back for it. In a chain there is none: the way for it is a public
    memory, which holds against somebody who sees each rule. Later epochs can be shorter, as a draw
    that noise alone has brought about does no harm: the pool speaks for the rule that is right.
    They grow slowly, for streams that no rule fits.
    """
    rate = draft.budget.selection_rate(1)
    if rate <= 0:
        return
    hypotheses, decay = draft.request.hypotheses, float(rate)
    calls = pool_calls(hypotheses)
    rules = needed(hypotheses.dense).rule_count
    in_chain = hypotheses.nested is not None
    ends = () if in_chain else warmup_ends(rules, draft.budget, ENDS)
    exceedances = POOL_EXCEEDANCES_OF_CHAIN if in_chain else POOL_EXCEEDANCES
    later = math.ceil(draft.trigger.reach(exceedances) + 1 / decay)
    first = later if ends else max(later, first_threshold(log(rules), decay))
    usual = math.floor(calls) + len(ends)
    growth = (math.ceil(later * (1 + step * POOL_GROWTH)) for step in range(1, POOL_LADDER + 1))
    pool = PoolSettings(slots, POOL_OWN * later, POOL_ONE_IN, math.ceil(calls * POOL_CALLS))
    parameters = draft.parameters(
        1, first, buffer="examples", fresh=True, pool=pool,
        ladder=tuple(map(EpochSettings, (*[later] * usual, *growth))),
    )  # fmt: skip
    parameters = replace(parameters, calls_max=draft.fresh_calls, warmup_ends=ends)
    yield draft.made(parameters, first + (calls - 1) * later, None, draft.endless)


def _pool_of_users(draft: Draft, parameters: OnlineParameters) -> PoolSettings:
    """Of rows, each in one of a few slots, beside the background of each epoch."""
    later = parameters.ladder[0].trigger_threshold
    calls = math.ceil(pool_calls(draft.request.hypotheses) * POOL_CALLS)
    return PoolSettings(POOL_SLOTS, POOL_OWN * later, POOL_ONE_IN_OF_USERS, calls, POOL_OF_USERS)
