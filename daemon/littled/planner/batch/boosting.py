"""How many rounds of boosting a window is for, and whether one stump would be better.

More rounds say more, and each has less of the budget. Which number is best follows from public
facts alone: how long a window is, what a number of draws costs, and among how many stumps is drawn.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from littled.classes.capabilities import AdditiveRules
from littled.learners.batch import BatchParameters
from littled.learners.batch.boosting import ROUND_RATE_MIN, Booster
from littled.planner.batch import estimates
from littled.planner.budgets import Budget

# Numbers of rounds that are tried: with fewer the first stump could never be outvoted.
ROUNDS = (4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64)
# Points of the first stump, a hundred being about one unit of the logarithm of the odds.
STEP = 110


def with_rounds(
    rules: AdditiveRules, base: BatchParameters, rate_of: Callable[[int], Fraction]
) -> BatchParameters | None:
    """The parameters with the number of rounds that is expected to err least; None without any.

    rate_of: the largest e of so many draws; 0 if there is none.
    """
    drafts = (
        replace(base, method="boosted", rate=rate, rounds=rounds, step=STEP)
        for rounds in ROUNDS
        if (rate := rate_of(rounds)) >= ROUND_RATE_MIN
    )
    return min(drafts, key=lambda draft: expected(rules, draft), default=None)


def expected(rules: AdditiveRules, p: BatchParameters) -> float:
    """Errors beyond a scorecard's without noise, as a share of examples."""
    return estimates.boosted_expected(p.rounds, candidates(rules), p.window, p.rate)


def stump_expected(rules: AdditiveRules, n: int, budget: Budget) -> float:
    """The same of one stump, whichever way its draw is booked."""
    rate = max(
        replace(budget, accounting="pure", trigger_share=0.0).selection_rate(1),
        replace(budget, accounting="zcdp").selection_rate(1),
    )
    return estimates.stump_expected(candidates(rules), n, rate) if rate else 1.0


def candidates(rules: AdditiveRules) -> int:
    """Stumps that a round draws from."""
    return Booster(rules, 1, 1).candidates


def least_window(good: Callable[[int], bool], low: int, most: int) -> int | None:
    """The least number above `low`, which is not good, and up to `most` that is."""
    high = low
    while not good(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
