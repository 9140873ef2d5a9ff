"""Laboratory only: the lower bound for private learners of thresholds, as an audit.

Source: A, section 4 (Lemmas 17, 18, 20 and 21, Claim 22).

The proof has M pairwise neighbouring samples S_x, each with one example moved, and tells x from
what the learner publishes. Turned around that is an audit: under pure epsilon-privacy a guess of a
uniform x is right with p <= exp(epsilon) / (exp(epsilon) + M - 1), so

    epsilon >= ln((M - 1) p / (1 - p)).

The learner here is the exponential mechanism over all thresholds t = 0..k on points 0..k - 1, with
weight exp(rate) for each agreement; it is pure 2 rate.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

# Definition 16 allows A_S(x) to differ from p_i by 1 / (10^2 m).
TOLERANCE = Fraction(1, 100)

# A_S(x): the probability of label 1 at each point, for the increasing balanced sample at points S.
Marginals = Callable[[tuple[int, ...]], Sequence[Fraction]]


@dataclass(frozen=True, slots=True)
class Identified:
    """What the audit shows of one learner: bound on epsilon, and the exact worst log-ratio."""

    right: float
    samples: int
    bound: float
    exact: float


def identify(rate: float, size: int = 256, others: int = 3) -> Identified:
    """The best guess of which of the `size` - 2 neighbours a threshold was learned from.

    Half of the other examples are at the first point with label 0, half of them at the last with 1,
    and one example with label 1 is moved: the prototype's samples (`others` = 3).
    """
    low = (others + 1) // 2
    laws = []
    for moved in range(1, size - 1):
        scores = np.zeros(size + 1)
        for point, label in [(0, 0)] * low + [(size - 1, 1)] * (others - low) + [(moved, 1)]:
            says_one = np.arange(size + 1) <= point
            scores += says_one == bool(label)
        weights = np.exp(rate * (scores - scores.max()))
        laws.append(weights / weights.sum())
    law = np.array(laws)
    right = float(law.max(axis=0).sum() / len(law))
    exact = float(np.log(law.max(axis=0) / law.min(axis=0)).max())
    return Identified(right, len(law), bound_of(right, len(law)), exact)


def bound_of(right: float, samples: int) -> float:
    """The epsilon that a guess among so many neighbours, right so often, shows."""
    return math.log((samples - 1) * right / (1 - right)) if right < 1 else math.inf


# -- homogeneous sets, Claim 22, Lemma 20 --------------------------------------------------------


def exponential_law(sample: Sequence[tuple[int, int]], size: int, base: Fraction) -> list[Fraction]:
    """The law over thresholds t = 0..size; `base` is exp(rate)."""
    weights = [base ** sum((x >= t) == bool(y) for x, y in sample) for t in range(size + 1)]
    return [weight / sum(weights) for weight in weights]


def balanced(chosen: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The increasing balanced sample at these points."""
    return tuple((x, int(2 * i >= len(chosen))) for i, x in enumerate(chosen))


def marginals_of(size: int, base: Fraction) -> Marginals:
    """A_S of the exponential mechanism."""

    def marginals(chosen: tuple[int, ...]) -> list[Fraction]:
        law = exponential_law(balanced(chosen), size, base)
        found, below = [], Fraction(0)
        for x in range(size):
            below += law[x]
            found.append(below)
        return found

    return marginals


def probabilities(
    marginals: Marginals, chosen: tuple[int, ...], m: int
) -> tuple[Fraction, ...] | None:
    """The probabilities-list p_0..p_m of a homogeneous set; None if the set is not homogeneous.

    Where no point of the set has an order, p_i is the mean of its neighbours' bounds.
    """
    low, high = [Fraction(1)] * (m + 1), [Fraction(0)] * (m + 1)
    for sample in combinations(chosen, m):
        values = marginals(sample)
        for x in chosen:
            if x not in sample:
                order = sum(s <= x for s in sample)
                low[order], high[order] = (
                    min(low[order], values[x]),
                    max(high[order], values[x]),
                )
    if any(b - a > 2 * TOLERANCE / m for a, b in zip(low, high, strict=True)):
        return None
    return tuple((a + b) / 2 for a, b in zip(low, high, strict=True))


def largest_homogeneous(marginals: Marginals, size: int, m: int) -> tuple[int, ...]:
    """A largest m-homogeneous subset of `size` points (Definition 16), found from small to large.

    Every part of a homogeneous set is one, so sets are grown a point at a time. Sets of m points
    are homogeneous, as they have no point beside the sample.
    """
    grown: list[tuple[int, ...]] = list(combinations(range(size), m))
    while True:
        larger = [
            (*chosen, x)
            for chosen in grown
            for x in range(chosen[-1] + 1, size)
            if probabilities(marginals, (*chosen, x), m) is not None
        ]
        if not larger:
            return grown[0]
        grown = larger


def accuracy(marginals: Marginals, chosen: Sequence[int], m: int) -> Fraction:
    """The least expected accuracy on increasing balanced samples of the chosen points."""
    return min(
        sum((p if y else 1 - p for p, y in _labelled(marginals, sample)), Fraction(0)) / m
        for sample in combinations(chosen, m)
    )


def _labelled(marginals: Marginals, sample: tuple[int, ...]) -> Iterator[tuple[Fraction, int]]:
    values = marginals(sample)
    for x, y in balanced(sample):
        yield values[x], y


def accuracy_max(epsilon: float) -> float:
    """The most accurate that an epsilon-private learner of 2 examples can be, on 3 points or more.

    Samples {a-, b+}, {a-, c+}, {b-, c+} are neighbours in turn. With accuracy g the first gives
    label 1 at b with at least v = 2g - 1, the last with at most 1 - v; so v exp(-2 epsilon) <=
    1 - v.
    """
    v = 1 / (1 + math.exp(-2 * epsilon))
    return (1 + v) / 2


def claim_22_gap(accurate: float, epsilon: float, m: int) -> float:
    """The gap p_i - p_(i-1) that the proof of Claim 22 gives at this accuracy; <= 0: none.

    At accuracy 7/8 and epsilon = 0.1 it is above the 1 / (4m) that is printed.
    """
    v = 2 * accurate - 1
    return (2 * v * math.exp(-epsilon) - 1 - 2 * float(TOLERANCE) / m) / m


def middle(p: Sequence[Fraction], i: int, *, printed: bool) -> Fraction:
    """r of Lemma 20 for a gap at i: the mean of p_(i-1) and p_i; as printed of p_i and p_(i+1)."""
    return (p[i] + p[min(i + 1, len(p) - 1)]) / 2 if printed else (p[i - 1] + p[i]) / 2


def order_only(p: Sequence[Fraction], size: int) -> Marginals:
    """The marginals of a learner whose label at a point depends on its order in the sample alone.

    Every set is homogeneous with respect to it; p is p_0..p_m. No private learner is like this on
    many points, which is what the lower bound says.
    """

    def marginals(chosen: tuple[int, ...]) -> list[Fraction]:
        return [p[sum(s <= x for s in chosen)] for x in range(size)]

    return marginals


def lemma_20(p: Sequence[Fraction], size: int, *, printed: bool) -> bool:
    """Whether item 2 of Lemma 20 holds of the S_x of the order-only learner on `size` points.

    m = len(p) - 1 examples; the gap is the largest. Below the moved point labels are 1 with chance
    r - 1/(10m) or less, above it with r + 1/(10m) or more.
    """
    m = len(p) - 1
    i = max(range(1, m + 1), key=lambda j: p[j] - p[j - 1])
    r, step = middle(p, i, printed=printed), Fraction(1, 10 * m)
    below, above = tuple(range(i - 1)), tuple(range(size - (m - i), size))
    inner = range(i - 1, size - (m - i))
    marginals = order_only(p, size)
    for x in inner:
        values = marginals((*below, x, *above))
        for other in inner:
            if (other < x and values[other] > r - step) or (other > x and values[other] < r + step):
                return False
    return True


# -- Lemma 21 ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lemma21:
    """The constants of the proof of Lemma 21 (logarithms to base 2) and whether its steps hold.

    failure: D delta at the largest delta of Lemma 18. printed: the proof's 2/3 - D delta >= 1/2.
    repaired: the same with 1 - 1/T, which the Chernoff bound gives, in place of 2/3. contradicts:
    2^(T - 1) exp(-0.1 D) > 1.
    """

    m: int
    steps: float
    draws: float
    failure: float
    contradicts: bool

    @property
    def printed(self) -> bool:
        """Whether 2/3 - D delta >= 1/2, the step as printed."""
        return 2 / 3 - self.failure >= 1 / 2

    @property
    def repaired(self) -> bool:
        """Whether 1 - 1/T - D delta >= 1/2."""
        return 1 - 1 / self.steps - self.failure >= 1 / 2

    @property
    def delta_needed(self) -> float:
        """The largest delta for which the proof as printed holds: 1 / (6 D)."""
        return 1 / (6 * self.draws)


def lemma_21(m: int) -> Lemma21:
    """The constants for samples of m examples, m at least 2."""
    steps = 1000 * m * m * math.log2(m) ** 2 - 1
    draws = 100 * m * m * math.log2(steps)
    delta = 1 / (1000 * m * m * math.log2(m))
    contradicts = (steps - 1) * math.log(2) > 0.1 * draws
    return Lemma21(m, steps, draws, draws * delta, contradicts)


def least_repaired() -> int:
    """The least even m for which the repaired step of Lemma 21 holds."""
    m = 2
    while not lemma_21(m).repaired:
        m += 2
    return m


@dataclass(frozen=True, slots=True)
class Searched:
    """The binary search of Lemma 21 on D draws: how often it is right, and the epsilon it shows."""

    draws: int
    right: float
    samples: int
    bound: float
    exact: float


def binary_search(rate: float, size: int, draws: int) -> Searched:
    """The attack of Lemma 21 on the exponential mechanism with m = 2, exactly, over all outcomes.

    S_x = {(0, 0), (x, 1)} for the points x = 1..size - 1, which are pairwise neighbours. For each x
    the D outputs are averaged at every point, compared with r, and searched; the guess that a
    search ends in is taken for the sample with which it is likeliest. bound: epsilon of one draw,
    which is a D-th of that of D draws.
    """
    moved = range(1, size)
    base = Fraction(math.exp(rate)).limit_denominator(10**9)
    laws = np.array(
        [[float(p) for p in exponential_law(((0, 0), (x, 1)), size, base)] for x in moved]
    )
    r = float(np.mean([np.cumsum(law)[x] for law, x in zip(laws, moved, strict=True)]))
    outcomes: dict[int, NDArray[np.float64]] = {}
    for drawn in combinations_with_replacement(range(size + 1), draws):
        ways = math.factorial(draws)
        for t in set(drawn):
            ways //= math.factorial(drawn.count(t))
        mass = ways * laws[:, list(drawn)].prod(axis=1)
        found = _search([sum(t <= x for t in drawn) >= r * draws for x in range(size)])
        outcomes[found] = outcomes.get(found, np.zeros(len(laws))) + mass
    right = float(sum(mass.max() for mass in outcomes.values()) / len(laws))
    exact = max(float(np.log(laws.max(axis=0) / laws.min(axis=0)).max()), 0.0)
    bound = bound_of(right, len(laws)) / draws
    return Searched(draws, right, len(laws), bound, exact)


def _search(says_one: Sequence[bool]) -> int:
    """Where binary search for the first 1 ends."""
    low, high = 0, len(says_one)
    while low < high:
        half = (low + high) // 2
        low, high = (low, half) if says_one[half] else (half + 1, high)
    return low


def ramsey_points(m: int, size: int) -> str:
    """The points that Lemma 17 needs for a homogeneous set of `size`, as a tower of twos."""
    colours = (100 * m + 1) ** (m + 1)
    return f"twr_{m + 1}({3 * size * colours * math.log2(colours):.2g})"
