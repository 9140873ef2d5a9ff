"""Sparse selection: among the rules that single examples propose."""

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.proposals import Proposing
from littled.learners.online.values import EpochSettings
from littled.planner.bounds import calls_expected, fires_beyond
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import Share, drawn_error, outweighs, planned
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import CALLS, Draft, short_rate
from littled.planner.online.ways.scheduled import ScheduledDraft, ScheduledWay
from littled.portable import log
from littled_protocol import limits


class SparseWay(ScheduledWay):
    """Each example proposes a short list of rules."""

    name = selection = "sparse"
    words = "among rules that examples propose"
    small: ClassVar[Mapping[str, Small]] = {
        "sparse": ("prefixes:8", {"selection": "sparse"}),
        "sparse-scheduled": ("prefixes:8", {"selection": "sparse", "adversary": "none"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Where examples propose."""
        return type(selection) is Proposing  # those with a memory of blocks are another way

    def is_open(self, request: OnlineRequest) -> bool:
        """Not to a request with a number of teachers."""
        return super().is_open(request) and request.teachers is None

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class whose examples do not propose rules."""
        if request.hypotheses.proposing is not None:
            return None
        return (
            f"{request.hypotheses.name} has no short list of rules per example, so sparse "
            "selection needs a number of teachers, for example teachers = 200"
        )

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No short lists."""
        if request.hypotheses.proposing is None:
            yield "an example does not propose a short list of rules"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """By what is known of the labels."""
        return _noisy(draft) if draft.request.noise_rate else _proposed(draft)

    def scheduled(self, draft: ScheduledDraft) -> Estimate:
        """The path of rules that positive examples propose; negative ones veto."""
        list_cap = needed(draft.request.hypotheses.proposing).proposals_per_example
        bottom = draft.budget.bottom_score(list_cap, draft.rate, 1)
        kept = draft.kept
        facts = float(list_cap), draft.decay, float(draft.rate), float(bottom), float(kept)
        first, expected = planned(draft.budget.horizon, _laws, facts)
        return draft.made(
            first, expected,
            buffer="examples", background_max=kept, list_cap=list_cap, bottom_score=bottom,
        )  # fmt: skip


def _proposed(draft: Draft) -> Iterator[Estimate]:
    """Positive examples propose a path of rules each: prefixes, by fresh selections.

    A path is searched like the rules of a dense class; how often that can fail is modelled, not
    proven. Epochs without positive examples propose nothing, so the ladder lengthens them.
    """
    list_cap = needed(draft.request.hypotheses.proposing).proposals_per_example
    draws = 1
    if draft.request.adversary == "adaptive":
        draws = draft.majority_draws(1 / 4, draft.failure / 16)
    rate = draft.budget.selection_rate(draws)
    if rate <= 0 or draws > limits.majority_members_max:
        return
    bottom = draft.budget.bottom_score(list_cap, rate, draws, apart=True)
    threshold = math.ceil(bottom + 2 / rate + draft.early)
    ladder = tuple(EpochSettings(threshold << height) for height in (1, 2, 3))
    parameters = draft.fresh(threshold, bottom, ladder, list_cap, draws)
    usual = fires_beyond(log(list_cap), short_rate(float(rate)), threshold, draft.trigger.rate)
    yield draft.made(parameters, calls_expected(usual) * threshold, None, draft.endless)


def _noisy(draft: Draft) -> Iterator[Estimate]:
    """Labels that contradict every rule at the noise rate: heuristics, nothing proven."""
    list_cap = needed(draft.request.hypotheses.proposing).proposals_per_example
    for calls in CALLS:
        rate = draft.budget.selection_rate(calls)
        if rate <= 0:
            break
        bottom = draft.budget.bottom_score(list_cap, rate, calls)
        parameters = draft.sparse(calls, 1, list_cap, bottom)
        seen = bottom + log(list_cap / draft.failure) / float(rate)
        yield from draft.by_calls(parameters, seen, list_cap, 6.0)


def _laws(
    share: float, rules: float, decay: float, rate: float, bottom: float, kept: float
) -> tuple[Share, Share]:
    return (
        lambda n: outweighs(min(n, kept), share, rate, bottom),
        lambda n: drawn_error(rules, decay, min(n, kept)),
    )
