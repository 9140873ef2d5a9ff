"""Dense selection, remembering the season: the plans are searched among exact tails of calls."""

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.dense import Dense
from littled.planner.bounds import (
    NEGLIGIBLE,
    adaptive_lowering,
    calls_expected,
    calls_needed,
    fires_beyond,
    poisson_quantile,
)
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import (
    CALLS,
    CALLS_MAX,
    EXCEEDANCES,
    MARGINS,
    Draft,
    TriggeredWay,
    short_rate,
)
from littled.portable import log, log2
from littled_protocol import limits

TOO_MANY_RULES = "the class has too many rules to weigh each of them"


class DenseWay(TriggeredWay):
    """All rules are weighed by all examples of the season."""

    name = selection = "dense"
    words = "among all rules of the class, remembering the season"
    small: ClassVar[Mapping[str, Small]] = {
        "dense": ("thresholds:2", {"selection": "dense"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Dense, and not fresh."""
        return isinstance(selection, Dense) and not selection.parameters.fresh

    def mistakes_a_change(self, estimate: Estimate) -> float | None:
        """All that was true before speaks against the new rule."""
        return float(estimate.plan.parameters.horizon)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class with too many rules."""
        return super().refusal(request) or too_many_rules(request, self.name)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """Too many rules, or independent examples."""
        if request.hypotheses.dense is None:
            yield TOO_MANY_RULES
        if request.adversary == "none" and not users:
            yield "where examples are independent, fresh knows as much at a lower price"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """By what is known of the stream."""
        if draft.request.noise_rate:
            return _noisy(draft)
        if draft.request.adversary == "adaptive":
            return _adaptive(draft)
        return _mistakes(draft) if draft.budget.user_examples_max else _oblivious(draft)


def too_many_rules(request: OnlineRequest, way: str) -> str | None:
    """What to say to somebody who asks for this way where rules cannot be weighed."""
    if request.hypotheses.dense is not None:
        return None
    return f"{request.hypotheses.name} has too many rules for {way} selection"


def _oblivious(draft: Draft) -> Iterator[Estimate]:
    """Oblivious adversary: one draw a call, the number of calls from its exact tail."""
    rules = log(needed(draft.request.hypotheses.dense).rule_count)
    trigger, failure = draft.trigger, draft.failure
    for exceedances in EXCEEDANCES:
        reach = trigger.reach(exceedances)
        spare = poisson_quantile(exceedances, failure)
        for margin in MARGINS:
            calls = _enough_calls(draft, rules, reach, margin, spare)
            if calls is None:
                continue
            rate = float(draft.budget.selection_rate(calls))
            threshold = math.ceil(reach + margin / rate)
            usual = fires_beyond(rules, short_rate(rate), threshold, trigger.threshold_rate)
            over = trigger.overshoot(calls, failure)
            yield draft.made(
                draft.parameters(calls, threshold, buffer="examples"),
                calls_expected(usual) * threshold,
                (calls + 1) * (threshold + over),
            )


def _mistakes(draft: Draft) -> Iterator[Estimate]:
    """Only the mistakes of published rules are remembered: what is kept of users lasts longer.

    They say nothing of rules that err elsewhere, so nothing is proven. About half of the rules
    that still fit are ruled out by the mistakes of one that was drawn; the number of calls that
    this takes strays by about its root.
    """
    halvings = log2(max(needed(draft.request.hypotheses.dense).rule_count, 2))
    for exceedances in EXCEEDANCES:
        spare = poisson_quantile(exceedances, draft.failure)
        calls = math.ceil(1 + halvings + 3 * math.sqrt(halvings)) + spare
        rate = float(draft.budget.selection_rate(calls))
        if rate <= 0:
            continue
        for margin in MARGINS:
            threshold = math.ceil(draft.trigger.reach(exceedances) + margin / rate)
            made = draft.parameters(calls, threshold, buffer="mistakes")
            yield draft.made(made, (1 + halvings) * threshold, None)


def _enough_calls(
    draft: Draft, rules: float, reach: float, margin: float, spare: int, draws: int = 1
) -> int | None:
    """The least number of calls that suffices at the rate that it leaves for each."""
    calls = max(2, math.ceil(rules))
    while calls <= CALLS_MAX:
        rate = float(draft.budget.selection_rate(calls * draws))
        if rate <= 0:
            return None
        seen = math.ceil(reach + margin / rate) - reach
        tails = fires_beyond(
            rules,
            short_rate(rate),
            round(seen, 1),
            draft.trigger.threshold_rate,
            max(draft.failure, NEGLIGIBLE),  # later ones change nothing here
        )
        needed = calls_needed(tails, draft.failure)
        if needed is None:
            return None
        if needed + spare <= calls:
            return calls
        calls = max(calls + 1, min(needed + spare, calls + calls // 2))
    return None


def _adaptive(draft: Draft) -> Iterator[Estimate]:
    """Adaptive adversary: the majority of R draws, every fire lowers the weights for sure."""
    hypotheses = draft.request.hypotheses
    rules = log(needed(hypotheses.dense).rule_count)
    trigger, failure = draft.trigger, draft.failure
    for exceedances in EXCEEDANCES:
        reach, spare = trigger.reach(exceedances), poisson_quantile(exceedances, failure)
        for deviation in (1 / 12, 1 / 8, 1 / 6, 1 / 5, 1 / 4, 1 / 3):
            for reached in (0.5, 1.0, 2.0, 4.0, 8.0):
                lowering = adaptive_lowering(1.0, reached, deviation)
                calls = math.ceil(rules / lowering) + 1 + spare if lowering else CALLS_MAX + 1
                draws = draft.majority_draws(deviation, failure / calls)
                if calls > CALLS_MAX or draws > limits.majority_members_max:
                    continue
                rate = float(draft.budget.selection_rate(calls * draws))
                if rate <= 0:
                    continue
                below = trigger.undershoot(calls, failure)
                threshold = math.ceil(reach + below + reached / rate)
                # what is proven needs the mistakes only
                keep = "mistakes" if draft.budget.user_examples_max else "examples"
                made = draft.parameters(calls, threshold, buffer=keep, draws=draws)
                most = (calls + 1) * (threshold + trigger.overshoot(calls, failure))
                expected = (calls - spare) * threshold
                yield draft.made(made, expected, most, expected)


def _noisy(draft: Draft) -> Iterator[Estimate]:
    """Labels that contradict every rule at the noise rate: heuristics, nothing proven."""
    rules = needed(draft.request.hypotheses.dense).rule_count
    for calls in CALLS:
        if draft.budget.selection_rate(calls) <= 0:
            break
        parameters = draft.parameters(calls, 1, buffer="examples")
        yield from draft.by_calls(parameters, 0.0, rules, 6.0)
