"""A weighted majority of stumps, for streams that somebody chooses who sees each rule.

Utility only, and a model: nothing is proven of how many mistakes it makes. For each feature and
direction a chain of buckets + 1 thresholds is halved by convictions. Somebody who sees each rule
makes half of the chains err in an epoch, and nearly all of these are drawn; so a round of all of
them takes two epochs, log2(buckets + 1) rounds leave a stump in each, and log2 of the number of
chains is what is left then.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from littled.classes.capabilities import needed
from littled.learners.online.majority_memory import COUNTED_MAX, MajoritySettings
from littled.learners.online.selections.base import Selection
from littled.learners.online.selections.majority import WeightedMajority
from littled.learners.online.values import EpochSettings
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Estimate, Small
from littled.planner.online.ways.draft import Draft, TriggeredWay
from littled.portable import LN2, log, log2
from littled_protocol import limits

# Bits of weight that a conviction takes, and how many convictions are counted.
STEP, LEVELS = 6, 8
# Bottom outweighs all sets together by so much: so often nothing is convicted without mistakes.
DOUBT = 100
# Of a set of tests that err beside all sets: of F features with even weights the gap is F bits, and
# no more than so many count; with uneven ones it may be so many bits more.
GAP_BITS_MAX, SLACK_BITS = 16, 4
# Of the scores of two labels, each of which has half of an epoch's mistakes, beyond what tells a
# set that errs from all sets and from bottom, in multiples of 1/e.
MARGIN = 2.2
# After calls in a row that convicted nothing, in multiples of U: mistakes of both labels are
# spread.
GROWTH = (1.4, 2.0, 3.0)
# Steps of a season whose noise alone may be expected to fire.
EXCEEDANCES = 0.3
# Cells of a published scorecard, as no frame holds more than half as many values again.
CELLS_MAX = limits.frame_elements_max // 2


class MajorityWay(TriggeredWay):
    """The majority of all stumps, whose weights follow from what was released."""

    name = selection = "majority"
    words = "the majority of all stumps, whose weights follow from what was released"
    small: ClassVar[Mapping[str, Small]] = {
        "majority": ("stumps:2:2", {"selection": "majority"}),
    }

    def is_of(self, selection: Selection) -> bool:
        """Majorities."""
        return isinstance(selection, WeightedMajority)

    def refusal(self, request: OnlineRequest) -> str | None:
        """No class without stumps."""
        if request.hypotheses.cuts is None:
            return (
                f"the rules of {request.hypotheses.name} are no stumps, so majority does not apply"
            )
        return super().refusal(request)

    def reasons(self, request: OnlineRequest, *, users: bool) -> Iterator[str]:
        """No stumps, noise, or a stream for which another way is made."""
        rules = request.hypotheses.cuts
        if rules is None:
            yield "what convicts many rules at once is known only of thresholds of single features"
        elif rules.features * rules.buckets > CELLS_MAX:
            yield "a majority of so many stumps is longer than a frame"
        if request.noise_rate:
            yield "where labels are noisy they convict the right rules as well"
        if request.adversary == "none":
            yield "where examples are independent a schedule needs no memory"
        if users:
            yield "the majority of stumps protects single examples only, not users"

    def drafts(self, draft: Draft) -> Iterator[Estimate]:
        """An epoch long enough to tell sets of tests apart by the mistakes of one label."""
        rules = needed(draft.request.hypotheses.cuts)
        rate = draft.budget.selection_rate(1)
        if rate <= 0:
            return
        gap = min(rules.features, GAP_BITS_MAX)
        apart = gap * LN2 + log(DOUBT) + MARGIN
        seen = math.ceil(2 * apart / rate)
        threshold = max(seen, math.ceil(draft.trigger.reach(EXCEEDANCES)))
        memory = MajoritySettings(
            step=STEP,
            levels=LEVELS,
            cap=min(threshold, COUNTED_MAX),
            doubt=DOUBT,
            slack=gap + SLACK_BITS,
        )
        ladder = tuple(EpochSettings(math.ceil(factor * threshold)) for factor in GROWTH)
        parameters = draft.parameters(
            1, threshold, buffer="mistakes", fresh=True, memory=memory, ladder=ladder
        )
        parameters = replace(parameters, calls_max=draft.fresh_calls)
        epochs = 2 * log2(rules.buckets + 1) + log2(2 * rules.features)
        expected = epochs * threshold
        yield draft.made(parameters, expected, None, expected)
