"""The search for a plan of a learner of most frequent items, and what is proven of its items.

*What is proven*, whatever the examples are: if an item is reported by alpha n examples, and every
other one by alpha n fewer than it, then this item is drawn with probability 1 - beta (Bun,
Definition 14, with GAP = alpha n). The margin is G = alpha n.

*exponential*: each of N items has a weight of at most exp(-e G) of the right one's, so
N exp(-e G) <= beta is enough. *stable*: at most n - G other items are reported, and bottom has the
score B, so (n - G) exp(-e G) + exp(-e (G - B)) <= beta is.
"""

import math
from fractions import Fraction
from typing import ClassVar, get_args

from littled.classes.capabilities import needed
from littled.learners.most_frequent import MostFrequentMethod, MostFrequentParameters
from littled.learners.most_frequent.draws import draw_of
from littled.planner.budgets import Budget
from littled.planner.most_frequent.plan import MostFrequentPlan, MostFrequentRequest
from littled.planner.window_values import Margin, ValuePlanning, common
from littled.portable import exp, log

LN2 = log(2.0)


class MostFrequentPlanning(ValuePlanning[MostFrequentRequest, MostFrequentPlan]):
    """How learners of most frequent items are planned."""

    methods: ClassVar[tuple[str, ...]] = get_args(MostFrequentMethod)
    ratio: ClassVar[int] = 1

    def misfit(self, request: MostFrequentRequest, method: str) -> str | None:
        """What the learner itself would say."""
        stable = method == "stable"
        some = MostFrequentParameters(
            method, Fraction(1), 1, 1, Fraction(1), bottom_score=1 if stable else 0
        )
        try:
            draw_of(request.hypotheses, some)
        except ValueError as error:
            return str(error)
        return None

    def margin(
        self, request: MostFrequentRequest, budget: Budget, method: str, n: int
    ) -> Margin | None:
        """G, and the rate that is planned for it."""
        rate = budget.selection_rate(1)
        if not rate:
            return None
        beta = float(request.beta)
        if method != "stable":
            bits = needed(request.hypotheses.items).item_bits
            return Margin(exponential_margin(bits, rate, beta), {"rate": rate})
        bottom = max(1, budget.bottom_score(1, rate, 1))
        return Margin(stable_margin(n, rate, bottom, beta), {"rate": rate, "bottom_score": bottom})

    def planned(
        self,
        request: MostFrequentRequest,
        budget: Budget,
        method: str,
        n: int,
        margin: Margin,
        alpha: Fraction,
    ) -> MostFrequentPlan | None:
        """The plan; a window has to hold as many examples as the margin has."""
        if margin.examples > n:
            return None
        own = dict(margin.own)
        parameters = MostFrequentParameters(**common(budget, method, n, own.pop("rate")), **own)
        return MostFrequentPlan(request.name, request.hypotheses, parameters, request.words)


def exponential_margin(bits: int, rate: Fraction, beta: float) -> int:
    """Least G with 2^bits exp(-e G) <= beta."""
    return max(1, math.ceil((bits * LN2 - log(beta)) / float(rate)))


def stable_margin(n: int, rate: Fraction, bottom: int, beta: float) -> int:
    """Least G above B with (n - G) exp(-e G) + exp(-e (G - B)) <= beta."""
    e = float(rate)

    def enough(gap: int) -> bool:
        return max(n - gap, 0) * exp(-e * gap) + exp(-e * (gap - bottom)) <= beta

    step = 1
    while not enough(bottom + step):
        step *= 2
    low, high = bottom + step // 2, bottom + step
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
