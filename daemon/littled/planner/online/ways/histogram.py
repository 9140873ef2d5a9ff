"""Histogram selection: every id whose noisy count of mistakes passes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.histogram import Histogram
from littled.learners.online.values import EpochSettings
from littled.planner.online.histograms import Setting, passes
from littled.planner.online.request import OnlineRequest
from littled.planner.online.schedules import QUANTILES, Share, always, planned
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import EXCEEDANCES, Draft
from littled.planner.online.ways.scheduled import ScheduledDraft, ScheduledWay
from littled.portable import total


class HistogramWay(ScheduledWay):
    """Ids are flipped.

    With a schedule it may keep its trigger, if that is reckoned to be better. How rare ids are is
    not known, so that an id may have to wait for the end of a long epoch; a trigger counts its
    mistakes and does not make it wait.
    """

    name = selection = "histogram"
    words = "every id whose noisy count of mistakes passes"
    small: ClassVar[Mapping[str, Small]] = {
        "histogram": ("points:8", {"selection": "histogram"}),
        "histogram-noisy": ("points:8", {"selection": "histogram", "noise_rate": Fraction(1, 10)}),
        "histogram-scheduled": ("points:8", {"selection": "histogram", "adversary": "none"}),
    }
    may_keep_trigger = True

    def is_of(self, selection: Selection) -> bool:
        """Where ids are flipped."""
        return isinstance(selection, Histogram)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class of other rules than sets."""
        if (reason := super().refusal(request)) or request.hypotheses.id_sets is not None:
            return reason
        return (
            f"{request.hypotheses.name} has no rules that are sets of ids; use points or "
            "sparse_sets, or another selection"
        )

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Other rules."""
        if request.hypotheses.id_sets is None:
            yield "the rules are no sets of ids"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """Every id that passes is flipped: points and sparse sets, by fresh selections.

        The ladder is the best of those that `littled.planner.online.histograms` tries. What is
        proven is for realizable streams, whoever chooses them, from the empty set on. Only members
        that the published set lacks are candidates then, so a call is never wrong. Let n be
        missing. An epoch of s_n mistakes or more finds one of them except with probability f, and
        by more than b an epoch fires early with probability f + m at the most: so one is found at a
        rung with U >= s_n + b, or before, and epochs that find none have fewer than s_n mistakes. A
        call that finds something is followed by the first rung. So for every n there is one such
        climb at the most, each epoch of which takes min(U, s_n) mistakes and the trigger's delay,
        and the last one U.

        With noise nothing is proven. Noise alone climbs the ladder then, so the last rung is
        reckoned with, and that honest noise strays by its standard deviation over a season.
        """
        noise, members = (
            float(draft.request.noise_rate),
            draft.request.hypotheses.littlestone_dimension,
        )
        rate = draft.budget.histogram_rate(2 if noise else 1)
        if rate <= 0:
            return
        trigger, failure = draft.trigger, draft.failure / members
        bottom = draft.budget.histogram_threshold(rate, apart=not noise)
        setting = Setting(
            trigger.rate, float(rate), bottom, members, draft.budget.horizon, last=0
        )  # fmt: skip
        needed = setting.needed(failure)
        # threshold's and step's noise together, as far as any step may be, or each at its worst
        early = min(
            trigger.early(failure + EXCEEDANCES[0]),
            math.ceil(trigger.undershoot(members, failure) + trigger.reach(EXCEEDANCES[0])),
        )
        setting = replace(setting, last=needed[-1] + early)
        expected, thresholds = setting.best_ladder()
        if noise:
            strays = math.sqrt(noise * (1 - noise) * draft.budget.horizon)
            yield _flipping(
                draft, rate, bottom, thresholds, members * (thresholds[-1] + strays), None
            )
            return
        most, epochs = setting.most_mistakes(needed, early, thresholds)
        most += trigger.delays(epochs, failure)
        yield _flipping(draft, rate, bottom, thresholds, expected, most)

    def scheduled(self, draft: ScheduledDraft) -> Estimate:
        """Every id that passes; with noise, examples on which the rule is right veto."""
        noise, members = draft.request.noise_rate, draft.request.hypotheses.littlestone_dimension
        rate = draft.alone.histogram_rate(2 if noise else 1)
        bottom = draft.budget.histogram_threshold(rate, apart=not noise)
        kept = draft.kept if noise else draft.mistakes
        clear = float(1 - 2 * noise) / members
        facts = clear, float(rate), float(bottom), float(kept)
        first, expected = planned(draft.budget.horizon, _laws, facts)
        return draft.made(
            first, expected,
            selection_rate=rate, bottom_score=bottom,
            buffer="examples" if noise else "mistakes",
            background_max=kept if noise else 0,
            mistakes_max=0 if noise else kept,
        )  # fmt: skip


def _flipping(
    draft: Draft,
    rate: Fraction,
    bottom: int,
    thresholds: tuple[int, ...],
    expected: float,
    guaranteed: float | None,
) -> Estimate:
    """An estimate with a histogram; without noise the right examples need not be kept."""
    noise = draft.request.noise_rate
    parameters = draft.parameters(
        1, thresholds[0],
        buffer="examples" if noise else "mistakes",
        background_max=draft.background(1, "examples", bottom) if noise else 0,
        bottom_score=bottom,
        ladder=tuple(EpochSettings(threshold) for threshold in thresholds[1:]),
        fresh=True,
    )  # fmt: skip
    parameters = replace(parameters, calls_max=draft.fresh_calls, selection_rate=rate)
    # whoever chooses the examples, ids that pass are right where nothing vetoes
    return draft.made(parameters, expected, guaranteed, None if noise else expected)


def _laws(
    share: float, clear: float, rate: float, threshold: float, kept: float
) -> tuple[Share, Share]:
    def found(n: int) -> float:
        mean = min(n, kept) * share * clear
        gaps = threshold - mean - QUANTILES * math.sqrt(mean)
        return float(total(passes(rate, gaps)) / len(gaps))

    return found, always(0.0)
