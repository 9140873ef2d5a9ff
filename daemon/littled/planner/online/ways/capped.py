"""Capped selection: among all rules of a class, at public times that stop doubling.

For streams of which nothing is told: not how often labels contradict the best rule, nor whether
that rule stays the best. Epochs double until they would be longer than C examples, and one ends
every C examples from then on; nothing is tested, so no noise rate can be wrong, and a rule that no
longer fits is replaced after half an epoch to one and a half. The rule that was drawn last has a
public offset, so that it leaves for a better one only: it halves how often rules change, and helps
where an epoch says little.

**C** is a thirtieth of the season, and at least what tells rules apart: by the bound of
`schedules`, a draw from n examples loses at most (1 + ln N) / (e n) of them at small rates e, and C
is so long that this is at most 1 in `EPOCH_LOSS`. Measured on streams of 50,000 to 330,000 flights
and diamonds (docs/planning.md, "When nothing is told"), a tenth loses a point after a change, and a
hundredth up to two points where weather makes neighbouring days alike.

Where users are protected an epoch keeps a background, the examples at positions that secret words
choose. It is as large as users have examples to be kept, so that what they give lasts a season.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.dense import Dense
from littled.learners.online.standing_memory import StandingSettings
from littled.learners.online.values import scheduled_calls
from littled.planner.budgets import Budget
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import USUAL_SHARE, always, drawn_error, season_mistakes
from littled.planner.online.ways.base import Estimate, Small, Way
from littled.planner.online.ways.dense import TOO_MANY_RULES, too_many_rules
from littled.planner.online.ways.draft import BACKGROUND_EXAMPLES_NOISY
from littled.planner.online.ways.scheduled import ScheduledDraft
from littled.portable import log

# Epochs of a season once they no longer double, if these are long enough.
EPOCHS = 30
# What the rule that stands has beyond its agreements, in multiples of 1/e: it weighs exp(4) times
# as much as another one that is as good.
STANDING = 4.0
# An epoch is at least so long that a draw from it loses no more than one example in so many.
EPOCH_LOSS = 16


class CappedWay(Way):
    """All rules are weighed by the examples of one epoch, which ends at a public time."""

    name, selection = "capped", "dense"
    words = "among all rules of the class, at public times, each call by examples of its own"
    small: ClassVar[Mapping[str, Small]] = {"capped": ("thresholds:8", {"selection": "capped"})}

    def is_of(self, selection: Selection) -> bool:
        """Dense, with a cap on its epochs."""
        return isinstance(selection, Dense) and selection.parameters.schedule_cap is not None

    def is_open(self, request: OnlineRequest) -> bool:
        """Whether it is asked for, or nothing is told of a stream whose rules can be weighed."""
        return request.asks_for(self.name) or self.is_usual(request)

    def is_usual(self, request: OnlineRequest) -> bool:
        """Whether it is the way to take where nothing was said of the stream."""
        return (
            request.nothing_told
            and request.leaves_open
            and request.teachers is None
            and request.adversary == "oblivious"
            and request.hypotheses.dense is not None
        )

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class with too many rules."""
        return super().refusal(request) or too_many_rules(request, self.name)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Too many rules, or somebody who may choose examples by the rules that they see."""
        if request.hypotheses.dense is None:
            yield TOO_MANY_RULES
        if request.adversary == "adaptive":
            yield "an adaptive adversary knows when epochs end"
        if request.adversary == "none":
            yield "where examples are independent, epochs may double for ever"

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """The epoch in which it comes says what is next or not, by halves; then all is new."""
        cap = estimate.plan.parameters.schedule_cap
        return None if cap is None else min(USUAL_SHARE * cap, estimate.plan.parameters.horizon)

    def other_remark(self, request: OnlineRequest) -> str:
        """Its number is not for a bad stream, as those of the others are."""
        return "if examples are independent, with noise or not: leave noise_rate out"

    def estimates(self, request: OnlineRequest, budget: Budget) -> list[Estimate]:
        """The one plan that the budget pays for.

        Its expected mistakes are for independent examples that one rule fits.
        """
        draft = ScheduledDraft(request, budget, self.name, self.selection)
        return [_planned(draft)] if draft.rate > 0 else []


@dataclass(frozen=True, slots=True)
class _Epochs:
    """A schedule with a cap, the examples that an epoch keeps at the most, and the mistakes."""

    first: int
    cap: int
    kept: int
    mistakes: float


def _planned(draft: ScheduledDraft) -> Estimate:
    """The first epoch with the fewest expected mistakes, a power of two."""
    budget, rules = draft.budget, needed(draft.request.hypotheses.dense).rule_count
    enough = math.ceil(EPOCH_LOSS * (1 + log(rules)) / float(draft.rate))
    cap = max(enough, -(-budget.horizon // EPOCHS))
    given = budget.horizon
    if budget.user_examples_max is not None:
        given = min(given, budget.users * budget.user_examples_max)
        cap = max(cap, budget.horizon * enough // given)
    cap = min(cap, budget.horizon)
    choices = (
        _epochs(1 << doublings, cap, given, rules, draft) for doublings in range(cap.bit_length())
    )
    best = min(choices, key=lambda epochs: epochs.mistakes)
    users = budget.user_examples_max is not None
    return draft.made(
        best.first, best.mistakes, buffer="examples", schedule_cap=cap,
        background_max=best.kept if users else 0,
        memory=StandingSettings(math.ceil(STANDING / float(draft.rate))),
    )  # fmt: skip


def _epochs(first: int, cap: int, given: int, rules: int, draft: ScheduledDraft) -> _Epochs:
    """What is to be expected of a first epoch where so many examples of a season may be kept."""
    horizon, decay, kept = draft.budget.horizon, draft.decay, cap
    if draft.budget.user_examples_max is not None:
        calls = scheduled_calls(first, horizon, cap)
        kept = max(1, min(cap, BACKGROUND_EXAMPLES_NOISY, given // max(calls, 1)))

    def error(examples: int) -> float:
        return drawn_error(rules, decay, min(examples, kept))

    mistakes = season_mistakes(first, horizon, USUAL_SHARE, always(1.0), error, cap)
    return _Epochs(first, cap, kept, mistakes)
