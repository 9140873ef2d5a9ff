"""Laboratory only: the Monte-Carlo variant of D_k and algorithm G, with their exact laws.

Source: A, section 5.2.3. As soon as more than N examples are drawn while a sample of D_k is made,
counting those of runs that were thrown away, the result is "Fail".

Every part of a run draws a multiple of n examples, so the law of the number of examples is a
polynomial: coefficient c is the probability of c n examples in all. If E is the polynomial of two
runs with one hypothesis and F that of two that differ, a contest is F (1 + E + E^2 + ...), cut off
at N. What is cut off is Fail.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from littled.laboratory.global_stability import State, beginning, extended, first_difference
from littled.laboratory.small_classes import SmallClass

# Probability by number of examples, in units of n.
Costs = tuple[Fraction, ...]
CostLaw = Mapping[State, Costs]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The Monte-Carlo D_k with n fresh examples behind it.

    frequencies: probability of each hypothesis SOA(S T). failed: probability of Fail.
    """

    k: int
    frequencies: Mapping[int, Fraction]
    failed: Fraction


def stopped_rounds(
    rules: SmallClass, target: int, weights: Sequence[int], n: int, units: int, k_max: int
) -> list[Stopped]:
    """The variants of D_0..D_k for `k_max` with N = n `units`.

    The n examples behind a sample are drawn outside of the count, as G draws them.
    """
    law: CostLaw = {beginning(rules): _padded((Fraction(1),), units)}
    found = []
    for k in range(k_max + 1):
        fresh = _with_fresh(rules, law, target, weights, n)
        frequencies: dict[int, Fraction] = defaultdict(Fraction)
        for state, costs in fresh.items():
            frequencies[state.hypothesis] += sum(costs)
        failed = 1 - sum(frequencies.values(), Fraction(0))
        found.append(Stopped(k, dict(frequencies), failed))
        law = _contested(rules, fresh, target, units)
    return found


def algorithm_g(
    rules: SmallClass, target: int, weights: Sequence[int], n: int, units: int
) -> dict[int | None, Fraction]:
    """The law of G(S): k is uniform on 0..d. None is Fail, which the paper leaves open.

    G reads at most N + n examples.
    """
    d = rules.dimension
    law: dict[int | None, Fraction] = defaultdict(Fraction)
    for each in stopped_rounds(rules, target, weights, n, units, d):
        for f, p in each.frequencies.items():
            law[f] += p / (d + 1)
        law[None] += each.failed / (d + 1)
    return dict(law)


def _padded(costs: Costs, units: int) -> Costs:
    return (*costs[: units + 1], *(Fraction(0),) * (units + 1 - len(costs)))


def _times(a: Costs, b: Costs) -> Costs:
    """The product, cut off."""
    units = len(a) - 1
    product = [Fraction(0)] * (units + 1)
    for i, p in enumerate(a):
        if p:
            for j, q in enumerate(b[: units + 1 - i]):
                if q:
                    product[i + j] += p * q
    return tuple(product)


def _sum(parts: Sequence[Costs], units: int) -> Costs:
    zero = (Fraction(0),) * (units + 1)
    return tuple(sum(column, Fraction(0)) for column in zip(zero, *parts, strict=True))


def _with_fresh(
    rules: SmallClass, law: CostLaw, target: int, weights: Sequence[int], n: int
) -> CostLaw:
    """n independent examples more; their number is counted by whoever makes a pair of runs."""
    total = sum(weights)
    for _ in range(n):
        after: dict[State, list[Costs]] = defaultdict(list)
        for state, costs in law.items():
            for x, weight in enumerate(weights):
                if weight:
                    label = target >> x & 1
                    new = extended(rules, state, x, label, agrees=state.agrees)
                    after[new].append(tuple(c * weight / total for c in costs))
        law = {state: _sum(parts, len(parts[0]) - 1) for state, parts in after.items()}
    return law


def _contested(rules: SmallClass, fresh: CostLaw, target: int, units: int) -> CostLaw:
    """The law of the winner of a contest, cut off at N."""
    runs = {s: _padded((Fraction(0), *costs), units) for s, costs in fresh.items()}
    hypotheses: dict[int, list[Costs]] = defaultdict(list)
    for state, costs in runs.items():
        hypotheses[state.hypothesis].append(costs)
    drawn = {f: _sum(parts, units) for f, parts in hypotheses.items()}
    again = _repeated(_sum([_times(p, p) for p in drawn.values()], units))
    after: dict[State, list[Costs]] = defaultdict(list)
    for state, costs in runs.items():
        partners: dict[int, list[Costs]] = defaultdict(list)
        for g, other in drawn.items():
            if g != state.hypothesis:
                partners[first_difference(state.hypothesis, g)].append(other)
        for x, parts in partners.items():
            label = 1 - (state.hypothesis >> x & 1)
            agrees = state.agrees and label == target >> x & 1
            won = _times(_times(costs, _sum(parts, units)), again)
            after[extended(rules, state, x, label, agrees=agrees)].append(won)
    return {state: _sum(parts, units) for state, parts in after.items()}


def _repeated(again: Costs) -> Costs:
    """1 + E + E^2 + ..., cut off; E has no constant term, as two runs draw 2n examples."""
    found = [Fraction(1)]
    for c in range(1, len(again)):
        found.append(sum((again[i] * found[c - i] for i in range(1, c + 1)), Fraction(0)))
    return tuple(found)
