"""Laboratory only: globally stable learning, with its exact law.

Source: A, Definition 11, sections 5.2.2 and 5.2.3 (Observation 24, Lemmas 25 to 27, Theorem 23) and
Proposition 7.

A law is a map from states to integer weights; the probability of a state is its weight over their
sum, so nothing is rounded. A state is a version space with the hypothesis of the extended SOA: the
space is 0, which no realizable sample has, once the examples contradict every rule. What the future
of a run depends on is the state alone, so samples themselves need not be listed.

D_k pairs runs off: two runs S_0 T_0 and S_1 T_1 with hypotheses f_0, f_1 that differ, x the first
point where they do, and a fair label y; the one that errs goes on with (x, y). For either label one
of the two errs, so the law of D_k gives a run s with hypothesis f the weight of its partners:

    D_k[s (x, 1 - f(x))] proportional to p(s) P[f' != f, first point of difference x].

So one round costs states times points and not pairs of states.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import NamedTuple

from littled.laboratory.small_classes import SmallClass


class State(NamedTuple):
    """Where a run is: version space, hypothesis, and whether all tournament labels were true."""

    space: int
    hypothesis: int
    agrees: bool


Law = Mapping[State, int]
Example = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Round:
    """D_k with n fresh examples behind it.

    frequencies: probability of each hypothesis SOA(S T). agreement: rho_k, the probability that all
    k tournament labels of S are the target's. examples: E[M_k], of examples drawn to make S.
    """

    k: int
    frequencies: Mapping[int, Fraction]
    agreement: Fraction
    examples: Fraction

    @property
    def most_frequent(self) -> tuple[int, Fraction]:
        """A most frequent hypothesis, and how frequent it is."""
        return max(self.frequencies.items(), key=lambda each: each[1])

    @property
    def collision(self) -> Fraction:
        """Probability that two runs have the same hypothesis; D_{k + 1} draws them again then."""
        return sum((p * p for p in self.frequencies.values()), Fraction(0))


def extended(rules: SmallClass, state: State, point: int, label: int, *, agrees: bool) -> State:
    """The state after one more example (A, Definition 11)."""
    space = rules.restricted(state.space, point, label)
    if space:
        return State(space, rules.soa(space), agrees)
    turned = state.hypothesis & ~(1 << point) | label << point
    return State(0, turned, agrees)


def beginning(rules: SmallClass) -> State:
    """The state of the empty sample."""
    return State(rules.everything, rules.soa(rules.everything), agrees=True)


def rounds(
    rules: SmallClass, target: int, weights: Sequence[int], n: int, k_max: int
) -> Iterator[Round]:
    """D_0, D_1, ... up to D_k for `k_max`, ended by the first that is undefined.

    target: a row; weights: of the points, in the distribution over examples (x, target(x)). No
    cut-off is made: D_k is undefined only if SOA(S T) is always the same (where the paper's cut-off
    ends the sequence, a frequency has reached it).
    """
    law: Law = {beginning(rules): 1}
    examples = Fraction(0)
    for k in range(k_max + 1):
        total = sum(law.values())
        agreement = Fraction(sum(w for s, w in law.items() if s.agrees), total)
        law = _with_fresh(rules, law, target, weights, n)
        hypotheses = _hypotheses(law)
        whole = sum(hypotheses.values())
        found = Round(
            k, {f: Fraction(w, whole) for f, w in hypotheses.items()}, agreement, examples
        )
        yield found
        if found.collision == 1:
            return
        examples = (2 * examples + 2 * n) / (1 - found.collision)
        law = _contested(rules, law, target)


def _with_fresh(
    rules: SmallClass, law: Law, target: int, weights: Sequence[int], n: int
) -> dict[State, int]:
    """The law after n independent examples of the target."""
    drawn = [(x, weight, target >> x & 1) for x, weight in enumerate(weights) if weight]
    for _ in range(n):
        after: dict[State, int] = defaultdict(int)
        for state, w in law.items():
            for x, weight, label in drawn:
                after[extended(rules, state, x, label, agrees=state.agrees)] += w * weight
        law = after
    return dict(law)


def _hypotheses(law: Law) -> dict[int, int]:
    """Weights of the hypotheses."""
    found: dict[int, int] = defaultdict(int)
    for state, w in law.items():
        found[state.hypothesis] += w
    return found


def _contested(rules: SmallClass, law: Law, target: int) -> dict[State, int]:
    """The law of a winner of a contest, with its tournament example."""
    hypotheses = _hypotheses(law)
    partners: dict[int, dict[int, int]] = {}
    for f in hypotheses:
        found: dict[int, int] = defaultdict(int)
        for g, w in hypotheses.items():
            if g != f:
                found[first_difference(f, g)] += w
        partners[f] = found
    after: dict[State, int] = defaultdict(int)
    for state, w in law.items():
        for x, weight in partners[state.hypothesis].items():
            label = 1 - (state.hypothesis >> x & 1)
            agrees = state.agrees and label == target >> x & 1
            after[extended(rules, state, x, label, agrees=agrees)] += w * weight
    return dict(after)


def first_difference(f: int, g: int) -> int:
    """The first point at which two hypotheses differ."""
    return ((f ^ g) & -(f ^ g)).bit_length() - 1


def samples_of(
    rules: SmallClass, target: int, support: Sequence[int], n: int, k: int
) -> set[tuple[Example, ...]]:
    """Every sample that D_k gives with a chance above 0, without a cut-off."""
    if not k:
        return {()}
    runs = [
        (*s, *((x, target >> x & 1) for x in fresh))
        for s in samples_of(rules, target, support, n, k - 1)
        for fresh in product(support, repeat=n)
    ]
    found = set()
    for run in runs:
        f = hypothesis_of(rules, run)
        for other in {hypothesis_of(rules, each) for each in runs} - {f}:
            x = first_difference(f, other)
            found.add((*run, (x, 1 - (f >> x & 1))))
    return found


def hypothesis_of(rules: SmallClass, sample: Sequence[Example]) -> int:
    """SOA(S), from the beginning."""
    state = beginning(rules)
    for x, y in sample:
        state = extended(rules, state, x, y, agrees=True)
    return state.hypothesis


def observation_24(rules: SmallClass, target: int, support: Sequence[int], n: int, k: int) -> bool:
    """Whether the SOA errs at least k times on every S T, and is right on all of T in the end."""
    for s in samples_of(rules, target, support, n, k):
        for fresh in product(support, repeat=n):
            state, mistakes = beginning(rules), 0
            for x, y in (*s, *((x, target >> x & 1) for x in fresh)):
                mistakes += state.hypothesis >> x & 1 != y
                state = extended(rules, state, x, y, agrees=True)
            if mistakes < k or any((state.hypothesis ^ target) >> x & 1 for x in fresh):
                return False
    return True


def loss(f: int, target: int, weights: Sequence[int]) -> Fraction:
    """Population loss of a hypothesis."""
    wrong = sum(weight for x, weight in enumerate(weights) if (f ^ target) >> x & 1)
    return Fraction(wrong, sum(weights))


def promised(dimension: int) -> Fraction:
    """Lemma 25: the frequency 2^-2^(d + 2)."""
    return Fraction(1, 1 << (1 << dimension + 2))


@cache
def best_cut(dimension: int, steps: int = 64) -> Fraction:
    """The largest frequency, to 2^-`steps`, that the proof of Lemma 25 gives, and its cut-off.

    With cut-off c the proof has rho_k >= (rho_{k-1}^2 - c) / 2, rho_0 = 1, and needs rho_d >= c.
    That is (for d = 1, 2, 3) 1/3, 0.072 and 0.0049 where the paper takes 2^-8, 2^-16 and 2^-32: so
    Theorem 23 holds as it is printed, with 2^(2^(d + 1)), if its distributions are cut there.
    """
    low, high = Fraction(0), Fraction(1)
    for _ in range(steps):
        cut = (low + high) / 2
        rho = Fraction(1)
        for _ in range(dimension):
            rho = max((rho * rho - cut) / 2, Fraction(0))
        low, high = (cut, high) if rho >= cut else (low, cut)
    return low


@dataclass(frozen=True, slots=True)
class Failures:
    """Statements that do not hold in one run; all empty where the papers are right."""

    broken: tuple[str, ...]
    best: Fraction
    """The largest frequency of any hypothesis in any D_k, k up to the dimension."""


def check(rules: SmallClass, target: int, weights: Sequence[int], n: int) -> Failures:
    """Every statement of A, section 5.2, that this class, target and distribution can test."""
    d = rules.dimension
    broken = []
    found = list(rounds(rules, target, weights, n, d))
    best = max(each.most_frequent[1] for each in found)
    if best < best_cut(d):
        broken.append("Lemma 25")
    for before, after in pairwise(found):
        if 2 * after.agreement * (1 - before.collision) < before.agreement**2 - before.collision:
            broken.append("the recursion of rho in Lemma 25")
    for each in found:
        if any(p > (1 - loss(f, target, weights)) ** n for f, p in each.frequencies.items()):
            broken.append("Lemma 26" if each.k else "Proposition 7")
        if each.examples > 4 ** (each.k + 1) * n and not any(
            2 * earlier.collision > 1 for earlier in found[: each.k]
        ):
            broken.append("Lemma 27")
    if len(found) == d + 1 and found[d].frequencies.get(target, 0) < found[d].agreement:
        broken.append("d mistakes leave the target")
    return Failures(tuple(broken), best)
