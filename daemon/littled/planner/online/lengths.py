"""How to search for the length of a block with the fewest mistakes, whoever chooses the stream.

A search is a tree. With n lengths left and the constant 0 published, blocks of lengths p_1 < ... <
p_j among 0..n - 1 are proposed, which takes U mistakes. What is left is then

- after a bottom the lengths below p_1: the search goes on with p_1 of them;
- after the block of p_i those up to the one before p_(i + 1), and it is published. If it errs, with
  V mistakes, either the right block is longer, and the search goes on with the lengths above p_i,
  or it is shorter, and the p_i lengths below are halved with V mistakes each time.

If no mistake follows, the right length was found. A path through the tree costs what its epochs
take; noise and wrong draws are no part of it.

*The best lists* (`length_plan`). Let z(n) be the cost of the worst path with the best lists of at
most k lengths: z(0) = 0. It rises with n, since lists for n + 1 lengths without one of them are
lists for n. A cost v suffices for n if p_1 <= A, p_(i + 1) - p_i - 1 <= R, n - 1 - p_j <= R and
p_j <= Q, where A, R and Q are the most lengths that may be left below p_1, above a block, and below
one. As each bound is a highest place for the next length, or for the last, lists with the highest
places that these bounds allow reach n with the fewest lengths. So z(n) is found by bisection over
v, exactly: all costs are integers.

**What is proven** (`searched`). Let some block, or the constant 0, fit all examples, chosen by
whoever sees all releases. F is the most fires of a path through the tree; x, y and the parts p of
the failure probability are as in `littled.planner.online.chains`, e_s is the rate of a draw and B
bottom's score. k lengths are proposed at once, of which each loses s = ln(1 + 2 F / p_3) / e_s for
each longer one. With U = x + y + B + (k - 1) s + ln(2 F / p_3) / e_s and V = x + y + ln(F / p_3) /
e_s, rounded up, but for p_1 + p_2 + p_3 + p_4 the mistakes of a memory's first season are at most
z(bits + 1) + 2 (F ln 3 - ln p_4) / e_t.

1. As for chains, each fire of the first F epochs has seen at least U - x - y, or V - x - y,
   mistakes.
2. The constant 0 errs on points of the target only. So its M mistakes are positives of the target,
   all of them in one block of the longest proposed length that is no longer than the target's. That
   is the i-th of j lengths, and the block's score is M - (j - i) s. Bottom is drawn then with at
   most exp(-e_s (M - (j - i) s - B)) <= p_3 / (2 F), and a shorter block with at most the sum of
   exp(-e_s q s) over q >= 1, which is p_3 / (2 F). So but for p_3 / F a bottom means that the
   target is shorter than all proposed lengths, and a block that it is shorter than the next longer
   one. The block lies around the target or in it, as both have a point in common.
3. A block that is published errs on one side only, as in halving: with at most p_3 / F a draw
   between false positives and false negatives takes the wrong one.
4. So the search follows a path through the tree, with at most F fires, and each epoch waits for its
   threshold and for `TriggerNoise.delays`.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from littled.planner.bounds import TriggerNoise
from littled.planner.online.chains import Failure
from littled.portable import log, log1p

# Lengths that are proposed at once; with more of them bottoms and longer blocks take longer.
LENGTHS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class LengthPlan:
    """The lists of a search, and what the search takes.

    `cuts`: by the number n of lengths left, the places of those that are proposed, as
    `LengthSettings` has them. `worst_mistakes`: the thresholds that a path comes to at most;
    `epochs`: how many fires it has at the most.
    """

    cuts: tuple[tuple[int, ...], ...]
    worst_mistakes: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Searched:
    """A search with thresholds `up` (U) and `down` (V), and the mistakes that are proven at most.

    `step`: what a block loses for each longer length that is proposed with it, in scores.
    """

    up: int
    down: int
    step: int
    plan: LengthPlan
    mistakes: float


def searched(
    bits: int, trigger: TriggerNoise, rate: float, bottom: int, failure: float
) -> Searched | None:
    """The search among the lengths 0..bits whose thresholds make the proof hold.

    None if no number of epochs that was tried is enough for its own thresholds.
    """
    best = None
    epochs = 2 * (bits + 1).bit_length() + 1
    while True:
        parts = Failure.divided(failure, epochs, trigger.rate, rate)
        noise = trigger.reach(parts.reach) + trigger.undershoot(epochs, parts.undershoot)
        step = math.ceil(log1p(2 * epochs / parts.draws) / rate)
        clear = bottom + (LENGTHS_AT_ONCE - 1) * step + log(2 * epochs / parts.draws) / rate
        up = math.ceil(noise + clear)
        down = math.ceil(noise + log(epochs / parts.draws) / rate)
        plan = length_plan(bits, up, down, LENGTHS_AT_ONCE)
        if plan.epochs > epochs:
            return best
        mistakes = plan.worst_mistakes + trigger.delays(plan.epochs, parts.delays)
        best = Searched(up, down, step, plan, mistakes)
        if plan.epochs == epochs:
            return best
        epochs = plan.epochs


@lru_cache(maxsize=1024)
def length_plan(bits: int, up: int, down: int, at_once: int) -> LengthPlan:
    """The best search among the lengths 0..bits, with at most so many proposed at once.

    `up` and `down` are U and V, at least 1: the thresholds while the constant 0, and while a block
    is published. ValueError for other numbers.
    """
    if not (bits >= 0 and up >= 1 and down >= 1 and at_once >= 1):
        raise ValueError("a search needs lengths, thresholds and lists of at least 1")
    costs = [0]
    cuts: list[tuple[int, ...]] = [()]
    for left in range(1, bits + 2):
        cost, places = _best(costs, left, up, down, at_once)
        costs.append(cost)
        cuts.append(places)
    return LengthPlan(tuple(cuts), costs[-1], _epochs(cuts))


def _best(
    costs: Sequence[int], left: int, up: int, down: int, at_once: int
) -> tuple[int, tuple[int, ...]]:
    """The least cost that suffices for so many lengths, and the places that are proposed then.

    Enough is what a list of the longest length alone takes: the search goes on with the others
    after a bottom, or halves them.
    """
    least, most = up, up + max(costs[-1], _halving(left - 1, down))
    while least < most:
        middle = (least + most) // 2
        if _places(costs, left, middle, up, down, at_once) is None:
            least = middle + 1
        else:
            most = middle
    places = _places(costs, left, least, up, down, at_once)
    assert places is not None
    return least, places


def _places(
    costs: Sequence[int], left: int, cost: int, up: int, down: int, at_once: int
) -> tuple[int, ...] | None:
    """The highest places that the cost suffices for, if there are few enough of them."""
    below_first = bisect_right(costs, cost - up) - 1
    above = max(bisect_right(costs, cost - up - down) - 1, 0)
    below = (1 << (cost - up) // down) - 1
    highest = min(below, left - 1)
    places = [min(below_first, highest)]
    while left - 1 - places[-1] > above:
        place = min(places[-1] + above + 1, highest)
        if place == places[-1] or len(places) == at_once:
            return None
        places.append(place)
    return tuple(places)


def _halving(left: int, down: int) -> int:
    """The cost of a block that is published and too long, with so many lengths below it."""
    return down * left.bit_length()


def _epochs(cuts: Sequence[Sequence[int]]) -> int:
    """The most fires of a path through the tree."""
    fires = [0]
    for left, places in enumerate(cuts[1:], start=1):
        above = [after - place - 1 for place, after in pairwise((*places, left))]
        found = [1 + fires[count] for count in above if count]
        halved = [place.bit_length() for place in places if place]
        fires.append(1 + max([fires[places[0]], *found, *halved]))
    return fires[-1]
