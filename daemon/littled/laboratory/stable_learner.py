"""Laboratory only: the private learner M of a globally stable algorithm, and what it demands.

Source: A, section 5.3 (Lemmas 28 and 29, Theorem 30) and section 5.4.

M runs G on k chunks, makes a stable histogram of the k hypotheses (rate e1), drops those with an
estimate below 3 eta / 4, and draws one of the rest by the exponential mechanism on examples that no
chunk has (rate e2). With e1 = ln u and e2 = ln w for fractions u and w its law is in fractions.

Guarantee. Replacing one example changes one chunk's hypothesis, so two counts by 1, or one example
of the last step. By composition (as A has it) the price is 2 e1 + 2 e2 with
delta = P[1 + noise >= T], T the count that 3 eta / 4 stands for. As one example is in a chunk or in
the last step and never in both, it is only max(2 e1, 2 e2): for a chunk the last step is
post-processing. Neighbouring relation: replace one example. Sensitivity: of the counts 1 at two
hypotheses, of the errors 1. Edge cases: an empty list gives None; fewer than one chunk: ValueError.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Example = tuple[int, int]
Law = Mapping[int | None, Fraction]

# Examples that a laboratory can hold; more are refused, with the number.
EXAMPLES_LOG2_MAX = 30.0


class Infeasible(ValueError):
    """What a statement demands is beyond any machine; the message has the number."""


@dataclass(frozen=True, slots=True)
class PrivateLearner:
    """M, with exp(e1) = `counts`, exp(e2) = `errors`, and the least noisy count that stays, T."""

    counts: Fraction
    errors: Fraction
    least: int

    @property
    def failure(self) -> Fraction:
        """delta: the chance that a hypothesis of a single chunk stays."""
        return self.stays(1)

    def stays(self, count: int) -> Fraction:
        """P[count + noise >= T], the noise being discrete Laplace of rate e1."""
        gap, r = self.least - count, 1 / self.counts
        return r**gap / (1 + r) if gap > 0 else 1 - r ** (1 - gap) / (1 + r)

    def law(
        self, hypotheses: Sequence[int], sample: Sequence[Example]
    ) -> dict[int | None, Fraction]:
        """The law of what M publishes, given G's hypotheses of the chunks and the last sample."""
        if not hypotheses:
            raise ValueError("M needs at least one chunk")
        found = sorted(Counter(hypotheses).items())
        wrong = {h: sum(h >> x & 1 != y for x, y in sample) for h, _ in found}
        law: dict[int | None, Fraction] = {h: Fraction(0) for h, _ in found} | {None: Fraction(0)}
        for kept in product((False, True), repeat=len(found)):
            p = Fraction(1)
            for keep, (_, count) in zip(kept, found, strict=True):
                p *= self.stays(count) if keep else 1 - self.stays(count)
            listed = [h for keep, (h, _) in zip(kept, found, strict=True) if keep]
            if not listed:
                law[None] += p
                continue
            weights = {h: self.errors ** -wrong[h] for h in listed}
            for h, weight in weights.items():
                law[h] += p * weight / sum(weights.values())
        return law


def beyond(p: Law, q: Law, ratio: Fraction) -> Fraction:
    """The least delta for which P <= ratio Q + delta on all events."""
    zero = Fraction(0)
    return sum((max(zero, a - ratio * q.get(h, zero)) for h, a in p.items()), zero)


def neighbours(
    hypotheses: Sequence[int], sample: Sequence[Example], points: int
) -> Iterator[tuple[tuple[int, ...], tuple[Example, ...]]]:
    """Inputs of the two private steps with one chunk's hypothesis, or one example, replaced."""
    for i, h in enumerate(hypotheses):
        for other in range(1 << points):
            if other != h:
                yield (*hypotheses[:i], other, *hypotheses[i + 1 :]), tuple(sample)
    for i, example in enumerate(sample):
        for x, y in product(range(points), (0, 1)):
            if (x, y) != example:
                yield tuple(hypotheses), (*sample[:i], (x, y), *sample[i + 1 :])


@dataclass(frozen=True, slots=True)
class Exact:
    """The worst over all pairs of neighbours: delta at exp(max(2 e1, 2 e2)), and the pairs."""

    worst: Fraction
    claimed: Fraction
    pairs: int


def exact_price(learner: PrivateLearner, chunks: int, examples: int, points: int) -> Exact:
    """The exact delta of M at the price max(2 e1, 2 e2), over all inputs of its private steps."""
    ratio = max(learner.counts, learner.errors) ** 2
    every = list(product(range(points), (0, 1)))
    laws = {
        (hypotheses, sample): learner.law(hypotheses, sample)
        for hypotheses in product(range(1 << points), repeat=chunks)
        for sample in product(every, repeat=examples)
    }
    worst, pairs = Fraction(0), 0
    for (hypotheses, sample), law in laws.items():
        for other in neighbours(hypotheses, sample, points):
            worst, pairs = max(worst, beyond(law, laws[other], ratio)), pairs + 1
    return Exact(worst, learner.failure, pairs)


@dataclass(frozen=True, slots=True)
class Demand:
    """log2 of what M needs: frequency eta, examples of a chunk, chunks, and examples in all."""

    frequency: float
    chunk: float
    chunks: float
    total: float


def demanded(dimension: int, alpha: float, beta: float, epsilon: float, delta: float) -> Demand:
    """What the constants of A demand for error alpha except with probability beta (Theorem 3).

    A chunk has the N + n examples of algorithm G for error alpha / 2 (Theorem 23, whose m leaves
    out n); eta is what its proof gives. The chunks are the least k with, except with probability
    beta / 3 each, a count of at least 7 k eta / 8 (Chernoff: exp(-k eta / 128)) and all noise, of
    rate e1 = epsilon / 4, below k eta / 8; delta needs less. The last step takes few in comparison.
    """
    tower = 2.0 ** (dimension + 2)
    n = math.ceil(2 * tower / alpha)
    chunk = tower + 1 + 2 * (dimension + 1) + math.log2(n)
    frequency = -(tower + 1) - math.log2(dimension + 1)
    sampled = math.log2(128 * math.log(3 / beta)) - frequency
    chunks = sampled
    for _ in range(50):
        noise = math.log(3 / beta) + chunks * math.log(2)
        chunks = max(sampled, math.log2(32 / epsilon * max(noise, math.log(1 / delta))) - frequency)
    return Demand(frequency, chunk, chunks, chunk + chunks)


def examples_for(dimension: int, alpha: float, beta: float, epsilon: float, delta: float) -> int:
    """Examples that M needs; Infeasible, with the number, where no machine can hold them."""
    demand = demanded(dimension, alpha, beta, epsilon, delta)
    if demand.total > EXAMPLES_LOG2_MAX:
        raise Infeasible(
            f"at d = {dimension} the private learner of A, section 5.3, needs 2^{demand.total:.1f} "
            f"examples: 2^{demand.chunks:.1f} chunks of 2^{demand.chunk:.1f}"
        )
    return math.ceil(math.exp2(demand.total))


def practical_chunks(frequency: float, beta: float, rate: float, delta: float) -> tuple[int, int]:
    """Chunks k and the count T with which a hypothesis of that frequency stays.

    T is the least with P[1 + noise >= T] <= delta at rate e1 = `rate`; k the least, to 1 in 1,000,
    with P[Bin(k, frequency) + noise >= T] >= 1 - beta.
    """
    r = math.exp(-rate)
    least = 2 + math.ceil(math.log(1 / (delta * (1 + r))) / rate) - 1
    chunks = least
    while _missed(chunks, frequency, r, least) > beta:
        chunks += max(1, chunks // 1000)
    return chunks, least


def _missed(chunks: int, frequency: float, r: float, least: int) -> float:
    """P[Bin(k, p) + noise < T]."""
    missed = 0.0
    for count in range(chunks + 1):
        log_mass = (
            math.lgamma(chunks + 1) - math.lgamma(count + 1) - math.lgamma(chunks - count + 1)
        )
        if 0 < frequency < 1:
            log_mass += count * math.log(frequency) + (chunks - count) * math.log1p(-frequency)
        elif count != chunks:
            continue
        gap = least - count
        below = 1 - r**gap / (1 + r) if gap > 0 else r ** (1 - gap) / (1 + r)
        missed += math.exp(log_mass) * below
    return missed
