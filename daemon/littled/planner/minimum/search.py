"""The search for a plan of a learner of robust minima, and what is proven of its numbers.

*What is proven*, whatever the examples are: with probability 1 - beta the distance of the drawn
number (`littled.learners.minimum.draws`) is at most the margin g. With T - g >= alpha n and
T + g <= 2 alpha n it is an alpha-robust minimum (Bun, Definition 12) where examples with label 0
stand for a number beyond all others; among equal numbers, at least alpha n are up to it and at most
2 alpha n below.

*exponential*: each of N = 2^bits + 1 numbers of distance above g has a weight of at most
exp(-e (g + 1)) of the best one's, so N exp(-e (g + 1)) <= beta is enough.

*stable*: each of three draws may fail with beta / 3. With M = 2w and c = `least_count`: some length
has a score of (M - c) / 2 or more, as the last one with m >= (M + c) / 2 has, and m(0) = M. So a
drawn one has a score above 0 if (bits + 2) exp(-e_1 (M - c) / 2) is small. Then some prefix has
c + 1 examples or more, and bottom loses if exp(-e_2 (c + 1 - B)) is. A block of this length that
holds an example of the span has an end that lies among the span's examples: its first number if one
of them is before the block, its last one if one is behind it, and else its middle, as m(l + 1) < M.
The distance of this end is w - 1 or less, so a drawn end has g or less if 3 exp(-e_3 (g + 2 - w))
is small.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, get_args

from littled.classes.capabilities import needed
from littled.learners.minimum import MinimumMethod, MinimumParameters
from littled.planner.budgets import Budget, rate_below
from littled.planner.minimum.plan import MinimumPlan, MinimumRequest
from littled.planner.window_values import Margin, ValuePlanning, common
from littled.portable import log

LN2 = log(2.0)
# Shares of a budget are multiples of 1 / 20.
SHARES = 20


@dataclass(frozen=True, slots=True)
class Split:
    """Rates of the draws of a length, of a prefix and of a number, together within a budget."""

    length: Fraction
    prefix: Fraction
    number: Fraction


class MinimumPlanning(ValuePlanning[MinimumRequest, MinimumPlan]):
    """How learners of robust minima are planned."""

    methods: ClassVar[tuple[str, ...]] = get_args(MinimumMethod)
    ratio: ClassVar[int] = 2

    def misfit(self, request: MinimumRequest, method: str) -> str | None:
        """Needs rules that say 1 from a number on."""
        if request.hypotheses.least_numbers is None:
            return f"{request.hypotheses.name} has no rules that say 1 from a number on"
        return None

    def margin(self, request: MinimumRequest, budget: Budget, method: str, n: int) -> Margin | None:
        """g, and the rates that are planned for it."""
        rate = budget.selection_rate(1)
        if not rate:
            return None
        bits = needed(request.hypotheses.least_numbers).number_bits
        beta = float(request.beta)
        if method != "stable":
            return Margin(exponential_margin(bits, rate, beta), {"rate": rate})
        found = (
            stable_margin(bits, split, budget, beta)
            for split in splits(rate, pure=budget.accounting == "pure")
        )
        return min(found, key=lambda margin: margin.examples)

    def planned(
        self,
        request: MinimumRequest,
        budget: Budget,
        method: str,
        n: int,
        margin: Margin,
        alpha: Fraction,
    ) -> MinimumPlan | None:
        """The plan with its rank T in the middle of what alpha allows."""
        least, most = max(1, math.ceil(alpha * n)), math.floor(2 * alpha * n)
        rank = (least + most) // 2
        span = margin.own.get("span", 0)
        if most > n or min(rank - least, most - rank) < margin.examples:
            return None
        if rank + span > n or span > rank:
            return None
        own = dict(margin.own)
        parameters = MinimumParameters(
            **common(budget, method, n, own.pop("rate")), rank=rank, **own
        )
        return MinimumPlan(request.name, request.hypotheses, parameters, request.words)


def exponential_margin(bits: int, rate: Fraction, beta: float) -> int:
    """Least g >= 0 with (2^bits + 1) exp(-e (g + 1)) <= beta."""
    numbers = bits * LN2 + log(1 + 2.0**-bits)
    return max(0, math.ceil((numbers - log(beta)) / float(rate)) - 1)


def stable_margin(bits: int, split: Split, budget: Budget, beta: float) -> Margin:
    """Least g of these rates, and what they need."""
    bottom = max(1, budget.bottom_score(1, split.prefix, 1))
    least = math.ceil(bottom - 1 + log(3 / beta) / float(split.prefix))
    lengths = 2 * log(3 * (bits + 2) / beta) / float(split.length)
    span = math.ceil((least + lengths) / 2)
    examples = max(0, math.ceil(span - 2 + log(9 / beta) / float(split.number)))
    own: dict[str, Any] = {
        "rate": split.number,
        "span": span,
        "length_rate": split.length,
        "prefix_rate": split.prefix,
        "bottom_score": bottom,
        "least_count": least,
    }
    return Margin(max(examples, span - 1), own)


def part_of(rate: Fraction, share: int, *, pure: bool) -> Fraction:
    """The rate of what costs a part, in twentieths, of what this rate does."""
    if pure:
        return rate_below(rate * Fraction(share, SHARES))
    return rate_below(float(rate) * math.sqrt(share / SHARES) * (1 - 1e-9))


def splits(rate: Fraction, *, pure: bool) -> list[Split]:
    """Ways to divide what one draw of this rate costs among three."""
    found = []
    for a, b in product(range(1, SHARES - 1), repeat=2):
        shares = (a, b, SHARES - a - b)
        if shares[2] < 1:
            continue
        parts = [part_of(rate, share, pure=pure) for share in shares]
        if all(parts):
            found.append(Split(*parts))
    return found
