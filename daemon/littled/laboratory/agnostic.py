"""Laboratory only: from a private learner of realizable samples to one of any samples.

Source: A, Corollary 4, by way of relabelling (Alon, Beimel, Moran, Stemmer 2020, Theorem 2.3, after
Beimel, Nissim, Stemmer 2015); the constant beside it is that of DF, Theorem 12.

The learner draws one of the labelings that the class gives to the sample's points, by the
exponential mechanism on agreements (rate e), relabels the sample with it and runs the realizable
learner, here the exponential mechanism over the class (rate v, pure 2v).

Guarantee: pure 2v + 2 ln(1 + exp(e)). Proof. Let i be the example that differs and g a labeling of
the other points. The labelings that continue g at i weigh c(g) times what g weighs, c(g) being 1,
K or 1 + K with K = exp(e): one or two labels, of which one may be the example's. So from one sample
to the other the weight of g's group changes by 1 + K at the most, and the sum of all weights by
1 + K, too. What the realizable learner sees for either of them differs in example i alone: exp(2v).
Neighbouring relation: replace one example. Sensitivity: of the agreements 1. Edge cases: equal
points have one label, so c(g) is 1 or K there; an empty sample has one labeling, the empty one.

A states its corollary for a constant epsilon and takes a random part q of a larger sample for a
smaller one: ln(1 + q (exp(epsilon) - 1)).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from littled.laboratory.compositions import compositions
from littled.laboratory.small_classes import SmallClass

Example = tuple[int, int]
Law = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class AgnosticLearner:
    """Relabelling with exp(e) = `labels`, then the realizable learner with exp(v) = `rules`."""

    rules: SmallClass
    labels: Fraction
    votes: Fraction

    @property
    def price(self) -> Fraction:
        """exp of the proven pure epsilon."""
        return self.votes**2 * (1 + self.labels) ** 2

    @property
    def dagan_feldman(self) -> Fraction:
        """1 + exp(e + 2v), in place of the 4 of DF, Lemma 18: T against T without one example.

        The largest ratio of probabilities with the labelings of T and with those of T - i, both
        scored on the whole sample.
        """
        return 1 + self.labels * self.votes**2

    def realizable(self, sample: Sequence[Example]) -> Law:
        """The law of the realizable learner over the rows of the class."""
        return _exponential([_agreements(h, sample) for h in self.rules.hypotheses], self.votes)

    def law(self, sample: Sequence[Example], subset: Sequence[Example] | None = None) -> Law:
        """The law over the rows of the class; labelings are of `subset`, else of the sample."""
        labelings = self.labelings(sample if subset is None else subset)
        chosen = _exponential([_agreements(h, sample) for h in labelings], self.labels)
        law = [Fraction(0)] * len(self.rules.hypotheses)
        for h, p in zip(labelings, chosen, strict=True):
            relabelled = [(x, h >> x & 1) for x, _ in sample]
            for row, q in enumerate(self.realizable(relabelled)):
                law[row] += p * q
        return tuple(law)

    def labelings(self, sample: Sequence[Example]) -> list[int]:
        """The first rule with each labeling of the sample's points."""
        seen = sum(1 << x for x in {x for x, _ in sample})
        first: dict[int, int] = {}
        for h in self.rules.hypotheses:
            first.setdefault(h & seen, h)
        return list(first.values())


def _agreements(h: int, sample: Sequence[Example]) -> int:
    return sum(h >> x & 1 == y for x, y in sample)


def _exponential(scores: Sequence[int], base: Fraction) -> Law:
    weights = [base**score for score in scores]
    return tuple(weight / sum(weights) for weight in weights)


def samples(points: int, size: int) -> Iterator[tuple[Example, ...]]:
    """Every sample of this size."""
    return product(list(product(range(points), (0, 1))), repeat=size)


def exact_ratio(learner: AgnosticLearner, size: int) -> Fraction:
    """The largest ratio of probabilities over all neighbours of this size: exp(epsilon), exact."""
    points = learner.rules.points
    laws = {sample: learner.law(sample) for sample in samples(points, size)}
    worst = Fraction(1)
    for sample, law in laws.items():
        for i, other in product(range(size), product(range(points), (0, 1))):
            near = laws[(*sample[:i], other, *sample[i + 1 :])]
            worst = max(worst, *(a / b for a, b in zip(law, near, strict=True)))
    return worst


def subset_ratio(learner: AgnosticLearner, size: int) -> Fraction:
    """The largest ratio, either way, of the laws with the labelings of a sample and of all but one.

    Both score and relabel the whole sample. DF's proof bounds it by `dagan_feldman`.
    """
    worst = Fraction(1)
    for sample in samples(learner.rules.points, size):
        law = learner.law(sample)
        for i in range(size):
            without = learner.law(sample, (*sample[:i], *sample[i + 1 :]))
            worst = max(worst, *(a / b for a, b in zip(law, without, strict=True)))
            worst = max(worst, *(b / a for a, b in zip(law, without, strict=True)))
    return worst


def subsampled(epsilon: float, part: float) -> float:
    """Pure epsilon of the same on a random part of a sample, each example with chance `part`."""
    return math.log1p(part * math.expm1(epsilon))


@dataclass(frozen=True, slots=True)
class Excess:
    """Expected loss beyond the best rule's, of the two learners, on a labels' noise."""

    relabelled: float
    direct: float


def expected_excess(learner: AgnosticLearner, target: int, size: int, noise: Fraction) -> Excess:
    """Exact expectation over samples of uniform points whose labels are turned with chance `noise`.

    direct: the realizable learner alone, without relabelling. Samples are counted by the numbers of
    each example in them.
    """
    points = learner.rules.points
    cells = list(product(range(points), (0, 1)))
    chances = [
        (noise if h_label != y else 1 - noise) / points
        for x, y in cells
        for h_label in [target >> x & 1]
    ]
    losses = [
        Fraction((h ^ target).bit_count(), points) * (1 - 2 * noise)
        for h in learner.rules.hypotheses
    ]
    relabelled = direct = 0.0
    for counts in compositions(size, len(cells)):
        p = float(math.factorial(size))
        for count, chance in zip(counts, chances, strict=True):
            p *= float(chance) ** count / math.factorial(count)
        sample = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
        for law, is_direct in ((learner.law(sample), False), (learner.realizable(sample), True)):
            error = p * float(sum(a * b for a, b in zip(law, losses, strict=True)))
            direct, relabelled = (
                (direct + error, relabelled) if is_direct else (direct, relabelled + error)
            )
    return Excess(relabelled, direct)
