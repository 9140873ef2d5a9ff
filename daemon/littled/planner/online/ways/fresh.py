"""Fresh dense selection: among all rules of a class, by each epoch alone."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.dense import Dense
from littled.learners.online.values import EpochSettings
from littled.planner.bounds import calls_expected, fires_beyond
from littled.planner.budgets import Budget
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import USUAL_SHARE, Share, always, drawn_error, planned
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.dense import TOO_MANY_RULES, too_many_rules
from littled.planner.online.ways.draft import (
    BACKGROUND_OF_USERS,
    EXCEEDANCES,
    MARGINS,
    Draft,
    TriggeredWay,
    short_rate,
)
from littled.planner.online.ways.scheduled import ScheduledDraft, ScheduledWay
from littled.portable import log

# Of what the trigger costs a user, the part that is for its threshold: it is drawn a few times, and
# steps are many.
THRESHOLD_SHARE = Fraction(1, 4)
# Fresh dense selections beyond the expected number, over which epochs grow by half of U each.
GROWTH_CALLS = 30


class FreshWay(ScheduledWay):
    """All rules are weighed by the examples of one epoch."""

    name, selection = "fresh", "dense"
    words = "among all rules of the class, by each epoch alone"
    small: ClassVar[Mapping[str, Small]] = {
        "fresh": ("thresholds:2", {"selection": "fresh"}),
        "fresh-scheduled": ("thresholds:2", {"selection": "fresh", "adversary": "none"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Dense and fresh."""
        return isinstance(selection, Dense) and selection.parameters.fresh

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

        Of users only the mistakes are kept, and a background that says where the rule is right.
        """
        keep: dict[str, Any] = {"buffer": "examples"}
        if draft.budget.user_examples_max:
            draft = replace(draft, threshold_share=THRESHOLD_SHARE)
            keep = {"buffer": "both", "background_max": BACKGROUND_OF_USERS}
        rules = log(needed(draft.request.hypotheses.dense).rule_count)
        rate = draft.budget.selection_rate(1)
        if rate <= 0:
            return
        for exceedances, margin in product(EXCEEDANCES, MARGINS):
            threshold = math.ceil(draft.trigger.reach(exceedances) + margin / float(rate))
            usual = fires_beyond(
                rules, short_rate(float(rate)), threshold, draft.trigger.threshold_rate
            )
            calls = calls_expected(usual)
            growth = (math.ceil(threshold * (1 + step / 2)) for step in range(1, GROWTH_CALLS + 1))
            ladder = tuple(map(EpochSettings, (*[threshold] * math.floor(calls), *growth)))
            parameters = draft.parameters(1, threshold, fresh=True, ladder=ladder, **keep)
            parameters = replace(parameters, calls_max=draft.fresh_calls)
            yield draft.made(parameters, calls * threshold, None, draft.endless)

    def scheduled(self, draft: ScheduledDraft) -> Estimate:
        """All rules by weight; mistakes beyond the noise rate."""
        rules = float(needed(draft.request.hypotheses.dense).rule_count)
        first, expected = planned(draft.budget.horizon, _laws, (rules, draft.decay), (USUAL_SHARE,))
        return draft.made(first, expected, buffer="examples")


def _laws(_: float, rules: float, decay: float) -> tuple[Share, Share]:
    return always(1.0), lambda n: drawn_error(rules, decay, n)
