"""Closure selection: among the smallest rules around teachers' examples."""

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.closure import Closures
from littled.learners.online.values import EpochSettings
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import Share, always, outweighs, planned, spanning
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import Draft
from littled.planner.online.ways.scheduled import MISTAKES_MAX, ScheduledDraft, ScheduledWay

# Examples that a teacher holds at the rungs of the ladder: where the whole target has no more parts
# than its closure takes examples, a few first, then so many times `closure_examples`.
CLOSURE_FEW = (2, 4)
CLOSURE_PARTS = (1.1, 2.2, 4.4)
# Where it has more parts, a few examples leave too many of them out.
MANY_PARTS = (1.3, 1.8, 3.6)
# Share of teachers that come to the same closure once they hold `closure_examples` examples.
AGREEING_SHARE = 0.8
# Shares of teachers that a closure may need, of those that would outweigh bottom.
TEACHERS_PARTS = (1.1, 1.2, 1.35, 1.6)


class ClosureWay(ScheduledWay):
    """Teachers propose closures."""

    name = selection = "closure"
    words = "among the smallest rules around teachers' examples"
    small: ClassVar[Mapping[str, Small]] = {
        "closure": ("conjunctions:3", {"selection": "closure"}),
        "closure-scheduled": ("conjunctions:3", {"selection": "closure", "adversary": "none"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Where closures are proposed."""
        return isinstance(selection, Closures)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class without closures."""
        if (
            reason := super().refusal(request)
        ) or request.hypotheses.intersection_closed is not None:
            return reason
        return f"{request.hypotheses.name} has no closures; use dense or sparse"

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No closures, noisy labels, or an adversary that sees the rule."""
        if request.hypotheses.intersection_closed is None:
            yield "the class is not closed under intersection"
        if request.noise_rate:
            yield "one wrong label spoils a closure: it needs noise_rate 0"
        if request.adversary == "adaptive":
            yield "no majority of closures is defined, which an adaptive adversary calls for"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Teachers propose the closure of the published rule and of their own positive examples.

        What the published rule already says is not lost when older examples are forgotten, so
        selections are fresh. The ladder: first every example is a teacher of its own, which finds
        one part more when all mistakes agree on it; if that fails, a few examples each; then as
        many as usually span the whole target, and more. Expected mistakes are the worse of two
        streams: parts revealed one at a time, and all at once but in clusters, so that teachers
        need the second rung that spans the whole. Nothing is proven about others.
        """
        hypotheses = draft.request.hypotheses
        parts = hypotheses.littlestone_dimension
        enough = needed(hypotheses.intersection_closed).closure_examples
        rate = draft.budget.list_rate(1, draft.fresh_calls)
        if rate <= 0:
            return
        bottom = draft.budget.list_bottom_score(rate, draft.fresh_calls)
        votes = bottom + 2 / float(rate)
        teachers = math.ceil(votes / AGREEING_SHARE)
        threshold = math.ceil(votes + draft.early)
        few, whole = (CLOSURE_FEW, CLOSURE_PARTS) if parts < enough else ((), MANY_PARTS)
        examples = (*few, *(enough * part for part in whole))
        ladder = tuple(
            EpochSettings(max(threshold, math.ceil(m * teachers)), teachers) for m in examples
        )
        parameters = draft.fresh(
            threshold, bottom, ladder,
            keep="mistakes", selection_rate=rate, starts_over=True, starts_over_together=True,
        )  # fmt: skip
        together = threshold + sum(
            settings.trigger_threshold for settings in ladder[: len(few) + 2]
        )
        yield draft.made(parameters, max(parts * threshold, together), None)

    def scheduled(self, draft: ScheduledDraft) -> Estimate | None:
        """The closures of teachers, as many as find the target soonest.

        Users are in several calls, so that fewer calls leave more for each: after a plan for the
        most that there can be, as few are paid for as will do.
        """
        found = _in_calls(draft, draft.most_calls)
        if found is None or not draft.budget.user_examples_max:
            return found
        for calls in range(found.plan.parameters.calls_max, draft.most_calls):
            fewer = _in_calls(draft, calls)
            if fewer is not None and fewer.plan.parameters.calls_max <= calls:
                return fewer
        return found


def _in_calls(draft: ScheduledDraft, calls: int) -> Estimate | None:
    """The best plan at a rate that pays for so many calls."""
    enough = needed(draft.request.hypotheses.intersection_closed).closure_examples
    rate = draft.alone.list_rate(1, calls)
    if rate <= 0:
        return None
    bottom = draft.budget.list_bottom_score(rate, calls)
    votes = bottom + 2 / float(rate)
    found = []
    for part in TEACHERS_PARTS:
        teachers = math.ceil(part * votes)
        facts = float(teachers), float(enough), float(rate), float(bottom)
        found.append((*planned(draft.budget.horizon, _laws, facts), teachers))
    first, expected, teachers = min(found, key=lambda plan: plan[1])
    return draft.made(
        first, expected,
        selection_rate=rate, buffer="mistakes", mistakes_max=draft.mistakes, teachers=teachers,
        list_cap=1, bottom_score=bottom, starts_over=True, starts_over_together=True,
    )  # fmt: skip


def _laws(
    share: float, teachers: float, enough: float, rate: float, bottom: float
) -> tuple[Share, Share]:
    def found(n: int) -> float:
        load = min(n * share, MISTAKES_MAX) / teachers
        return outweighs(teachers, spanning(load, enough), rate, bottom)

    return found, always(0.0)
