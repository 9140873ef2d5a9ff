"""The search for a plan of a learner of one-way sequences, and what is proven of its rules.

*What is proven*, of examples that are independent, of one law, with labels of one seed's rule: with
probability 1 - beta a published rule errs on an example with probability at most alpha (Bun,
Theorem 16, with every constant). Four things may fail, beta / 3 for each of the last three.

*Forged strings* have label 0, as far as nobody guesses a label of 128 bits. So all examples with
label 1 name the same string and bit, and a rule that continues it from i on errs on the points with
label 1 and an index below i alone. "Never" errs on those with label 1.

*The index*: its distance from the rank T (`littled.learners.minimum.draws`) is at most g, the
margin of robust minima. Then T - g examples or more name the string, or i is "never"; and T + g
examples or fewer are below i.

*The votes*: with T = V + g the V of them or more pass the threshold B but for exp(-e (V - B)).

*The sample*: let j be the least index with more than alpha of all examples below it and with label
1. The number of these examples has at least the law Bin(n, alpha). If the drawn index is j or more,
M = T + g examples or fewer are below j: P[Bin(n, alpha) <= M]. M is the margin.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, get_args

from littled.classes.capabilities import needed
from littled.learners.minimum import MinimumMethod
from littled.learners.sequences import SequencesParameters
from littled.planner.budgets import Budget
from littled.planner.minimum.search import (
    SHARES,
    exponential_margin,
    part_of,
    splits,
    stable_margin,
)
from littled.planner.sequences.plan import SequencesPlan, SequencesRequest
from littled.planner.window_values import Margin, ValuePlanning, common
from littled.portable import exp, log

# What may fail, beta / 3 each.
FAILURES = 3
ERROR_STEPS = 1 << 20
# Shares of a budget for the votes, of 20, that are tried.
VOTE_SHARES = {"exponential": range(1, SHARES), "stable": range(4, 11)}


@dataclass(frozen=True, slots=True)
class _Votes:
    """Rate and threshold of the histogram, and V, how many votes pass it."""

    rate: Fraction
    threshold: int
    enough: int


class SequencesPlanning(ValuePlanning[SequencesRequest, SequencesPlan]):
    """How learners of one-way sequences are planned."""

    methods: ClassVar[tuple[str, ...]] = get_args(MinimumMethod)

    def misfit(self, request: SequencesRequest, method: str) -> str | None:
        """Needs rules that continue a string."""
        if request.hypotheses.sequences is None:
            return f"{request.hypotheses.name} has no rules that continue a string"
        return None

    def margin(
        self, request: SequencesRequest, budget: Budget, method: str, n: int
    ) -> Margin | None:
        """M, and the rates that are planned for it."""
        if not budget.selection_rate(1):
            return None
        found = self._margins(request, budget, method)
        return min(found, key=lambda margin: margin.examples, default=None)

    def _margins(self, request: SequencesRequest, budget: Budget, method: str) -> Iterator[Margin]:
        bits = needed(request.hypotheses.sequences).index_bits
        beta, pure = float(request.beta) / FAILURES, budget.accounting == "pure"
        if method == "stable":  # two draws may each say what one example says alone
            budget = replace(budget, delta=budget.delta / 2)
        # both were rounded down already: of the two of a part, the lesser holds
        rate, histogram = budget.selection_rate(1), budget.histogram_rate(1)
        for share in VOTE_SHARES[method]:
            votes = _votes(budget, part_of(histogram, share, pure=pure), beta)
            index = part_of(rate, SHARES - share, pure=pure)
            if votes is None or not index:
                continue
            if method == "stable":
                parts = splits(index, pure=pure)
                options = [stable_margin(bits, each, budget, beta) for each in parts]
            else:
                options = [Margin(exponential_margin(bits, index, beta), {"rate": index})]
            if options:
                best = min(options, key=lambda margin: margin.examples)
                yield _whole(best, votes)

    def planned(
        self,
        request: SequencesRequest,
        budget: Budget,
        method: str,
        n: int,
        margin: Margin,
        alpha: Fraction,
    ) -> SequencesPlan | None:
        """The plan; its ranks have to be within the window."""
        own = dict(margin.own)
        rank, span = own["rank"], own.get("span", 0)
        if margin.examples > n or rank + span > n or span > rank:
            return None
        parameters = SequencesParameters(**common(budget, method, n, own.pop("rate")), **own)
        return SequencesPlan(request.name, request.hypotheses, parameters, request.words)

    def error(self, request: SequencesRequest, margin: Margin, n: int) -> Fraction:
        """The least alpha, of multiples of 2^-20, with P[Bin(n, alpha) <= M] <= beta / 3."""
        beta = float(request.beta) / FAILURES
        low, high = 0, ERROR_STEPS
        while high > low + 1:
            middle = (low + high) // 2
            few = rarely(n, Fraction(middle, ERROR_STEPS), margin.examples, beta)
            low, high = (low, middle) if few else (middle, high)
        return Fraction(high, ERROR_STEPS)

    def examples_for(self, request: SequencesRequest, margin: Margin, alpha: Fraction) -> int:
        """The least n whose `error` with this margin is at most alpha."""
        low = math.ceil(margin.examples / alpha) - 1
        high = 2 * low + 2
        while self.error(request, margin, high) > alpha:
            high *= 2
        while high > low + 1:
            middle = (low + high) // 2
            enough = self.error(request, margin, middle) <= alpha
            low, high = (low, middle) if enough else (middle, high)
        return high


def rarely(n: int, share: Fraction, most: int, beta: float) -> bool:
    """Whether P[Bin(n, share) <= most] <= beta, by the bound of Chernoff and Hoeffding.

    exp(-n D(most / n || share)) for most < n share, D the relative entropy.
    """
    if most >= n or Fraction(most, n) >= share:
        return False
    if share == 1:
        return True
    p, q = most / n, float(share)
    entropy = (1 - p) * (log(1 - p) - log(1 - q))
    if p:
        entropy += p * (log(p) - log(q))
    return n * entropy >= -log(beta)


def _votes(budget: Budget, rate: Fraction, beta: float) -> _Votes | None:
    """The histogram of this rate, and the least V with P[V + nu < B] <= beta."""
    if not rate:
        return None
    threshold = budget.histogram_threshold(rate)
    # P[nu <= -(V - B + 1)] = exp(-e (V - B + 1)) / (1 + exp(-e))
    beyond = -log(beta * (1 + exp(-float(rate)))) / float(rate)
    return _Votes(rate, threshold, max(1, threshold - 1 + math.ceil(max(beyond, 1))))


def _whole(index: Margin, votes: _Votes) -> Margin:
    """M = V + 2 g, with the rank T = V + g and everything that follows from it."""
    span = index.own.get("span", 0)
    rank = max(votes.enough + index.examples, span)
    own: dict[str, Any] = {
        **index.own,
        "rank": rank,
        "vote_rate": votes.rate,
        "threshold": votes.threshold,
    }
    return Margin(rank + index.examples, own)
